// F20. Given k-1, sent by tab A, and A frozen (variant: gone). When tab B loads and submits the same wish, then it does
// not wait for A without end: it asks the server, and within the round's budget says what is known. When A thaws, it reads
// the record again and sends nothing.
import assert from "node:assert/strict";
import { after, before, beforeEach, test } from "node:test";
import { eventually, openLab } from "../e2e/lab.mjs";
import { assertOneEffect, checksIn, commandsIn, onlyKeyIn } from "./evidence.mjs";

const BUDGET_MS = 4_000;
const FROZEN_MS = 12_000;
/** Cap of the attempt, grace, and one status check. */
const ANSWER_MS_MAX = BUDGET_MS / 2 + 1_000 + 3_000 + 2_000;

let lab;
before(async () => {
  lab = await openLab();
});
after(() => lab?.close());
beforeEach(() => lab.reset());

async function sendAndLoseAnswer(cart) {
  await lab.open({ cart, budget: BUDGET_MS });
  await lab.server.plan([{ match: { operation: "order.create" }, fault: "delay-after", ms: 60_000 }]);
  await lab.click();
  await eventually("the server did it", async () => (await lab.server.effects()).count === 1);
}

test("f20_given_an_owner_that_is_frozen_then_another_tab_asks_and_knows_and_the_owner_sends_nothing_when_it_thaws", async () => {
  const ownerTab = await lab.driver.getWindowHandle();
  await sendAndLoseAnswer("f20");
  await lab.driver.switchTo().newWindow("window");
  const other = await lab.driver.getWindowHandle();
  await lab.switchTo(ownerTab);
  // Its thread does nothing else for so long: no timer, no message, no lock is given back.
  await lab.script((ms) => {
    setTimeout(() => {
      for (const end = performance.now() + ms; performance.now() < end; );
      globalThis.thawed = true;
    }, 50);
  }, FROZEN_MS);
  const frozen = Date.now();
  await lab.switchTo(other);
  await lab.open({ cart: "f20", budget: BUDGET_MS });
  await lab.click();
  const { resultId } = await lab.until("succeeded", ANSWER_MS_MAX);
  assert.ok(Date.now() - frozen < FROZEN_MS, "the owner is still frozen");
  assert.equal(resultId, (await lab.server.effects()).orders[0].id);
  const sent = commandsIn(await lab.server.log()).length;
  assert.ok(checksIn(await lab.server.log()).length >= 1, "it asked");

  await lab.switchTo(ownerTab);
  await eventually("the owner thaws", () => lab.script(() => globalThis.thawed === true), FROZEN_MS + 5_000);
  const shown = await lab.until("succeeded");
  assert.equal(shown.resultId, resultId, "it read the record again");
  const log = await lab.server.log();
  assert.equal(commandsIn(log).length, sent, "and sent nothing");
  await assertOneEffect(lab.server, onlyKeyIn(log));
});

test("f20_given_an_owner_that_is_gone_then_another_tab_asks_at_once_and_sends_no_second_command", async () => {
  const stays = await lab.driver.getWindowHandle();
  await lab.newTab();
  await sendAndLoseAnswer("f20-gone");
  await lab.driver.close();
  await lab.switchTo(stays);
  await lab.open({ cart: "f20-gone", budget: BUDGET_MS });
  await lab.until("succeeded", ANSWER_MS_MAX);
  const log = await lab.server.log();
  assert.equal(commandsIn(log).length, 1);
  assert.ok(checksIn(log).length >= 1);
  await assertOneEffect(lab.server, onlyKeyIn(log));
});
