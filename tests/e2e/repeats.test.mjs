// One wish, however often it is pressed: two clicks, Enter held down, Enter and click, a submit after success.
import assert from "node:assert/strict";
import { after, before, beforeEach, test } from "node:test";
import { assertOneEffect, commands } from "./evidence.mjs";
import { Key, openLab } from "./lab.mjs";

let lab;
before(async () => {
  lab = await openLab();
});
after(() => lab?.close());
beforeEach(async () => {
  await lab.reset();
  await lab.open();
  await lab.server.plan([{ match: { attempt: 1 }, fault: "delay-after", ms: 250 }]);
});

async function assertOneCommand() {
  await lab.until("succeeded");
  await assertOneEffect(lab.server);
  assert.equal(commands(await lab.server.log()).length, 1, "one POST");
}

test("r95_given_two_clicks_in_one_task_then_one_key_and_one_effect", async () => {
  await lab.script(() => {
    document.querySelector("#submit").click();
    document.querySelector("#submit").click();
  });
  await assertOneCommand();
  assert.deepEqual(
    (await lab.outcomes()).map(({ kind }) => kind),
    ["settled", "settled"],
  );
});

test("r95_given_two_clicks_30_ms_apart_then_one_key_and_one_effect", async () => {
  await lab.script(() => {
    document.querySelector("#submit").click();
    setTimeout(() => document.querySelector("#submit").click(), 30);
  });
  await assertOneCommand();
});

test("r95_given_enter_held_down_then_one_key_and_one_effect", async () => {
  await lab.press("[name=quantity]", ...Array.from({ length: 15 }, () => Key.ENTER));
  await assertOneCommand();
});

test("r95_given_enter_and_a_click_then_one_key_and_one_effect", async () => {
  await lab.press("[name=quantity]", Key.ENTER);
  await lab.click();
  await assertOneCommand();
});

test("r95_given_repeats_while_it_runs_then_formdata_fires_once_per_intent", async () => {
  await lab.script(() => {
    globalThis.fired = 0;
    document.querySelector("#order").addEventListener("formdata", () => {
      globalThis.fired += 1;
    });
    for (let press = 0; press < 5; press += 1) document.querySelector("#order").requestSubmit();
  });
  await assertOneCommand();
  assert.equal(await lab.script(() => globalThis.fired), 1, "R96");
});

test("f02_given_a_second_request_submit_between_success_and_navigation_then_its_result_and_no_request", async () => {
  await lab.click();
  const { resultId } = await lab.until("succeeded");
  await lab.script(() => document.querySelector("#order").requestSubmit());
  await assertOneCommand();
  const again = await lab.snapshot();
  assert.deepEqual([again.state, again.resultId], ["succeeded", resultId]);
});

test("r99_given_an_invalid_form_then_no_intent_and_no_request", async () => {
  await lab.fill({ quantity: "" });
  await lab.click();
  assert.equal((await lab.snapshot()).state, "idle");
  assert.deepEqual(await lab.server.log(), []);
});

test("r94_given_a_cancelled_submit_then_no_intent_and_no_request", async () => {
  await lab.script(() => {
    const cancel = (event) => event.preventDefault();
    document.addEventListener("submit", cancel, { once: true, capture: true });
    document.querySelector("#order").requestSubmit();
  });
  assert.equal((await lab.snapshot()).state, "idle");
  assert.deepEqual(await lab.server.log(), []);
});
