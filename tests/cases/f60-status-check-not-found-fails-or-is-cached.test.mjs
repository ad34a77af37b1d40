// F60. Given k-1 that a proxy holds back for four seconds, and a budget of two. (a) When the status check finds nothing,
// then the outcome stays unknown; before any new key the client asks the server to void k-1, and the late POST is refused:
// no effect. (b) When the check itself fails twice, then there are finitely many checks, after which the outcome is
// unknown and can be checked again. (c) When an earlier status answer could be cached for a minute, then the next check
// goes past every cache. Not found never unlocks a new key by itself.
import assert from "node:assert/strict";
import { after, before, beforeEach, test } from "node:test";
import { eventually, openLab } from "../e2e/lab.mjs";
import { assertNoEffect, assertOneEffect, checksIn, commandsIn, fencesIn, onlyKeyIn } from "./evidence.mjs";
import { pathOf, startSlowProxy } from "./slow-proxy.mjs";
import { check, fence, newWish, post } from "./wire.mjs";

const HELD_MS = 4_000;
/** Longer than the budget and a whole status check together. */
const RUNS_MS = 6_500;
const BUDGET_MS = 2_000;
/** Of one status check, whatever it meets. */
const CHECKS_MAX = 4;
const CACHEABLE = "max-age=60";

let proxy;
let lab;
before(async () => {
  proxy = await startSlowProxy({});
  lab = await openLab({ front: proxy.inFrontOf });
});
after(async () => {
  await lab?.close();
  await proxy?.stop();
});
beforeEach(async () => {
  await lab.reset();
  proxy.set({});
});

const isCommand = ({ method }) => method === "POST";
const commandsDelivered = () => proxy.deliveries.filter(isCommand);

/** Submits into the proxy that holds every command back; the budget is over long before they are delivered. */
async function submitIntoTheProxy(cart) {
  await lab.open({ cart, budget: BUDGET_MS, attempts: 1 });
  proxy.set({ delayMs: (incoming) => (isCommand(incoming) ? HELD_MS : 0) });
  await lab.fill({ sku: "A1", quantity: "2" });
  await lab.click();
  return lab.until("unknown");
}

async function theLateCommandArrives() {
  await eventually("the held command is delivered", () => commandsDelivered()[0]?.status != null);
  const [late, ...more] = commandsDelivered();
  assert.deepEqual(more, [], "the page sent one command");
  assert.equal(late.senderLeft, true, "its sender had long hung up");
  return late;
}

test("f60_a_given_not_found_then_it_stays_unknown_and_a_new_key_comes_only_after_the_old_one_is_void", async () => {
  const { reference } = await submitIntoTheProxy("f60-a");
  const { ok: checked } = await lab.call("check");
  assert.equal(checked.state, "unknown", "not found is not 'not applied'");
  assert.equal(checked.reference, reference, "and it unlocks no new key");
  assert.ok(!checked.may.includes("submit"));

  const { ok: begun } = await lab.call("beginNew");
  assert.equal(begun.state, "idle");
  assert.equal(begun.last.state, "fenced", "the old key was voided first");
  assert.notEqual(begun.reference, reference);
  const late = await theLateCommandArrives();
  assert.equal(late.status, 410, "the late command is refused");
  await assertNoEffect(lab.server);

  const log = await lab.server.log();
  assert.equal(fencesIn(log).length, 1);
  assert.ok(fencesIn(log)[0].answered_at < commandsIn(log)[0].received_at, "void before it arrived");
  onlyKeyIn(log);
  const [record] = await lab.server.records();
  assert.deepEqual(record.history, ["fenced"], "nothing was ever reserved");
});

test("f60_a_given_nobody_voids_it_then_the_late_command_is_past_its_deadline_and_not_found_still_proves_nothing", async () => {
  await submitIntoTheProxy("f60-late");
  const { ok: checked } = await lab.call("check");
  assert.equal(checked.state, "unknown");
  const late = await theLateCommandArrives();
  assert.equal(late.status, 412, "the server refuses work past the round's deadline");
  const { ok: later } = await lab.call("check");
  assert.equal(later.state, "unknown", "that copy ran nothing; the check says nothing of others");
  await assertNoEffect(lab.server);
  onlyKeyIn(await lab.server.log());
});

test("f60_b_given_the_check_fails_twice_then_the_third_look_is_taken_and_the_outcome_stays_checkable", async () => {
  await lab.open({ cart: "f60-b", budget: BUDGET_MS, attempts: 1 });
  const failing = { match: { operation: "status" }, fault: "status", status: 500 };
  await lab.server.plan([{ match: { operation: "order.create" }, fault: "drop-before" }, failing, failing]);
  await lab.fill({ sku: "A1", quantity: "2" });
  await lab.click();
  await lab.until("unknown");
  const { ok } = await lab.call("check");
  assert.equal(ok.state, "unknown");
  assert.ok(ok.may.includes("check"), "check again");
  const log = await lab.server.log();
  assert.deepEqual(
    checksIn(log).map(({ status }) => status),
    [500, 500, 200],
  );
  assert.equal(commandsIn(log).length, 1, "a check never posts");
  onlyKeyIn(log);
  await assertNoEffect(lab.server);
});

test("f60_b_given_the_check_always_fails_then_it_ends_and_never_spins", async () => {
  await lab.open({ cart: "f60-b-all", budget: BUDGET_MS, attempts: 1 });
  const failing = Array(20).fill({ match: { operation: "status" }, fault: "status", status: 500 });
  await lab.server.plan([{ match: { operation: "order.create" }, fault: "lost-answer" }, ...failing]);
  await lab.fill({ sku: "A1", quantity: "2" });
  await lab.click();
  await lab.until("unknown");
  const { ok } = await lab.call("check");
  assert.equal(ok.state, "unknown", "neither a spinner nor a guess");
  assert.ok(ok.may.includes("check"));
  assert.ok(!ok.may.includes("submit"));
  assert.ok(checksIn(await lab.server.log()).length <= CHECKS_MAX);

  await lab.server.plan([]);
  const { ok: again } = await lab.call("check");
  assert.equal(again.state, "succeeded", "checking again finds what happened");
  const log = await lab.server.log();
  assert.equal(commandsIn(log).length, 1);
  await assertOneEffect(lab.server, onlyKeyIn(log));
});

test("f60_c_given_a_status_answer_that_may_be_cached_then_the_next_check_reaches_the_server_all_the_same", async () => {
  await lab.open({ cart: "f60-c", budget: BUDGET_MS, attempts: 1 });
  let cacheable = 0;
  proxy.set({
    onAnswer: (incoming, headers) => {
      if (incoming.method !== "GET" || pathOf(incoming) !== "/orders/status") return;
      headers["cache-control"] = CACHEABLE;
      cacheable += 1;
    },
  });
  const fault = { fault: "delay-effect", ms: RUNS_MS };
  await lab.server.plan([{ match: { operation: "order.create" }, ...fault }]);
  await lab.fill({ sku: "A1", quantity: "2" });
  await lab.click();
  await lab.until("unknown");
  const { ok: early } = await lab.call("check");
  assert.ok(cacheable >= 1, "an answer that may be cached came back");
  assert.equal(early.state, "unknown", "it still runs");
  await eventually("the server commits", async () => (await lab.server.effects()).count === 1);
  const before = checksIn(await lab.server.log()).length;
  const { ok: fresh } = await lab.call("check");
  assert.equal(fresh.state, "succeeded", "the cached answer would still say that it runs");
  const log = await lab.server.log();
  assert.equal(checksIn(log).length, before + 1, "the check went past the cache");
  await assertOneEffect(lab.server, onlyKeyIn(log));
});

test("f60_given_the_server_alone_then_void_is_atomic_not_found_writes_nothing_and_no_answer_may_be_stored", async () => {
  const wish = newWish({ sku: "A1", quantity: "2" });
  const looked = await check(lab.server.url, wish);
  assert.equal(JSON.parse(looked.text).state, "not_found");
  assert.equal(looked.headers["cache-control"], "no-store");
  assert.deepEqual(await lab.server.records(), [], "looking leaves no trace");

  const voided = await fence(lab.server.url, wish);
  assert.equal(JSON.parse(voided.text).state, "fenced");
  const late = await post(lab.server.url, wish);
  assert.equal(late.status, 410);
  assert.match(late.text, /urn:postonce:problem:fenced/);
  await assertNoEffect(lab.server);

  const done = newWish({ sku: "A1", quantity: "2" });
  await post(lab.server.url, done);
  const refused = await fence(lab.server.url, done);
  assert.equal(JSON.parse(refused.text).state, "completed", "what happened cannot be voided");
  await assertOneEffect(lab.server, done.key);
});
