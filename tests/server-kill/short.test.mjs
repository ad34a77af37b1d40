// R108, R109: the short form of `npm run server:kill`. Given servers that are killed at random while many copies of each
// command arrive, when all is quiet again, then every key ran exactly once and no record is stuck.
import assert from "node:assert/strict";
import { test } from "node:test";
import { storm } from "./storm.mjs";

const SEED = 20_260_731;

for (const { store, processes } of [
  { store: /** @type {const} */ ("postgres"), processes: 4 },
  { store: /** @type {const} */ ("sqlite"), processes: 1 },
]) {
  test(`r108_given_${processes}_killed_server_on_${store}_then_one_effect_per_key_and_none_stuck_or_lost`, async () => {
    const keys = 20;
    const seen = await storm({ store, keys, parallel: 32, processes, seed: SEED });
    const run = JSON.stringify({ ...seen, answers: seen.answers.byStatus });
    assert.deepEqual(seen.wrong, [], `a second effect: ${run}`);
    assert.deepEqual(seen.notOne, [], `not one effect: ${run}`);
    assert.deepEqual(seen.lost, [], `an answer that does not stand: ${run}`);
    assert.equal(seen.stuck, 0, run);
    assert.equal(seen.effects, keys, run);
    assert.ok(seen.kills > 0, `nothing was killed: ${run}`);
    if (store === "postgres") assert.ok(seen.cuts > 0, `nothing was cut: ${run}`);
  });
}
