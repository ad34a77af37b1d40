// F40, the client's side. Given one cart on two devices, each with a key of its own, and a server that allows one order of
// a cart. When both submit at once, then one order exists; the other device is told that the cart is taken, stops,
// and shows which one it was. Nothing stored on one device can see the other: the server's rule is the last guard.
import assert from "node:assert/strict";
import { after, before, beforeEach, test } from "node:test";
import { eventually, openLab } from "../e2e/lab.mjs";
import { commandsIn } from "./evidence.mjs";
import { newWish, post } from "./wire.mjs";

const TAKEN = "urn:postonce:problem:object-taken";
/** The rule of the demo shop: a body that names a cart may be ordered under one key only. */
const ORDER = { sku: "A1", quantity: 1, cart: "cart-7" };

let lab;
before(async () => {
  lab = await openLab();
});
after(() => lab?.close());
beforeEach(() => lab.reset());

const submitOnLaptop = () =>
  lab.script((order) => {
    const { operation } = globalThis.lab;
    globalThis.laptop = operation.intent({ subject: "demo-user", object: "cart-7" });
    globalThis.laptop.submit(order);
  }, ORDER);

const laptop = () => lab.script(() => globalThis.laptop.snapshot);

test("f40_given_the_phone_was_first_then_the_laptop_is_told_stops_and_makes_no_second_order", async () => {
  const phone = newWish(ORDER);
  assert.equal((await post(lab.server.url, phone)).status, 201);
  await lab.open();
  await submitOnLaptop();
  const { status, problem } = await eventually("the laptop is answered", async () => {
    const snapshot = await laptop();
    return snapshot.state === "rejected" && snapshot;
  });
  assert.deepEqual([status, problem.type], [409, TAKEN]);
  const sent = commandsIn(await lab.server.log());
  assert.equal(sent.length, 2, "and never tries again with another key");
  const { count, orders } = await lab.server.effects();
  assert.deepEqual([count, orders[0].key], [1, phone.key]);
});

test("f40_given_both_at_once_then_one_order_and_one_that_knows_it_is_not_its_own", async () => {
  await lab.open();
  // Both are inside the handler at once.
  await lab.server.plan(Array.from({ length: 2 }, () => ({ match: { attempt: 1 }, fault: "delay-effect", ms: 300 })));
  const phone = newWish(ORDER);
  const [answered] = await Promise.all([post(lab.server.url, phone), submitOnLaptop()]);
  const { state } = await eventually("the laptop is answered", async () => {
    const snapshot = await laptop();
    return ["rejected", "succeeded"].includes(snapshot.state) && snapshot;
  });
  assert.deepEqual([answered.status, state], state === "succeeded" ? [409, "succeeded"] : [201, "rejected"]);
  assert.equal((await lab.server.effects()).count, 1, "one order of one cart");
  assert.equal(new Set(commandsIn(await lab.server.log()).map(({ key }) => key)).size, 2, "two devices, two keys");
});
