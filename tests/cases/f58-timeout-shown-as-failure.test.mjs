// F58. Given a budget of two seconds and a server that commits after three. When the budget is over, then the outcome is
// unknown because of the deadline, not failed, and the page offers a check and no fresh submit. When the user presses the
// button all the same once the server is done, then the press checks k-1 and shows the finished order. No path leads from
// the unknown outcome to a second key by itself, and the effect happens once.
import assert from "node:assert/strict";
import { after, before, beforeEach, test } from "node:test";
import { eventually, openLab } from "../e2e/lab.mjs";
import { assertOneEffect, checksIn, commandsIn, onlyKeyIn } from "./evidence.mjs";

const BUDGET_MS = 2_000;
const COMMITS_AFTER_MS = 3_000;
/** Beyond the budget and every question about it. */
const STILL_RUNS_MS = 60_000;
const FAILURES = ["rejected", "refused", "not_sent"];

let lab;
before(async () => {
  lab = await openLab();
});
after(() => lab?.close());
beforeEach(() => lab.reset());

const committed = async () => (await lab.server.effects()).count === 1;

for (const attempts of [3, 1]) {
  test(`f58_given_${attempts}_attempts_and_a_commit_after_the_budget_then_unknown_by_deadline_and_a_press_finds_the_order`, async () => {
    await lab.open({ cart: `f58-${attempts}`, budget: BUDGET_MS, attempts });
    const fault = { fault: "delay-effect", ms: COMMITS_AFTER_MS };
    await lab.server.plan([{ match: { operation: "order.create", attempt: 1 }, ...fault }]);
    await lab.fill({ sku: "A1", quantity: "2" });
    await lab.click();
    const open = await lab.until("unknown");
    assert.equal(await committed(), false, "nothing has happened yet, and the page cannot know");
    assert.equal(open.why, "deadline");
    assert.equal(open.doubt.possible, true);
    assert.ok(open.may.includes("check"), "the safe next step is offered");
    assert.ok(!open.may.includes("submit"), "a fresh submit is not");

    await eventually("the server commits", committed);
    const before = await lab.server.log();
    await lab.click();
    const { result } = await lab.until("succeeded");
    const log = await lab.server.log();
    const pressed = log.slice(before.length);
    assert.equal(commandsIn(pressed).length, 0, "the press sent no command");
    assert.equal(checksIn(pressed).length, 1, "it checked");
    await assertOneEffect(lab.server, onlyKeyIn(log));
    assert.equal(result.id, (await lab.server.effects()).orders[0].id, "the finished order is shown");
    const states = (await lab.history()).map(({ state }) => state);
    for (const failure of FAILURES) assert.ok(!states.includes(failure), `never ${failure}`);
  });
}

test("f58_given_a_gateway_answers_504_for_an_order_that_was_placed_then_it_is_unknown_and_a_press_makes_no_second", async () => {
  await lab.open({ cart: "f58-gateway", budget: BUDGET_MS, attempts: 1 });
  await lab.server.plan([{ match: { operation: "order.create" }, fault: "status-after", status: 504 }]);
  await lab.fill({ sku: "A1", quantity: "2" });
  await lab.click();
  const { doubt } = await lab.until("unknown");
  assert.equal(doubt.possible, true);
  await lab.click();
  await lab.until("succeeded");
  const log = await lab.server.log();
  assert.equal(commandsIn(log).length, 1);
  await assertOneEffect(lab.server, onlyKeyIn(log));
});

test("f58_given_the_outcome_is_unknown_then_a_new_key_needs_the_persons_named_choice", async () => {
  await lab.open({ cart: "f58-choice", budget: BUDGET_MS, attempts: 1 });
  await lab.server.plan([{ match: { operation: "order.create" }, fault: "delay-effect", ms: STILL_RUNS_MS }]);
  await lab.fill({ sku: "A1", quantity: "2" });
  await lab.click();
  const { reference } = await lab.until("unknown");

  await lab.fill({ quantity: "3" });
  await lab.click();
  await eventually("the press is answered", async () => (await lab.outcomes()).length === 2);
  assert.deepEqual(
    (await lab.outcomes()).map(({ kind }) => kind),
    ["settled", "conflict"],
    "other fields: a conflict",
  );
  const { error } = await lab.call("beginNew");
  assert.equal(error?.code, "open_unknown", "it still runs, so nothing proves that a new one is safe");
  assert.equal((await lab.snapshot()).reference, reference);
  assert.equal((await lab.keys()).length, 1, "no second key so far");

  const { ok } = await lab.call("beginNew", { leaveOpen: true });
  assert.equal(ok.state, "idle");
  assert.deepEqual(
    ok.open.map((left) => left.reference),
    [reference],
    "the old one stays in sight",
  );
});
