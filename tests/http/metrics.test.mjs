// What is counted can be alerted on, and gives nothing away: no key, subject or field in any name, label or value (R92).
import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { startDemoServer } from "../../scripts/demo-server.mjs";
import { fence, newWish, post } from "../cases/wire.mjs";

const SUBJECT = "ann-of-the-metrics";
const SKU = "sku-of-the-metrics";

let server;
before(async () => {
  server = await startDemoServer();
});
after(() => server?.stop());

const scrape = async () => {
  const answer = await fetch(`${server.url}/metrics`);
  assert.equal(answer.status, 200);
  assert.equal(answer.headers.get("content-type"), "text/plain; version=0.0.4");
  return answer.text();
};

/** The value of one series, 0 where it never counted. */
function seriesIn(text, name, labels) {
  const wanted = Object.entries(labels).map(([label, value]) => `${label}="${value}"`);
  const line = text
    .split("\n")
    .find((line) => line.startsWith(`${name}{`) && wanted.every((label) => line.includes(label)));
  return line ? Number(line.slice(line.lastIndexOf(" "))) : 0;
}

const outcomes = (text) => (outcome) =>
  seriesIn(text, "postonce_commands_total", { operation: "order.create", outcome });

test("r118_given_first_replay_and_other_parameters_then_each_is_counted_by_what_it_came_to", async () => {
  const before = outcomes(await scrape());
  const wish = newWish({ sku: SKU, quantity: "2" }, { subject: SUBJECT });
  const send = (changes = {}) => post(server.url, { ...wish, ...changes });
  assert.equal((await send()).status, 201);
  assert.equal((await send()).status, 201);
  assert.equal((await send({ body: JSON.stringify({ sku: SKU, quantity: "3" }) })).status, 422);
  const voided = newWish({ sku: SKU, quantity: "4" }, { subject: SUBJECT });
  await fence(server.url, voided);
  assert.equal((await post(server.url, voided)).status, 410);
  const text = await scrape();
  const after = outcomes(text);
  const grown = ["first", "replay", "key_reused", "fenced"].map((outcome) => after(outcome) - before(outcome));
  assert.deepEqual(grown, [1, 1, 1, 1]);
  const made = (name) => seriesIn(text, name, { operation: "order.create" });
  assert.deepEqual([made("postonce_effects_total"), made("postonce_records_total")], [1, 1], "one effect per record");
  assert.equal(await server.effects(), 1);
  for (const secret of [SUBJECT, SKU, wish.key, voided.key, "quantity"]) {
    assert.ok(!text.includes(secret), `R92: ${secret} is in no metric`);
  }
});

test("r118_given_a_claim_that_hangs_then_the_gauges_show_it_and_its_age_and_fall_when_it_ends", async () => {
  await server.plan([{ match: { operation: "order.create" }, fault: "delay-effect", ms: 1_500 }]);
  const running = post(server.url, newWish({ sku: SKU, quantity: "2" }));
  const gauge = async (name) => seriesIn(await scrape(), name, { operation: "order.create" });
  for (const end = Date.now() + 3_000; (await gauge("postonce_in_progress")) !== 1; ) {
    assert.ok(Date.now() < end, "the claim is seen");
  }
  const age = await gauge("postonce_oldest_in_progress_seconds");
  assert.ok(age >= 0 && age < 3, `${age}`);
  assert.equal((await running).status, 201);
  assert.deepEqual([await gauge("postonce_in_progress"), await gauge("postonce_oldest_in_progress_seconds")], [0, 0]);
});
