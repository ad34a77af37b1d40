// Components that come and go, and a page that holds the library twice: one controller for a form, and no command but by a
// press (R77, R78).
import assert from "node:assert/strict";
import { after, before, beforeEach, test } from "node:test";
import { assertOneEffect, checks, commands } from "./evidence.mjs";
import { eventually, openLab } from "./lab.mjs";

let lab;
before(async () => {
  lab = await openLab();
});
after(() => lab?.close());
beforeEach(() => lab.reset());

const sent = async () => commands(await lab.server.log()).length;

/** Counts the snapshots that are taken. */
const countFormData = () =>
  lab.script(() => {
    globalThis.fired = 0;
    document.querySelector("#order").addEventListener("formdata", () => {
      globalThis.fired += 1;
    });
  });

test("r78_given_a_mount_that_is_undone_and_done_again_then_one_listener_one_snapshot_and_one_command_after_the_press", async () => {
  await lab.open({ cart: "strict" });
  await lab.script(() => {
    const { bindForm, operation } = globalThis.lab;
    const mount = () => bindForm("#order", operation, { subject: "demo-user", object: "strict" });
    globalThis.lab.form.unbind();
    mount().unbind();
    globalThis.bound = mount();
    globalThis.same = globalThis.bound === mount();
  });
  assert.equal(await lab.script(() => globalThis.same), true, "bound twice is bound once");
  await countFormData();
  assert.equal((await lab.server.log()).length, 0, "a mount sends nothing");
  await lab.click();
  await eventually("it succeeded", () => lab.script(() => globalThis.bound.snapshot.state === "succeeded"));
  assert.equal(await lab.script(() => globalThis.fired), 1);
  await assertOneEffect(lab.server);
  assert.equal(await sent(), 1);
});

test("r77_r78_given_a_form_taken_out_mid_flight_and_another_put_in_its_place_then_it_adopts_the_wish_and_sends_nothing", async () => {
  await lab.open({ cart: "route" });
  await lab.server.plan([{ match: { attempt: 1 }, fault: "delay-after", ms: 800 }]);
  await lab.click();
  await lab.until("sending");
  await lab.script(() => {
    const { bindForm, form, operation } = globalThis.lab;
    const next = form.form.cloneNode(true);
    form.unbind();
    form.form.remove();
    document.body.append(next);
    globalThis.next = bindForm(next, operation, { subject: "demo-user", object: "route" });
  });
  const busy = () => lab.script(() => document.querySelector("#order").getAttribute("aria-busy"));
  assert.equal(await lab.script(() => globalThis.next.snapshot.state), "sending", "never cancelled");
  await eventually("it is told there", () => lab.script(() => globalThis.next.snapshot.state === "succeeded"));
  assert.equal(await busy(), "false");
  const log = await lab.server.log();
  assert.deepEqual([commands(log).length, checks(log).length], [1, 0]);
  await assertOneEffect(lab.server);
  await lab.click();
  await eventually("the press is answered", () => lab.script(() => globalThis.next.snapshot.state === "succeeded"));
  assert.equal(await sent(), 1, "the same wish, whose result it shows");
});

test("r78_given_the_library_twice_in_a_page_then_one_controller_and_one_command_and_a_logout_holds_for_both", async () => {
  const restore = await lab.beforeLoad(`globalThis.copy = import("/postonce/index.js?copy=2");`);
  try {
    await lab.open({ cart: "twice", remember: "note", attempts: 1 });
    const same = await lab.driver.executeAsyncScript(`const done = arguments[0];
      window.copy.then((second) => {
        window.second = second;
        const operation = second.defineOperation({ name: "order.create", url: "/orders", contract: "postonce",
          effect: "once", status: { url: "/orders/status" } });
        const bound = second.bindForm("#order", operation, { subject: "demo-user", object: "twice" });
        done([bound === lab.form, second.bindForm !== lab.bindForm,
          second.bindForm("#order", lab.operation, { subject: "demo-user", object: "twice" }) === bound]);
      }, (error) => done(String(error)));`);
    assert.deepEqual(same, [true, true, true], "one form, one binding, two copies");
    await countFormData();
    await lab.fill({ note: "FOR-ONE-PERSON-ONLY" });
    await lab.server.plan([{ match: { attempt: 1 }, fault: "drop-before" }]);
    await lab.click();
    await lab.until("unknown");
    assert.deepEqual([await sent(), await lab.script(() => globalThis.fired)], [1, 1]);
    await lab.script(() => {
      globalThis.second.setSubject(null);
    });
    assert.equal((await lab.snapshot()).state, "idle");
    await eventually("the value is gone", async () => !(await lab.scan()).join().includes("FOR-ONE-PERSON-ONLY"));
    await lab.click();
    assert.equal(await sent(), 1, "nothing is sent for whoever comes next");
  } finally {
    await restore();
  }
});
