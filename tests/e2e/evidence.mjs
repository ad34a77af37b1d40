// What the server's own log, records and counter prove. Nothing here asks the page.
import assert from "node:assert/strict";

/** The commands in order of arrival. */
export const commands = (log) => log.filter(({ method }) => method === "POST");
export const checks = (log) => log.filter(({ method }) => method === "GET");
export const fences = (log) => log.filter(({ method }) => method === "DELETE");
export const keysOf = (requests) => [...new Set(requests.map(({ key }) => key))];

/** One effect, under one key, and no command under any other; answers that key. */
export async function assertOneEffect(server) {
  const [{ count, by_key }, log] = await Promise.all([server.effects(), server.log()]);
  assert.equal(count, 1, "one effect");
  const keys = keysOf(commands(log));
  assert.deepEqual(keys, Object.keys(by_key), "one key for one wish");
  assert.equal(keys.length, 1);
  return keys[0];
}

/** No attempt started at the server after the deadline that it carried (R33); whole seconds, rounded up. */
export function assertNoneAfterDeadline(log) {
  for (const { deadline, received_at } of commands(log)) {
    const at = Number(/^@(\d+)$/.exec(deadline)?.[1]) * 1_000;
    assert.ok(received_at <= at, `an attempt arrived ${received_at - at} ms after its deadline`);
  }
}

export async function statesOfOnlyRecord(server) {
  const records = await server.records();
  assert.equal(records.length, 1, "one record");
  return records[0].history.map((entry) => entry.state ?? entry);
}
