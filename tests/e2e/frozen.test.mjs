// The tab is frozen while its request is out, and shown again when its budget is long over (R32, R75).
import assert from "node:assert/strict";
import { after, before, beforeEach } from "node:test";
import { assertNoneAfterDeadline, assertOneEffect, commands } from "./evidence.mjs";
import { eventually, openLab } from "./lab.mjs";
import { scenarios } from "./scenario.mjs";

let lab;
before(async () => {
  lab = await openLab();
});
after(() => lab?.close());
beforeEach(() => lab.reset());

const test = scenarios(import.meta.url);
const BUDGET_MS = 2_000;

const freeze = () => lab.driver.sendDevToolsCommand("Page.setWebLifecycleState", { state: "frozen" });
const resume = () => lab.driver.sendDevToolsCommand("Page.setWebLifecycleState", { state: "active" });

test("r32_given_a_tab_frozen_mid_flight_beyond_its_budget_then_unknown_when_it_is_back_and_nothing_more_is_sent", async () => {
  await lab.open({ budget: BUDGET_MS });
  await lab.server.plan(Array.from({ length: 3 }, () => ({ match: { operation: "order.create" }, fault: "hang" })));
  await lab.click();
  await eventually("the request arrived", async () => commands(await lab.server.log()).length === 1);
  await freeze();
  await new Promise((settle) => setTimeout(settle, 2 * BUDGET_MS)); // the situation under test
  await resume();
  const { doubt } = await lab.until("unknown");
  assert.equal(doubt.possible, true);
  assertNoneAfterDeadline(await lab.server.log());
  assert.equal((await lab.server.effects()).count, 0);
  await lab.server.plan([]);
  const { ok } = await lab.call("resend");
  assert.equal(ok.state, "succeeded");
  await assertOneEffect(lab.server);
});
