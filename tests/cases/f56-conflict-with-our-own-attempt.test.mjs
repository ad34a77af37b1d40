// F56. Given attempt 1 (k-1) that runs three seconds while the page gives up on it after one, and attempt 2 that is told
// 409 in-progress: our own first attempt is what is in progress. When the outcome is there at three seconds, then the page
// has waited at the pace the server asked for, inside its budget, and ends as succeeded. A 409 of our own is never shown
// as a failure, k-2 is never made, and the effect happens once.
import assert from "node:assert/strict";
import { after, afterEach, before, beforeEach, test } from "node:test";
import { openLab } from "../e2e/lab.mjs";
import { assertOneEffect, checksIn, commandsIn, onlyKeyIn } from "./evidence.mjs";
import { beforeLoad, takeFaultsOut } from "./faults.mjs";

const RUNS_MS = 3_000;
const GIVEN_UP_AFTER_MS = 1_000;
const BUDGET_MS = 8_000;
/** What the demo server asks for beside 409 in-progress. */
const ASKED_MS = 1_000;
const FAILURES = ["rejected", "refused", "not_sent", "unknown", "disputed", "idle"];

let lab;
before(async () => {
  lab = await openLab();
});
after(() => lab?.close());
beforeEach(() => lab.reset());
afterEach(() => takeFaultsOut(lab));

async function submit(options, fault) {
  await lab.open({ budget: BUDGET_MS, attempts: 3, ...options });
  await lab.server.plan([{ match: { operation: "order.create", attempt: 1 }, ...fault }]);
  await lab.fill({ sku: "A1", quantity: "2" });
  await lab.click();
  await lab.until("sending");
}

async function assertNeverAFailure() {
  const states = (await lab.history()).map(({ state }) => state);
  const shown = states.slice(states.indexOf("sending"));
  assert.deepEqual(
    shown.filter((state) => FAILURES.includes(state)),
    [],
    `never a failure: ${states}`,
  );
}

test("f56_given_a_409_for_our_own_first_attempt_then_the_page_waits_at_the_asked_pace_and_ends_succeeded", async () => {
  await submit({ cart: "f56", attemptCap: GIVEN_UP_AFTER_MS }, { fault: "delay-effect", ms: RUNS_MS });
  const { result, at } = await lab.until("succeeded");

  const log = await lab.server.log();
  const [first, second, ...more] = commandsIn(log);
  assert.deepEqual(more, [], "a wait is no reason for a third POST");
  assert.equal(first.status, "client-left", "given up by the page, not by the server");
  assert.equal(second.status, 409);
  assert.ok(first.answered_at - first.received_at < RUNS_MS - ASKED_MS, "long before it was done");
  const asked = [second, ...checksIn(log)];
  assert.ok(asked.length >= 2, "the check brought the outcome");
  for (const [earlier, later] of asked.slice(1).map((request, index) => [asked[index], request])) {
    const pause = later.received_at - earlier.answered_at;
    assert.ok(pause >= ASKED_MS, `the server asked for ${ASKED_MS} ms, the page came back after ${pause}`);
  }
  assert.ok(at - first.received_at <= BUDGET_MS, "inside the budget");
  await assertNeverAFailure();
  await assertOneEffect(lab.server, onlyKeyIn(log));
  assert.equal(result.id, (await lab.server.effects()).orders[0].id);
});

/** An application's wrapper that loses the signal: what the page gave up on still comes in. */
function fetchThatCannotBeAborted() {
  const real = globalThis.fetch;
  globalThis.fetch = (input, { signal: _lost, ...init } = {}) => real(input, init);
}

test("f56_given_the_first_attempts_own_answer_comes_after_a_409_then_it_counts_and_nothing_else_is_needed", async () => {
  await beforeLoad(lab, fetchThatCannotBeAborted);
  await lab.open({ cart: "f56-own", budget: BUDGET_MS, attempts: 3, attemptCap: GIVEN_UP_AFTER_MS });
  const failing = Array(20).fill({ match: { operation: "status" }, fault: "status", status: 500 });
  const slow = { match: { operation: "order.create", attempt: 1 }, fault: "delay-effect", ms: RUNS_MS };
  await lab.server.plan([slow, ...failing]);
  await lab.fill({ sku: "A1", quantity: "2" });
  await lab.click();
  const { replayed } = await lab.until("succeeded");
  assert.equal(replayed, false, "the answer to attempt 1 itself, not a replay");

  const log = await lab.server.log();
  assert.deepEqual(
    commandsIn(log).map(({ attempt, status }) => [attempt, status]),
    [
      [1, 201],
      [2, 409],
    ],
  );
  assert.ok(
    checksIn(log).every(({ status }) => status === 500),
    "no check told it",
  );
  await assertNeverAFailure();
  await assertOneEffect(lab.server, onlyKeyIn(log));
});

test("f56_given_the_very_first_attempt_is_told_409_then_it_is_progress_too_and_the_outcome_is_shown", async () => {
  // A clone below the library, or another tab's lost copy: somebody else's request holds our key (R124).
  await lab.open({ cart: "f56-clone", budget: BUDGET_MS, attempts: 3 });
  await lab.server.plan([
    {
      match: { operation: "order.create", attempt: 1 },
      fault: "status",
      status: 409,
      problem: "in-progress",
      retry_after: "1",
    },
  ]);
  await lab.fill({ sku: "A1", quantity: "2" });
  await lab.click();
  await lab.until("succeeded");
  await assertNeverAFailure();
  const log = await lab.server.log();
  await assertOneEffect(lab.server, onlyKeyIn(log));
});

test("f56_given_the_budget_ends_while_it_still_runs_then_unknown_keeps_k1_and_the_check_shows_it_later", async () => {
  await submit(
    { cart: "f56-late", budget: 2_000, attemptCap: GIVEN_UP_AFTER_MS },
    { fault: "delay-effect", ms: RUNS_MS },
  );
  const { doubt, reference } = await lab.until("unknown");
  assert.equal(doubt.possible, true);
  const [record] = await lab.server.records();
  assert.equal(record.key_ref, reference);
  let answer;
  do answer = await lab.call("check");
  while (answer.ok?.state === "unknown");
  assert.equal(answer.ok?.state, "succeeded", JSON.stringify(answer));
  const log = await lab.server.log();
  assert.ok(commandsIn(log).length <= 2, "checking never posts");
  await assertOneEffect(lab.server, onlyKeyIn(log));
});
