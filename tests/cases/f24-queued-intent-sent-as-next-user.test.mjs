// F24. Given k-1, left open by u-1, who then logs out, and u-2, who logs in on the same browser. When the network comes
// back and u-2 submits the same values, then k-1 is never sent under u-2 and u-2's order has a key of its own; and should
// k-1 be sent by mistake, its request names u-1, the server sees u-2 and refuses, and nothing runs.
import assert from "node:assert/strict";
import { after, before, beforeEach, test } from "node:test";
import { eventually, openLab } from "../e2e/lab.mjs";
import { assertNoEffect, commandsIn } from "./evidence.mjs";

const FIRST = "demo-user";
const SECOND = "second-person";
const COOKIE = "demo_subject";

let lab;
before(async () => {
  lab = await openLab();
});
after(() => lab?.close());
beforeEach(() => lab.reset());

const signInAs = (name) => lab.driver.manage().addCookie({ name: COOKIE, value: name, path: "/" });

test("f24_given_a_pending_wish_of_one_person_when_the_next_submits_the_same_values_then_each_has_a_key_of_their_own", async () => {
  await lab.open({ cart: "f24", attempts: 1 });
  await lab.server.plan([{ match: {}, fault: "drop-before" }]);
  await lab.click();
  await lab.until("unknown");
  const [{ key: k1 }] = commandsIn(await lab.server.log());
  await lab.script(() => globalThis.lab.setSubject(null));
  await signInAs(SECOND);
  try {
    await lab.open({ cart: "f24", subject: SECOND });
    assert.equal((await lab.snapshot()).state, "idle", "nothing of the first person is shown");
    const before = (await lab.server.log()).length;
    await lab.script(() => globalThis.dispatchEvent(new Event("online")) && null);
    assert.equal((await lab.server.log()).length, before, "nothing of theirs is asked or sent");
    await lab.click();
    await lab.until("succeeded");
    const log = await lab.server.log();
    const [, ofSecond, ...more] = commandsIn(log);
    assert.deepEqual(more, []);
    assert.notEqual(ofSecond.key, k1);
    assert.ok(!log.slice(before).some(({ key }) => key === k1), "k-1 never travels with the second person's login");
    const { orders } = await lab.server.effects();
    assert.deepEqual(
      orders.map(({ subject, key }) => [subject, key]),
      [[SECOND, ofSecond.key]],
    );
  } finally {
    await lab.driver.manage().deleteCookie(COOKIE);
  }
});

test("f24_given_k1_sent_by_mistake_under_the_next_login_then_it_names_its_person_and_the_server_runs_nothing", async () => {
  await lab.open({ cart: "f24-stray", subject: FIRST });
  // The login changed behind the page's back.
  await signInAs(SECOND);
  try {
    await lab.click();
    const { why } = await lab.until("suspended");
    assert.equal(why, "wrong_subject");
    const [{ subject, status }, ...more] = commandsIn(await lab.server.log());
    assert.deepEqual([subject, status, more], [`"${FIRST}"`, 403, []]);
    await assertNoEffect(lab.server);
    assert.deepEqual(await lab.server.records(), [], "and nothing is on record");
  } finally {
    await lab.driver.manage().deleteCookie(COOKIE);
  }
  await lab.click();
  await eventually("the first person, signed in again, gets it", async () => (await lab.server.effects()).count === 1);
  const { orders } = await lab.server.effects();
  assert.equal(orders[0].subject, FIRST);
});
