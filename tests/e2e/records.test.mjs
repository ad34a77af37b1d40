// Records that cannot be read, are of a newer version, or cannot be written (R27, R82, R85).
import assert from "node:assert/strict";
import { after, before, beforeEach, test } from "node:test";
import { assertOneEffect } from "./evidence.mjs";
import { eventually, openLab } from "./lab.mjs";

let lab;
before(async () => {
  lab = await openLab();
});
after(() => lab?.close());
beforeEach(() => lab.reset());

const CORRUPT = {
  garbage: "#not json",
  truncated: '{"schema":1,"generation":1,"round":1,"rev":3,"current":{"key":"0101',
  another_type: "[1,2,3]",
  empty: "",
};
const NEWER = '{"schema":99,"generation":5,"round":1,"rev":2,"current":{"phase":"unheard-of"}}';

const STORES = ["localStorage", "indexedDB"];

/** An open wish whose record is then replaced in these stores, as if somebody else had written there. */
async function openWishThenRecord(text, stores = STORES) {
  await lab.open({ attempts: 1 });
  await lab.server.plan([{ match: { attempt: 1 }, fault: "status", status: 502 }]);
  await lab.click();
  await lab.until("unknown");
  // In both stores: what is still on its way would come on top of the change.
  await eventually("it is written", async () => (await lab.scan()).filter(saysUnknown).length === 2);
  const changed = await writeInto(stores, text);
  assert.equal(changed, stores.length, "the record was there");
}

const saysUnknown = (text) => text.replaceAll("\\", "").includes('"phase":"unknown"');

const writeInto = (stores, text) =>
  lab.driver.executeAsyncScript(
    `const [stores, text, done] = arguments;
    let changed = 0;
    for (const name of Object.keys(localStorage)) {
      if (stores.includes("localStorage") && /^postonce:[0-9a-f]{32}$/.test(name)) { localStorage.setItem(name, text); changed += 1; }
    }
    if (!stores.includes("indexedDB")) { done(changed); return; }
    const opening = indexedDB.open("postonce");
    opening.onsuccess = () => {
      const writing = opening.result.transaction("intents", "readwrite");
      const walk = writing.objectStore("intents").openCursor();
      walk.onsuccess = () => {
        if (!walk.result) return;
        walk.result.update({ ...walk.result.value, text });
        changed += 1;
        walk.result.continue();
      };
      writing.oncomplete = () => { opening.result.close(); done(changed); };
    };`,
    stores,
    text,
  );

/** Also what was moved aside counts: the text must still be somewhere, as it is or inside a record's JSON. */
async function isKept(text) {
  const found = (await lab.scan()).join("\n");
  return found.includes(text) || found.includes(JSON.stringify(text).slice(1, -1));
}

for (const [name, text] of Object.entries(CORRUPT)) {
  test(`r85_given_a_record_that_is_${name}_then_unknown_and_never_overwritten_silently`, async () => {
    await openWishThenRecord(text);
    await lab.reload();
    const { state, why, may } = await lab.snapshot();
    assert.deepEqual([state, why], ["unknown", "no_key"]);
    assert.ok(!may.includes("submit"));
    const before = (await lab.server.log()).length;
    await lab.click();
    assert.equal((await lab.server.log()).length, before, "nothing is sent");
    assert.ok(await isKept(text), "the text is still there");
    // Told so, the person goes on.
    const { ok } = await lab.call("beginNew", { leaveOpen: true });
    assert.equal(ok.state, "idle");
    await lab.click();
    await lab.until("succeeded");
    assert.equal((await lab.server.effects()).count, 1);
  });
}

for (const store of STORES) {
  for (const [name, text] of Object.entries(CORRUPT)) {
    test(`r85_given_a_record_that_is_${name}_in_${store}_alone_then_the_other_store_keeps_the_wish_under_its_key`, async () => {
      await openWishThenRecord(text, [store]);
      await lab.reload();
      const { state, why, doubt, may } = await lab.until("unknown");
      assert.deepEqual([state, doubt.possible], ["unknown", true]);
      assert.notEqual(why, "no_key");
      assert.ok(!may.includes("submit"));
      const { ok, error } = await lab.call("resend");
      assert.equal(ok?.state, "succeeded", JSON.stringify(error));
      assert.ok(await isKept(text), "R85: moved aside, never overwritten silently");
      await assertOneEffect(lab.server);
    });
  }

  test(`r27_given_a_record_of_a_newer_version_in_${store}_alone_then_read_only_and_untouched`, async () => {
    await openWishThenRecord(NEWER, [store]);
    await assertReadOnly();
  });
}

test("r27_given_a_record_of_a_newer_version_then_read_only_and_untouched", async () => {
  await openWishThenRecord(NEWER);
  await assertReadOnly();
});

/** After a reload: the page says so, no gesture sends anything, and the newer text stays in every store that held it. */
async function assertReadOnly() {
  const before = await newerTexts();
  await lab.reload();
  const { state, why, may } = await lab.snapshot();
  assert.deepEqual([state, why, may], ["unknown", "newer_version", []]);
  const sent = (await lab.server.log()).length;
  await lab.click();
  for (const [name, ...args] of [["beginNew", { leaveOpen: true }], ["resend"], ["check"], ["fence"]]) {
    assert.ok((await lab.call(name, ...args)).error, name);
  }
  assert.equal((await lab.server.log()).length, sent, "nothing is sent");
  const after = await newerTexts();
  assert.ok(before.length > 0 && before.every((text) => after.includes(text)), "never overwritten");
}

/** What the stores hold of the newer version. */
const newerTexts = async () => (await lab.scan()).filter((text) => text.includes("unheard-of"));

/** Storage whose very getters throw, as with all site data blocked. */
const blockStorage = () =>
  lab.beforeLoad(`for (const name of ["localStorage", "sessionStorage", "indexedDB"])
    Object.defineProperty(globalThis, name, { get() { throw new DOMException("blocked", "SecurityError"); } });`);

test("r82_given_blocked_storage_then_best_effort_sends_once_and_says_that_it_is_not_durable", async () => {
  const restore = await blockStorage();
  try {
    await lab.open();
    await lab.click();
    const { durable } = await lab.until("succeeded");
    assert.equal(durable, false);
    await assertOneEffect(lab.server);
  } finally {
    await restore();
  }
});

test("r82_given_blocked_storage_then_required_sends_nothing_and_says_why", async () => {
  const restore = await blockStorage();
  try {
    await lab.open({ persistence: "required" });
    await lab.click();
    const { why } = await lab.until("not_sent");
    assert.equal(why, "storage_unavailable");
    assert.deepEqual(await lab.server.log(), []);
  } finally {
    await restore();
  }
});
