// F30. Given a 503 whose Retry-After merely looks like a number: '-3', '1.5', '+3', '1000abc', '0x10', '', '120, 120'. When
// that attempt ends, then the value counts as absent: the next attempt comes after our own backoff with the floor of a
// 503 that says nothing (1 s). Never at once, and never after a thousand seconds or into the year 3000.
import assert from "node:assert/strict";
import { after, before, beforeEach, test } from "node:test";
import { openLab } from "../e2e/lab.mjs";
import { assertOneEffect, commandsIn, onlyKeyIn } from "./evidence.mjs";

const FLOOR_MS = 1_000;
/** The largest first backoff is below the floor; the rest is two busy cores. */
const LATE_MS_MAX = 900;

let lab;
before(async () => {
  lab = await openLab();
});
after(() => lab?.close());
beforeEach(() => lab.reset());

for (const junk of ["-3", "1.5", "+3", "1000abc", "0x10", "", "120, 120"]) {
  test(`f30_given_retry_after_${JSON.stringify(junk)}_then_it_counts_as_absent_and_the_floor_applies`, async () => {
    await lab.open({ cart: "f30", budget: 8_000, attempts: 2 });
    const fault = { fault: "status", status: 503, retry_after: junk };
    await lab.server.plan([{ match: { operation: "order.create", attempt: 1 }, ...fault }]);
    await lab.fill({ sku: "A1", quantity: "2" });
    await lab.click();
    const { why, notBefore } = await lab.until("waiting");
    assert.equal(why, "backoff", "our own wait, not one the server asked for");
    assert.equal(notBefore, null, "junk binds nobody");
    await lab.until("succeeded");

    const log = await lab.server.log();
    const [first, second, ...more] = commandsIn(log);
    assert.deepEqual(more, []);
    assert.deepEqual([first.status, second.status], [503, 201]);
    const gap = second.received_at - first.answered_at;
    assert.ok(gap >= FLOOR_MS && gap <= FLOOR_MS + LATE_MS_MAX, `the second attempt came after ${gap} ms`);
    await assertOneEffect(lab.server, onlyKeyIn(log));
  });
}
