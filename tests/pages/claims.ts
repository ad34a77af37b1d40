// Two of these pages pass one slot to and fro: whoever has the turn submits, and the other's turn begins the moment that
// submit is answered, before anything of it had time to travel by itself. Which key each claim used is in the server's log.
import { defineOperation, type SubmitOutcome } from "postonce";

/** What travels from page to page: whose turn it is, and how many claims are left. */
type Turn = { to: string; wish: number; claim: number };
type Plan = { me: string; other: string; prefix: string; wishes: number; claimsPerWish: number };

const channel = new BroadcastChannel("claims");
const lab = { ready: false, done: false, failures: [] as string[], claims: 0, joined: 0, ended: [] as string[] };
/** A submit that only learns how the other page's ended makes no claim; the next one does. */
const SUBMITS_PER_CLAIM_MAX = 50;
let sent = 0;

const operation = defineOperation({
  name: "order.create",
  url: "/orders",
  contract: "postonce",
  effect: "once",
  status: { url: "/orders/status" },
  resultId: "/id",
  attempts: 1,
  transport: (url, init) => {
    sent += 1;
    const answering = fetch(url, init);
    answering.catch((error: unknown) => lab.ended.push(String(error)));
    return answering;
  },
});

/** The answer that a claim must get: all but a wish's last are turned away, so that the key stays in use. */
function isExpected({ kind, snapshot }: SubmitOutcome, last: boolean): boolean {
  return kind === "settled" && snapshot.state === (last ? "succeeded" : "refused");
}

/** Submits until this page itself sent something. */
async function submit(prefix: string, wish: number): Promise<SubmitOutcome> {
  const before = sent;
  for (let submits = 1; ; submits += 1) {
    const intent = operation.intent({ subject: "demo-user", object: `${prefix}-${wish}` });
    const outcome = await intent.submit({ sku: `${prefix}-${wish}`, quantity: 1 });
    if (sent > before) return outcome;
    lab.joined += 1;
    if (submits === SUBMITS_PER_CLAIM_MAX) {
      lab.ended.push(`no claim in ${submits} submits: ${outcome.kind} ${JSON.stringify(outcome.snapshot)}`);
      return outcome;
    }
  }
}

async function claim(plan: Plan, { wish, claim }: Turn): Promise<void> {
  const last = claim === plan.claimsPerWish - 1;
  const outcome = await submit(plan.prefix, wish);
  lab.claims += 1;
  if (!isExpected(outcome, last))
    lab.failures.push(`${wish}/${claim}: ${outcome.kind} ${JSON.stringify(outcome.snapshot)}`);
  const next: Turn = { to: plan.other, wish: last ? wish + 1 : wish, claim: last ? 0 : claim + 1 };
  lab.done = next.wish >= plan.wishes;
  channel.postMessage(next);
}

function play(plan: Plan): void {
  channel.onmessage = ({ data }: MessageEvent<Turn>) => {
    if (data.wish >= plan.wishes) lab.done = true;
    else if (data.to === plan.me) claim(plan, data).catch((error: unknown) => lab.failures.push(String(error)));
  };
  // Both know every slot from before, so that what each remembers of it can be stale.
  const opened = Array.from({ length: plan.wishes }, (_, wish) =>
    operation.intent({ subject: "demo-user", object: `${plan.prefix}-${wish}` }),
  );
  lab.ready = opened.length === plan.wishes;
}

/** Keeps this page's process busy, so that it can be told from the others. */
function spin(ms: number): void {
  const end = performance.now() + ms;
  while (performance.now() < end);
}

Object.assign(globalThis, { lab, play, spin, begin: (to: string) => channel.postMessage({ to, wish: 0, claim: 0 }) });
