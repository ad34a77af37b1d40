// The five readiness scenarios of the contract, seen at the server: request log, record states, effect counter.
import assert from "node:assert/strict";
import { after, before, beforeEach, test } from "node:test";
import { assertOneEffect, commands, statesOfOnlyRecord } from "./evidence.mjs";
import { openLab } from "./lab.mjs";

let lab;
before(async () => {
  lab = await openLab();
});
after(() => lab?.close());
beforeEach(() => lab.reset());

test("readiness_1_given_an_answer_that_arrives_then_one_effect_and_its_result_is_shown", async () => {
  await lab.open();
  await lab.click();
  const { resultId, replayed } = await lab.until("succeeded");
  const key = await assertOneEffect(lab.server);
  const { orders } = await lab.server.effects();
  assert.deepEqual([resultId, replayed, key], [orders[0].id, false, orders[0].key]);
  assert.deepEqual(await statesOfOnlyRecord(lab.server), ["in_progress", "completed"]);
  assert.equal(commands(await lab.server.log()).length, 1);
});

test("readiness_2_given_a_lost_answer_then_one_effect_and_the_retry_brings_the_same_result", async () => {
  await lab.open();
  await lab.server.plan([{ match: { attempt: 1 }, fault: "lost-answer" }]);
  await lab.click();
  const { resultId, replayed } = await lab.until("succeeded");
  await assertOneEffect(lab.server);
  const { orders } = await lab.server.effects();
  assert.deepEqual([resultId, replayed], [orders[0].id, true]);
  const sent = commands(await lab.server.log());
  assert.deepEqual(
    sent.map(({ status }) => status),
    ["dropped", 201],
  );
  assert.equal(new Set(sent.map(({ body_sha256 }) => body_sha256)).size, 1, "R44: the same bytes");
});

test("readiness_3_given_parallel_repeats_and_two_tabs_then_one_handler_runs", async () => {
  await lab.open({ cart: "parallel" });
  await lab.server.plan([{ match: { operation: "order.create" }, fault: "delay-effect", ms: 600 }]);
  const first = await lab.driver.getWindowHandle();
  await lab.click();
  await lab.until("sending");
  await lab.newTab();
  await lab.open({ cart: "parallel" });
  await lab.click();
  await lab.until("succeeded");
  await lab.switchTo(first);
  await lab.until("succeeded");
  const key = await assertOneEffect(lab.server);
  // Beside the page: raw copies of the same request, all at once.
  const statuses = await repeatRaw(lab, key, { sku: "A1", quantity: "2", note: "" }, 20);
  assert.deepEqual([...new Set(statuses)], [201], "every copy is answered from the record");
  await assertOneEffect(lab.server);
});

test("readiness_4_given_another_payload_under_the_old_key_then_it_is_refused_before_any_effect", async () => {
  await lab.open();
  await lab.click();
  await lab.until("succeeded");
  const key = await assertOneEffect(lab.server);
  const statuses = await repeatRaw(lab, key, { sku: "A1", quantity: "3", note: "" }, 3);
  assert.deepEqual(statuses, [422, 422, 422]);
  await assertOneEffect(lab.server);
});

test("readiness_5_given_a_spent_budget_then_no_further_attempt_and_the_unknown_outcome_offers_the_check", async () => {
  await lab.open({ budget: 2_000 });
  await lab.server.plan(Array.from({ length: 5 }, () => ({ match: {}, fault: "hang" })));
  await lab.click();
  const { why, may, doubt } = await lab.until("unknown");
  assert.deepEqual([why, doubt.possible], ["deadline", true]);
  assert.ok(may.includes("check") && !may.includes("submit"));
  const sent = commands(await lab.server.log());
  await new Promise((settle) => setTimeout(settle, 2_500)); // the situation under test: time goes on, nothing follows
  assert.equal(commands(await lab.server.log()).length, sent.length);
  assert.equal((await lab.server.effects()).count, 0);
});

/** The same command as the page sent it, `count` times at once, from outside any page. */
async function repeatRaw(lab, key, payload, count) {
  const [{ first_sent, subject }] = commands(await lab.server.log());
  const headers = {
    "content-type": "application/json",
    "idempotency-key": `"${key}"`,
    "idempotency-first-sent": first_sent,
    "idempotency-deadline": `@${Math.ceil(Date.now() / 1_000) + 8}`,
    "idempotency-subject": subject,
  };
  const one = async () => {
    const answer = await fetch(`${lab.server.url}/orders`, { method: "POST", headers, body: JSON.stringify(payload) });
    return answer.status;
  };
  return Promise.all(Array.from({ length: count }, one));
}
