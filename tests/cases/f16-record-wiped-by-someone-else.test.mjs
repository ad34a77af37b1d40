// F16. Given k-1 in flight, and another tab that clears the origin's storage. When the server then answers 503 and the
// retry is due, then it goes out under k-1 from memory and the record is written back. When instead the document goes and
// the storage is empty, then the page knows of no earlier intent and does not say that nothing was sent.
import assert from "node:assert/strict";
import { after, before, beforeEach, test } from "node:test";
import { eventually, openLab } from "../e2e/lab.mjs";
import { assertOneEffect, commandsIn, onlyKeyIn } from "./evidence.mjs";

const ELSEWHERE = "/pages/order.js";
const BUSY = { match: { attempt: 1 }, fault: "status", status: 503, problem: "not-started" };

let lab;
before(async () => {
  lab = await openLab();
});
after(() => lab?.close());
beforeEach(() => lab.reset());

/** Both stores, as a logout may do it. */
async function clearFromAnotherTab() {
  const first = await lab.driver.getWindowHandle();
  await lab.newTab();
  await lab.driver.get(`${lab.server.url}${ELSEWHERE}`);
  await lab.driver.executeAsyncScript(`const done = arguments[0];
    localStorage.clear();
    const deleting = indexedDB.deleteDatabase("postonce");
    deleting.onsuccess = deleting.onerror = () => done();`);
  await lab.driver.close();
  await lab.switchTo(first);
}

const records = () =>
  lab.script(() => Object.keys(localStorage).filter((name) => /^postonce:[0-9a-f]{32}$/.test(name)));

test("f16_given_storage_cleared_by_another_tab_before_the_retry_then_it_keeps_k1_and_writes_the_record_back", async () => {
  await lab.open({ cart: "f16" });
  await lab.server.plan([{ ...BUSY, retry_after: 2 }]);
  await lab.click();
  await lab.until("waiting");
  await clearFromAnotherTab();
  assert.deepEqual(await records(), [], "it was really empty");
  await lab.until("succeeded");
  const log = await lab.server.log();
  assert.equal(commandsIn(log).length, 2);
  await assertOneEffect(lab.server, onlyKeyIn(log));
  await eventually("the record is back", async () => (await records()).length === 1);
});

test("f16_given_storage_cleared_and_the_document_gone_then_no_earlier_intent_is_known_and_none_is_denied", async () => {
  await lab.open({ cart: "f16-gone" });
  await lab.server.plan([{ match: {}, fault: "delay-after", ms: 60_000 }]);
  await lab.click();
  await eventually("the server did it", async () => (await lab.server.effects()).count === 1);
  // Without its document nobody writes the record back.
  await lab.driver.get(`${lab.server.url}${ELSEWHERE}`);
  await clearFromAnotherTab();
  await lab.open({ cart: "f16-gone" });
  const { state, last } = await lab.snapshot();
  assert.deepEqual([state, last], ["idle", null], "knowledge is lost");
  const states = (await lab.history()).map((entry) => entry.state);
  assert.ok(!states.includes("not_sent"), "which is not the same as: nothing was sent");
  assert.equal(commandsIn(await lab.server.log()).length, 1, "and nothing goes out by itself");
});
