// What is left on the device and in the page of a person who signed out: nothing that they typed, no name of theirs, no key
// where the next person's request or anybody's eyes could pick it up (R25, R88, R92, R93).
import assert from "node:assert/strict";
import { after, before, beforeEach, test } from "node:test";
import { commands, keysOf } from "./evidence.mjs";
import { eventually, openLab } from "./lab.mjs";

const FIRST = "demo-user";
const SECOND = "second-person";
const SECRETS = { sku: "SKU-OF-ONE", note: "NOTE-OF-ONE" };

let lab;
before(async () => {
  lab = await openLab();
});
after(() => lab?.close());
beforeEach(() => lab.reset());

const open = (query) => lab.open({ remember: "sku,note", attempts: 1, ...query });
const kept = async () => (await lab.scan()).join("\n");

/** Leaves a wish in that state and answers its key. */
async function leaveWish(state, cart) {
  await open({ cart });
  await lab.fill(SECRETS);
  if (state === "unknown") await lab.server.plan([{ match: { attempt: 1 }, fault: "drop-before" }]);
  if (state === "rejected") await lab.fill({ sku: "SKU-OF-ONE", quantity: "0" });
  await lab.click();
  await lab.until(state);
  const [key] = keysOf(commands(await lab.server.log()));
  return key;
}

async function assertNothingOfThem() {
  const found = await kept();
  for (const value of [...Object.values(SECRETS), FIRST]) assert.ok(!found.includes(value), `${value} is still there`);
}

for (const state of ["unknown", "succeeded"]) {
  test(`r93_given_a_wish_that_is_${state}_and_a_logout_then_no_value_and_no_subject_is_kept`, async () => {
    await leaveWish(state, `logout-${state}`);
    if (state === "unknown") assert.ok((await kept()).includes("NOTE-OF-ONE"), "what may be remembered was");
    await lab.script(() => globalThis.lab.setSubject(null));
    await eventually("the values are gone", async () => !(await kept()).includes("NOTE-OF-ONE"));
    await assertNothingOfThem();
  });

  test(`r93_given_a_wish_that_is_${state}_and_a_logout_by_a_page_load_then_the_next_persons_bind_erases_what_was_kept`, async () => {
    const key = await leaveWish(state, `next-${state}`);
    await lab.driver.manage().addCookie({ name: "demo_subject", value: SECOND, path: "/" });
    try {
      const before = (await lab.server.log()).length;
      await open({ cart: `next-${state}`, subject: SECOND });
      const { state: shown, last, open: left, remembered } = await lab.snapshot();
      assert.deepEqual([shown, last, left, remembered], ["idle", null, [], {}]);
      await eventually("the values are gone", async () => !(await kept()).includes("NOTE-OF-ONE"));
      await assertNothingOfThem();
      const log = (await lab.server.log()).slice(before);
      assert.ok(!log.some((request) => request.key === key), "nothing goes out under the first person's key");
    } finally {
      await lab.driver.manage().deleteCookie("demo_subject");
    }
  });
}

test("r93_given_a_logout_then_no_key_and_no_subject_stand_in_the_form_for_the_next_persons_own_post", async () => {
  await open();
  const fields = () =>
    lab.script(() => [...document.querySelectorAll("[name^=_idempotency_]")].map(({ value }) => value).join());
  await eventually("the key stands in the form", async () => /[\da-f]{32}/.test(await fields()));
  await lab.script(() => globalThis.lab.setSubject(null));
  assert.equal(await fields(), ",,");
});

test("r25_given_a_submit_that_is_still_held_and_a_logout_then_it_is_never_sent", async () => {
  const restore = await lab.beforeLoad(`
    const real = globalThis.fetch;
    globalThis.fetch = (input, init) => String(input).endsWith(".wasm")
      ? new Promise((settle) => { globalThis.comes = () => settle(real(input, init)); })
      : real(input, init);`);
  try {
    await lab.driver.get(`${lab.origin}/pages/order.html?cart=held`);
    await eventually("the page is there", () => lab.script(() => globalThis.lab !== undefined));
    await lab.click();
    await lab.script(() => {
      globalThis.lab.setSubject(null);
      globalThis.comes();
    });
    await eventually("the press is answered", async () => (await lab.outcomes()).length === 1);
    assert.deepEqual(await lab.outcomes(), [{ kind: "held" }]);
    assert.equal((await lab.server.log()).length, 0);
  } finally {
    await restore();
  }
});

test("r92_given_a_wish_from_press_to_result_then_its_key_stands_in_no_address_title_error_or_event", async () => {
  const restore = await lab.beforeLoad(`
    globalThis.said = [];
    for (const name of ["log", "info", "warn", "error", "debug"]) console[name] = (...all) => globalThis.said.push(all.join());`);
  try {
    await open();
    await lab.server.plan([{ match: { attempt: 1 }, fault: "drop-before" }]);
    await lab.click();
    await lab.until("unknown");
    await lab.call("check");
    await lab.call("resend");
    await lab.until("succeeded");
    const [key, ...more] = keysOf(await lab.server.log());
    assert.deepEqual(more, []);
    const shown = await lab.script(() =>
      [
        location.href,
        document.referrer,
        document.title,
        JSON.stringify(globalThis.lab.form.snapshot),
        JSON.stringify(globalThis.lab.outcomes),
        ...globalThis.said,
        ...performance.getEntriesByType("resource").map(({ name }) => name),
      ].join("\n"),
    );
    assert.ok(!shown.includes(key));
  } finally {
    await restore();
  }
});
