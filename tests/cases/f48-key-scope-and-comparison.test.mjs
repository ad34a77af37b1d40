// F48. Given two people who send the same key, one who also sends it in capitals, and two guests behind one address.
// When all are processed, then each has a result of their own, per person and per key byte by byte; nobody sees another's
// answer, and no stranger is told 422. A key that is empty, too long or not of visible ASCII is a 400.
import assert from "node:assert/strict";
import { createHmac, randomBytes } from "node:crypto";
import { after, before, beforeEach, test } from "node:test";
import { startDemoServer } from "../../scripts/demo-server.mjs";
import { check, fence, newWish, post } from "./wire.mjs";

const KEY = "k-1-of-a-case-0123456789abcdef";
const KEY_CHARACTERS_MAX = 255;

let server;
before(async () => {
  server = await startDemoServer();
});
after(() => server?.stop());
beforeEach(() => fetch(`${server.url}/_demo/reset`, { method: "POST" }));

const effects = async () => (await fetch(`${server.url}/_demo/effects`)).json();

test("f48_given_two_people_with_one_key_then_two_results_and_neither_sees_the_other", async () => {
  const ann = newWish({ sku: "A1", quantity: "1" }, { subject: "u-1", key: KEY });
  const bob = newWish({ sku: "B2", quantity: "2" }, { subject: "u-2", key: KEY });
  const [first, second] = [await post(server.url, ann), await post(server.url, bob)];
  for (const told of [first, second]) {
    assert.deepEqual([told.status, told.headers["idempotent-replayed"]], [201, "false"], "no 422 for a stranger");
  }
  assert.match(first.text, /A1/);
  assert.match(second.text, /B2/);
  assert.equal((await post(server.url, ann)).text, first.text);
  assert.equal((await post(server.url, bob)).text, second.text);
  assert.equal((await effects()).count, 2);
});

test("f48_given_another_person_then_status_and_fence_of_a_key_never_touch_or_show_the_firsts_record", async () => {
  const ann = newWish({ sku: "A1", quantity: "1" }, { subject: "u-1", key: KEY });
  const bob = { ...ann, subject: "u-2" };
  const first = await post(server.url, ann);
  const asked = await check(server.url, bob);
  assert.equal(JSON.parse(asked.text).state, "not_found");
  assert.ok(!asked.text.includes(JSON.parse(first.text).id));
  assert.equal(JSON.parse((await fence(server.url, bob)).text).state, "fenced");
  assert.equal((await post(server.url, ann)).text, first.text, "hers stands");
  assert.equal((await effects()).count, 1);
});

test("f48_given_the_key_in_capitals_then_it_is_another_key", async () => {
  for (const key of [KEY, KEY.toUpperCase()]) {
    const told = await post(server.url, newWish({ sku: "A1", quantity: "1" }, { subject: "u-1", key }));
    assert.deepEqual([told.status, told.headers["idempotency-key"]], [201, `"${key}"`]);
  }
  assert.deepEqual((await effects()).by_key, { [KEY]: 1, [KEY.toUpperCase()]: 1 });
});

/** A guest: the secret of its cookie, and the tag that its page was told. */
function guest(quantity) {
  const secret = randomBytes(32).toString("hex");
  const tag = createHmac("sha256", secret).update("postonce visitor tag").digest("hex").slice(0, 32);
  const wish = newWish({ sku: "A1", quantity }, { key: KEY, subject: tag });
  return { ...wish, cookie: `demo_visitor=${secret}` };
}

test("f48_given_two_guests_behind_one_address_with_one_key_then_two_results_and_no_422", async () => {
  const bodies = [];
  for (const wish of [guest("1"), guest("2")]) {
    const first = await post(server.url, wish);
    assert.deepEqual([first.status, first.headers["idempotent-replayed"]], [201, "false"], first.text);
    assert.equal((await post(server.url, wish)).text, first.text, "a replay of its own");
    bodies.push(first.text);
  }
  assert.notEqual(bodies[0], bodies[1]);
  assert.equal((await effects()).count, 2);
});

test("f48_given_one_key_for_another_operation_then_422_and_nothing_runs", async () => {
  const wish = newWish({ sku: "A1", quantity: "1" }, { key: KEY });
  assert.equal((await post(server.url, wish)).status, 201);
  const elsewhere = await post(server.url, wish, { path: "/drafts" });
  assert.deepEqual([elsewhere.status, JSON.parse(elsewhere.text).type], [422, "urn:postonce:problem:key-reused"]);
  assert.equal((await effects()).count, 1);
});

for (const [name, key] of [
  ["empty", ""],
  ["one_character_too_long", "k".repeat(KEY_CHARACTERS_MAX + 1)],
  ["not_ascii", "k-1-of-a-case-0123456789-\u00e4"],
  ["with_a_control_character", "k-1-of-a-case-0123456789-\t"],
]) {
  test(`f48_given_a_key_that_is_${name}_then_400_and_nothing_runs`, async () => {
    const told = await post(server.url, newWish({ sku: "A1", quantity: "1" }, { key }));
    assert.deepEqual([told.status, JSON.parse(told.text).type], [400, "urn:postonce:problem:key-invalid"]);
    assert.equal((await effects()).count, 0);
  });
}
