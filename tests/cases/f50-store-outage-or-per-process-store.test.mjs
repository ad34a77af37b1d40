// F50. (a) Given a store that is away, when a command comes, then it is answered 503 with Retry-After before the handler
// runs, and nothing is stored. (b) Given a store that other replicas do not reach, then the server refuses to start unless
// it is declared to be alone: a retry on another replica would run again.
import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, test } from "node:test";
import { serverProgram, startDemoServer } from "../../scripts/demo-server.mjs";
import { check, newWish, post } from "./wire.mjs";

const ORDER = { sku: "A1", quantity: "2" };

let folder;
let server;
before(async () => {
  folder = mkdtempSync(join(tmpdir(), "postonce-f50-"));
  server = await startDemoServer({ db: join(folder, "shop.db") });
});
after(() => {
  server?.stop();
  rmSync(folder, { recursive: true, force: true });
});

const setStore = async (where) => {
  const answer = await fetch(`${server.url}/_demo/store`, { method: "PUT", body: where });
  assert.equal(answer.status, 204);
};

test("f50_a_given_a_store_that_is_away_then_503_with_retry_after_and_no_effect_and_the_same_key_works_when_it_is_back", async () => {
  const wish = newWish(ORDER);
  await setStore("away");
  const away = await post(server.url, wish);
  assert.deepEqual([away.status, JSON.parse(away.text).type], [503, "urn:postonce:problem:not-started"]);
  assert.ok(Number(away.headers["retry-after"]) > 0);
  assert.equal(away.headers["idempotent-replayed"], undefined, "no outcome, so no marker");
  const asked = await check(server.url, wish);
  assert.equal(asked.status, 503, "nor is a status guessed");
  await setStore("back");
  assert.equal(await server.effects(), 0);
  assert.equal(JSON.parse((await check(server.url, wish)).text).state, "not_found", "nothing was stored");
  assert.equal((await post(server.url, wish, { attempt: 2 })).status, 201);
  assert.equal(await server.effects(), 1);
});

test("f50_a_given_an_answered_command_and_a_store_that_is_away_then_a_repeat_is_503_and_never_runs_unprotected", async () => {
  const wish = newWish(ORDER);
  const first = await post(server.url, wish);
  const before = await server.effects();
  await setStore("away");
  assert.equal((await post(server.url, wish, { attempt: 2 })).status, 503);
  await setStore("back");
  assert.equal(await server.effects(), before);
  assert.equal((await post(server.url, wish, { attempt: 3 })).text, first.text);
});

/** Starts the program and answers how it ended, or that it listens. */
function started(args) {
  const child = spawn(serverProgram(), ["--port", "0", "--exit-with-parent", ...args], {
    stdio: ["pipe", "pipe", "pipe"],
  });
  let said = "";
  return new Promise((settle) => {
    child.stderr.setEncoding("utf8").on("data", (text) => {
      said += text;
    });
    child.stdout.setEncoding("utf8").on("data", () => {
      child.kill("SIGKILL");
      settle({ listened: true, said });
    });
    child.once("close", (code) => settle({ listened: false, code, said }));
  });
}

test("f50_b_given_a_store_of_one_process_and_no_word_of_being_alone_then_the_server_refuses_to_start_and_says_why", async () => {
  const { listened, code, said } = await started([]);
  assert.deepEqual([listened, code], [false, 1]);
  assert.match(said, /the store reaches this process only/);
  assert.match(said, /share a store, or declare less/, "the remedy");
});

for (const [name, args] of [
  ["one_process_is_declared", () => ["--single-process"]],
  ["the_store_is_a_file_of_this_machine", () => ["--database", join(folder, "other.db")]],
]) {
  test(`f50_b_given_${name}_then_it_starts`, async () => {
    const { listened, said } = await started(args());
    assert.ok(listened, said);
  });
}
