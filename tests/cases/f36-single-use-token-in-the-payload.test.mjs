// F36. Given a captcha that may be verified once and rides in the payload, declared volatile. When the same wish comes again
// with a fresh one, then it is the same intent under the same key; a spent one is refused with the field named and the key
// kept, never a terminal rejection; and a finished wish is replayed without verifying anything again.
import assert from "node:assert/strict";
import { after, before, beforeEach, test } from "node:test";
import { openLab } from "../e2e/lab.mjs";
import { assertOneEffect, commandsIn, onlyKeyIn } from "./evidence.mjs";
import { newWish, post } from "./wire.mjs";

const SPENT = "wrong";

let lab;
before(async () => {
  lab = await openLab();
});
after(() => lab?.close());
beforeEach(() => lab.reset());

async function openWithCaptcha(captcha, query = {}) {
  await lab.open({ volatile: "captcha", ...query });
  await lab.script(() => {
    const field = Object.assign(document.createElement("input"), { name: "captcha", id: "captcha" });
    document.querySelector("#order").append(field);
  });
  await lab.fill({ captcha });
}

test("f36_given_a_spent_token_then_refused_names_the_field_keeps_the_key_and_a_fresh_one_is_the_same_intent", async () => {
  await openWithCaptcha(SPENT, { cart: "f36-spent" });
  await lab.click();
  const { problem } = await lab.until("refused");
  assert.deepEqual([problem.type, problem.field], ["urn:postonce:problem:token-refused", "captcha"]);
  assert.equal((await lab.server.effects()).count, 0);
  await lab.fill({ captcha: "t-2" });
  await lab.click();
  await lab.until("succeeded");
  const key = onlyKeyIn(await lab.server.log());
  await assertOneEffect(lab.server, key);
});

test("f36_r91_given_a_lost_attempt_and_a_fresh_token_at_the_resend_then_the_same_key_carries_it_and_one_effect_stands", async () => {
  await openWithCaptcha("t-1", { cart: "f36-resend", attempts: 1 });
  await lab.server.plan([{ match: { attempt: 1 }, fault: "drop-before" }]);
  await lab.click();
  await lab.until("unknown");
  const { ok, error } = await lab.script(() =>
    globalThis.lab.form.resend({ volatile: { captcha: "t-2" } }).then(
      ({ state }) => ({ ok: state }),
      ({ code, field }) => ({ error: [code, field] }),
    ),
  );
  assert.equal(ok, "succeeded", JSON.stringify(error));
  const log = await lab.server.log();
  const [first, second] = commandsIn(log);
  assert.notEqual(first.body_sha256, second.body_sha256, "the token is another");
  await assertOneEffect(lab.server, onlyKeyIn(log));
});

test("f36_r91_given_a_field_that_is_not_volatile_at_a_resend_then_it_is_refused_by_name_and_nothing_is_sent", async () => {
  await openWithCaptcha("t-1", { cart: "f36-other", attempts: 1 });
  await lab.server.plan([{ match: { attempt: 1 }, fault: "drop-before" }]);
  await lab.click();
  await lab.until("unknown");
  const refused = await lab.script(() =>
    globalThis.lab.form.resend({ volatile: { quantity: "9" } }).then(
      () => null,
      ({ code, field }) => [code, field],
    ),
  );
  assert.deepEqual(refused, ["not_volatile", "quantity"]);
  assert.equal(commandsIn(await lab.server.log()).length, 1);
});

test("f36_given_a_finished_wish_then_a_repeat_with_a_spent_token_is_replayed_and_never_verified_again", async () => {
  const wish = newWish({ sku: "A1", quantity: "2", captcha: "t-1" });
  const first = await post(lab.server.url, wish);
  assert.equal(first.status, 201);
  const again = await post(lab.server.url, {
    ...wish,
    body: JSON.stringify({ sku: "A1", quantity: "2", captcha: SPENT }),
  });
  assert.deepEqual([again.status, again.headers["idempotent-replayed"], again.text], [201, "true", first.text]);
  assert.equal((await lab.server.effects()).count, 1);
});
