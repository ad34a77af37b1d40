// A device with a wrong clock still orders exactly once (R117), and a clock that jumps gives nothing back (R31).
import assert from "node:assert/strict";
import { after, before, beforeEach, test } from "node:test";
import { assertOneEffect, commands } from "./evidence.mjs";
import { eventually, openLab } from "./lab.mjs";

let lab;
before(async () => {
  lab = await openLab();
});
after(() => lab?.close());
beforeEach(() => lab.reset());

const DAY_MS = 86_400_000;
const CLOCKS = [
  { name: "10_s_slow", ms: -10_000 },
  { name: "10_s_fast", ms: 10_000 },
  { name: "2_days_fast", ms: 2 * DAY_MS },
  { name: "2_days_slow", ms: -2 * DAY_MS },
];

/** Shifts `Date.now` in every document to come. */
const shiftClock = (ms) => lab.beforeLoad(`{ const real = Date.now; Date.now = () => real.call(Date) + ${ms}; }`);

for (const { name, ms } of CLOCKS) {
  test(`r117_given_a_clock_${name}_then_it_still_orders_exactly_once`, async () => {
    const restore = await shiftClock(ms);
    try {
      await lab.open({ cart: name });
      await lab.click();
      await lab.until("succeeded");
      await assertOneEffect(lab.server);
      const sent = commands(await lab.server.log());
      assert.ok(sent.length <= 2, "corrected once, never hammered");
      await lab.open({ cart: `${name}-again` });
      await lab.click();
      await lab.until("succeeded");
      assert.equal((await lab.server.effects()).count, 2);
      assert.equal(commands(await lab.server.log()).length, sent.length + 1, "what was learnt is kept for the origin");
    } finally {
      await restore();
    }
  });
}

for (const { name, ms } of [
  { name: "ahead", ms: 3_600_000 },
  { name: "back", ms: -3_600_000 },
]) {
  test(`r31_given_a_clock_that_jumps_an_hour_${name}_mid_flight_then_no_attempt_after_the_deadline`, async () => {
    await lab.open({ budget: 2_000 });
    await lab.server.plan(Array.from({ length: 3 }, () => ({ match: {}, fault: "hang" })));
    await lab.click();
    const submitted = Date.now();
    await eventually("the request arrived", async () => commands(await lab.server.log()).length > 0);
    await lab.script((by) => {
      const real = globalThis.Date.now;
      globalThis.Date.now = () => real.call(globalThis.Date) + by;
    }, ms);
    await lab.until("unknown", 5_000);
    for (const { received_at } of commands(await lab.server.log())) assert.ok(received_at <= submitted + 2_000);
    assert.equal((await lab.server.effects()).count, 0);
  });
}
