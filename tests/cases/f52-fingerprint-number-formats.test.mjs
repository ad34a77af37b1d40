// F52. Given numbers that two languages write differently, when browser, core and server compute fingerprints, then 10.0
// and 10, 1e-5 and 0.00001, -0 and 0 are one wish; 10 and "10", 0.1+0.2 and 0.3 are not; an integer beyond 2^53-1 and what
// is not finite is refused before anything runs.
import assert from "node:assert/strict";
import { after, before, beforeEach, test } from "node:test";
import { openLab } from "../e2e/lab.mjs";
import { assertOneEffect, onlyKeyIn } from "./evidence.mjs";
import { newWish, post } from "./wire.mjs";

let lab;
before(async () => {
  lab = await openLab();
});
after(() => lab?.close());
beforeEach(() => lab.reset());

/** An order whose `amount` is written just so. */
const orderWith = (amount) => `{"sku":"A1","quantity":"2","amount":${amount}}`;

/** The same key with the one spelling and then with the other. */
async function both(one, other) {
  const wish = newWish({});
  const first = await post(lab.server.url, { ...wish, body: orderWith(one) });
  assert.equal(first.status, 201, first.text);
  return { first, second: await post(lab.server.url, { ...wish, body: orderWith(other) }) };
}

for (const [one, other] of [
  ["10.0", "10"],
  ["1e-5", "0.00001"],
  ["-0", "0"],
  ["1E2", "100"],
]) {
  test(`f52_given_${one}_and_${other}_at_the_server_then_one_wish_and_a_replay`, async () => {
    const { first, second } = await both(one, other);
    assert.deepEqual([second.status, second.headers["idempotent-replayed"]], [201, "true"]);
    assert.equal(second.text, first.text);
    assert.equal((await lab.server.effects()).count, 1);
  });
}

for (const [one, other] of [
  ["10", '"10"'],
  [String(0.1 + 0.2), "0.3"],
]) {
  test(`f52_given_${one}_and_${other}_at_the_server_then_two_wishes_and_422`, async () => {
    const { second } = await both(one, other);
    assert.deepEqual([second.status, JSON.parse(second.text).type], [422, "urn:postonce:problem:key-reused"]);
    assert.equal((await lab.server.effects()).count, 1);
  });
}

for (const amount of ["9007199254740993", "9007199254740992", "100000000000000000000", "NaN", "Infinity", "1e400"]) {
  test(`f52_given_${amount}_at_the_server_then_400_and_nothing_runs`, async () => {
    const told = await post(lab.server.url, { ...newWish({}), body: orderWith(amount) });
    assert.equal(told.status, 400, told.text);
    assert.equal((await lab.server.effects()).count, 0);
    assert.deepEqual(await lab.server.records(), []);
  });
}

/** Submits it as a value of the page's own, and loses the answer. */
const submitValue = (source) =>
  lab.driver.executeScript(`
    const intent = window.lab.operation.intent({ subject: "demo-user", object: "f52 ${source}" });
    window.f52 = intent;
    return intent.submit({ sku: "A1", quantity: "2", amount: ${source} }).then(
      ({ snapshot }) => ({ state: snapshot.state }),
      ({ code }) => ({ code }),
    );`);

for (const source of ["10.0", "1e-5", "-0", "0.1 + 0.2", "2 ** 53 - 1", "1e21 / 1e21", "123456.789e3"]) {
  test(`f52_given_${source}_in_the_browser_then_its_fingerprint_is_the_servers`, async () => {
    await lab.open({ attempts: 1 });
    await lab.server.plan([{ match: { attempt: 1 }, fault: "lost-answer" }]);
    assert.deepEqual(await submitValue(source), { state: "unknown" });
    // The status answer carries the server's fingerprint; another one would be a dispute (R57).
    const state = await lab.script(() => globalThis.f52.check().then(({ state }) => state));
    assert.equal(state, "succeeded");
    await assertOneEffect(lab.server, onlyKeyIn(await lab.server.log()));
  });
}

for (const source of ["2 ** 53", "1e20", "NaN", "Infinity"]) {
  test(`f52_given_${source}_in_the_browser_then_it_is_refused_before_anything_is_sent`, async () => {
    await lab.open();
    assert.deepEqual(await submitValue(source), { code: "invalid_payload" });
    assert.deepEqual(await lab.server.log(), []);
  });
}
