// Before the module is there and without it; other people; a person's decision; the page's own faults.
import assert from "node:assert/strict";
import { after, before, beforeEach, test } from "node:test";
import { assertOneEffect, commands } from "./evidence.mjs";
import { eventually, openLab } from "./lab.mjs";

let lab;
before(async () => {
  lab = await openLab();
});
after(() => lab?.close());
beforeEach(() => lab.reset());

test("r79_given_submits_before_the_module_is_ready_then_one_is_held_and_handed_over_once", async () => {
  // The module's file comes late; the page is bound and pressed three times meanwhile.
  const restore = await lab.beforeLoad(`
    const real = globalThis.fetch;
    globalThis.fetch = (input, init) => String(input).endsWith(".wasm")
      ? new Promise((settle) => setTimeout(() => settle(real(input, init)), 700))
      : real(input, init);
    addEventListener("DOMContentLoaded", () => setTimeout(() => {
      globalThis.early = globalThis.lab.form.snapshot.attemptsMax === 0;
      for (let press = 0; press < 3; press += 1) document.querySelector("#order").requestSubmit();
    }, 50));`);
  try {
    await lab.open();
    assert.equal(await lab.script(() => globalThis.early), true, "it was pressed before the module was there");
    await lab.until("succeeded");
    await assertOneEffect(lab.server);
    assert.equal(commands(await lab.server.log()).length, 1);
  } finally {
    await restore();
  }
});

test("r80_given_a_module_that_cannot_load_then_an_error_that_names_the_remedy_and_never_an_unkeyed_post", async () => {
  const restore = await lab.beforeLoad(`
    const real = globalThis.fetch;
    globalThis.fetch = (input, init) =>
      String(input).endsWith(".wasm") ? Promise.reject(new TypeError("blocked")) : real(input, init);`);
  try {
    await lab.driver.get(`${lab.server.url}/pages/order.html`);
    await eventually("the page is bound", () => lab.script(() => globalThis.lab !== undefined));
    const address = await lab.driver.getCurrentUrl();
    await lab.click();
    await lab.click();
    const failure = await eventually("the failure is told", () =>
      lab.script(() => document.documentElement.dataset.failure),
    );
    assert.match(failure, /module_unavailable.*wasm-unsafe-eval/s);
    assert.equal(await lab.driver.getCurrentUrl(), address, "no native navigation");
    assert.deepEqual(await lab.server.log(), []);
  } finally {
    await restore();
  }
});

test("r25_r93_given_a_logout_mid_flight_then_nothing_is_shown_kept_or_sent_for_the_next_person", async () => {
  await lab.open({ remember: "sku,note" });
  await lab.fill({ note: "FOR-ONE-PERSON-ONLY" });
  await lab.server.plan([{ match: {}, fault: "hang" }]);
  await lab.click();
  await eventually("the request arrived", async () => commands(await lab.server.log()).length === 1);
  await lab.script(() => globalThis.lab.setSubject(null));
  await eventually("the value is gone", async () => !(await lab.scan()).join().includes("FOR-ONE-PERSON-ONLY"));
  assert.equal((await lab.snapshot()).state, "idle");
  const before = (await lab.server.log()).length;
  await lab.click();
  assert.equal((await lab.server.log()).length, before, "never sent for somebody else");
  // The wish itself is not lost: its own subject finds it.
  await lab.reload();
  await lab.until("unknown");
});

test("r128_given_an_open_outcome_that_is_handed_over_then_it_blocks_until_a_person_decides", async () => {
  await lab.open({ budget: 2_000, attempts: 1 });
  await lab.server.plan([{ match: {}, fault: "hang" }]);
  await lab.click();
  await lab.until("unknown", 4_000);
  await lab.script(() => {
    globalThis.told = [];
    for (const type of ["handover", "decision"]) {
      globalThis.lab.form.addEventListener(type, ({ detail }) => globalThis.told.push({ type, ...detail }));
    }
  });
  const { ok: handed } = await lab.call("handOver", "please look at this one");
  assert.deepEqual([handed.state, handed.why], ["unknown", "handed_over"]);
  const sent = commands(await lab.server.log()).length;
  assert.equal((await lab.call("resend")).error.code, "not_now");
  const open = await lab.driver.executeAsyncScript("globalThis.lab.pending().then(arguments[0])");
  assert.deepEqual(
    open.map(({ reference }) => reference),
    [handed.reference],
  );
  const { ok: decided } = await lab.call("decide", { outcome: "not_applied", by: "Ann", note: "asked the shop" });
  assert.deepEqual([decided.state, decided.outcome, decided.by], ["decided", "not_applied", "Ann"]);
  const { reference } = handed;
  assert.deepEqual(await lab.script(() => globalThis.told), [
    { type: "handover", reference, note: "please look at this one" },
    { type: "decision", reference, outcome: "not_applied", by: "Ann", note: "asked the shop" },
  ]);
  assert.ok(!(await lab.scan()).join().includes("please look"), "what a person wrote is not kept on the device");
  assert.equal(commands(await lab.server.log()).length, sent);
  assert.deepEqual(await lab.driver.executeAsyncScript("globalThis.lab.pending().then(arguments[0])"), []);
});

test("given_a_subscriber_that_throws_then_the_submission_goes_on", async () => {
  await lab.open();
  await lab.script(() => {
    globalThis.lab.form.subscribe(({ state }) => {
      if (state !== "idle") throw new Error("the page's own fault");
    });
  });
  await lab.click();
  await lab.until("succeeded");
  await assertOneEffect(lab.server);
});

test("r22_given_a_stop_after_the_request_left_then_unknown_and_never_cancelled", async () => {
  await lab.open();
  await lab.server.plan([{ match: {}, fault: "delay-effect", ms: 800 }]);
  await lab.click();
  await eventually("the request arrived", async () => commands(await lab.server.log()).length === 1);
  await lab.call("stop");
  const { why } = await lab.until("unknown");
  assert.equal(why, "stopped");
  await eventually("it happened all the same", async () => (await lab.server.effects()).count === 1);
  const { ok } = await lab.call("check");
  assert.equal(ok.state, "succeeded");
});

test("r44_given_a_headers_provider_then_it_is_read_for_every_attempt_and_may_not_set_the_contracts_headers", async () => {
  await lab.open();
  await lab.server.plan([{ match: { attempt: 1 }, fault: "status", status: 502 }]);
  const seen = await lab.driver.executeAsyncScript(`const done = arguments[0];
    const attempts = [];
    const operation = lab.defineOperation({ name: "order.create", url: "/orders", status: { url: "/orders/status" },
      headers: (attempt) => { attempts.push(attempt); return { "X-Csrf": "token-" + attempt }; } });
    operation.intent({ subject: "demo-user", object: "provider" }).submit({ sku: "A1", quantity: 1 })
      .then(({ snapshot }) => done([snapshot.state, attempts]), (error) => done(String(error)));`);
  assert.deepEqual(seen, ["succeeded", [1, 2]]);
  const bad = await lab.driver.executeAsyncScript(`const done = arguments[0];
    addEventListener("error", (event) => { event.preventDefault(); done(event.error?.message ?? event.message); }, { once: true });
    const operation = lab.defineOperation({ name: "order.create", url: "/orders", status: { url: "/orders/status" },
      headers: () => ({ "Idempotency-Key": "mine" }) });
    operation.intent({ subject: "demo-user", object: "mine" }).submit({ sku: "A1", quantity: 1 });`);
  assert.match(bad, /reserved-name/);
  assert.equal((await lab.server.effects()).count, 1, "nothing went out with a foreign key");
});

test("r25_given_a_logout_and_a_login_without_a_reload_then_the_form_is_bound_for_the_next_person", async () => {
  await lab.open({ cart: "shared-terminal" });
  await lab.click();
  await lab.until("succeeded");
  await lab.driver.manage().addCookie({ name: "demo_subject", value: "second-person", path: "/" });
  try {
    const outcome = await lab.driver.executeAsyncScript(`const done = arguments[0];
      lab.setSubject("second-person");
      const next = lab.bindForm("#order", lab.operation, { subject: "second-person", object: "shared-terminal" });
      next.subscribe(({ state, last }) => { if (state === "succeeded") done({ state, last }); });
      setTimeout(() => document.querySelector("#order").requestSubmit(), 300);`);
    assert.equal(outcome.state, "succeeded");
    const { count, orders } = await lab.server.effects();
    assert.deepEqual([count, orders.map(({ subject }) => subject)], [2, ["demo-user", "second-person"]]);
    assert.equal((await lab.keys()).length, 2, "one key for each person's wish");
  } finally {
    await lab.driver.manage().deleteCookie("demo_subject");
  }
});

test("r64_given_a_reload_and_an_explicit_resend_then_the_same_fields_go_out_under_the_same_key_and_others_are_refused", async () => {
  await lab.open({ budget: 2_000, attempts: 1 });
  await lab.server.plan([{ match: {}, fault: "hang" }]);
  await lab.click();
  await lab.until("unknown", 4_000);
  await lab.reload();
  await lab.until("unknown");
  await lab.fill({ quantity: "9" });
  assert.equal((await lab.call("resend")).error.code, "other_fields");
  assert.equal(commands(await lab.server.log()).length, 1, "nothing was sent");
  await lab.fill({ quantity: "2" });
  const { ok } = await lab.call("resend");
  assert.equal(ok.state, "succeeded");
  await assertOneEffect(lab.server);
});

test("r88_given_options_changed_after_the_definition_then_the_checked_ones_count", async () => {
  await lab.open();
  // Open, so that the record still holds what it remembers.
  await lab.server.plan([{ match: {}, fault: "hang" }]);
  await lab.script(() => {
    const remember = ["sku"];
    const operation = globalThis.lab.defineOperation({
      name: "order.create",
      url: "/orders",
      status: { url: "/orders/status" },
      remember,
    });
    remember.push("password");
    const intent = operation.intent({ subject: "demo-user", object: "frozen" });
    intent.submit({ sku: "SKU-KEPT", quantity: 1, password: "SECRET-OF-ONE" });
  });
  await eventually("the request arrived", async () => commands(await lab.server.log()).length === 1);
  const kept = (await lab.scan()).join("\n");
  assert.ok(kept.includes("SKU-KEPT"), "what may be remembered is");
  assert.ok(!kept.includes("SECRET-OF-ONE"));
});

test("r44_given_own_headers_in_another_case_then_they_replace_ours_and_never_stand_beside_them", async () => {
  await lab.open();
  const sent = await lab.driver.executeAsyncScript(`const done = arguments[0];
    const operation = lab.defineOperation({ name: "order.create", url: "/orders", status: { url: "/orders/status" },
      headers: () => ({ accept: "application/problem+json, application/json" }),
      transport: (url, init) => { done(Object.entries(init.headers).filter(([name]) => name.toLowerCase() === "accept")); return fetch(url, init); } });
    operation.intent({ subject: "demo-user", object: "case" }).submit({ sku: "A1", quantity: 1 });`);
  assert.deepEqual(sent, [["accept", "application/problem+json, application/json"]]);
});
