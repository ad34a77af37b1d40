// Before the module is there, and without it: a submit is held once, or goes out as the form's own POST under the key that
// the server wrote into the page, or is said not to have been sent; never a POST without a key (R8, R79, R80, R100).
import assert from "node:assert/strict";
import { createHash, randomBytes } from "node:crypto";
import { after, before, beforeEach, test } from "node:test";
import { startSlowProxy } from "../cases/slow-proxy.mjs";
import { assertOneEffect, commands, keysOf } from "./evidence.mjs";
import { eventually, openLab } from "./lab.mjs";

const SUBJECT = "demo-user";
const CART = "cart-1";

const POLICY = "content-security-policy";

let lab;
let proxy;
/** Pages are served with a policy that allows no WebAssembly. */
let strict = false;
/** Whoever asks for the module's file finds the connection cut. */
let lost = false;
before(async () => {
  proxy = await startSlowProxy({
    cut: ({ url }) => lost && url.endsWith(".wasm"),
    onAnswer: (_, headers) => {
      if (strict && headers[POLICY]) headers[POLICY] = "default-src 'self'; script-src 'self'";
    },
  });
  lab = await openLab({ front: proxy.inFrontOf });
});
after(async () => {
  await lab?.close();
  await proxy?.stop();
});
beforeEach(() => {
  strict = false;
  lost = false;
  return lab.reset();
});

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

/** The form's own POST went out, once, under the page's key. */
async function assertNativePost(key) {
  await eventually("the order was placed", async () => (await lab.server.effects()).count === 1);
  const sent = await posts();
  assert.deepEqual([sent.length, keysOf(sent)], [1, [key]]);
  assert.match(sent[0].content_type, /^application\/x-www-form-urlencoded/, "the form's own");
  assert.equal((await lab.server.effects()).orders[0].key, key);
}

test("r80_given_a_module_that_never_comes_and_an_empty_slot_then_the_forms_own_post_goes_out_once_under_the_pages_key", async () => {
  const key = await open({ module: "never" });
  await press();
  await assertNativePost(key);
});

/** Opens the page with the library and waits until it knows that its module is not to be had. */
async function openWithoutModule(query) {
  const key = await open({ module: "now", ...query });
  await eventually("the library is there", () => lab.script(() => globalThis.lab !== undefined));
  const failed = await lab.driver.executeAsyncScript(
    "lab.pending().then(() => arguments[0](null), ({ code, cause }) => arguments[0]([code, String(cause)]))",
  );
  assert.equal(failed?.[0], "module_unavailable", "the module is really not there");
  return key;
}

for (const [name, hinder] of [
  [
    "the_pages_policy_forbids",
    () => {
      strict = true;
    },
  ],
  [
    "the_network_loses",
    () => {
      lost = true;
    },
  ],
]) {
  test(`r80_given_a_module_that_${name}_then_the_forms_own_post_under_the_pages_key_or_a_message_and_never_an_unkeyed_post`, async () => {
    hinder();
    const key = await openWithoutModule();
    await press();
    await assertNativePost(key);
    await lab.reset();
    await openWithoutModule({ key: "" });
    await press();
    await eventually("it is said", async () => (await alertText()) !== "");
    assert.equal((await posts()).length, 0);
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

/** From `globalThis.trapNow` on, every call into the module ends as a trap does. */
const TRAPPING = `
  const wrapped = ({ instance, module }) => {
    const trapping = Object.entries(instance.exports).map(([name, value]) => [name, typeof value !== "function" ? value
      : (...args) => {
          if (globalThis.trapNow) throw new WebAssembly.RuntimeError("unreachable");
          return value(...args);
        }]);
    return { instance: { exports: Object.fromEntries(trapping) }, module };
  };
  for (const name of ["instantiate", "instantiateStreaming"]) {
    const real = WebAssembly[name];
    WebAssembly[name] = async (...args) => wrapped(await real.apply(WebAssembly, args));
  }`;

test("r80_given_a_module_that_traps_mid_flight_then_unknown_at_once_a_press_says_so_and_the_next_load_finds_the_one_effect", async () => {
  const restore = await lab.beforeLoad(TRAPPING);
  try {
    await open({ module: "now" });
    await lab.bound();
    await lab.server.plan([{ match: { attempt: 1 }, fault: "delay-after", ms: 1_500 }]);
    await press();
    await eventually("the request arrived", async () => (await posts()).length === 1);
    await lab.script(() => {
      globalThis.errors = [];
      globalThis.lab.form.addEventListener("error", ({ error }) => globalThis.errors.push(error.code));
      globalThis.trapNow = true;
    });
    const { doubt, may } = await lab.until("unknown");
    assert.deepEqual([doubt.possible, doubt.cause, may], [true, "document_lost", []]);
    assert.deepEqual(await lab.script(() => globalThis.errors), ["module_trapped"]);
    assert.equal(await lab.script(() => document.querySelector("#order").getAttribute("aria-busy")), "false");
    assert.equal((await lab.call("check")).error.code, "module_trapped");
    await press();
    await eventually("it is said", async () => (await alertText()) !== "");
    assert.equal((await posts()).length, 1, "never another, and never an unkeyed one");
  } finally {
    await restore();
  }
  await lab.open();
  await lab.until("succeeded");
  await assertOneEffect(lab.server);
});

test("r80_given_a_module_that_traps_before_anything_is_sent_then_a_press_ends_in_one_post_under_the_pages_key", async () => {
  const restore = await lab.beforeLoad(TRAPPING);
  try {
    const key = await open({ module: "now" });
    await lab.bound();
    await lab.script(() => {
      globalThis.trapNow = true;
    });
    // The first press may be the call that traps; then it is the second that finds the module dead.
    const placed = async () => (await lab.server.effects()).count === 1;
    await press();
    await eventually("it goes out at once", placed, 1_500).catch(press);
    await eventually("the order was placed", placed);
    const sent = await posts();
    assert.deepEqual([sent.length, keysOf(sent)], [1, [key]]);
  } finally {
    await restore();
  }
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

test("r98_r100_given_two_operations_on_one_form_then_the_field_carries_the_key_of_the_one_that_its_action_names", async () => {
  await lab.open();
  const value = () => lab.script(() => document.querySelector("[name=_idempotency_key]")?.value);
  const order = await eventually("the order's key stands there", value);
  await lab.driver.executeScript(`
    const draft = lab.defineOperation({ name: "order.draft", url: "/drafts", status: { url: "/drafts/status" } });
    window.draft = lab.bindForm("#order", draft, { subject: "demo-user", object: "cart-1" });`);
  await eventually("the draft has a key", () => lab.script(() => globalThis.draft.snapshot.reference !== null));
  assert.equal(await value(), order, "the form's own POST goes to /orders");
  await lab.script(() => document.querySelector("#order").setAttribute("action", "/elsewhere"));
  await lab.call("beginNew");
  await eventually("no key goes to an address of neither", async () => (await value()) === "");
});
