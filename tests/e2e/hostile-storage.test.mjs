// Storage that fails while a wish is out: full, blocked, emptied, spoilt, or written by a newer version (R27, R82-R86).
import assert from "node:assert/strict";
import { after, before, beforeEach, test } from "node:test";
import { assertOneEffect, commands } from "./evidence.mjs";
import { eventually, openLab } from "./lab.mjs";

const NEWER = '{"schema":99,"generation":5,"round":1,"rev":2,"current":{"phase":"unheard-of"}}';

let lab;
before(async () => {
  lab = await openLab();
});
after(() => lab?.close());
beforeEach(() => lab.reset());

/** Submits, and answers once the first attempt is at the server; it gets no answer before its cap of 1.5 s. */
async function submitAndArrive(query) {
  await lab.open({ budget: 8_000, attemptCap: 1_500, ...query });
  await lab.server.plan([{ match: { attempt: 1 }, fault: "hang" }]);
  await lab.click();
  await eventually("the first attempt arrived", async () => commands(await lab.server.log()).length === 1);
}

/** The retry went out under the first key, and the wish happened once. */
async function assertRetriedOnce() {
  const snapshot = await lab.until("succeeded");
  const key = await assertOneEffect(lab.server);
  assert.deepEqual(
    commands(await lab.server.log()).map((command) => command.key),
    [key, key],
  );
  return snapshot;
}

test("r83_given_a_quota_that_is_really_full_then_the_wish_happens_once_and_foreign_entries_stay", async () => {
  await lab.open();
  const filled = await lab.script(() => {
    let size = 1 << 20;
    let entries = 0;
    while (size > 0) {
      try {
        localStorage.setItem(`of-the-page-${entries}`, "x".repeat(size));
        entries += 1;
      } catch {
        size >>= 1;
      }
    }
    return entries;
  });
  await lab.click();
  const { durable } = await lab.until("succeeded");
  assert.equal(durable, true, "the database has it");
  await assertOneEffect(lab.server);
  const left = await lab.script(
    () => Object.keys(localStorage).filter((name) => name.startsWith("of-the-page-")).length,
  );
  assert.equal(left, filled, "never a foreign entry");
  await lab.reload();
  await lab.click();
  const [{ kind }] = await eventually("an answer", async () => {
    const outcomes = await lab.outcomes();
    return outcomes.length > 0 && outcomes;
  });
  assert.equal(kind, "already_done", "the next document knows");
  await assertOneEffect(lab.server);
});

test("r82_given_storage_that_is_blocked_mid_flight_then_the_retry_keeps_the_key_and_says_not_durable", async () => {
  await submitAndArrive();
  await lab.script(() => {
    const refuse = () => {
      throw new DOMException("blocked", "SecurityError");
    };
    for (const name of ["getItem", "setItem", "removeItem"]) Storage.prototype[name] = refuse;
    IDBDatabase.prototype.transaction = refuse;
    IDBFactory.prototype.open = refuse;
  });
  const { durable } = await assertRetriedOnce();
  assert.equal(durable, false);
});

test("r86_given_storage_that_another_tab_empties_mid_flight_then_the_retry_keeps_the_key_and_writes_it_back", async () => {
  await submitAndArrive();
  const first = await lab.driver.getWindowHandle();
  await lab.newTab();
  await lab.driver.get(`${lab.server.url}/pages/order.js`);
  await emptyStores();
  await lab.switchTo(first);
  await assertRetriedOnce();
  await lab.reload();
  await lab.click();
  const [{ kind }] = await eventually("an answer", async () => {
    const outcomes = await lab.outcomes();
    return outcomes.length > 0 && outcomes;
  });
  assert.equal(kind, "already_done", "what was emptied was written back");
  await assertOneEffect(lab.server);
});

/** As a logout or "clear site data" does. */
const emptyStores = () =>
  lab.driver.executeAsyncScript(
    `const done = arguments[0];
    localStorage.clear();
    sessionStorage.clear();
    const deleting = indexedDB.deleteDatabase("postonce");
    deleting.onsuccess = deleting.onerror = () => done();`,
  );

test("r85_given_a_record_that_is_spoilt_mid_flight_then_the_retry_keeps_the_key_and_the_spoilt_text_is_kept_aside", async () => {
  await submitAndArrive();
  await writeInto("#spoilt");
  await assertRetriedOnce();
  assert.ok((await lab.scan()).join("\n").includes("#spoilt"), "never overwritten silently");
});

test("r27_given_a_newer_version_that_writes_mid_flight_then_this_page_sends_no_more_and_leaves_its_record_alone", async () => {
  await submitAndArrive();
  await writeInto(NEWER);
  await lab.script(() => new BroadcastChannel("postonce").postMessage({ slot: "" }));
  const { why, may } = await lab.until("unknown");
  assert.deepEqual([why, may], ["newer_version", []]);
  await lab.click();
  await lab.call("resend");
  assert.equal(commands(await lab.server.log()).length, 1, "nothing more is sent");
  assert.ok((await lab.scan()).filter((text) => text.includes("unheard-of")).length > 0, "never overwritten");
});

/** In both stores, as somebody else would. */
const writeInto = (text) =>
  lab.driver.executeAsyncScript(
    `const [text, done] = arguments;
    for (const name of Object.keys(localStorage)) if (/^postonce:[0-9a-f]{32}$/.test(name)) localStorage.setItem(name, text);
    const opening = indexedDB.open("postonce");
    opening.onsuccess = () => {
      const writing = opening.result.transaction("intents", "readwrite");
      const walk = writing.objectStore("intents").openCursor();
      walk.onsuccess = () => {
        if (!walk.result) return;
        walk.result.update({ ...walk.result.value, text });
        walk.result.continue();
      };
      writing.oncomplete = () => { opening.result.close(); done(); };
    };`,
    text,
  );
