// The form is edited while the outcome is unknown: nothing is sent by itself, nothing is lost, and two keys exist only
// after the person chose to leave the old one open (R6, R55).
import assert from "node:assert/strict";
import { after, before, beforeEach, test } from "node:test";
import { assertOneEffect, commands, fences } from "./evidence.mjs";
import { eventually, openLab } from "./lab.mjs";

let lab;
before(async () => {
  lab = await openLab();
});
after(() => lab?.close());
beforeEach(() => lab.reset());

const HANG = { match: { operation: "order.create" }, fault: "hang" };

async function unknownThenEdited(faults) {
  await lab.open({ budget: 2_000, attempts: 1, remember: "sku,quantity" });
  await lab.server.plan(faults);
  await lab.click();
  await lab.until("unknown", 4_000);
  await lab.fill({ quantity: "5" });
}

test("r6_given_an_edit_after_unknown_then_conflict_is_answered_and_nothing_is_sent", async () => {
  await unknownThenEdited([HANG]);
  const before = (await lab.server.log()).length;
  await lab.click();
  const conflict = await eventually("a conflict", async () =>
    (await lab.outcomes()).find(({ kind }) => kind === "conflict"),
  );
  assert.deepEqual([conflict.why, conflict.live.quantity, conflict.offered.quantity], ["fields", "2", "5"]);
  assert.equal((await lab.server.log()).length, before, "nothing was sent");
  const { state, remembered } = await lab.snapshot();
  assert.deepEqual([state, remembered.quantity], ["unknown", "2"], "the old wish is not lost");
});

test("r55_given_an_explicit_new_order_then_the_old_one_is_fenced_first", async () => {
  await unknownThenEdited([HANG]);
  const [old] = await lab.keys();
  const { ok } = await lab.call("beginNew");
  assert.equal(ok.state, "idle");
  assert.deepEqual(
    fences(await lab.server.log()).map(({ key }) => key),
    [old],
  );
  await lab.click();
  await lab.until("succeeded");
  const { count, by_key } = await lab.server.effects();
  assert.deepEqual([count, by_key[old]], [1, undefined]);
});

test("r55_given_a_fence_that_proves_nothing_then_begin_new_is_refused_and_no_second_key_exists", async () => {
  await unknownThenEdited([
    HANG,
    ...Array.from({ length: 8 }, () => ({ match: { operation: "order.create.fence" }, fault: "status", status: 500 })),
  ]);
  const { error } = await lab.call("beginNew");
  assert.equal(error.code, "open_unknown");
  assert.equal((await lab.snapshot()).state, "unknown");
  await lab.click();
  assert.equal((await lab.keys()).length, 1);
});

test("r55_given_leave_it_open_then_two_keys_and_the_old_one_is_listed_and_can_be_checked", async () => {
  await unknownThenEdited([{ match: { operation: "order.create" }, fault: "delay-effect", ms: 12_000 }]);
  const [old] = await lab.keys();
  const refused = await lab.call("beginNew");
  assert.equal(refused.error.code, "open_unknown", "it still runs: a fence proves nothing");
  const { ok } = await lab.call("beginNew", { leaveOpen: true });
  assert.deepEqual([ok.state, ok.open.length, ok.open[0].state], ["idle", 1, "unknown"]);
  await lab.click();
  await lab.until("succeeded");
  assert.equal((await lab.keys()).length, 2);
  await eventually("the old one is done", async () => (await lab.server.effects()).by_key[old] === 1, 14_000);
  await lab.reload();
  const { open } = await lab.snapshot();
  assert.equal(open[0].state, "unknown", "it survives a reload");
  const checked = await lab.call("check", { reference: open[0].reference });
  const { orders, count } = await lab.server.effects();
  const oldOrder = orders.find(({ key }) => key === old);
  assert.deepEqual([checked.ok.open[0].state, checked.ok.open[0].resultId], ["succeeded", oldOrder.id]);
  assert.equal(count, 2, "both happened, and the person was told that both may");
});

test("r23_given_a_success_and_other_fields_then_the_next_wish_has_its_own_key", async () => {
  await lab.open();
  await lab.click();
  await lab.until("succeeded");
  await assertOneEffect(lab.server);
  await lab.fill({ quantity: "7" });
  await lab.click();
  await eventually("the second order", async () => (await lab.server.effects()).count === 2);
  assert.equal(commands(await lab.server.log()).length, 2);
  assert.equal((await lab.keys()).length, 2);
});
