// The demo page: an order form that is bound with a few lines, and everything around it that shows what happens.
import { bindForm, defineOperation, type FormIntent, type Snapshot } from "postonce";
import { actionPanel, showNotice } from "./actions.js";
import { addressOf, readAddress } from "./address.js";
import { NOTE_NOT_KEPT, noticeFor, problemText } from "./answers.js";
import { showConflict } from "./conflict.js";
import { Diary } from "./diary.js";
import { byId, setText } from "./dom.js";
import { Draft } from "./draft.js";
import { faultForm } from "./faults.js";
import { openList } from "./open.js";
import { scenarioList, startOver } from "./scenarios.js";
import { isBusy, showCountdown, showStatus } from "./status.js";
import { showSubmit } from "./submit.js";
import { watchServer } from "./watch.js";

const TICK_MS = 200;
/** In the demo everybody is the same person; an application passes who is signed in. */
const SUBJECT = "demo-user";

declare global {
  var postonceDemo: { readonly form: FormIntent };
}

const address = readAddress(location.search);

const placeOrder = defineOperation({
  name: "order.create",
  url: "/orders",
  contract: "postonce",
  effect: "once",
  budget: address.budget,
  attempts: 3,
  significant: ["sku", "quantity", "note"],
  remember: ["sku", "quantity"],
  status: { url: "/orders/status" },
  resultId: "/id",
  expect: { sku: "/sku" },
});

const form = bindForm("#order", placeOrder, { subject: SUBJECT, object: address.cart });
globalThis.postonceDemo = { form };

const diary = new Diary();
const watch = watchServer(diary, () => form.snapshot);
const actions = actionPanel(form, () => watch.hurry());
const open = openList(form);
const draft = new Draft(form.form);
let restored = false;

form.subscribe((snapshot) => {
  const now = Date.now();
  diary.note(snapshot, now);
  showRemembered(snapshot);
  showStatus(snapshot, now);
  actions.show(snapshot);
  open.show(snapshot, now);
  showSubmit(form.form, snapshot, draft.changed);
  watch.draw();
  watch.hurry();
});

const refreshSubmit = () => showSubmit(form.form, form.snapshot, draft.changed);
form.form.addEventListener("input", refreshSubmit);

form.form.addEventListener("submit", async () => {
  const disown = draft.adopt();
  showNotice(null);
  refreshSubmit();
  try {
    const outcome = await form.submitted();
    if (outcome.kind === "settled") return;
    // Nothing was sent: the form holds a draft beside the order that is known.
    disown();
    if (outcome.kind === "conflict") showConflict(form, outcome, () => keep(outcome.live));
    else showNotice(noticeFor(outcome, Date.now()));
  } catch (error) {
    disown();
    showNotice(problemText(error));
  } finally {
    refreshSubmit();
  }
});

function keep(live: Snapshot["remembered"]): void {
  draft.restore(live);
  refreshSubmit();
}

/** After a refresh the form shows the order that is still open, as far as this device may remember it. */
function showRemembered({ state, remembered, may }: Snapshot): void {
  if (restored || state === "idle" || Object.keys(remembered).length === 0) return;
  restored = true;
  if (draft.changed) return;
  draft.restore(remembered);
  if (may.includes("resend")) showNotice(NOTE_NOT_KEPT);
}

setInterval(() => {
  const snapshot = form.snapshot;
  if (!isBusy(snapshot)) return;
  showCountdown(snapshot, Date.now());
  watch.draw();
}, TICK_MS);

setText(byId("cart-name"), address.cart);
scenarioList(address.scenario);
faultForm();
for (const [id, budget] of [
  ["budget-short", 2_000],
  ["budget-long", 8_000],
] as const) {
  const link = byId<HTMLAnchorElement>(id);
  link.href = addressOf({ ...address, budget });
  if (budget === address.budget) link.setAttribute("aria-current", "true");
}
byId<HTMLAnchorElement>("second-tab").href = addressOf(address);
byId("reload").addEventListener("click", () => location.reload());
byId("start-over").addEventListener("click", () => void startOver(address.budget, null, []));
