// F06. Given a form with a hidden action=draft, buttons action=draft and action=publish, a button `special` without a
// value, and two fields tag=a, tag=b, whose own handler disables every button at once. When the user presses Publish,
// then action=draft, action=publish, tag=a, tag=b go out in that order; when Special, then an empty `special` goes
// along. Publish and draft are two wishes: they never share a key, and one never stands in for the other.
import assert from "node:assert/strict";
import { createHash } from "node:crypto";
import { after, before, beforeEach, test } from "node:test";
import { openLab } from "../e2e/lab.mjs";
import { assertNoEffect, assertOneEffect, commandsIn, onlyKeyIn } from "./evidence.mjs";
import { openPage, pageState } from "./own-page.mjs";

const BODIES = {
  json: {
    publish: '{"sku":"A1","quantity":"2","action":["draft","publish"],"tag":["a","b"]}',
    special: '{"sku":"A1","quantity":"2","action":"draft","special":"","tag":["a","b"]}',
  },
  urlencoded: {
    publish: "sku=A1&quantity=2&action=draft&action=publish&tag=a&tag=b",
    special: "sku=A1&quantity=2&action=draft&special=&tag=a&tag=b",
  },
};

let lab;
before(async () => {
  lab = await openLab();
});
after(() => lab?.close());
beforeEach(() => lab.reset());

const digest = (text) => createHash("sha256").update(text).digest("hex");
const press = (id) => lab.click(`#${id}`);
const answers = (wanted) => pageState(lab, (text) => document.documentElement.dataset.answers === text, wanted);

for (const encoding of ["json", "urlencoded"]) {
  for (const button of ["publish", "special"]) {
    test(`f06_given_buttons_locked_in_the_handler_then_${button}_goes_out_as_${encoding}_with_its_submitter_and_every_pair`, async () => {
      await openPage(lab, "submitters", { cart: `f06-${encoding}-${button}`, encoding });
      await press(button);
      await answers("settled");
      assert.equal(
        await lab.script(() => document.documentElement.dataset.locked),
        "1",
        "the handler locked the buttons",
      );

      const log = await lab.server.log();
      const [command, ...more] = commandsIn(log);
      assert.deepEqual(more, []);
      assert.equal(command.status, 201, "the server computes its own fingerprint of the same pairs");
      assert.equal(command.body_sha256, digest(BODIES[encoding][button]), `exactly ${BODIES[encoding][button]}`);
      await assertOneEffect(lab.server, onlyKeyIn(log));
    });
  }
}

test("f06_given_a_locking_handler_that_runs_before_the_library_then_the_submitter_is_not_lost", async () => {
  await openPage(lab, "submitters", { cart: "f06-first", handler: "first" });
  await press("publish");
  await answers("settled");
  const log = await lab.server.log();
  assert.equal(commandsIn(log)[0].body_sha256, digest(BODIES.json.publish));
  await assertOneEffect(lab.server, onlyKeyIn(log));
});

test("f06_given_publish_succeeded_then_draft_is_a_wish_of_its_own_under_a_key_of_its_own", async () => {
  await openPage(lab, "submitters", { cart: "f06-two" });
  await press("publish");
  await answers("settled");
  await press("draft");
  await answers("settled settled");

  const [publish, draft, ...more] = commandsIn(await lab.server.log());
  assert.deepEqual(more, []);
  assert.notEqual(draft.key, publish.key);
  assert.notEqual(draft.body_sha256, publish.body_sha256);
  assert.deepEqual([publish.status, draft.status], [201, 201]);
  assert.deepEqual((await lab.server.effects()).by_key, { [publish.key]: 1, [draft.key]: 1 });
});

test("f06_given_publish_is_unknown_then_draft_conflicts_and_never_goes_out_under_its_key", async () => {
  await openPage(lab, "submitters", { cart: "f06-open", attempts: 1, budget: 2_000 });
  await lab.server.plan([{ match: { operation: "order.create" }, fault: "drop-before" }]);
  await press("publish");
  await pageState(lab, () => document.documentElement.dataset.state === "unknown");
  await answers("settled");
  await press("draft");
  await answers("settled conflict");

  const log = await lab.server.log();
  assert.equal(commandsIn(log).length, 1, "the draft was not sent");
  onlyKeyIn(log);
  assert.equal(await lab.script(() => document.documentElement.dataset.state), "unknown", "publish stays open");
  await assertNoEffect(lab.server);
});
