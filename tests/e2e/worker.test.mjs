// A service worker of the application that sends a failed POST later, with the key, the dates and the subject that it
// carried: nothing happens twice, and nothing happens after its deadline (R81, R117).
import assert from "node:assert/strict";
import { after, before, beforeEach, test } from "node:test";
import { assertOneEffect, commands, keysOf } from "./evidence.mjs";
import { eventually, openLab } from "./lab.mjs";

const BUDGET_MS = 2_000;

/** Resolves with what went wrong, if anything did. */
const REGISTER = `
  const [delay, done] = arguments;
  navigator.serviceWorker.register("/pages/replaying-worker.js?delay=" + delay).then(async () => {
    await navigator.serviceWorker.ready;
    done(null);
  }, (error) => done(String(error)));`;
const UNREGISTER = `
  const [done] = arguments;
  navigator.serviceWorker.getRegistrations()
    .then((all) => Promise.all(all.map((one) => one.unregister())))
    .then(() => done(), done);`;

let lab;
before(async () => {
  lab = await openLab();
});
after(() => lab?.close());
beforeEach(() => lab.reset());

/** Opens the order page under a worker that waits so long before it sends again. */
async function openUnderWorker(delay, query) {
  await lab.open(query);
  const failure = await lab.driver.executeAsyncScript(REGISTER, delay);
  assert.equal(failure, null);
  await lab.open(query);
  await eventually("the worker is in charge", () => lab.script(() => navigator.serviceWorker.controller !== null));
}

const unregister = () => lab.driver.executeAsyncScript(UNREGISTER);

test("r81_given_a_worker_that_sends_it_later_then_unknown_first_and_the_check_finds_the_one_effect", async () => {
  await openUnderWorker(700, { cart: "worker", attempts: 1 });
  try {
    await lab.click();
    const { doubt } = await lab.until("unknown");
    assert.equal(doubt.possible, true, "never not sent, never failed");
    await eventually("the worker sent it", async () => (await lab.server.effects()).count === 1);
    const { ok } = await lab.call("check");
    assert.equal(ok.state, "succeeded");
    await assertOneEffect(lab.server);
  } finally {
    await unregister();
  }
});

test("r81_given_attempts_and_a_worker_that_sends_each_of_them_later_then_one_key_and_one_effect", async () => {
  await openUnderWorker(300, { cart: "worker-three", attempts: 3, budget: 4_000 });
  try {
    await lab.click();
    await lab.until(({ state }) => state === "unknown" || state === "succeeded");
    await eventually("the worker sent all, and all were answered", async () => {
      const sent = commands(await lab.server.log());
      return sent.length === 3 && sent.every(({ status }) => status !== null);
    });
    const sent = commands(await lab.server.log());
    assert.equal(keysOf(sent).length, 1);
    assert.equal(new Set(sent.map(({ first_sent }) => first_sent)).size, 1, "the first-sent date is the key's own");
    await assertOneEffect(lab.server);
    if ((await lab.snapshot()).state === "unknown") assert.equal((await lab.call("check")).ok.state, "succeeded");
  } finally {
    await unregister();
  }
});

test("r117_given_a_worker_that_sends_it_after_the_deadline_then_the_server_runs_nothing", async () => {
  await openUnderWorker(BUDGET_MS + 1_500, { cart: "worker-late", attempts: 1, budget: BUDGET_MS });
  try {
    await lab.click();
    await lab.until("unknown");
    await eventually("the worker sent it", async () => commands(await lab.server.log()).length === 1);
    const [{ status }] = await eventually("it was answered", async () =>
      commands(await lab.server.log()).filter(({ status }) => status !== null),
    );
    assert.equal(status, 412);
    assert.equal((await lab.server.effects()).count, 0);
  } finally {
    await unregister();
  }
});
