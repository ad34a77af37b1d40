// A document that the browser keeps for the way back, and a store that somebody else does not let go: neither may hold
// up the order of another page (R74, R75, R82).
import assert from "node:assert/strict";
import { after, before, beforeEach, test } from "node:test";
import { assertOneEffect, commands } from "./evidence.mjs";
import { openLab } from "./lab.mjs";

let lab;
before(async () => {
  lab = await openLab();
});
after(() => lab?.close());
beforeEach(() => lab.reset());

/** Far below the budget. */
const SOON_MS = 3_500;
/** Longer than the module waits for a store. */
const LATE_MS = 6_000;

/** A page that writes a lot, and leaves for another cart in the midst of it. */
async function leaveWhileWriting(next) {
  const restore = await lab.beforeLoad(`addEventListener("pagehide", () => {
    const { lab } = globalThis;
    const operation = lab.defineOperation({ name: "order.create", url: "/orders", status: { url: "/orders/status" } });
    for (let at = 0; at < 5; at += 1) operation.intent({ subject: "demo-user", object: "left-" + at });
  }, { capture: true });`);
  await lab.open({ cart: "left" });
  await restore();
  await lab.open({ cart: next });
}

test("r74_given_a_page_left_in_the_midst_of_a_write_then_the_next_ones_order_goes_out_at_once_and_is_durable", async () => {
  for (const cart of ["first", "second", "third"]) {
    await leaveWhileWriting(cart);
    await lab.click();
    const { durable } = await lab.until("succeeded", SOON_MS);
    assert.equal(durable, true, cart);
  }
  assert.equal((await lab.server.effects()).count, 3);
});

test("r75_given_a_page_left_in_the_midst_of_a_write_then_back_it_still_orders_once_under_one_key", async () => {
  await leaveWhileWriting("next");
  await lab.driver.navigate().back();
  await lab.bound();
  await lab.click();
  const { durable } = await lab.until("succeeded", SOON_MS);
  assert.equal(durable, true);
  await assertOneEffect(lab.server);
});

test("r82_given_a_transaction_of_somebody_else_that_never_ends_then_the_order_goes_out_and_says_that_it_is_not_durable", async () => {
  await lab.open({ cart: "held" });
  await lab.driver.executeAsyncScript(`const done = arguments[0];
    const opening = indexedDB.open("postonce");
    opening.onsuccess = () => {
      const store = opening.result.transaction("intents", "readwrite").objectStore("intents");
      const again = () => { store.count().onsuccess = again; };
      again();
      done();
    };`);
  await lab.click();
  const { durable } = await lab.until("succeeded", LATE_MS);
  assert.equal(durable, false);
  await assertOneEffect(lab.server);
  assert.equal(commands(await lab.server.log()).length, 1);
});
