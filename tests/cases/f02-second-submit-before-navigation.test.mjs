// F02. Given an order (k-1) that was answered 201 after 200 ms, and a page that needs 400 ms more to leave for the order's
// own page. When the user presses Submit again in that window, then no second request goes out, the press is answered
// with the stored result of k-1, and one effect stands. Finished never means: the next press makes a new key.
import assert from "node:assert/strict";
import { after, before, beforeEach, test } from "node:test";
import { openLab } from "../e2e/lab.mjs";
import { assertOneEffect, commandsIn, onlyKeyIn } from "./evidence.mjs";
import { openPage, pageState } from "./own-page.mjs";

const ANSWER_AFTER_MS = 200;
const PRESSED_AGAIN_AFTER_MS = 100;

let lab;
before(async () => {
  lab = await openLab();
});
after(() => lab?.close());
beforeEach(() => lab.reset());

test("f02_given_a_success_and_a_page_about_to_leave_then_a_second_press_gets_the_stored_result_and_sends_nothing", async () => {
  await openPage(lab, "leaving", { cart: "f02" });
  await lab.server.plan([{ fault: "delay-after", ms: ANSWER_AFTER_MS }]);
  await lab.script((pause) => {
    const press = () => document.querySelector("#order button").click();
    const page = document.documentElement;
    new MutationObserver((_changes, observer) => {
      if (page.dataset.state !== "succeeded") return;
      observer.disconnect();
      setTimeout(press, pause);
    }).observe(page, { attributes: true });
    press();
  }, PRESSED_AGAIN_AFTER_MS);
  await pageState(lab, () => location.pathname.startsWith("/orders/"));

  const [path, answers] = await lab.script(() => [location.pathname, JSON.parse(window.name)]);
  const log = await lab.server.log();
  const [command, ...more] = commandsIn(log);
  assert.deepEqual(more, [], "never a second request");
  assert.deepEqual([command.status, command.replayed], [201, false]);
  await assertOneEffect(lab.server, onlyKeyIn(log));

  const [{ id }] = (await lab.server.effects()).orders;
  assert.deepEqual(
    answers.map(({ kind, state }) => [kind, state]),
    [
      ["settled", "succeeded"],
      ["settled", "succeeded"],
    ],
  );
  const [first, second] = answers;
  assert.equal(first.result.id, id);
  assert.deepEqual(second.result, first.result, "the press in between got the stored answer, the whole of it");
  assert.ok(second.at - first.at >= PRESSED_AGAIN_AFTER_MS / 2, "the second press really came after the success");
  assert.equal(path, `/orders/${id}`, "and the page left for the one order there is");
});
