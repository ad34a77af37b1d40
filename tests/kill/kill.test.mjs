// The browser dies at a step of the submit, or whenever it likes: after it starts again there is one effect, no wish is
// lost, and the page never says that nothing was sent when something may have been (R76, R121). All steps and many more
// instants: `npm run kill`.
import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { openLab } from "../e2e/lab.mjs";
import { instantPlans, stepPlans } from "./plans.mjs";
import { FATES, killRound } from "./round.mjs";

const SEED = 20_260;
const INSTANTS = 2;
/** A browser that does not come back must be a failure, not a wait. */
const ROUND = { timeout: 90_000 };

let lab;
before(async () => {
  lab = await openLab({ killed: true });
});
after(() => lab?.close());

for (const { step, fate } of stepPlans(1)) {
  test(
    `r76_given_a_kill_at_${step}_when_the_server_${fate.name.replace(/\W+/g, "_")}_then_one_effect_and_never_a_false_idle`,
    ROUND,
    async () => {
      const round = await killRound(lab, { cart: `kill-${step}`, step, fate });
      assert.deepEqual(round.faults, [], JSON.stringify(round));
    },
  );
}

for (const { killAfterMs, fate } of instantPlans(INSTANTS, SEED)) {
  test(
    `r121_given_a_kill_${killAfterMs}_ms_after_the_page_was_bound_when_the_server_${fate.name.replace(/\W+/g, "_")}_then_one_effect`,
    ROUND,
    async () => {
      const round = await killRound(lab, { cart: `kill-${killAfterMs}`, killAfterMs, fate });
      assert.deepEqual(round.faults, [], JSON.stringify(round));
    },
  );
}

test(
  "given_a_page_that_forgot_its_record_then_a_round_sees_both_the_false_idle_and_the_second_effect",
  ROUND,
  async () => {
    const [answers] = FATES;
    const { faults } = await killRound(lab, {
      cart: "kill-kept",
      cartAfter: "kill-lost",
      step: "body_read",
      fate: answers,
    });
    assert.deepEqual(faults, ["2 effects", "2 keys", "idle although bytes may have left"]);
  },
);
