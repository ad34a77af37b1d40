// What belongs to a form and what its buttons say about it: controls elsewhere in the page, elements of the page's own,
// several forms, several operations on one (R94, R96, R97, R98, R99, R101).
import assert from "node:assert/strict";
import { createHash } from "node:crypto";
import { after, before, beforeEach, test } from "node:test";
import { assertOneEffect, commands, keysOf } from "./evidence.mjs";
import { eventually, Key, openLab } from "./lab.mjs";

let lab;
before(async () => {
  lab = await openLab();
});
after(() => lab?.close());
beforeEach(async () => {
  await lab.reset();
  await lab.open();
});

const digest = (text) => createHash("sha256").update(text).digest("hex");
const order = async () => (await lab.server.effects()).orders[0];

/** The one command went out with exactly this body. */
async function assertSent(body) {
  await lab.until("succeeded");
  await assertOneEffect(lab.server);
  const sent = commands(await lab.server.log());
  assert.deepEqual(
    sent.map(({ body_sha256 }) => body_sha256),
    [digest(body)],
    `exactly ${body}`,
  );
  return sent[0];
}

/** Puts an element into the page, outside of the form unless told otherwise. */
const add = (tag, attributes, into = "body") =>
  lab.script(
    (tag, attributes, into) => {
      const element = document.createElement(tag);
      for (const [name, value] of Object.entries(attributes)) element.setAttribute(name, value);
      element.textContent = attributes.id ?? "";
      document.querySelector(into).append(element);
    },
    tag,
    attributes,
    into,
  );

test("r96_given_a_control_and_a_button_outside_that_name_the_form_then_both_go_along", async () => {
  await add("input", { form: "order", name: "tag", value: "outside" });
  await add("button", { form: "order", id: "far", name: "action", value: "far" });
  await lab.click("#far");
  await assertSent('{"sku":"A1","quantity":"2","note":"","tag":"outside","action":"far"}');
});

test("r96_given_an_element_of_the_pages_own_that_has_a_form_value_then_it_goes_along_and_its_edit_is_an_edit", async () => {
  const restore = await lab.beforeLoad(`
    customElements.define("lab-rating", class extends HTMLElement {
      static formAssociated = true;
      #internals = this.attachInternals();
      connectedCallback() { this.rate("3"); }
      rate(value) {
        this.#internals.setFormValue(value);
        this.dispatchEvent(new Event("change", { bubbles: true }));
      }
    });
    addEventListener("DOMContentLoaded", () => document.querySelector("#order")?.append(
      Object.assign(document.createElement("lab-rating"), { id: "rating" })));
    addEventListener("DOMContentLoaded", () => document.querySelector("#rating")?.setAttribute("name", "rating"));`);
  try {
    await lab.open({ cart: "rated", attempts: 1 });
    await lab.server.plan([{ match: { attempt: 1 }, fault: "drop-before" }]);
    await lab.click();
    await lab.until("unknown");
    const [{ body_sha256 }] = commands(await lab.server.log());
    assert.equal(body_sha256, digest('{"sku":"A1","quantity":"2","note":"","rating":"3"}'));
    await lab.driver.executeScript('document.querySelector("#rating").rate("5")');
    await lab.click();
    const { why } = await eventually("the press is answered", async () =>
      (await lab.outcomes()).find(({ kind }) => kind === "conflict"),
    );
    assert.equal(why, "fields", "R6: another rating is another wish");
    assert.equal(commands(await lab.server.log()).length, 1);
  } finally {
    await restore();
  }
});

test("r96_given_a_button_that_states_an_encoding_then_the_body_is_sent_so", async () => {
  await add("button", { id: "plain", formenctype: "application/x-www-form-urlencoded" }, "#order");
  await lab.click("#plain");
  const { content_type } = await assertSent("sku=A1&quantity=2&note=");
  assert.match(content_type, /^application\/x-www-form-urlencoded/);
});

test("r14_given_a_form_that_states_multipart_and_no_file_then_multipart_goes_out_and_the_server_agrees", async () => {
  await lab.script(() => document.querySelector("#order").setAttribute("enctype", "multipart/form-data"));
  await lab.server.plan([{ match: { attempt: 1 }, fault: "lost-answer" }]);
  await lab.click();
  const { replayed } = await lab.until("succeeded");
  assert.equal(replayed, true, "the retry is the same wish to the server");
  await assertOneEffect(lab.server);
  const sent = commands(await lab.server.log());
  assert.equal(sent.length, 2);
  for (const { content_type } of sent) assert.match(content_type, /^multipart\/form-data; ?boundary=/);
});

test("r96_given_a_file_input_that_is_left_empty_then_its_empty_file_goes_along_as_a_browser_sends_it", async () => {
  await add("input", { type: "file", name: "terms" }, "#order");
  await lab.server.plan([{ match: { attempt: 1 }, fault: "lost-answer" }]);
  await lab.click();
  assert.equal((await lab.until("succeeded")).replayed, true);
  await assertOneEffect(lab.server);
});

for (const [name, attributes] of [
  ["by_get", { formmethod: "get" }],
  ["to_a_dialog", { formmethod: "dialog" }],
  ["to_another_window", { formtarget: "_blank" }],
]) {
  test(`r94_given_a_button_that_sends_${name}_then_the_submit_is_the_pages_own_and_nothing_of_ours_leaves`, async () => {
    await add("button", { id: "other", ...attributes }, "#order");
    await lab.script(() =>
      addEventListener("submit", (event) => {
        globalThis.prevented = event.defaultPrevented;
        event.preventDefault();
      }),
    );
    await lab.click("#other");
    assert.equal(await lab.script(() => globalThis.prevented), false);
    assert.deepEqual([(await lab.snapshot()).state, (await lab.server.log()).length], ["idle", 0]);
  });
}

test("r99_given_a_button_that_asks_for_no_validation_then_an_empty_required_field_is_sent_and_the_other_button_sends_nothing", async () => {
  await lab.script(() => document.querySelector("[name=note]").setAttribute("required", ""));
  await add("button", { id: "anyway", formnovalidate: "" }, "#order");
  await lab.click();
  assert.deepEqual([(await lab.snapshot()).state, (await lab.server.log()).length], ["idle", 0]);
  await lab.click("#anyway");
  await assertSent('{"sku":"A1","quantity":"2","note":""}');
});

test("r26_given_two_forms_of_one_operation_then_each_has_its_own_key_and_neither_waits_for_the_other", async () => {
  await lab.server.plan([{ match: { attempt: 1 }, fault: "delay-after", ms: 600 }]);
  await lab.driver.executeScript(`
    const second = document.querySelector("#order").cloneNode(true);
    second.id = "second";
    for (const hidden of second.querySelectorAll("[type=hidden]")) hidden.remove();
    second.querySelector("button").id = "submit-second";
    second.querySelector("[name=sku]").value = "B2";
    document.body.append(second);
    window.second = lab.bindForm(second, lab.operation, { subject: "demo-user", object: "second" });`);
  await lab.click();
  await lab.click("#submit-second");
  await lab.until("succeeded");
  await eventually("the second is done", () => lab.script(() => globalThis.second.snapshot.state === "succeeded"));
  const { count, by_key } = await lab.server.effects();
  assert.deepEqual([count, Object.values(by_key)], [2, [1, 1]]);
  assert.equal(keysOf(commands(await lab.server.log())).length, 2);
});

test("r98_given_a_form_whose_buttons_mean_two_operations_then_two_intents_that_never_share_a_key", async () => {
  await lab.driver.executeScript(`
    const draft = lab.defineOperation({ name: "order.draft", url: "/drafts", contract: "postonce", effect: "once",
      status: { url: "/drafts/status" } });
    window.draft = lab.bindForm("#order", draft, { subject: "demo-user", object: "cart-1" });`);
  await add("button", { id: "save", formaction: "/drafts" }, "#order");
  await lab.click("#save");
  await eventually("it is saved", () => lab.script(() => globalThis.draft.snapshot.state === "succeeded"));
  assert.equal((await lab.snapshot()).state, "idle", "the order was not pressed");
  const written = await eventually("a key stands in the form", () =>
    lab.script(() => document.querySelector("[name=_idempotency_key]").value),
  );
  await lab.click();
  await lab.until("succeeded");
  const sent = commands(await lab.server.log());
  assert.deepEqual(
    sent.map(({ operation, status }) => [operation, status]),
    [
      ["order.draft", 201],
      ["order.create", 201],
    ],
  );
  assert.equal(keysOf(sent).length, 2);
  assert.equal(written, sent[1].key, "R100: the form's own POST goes where its action says, so under that one's key");
});

test("r101_given_an_edit_during_the_flight_then_it_stays_marked_as_one_and_the_result_is_about_what_was_sent", async () => {
  await lab.server.plan([{ match: { attempt: 1 }, fault: "delay-after", ms: 400 }]);
  await lab.click();
  await lab.until("sending");
  assert.equal(await lab.script(() => globalThis.lab.form.dirty), false);
  await lab.fill({ quantity: "7" });
  await lab.until("succeeded");
  assert.equal((await order()).quantity, 2);
  const page = await lab.script(() => [globalThis.lab.form.dirty, document.querySelector("[name=quantity]").value]);
  assert.deepEqual(page, [true, "7"], "the edit is kept, and is no part of the result");
});

test("r96_given_a_value_that_the_browser_or_a_script_filled_in_without_an_event_then_it_goes_out", async () => {
  await lab.script(() => {
    document.querySelector("[name=note]").value = "filled in";
  });
  await lab.click();
  await assertSent('{"sku":"A1","quantity":"2","note":"filled in"}');
});

test("r6_given_a_stepper_that_changes_a_field_without_an_event_while_it_runs_then_the_second_press_is_a_conflict_and_never_joins", async () => {
  await lab.server.plan([{ match: { attempt: 1 }, fault: "delay-after", ms: 800 }]);
  await lab.click();
  await lab.until("sending");
  await lab.script(() => {
    document.querySelector("[name=quantity]").value = "3";
  });
  await lab.click();
  const { why } = await eventually("the press is answered", async () =>
    (await lab.outcomes()).find(({ kind }) => kind === "conflict"),
  );
  assert.equal(why, "fields");
  await lab.until("succeeded");
  await assertOneEffect(lab.server);
  assert.equal((await order()).quantity, 2);
});

test("r97_given_a_page_that_locked_its_button_and_was_reloaded_then_the_button_is_free_and_the_state_is_the_records", async () => {
  await lab.server.plan([{ match: { attempt: 1 }, fault: "drop-before" }]);
  await lab.open({ attempts: 1 });
  await lab.script(() =>
    document.querySelector("#order").addEventListener("submit", () => {
      document.querySelector("#submit").disabled = true;
    }),
  );
  await lab.click();
  await lab.until("unknown");
  assert.equal(await lab.script(() => document.querySelector("#submit").disabled), true);
  await lab.reload();
  await lab.until("unknown");
  assert.equal(await lab.script(() => document.querySelector("#submit").disabled), false);
  await lab.click();
  await lab.until("succeeded");
  await assertOneEffect(lab.server);
});

test("r97_given_a_submit_by_keyboard_then_the_focus_stays_where_it_was_through_every_state", async () => {
  await lab.server.plan([{ match: { attempt: 1 }, fault: "delay-after", ms: 300 }]);
  await lab.script(() => document.querySelector("[name=note]").focus());
  await lab.press("[name=note]", Key.ENTER);
  await lab.until("sending");
  const focused = () => lab.script(() => document.activeElement?.getAttribute("name"));
  assert.equal(await focused(), "note");
  await lab.until("succeeded");
  assert.equal(await focused(), "note");
});
