// One round: someone submits, the whole browser is killed, the same profile is opened again, what the page says before
// any click is read, and the person submits again. What happened is counted at the server.
import { eventually } from "../e2e/lab.mjs";

/** Where a submit can be cut, in its order; each is held still by `tests/pages/kill-marks.ts` until the kill. */
export const STEPS = [
  "prevented",
  "guard_passed",
  "snapshot_taken",
  "slot_locked",
  "claim_written",
  "claim_committed",
  "claim_copied",
  "fetch_called",
  "answer_arrived",
  "body_read",
  "verdict_written",
  "verdict_committed",
  "verdict_copied",
];

/** From this step on bytes may have left. */
const MAY_HAVE_LEFT_FROM = STEPS.indexOf("fetch_called");

/** What the server does to the first document's commands. Each but the last two lets the effect happen. */
export const FATES = [
  { name: "answers", faults: [] },
  { name: "takes 3 s", faults: [{ fault: "delay-effect", ms: 3_000 }] },
  { name: "answers after 3 s", faults: [{ fault: "delay-after", ms: 3_000 }] },
  { name: "answers get lost", faults: Array.from({ length: 3 }, () => ({ fault: "lost-answer" })) },
  { name: "arrives 3 s late", faults: [{ fault: "delay-arrival", ms: 3_000 }] },
  { name: "is busy, then takes it", faults: [{ fault: "status", status: 503, problem: "not-started" }] },
  { name: "never sees them", faults: Array.from({ length: 3 }, () => ({ fault: "drop-before" })) },
  { name: "hangs", faults: Array.from({ length: 3 }, () => ({ fault: "hang" })) },
];

/** The submit comes so long after the page is bound; an instant of a kill counts from the same moment. */
export const SUBMIT_AFTER_MS = 2_000;
export const KILL_WITHIN_MS = 10_000;

/** The page asks for this, in vain, where it is to be killed. */
const MARK = "order.draft.status";
const MARK_MS_MAX = 10_000;
const PRESSES_MAX = 6;
const SETTLE_MS_MAX = 20_000;
const RUNNING = ["sending", "waiting", "checking"];

/**
 * @param {Awaited<ReturnType<typeof import("../e2e/lab.mjs").openLab>>} lab its browser is another one afterwards
 * @param {{ cart: string, fate: typeof FATES[number], step?: string, killAfterMs?: number, cartAfter?: string }} plan at
 *   a step, or so long after the page was bound; `cartAfter` reopens another slot, as a page that forgot would
 */
export async function killRound(lab, { cart, fate, step, killAfterMs, cartAfter = cart }) {
  await lab.server.reset();
  const faults = fate.faults.map((fault) => ({ match: { operation: "order.create" }, ...fault }));
  await lab.server.plan([{ match: { operation: MARK }, fault: "hang" }, ...faults]);
  await openPage(lab, { cart, ...(step && { step }) });
  const submitAfter = step === undefined ? SUBMIT_AFTER_MS : 0;
  // Not waited for: once the page is held still, its driver has no more to say.
  lab
    .script((ms) => setTimeout(() => document.querySelector("#submit").click(), ms) && null, submitAfter)
    .catch(() => {});
  if (step !== undefined) await eventually(`the submit comes to ${step}`, () => isMarked(lab), MARK_MS_MAX);
  // The situation under test: an instant that nobody chose.
  else await new Promise((settle) => setTimeout(settle, killAfterMs));
  await lab.kill();
  const left = posts(await lab.server.log());
  await lab.server.plan([]);
  await lab.restart();
  await openPage(lab, { cart: cartAfter });
  const said = await firstSaid(lab);
  const mayHaveLeft = left.length > 0 || (step !== undefined && STEPS.indexOf(step) >= MAY_HAVE_LEFT_FROM);
  const sentUnasked = posts(await lab.server.log()).length - left.length;
  const presses = await pressUntilDone(lab);
  await eventually("every command has ended", async () =>
    posts(await lab.server.log()).every(({ status }) => status !== null && status !== undefined),
  );
  return verdictOf({ fate, step, killAfterMs, said, mayHaveLeft, sentUnasked, presses }, lab.server);
}

async function verdictOf(seen, server) {
  const log = posts(await server.log());
  const { count } = await server.effects();
  const [{ key_ref: reference }] = log.length > 0 ? log : [{ key_ref: null }];
  const keys = new Set(log.map(({ key }) => key)).size;
  const { states, last } = seen.said;
  // Idle is honest only about a wish that never left, or one whose confirmed end the page names.
  const knowsTheEnd = last !== null && last.reference === reference;
  const faults = [
    count > 1 && `${count} effects`,
    count === 0 && "the wish is lost",
    keys > 1 && `${keys} keys`,
    seen.mayHaveLeft && states.includes("idle") && !knowsTheEnd && "idle although bytes may have left",
    seen.sentUnasked > 0 && "sent without a gesture",
    !seen.presses.done && `not settled by ${PRESSES_MAX} presses`,
  ].filter((fault) => fault !== false);
  return { ...seen, effects: count, keys, faults };
}

const posts = (log) => log.filter(({ method }) => method === "POST");

const isMarked = async (lab) => (await lab.server.log()).some(({ operation }) => operation === MARK);

async function openPage(lab, query) {
  await lab.driver.get(`${lab.origin}/pages/kill.html?${new URLSearchParams(query)}`);
  await lab.bound();
}

/** Every state that the new document showed by itself, and the last intent that it knows of. */
async function firstSaid(lab) {
  const { last } = await lab.until(({ state }) => !RUNNING.includes(state), SETTLE_MS_MAX);
  const [, ...states] = (await lab.history()).map(({ state }) => state);
  return { states, last };
}

/** Presses as a person does: again only when the press before was answered. */
async function pressUntilDone(lab) {
  for (let presses = 1; presses <= PRESSES_MAX; presses += 1) {
    await lab.click();
    const outcomes = await eventually(
      "the press is answered",
      async () => {
        const all = await lab.outcomes();
        return all.length === presses && all;
      },
      SETTLE_MS_MAX,
    );
    const { state } = await lab.snapshot();
    if (outcomes.at(-1).kind === "already_done" || state === "succeeded") return { count: presses, done: true };
  }
  return { count: PRESSES_MAX, done: false };
}
