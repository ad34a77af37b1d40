// The server process dies and comes back with the same database: nothing is forgotten, nothing is done twice (R108).
import assert from "node:assert/strict";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, test } from "node:test";
import { startDemoServer } from "../../scripts/demo-server.mjs";
import { check, fence, newWish, post } from "../cases/wire.mjs";

let folder;
let server;
const start = async () => {
  server = await startDemoServer({ db: join(folder, "shop.db") });
};
before(async () => {
  folder = mkdtempSync(join(tmpdir(), "postonce-restart-"));
  await start();
});
after(() => {
  server?.stop();
  rmSync(folder, { recursive: true, force: true });
});

async function crashAndRestart() {
  await server.crash();
  await start();
}

test("r108_given_a_crash_after_the_answer_then_the_restarted_server_replays_it_and_the_effect_stands_once", async () => {
  const wish = newWish({ sku: "A1", quantity: "2" });
  const first = await post(server.url, wish);
  assert.equal(first.status, 201);
  await crashAndRestart();
  const again = await post(server.url, wish, { attempt: 2 });
  assert.deepEqual([again.status, again.text, again.headers["idempotent-replayed"]], [201, first.text, "true"]);
  assert.equal(JSON.parse((await check(server.url, wish)).text).state, "completed");
  assert.equal(await server.effects(), 1);
});

test("r61_given_a_crash_after_a_fence_then_the_tombstone_still_refuses_the_late_command", async () => {
  const before = await server.effects();
  const wish = newWish({ sku: "A1", quantity: "3" });
  assert.equal(JSON.parse((await fence(server.url, wish)).text).state, "fenced");
  await crashAndRestart();
  assert.equal((await post(server.url, wish)).status, 410);
  assert.equal(await server.effects(), before);
});

test("r109_given_a_crash_between_reserve_and_effect_then_a_repeat_is_told_in_progress_and_never_runs_blindly", async () => {
  const before = await server.effects();
  const wish = newWish({ sku: "A1", quantity: "4" });
  await server.plan([{ match: { operation: "order.create" }, fault: "delay-effect", ms: 20_000 }]);
  const lost = post(server.url, wish);
  for (;;) {
    const { state } = JSON.parse((await check(server.url, wish)).text);
    if (state === "in_progress") break;
  }
  await crashAndRestart();
  assert.equal((await lost).status, null, "the first one was never answered");
  const again = await post(server.url, wish, { attempt: 2 });
  assert.deepEqual([again.status, JSON.parse(again.text).type], [409, "urn:postonce:problem:in-progress"]);
  assert.equal(JSON.parse((await fence(server.url, wish)).text).state, "in_progress", "a fence changes nothing");
  assert.equal(await server.effects(), before, "the lease still stands: nothing ran");
});
