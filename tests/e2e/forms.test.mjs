// The snapshot of a form: after the page's own handlers, with what they filled in, without what they disabled (R96, R97).
import assert from "node:assert/strict";
import { after, before, beforeEach, test } from "node:test";
import { assertOneEffect, commands } from "./evidence.mjs";
import { eventually, openLab } from "./lab.mjs";

let lab;
before(async () => {
  lab = await openLab();
});
after(() => lab?.close());
beforeEach(async () => {
  await lab.reset();
  await lab.open();
});

const order = async () => (await lab.server.effects()).orders[0];

test("r96_given_a_handler_of_the_page_that_fills_a_field_in_at_submit_then_its_value_goes_out", async () => {
  // As scripts of a page do: registered while it loads, so before the module is there to listen.
  const restore = await lab.beforeLoad(`addEventListener("DOMContentLoaded", () =>
    document.querySelector("#order")?.addEventListener("submit", () => {
      document.querySelector("[name=note]").value = "filled in late";
    }));`);
  try {
    await lab.open({ cart: "late" });
    await lab.click();
    await lab.until("succeeded");
    await assertOneEffect(lab.server);
    assert.equal((await order()).note, "filled in late");
  } finally {
    await restore();
  }
});

test("r97_given_a_handler_that_disables_the_whole_form_at_submit_then_nothing_of_the_wish_is_lost", async () => {
  await lab.script(() => {
    const form = document.querySelector("#order");
    const fieldset = document.createElement("fieldset");
    fieldset.append(...form.childNodes);
    form.append(fieldset);
    globalThis.fired = 0;
    form.addEventListener("formdata", () => {
      globalThis.fired += 1;
    });
    form.addEventListener("submit", () => {
      fieldset.disabled = true;
      document.querySelector("#submit").disabled = true;
    });
  });
  await lab.fill({ quantity: "4", note: "kept" });
  await lab.click();
  await lab.until("succeeded");
  await assertOneEffect(lab.server);
  const { quantity, note } = await order();
  assert.deepEqual([quantity, note], [4, "kept"]);
  const page = await lab.script(() => [
    globalThis.fired,
    document.querySelector("fieldset").disabled,
    document.querySelector("#submit").disabled,
  ]);
  assert.deepEqual(page, [1, true, true], "formdata fired once, and the page's own locking stands");
});

test("r94_given_a_get_form_a_dialog_or_another_window_then_the_submit_is_the_pages_own", async () => {
  for (const [name, value] of [
    ["method", "get"],
    ["method", "dialog"],
    ["target", "_blank"],
  ]) {
    const prevented = await lab.script(
      (name, value) => {
        const form = document.querySelector("#order");
        form.setAttribute(name, value);
        let prevented;
        // After everybody else; what it prevents itself is that Firefox submits even for an event that a script made.
        const look = (event) => {
          prevented = event.defaultPrevented;
          event.preventDefault();
        };
        addEventListener("submit", look, { once: true });
        form.dispatchEvent(new SubmitEvent("submit", { cancelable: true, bubbles: true }));
        form.setAttribute("method", "post");
        form.removeAttribute("target");
        return prevented;
      },
      name,
      value,
    );
    assert.equal(prevented, false, `${name}=${value}`);
  }
  assert.deepEqual(commands(await lab.server.log()), []);
});

test("r97_given_a_running_intent_then_the_form_is_marked_busy_and_no_control_is_disabled", async () => {
  await lab.server.plan([{ match: {}, fault: "delay-after", ms: 500 }]);
  await lab.click();
  await lab.until("sending");
  const seen = () =>
    lab.script(() => {
      const form = document.querySelector("#order");
      return [form.getAttribute("aria-busy"), [...form.elements].filter((control) => control.disabled).length];
    });
  assert.deepEqual(await seen(), ["true", 0]);
  await lab.until("succeeded");
  assert.deepEqual(await seen(), ["false", 0]);
});

test("r96_given_controls_outside_the_form_and_a_form_associated_element_then_their_values_go_out", async () => {
  await lab.script(() => {
    customElements.define(
      "x-note",
      class extends HTMLElement {
        static formAssociated = true;
        connectedCallback() {
          this.attachInternals().setFormValue("from an element of the page's own");
        }
      },
    );
    document.querySelector("[name=note]").remove();
    const own = document.createElement("x-note");
    own.setAttribute("name", "note");
    document.querySelector("#order").append(own);
    const quantity = document.querySelector("[name=quantity]");
    quantity.setAttribute("form", "order");
    quantity.value = "7";
    document.body.append(quantity);
  });
  await lab.click();
  await lab.until("succeeded");
  const { quantity, note } = await order();
  assert.deepEqual([quantity, note], [7, "from an element of the page's own"]);
  await assertOneEffect(lab.server);
});

for (const [enctype, type] of [
  ["application/x-www-form-urlencoded", /^application\/x-www-form-urlencoded/],
  ["multipart/form-data", /^multipart\/form-data; ?boundary=/],
  [null, /^application\/json$/],
]) {
  test(`r98_given_a_form_that_states_${enctype ?? "nothing"}_then_it_travels_so_and_is_the_same_wish`, async () => {
    await lab.script((enctype) => {
      if (enctype) document.querySelector("#submit").setAttribute("formenctype", enctype);
    }, enctype);
    await lab.fill({ quantity: "3", note: "ä ö\r\nü" });
    await lab.server.plan([{ match: { attempt: 1 }, fault: "lost-answer" }]);
    await lab.click();
    await lab.until("succeeded");
    await assertOneEffect(lab.server);
    for (const { content_type } of commands(await lab.server.log())) assert.match(content_type, type);
    // The status check compares the server's fingerprint with ours (R57); so does a replay.
    assert.equal((await order()).quantity, 3);
  });
}

test("r94_given_two_bound_forms_on_a_page_then_each_is_a_wish_of_its_own", async () => {
  await lab.script(() => {
    const second = document.querySelector("#order").cloneNode(true);
    second.id = "second";
    second.querySelector("#submit").id = "submit-second";
    second.querySelector("[name=quantity]").value = "8";
    document.body.append(second);
    globalThis.lab.bindForm(second, globalThis.lab.operation, { subject: "demo-user", object: "cart-of-the-second" });
  });
  await lab.click();
  await lab.click("#submit-second");
  await eventually("both are placed", async () => (await lab.server.effects()).count === 2);
  const { orders, by_key } = await lab.server.effects();
  assert.deepEqual(orders.map(({ quantity }) => quantity).sort(), [2, 8]);
  assert.equal(Object.keys(by_key).length, 2);
});
