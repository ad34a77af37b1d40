// The whole browser is killed while its request is out.
import { after, before, beforeEach, test } from "node:test";
import { openLab } from "./lab.mjs";
import { assertHonestThenOnce, FAULTS, submitAndArrive } from "./mid-flight.mjs";

let lab;
before(async () => {
  lab = await openLab({ killed: true });
});
after(() => lab?.close());
beforeEach(() => lab.reset());

for (const { name, faults, done } of FAULTS) {
  test(`r121_given_a_browser_killed_mid_flight_and_${name}_then_it_says_so_before_any_click_and_makes_one_effect`, async () => {
    await submitAndArrive(lab, faults);
    await lab.kill();
    await lab.restart();
    await lab.open({ remember: "sku,quantity" });
    await assertHonestThenOnce(lab, { done });
  });
}
