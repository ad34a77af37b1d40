// Many tabs at once: on one slot, and each on its own.
import assert from "node:assert/strict";
import { after, before, beforeEach, test } from "node:test";
import { assertOneEffect, checks, commands, keysOf } from "./evidence.mjs";
import { eventually, openLab } from "./lab.mjs";

const TABS = 50;
/** Time for fifty pages to be heard on two cores. */
const BUDGET_MS = 30_000;
const SETTLE_MS_MAX = 40_000;
const HELD_UP_MS = 4_000;
const BY_ITSELF_PER_MS = 5_000;

let lab;
before(async () => {
  lab = await openLab();
});
after(() => lab?.close());
beforeEach(() => lab.reset());

/** Opens so many tabs, each of which submits when it hears `go`. */
async function openTabs(count, query) {
  const handles = [];
  for (let n = 0; n < count; n += 1) {
    if (n > 0) await lab.newTab();
    await lab.open(query(n));
    await lab.script(() => {
      globalThis.starting = new BroadcastChannel("go");
      globalThis.starting.onmessage = () => document.querySelector("#order").requestSubmit();
    });
    handles.push(await lab.driver.getWindowHandle());
  }
  return handles;
}

/** All in one moment, this tab too: a message is not throttled in a tab that nobody looks at. */
const go = () => lab.script(() => new BroadcastChannel("go").postMessage("submit"));

async function shownIn(handles) {
  const results = new Set();
  for (const handle of handles) {
    await lab.switchTo(handle);
    const { resultId } = await lab.until("succeeded", SETTLE_MS_MAX);
    results.add(resultId);
  }
  return [...results];
}

test(`r67_given_${TABS}_tabs_on_one_slot_that_submit_together_then_one_effect_and_all_show_it`, async (t) => {
  const handles = await openTabs(TABS, () => ({ cart: "one", budget: BUDGET_MS }));
  await go();
  const shown = await shownIn(handles);
  const key = await assertOneEffect(lab.server);
  const log = await lab.server.log();
  assert.deepEqual(keysOf(log), [key], "nothing else was ever asked about");
  assert.deepEqual(shown, [(await lab.server.effects()).orders[0].id], "every tab shows the one order");
  assert.equal(commands(log).length, 1, "one tab drives");
  t.diagnostic(`${commands(log).length} commands, ${checks(log).length} checks`);
});

test(`r26_given_${TABS}_tabs_on_as_many_objects_then_as_many_effects_and_none_waits_for_another`, async (t) => {
  const handles = await openTabs(TABS, (n) => ({ cart: `own-${n}`, budget: BUDGET_MS }));
  // The first to arrive takes long: a lock or a queue over all slots would hold the others up.
  await lab.server.plan([{ match: { operation: "order.create" }, fault: "delay-effect", ms: HELD_UP_MS }]);
  await go();
  await eventually("every order is placed", async () => (await lab.server.effects()).count === TABS, SETTLE_MS_MAX);
  const shown = await shownIn(handles);
  const log = commands(await lab.server.log());
  assert.equal(shown.length, TABS, "each shows its own order");
  assert.deepEqual([log.length, keysOf(log).length], [TABS, TABS], "one command and one key each");
  const [held, ...others] = log.toSorted((a, b) => b.answered_at - a.answered_at);
  assert.equal(held.fault, "delay-effect", "whoever was held up at the server is the last");
  const started = Math.min(...log.map(({ received_at }) => received_at));
  t.diagnostic(`the last of the others was done ${others[0].answered_at - started} ms after the first arrived`);
});

test("r53_given_five_tabs_on_one_unknown_outcome_that_come_online_together_then_at_most_one_asks", async () => {
  await lab.open({ cart: "asked", attempts: 1 });
  await lab.server.plan([{ match: {}, fault: "status", status: 502 }]);
  await lab.click();
  await lab.until("unknown");
  const handles = [await lab.driver.getWindowHandle()];
  for (let n = 0; n < 4; n += 1) {
    await lab.newTab();
    await lab.open({ cart: "asked", attempts: 1 });
    await lab.until("unknown");
    handles.push(await lab.driver.getWindowHandle());
  }
  for (const handle of handles) {
    await lab.switchTo(handle);
    await lab.script(() => {
      globalThis.back = new BroadcastChannel("online");
      globalThis.back.onmessage = () => globalThis.dispatchEvent(new Event("online"));
    });
  }
  // The situation under test: so long since the last of them asked.
  await new Promise((settle) => setTimeout(settle, BY_ITSELF_PER_MS + 500));
  const before = checks(await lab.server.log()).length;
  await lab.script(() => new BroadcastChannel("online").postMessage("now"));
  await eventually("one asks", async () => checks(await lab.server.log()).length > before);
  for (const handle of handles) {
    await lab.switchTo(handle);
    await lab.until("unknown");
  }
  assert.equal(checks(await lab.server.log()).length - before, 1, "R53: at most one in five seconds over all tabs");
  assert.equal(commands(await lab.server.log()).length, 1, "R63: nothing is sent without a gesture");
});
