// F44. Given a handler that commits 100 ms after the request came, and a client that hangs up around that instant.
// When the same command (k-1) is sent again at 500 ms, then the handler has run once, the second sending gets the stored
// 201 as a replay, and the reservation was never given back: a client that leaves takes nothing with it.
import assert from "node:assert/strict";
import { after, before, beforeEach, test } from "node:test";
import { setTimeout as passed } from "node:timers/promises";
import { startDemoServer } from "../../scripts/demo-server.mjs";
import { check, newWish, post } from "./wire.mjs";

const COMMIT_MS = 100;
const NEAR_MS = COMMIT_MS - 2;
const RETRY_AT_MS = 500;
const SECOND_TRY = 2;

let server;
before(async () => {
  server = await startDemoServer();
});
after(() => server?.stop());
beforeEach(() => fetch(`${server.url}/_demo/reset`, { method: "POST" }));

const read = async (what) => (await fetch(`${server.url}/_demo/${what}`)).json();

async function recordOf({ key }) {
  return (await read("records")).find((record) => record.key === key);
}

/** Everything that must hold once the retry was answered, whenever the client left. */
async function assertOneReplayedEffect(wish, answer) {
  assert.equal(answer.status, 201);
  assert.equal(answer.headers["idempotent-replayed"], "true", "a replay, not a second run");
  assert.equal(answer.headers["idempotency-key"], `"${wish.key}"`);
  const { count, by_key, orders } = await read("effects");
  assert.equal(count, 1, "the effect ran once");
  assert.deepEqual(by_key, { [wish.key]: 1 });
  assert.equal(JSON.parse(answer.text).id, orders[0].id, "the stored result is that of the one effect");
  const { state, history } = await recordOf(wish);
  assert.equal(state, "completed");
  assert.deepEqual(history, ["in_progress", "completed"], "never released, never reserved again");
}

/** The fault meant what it says: the first client went without an answer. */
async function assertLeftUnanswered(first) {
  assert.equal((await first).status, null);
  assert.equal((await read("log"))[0].status, "client-left");
}

// Before the effect, as near to its commit as a timer comes, and after the commit while the answer is held back.
for (const leaveAfterMs of [0, 50, NEAR_MS, COMMIT_MS + 10]) {
  test(`f44_given_a_client_that_leaves_after_${leaveAfterMs}_ms_then_the_retry_gets_the_replay_and_one_effect_stands`, async () => {
    const wish = newWish({ sku: "A1", quantity: "2" });
    const late = leaveAfterMs > COMMIT_MS;
    // Holding back the answer makes sure that the client is still waiting when it leaves after the commit.
    const fault = late ? { fault: "delay-after", ms: RETRY_AT_MS } : { fault: "delay-effect", ms: COMMIT_MS };
    await server.plan([{ match: { operation: "order.create", attempt: 1 }, ...fault }]);
    const first = post(server.url, wish, { leaveAfterMs });
    await passed(RETRY_AT_MS); // The situation itself: the retry comes at 500 ms.
    const retried = await post(server.url, wish, { attempt: SECOND_TRY });
    await assertOneReplayedEffect(wish, retried);
    // So near to the commit either may win the race; what stands afterwards may not differ.
    if (leaveAfterMs !== NEAR_MS) await assertLeftUnanswered(first);
  });
}

test("f44_given_a_client_that_left_while_the_handler_runs_then_a_repeat_waits_and_nothing_is_run_or_freed", async () => {
  const wish = newWish({ sku: "A1", quantity: "2" });
  await server.plan([{ match: { operation: "order.create", attempt: 1 }, fault: "delay-effect", ms: 1_000 }]);
  const first = post(server.url, wish, { leaveAfterMs: 10 });
  await passed(200); // The situation itself: the client is gone, the handler is not.
  await assertLeftUnanswered(first);

  const meanwhile = await post(server.url, wish, { attempt: SECOND_TRY });
  assert.equal(meanwhile.status, 409);
  assert.match(meanwhile.text, /urn:postonce:problem:in-progress/);
  assert.match(meanwhile.headers["retry-after"], /^\d+$/);
  assert.equal((await read("effects")).count, 0, "the repeat ran nothing");

  let asked;
  do asked = JSON.parse((await check(server.url, wish)).text);
  while (asked.state === "in_progress" && (await passed(50, true)));
  assert.equal(asked.state, "completed", "the handler went on to its end without its client");
  await assertOneReplayedEffect(wish, await post(server.url, wish, { attempt: SECOND_TRY }));
});
