// F38, the client's side. Given k-1, finished. When the same is ordered again on purpose, then k-2 goes out and both
// happen; when the finished page is only reloaded and submitted again, then nothing goes out at all; when another operation is
// called, then it has a key of its own, and k-1 on another operation is answered 422.
import assert from "node:assert/strict";
import { after, before, beforeEach, test } from "node:test";
import { eventually, openLab } from "../e2e/lab.mjs";
import { assertOneEffect, commandsIn, onlyKeyIn } from "./evidence.mjs";
import { newWish, post } from "./wire.mjs";

let lab;
before(async () => {
  lab = await openLab();
});
after(() => lab?.close());
beforeEach(() => lab.reset());

async function finishFirst(cart) {
  await lab.open({ cart });
  await lab.click();
  await lab.until("succeeded");
  return assertOneEffect(lab.server, onlyKeyIn(await lab.server.log()));
}

test("f38_a_given_a_finished_wish_and_a_new_one_with_equal_values_then_two_keys_and_two_effects", async () => {
  await finishFirst("f38-again");
  const { ok, error } = await lab.call("beginNew");
  assert.ok(ok, JSON.stringify(error));
  await lab.click();
  await eventually("the second is placed", async () => (await lab.server.effects()).count === 2);
  const keys = commandsIn(await lab.server.log()).map(({ key }) => key);
  assert.deepEqual([keys.length, new Set(keys).size], [2, 2], "equal values do not make equal keys");
});

test("f38_a_given_a_finished_page_that_is_only_reloaded_and_submitted_then_no_second_key_and_no_second_effect", async () => {
  await finishFirst("f38-reload");
  await lab.reload();
  await lab.click();
  const [{ kind }] = await eventually("the press is answered", async () => {
    const outcomes = await lab.outcomes();
    return outcomes.length > 0 && outcomes;
  });
  assert.equal(kind, "already_done");
  const log = await lab.server.log();
  assert.equal(commandsIn(log).length, 1);
  await assertOneEffect(lab.server, onlyKeyIn(log));
});

test("f38_b_given_another_operation_then_its_key_is_its_own_and_k1_there_is_answered_422", async () => {
  await finishFirst("f38-other");
  const state = await lab.driver.executeAsyncScript(`const done = arguments[0];
    lab.defineOperation({ name: "order.draft", url: "/drafts", contract: "postonce", effect: "once", status: { url: "/drafts/status" } })
      .intent({ subject: "demo-user", object: "f38-other" }).submit({ sku: "A1", quantity: "2" })
      .then(({ snapshot }) => done(snapshot.state), (error) => done(String(error)));`);
  assert.equal(state, "succeeded");
  const sent = (await lab.server.log()).filter(({ method }) => method === "POST");
  assert.deepEqual(
    sent.map(({ operation }) => operation),
    ["order.create", "order.draft"],
  );
  assert.notEqual(sent[0].key, sent[1].key);

  const wish = newWish({ sku: "A1", quantity: "2" });
  assert.equal((await post(lab.server.url, wish)).status, 201);
  const { count } = await lab.server.effects();
  const headers = {
    "content-type": "application/json",
    "idempotency-key": `"${wish.key}"`,
    "idempotency-first-sent": `@${wish.firstSent}`,
    "idempotency-subject": '"demo-user"',
  };
  const elsewhere = await fetch(`${lab.server.url}/drafts`, { method: "POST", headers, body: wish.body });
  assert.equal(elsewhere.status, 422);
  assert.equal((await lab.server.effects()).count, count, "nothing ran");
});
