// `npm run load` runs, and what it counts is right: the short form, in which speed says nothing.
import assert from "node:assert/strict";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, test } from "node:test";
import { buildLoadServer, measure, startLoadServer } from "../../scripts/load.mjs";

const SHORT = { seconds: 1, connections: 4 };

let folder;
let server;
before(async () => {
  folder = mkdtempSync(join(tmpdir(), "postonce-load-"));
  await buildLoadServer("debug");
  server = await startLoadServer(join(folder, "load.db"), "debug");
  await server.fill(1_000);
});
after(() => {
  server?.stop();
  rmSync(folder, { recursive: true, force: true });
});

test("given_new_keys_under_load_then_every_answer_is_one_effect", async () => {
  const { answered, grown } = await measure(server, "new", SHORT);
  assert.ok(answered > 0 && grown >= answered && grown <= answered + SHORT.connections, `${answered} and ${grown}`);
});

test("given_replays_under_load_then_answers_and_never_another_effect", async () => {
  const { answered, grown } = await measure(server, "replay", SHORT);
  assert.ok(answered > 0, "it answered");
  assert.equal(grown, 0);
});
