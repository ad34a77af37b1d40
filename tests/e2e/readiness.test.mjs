// The five readiness scenarios of the contract, seen at the server: request log, record states, effect counter.
import assert from "node:assert/strict";
import { after, before, beforeEach, test } from "node:test";
import { assertOneEffect, commands, statesOfOnlyRecord } from "./evidence.mjs";
import { eventually, openLab } from "./lab.mjs";

/** What the page's form holds, as the body that it sends. */
const WISH = { sku: "A1", quantity: "2", note: "" };

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

test("readiness_3_given_two_tabs_then_one_handler_runs", async () => {
  await lab.open({ cart: "parallel" });
  // Long enough for a second tab to open on a busy machine.
  await lab.server.plan([{ match: { operation: "order.create" }, fault: "delay-effect", ms: 2_500 }]);
  const first = await lab.driver.getWindowHandle();
  await lab.click();
  await lab.until("sending");
  await lab.newTab();
  await lab.open({ cart: "parallel" });
  await lab.click();
  const inSecond = await lab.until("succeeded");
  await lab.switchTo(first);
  const inFirst = await lab.until("succeeded");
  await assertOneEffect(lab.server);
  assert.equal(inFirst.resultId, inSecond.resultId, "both tabs show the one order");
});

test("readiness_3_given_copies_of_the_request_while_it_runs_and_after_it_then_one_handler_runs", async () => {
  await lab.open();
  await lab.server.plan([{ match: { attempt: 1 }, fault: "delay-effect", ms: 1_500 }]);
  await lab.click();
  await eventually("the handler runs", async () => (await lab.server.records())[0]?.state === "in_progress");
  const [key] = await lab.keys();
  const running = await repeatRaw(lab, key, WISH, 20);
  for (const { status, replayed, problem } of running) {
    // A copy waits for the owner or is told that it runs; it never runs anything itself.
    if (status === 409) assert.equal(problem, "urn:postonce:problem:in-progress");
    else assert.deepEqual([status, replayed], [201, "true"]);
  }
  await lab.until("succeeded");
  assert.equal(await assertOneEffect(lab.server), key);
  assert.deepEqual(await statesOfOnlyRecord(lab.server), ["in_progress", "completed"]);
  const later = await repeatRaw(lab, key, WISH, 20);
  assert.ok(
    later.every(({ status, replayed }) => status === 201 && replayed === "true"),
    "every copy is answered from the record",
  );
  assert.equal(new Set(later.map(({ body }) => body)).size, 1, "R113: the same bytes");
  await assertOneEffect(lab.server);
});

test("readiness_4_given_another_payload_under_the_old_key_then_it_is_refused_before_any_effect", async () => {
  await lab.open();
  await lab.click();
  await lab.until("succeeded");
  const key = await assertOneEffect(lab.server);
  const refused = await repeatRaw(lab, key, { ...WISH, quantity: "3" }, 3);
  for (const { status, replayed, problem } of refused) {
    assert.deepEqual([status, replayed, problem], [422, null, "urn:postonce:problem:key-reused"]);
  }
  await assertOneEffect(lab.server);
  assert.deepEqual(await statesOfOnlyRecord(lab.server), ["in_progress", "completed"], "the record is untouched");
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
    const body = await answer.text();
    const replayed = answer.headers.get("idempotent-replayed");
    return { status: answer.status, replayed, body, problem: JSON.parse(body).type };
  };
  return Promise.all(Array.from({ length: count }, one));
}
