// F08. Given an order of two pieces that goes out as k-1 and whose first attempt is answered 503, and an application that
// clears the form 50 ms after the first sending. When the second attempt goes out, then it carries k-1 and byte for byte
// what the first one carried (two pieces), the server never sees another payload under the key (no 422), and one effect
// happens. The blanks of the live form never reach the wire.
import assert from "node:assert/strict";
import { after, before, beforeEach, test } from "node:test";
import { eventually, openLab } from "../e2e/lab.mjs";
import { assertOneEffect, commandsIn, onlyKeyIn } from "./evidence.mjs";

const CLEARED_AFTER_MS = 50;
/** Of a 503 that does not say how long to wait. */
const FLOOR_MS = 1_000;

let lab;
before(async () => {
  lab = await openLab();
});
after(() => lab?.close());
beforeEach(() => lab.reset());

test("f08_given_a_form_cleared_after_the_first_send_then_the_second_attempt_carries_the_same_bytes_and_key", async () => {
  await lab.open({ cart: "f08", budget: 8_000, attempts: 2 });
  await lab.server.plan([{ match: { operation: "order.create", attempt: 1 }, fault: "status", status: 503 }]);
  // What the form is cleared to must not be what was sent.
  await lab.script(() => {
    for (const input of document.querySelectorAll("#order [name=sku], #order [name=quantity]")) input.defaultValue = "";
  });
  await lab.fill({ sku: "A1", quantity: "2" });
  await lab.script((ms) => {
    const form = document.querySelector("#order");
    form.addEventListener("submit", () => setTimeout(() => form.reset(), ms), { once: true });
  }, CLEARED_AFTER_MS);
  await lab.click();
  await lab.until("waiting");
  await eventually("the form is cleared", () =>
    lab.script(() => document.querySelector("#order [name=quantity]").value === ""),
  );
  assert.equal((await lab.snapshot()).state, "waiting", "before the second attempt");
  const { result } = await lab.until("succeeded");

  const log = await lab.server.log();
  const [first, second, ...more] = commandsIn(log);
  assert.deepEqual(more, [], "two attempts and no third");
  assert.deepEqual([first.attempt, second.attempt], [1, 2]);
  assert.deepEqual([first.status, second.status], [503, 201], "never 422: the key never met another payload");
  assert.ok(second.received_at - first.answered_at >= FLOOR_MS, "the cleared form was there for a while");
  assert.equal(second.body_sha256, first.body_sha256, "the same bytes");
  assert.equal(second.deadline, first.deadline, "the same deadline");
  await assertOneEffect(lab.server, onlyKeyIn(log));
  const [{ sku, quantity: ordered }] = (await lab.server.effects()).orders;
  assert.deepEqual({ sku, ordered }, { sku: "A1", ordered: 2 });
  assert.equal(result.quantity, 2, "the result is of the snapshot, not of the cleared form");
});
