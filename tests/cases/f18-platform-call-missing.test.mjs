// F18. Given an engine without `crypto.randomUUID` and `AbortSignal.any`, a budget of one second and a server that never
// answers. When the user submits, then one request goes out under a key of 128 bits drawn from `getRandomValues`, and it
// is aborted when the second is over. `Math.random` is never asked. Where `getRandomValues` is missing too, the submit is
// refused before anything is sent.
import assert from "node:assert/strict";
import { after, afterEach, before, beforeEach, test } from "node:test";
import { eventually, openLab } from "../e2e/lab.mjs";
import { assertNoEffect, commandsIn, onlyKeyIn } from "./evidence.mjs";
import { beforeLoad, collectUncaught, takeFaultsOut, uncaught } from "./faults.mjs";

const BUDGET_MS = 1_000;
/** It was submitted a little before it shows as sending; two busy cores may be this late, a second budget later. */
const EARLY_MS_MAX = 100;
const LATE_MS_MAX = 400;

let lab;
before(async () => {
  lab = await openLab();
});
after(() => lab?.close());
beforeEach(() => lab.reset());
afterEach(() => takeFaultsOut(lab));

function withoutModernCalls() {
  delete Crypto.prototype.randomUUID;
  delete AbortSignal.any;
  globalThis.drawn = [];
  const draw = Crypto.prototype.getRandomValues;
  Crypto.prototype.getRandomValues = function getRandomValues(array) {
    draw.call(this, array);
    const bytes = new Uint8Array(array.buffer, array.byteOffset, array.byteLength);
    globalThis.drawn.push(Array.from(bytes, (byte) => byte.toString(16).padStart(2, "0")).join(""));
    return array;
  };
  globalThis.mathRandomCalls = 0;
  Math.random = () => {
    globalThis.mathRandomCalls += 1;
    return 0.5;
  };
}

function withoutRandomness() {
  delete Crypto.prototype.randomUUID;
  delete Crypto.prototype.getRandomValues;
}

test("f18_given_no_random_uuid_and_no_abort_signal_any_then_one_request_leaves_and_ends_with_the_budget", async () => {
  await beforeLoad(lab, collectUncaught);
  await beforeLoad(lab, withoutModernCalls);
  await lab.open({ cart: "f18", budget: BUDGET_MS, attempts: 1 });
  assert.deepEqual(await lab.script(() => [typeof crypto.randomUUID, typeof AbortSignal.any]), [
    "undefined",
    "undefined",
  ]);
  await lab.server.plan([{ fault: "hang" }]);
  await lab.fill({ sku: "A1", quantity: "2" });
  await lab.click();
  const { doubt } = await lab.until("unknown");
  assert.equal(doubt.possible, true, "a request that was out may have run: never `not_sent`");
  await eventually("the server noticed the abort", async () => (await lab.server.log())[0]?.answered_at != null);

  const log = await lab.server.log();
  assert.equal(commandsIn(log).length, 1, "one request");
  const key = onlyKeyIn(log);
  assert.match(key, /^[0-9a-f]{32}$/, "128 bits");
  const { drawn, mathRandomCalls } = await lab.script(() => ({
    drawn: globalThis.drawn,
    mathRandomCalls: globalThis.mathRandomCalls,
  }));
  assert.ok(drawn.includes(key), "the key's bits are those that getRandomValues gave");
  assert.equal(mathRandomCalls, 0);
  const [{ status, answered_at }] = log;
  assert.equal(status, "client-left", "aborted by the page, not answered");
  const { at } = (await lab.history()).find(({ state }) => state === "sending");
  const aborted = answered_at - at;
  assert.ok(aborted >= BUDGET_MS - EARLY_MS_MAX && aborted <= BUDGET_MS + LATE_MS_MAX, `aborted at ${aborted} ms`);
  assert.deepEqual(await uncaught(lab), []);
  await assertNoEffect(lab.server);
});

test("f18_given_no_secure_randomness_at_all_then_the_submit_is_refused_before_anything_is_sent", async () => {
  await beforeLoad(lab, withoutRandomness);
  await lab.open({ cart: "f18-none", budget: BUDGET_MS, attempts: 1 });
  await lab.fill({ sku: "A1", quantity: "2" });
  await lab.click();
  await eventually("the submit is answered", () =>
    lab.script(() => document.documentElement.dataset.failure ?? lab.outcomes[0]),
  );

  assert.deepEqual(await lab.server.log(), [], "nothing leaves without a key, and no key is made of less");
  const { state } = await lab.snapshot();
  assert.ok(["idle", "not_sent"].includes(state), `nothing was sent, and the page says so: ${state}`);
  await assertNoEffect(lab.server);
});
