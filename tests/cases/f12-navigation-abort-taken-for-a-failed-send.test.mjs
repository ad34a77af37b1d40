// F12. Given an order whose body (k-1) has reached the server, and a reload before the server commits it. When the new
// document starts, then the record it finds says that attempt 1 is in flight, its first request is a status check for
// k-1, the page shows `checking` and then the finished order. Neither document ever shows or stores a failure, no second
// key is made and no second POST goes out.
import assert from "node:assert/strict";
import { after, afterEach, before, beforeEach, test } from "node:test";
import { eventually, openLab } from "../e2e/lab.mjs";
import { assertOneEffect, checksIn, commandsIn, onlyKeyIn } from "./evidence.mjs";
import { beforeLoad, takeFaultsOut } from "./faults.mjs";

const NAME_PREFIX = "postonce:";
const STILL_RUNS = ["sending", "waiting"];
const FAILURES = ["not_sent", "refused", "rejected", "unknown", "disputed", "idle"];

let lab;
before(async () => {
  lab = await openLab();
});
after(() => lab?.close());
beforeEach(() => lab.reset());
afterEach(() => takeFaultsOut(lab));

/** Keeps what a new document finds in the store before the page's first script runs. */
function keepRecordAtLoad(prefix) {
  try {
    const names = Object.keys(localStorage).filter((name) => name.startsWith(prefix));
    globalThis.recordsAtLoad = names.map((name) => JSON.parse(localStorage.getItem(name)));
  } catch {
    // The blank page between two tests has no storage.
    globalThis.recordsAtLoad = [];
  }
}

// Before the commit the check finds it running; after the commit and before its answer, done.
for (const [when, fault] of [
  ["before_the_commit", { fault: "delay-effect", ms: 700 }],
  ["between_commit_and_answer", { fault: "delay-after", ms: 4_000 }],
]) {
  test(`f12_given_a_reload_${when}_then_the_new_document_checks_first_and_never_shows_a_failure`, async () => {
    await beforeLoad(lab, keepRecordAtLoad, NAME_PREFIX);
    await lab.open({ cart: "f12", budget: 8_000, attempts: 3 });
    await lab.server.plan([{ match: { operation: "order.create", attempt: 1 }, ...fault }]);
    await lab.fill({ sku: "A1", quantity: "2" });
    await lab.click();
    await eventually("the body is at the server", async () => commandsIn(await lab.server.log()).length === 1);
    await lab.reload();

    const [record, ...others] = await lab.script(() => globalThis.recordsAtLoad);
    assert.deepEqual(others, [], "one record of one slot");
    // Firefox rejects the request before it lets the document go: then the doubt is on record as well.
    assert.ok(STILL_RUNS.includes(record.current.phase), "the abort of the old document wrote no failure");
    assert.equal(record.current.attempts, 1);

    const { result, doubt } = await lab.until("succeeded");
    const states = (await lab.history()).map(({ state }) => state);
    assert.ok(states.includes("checking"), `the new document says that it asks: ${states}`);
    const shown = states.slice(states.indexOf("checking"));
    assert.deepEqual(
      shown.filter((state) => FAILURES.includes(state)),
      [],
      `never a failure: ${states}`,
    );
    assert.deepEqual(doubt, { possible: false }, "the authoritative answer cleared the doubt");

    const log = await lab.server.log();
    const [command, next] = log;
    assert.equal(command.status, "client-left", "the reload really took the answer away");
    assert.equal(next.operation, "order.create.status", "the first request of the new document is the check");
    assert.equal(commandsIn(log).length, 1, "never a second POST");
    assert.ok(checksIn(log).length >= 1);
    const key = onlyKeyIn(log);
    assert.equal(key, record.current.key, "and it asks for the key of the record");
    await assertOneEffect(lab.server, key);
    assert.equal(result.quantity, 2);
  });
}
