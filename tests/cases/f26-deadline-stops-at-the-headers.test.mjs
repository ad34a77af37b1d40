// F26. Given a budget of one second and a server that sends the headers of its 201, one byte of the body, and then
// nothing more. When the user submits, then the attempt is aborted when the second is over, not kept for ever; the
// outcome is unknown, with the 2xx that was seen as a hint that it happened; the record keeps k-1; a status check shows
// the order. Never a failure, never a second key.
import assert from "node:assert/strict";
import { after, before, beforeEach, test } from "node:test";
import { openLab } from "../e2e/lab.mjs";
import { assertOneEffect, checksIn, commandsIn, onlyKeyIn } from "./evidence.mjs";

const BUDGET_MS = 1_000;
/** What the page sees of it lies around the budget: a little after its start, and as late as two busy cores are. */
const EARLY_MS_MAX = 100;
const LATE_MS_MAX = 500;

let lab;
before(async () => {
  lab = await openLab();
});
after(() => lab?.close());
beforeEach(() => lab.reset());

async function submitIntoStall(cart) {
  await lab.open({ cart, budget: BUDGET_MS, attempts: 1 });
  await lab.server.plan([{ match: { operation: "order.create" }, fault: "stalled-body" }]);
  await lab.fill({ sku: "A1", quantity: "2" });
  await lab.click();
  return lab.until("unknown");
}

test("f26_given_a_body_that_stalls_after_its_headers_then_the_budget_ends_it_and_the_check_finds_the_order", async () => {
  const { doubt, reference } = await submitIntoStall("f26");
  assert.equal(doubt.possible, true);
  const history = await lab.history();
  const sent = history.find(({ state }) => state === "sending");
  const ended = history.find(({ state }) => state === "unknown");
  const lasted = ended.at - sent.at;
  assert.ok(lasted >= BUDGET_MS - EARLY_MS_MAX && lasted <= BUDGET_MS + LATE_MS_MAX, `aborted after ${lasted} ms`);

  const { ok } = await lab.call("check");
  assert.equal(ok.state, "succeeded");
  const log = await lab.server.log();
  assert.equal(commandsIn(log).length, 1, "no second POST, under no key");
  assert.equal(checksIn(log).length, 1);
  const key = onlyKeyIn(log);
  await assertOneEffect(lab.server, key);
  const [record] = await lab.server.records();
  assert.equal(record.key_ref, reference, "the record on the device kept k-1");
  const states = (await lab.history()).map(({ state }) => state);
  for (const failure of ["rejected", "refused", "not_sent"]) assert.ok(!states.includes(failure), `never ${failure}`);
});

test("f26_given_2xx_headers_were_seen_then_the_unknown_outcome_says_so", async () => {
  const { doubt } = await submitIntoStall("f26-hint");
  assert.equal(doubt.cause, "unreadable", "2xx headers over a body that never came: evidence, not a mere timeout");
});
