// F04. Given k-1 left open by an earlier document and a component that resumes it when it mounts. When a framework mounts,
// unmounts and mounts it (and once more later), then one status check goes out, the throw-away unmount ends nothing, and
// the success is told once for k-1, not once for each mount.
import assert from "node:assert/strict";
import { after, before, beforeEach, test } from "node:test";
import { eventually, openLab } from "../e2e/lab.mjs";
import { assertOneEffect, checksIn, commandsIn, onlyKeyIn } from "./evidence.mjs";

let lab;
before(async () => {
  lab = await openLab();
});
after(() => lab?.close());
beforeEach(() => lab.reset());

test("f04_given_a_pending_wish_and_a_mount_effect_that_runs_twice_then_one_request_and_one_success", async () => {
  await lab.open({ cart: "f04" });
  await lab.server.plan([{ match: { operation: "order.create" }, fault: "delay-after", ms: 60_000 }]);
  await lab.click();
  await eventually("the server did it", async () => (await lab.server.effects()).count === 1);
  // The answer about it takes long enough for every mount to come before it.
  await lab.server.plan([{ match: { operation: "status" }, fault: "delay-before", ms: 800 }]);
  await lab.driver.navigate().refresh();
  await eventually("the page asks", async () => checksIn(await lab.server.log()).length === 1);

  await lab.script(() => {
    const { bindForm, operation, form } = globalThis.lab;
    globalThis.successes = [];
    const mount = () => {
      const bound = bindForm("#order", operation, { subject: "demo-user", object: "f04" });
      // A mounted component tells of what becomes a success while it looks, not of what already is one.
      let was = bound.snapshot.state;
      const hear = () => {
        const { state, resultId } = bound.snapshot;
        if (state === "succeeded" && was !== state) globalThis.successes.push(resultId);
        was = state;
      };
      bound.addEventListener("statechange", hear);
      return () => {
        bound.removeEventListener("statechange", hear);
        bound.unbind();
      };
    };
    form.unbind();
    mount()();
    globalThis.unmount = mount();
    globalThis.mount = mount;
  });
  const order = (await lab.server.effects()).orders[0].id;
  await eventually("the success is told", () => lab.script(() => globalThis.successes.length > 0));
  await lab.script(() => {
    globalThis.unmount();
    globalThis.mount();
  });
  assert.deepEqual(await lab.script(() => globalThis.successes), [order], "once for the intent");
  const log = await lab.server.log();
  assert.deepEqual([commandsIn(log).length, checksIn(log).length], [1, 1], "no mount sends or asks again");
  await assertOneEffect(lab.server, onlyKeyIn(log));
});
