// F42. Given a process that is killed between reserve and finish, with a lease far shorter than the retention. When the
// same command comes again before and after the end of the lease, then the first is told to wait, no longer than the lease
// lasts, and the second runs the effect: never a key that is refused for as long as an answer would have been kept.
// The lease of the case is 30 s; here it is a tenth, and everything else with it.
import assert from "node:assert/strict";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, test } from "node:test";
import { setTimeout as passed } from "node:timers/promises";
import { startDemoServer } from "../../scripts/demo-server.mjs";
import { eventually } from "../e2e/lab.mjs";
import { check, newWish, post } from "./wire.mjs";

const LEASE_MS = 3_000;
const HANGS_MS = 60_000;

let folder;
let server;
const start = async () => {
  server = await startDemoServer({ db: join(folder, "shop.db"), leaseMs: LEASE_MS });
};
beforeEach(async () => {
  folder = mkdtempSync(join(tmpdir(), "postonce-f42-"));
  await start();
});
afterEach(() => {
  server?.stop();
  rmSync(folder, { recursive: true, force: true });
});

const records = async () => (await fetch(`${server.url}/_demo/records`)).json();

/** Reserved, begun, and then the process is gone. */
async function killedBetweenReserveAndFinish(wish) {
  await server.plan([{ match: { operation: "order.create" }, fault: "delay-effect", ms: HANGS_MS }]);
  const first = post(server.url, wish);
  const claim = await eventually("the key is reserved", async () => (await records())[0]);
  assert.equal(claim.state, "in_progress");
  await server.crash();
  assert.equal((await first).status, null);
  await start();
  return claim;
}

test("f42_given_a_killed_process_then_a_retry_waits_no_longer_than_the_lease_and_the_next_one_runs", async () => {
  const wish = newWish({ sku: "A1", quantity: "2" });
  const claim = await killedBetweenReserveAndFinish(wish);

  const early = await post(server.url, wish, { attempt: 2 });
  assert.equal(early.status, 409);
  assert.equal(JSON.parse(early.text).type, "urn:postonce:problem:in-progress");
  assert.ok(Number(early.headers["retry-after"]) * 1_000 <= LEASE_MS, early.headers["retry-after"]);
  assert.equal(await server.effects(), 0, "never blindly, while its owner may live");

  await passed(claim.lease_until - Date.now() + 100); // The situation itself: the lease is over.
  const late = await post(server.url, wish, { attempt: 3 });
  assert.deepEqual([late.status, late.headers["idempotent-replayed"]], [201, "false"], "it runs now");
  assert.equal(await server.effects(), 1);
  assert.equal((await post(server.url, wish, { attempt: 4 })).headers["idempotent-replayed"], "true");
  assert.equal(await server.effects(), 1);
});

test("f42_given_a_killed_process_and_nobody_who_sends_again_then_a_status_check_after_the_lease_says_not_found", async () => {
  const wish = newWish({ sku: "A1", quantity: "2" });
  const claim = await killedBetweenReserveAndFinish(wish);
  const told = async () => JSON.parse((await check(server.url, wish)).text).state;
  assert.equal(await told(), "in_progress");
  await passed(claim.lease_until - Date.now() + 100); // The situation itself: the lease is over.
  assert.equal(await told(), "not_found", "its transaction went with its owner, and nothing else was done");
  assert.equal(await server.effects(), 0);
});
