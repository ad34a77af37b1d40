// F10. Given k-1, finished for one entry, and a page that comes back by history (variant: a tab duplicated before the
// first submit). When other values are submitted there, then k-2 goes out and both happen; k-1 is never offered for other
// fields, and a server that sees it with them answers 422 and runs nothing.
import assert from "node:assert/strict";
import { after, before, beforeEach } from "node:test";
import { eventually, openLab } from "../e2e/lab.mjs";
import { scenarios } from "../e2e/scenario.mjs";
import { commandsIn } from "./evidence.mjs";
import { newWish, post } from "./wire.mjs";

const test = scenarios(import.meta.url);
const ELSEWHERE = "/pages/order.js";

let lab;
before(async () => {
  lab = await openLab();
});
after(() => lab?.close());
beforeEach(() => lab.reset());

async function placeFirst(cart) {
  await lab.fill({ quantity: "10" });
  await lab.click();
  await lab.until("succeeded");
  const { orders } = await lab.server.effects();
  assert.deepEqual(
    orders.map(({ quantity }) => quantity),
    [10],
    cart,
  );
}

async function assertTwoKeysTwoEffects() {
  const { orders, count } = await lab.server.effects();
  assert.equal(count, 2);
  assert.deepEqual(orders.map(({ quantity }) => quantity).toSorted(), [10, 25], "neither entry disappeared");
  const keys = commandsIn(await lab.server.log()).map(({ key }) => key);
  assert.deepEqual([keys.length, new Set(keys).size], [2, 2], "a key for each");
}

test("f10_given_a_finished_key_and_a_page_restored_by_back_then_other_values_go_out_under_their_own", async () => {
  await lab.open({ cart: "f10" });
  await placeFirst("f10");
  await lab.driver.get(`${lab.server.url}${ELSEWHERE}`);
  await lab.driver.navigate().back();
  await lab.bound();
  await lab.fill({ quantity: "25" });
  await lab.click();
  await eventually("the second is placed", async () => (await lab.server.effects()).count === 2);
  await assertTwoKeysTwoEffects();
});

test("f10_given_a_tab_duplicated_before_the_first_submit_then_its_other_values_are_never_taken_for_a_repeat", async () => {
  await lab.open({ cart: "f10-copy" });
  const first = await lab.driver.getWindowHandle();
  await lab.script(() => {
    globalThis.copy = window.open(location.href);
  });
  const copy = await eventually("the copy is there", async () =>
    (await lab.driver.getAllWindowHandles()).find((handle) => handle !== first),
  );
  await lab.switchTo(copy);
  await lab.bound();
  await lab.switchTo(first);
  await placeFirst("f10-copy");
  await lab.switchTo(copy);
  await lab.fill({ quantity: "25" });
  await lab.click();
  const [answer] = await eventually("the press is answered", async () => {
    const outcomes = await lab.outcomes();
    return outcomes.length > 0 && outcomes;
  });
  if (answer.kind === "conflict") {
    // The copy knew nothing of the first; told so, the person goes on.
    assert.equal((await lab.server.effects()).count, 1, "nothing was sent, and nothing is called done");
    const { ok, error } = await lab.call("beginNew");
    assert.ok(ok, JSON.stringify(error));
    await lab.click();
  }
  await eventually("the second is placed", async () => (await lab.server.effects()).count === 2);
  await assertTwoKeysTwoEffects();
});

test("f10_given_the_used_key_with_other_values_all_the_same_then_the_server_answers_422_and_runs_nothing", async () => {
  const wish = newWish({ sku: "A1", quantity: "10" });
  assert.equal((await post(lab.server.url, wish)).status, 201);
  const other = await post(lab.server.url, { ...wish, body: JSON.stringify({ sku: "A1", quantity: "25" }) });
  assert.equal(other.status, 422);
  assert.equal(JSON.parse(other.text).type, "urn:postonce:problem:key-reused");
  assert.equal((await lab.server.effects()).count, 1);
});
