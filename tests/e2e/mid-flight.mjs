// What the scenarios share in which a document goes while its request is out.
import assert from "node:assert/strict";
import { assertOneEffect, commands, keysOf } from "./evidence.mjs";
import { eventually } from "./lab.mjs";

/** In all three, the first document never hears an answer. */
export const FAULTS = [
  { name: "the_server_did_it", faults: [{ fault: "delay-after", ms: 3_000 }], done: true },
  { name: "the_server_never_ran_it", faults: [{ fault: "hang" }], done: false },
  { name: "no_attempt_got_through", faults: Array.from({ length: 3 }, () => ({ fault: "drop-before" })), done: false },
];

export async function submitAndArrive(lab, faults) {
  await lab.open({ remember: "sku,quantity" });
  await lab.server.plan(faults.map((fault) => ({ match: { operation: "order.create" }, ...fault })));
  await lab.click();
  await eventually("the request arrived", async () => commands(await lab.server.log()).length > 0);
}

/** What the page says before any click, and what a resubmit then leads to. */
export async function assertHonestThenOnce(lab, { done }) {
  await lab.server.plan([]);
  const said = await lab.history();
  const states = said.map(({ state }) => state);
  assert.ok(!states.slice(1).includes("idle"), `never idle once the record was read: ${states}`);
  if (done) {
    const { resultId } = await lab.until("succeeded");
    assert.equal(resultId, (await lab.server.effects()).orders[0].id);
  } else {
    const { doubt, remembered } = await lab.until("unknown");
    assert.equal(doubt.possible, true);
    assert.deepEqual(remembered, { sku: "A1", quantity: "2" });
  }
  const sentHere = commands(await lab.server.log()).filter(({ received_at }) => received_at > said[0].at);
  assert.deepEqual(sentHere, [], "R63: nothing was sent without a gesture");
  await lab.click();
  await lab.until("succeeded");
  await assertOneEffect(lab.server);
  assert.equal(keysOf(await lab.server.log()).length, 1);
}
