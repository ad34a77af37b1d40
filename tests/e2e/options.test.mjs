// Misuse in a page is told at once, with the field and the remedy, and nothing is sent.
import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { openLab } from "./lab.mjs";

let lab;
before(async () => {
  lab = await openLab();
  await lab.reset();
  await lab.open();
});
after(() => lab?.close());

/** What is thrown by `act(lab, order)`, with everything that a developer reads. */
const thrown = (act) =>
  lab.script(`() => {
    const order = { name: "order.create", url: "/orders", status: { url: "/orders/status" } };
    try { (${act})(globalThis.lab, order); } catch ({ name, code, field, rule, remedy, message }) { return { name, code, field, rule, remedy, message }; }
  }`);

const CASES = [
  {
    name: "an_unknown_option",
    act: "(lab, order) => lab.defineOperation({ ...order, budjet: 1 })",
    field: "budjet",
    rule: "unknown-option",
  },
  {
    name: "no_budget",
    act: "(lab, order) => lab.defineOperation({ ...order, budget: 0 })",
    field: "budget",
    rule: "out-of-range",
  },
  {
    name: "a_negative_budget",
    act: "(lab, order) => lab.defineOperation({ ...order, budget: -5 })",
    field: "budget",
    rule: "out-of-range",
  },
  {
    name: "a_password_remembered",
    act: '(lab, order) => lab.defineOperation({ ...order, remember: ["password"] })',
    field: "remember",
    rule: "sensitive-remember",
  },
  {
    name: "an_unknown_kind_of_object",
    act: '(lab, order) => lab.defineOperation({ ...order, object: "many" })',
    field: "object",
    rule: "unknown-value",
  },
  {
    name: "another_scheme",
    act: '(lab, order) => lab.defineOperation({ ...order, url: "ftp://shop.test/" })',
    field: "url",
    rule: "unsupported-scheme",
  },
];

for (const { name, act, field, rule } of CASES) {
  test(`r125_given_${name}_then_the_definition_throws_and_names_field_and_remedy`, async () => {
    const error = await thrown(act);
    assert.deepEqual([error.name, error.field, error.rule], ["OptionError", field, rule]);
    assert.ok(error.remedy && error.message.includes(error.remedy) && error.message.includes(field), error.message);
  });
}

test("r26_given_no_object_then_the_bind_throws_object_missing", async () => {
  const error = await thrown('(lab, order) => lab.bindForm("#order", lab.defineOperation(order), { subject: "x" })');
  // The form is bound already in this page: a fresh one shows the fault.
  const fresh = await thrown(
    '(lab, order) => { const form = document.createElement("form"); document.body.append(form); lab.bindForm(form, lab.defineOperation(order), { subject: "x" }); }',
  );
  assert.deepEqual([error?.code ?? fresh.code, fresh.code], ["object_missing", "object_missing"]);
  assert.ok(fresh.message.includes("singleton"));
});

test("r88_given_a_secret_control_of_a_harmless_name_then_the_bind_refuses_to_remember_it", async () => {
  const error = await thrown(`(lab, order) => {
    const form = document.createElement("form");
    form.innerHTML = '<input name="word" type="password">';
    document.body.append(form);
    lab.bindForm(form, lab.defineOperation({ ...order, remember: ["word"] }), { subject: "x", object: "y" });
  }`);
  assert.deepEqual([error.field, error.rule], ["remember", "sensitive-remember"]);
});

test("given_no_such_form_then_the_bind_says_so", async () => {
  const error = await thrown(
    '(lab, order) => lab.bindForm("#nowhere", lab.defineOperation(order), { subject: "x", object: "y" })',
  );
  assert.deepEqual([error.code, error.field], ["form_not_found", "#nowhere"]);
});

test("r12_given_a_payload_that_is_not_finite_then_it_is_refused_and_nothing_is_sent", async () => {
  const error = await lab.driver.executeAsyncScript(`const done = arguments[0];
    lab.operation.intent({ subject: "demo-user", object: "value" }).submit({ quantity: NaN })
      .then(() => done(null), ({ code, field, message }) => done({ code, field, message }));`);
  assert.deepEqual([error.code, error.field], ["invalid_payload", "/quantity"]);
  assert.deepEqual(await lab.server.log(), []);
});

test("given_a_payload_without_a_form_then_one_effect_and_its_result", async () => {
  const outcome = await lab.driver.executeAsyncScript(`const done = arguments[0];
    lab.operation.intent({ subject: "demo-user", object: "value" }).submit({ sku: "A1", quantity: 3 })
      .then(({ kind, snapshot }) => done({ kind, state: snapshot.state, result: snapshot.result }), (error) => done(String(error)));`);
  const { count, orders } = await lab.server.effects();
  assert.deepEqual([outcome.kind, outcome.state, outcome.result.id, count], ["settled", "succeeded", orders[0].id, 1]);
});
