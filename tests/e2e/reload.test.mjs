// The document goes while its request is out: reload, closed tab.
import assert from "node:assert/strict";
import { after, before, beforeEach, test } from "node:test";
import { assertOneEffect, commands } from "./evidence.mjs";
import { eventually, openLab } from "./lab.mjs";
import { assertHonestThenOnce, FAULTS, submitAndArrive } from "./mid-flight.mjs";

let lab;
before(async () => {
  lab = await openLab();
});
after(() => lab?.close());
beforeEach(() => lab.reset());

for (const { name, faults, done } of FAULTS) {
  test(`r20_given_a_reload_mid_flight_and_${name}_then_the_page_says_so_and_sending_again_makes_one_effect`, async () => {
    await submitAndArrive(lab, faults);
    await lab.reload();
    await assertHonestThenOnce(lab, { done });
  });

  test(`r20_given_a_tab_closed_mid_flight_and_${name}_then_a_new_one_says_so_and_makes_one_effect`, async () => {
    await submitAndArrive(lab, faults);
    const first = await lab.driver.getWindowHandle();
    const second = await lab.newTab();
    await lab.switchTo(first);
    await lab.driver.close();
    await lab.switchTo(second);
    await lab.open({ remember: "sku,quantity" });
    await assertHonestThenOnce(lab, { done });
  });
}

test("r23_given_a_success_and_a_later_load_then_the_same_fields_send_nothing_and_are_already_done", async () => {
  await lab.open();
  await lab.click();
  const { resultId } = await lab.until("succeeded");
  await lab.reload();
  assert.equal((await lab.snapshot()).state, "idle");
  await lab.click();
  const [outcome] = await eventually("an answer", async () => {
    const outcomes = await lab.outcomes();
    return outcomes.length > 0 && outcomes;
  });
  assert.deepEqual([outcome.kind, outcome.resultId], ["already_done", resultId]);
  await assertOneEffect(lab.server);
  await lab.call("beginNew");
  await lab.click();
  await lab.until("succeeded");
  assert.equal((await lab.server.effects()).count, 2, "placing another is an explicit choice");
});

test("r88_given_an_open_wish_then_storage_holds_no_value_that_is_not_remembered", async () => {
  await lab.open({ remember: "sku" });
  await lab.fill({ sku: "SKU-SECRETLESS", quantity: "77", note: "NOTE-OF-A-PERSON" });
  await lab.server.plan([{ match: {}, fault: "hang" }]);
  await lab.click();
  await eventually("the request arrived", async () => commands(await lab.server.log()).length === 1);
  const kept = (await lab.scan()).join("\n");
  assert.ok(kept.includes("SKU-SECRETLESS"), "what may be remembered is");
  assert.ok(!kept.includes("NOTE-OF-A-PERSON") && !kept.includes("demo-user") && !kept.includes("cart-1"));
});
