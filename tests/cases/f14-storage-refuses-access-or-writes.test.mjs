// F14. Given a browser whose storage refuses: (a) writing throws QuotaExceededError, (b) already reading the property
// throws SecurityError. When the user submits order.create, then nothing is left uncaught; by default one request goes out
// under a key held in memory and the snapshot says `durable: false`; in strict mode (`persistence: "required"`) the
// submit ends as `not_sent`, `storage_unavailable`, before any request. A request never goes without a key.
import assert from "node:assert/strict";
import { after, afterEach, before, beforeEach, test } from "node:test";
import { eventually, openLab } from "../e2e/lab.mjs";
import { assertNoEffect, assertOneEffect, commandsIn, onlyKeyIn } from "./evidence.mjs";
import { beforeLoad, collectUncaught, takeFaultsOut, uncaught } from "./faults.mjs";

let lab;
before(async () => {
  lab = await openLab();
});
after(() => lab?.close());
beforeEach(() => lab.reset());
afterEach(() => takeFaultsOut(lab));

/** Full: every write of either store throws. */
function everyWriteExceedsTheQuota() {
  const refuse = () => {
    throw new DOMException("full", "QuotaExceededError");
  };
  Storage.prototype.setItem = refuse;
  for (const name of ["add", "put"]) IDBObjectStore.prototype[name] = refuse;
}

/** Site data blocked: the stores cannot even be looked at. */
function everyGetterIsBlocked() {
  for (const name of ["localStorage", "sessionStorage", "indexedDB"]) {
    Object.defineProperty(globalThis, name, {
      get() {
        throw new DOMException("blocked", "SecurityError");
      },
    });
  }
}

/** As reported: only `localStorage` is affected. */
function localStorageIsFull() {
  Storage.prototype.setItem = () => {
    throw new DOMException("full", "QuotaExceededError");
  };
}

function localStorageIsBlocked() {
  Object.defineProperty(globalThis, "localStorage", {
    get() {
      throw new DOMException("blocked", "SecurityError");
    },
  });
}

async function submitWith(fault, options) {
  await beforeLoad(lab, collectUncaught);
  await beforeLoad(lab, fault);
  await lab.open({ budget: 4_000, attempts: 2, ...options });
  await lab.fill({ sku: "A1", quantity: "2" });
  await lab.click();
  await eventually("the submit is answered", async () => (await lab.outcomes()).length === 1);
  return { snapshot: await lab.snapshot(), errors: await uncaught(lab), log: await lab.server.log() };
}

for (const [name, fault] of [
  ["a_every_write_exceeds_the_quota", everyWriteExceedsTheQuota],
  ["b_every_storage_getter_throws", everyGetterIsBlocked],
]) {
  test(`f14_${name}_then_by_default_one_request_goes_out_with_a_key_and_says_not_durable`, async () => {
    const { snapshot, errors, log } = await submitWith(fault, { cart: "f14", persistence: "best-effort" });
    assert.deepEqual(errors, [], "nothing uncaught");
    assert.equal(snapshot.state, "succeeded");
    assert.equal(snapshot.durable, false, "and the page can say so");
    assert.equal(commandsIn(log).length, 1, "one request");
    const key = onlyKeyIn(log);
    assert.match(key, /^[0-9a-f]{32}$/, "never without a key");
    await assertOneEffect(lab.server, key);
  });

  test(`f14_${name}_then_strict_mode_refuses_before_any_request`, async () => {
    const { snapshot, errors, log } = await submitWith(fault, { cart: "f14-strict", persistence: "required" });
    assert.deepEqual(errors, [], "nothing uncaught");
    assert.deepEqual([snapshot.state, snapshot.why], ["not_sent", "storage_unavailable"]);
    assert.deepEqual(snapshot.doubt, { possible: false });
    assert.deepEqual(log, [], "never a request without a record");
    await assertNoEffect(lab.server);
  });
}

for (const [name, fault] of [
  ["full", localStorageIsFull],
  ["blocked", localStorageIsBlocked],
]) {
  for (const persistence of ["best-effort", "required"]) {
    test(`f14_given_only_local_storage_is_${name}_then_${persistence}_goes_on_with_the_database_alone`, async () => {
      const { snapshot, errors, log } = await submitWith(fault, { cart: `f14-${name}-${persistence}`, persistence });
      assert.deepEqual(errors, [], "nothing uncaught");
      assert.deepEqual([snapshot.state, snapshot.durable], ["succeeded", true]);
      assert.equal(commandsIn(log).length, 1);
      await assertOneEffect(lab.server, onlyKeyIn(log));
    });
  }
}
