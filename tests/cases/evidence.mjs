// What the server's own log proves. Nothing here asks the page.
import assert from "node:assert/strict";

const OPERATION = "order.create";

/** The commands of the order operation, in order of arrival. */
export function commandsIn(log) {
  return log.filter(({ operation }) => operation === OPERATION);
}

export function checksIn(log) {
  return log.filter(({ operation }) => operation === `${OPERATION}.status`);
}

export function fencesIn(log) {
  return log.filter(({ operation }) => operation === `${OPERATION}.fence`);
}

/** The one key that every request of the log carries: a second one would be a second wish. */
export function onlyKeyIn(log) {
  const keys = [...new Set(log.map(({ key }) => key))];
  assert.equal(keys.length, 1, `one wish has one key, not ${JSON.stringify(keys)}`);
  assert.equal(typeof keys[0], "string", "no request goes without a key");
  return keys[0];
}

/** The wish happened exactly once, under exactly this key. */
export async function assertOneEffect(server, key) {
  const { count, by_key } = await server.effects();
  assert.equal(count, 1, "one effect");
  assert.deepEqual(by_key, { [key]: 1 });
}

/** The wish did not happen, and nothing else did either. */
export async function assertNoEffect(server) {
  assert.equal((await server.effects()).count, 0, "no effect");
}
