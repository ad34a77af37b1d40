// Records that cannot be read, are of a newer version, or cannot be written (R27, R82, R85).
import assert from "node:assert/strict";
import { after, before, beforeEach, test } from "node:test";
import { assertOneEffect } from "./evidence.mjs";
import { openLab } from "./lab.mjs";

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

/** An open wish whose record is then replaced in both stores, as if somebody else had written there. */
async function openWishThenRecord(text) {
  await lab.open({ budget: 2_000, attempts: 1 });
  await lab.server.plan([{ match: {}, fault: "hang" }]);
  await lab.click();
  await lab.until("unknown", 4_000);
  const changed = await writeEverywhere(text);
  assert.ok(changed >= 2, "the record was in both stores");
}

const writeEverywhere = (text) =>
  lab.driver.executeAsyncScript(
    `const [text, done] = arguments;
    let changed = 0;
    for (const name of Object.keys(localStorage)) {
      if (/^postonce:[0-9a-f]{32}$/.test(name)) { localStorage.setItem(name, text); changed += 1; }
    }
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
    text,
  );

/** Also what was moved aside: the text must still be somewhere. */
const kept = async () => (await lab.scan()).join("\n");

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
    assert.ok((await kept()).includes(JSON.stringify(text).slice(1, -1)), "the text is still there");
    // Told so, the person goes on.
    const { ok } = await lab.call("beginNew", { leaveOpen: true });
    assert.equal(ok.state, "idle");
    await lab.click();
    await lab.until("succeeded");
    assert.equal((await lab.server.effects()).count, 1);
  });
}

test("r27_given_a_record_of_a_newer_version_then_read_only_and_untouched", async () => {
  await openWishThenRecord(NEWER);
  await lab.reload();
  const { state, why, may } = await lab.snapshot();
  assert.deepEqual([state, why, may], ["unknown", "newer_version", []]);
  const before = (await lab.server.log()).length;
  await lab.click();
  for (const [name, ...args] of [["beginNew", { leaveOpen: true }], ["resend"], ["check"], ["fence"]]) {
    assert.ok((await lab.call(name, ...args)).error, name);
  }
  assert.equal((await lab.server.log()).length, before, "nothing is sent");
  const values = await lab.script(() =>
    Object.entries(localStorage).filter(([name]) => /^postonce:[0-9a-f]{32}$/.test(name)),
  );
  assert.deepEqual(
    values.map(([, text]) => text),
    [NEWER],
  );
});

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
