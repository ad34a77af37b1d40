// The demo page itself: what a newcomer sees when the network is broken in the ways the page offers.
import assert from "node:assert/strict";
import { after, before, beforeEach, test } from "node:test";
import { assertOneEffect } from "./evidence.mjs";
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

test("given_an_edit_after_unknown_then_the_page_shows_the_conflict_with_both_values_and_sends_nothing", async () => {
  await openDemo("?budget=2000");
  await lab.server.plan([{ match: { operation: "order.create" }, fault: "delay-effect", ms: 9_000 }]);
  await lab.click("#submit");
  await reaches("unknown", 6_000);
  const before = (await lab.server.log()).filter(({ method }) => method === "POST").length;
  await lab.script(() => {
    const field = document.querySelector("#order [name=quantity]");
    field.value = "7";
    field.dispatchEvent(new InputEvent("input", { bubbles: true }));
  });
  await lab.click("#submit");
  await eventually("the conflict is shown", () => lab.script(() => document.querySelector("#conflict")?.open === true));
  assert.match(await text("#conflict"), /7/);
  assert.equal((await lab.server.log()).filter(({ method }) => method === "POST").length, before);
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

test("given_the_presets_of_the_page_then_each_keeps_at_most_one_order_per_key", async () => {
  await openDemo();
  const names = await lab.script(() =>
    [...document.querySelectorAll("[data-scenario]")].map((button) => button.dataset.scenario),
  );
  assert.ok(names.length >= 6, `${names}`);
  for (const name of names) {
    await lab.reset();
    await openDemo();
    await choose(name);
    await lab.script(() => document.querySelector("#order").requestSubmit());
    await eventually(
      `${name} settles`,
      async () => !["idle", "sending", "waiting", "checking"].includes(await state()),
      15_000,
    );
    const { by_key } = await lab.server.effects();
    for (const count of Object.values(by_key)) assert.equal(count, 1, name);
  }
});
