// A POST that something below the library sends twice, so that its first attempt meets its own copy: progress, one effect,
// and the plain result (R124).
import assert from "node:assert/strict";
import { after, before, beforeEach, test } from "node:test";
import { startSlowProxy } from "../cases/slow-proxy.mjs";
import { assertOneEffect, commands } from "./evidence.mjs";
import { eventually, openLab } from "./lab.mjs";

/** So long after its copy the request itself arrives. */
const BEHIND_MS = 400;

let lab;
let proxy;
before(async () => {
  const isCommand = ({ method, url }) => method === "POST" && url === "/orders";
  proxy = await startSlowProxy({ clones: isCommand, delayMs: (incoming) => (isCommand(incoming) ? BEHIND_MS : 0) });
  lab = await openLab({ front: proxy.inFrontOf });
});
after(async () => {
  await lab?.close();
  await proxy?.stop();
});
beforeEach(() => lab.reset());

/** The page said nothing on the way but that it was at work, and knows of no earlier submission. */
async function assertPlainSuccess() {
  const { earlier } = await lab.until("succeeded");
  assert.equal(earlier, null, "its own copy is no earlier submission (R122)");
  const said = (await lab.history()).map(({ state }) => state);
  for (const state of said)
    assert.ok(["idle", "sending", "waiting", "checking", "succeeded"].includes(state), `${said}`);
  await assertOneEffect(lab.server);
}

const statuses = async () =>
  eventually("both copies are answered", async () => {
    const answered = commands(await lab.server.log()).map(({ attempt, status, replayed }) => [
      attempt,
      status,
      replayed,
    ]);
    return answered.length === 2 && answered.every(([, status]) => status !== null) && answered;
  });

test("r124_given_a_copy_that_was_done_first_then_the_replay_is_plain_success_and_one_effect", async () => {
  await lab.open({ cart: "cloned" });
  await lab.click();
  await assertPlainSuccess();
  assert.deepEqual(await statuses(), [
    [1, 201, false],
    [1, 201, true],
  ]);
});

test("r124_given_a_copy_that_still_runs_then_in_progress_is_waited_for_and_never_a_failure", async () => {
  await lab.open({ cart: "cloned-slow" });
  await lab.server.plan([{ match: { attempt: 1 }, fault: "delay-effect", ms: 1_200 }]);
  await lab.click();
  await assertPlainSuccess();
  const [own, copy] = (await statuses()).map(([, status]) => status).sort();
  assert.deepEqual([own, copy], [201, 409]);
});

test("r16_r124_given_a_form_with_a_file_that_arrives_twice_then_one_effect", async () => {
  await lab.open({ cart: "cloned-file" });
  await lab.script(() => {
    const input = Object.assign(document.createElement("input"), { type: "file", name: "terms" });
    document.querySelector("#order").append(input);
    const chosen = new DataTransfer();
    chosen.items.add(new File(["abc"], "a.txt", { type: "text/plain" }));
    input.files = chosen.files;
  });
  await lab.click();
  await assertPlainSuccess();
  assert.equal((await statuses()).length, 2);
});
