// F46. Given k-1, answered 402 (declined) and put on record. When k-1 is sent again unchanged, then the stored 402 comes
// back and the handler has run once; when the customer corrects the order, or presses again with the same card on
// purpose, then a new key goes out and the handler runs for it. The refusal never answers for another press, and an
// automatic retry never opens a new key.
import assert from "node:assert/strict";
import { after, before, beforeEach, test } from "node:test";
import { openLab } from "../e2e/lab.mjs";
import { assertNoEffect, commandsIn, onlyKeyIn } from "./evidence.mjs";
import { newWish, post } from "./wire.mjs";

/** The demo shop's word for a card that is declined; the note stands for the card. */
const DECLINED = { sku: "DECLINED", quantity: "2", note: "c-1" };
const RUN_ONCE = ["in_progress", "rejected"];

let lab;
before(async () => {
  lab = await openLab();
});
after(() => lab?.close());
beforeEach(() => lab.reset());

async function recordOf(key) {
  return (await lab.server.records()).find((record) => record.key === key);
}

async function openAndDecline(cart) {
  await lab.open({ cart, budget: 8_000, attempts: 3 });
  await lab.fill(DECLINED);
  await lab.click();
  const { status, problem } = await lab.until("rejected");
  assert.equal(status, 402);
  assert.equal(problem.type, "urn:shop:declined");
  return onlyKeyIn(await lab.server.log());
}

/** One more press; answers with the one command that it led to. */
async function pressAgain(fields, state) {
  const { reference } = (await lab.snapshot()).last;
  await lab.fill(fields);
  await lab.click();
  await lab.until(({ state: now, last }) => now === state && last.reference !== reference);
  const [, command, ...more] = commandsIn(await lab.server.log());
  assert.deepEqual(more, [], "one request for one press");
  return command;
}

test("f46_a_given_a_declined_k1_then_the_server_replays_the_402_byte_for_byte_and_runs_the_handler_once", async () => {
  const wish = newWish(DECLINED);
  const first = await post(lab.server.url, wish);
  const again = await post(lab.server.url, wish, { attempt: 2 });
  assert.deepEqual([first.status, again.status], [402, 402]);
  assert.deepEqual(
    [first.headers["idempotent-replayed"], again.headers["idempotent-replayed"]],
    ["false", "true"],
    "an answer on record, given again",
  );
  assert.equal(again.text, first.text);
  assert.equal(again.headers["content-type"], first.headers["content-type"]);
  const { history } = await recordOf(wish.key);
  assert.deepEqual(history, RUN_ONCE, "the handler ran once");
  await assertNoEffect(lab.server);

  const other = await post(lab.server.url, { ...wish, body: JSON.stringify({ ...DECLINED, note: "c-2" }) });
  assert.equal(other.status, 422, "another card under the old key is refused, not answered with the old refusal");
  assert.match(other.text, /urn:postonce:problem:key-reused/);
});

test("f46_a_given_the_402_was_lost_then_the_automatic_retry_keeps_k1_and_shows_the_replayed_refusal", async () => {
  await lab.open({ cart: "f46-lost", budget: 8_000, attempts: 3 });
  await lab.server.plan([{ match: { operation: "order.create", attempt: 1 }, fault: "lost-answer" }]);
  await lab.fill(DECLINED);
  await lab.click();
  const { doubt } = await lab.until("rejected");
  assert.deepEqual(doubt, { possible: false }, "an answer on record clears the doubt");
  const log = await lab.server.log();
  const key = onlyKeyIn(log);
  const commands = commandsIn(log);
  assert.deepEqual(
    commands.map(({ attempt, status, replayed }) => [attempt, status, replayed]),
    [
      [1, "dropped", null],
      [2, 402, true],
    ],
  );
  assert.deepEqual((await recordOf(key)).history, RUN_ONCE);
  await assertNoEffect(lab.server);
});

test("f46_b_given_the_customer_takes_another_card_then_a_new_key_goes_out_and_the_order_is_placed", async () => {
  const first = await openAndDecline("f46-b");
  const command = await pressAgain({ sku: "A1", note: "c-2" }, "succeeded");
  assert.notEqual(command.key, first, "the refused key is closed");
  assert.deepEqual([command.status, command.replayed], [201, false], "never the old refusal, never 422");
  assert.deepEqual((await lab.server.effects()).by_key, { [command.key]: 1 });
  assert.deepEqual((await recordOf(first)).history, RUN_ONCE, "k-1 was not run again");
});

test("f46_c_given_the_customer_presses_again_with_the_same_card_then_a_new_key_goes_out_and_the_handler_runs", async () => {
  const first = await openAndDecline("f46-c");
  const command = await pressAgain({}, "rejected");
  assert.notEqual(command.key, first, "a person's press is a new wish");
  assert.deepEqual([command.status, command.replayed], [402, false], "a fresh answer, not the stored one");
  assert.deepEqual((await recordOf(command.key)).history, RUN_ONCE, "the handler ran for it");
  assert.deepEqual((await recordOf(first)).history, RUN_ONCE);
  await assertNoEffect(lab.server);
});
