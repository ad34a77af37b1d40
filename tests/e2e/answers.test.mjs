// Answers that are not what was hoped for: waits, errors after the effect, cut bodies, login pages, redirects.
import assert from "node:assert/strict";
import { after, before, beforeEach, test } from "node:test";
import { assertNoneAfterDeadline, assertOneEffect, commands } from "./evidence.mjs";
import { openLab } from "./lab.mjs";

let lab;
before(async () => {
  lab = await openLab();
});
after(() => lab?.close());
beforeEach(async () => {
  await lab.reset();
  await lab.open();
});

const gaps = (sent) =>
  sent.slice(1).map(({ received_at }, at) => received_at - (sent[at].answered_at ?? sent[at].received_at));

test("r46_given_429_with_retry_after_1_then_the_same_key_comes_again_no_earlier", async () => {
  await lab.server.plan([{ match: { attempt: 1 }, fault: "status", status: 429, retry_after: 1 }]);
  await lab.click();
  await lab.until("waiting");
  await lab.until("succeeded");
  await assertOneEffect(lab.server);
  const sent = commands(await lab.server.log());
  assert.deepEqual(
    sent.map(({ status }) => status),
    [429, 201],
  );
  assert.ok(gaps(sent)[0] >= 1_000, `asked for 1000 ms, came after ${gaps(sent)[0]} ms`);
});

test("r47_given_503_with_a_date_then_the_next_attempt_comes_no_earlier_than_the_date", async () => {
  await lab.server.plan([{ match: { attempt: 1 }, fault: "status", status: 503, retry_after: "date:+2" }]);
  await lab.click();
  const { why, until } = await lab.until("waiting");
  assert.equal(why, "retry_after");
  await lab.until("succeeded");
  await assertOneEffect(lab.server);
  const sent = commands(await lab.server.log());
  // The date and the response's own Date have whole seconds.
  assert.ok(gaps(sent)[0] >= 1_000, `came after ${gaps(sent)[0]} ms`);
  assert.ok(sent[1].received_at >= until - 5, "and not before the page said");
});

test("r48_given_a_wait_longer_than_the_budget_then_it_ends_at_once_with_the_hint", async () => {
  await lab.server.plan([{ match: { attempt: 1 }, fault: "status", status: 503, retry_after: 120 }]);
  const started = Date.now();
  await lab.click();
  const { why, notBefore, doubt } = await lab.until("unknown");
  assert.ok(Date.now() - started < 4_000, "never waits for it");
  assert.deepEqual([why, doubt.possible], ["retry_after", true]);
  assert.ok(notBefore >= started + 119_000, "the hint is kept");
  assert.equal(commands(await lab.server.log()).length, 1);
});

test("r48_given_429_and_a_wait_longer_than_the_budget_then_refused_and_never_unknown", async () => {
  await lab.server.plan([{ match: { attempt: 1 }, fault: "status", status: 429, retry_after: 120 }]);
  await lab.click();
  const { status, notBefore, doubt } = await lab.until("refused");
  assert.deepEqual([status, doubt.possible], [429, false]);
  assert.ok(notBefore > Date.now() + 100_000);
  assert.equal((await lab.server.effects()).count, 0);
});

for (const status of [500, 502, 503, 504, 408, 425]) {
  test(`r41_given_${status}_after_the_effect_then_the_retry_brings_the_result_and_it_is_never_called_failed`, async () => {
    await lab.server.plan([{ match: { attempt: 1 }, fault: "status-after", status }]);
    await lab.click();
    const { resultId, replayed } = await lab.until("succeeded");
    await assertOneEffect(lab.server);
    assert.deepEqual([resultId, replayed], [(await lab.server.effects()).orders[0].id, true]);
    const said = new Set((await lab.history()).map(({ state }) => state));
    for (const lie of ["rejected", "refused", "not_sent", "unknown"]) assert.ok(!said.has(lie), lie);
  });
}

for (const fault of ["truncated-body", "html-200-after", "redirect-after", "lost-answer"]) {
  test(`r38_r39_r40_given_${fault}_then_the_same_key_brings_the_one_result`, async () => {
    await lab.server.plan([{ match: { attempt: 1 }, fault }]);
    await lab.click();
    await lab.until("succeeded");
    await assertOneEffect(lab.server);
    assert.equal(commands(await lab.server.log()).length, 2);
  });
}

for (const fault of ["html-200", "redirect"]) {
  test(`r39_r40_given_only_${fault}_then_never_success_and_the_outcome_is_unknown`, async () => {
    await lab.server.plan(Array.from({ length: 3 }, () => ({ match: { operation: "order.create" }, fault })));
    await lab.click();
    await lab.until("unknown");
    const said = (await lab.history()).map(({ state }) => state);
    assert.ok(!said.includes("succeeded"), `${said}`);
    assert.equal((await lab.server.effects()).count, 0);
    assertNoneAfterDeadline(await lab.server.log());
  });
}

test("r21_given_doubt_and_then_a_404_then_unknown_and_never_refused", async () => {
  await lab.server.plan([
    { match: { attempt: 1 }, fault: "lost-answer" },
    { match: { attempt: 2 }, fault: "status", status: 404 },
  ]);
  await lab.click();
  const { why } = await lab.until("unknown");
  assert.equal(why, "refused");
  const { ok } = await lab.call("check");
  assert.equal(ok.state, "succeeded", "it had happened");
  await assertOneEffect(lab.server);
});

test("r24_given_a_record_backed_refusal_then_rejected_and_the_next_press_has_a_new_key", async () => {
  await lab.fill({ sku: "DECLINED" });
  await lab.click();
  const { status } = await lab.until("rejected");
  assert.equal(status, 402);
  await lab.fill({ sku: "A1" });
  await lab.click();
  await lab.until("succeeded");
  assert.equal((await lab.server.effects()).count, 1);
  assert.equal((await lab.keys()).length, 2);
});
