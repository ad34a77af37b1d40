// The demo page itself: what a newcomer sees when the network is broken in the ways the page offers.
import assert from "node:assert/strict";
import { after, before, beforeEach, test } from "node:test";
import { assertOneEffect, commands, keysOf } from "./evidence.mjs";
import { eventually, openLab } from "./lab.mjs";

let lab;
before(async () => {
  lab = await openLab({ flags: ["--window-size=1280,1000"] });
});
after(() => lab?.close());
beforeEach(() => lab.reset());

const text = (selector) => lab.script((of) => document.querySelector(of)?.textContent?.trim(), selector);
const state = () => lab.script(() => document.querySelector("#status")?.dataset.state);
const offered = () =>
  lab.script(() =>
    [...document.querySelectorAll("#actions [data-action]")]
      .filter((button) => button.offsetParent)
      .map((button) => button.dataset.action),
  );
const reaches = (wanted, ms) => eventually(`the page shows ${wanted}`, async () => (await state()) === wanted, ms);

async function openDemo(query = "") {
  await lab.driver.get(`${lab.server.url}/${query}`);
  await eventually("the demo is bound", () =>
    lab.script(() => (globalThis.postonceDemo?.form.snapshot.attemptsMax ?? 0) > 0),
  );
}

/** Presses the preset: the page starts over with a fresh cart, its budget and its faults. */
async function choose(scenario) {
  await lab.script((name) => document.querySelector(`[data-scenario="${name}"]`).click(), scenario);
  await eventually("the page starts over", () =>
    lab.script((name) => {
      const address = new URLSearchParams(location.search);
      return address.get("scenario") === name && (globalThis.postonceDemo?.form.snapshot.attemptsMax ?? 0) > 0;
    }, scenario),
  );
}

test("given_a_calm_network_then_one_order_one_key_and_a_true_message", async () => {
  await openDemo();
  await lab.click("#submit");
  await reaches("succeeded");
  await assertOneEffect(lab.server);
  await eventually(
    "the counters",
    async () => (await text("#effects-count")) === "1" && (await text("#keys-count")) === "1",
  );
  assert.ok((await offered()).includes("begin_new"));
});

test("given_lost_answers_until_the_budget_ends_then_unknown_in_words_and_safe_buttons_and_never_failed", async () => {
  await openDemo("?budget=2000");
  await lab.server.plan(Array.from({ length: 4 }, () => ({ match: { operation: "order.create" }, fault: "hang" })));
  await lab.click("#submit");
  await reaches("unknown", 6_000);
  const said = (await text("#status")).toLowerCase();
  assert.ok(!/\bfailed\b|\bfailure\b/.test(said), said);
  const buttons = await offered();
  for (const action of ["check", "resend", "fence"]) assert.ok(buttons.includes(action), `${action} in ${buttons}`);
  await lab.click('#actions [data-action="fence"]');
  await reaches("fenced");
  assert.equal((await lab.server.effects()).count, 0);
});

/** An order whose outcome stays unknown, then an edit and a second press: the dialog that follows. */
async function conflictAfterUnknown(fault) {
  await openDemo("?budget=2000");
  await lab.server.plan(Array.from({ length: 3 }, () => ({ match: { operation: "order.create" }, ...fault })));
  await lab.click("#submit");
  await reaches("unknown", 6_000);
  const [key] = await lab.keys();
  const before = commands(await lab.server.log()).length;
  await lab.server.plan([]);
  await lab.fill({ quantity: "7" });
  await lab.click("#submit");
  await eventually("the conflict is shown", () => lab.script(() => document.querySelector("#conflict")?.open === true));
  assert.equal(commands(await lab.server.log()).length, before, "nothing was sent");
  return { key, before };
}

test("r6_given_an_edit_after_unknown_then_the_dialog_shows_both_values_and_keeping_the_open_order_sends_nothing", async () => {
  const { before } = await conflictAfterUnknown({ fault: "delay-effect", ms: 9_000 });
  const rows = await lab.script(() =>
    [...document.querySelectorAll("#conflict-rows [data-differs=true] td")].map((cell) => cell.textContent),
  );
  assert.deepEqual(rows, ["2", "7"]);
  await lab.click('#conflict [data-choice="keep"]');
  await eventually("the dialog is closed", () => lab.script(() => !document.querySelector("#conflict").open));
  assert.equal(await state(), "unknown");
  assert.equal(commands(await lab.server.log()).length, before);
});

test("r55_given_the_change_is_chosen_then_the_open_order_is_void_first_and_only_the_change_is_ordered", async () => {
  const { key } = await conflictAfterUnknown({ fault: "hang" });
  await lab.click('#conflict [data-choice="begin_new"]');
  await reaches("idle");
  assert.deepEqual(
    (await lab.server.records()).map(({ state }) => state),
    ["fenced"],
  );
  await lab.click("#submit");
  await reaches("succeeded");
  const { count, by_key, orders } = await lab.server.effects();
  assert.deepEqual([count, by_key[key], orders[0].quantity], [1, undefined, 7]);
});

test("given_a_reload_after_an_order_then_the_drawing_still_shows_it", async () => {
  await openDemo();
  await lab.click("#submit");
  await reaches("succeeded");
  await openDemo();
  await eventually("the effect is drawn", () =>
    lab.script(() => document.querySelectorAll("#timeline .effect").length === 1),
  );
});

/** Each preset of the page: what it ends in, after how many commands, with how many orders. */
const PRESETS = {
  calm: { ends: "succeeded", sent: 1, orders: 1 },
  "lost-answer": { ends: "succeeded", sent: 2, orders: 1 },
  "two-clicks": { ends: "succeeded", sent: 1, orders: 1, presses: 2 },
  "too-slow": { ends: "unknown", orders: 0 },
  edited: { ends: "unknown", orders: 1 },
  busy: { ends: "succeeded", sent: 2, orders: 1 },
  "cut-off": { ends: "unknown", orders: 0 },
  "login-page": { ends: "succeeded", sent: 2, orders: 1 },
};

test("given_the_presets_of_the_page_then_each_one_is_tested", async () => {
  await openDemo();
  const names = await lab.script(() =>
    [...document.querySelectorAll("[data-scenario]")].map((button) => button.dataset.scenario),
  );
  assert.deepEqual(names, Object.keys(PRESETS));
});

for (const [name, { ends, sent, orders, presses = 1 }] of Object.entries(PRESETS)) {
  test(`given_the_preset_${name}_then_${ends}_and_the_counters_say_what_the_server_did`, async () => {
    await openDemo();
    await choose(name);
    for (let press = 0; press < presses; press += 1) {
      await lab.script(() => document.querySelector("#order").requestSubmit());
    }
    await reaches(ends, 10_000);
    const { count, by_key } = await lab.server.effects();
    assert.equal(count, orders);
    for (const effects of Object.values(by_key)) assert.equal(effects, 1);
    const arrived = commands(await lab.server.log());
    if (sent) assert.equal(arrived.length, sent);
    assert.equal(keysOf(arrived).length, 1);
    await eventually(
      "the counters",
      async () => (await text("#effects-count")) === String(orders) && (await text("#keys-count")) === "1",
    );
    const buttons = await offered();
    const wanted = ends === "unknown" ? ["check", "resend", "fence"] : ["begin_new"];
    for (const action of wanted) assert.ok(buttons.includes(action), `${action} in ${buttons}`);
  });
}
