// Clocks that jump while the page waits, and timers that come once a minute: no attempt starts after the deadline that
// the person was promised (R31, R32, R33).
import assert from "node:assert/strict";
import { after, before, beforeEach, test } from "node:test";
import { commands } from "./evidence.mjs";
import { eventually, openLab } from "./lab.mjs";

const BUDGET_MS = 2_000;
const HOUR_MS = 3_600_000;
/** The server may need that long to notice what was sent in time. */
const TRAVEL_MS = 250;

let lab;
before(async () => {
  lab = await openLab();
});
after(() => lab?.close());
beforeEach(() => lab.reset());

/**
 * `hourglass.jump(ms)` sets the wall clock; after `hourglass.hold()` no timer fires until `hourglass.release()` lets all
 * that were set meanwhile fire at once, as a browser does with a page that nobody looks at. Only the page's own are held:
 * WebKit's driver sets its timers in the page too.
 */
const HOURGLASS = `{
  const { setTimeout: set, clearTimeout: clear } = globalThis;
  const now = Date.now.bind(Date);
  const held = new Map();
  const ofThePage = () => /\\/pages\\/|wasm/.test(new Error().stack);
  let holding = false, offset = 0, last = 1e9;
  Date.now = () => now() + offset;
  globalThis.setTimeout = (act, ...rest) => {
    if (!holding || !ofThePage()) return set(act, ...rest);
    held.set(++last, act);
    return last;
  };
  globalThis.clearTimeout = (id) => { if (!held.delete(id)) clear(id); };
  globalThis.hourglass = {
    jump: (ms) => { offset += ms; },
    hold: () => { holding = true; },
    release: () => { for (const [id, act] of [...held]) if (held.delete(id)) act(); },
  };
}`;

/** Submits with held timers; resolves with the wall clock of the press. */
async function submitWithHeldTimers(faults) {
  await lab.open({ budget: BUDGET_MS });
  await lab.server.plan(faults);
  await lab.script(() => globalThis.hourglass.hold());
  const pressed = Date.now();
  await lab.click();
  await eventually("the first attempt arrived", async () => commands(await lab.server.log()).length === 1);
  return pressed;
}

/** The situation under test: the promised time is over. */
const passDeadline = (pressed) =>
  new Promise((settle) => setTimeout(settle, pressed + BUDGET_MS + TRAVEL_MS - Date.now()));

async function assertNothingAfter(deadline) {
  const { doubt } = await lab.until("unknown");
  assert.equal(doubt.possible, true);
  await lab.script(() => globalThis.hourglass.release());
  for (const { received_at } of commands(await lab.server.log())) {
    assert.ok(received_at <= deadline, `an attempt arrived ${received_at - deadline} ms after the deadline`);
  }
  assert.equal((await lab.snapshot()).state, "unknown", "and none is waiting");
}

const LOST = Array.from({ length: 3 }, () => ({ match: {}, fault: "drop-before" }));
const HANGS = Array.from({ length: 3 }, () => ({ match: {}, fault: "hang" }));

for (const [name, faults, state] of [
  ["a_backoff", LOST, "waiting"],
  ["an_attempt_that_hangs", HANGS, "sending"],
]) {
  test(`r32_given_timers_that_come_once_a_minute_during_${name}_then_no_attempt_after_the_deadline`, async () => {
    const restore = await lab.beforeLoad(HOURGLASS);
    try {
      const pressed = await submitWithHeldTimers(faults);
      await lab.until(state);
      await passDeadline(pressed);
      await lab.script(() => globalThis.hourglass.release());
      await assertNothingAfter(pressed + BUDGET_MS);
      assert.equal(commands(await lab.server.log()).length, 1, "the one attempt that was in time");
      assert.equal((await lab.server.effects()).count, 0);
    } finally {
      await restore();
    }
  });
}

test("r31_given_a_clock_an_hour_ahead_during_a_backoff_then_it_ends_early_and_never_with_another_attempt", async () => {
  const restore = await lab.beforeLoad(HOURGLASS);
  try {
    await submitWithHeldTimers(LOST);
    await lab.until("waiting");
    await lab.script((ms) => globalThis.hourglass.jump(ms), HOUR_MS);
    await lab.script(() => globalThis.hourglass.release());
    await lab.until("unknown");
    assert.equal(commands(await lab.server.log()).length, 1, "time that seems gone is never spent again");
  } finally {
    await restore();
  }
});

test("r31_given_a_clock_an_hour_back_during_a_backoff_then_the_deadline_stands", async () => {
  const restore = await lab.beforeLoad(HOURGLASS);
  try {
    const pressed = await submitWithHeldTimers(LOST);
    await lab.until("waiting");
    await lab.script((ms) => globalThis.hourglass.jump(ms), -HOUR_MS);
    await passDeadline(pressed);
    await lab.script(() => globalThis.hourglass.release());
    await assertNothingAfter(pressed + BUDGET_MS);
  } finally {
    await restore();
  }
});

for (const [name, ms] of [
  ["ahead", HOUR_MS],
  ["back", -HOUR_MS],
]) {
  test(`r31_given_a_clock_that_jumps_an_hour_${name}_and_a_reload_then_it_asks_first_and_never_sends_by_itself`, async () => {
    const restore = await lab.beforeLoad(HOURGLASS);
    try {
      await submitWithHeldTimers(HANGS);
      const jumped = await lab.beforeLoad(`globalThis.hourglass.jump(${ms});`);
      try {
        await lab.reload();
        await lab.until("unknown");
        const log = await lab.server.log();
        assert.equal(commands(log).length, 1, "R63: nothing without a gesture");
        assert.equal(log[1]?.method, "GET", "it asked first");
        await lab.server.plan([]);
        await lab.click();
        await lab.until("succeeded");
        const { count, by_key } = await lab.server.effects();
        assert.deepEqual([count, Object.keys(by_key)], [1, await lab.keys()], "one effect under the one key");
      } finally {
        await jumped();
      }
    } finally {
      await restore();
    }
  });
}
