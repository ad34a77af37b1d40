// F28. Given a budget fixed at the press, and (a) a machine that sleeps past it, with both clocks gone on or with the wall
// clock alone, (b) a reload after the clock was set two hours back, (c) a clock that jumps five minutes ahead. When the page
// goes on, then the remainder counts the larger of both clocks, is never more than the budget, and no command goes out
// before a status check.
import assert from "node:assert/strict";
import { after, before, beforeEach, test } from "node:test";
import { openLab } from "../e2e/lab.mjs";
import { assertOneEffect, checksIn, commandsIn, onlyKeyIn } from "./evidence.mjs";

const BUDGET_MS = 10_000;
const SLEEP_MS = 60_000;
const BACK_MS = -7_200_000;
const AHEAD_MS = 300_000;

let lab;
before(async () => {
  lab = await openLab();
});
after(() => lab?.close());
beforeEach(() => lab.reset());

/** Both clocks of every document to come can be set on. */
const ADJUSTABLE = `{
  const wall = Date.now.bind(Date), mono = performance.now.bind(performance);
  globalThis.clocks = { wall: 0, mono: 0 };
  Date.now = () => wall() + clocks.wall;
  performance.now = () => mono() + clocks.mono;
}`;

async function submitAndLose() {
  await lab.open({ cart: "f28", budget: BUDGET_MS });
  // Asked to come back later, so that the page waits while the clocks change.
  await lab.server.plan([{ match: { attempt: 1 }, fault: "status-after", status: 503, retry_after: 2 }]);
  await lab.click();
  await lab.until("waiting");
}

/** Shown again, the page may ask by itself; a press asks too, and neither sends anything. */
async function assertOnePressFindsIt() {
  await lab.click();
  await lab.until("succeeded");
  const log = await lab.server.log();
  assert.equal(commandsIn(log).length, 1, "never a second command");
  assert.equal(log[1].operation, "order.create.status", "it asked");
  assert.ok(checksIn(log).length <= 2);
  await assertOneEffect(lab.server, onlyKeyIn(log));
}

for (const [name, wall, mono] of [
  ["a_a_sleep_that_both_clocks_count", SLEEP_MS, SLEEP_MS],
  ["a_a_sleep_that_only_the_wall_clock_counts", SLEEP_MS, 0],
  ["c_a_clock_that_jumps_ahead", AHEAD_MS, 0],
]) {
  test(`f28_given_${name}_then_no_command_after_it_before_a_check`, async () => {
    const restore = await lab.beforeLoad(ADJUSTABLE);
    try {
      await submitAndLose();
      await lab.script((wall, mono) => Object.assign(globalThis.clocks, { wall, mono }), wall, mono);
      await lab.script(() => document.dispatchEvent(new Event("visibilitychange")) && null);
      const { state } = await lab.until(({ state }) => state === "unknown" || state === "succeeded");
      const log = await lab.server.log();
      assert.equal(commandsIn(log).length, 1, "the jump is counted against the budget");
      if (state === "unknown") await assertOnePressFindsIt();
      else assert.equal(log[1].operation, "order.create.status", "shown again, it asked");
      await assertOneEffect(lab.server, onlyKeyIn(await lab.server.log()));
    } finally {
      await restore();
    }
  });
}

test("f28_given_b_a_reload_after_the_clock_was_set_back_then_now_before_created_counts_as_expired", async () => {
  const restore = await lab.beforeLoad(ADJUSTABLE);
  try {
    await submitAndLose();
    const setBack = await lab.beforeLoad(`clocks.wall = ${BACK_MS};`);
    try {
      await lab.reload();
      const { state, deadline } = await lab.until(({ state }) => state === "unknown" || state === "succeeded");
      const log = await lab.server.log();
      assert.equal(commandsIn(log).length, 1, "nothing is sent by itself");
      assert.equal(log[1]?.operation, "order.create.status", "it asked first");
      const now = await lab.script(() => Date.now());
      assert.ok(deadline === null || deadline - now <= BUDGET_MS, "the remainder is never above the budget");
      if (state === "unknown") await assertOnePressFindsIt();
      await assertOneEffect(lab.server, onlyKeyIn(await lab.server.log()));
    } finally {
      await setBack();
    }
  } finally {
    await restore();
  }
});
