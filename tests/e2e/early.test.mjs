// Before the module is there, and without it: a submit is held once, or goes out as the form's own POST under the key that
// the server wrote into the page, or is said not to have been sent; never a POST without a key (R8, R79, R80, R100).
import assert from "node:assert/strict";
import { createHash, randomBytes } from "node:crypto";
import { after, before, beforeEach, test } from "node:test";
import { assertOneEffect, commands, keysOf } from "./evidence.mjs";
import { eventually, openLab } from "./lab.mjs";

const SUBJECT = "demo-user";
const CART = "cart-1";

let lab;
before(async () => {
  lab = await openLab();
});
after(() => lab?.close());
beforeEach(() => lab.reset());

const newKey = () => randomBytes(16).toString("hex");

/** The frozen name of a slot's record, as a server that renders the page would make it (R27). */
function slotName(subject = SUBJECT, operation = "order.create", object = CART) {
  const parts = [subject, operation, object].map((part) => `${Buffer.byteLength(part)}:${part},`);
  return `postonce:${createHash("sha256").update(parts.join("")).digest("hex").slice(0, 32)}`;
}

async function open(query = {}) {
  const { key = newKey(), ...rest } = query;
  const address = new URLSearchParams({ slot: slotName(), subject: SUBJECT, key, ...rest });
  await lab.driver.get(`${lab.origin}/pages/early.html?${address}`);
  return key;
}

const posts = async () => commands(await lab.server.log());
const alertText = () => lab.script(() => document.querySelector("[role=alert]")?.textContent ?? "");
const press = () => lab.click();

test("r79_given_two_submits_before_the_module_is_there_then_one_is_held_and_handed_over_once", async () => {
  const key = await open({ module: "late", wait: "20000" });
  await press();
  await press();
  assert.equal(await lab.script(() => document.querySelector("#order").getAttribute("aria-busy")), "true");
  assert.equal((await posts()).length, 0);
  await lab.script(() => {
    document.querySelector("[name=quantity]").value = "9";
    globalThis.loadModule();
  });
  await lab.until("succeeded");
  await assertOneEffect(lab.server);
  const [{ content_type }] = await posts();
  assert.equal(content_type, "application/json", "the library's own request, not the form's");
  const [order] = (await lab.server.effects()).orders;
  assert.equal(order.quantity, 2, "what was submitted, not what was typed afterwards");
  assert.equal(order.key, key, "R8: under the key that the server wrote into the page");
});

for (const [name, query] of [
  ["never_comes", { module: "never" }],
  ["is_refused_by_the_pages_policy", { module: "now", policy: "strict" }],
]) {
  test(`r80_given_a_module_that_${name}_and_an_empty_slot_then_the_forms_own_post_goes_out_once_under_the_pages_key`, async () => {
    const restore =
      query.policy === undefined
        ? undefined
        : await lab.beforeLoad(
            "WebAssembly.instantiate = WebAssembly.instantiateStreaming = () => Promise.reject(new Error('blocked'));",
          );
    try {
      const key = await open(query);
      if (restore) await eventually("the library is there", () => lab.script(() => globalThis.lab !== undefined));
      await press();
      await eventually("the order was placed", async () => (await lab.server.effects()).count === 1);
      const sent = await posts();
      assert.deepEqual([sent.length, keysOf(sent)], [1, [key]]);
      assert.match(sent[0].content_type, /^application\/x-www-form-urlencoded/, "the form's own");
      assert.equal((await lab.server.effects()).orders[0].key, key);
    } finally {
      await restore?.();
    }
  });
}

test("r80_given_a_page_without_a_key_then_a_message_and_never_a_post", async () => {
  await open({ module: "never", key: "" });
  await press();
  await eventually("it is said", async () => (await alertText()) !== "");
  assert.match(await alertText(), /was not sent/);
  assert.equal(await lab.script(() => location.pathname), "/pages/early.html");
  assert.equal((await posts()).length, 0);
});

test("r79_given_a_slot_with_an_open_wish_then_a_message_and_never_another_post", async () => {
  await lab.open({ attempts: 1 });
  await lab.server.plan([{ match: { attempt: 1 }, fault: "drop-before" }]);
  await press();
  await lab.until("unknown");
  await open({ module: "never" });
  await press();
  await eventually("it is said", async () => (await alertText()) !== "");
  assert.equal((await posts()).length, 1);
});

test("r79_given_a_slot_reserved_under_another_key_then_a_message_and_under_the_very_same_key_the_post", async () => {
  await lab.open();
  const reserved = await eventually("the key is reserved", () =>
    lab.script((name) => JSON.parse(localStorage.getItem(name) ?? "{}").current?.key, slotName()),
  );
  await open({ module: "never" });
  await press();
  await eventually("it is said", async () => (await alertText()) !== "");
  assert.equal((await posts()).length, 0);
  await open({ module: "never", key: reserved });
  await press();
  await eventually("the order was placed", async () => (await lab.server.effects()).count === 1);
  assert.deepEqual(keysOf(await posts()), [reserved]);
});

test("r79_given_a_finished_key_in_a_page_that_comes_again_then_a_message_and_never_a_post_under_it", async () => {
  const key = await open({ module: "now" });
  await lab.bound();
  await press();
  await lab.until("succeeded");
  await open({ module: "never", key });
  await press();
  await eventually("it is said", async () => (await alertText()) !== "");
  assert.equal((await lab.server.effects()).count, 1);
  assert.equal((await posts()).length, 1);
});

test("r8_given_a_page_with_a_key_of_the_servers_then_the_wish_takes_it_and_a_slot_that_has_one_keeps_its_own", async () => {
  const first = await open({ module: "now" });
  await lab.bound();
  const held = () => lab.script(() => document.querySelector("[name=_idempotency_key]").value);
  await lab.script(() => document.querySelector("[name=sku]").focus());
  await eventually("the slot took it", async () => (await held()) === first);
  await open({ module: "now" });
  await lab.bound();
  await eventually("the field shows the slot's own", async () => (await held()) === first);
  await press();
  await lab.until("succeeded");
  assert.equal(await assertOneEffect(lab.server), first);
});

test("r100_given_form_submit_that_bypasses_the_library_then_the_hidden_key_travels_and_there_is_one_effect", async () => {
  await lab.open();
  const key = await eventually("the key stands in the form", () =>
    lab.script(() => document.querySelector("[name=_idempotency_key]")?.value),
  );
  assert.equal(
    await lab.script(() => document.querySelector("[name=_idempotency_key]").getAttribute("autocomplete")),
    "off",
  );
  await lab.script(() => HTMLFormElement.prototype.submit.call(document.querySelector("#order")));
  await eventually("the order was placed", async () => (await lab.server.effects()).count === 1);
  await lab.open();
  await press();
  await lab.until("succeeded");
  assert.equal(await assertOneEffect(lab.server), key, "the library's own submit is the same wish");
});

test("r100_given_a_finished_wish_then_its_key_no_longer_stands_in_the_form", async () => {
  await lab.open();
  await press();
  await lab.until("succeeded");
  await eventually("it is gone", () =>
    lab.script(() => document.querySelector("[name=_idempotency_key]").value === ""),
  );
});

test("r94_given_a_button_that_sends_elsewhere_then_the_early_script_leaves_it_to_the_page", async () => {
  await open({ module: "never" });
  await lab.script(() => {
    document.querySelector("#submit").setAttribute("formaction", "/drafts");
    addEventListener("submit", (event) => {
      globalThis.prevented = event.defaultPrevented;
      event.preventDefault();
    });
  });
  await press();
  assert.equal(await lab.script(() => globalThis.prevented), false);
});

test("r8_given_a_form_that_is_bound_to_another_object_then_the_first_ones_key_is_never_taken_for_it", async () => {
  await lab.open({ cart: "first" });
  const value = () => lab.script(() => document.querySelector("[name=_idempotency_key]")?.value ?? "");
  const first = await eventually("the first key stands there", value);
  await lab.script(() => {
    const { bindForm, operation } = globalThis.lab;
    globalThis.lab.form = bindForm("#order", operation, { subject: "demo-user", object: "second" });
  });
  const second = await eventually("the second one's own", async () => {
    const now = await value();
    return now !== first && now;
  });
  await press();
  await lab.until("succeeded");
  assert.equal(await assertOneEffect(lab.server), second);
});

test("r98_given_two_operations_on_one_form_then_the_field_carries_neither_key", async () => {
  await lab.open();
  await eventually("one key stands there", () =>
    lab.script(() => document.querySelector("[name=_idempotency_key]")?.value),
  );
  await lab.script(() => {
    const { bindForm, defineOperation } = globalThis.lab;
    const draft = defineOperation({ name: "order.draft", url: "/drafts", status: { url: "/drafts/status" } });
    bindForm("#order", draft, { subject: "demo-user", object: "cart-1" });
  });
  await eventually("it is empty", () =>
    lab.script(() => document.querySelector("[name=_idempotency_key]").value === ""),
  );
});
