// A page that goes back and forth, is duplicated, hidden, frozen, or loses its process; and people who sign out and in.
import assert from "node:assert/strict";
import { after, before, beforeEach } from "node:test";
import { processOf } from "../claims/process.mjs";
import { assertOneEffect, checks, commands, keysOf } from "./evidence.mjs";
import { eventually, openLab } from "./lab.mjs";
import { scenarios } from "./scenario.mjs";

const test = scenarios(import.meta.url);
const SPACING_MS = 5_000;
const DONE_LATE = [{ match: { attempt: 1 }, fault: "delay-after", ms: 60_000 }];

let lab;
before(async () => {
  lab = await openLab();
});
after(() => lab?.close());
beforeEach(() => lab.reset());

/** Submits what the server does but never answers in time. */
async function submitAndDo(query) {
  await lab.open(query);
  await lab.server.plan(DONE_LATE);
  await lab.click();
  await eventually("the server did it", async () => (await lab.server.effects()).count === 1);
}

async function assertShownOnce() {
  const { resultId } = await lab.until("succeeded");
  assert.equal(resultId, (await lab.server.effects()).orders[0].id);
  await lab.click();
  await lab.until("succeeded");
  await assertOneEffect(lab.server);
  assert.equal(commands(await lab.server.log()).length, 1, "never a second command");
}

test("r75_given_back_and_forward_mid_flight_then_the_page_finds_the_result_and_never_sends_again", async (t) => {
  await submitAndDo({ cart: "history" });
  await lab.script(() => addEventListener("pageshow", ({ persisted }) => (globalThis.wasKept = persisted)));
  await lab.driver.get(`${lab.server.url}/pages/order.js`);
  await lab.driver.navigate().back();
  await lab.bound();
  t.diagnostic(`from the back/forward cache: ${(await lab.script(() => globalThis.wasKept)) ?? false}`);
  await assertShownOnce();
});

test("r73_given_a_duplicated_tab_mid_flight_then_both_show_the_one_result", async () => {
  await submitAndDo({ cart: "duplicate" });
  const first = await lab.driver.getWindowHandle();
  // With an opener, so that the copy shares what a duplicated tab shares: the session storage.
  await lab.script(() => {
    sessionStorage.setItem("of-the-page", "copied");
    globalThis.copy = window.open(location.href);
  });
  const copy = await eventually("the copy is there", async () =>
    (await lab.driver.getAllWindowHandles()).find((handle) => handle !== first),
  );
  await lab.switchTo(copy);
  await lab.bound();
  assert.equal(await lab.script(() => sessionStorage.getItem("of-the-page")), "copied");
  await assertShownOnce();
  await lab.switchTo(first);
  await assertShownOnce();
});

test("r20_given_two_windows_and_one_of_them_closed_mid_flight_then_the_other_shows_the_result", async () => {
  const other = await lab.driver.getWindowHandle();
  await lab.open({ cart: "windows" });
  await lab.driver.switchTo().newWindow("window");
  await submitAndDo({ cart: "windows" });
  await lab.driver.close();
  await lab.switchTo(other);
  await assertShownOnce();
});

test("r76_given_a_renderer_that_dies_mid_flight_then_a_new_tab_says_so_and_makes_no_second_effect", async () => {
  const stays = await lab.driver.getWindowHandle();
  await lab.driver.switchTo().newWindow("window");
  await lab.open({ cart: "crash" });
  await lab.script(() => {
    globalThis.spin = (ms) => {
      for (const end = performance.now() + ms; performance.now() < end; );
    };
  });
  const pid = await processOf((ms) => lab.script((ms) => globalThis.spin(ms), ms));
  await submitAndDo({ cart: "crash" });
  process.kill(pid, "SIGKILL");
  await lab.switchTo(stays);
  await lab.open({ cart: "crash" });
  assert.ok(!(await lab.history()).slice(1).some(({ state }) => state === "idle"), "never idle");
  await assertShownOnce();
});

for (const [name, event, target] of [
  ["shown_again", "pageshow", "globalThis"],
  ["visible_again", "visibilitychange", "document"],
  ["online_again", "online", "globalThis"],
]) {
  test(`r63_given_an_unknown_outcome_when_the_page_is_${name}_then_it_asks_once_and_never_sends`, async () => {
    await lab.open({ cart: name, attempts: 1 });
    await lab.server.plan([{ match: { attempt: 1 }, fault: "lost-answer" }]);
    await lab.click();
    await lab.until("unknown");
    assert.equal(checks(await lab.server.log()).length, 0, "R53: not at the moment it ends");
    await lab.driver.executeScript(`for (let n = 0; n < 5; n += 1) ${target}.dispatchEvent(new Event("${event}"));`);
    const { resultId } = await lab.until("succeeded");
    assert.equal(resultId, (await lab.server.effects()).orders[0].id);
    const log = await lab.server.log();
    assert.deepEqual([checks(log).length, commands(log).length], [1, 1]);
  });
}

test("r53_given_an_open_outcome_that_is_shown_again_and_again_then_one_check_in_five_seconds", async () => {
  await lab.open({ cart: "again", attempts: 1 });
  await lab.server.plan([{ match: { attempt: 1 }, fault: "drop-before" }]);
  await lab.click();
  await lab.until("unknown");
  const started = Date.now();
  const show = () => lab.script(() => document.dispatchEvent(new Event("visibilitychange")) && null);
  // The situation under test: somebody who looks at the page all the time.
  while (Date.now() < started + SPACING_MS - 1_000) {
    await show();
    await new Promise((settle) => setTimeout(settle, 100));
  }
  await lab.until("unknown");
  assert.equal(checks(await lab.server.log()).length, 1);
  assert.equal(commands(await lab.server.log()).length, 1);
});

test("r62_given_a_session_that_ended_then_suspended_and_after_signing_in_a_press_sends_the_same_key_in_a_new_round", async () => {
  await lab.open({ cart: "signed-out" });
  await lab.driver.manage().addCookie({ name: "demo_subject", value: "signed-out", path: "/" });
  try {
    await lab.click();
    const { why, may, round } = await lab.until("suspended");
    assert.equal(why, "signed_out");
    assert.ok(may.includes("sign_in"));
    assert.equal((await lab.server.effects()).count, 0);
    await lab.driver.manage().deleteCookie("demo_subject");
    const sent = commands(await lab.server.log()).length;
    await lab.script(() => globalThis.dispatchEvent(new Event("online")));
    await lab.script(() => document.dispatchEvent(new Event("visibilitychange")) && null);
    assert.equal(commands(await lab.server.log()).length, sent, "never without a gesture");
    await lab.click();
    const after = await lab.until("succeeded");
    assert.ok(after.round > round, "a new round");
    await assertOneEffect(lab.server);
    assert.equal(keysOf(commands(await lab.server.log())).length, 1);
  } finally {
    await lab.driver.manage().deleteCookie("demo_subject");
  }
});
