// A claim passed between two processes: the short form of `npm run claims -- --count 10000`.
import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { openLab } from "../e2e/lab.mjs";
import { passClaims } from "./pass.mjs";

const SIZE = { wishes: 5, claimsPerWish: 100 };

let lab;
before(async () => {
  lab = await openLab();
});
after(() => lab?.close());

test("r68_given_500_claims_passed_between_two_processes_then_every_wish_has_one_key_and_one_effect", async () => {
  const { pids, claims, wishes, divergent, effects, pages } = await passClaims(lab, SIZE);
  assert.notEqual(pids[0], pids[1], "two processes, or nothing was shown");
  assert.deepEqual({ claims, wishes }, { claims: SIZE.wishes * SIZE.claimsPerWish, wishes: SIZE.wishes });
  assert.equal(divergent, 0, "never a second key");
  assert.equal(effects, SIZE.wishes);
  assert.deepEqual(
    pages.map((page) => page.claims),
    [claims / 2, claims / 2],
    "the claim went to and fro",
  );
});
