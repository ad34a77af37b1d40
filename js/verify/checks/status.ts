/** Level 3: asking what became of a key. */
import { type Probe, pause } from "../probe.js";
import { broken, type Check, kept, notOffered, notTested, type Verdict, warning } from "../verdict.js";
import { member, type Reply, shown, succeeded } from "../wire.js";

/** Often enough to meet a slow effect, which takes some hundred milliseconds. */
const ASK_AGAIN_MS = 50;

/** The `state` in a status answer. */
export const stateOf = (reply: Reply): unknown => (reply.kind === "answer" ? member(reply.json, "state") : undefined);

/** What an answer without a state means: no such route, or a fault. */
export function withoutState(reply: Reply, cause: "no-status" | "no-fence", what: string): Verdict {
  if (reply.kind === "answer" && [404, 405, 501].includes(reply.status))
    return notOffered(cause, `${what}: ${shown(reply)}`);
  return broken("status-untrue", `${what} was answered ${shown(reply)}`);
}

/** A check that needs the status route. */
function statusCheck(id: string, title: string, run: (probe: Probe) => Promise<Verdict>): Check {
  return {
    id,
    level: 3,
    title,
    async run(probe) {
      if (!probe.plan.status) return notOffered("no-status", "no --status was named");
      return run(probe);
    },
  };
}

const unknown = statusCheck(
  "status-unknown",
  "an unused key is not_found, and asking does not use it",
  async (probe) => {
    const mark = await probe.mark();
    const wish = probe.wish();
    const asked = await probe.ask(wish);
    const state = stateOf(asked);
    if (state === undefined) return withoutState(asked, "no-status", "a status check");
    if (state !== "not_found") return broken("status-untrue", `an unused key is said to be ${String(state)}`);
    const reply = await probe.command(wish);
    const effects = await probe.effects(mark, [reply]);
    if (!succeeded(reply) || effects === 0) {
      return broken("status-writes", `after a mere status check the command was answered ${shown(reply)}`);
    }
    return asked.kind === "answer" && asked.header("cache-control")?.includes("no-store")
      ? kept()
      : warning("status-untrue", "the status answer lacks Cache-Control: no-store");
  },
);

const completed = statusCheck(
  "status-completed",
  "after success the status brings the same answer and echoes",
  async (probe) => {
    const mark = await probe.mark();
    const wish = probe.wish();
    const first = await probe.command(wish);
    const asked = [await probe.ask(wish), await probe.ask(wish)];
    const effects = await probe.effects(mark, [first]);
    const [status] = asked;
    if (!succeeded(first) || !status) return notTested("the first request was not answered with success");
    if (effects !== undefined && effects > 1)
      return broken("status-writes", `${effects} effects after two status checks`);
    return judgeCompleted(probe, wish.key, first.status, first.text, probe.idOf(first), status);
  },
);

function judgeCompleted(
  probe: Probe,
  key: string,
  code: number,
  body: string | undefined,
  id: string | undefined,
  asked: Reply,
): Verdict {
  const state = stateOf(asked);
  if (asked.kind === "silence" || state === undefined) return withoutState(asked, "no-status", "a status check");
  if (state !== "completed") return broken("status-untrue", `a finished command is said to be ${String(state)}`);
  const response = member(asked.json, "response");
  if (member(response, "status") !== code) return broken("status-untrue", "the status brings another status code");
  if (body !== undefined && member(response, "body") !== body)
    return broken("status-untrue", "the status brings another body");
  const resultId = member(response, "result_id");
  if (id !== undefined && resultId !== undefined && String(resultId) !== id) {
    return broken("status-untrue", "the status brings another result id");
  }
  if (member(asked.json, "key") !== key) return broken("status-untrue", "the status does not echo the key");
  const tag = probe.plan.first.tag;
  if (tag !== undefined && member(asked.json, "subject") !== tag) {
    return broken("status-untrue", "the status does not echo the subject");
  }
  return typeof member(asked.json, "operation") === "string"
    ? kept()
    : broken("status-untrue", "no operation is echoed");
}

const lost = statusCheck("status-lost-answer", "after a lost answer the status brings the result", async (probe) => {
  const mark = await probe.mark();
  const wish = probe.wish();
  await probe.command(wish, { cut: "at_answer" });
  const asked = await probe.ask(wish);
  const effects = await probe.effects(mark, []);
  if (probe.plan.counter && effects !== 1) return broken("status-untrue", `${effects} effects after one lost answer`);
  const code = asked.kind === "answer" ? member(member(asked.json, "response"), "status") : undefined;
  return judgeCompleted(probe, wish.key, typeof code === "number" ? code : 0, undefined, undefined, asked);
});

const running = statusCheck("status-running", "while the effect runs the status says in_progress", async (probe) => {
  const slow = probe.plan.slow;
  if (!slow) return notTested("no --slow-payload or --slow-hook");
  const wish = probe.wish(slow.payload);
  let answered = false;
  const command = (await probe.begin(wish)).reply.finally(() => {
    answered = true;
  });
  // A busy server may not have read the command yet: only while it runs is `not_found` untrue, and it ran if it succeeds.
  let asked = await probe.ask(wish);
  while (stateOf(asked) === "not_found" && !answered) {
    await pause(ASK_AGAIN_MS);
    if (!answered) asked = await probe.ask(wish);
  }
  const state = stateOf(asked);
  const ended = await command;
  if (state === undefined) return withoutState(asked, "no-status", "a status check");
  if (state === "in_progress") return kept();
  if (state === "completed") return notTested("the slow effect was over too soon");
  if (!succeeded(ended)) return notTested(`the slow command was answered ${shown(ended)}`);
  const cause = probe.found.has("no-unique") ? "no-unique" : "status-untrue";
  return broken(cause, `a running command is said to be ${String(state)}`);
});

const otherSubject = statusCheck("status-other-subject", "another subject's key looks unused", async (probe) => {
  const { other } = probe.plan;
  if (!other) return notTested("no --other-header: there is no second subject");
  const wish = probe.wish();
  const first = await probe.command(wish);
  const asked = await probe.ask(wish, { as: other });
  const id = probe.idOf(first);
  const told = asked.kind === "answer" && id !== undefined && asked.text.includes(id);
  if (told || stateOf(asked) === "completed") {
    const cause = probe.found.has("scope-by-key-only") ? "scope-by-key-only" : "status-tells-others";
    return broken(cause, "another subject learnt what became of the key");
  }
  const state = stateOf(asked);
  if (state === undefined) return withoutState(asked, "no-status", "a status check");
  return state === "not_found" ? kept() : warning("status-tells-others", `another subject was told ${String(state)}`);
});

const old = statusCheck("status-old", "an unknown key from before the retention is expired", async (probe) => {
  if (probe.plan.contract !== "postonce")
    return notOffered("expired-as-new", "the dialect does not say how old a key is");
  const asked = await probe.ask(probe.oldWish());
  const state = stateOf(asked);
  if (state === undefined) return withoutState(asked, "no-status", "a status check");
  return state === "expired" ? kept() : broken("status-untrue", `an old, unknown key is said to be ${String(state)}`);
});

const cors: Check = {
  id: "cors",
  level: 3,
  title: "a page of another origin may send and read what the contract needs",
  async run(probe) {
    const { origin, url, status, keyHeader, contract, method } = probe.plan;
    if (origin === undefined) return { kind: "left_out", why: "no --origin: pages of this origin only" };
    const sent =
      contract === "postonce" ? ["idempotency-first-sent", "idempotency-deadline", "idempotency-subject"] : [];
    const headers = ["content-type", keyHeader.toLowerCase(), ...sent];
    const flaws: string[] = [];
    const routes: [URL, string][] = [[url, method]];
    if (status) routes.push([status, "DELETE"]);
    for (const [route, asked] of routes) {
      const reply = await probe.preflight(route, asked, headers.join(","));
      const list = (name: string) => listOf(reply, name);
      if (!succeeded(reply) || list("access-control-allow-origin").length === 0) {
        flaws.push(`the preflight for ${asked} was answered ${shown(reply)}`);
        continue;
      }
      const wild = list("access-control-allow-headers").includes("*");
      const refusedHeaders = headers.filter((name) => !wild && !list("access-control-allow-headers").includes(name));
      if (refusedHeaders.length > 0) flaws.push(`${refusedHeaders.join(", ")} may not be sent`);
      if (!list("access-control-allow-methods").includes(asked.toLowerCase())) flaws.push(`${asked} is not allowed`);
    }
    const reply = await probe.command(probe.wish(), { extra: [["Origin", origin]] });
    const refusal = await probe.command(probe.wish(), { extra: [["Origin", origin]], keyLines: [] });
    const wanted = ["retry-after", "date", "idempotency-key", "idempotent-replayed", "idempotency-first-seen"];
    for (const [name, one] of [
      ["the answer", reply],
      ["a refusal", refusal],
    ] as const) {
      const hidden = wanted.filter((header) => !listOf(one, "access-control-expose-headers").includes(header));
      if (hidden.length > 0) flaws.push(`${name} hides ${hidden.join(", ")}`);
    }
    return flaws.length === 0 ? kept() : warning("cors-hides", flaws.join("; "));
  },
};

const listOf = (reply: Reply, name: string): string[] =>
  reply.kind === "silence"
    ? []
    : reply.lines(name).flatMap((line) =>
        line
          .toLowerCase()
          .split(",")
          .map((word) => word.trim()),
      );

export const STATUS_CHECKS: readonly Check[] = [unknown, completed, lost, running, otherSubject, old, cors];
