// The budget: nothing starts after it, and what comes then is a person's word.
import assert from "node:assert/strict";
import { after, before, beforeEach, test } from "node:test";
import { assertNoneAfterDeadline, assertOneEffect, commands, keysOf } from "./evidence.mjs";
import { eventually, openLab } from "./lab.mjs";

let lab;
before(async () => {
  lab = await openLab();
});
after(() => lab?.close());
beforeEach(() => lab.reset());

for (const attempts of [1, 3]) {
  test(`r33_r53_given_a_server_slower_than_the_budget_and_${attempts}_attempts_then_unknown_and_the_check_brings_its_result`, async () => {
    await lab.open({ budget: 2_000, attempts });
    await lab.server.plan([{ match: { attempt: 1 }, fault: "delay-effect", ms: 5_000 }]);
    await lab.click();
    const clicked = Date.now();
    const { doubt, may } = await lab.until("unknown", 4_000);
    assert.ok(doubt.possible && may.includes("check") && !may.includes("submit"));
    assert.equal((await lab.server.effects()).count, 0, "not yet done");
    await eventually("the effect", async () => (await lab.server.effects()).count === 1, 6_000);
    const log = await lab.server.log();
    assertNoneAfterDeadline(log);
    for (const { received_at } of commands(log)) assert.ok(received_at <= clicked + 2_000, "none after the budget");
    const { ok } = await lab.call("check");
    const { orders } = await lab.server.effects();
    assert.deepEqual([ok.state, ok.resultId], ["succeeded", orders[0].id]);
    await assertOneEffect(lab.server);
    const sent = commands(await lab.server.log()).length;
    assert.equal(sent, commands(log).length, "R56: a check never sends the payload");
  });
}

test("r55_given_a_resend_after_the_budget_then_a_new_round_under_the_same_key_that_the_server_accepts", async () => {
  await lab.open({ budget: 2_000 });
  await lab.server.plan(Array.from({ length: 2 }, () => ({ match: {}, fault: "hang" })));
  await lab.click();
  await lab.until("unknown", 4_000);
  const before = commands(await lab.server.log());
  await lab.server.plan([]);
  const { ok } = await lab.call("resend");
  assert.deepEqual([ok.state, ok.round], ["succeeded", 2]);
  await assertOneEffect(lab.server);
  const sent = commands(await lab.server.log());
  const again = sent.slice(before.length);
  assert.equal(again.length, 1);
  assert.deepEqual(keysOf(sent).length, 1);
  assert.equal(new Set(sent.map(({ first_sent }) => first_sent)).size, 1, "first-sent never changes");
  assert.notEqual(again[0].deadline, before[0].deadline, "the round has its own deadline");
  assertNoneAfterDeadline(sent);
});

test("r61_given_a_fence_then_the_delayed_post_is_refused_when_it_arrives", async () => {
  await lab.open({ budget: 2_000, attempts: 1 });
  await lab.server.plan([{ match: { operation: "order.create" }, fault: "delay-arrival", ms: 4_000 }]);
  await lab.click();
  await lab.until("unknown", 4_000);
  const { ok } = await lab.call("fence");
  assert.equal(ok.state, "fenced");
  const late = await eventually(
    "the delayed POST is answered",
    async () => commands(await lab.server.log()).find(({ status }) => typeof status === "number"),
    6_000,
  );
  assert.equal(late.status, 410);
  assert.equal((await lab.server.effects()).count, 0);
  const records = await lab.server.records();
  assert.deepEqual(
    records.map(({ state }) => state),
    ["fenced"],
  );
});
