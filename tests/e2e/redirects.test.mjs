// A server that answers a POST with 303: only the declared address confirms (R40).
import assert from "node:assert/strict";
import { after, before, beforeEach, test } from "node:test";
import { startClassicShop } from "./classic-shop.mjs";
import { openLab } from "./lab.mjs";

let lab;
let shop;
before(async () => {
  shop = await startClassicShop();
  lab = await openLab({ front: shop.inFrontOf });
});
after(async () => {
  await lab?.close();
  await shop?.stop();
});
beforeEach(async () => {
  await lab.reset();
  Object.assign(shop, { orders: [], open: true, to: (number) => `/classic/${number}` });
});

const CLASSIC = { url: "/classic", contract: "ietf", status: null, echo: "none", attempts: 1 };

const openWith = (confirm = null) => lab.open({ options: { ...CLASSIC, confirm } });

test("r40_given_a_redirect_to_the_declared_address_then_succeeded_by_one_post", async () => {
  await openWith({ redirectedTo: "/classic/*" });
  await lab.click();
  await lab.until("succeeded");
  assert.equal(shop.orders.length, 1);
  assert.match(shop.orders[0] ?? "", /^"[0-9a-f]{32}"$/);
});

for (const [name, set] of [
  ["a_sign_in_page_and_nothing_done", { open: false, to: () => "/signin" }],
  ["another_page_though_it_was_done", { to: () => "/signin?next=/classic/1" }],
]) {
  test(`r40_given_a_redirect_to_${name}_then_unknown_and_never_succeeded_or_failed`, async () => {
    Object.assign(shop, set);
    await openWith({ redirectedTo: "/classic/*" });
    await lab.click();
    const { doubt } = await lab.until("unknown");
    assert.deepEqual([doubt.possible, doubt.cause], [true, "redirected"]);
    const said = (await lab.history()).map(({ state }) => state);
    for (const lie of ["succeeded", "rejected", "refused", "not_sent"]) assert.ok(!said.includes(lie), `${said}`);
    assert.equal(shop.orders.length, set.open === false ? 0 : 1);
  });
}

test("r40_given_a_hop_to_another_origin_then_unknown_and_the_key_never_travels_there", async () => {
  const elsewhere = await startClassicShop();
  try {
    const url = elsewhere.inFrontOf("http://127.0.0.1:9");
    shop.to = () => `${url}/classic/1`;
    await openWith({ redirectedTo: "/classic/*" });
    await lab.click();
    const { doubt } = await lab.until("unknown");
    assert.equal(doubt.possible, true);
    assert.deepEqual([shop.orders.length, elsewhere.requests], [1, 0]);
  } finally {
    await elsewhere.stop();
  }
});

test("r40_given_no_declared_address_then_a_redirect_is_not_followed_and_never_confirms", async () => {
  await openWith();
  await lab.click();
  const { doubt } = await lab.until("unknown");
  assert.deepEqual([doubt.possible, doubt.cause], [true, "redirected"]);
  assert.equal(shop.orders.length, 1);
});
