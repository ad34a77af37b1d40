/** Level 1: a repeat brings the first answer, whatever happened to the first connection or the server in between. */
import { isWaiting, type Probe, pause } from "../probe.js";
import { broken, type Check, kept, notTested, type Verdict, warning } from "../verdict.js";
import { type Answer, type Reply, refused, shown, succeeded } from "../wire.js";

/** How long a finished command may go on answering that it runs. */
const FINISHED_MS = 1_000;
/** Names under which servers mark a replay; the first is the contract's. */
const MARKERS = ["idempotent-replayed", "idempotency-replayed", "x-idempotency-replayed", "x-idempotent-replayed"];

/** Compares a repeat with the first answer; `undefined` when it is the same. */
export function difference(first: Answer, again: Reply): string | undefined {
  if (again.kind === "silence") return shown(again);
  if (again.status !== first.status) return `${shown(again)} instead of ${first.status}`;
  if (again.text !== first.text) return "another body";
  if (again.header("content-type") !== first.header("content-type")) return "another content type";
  return undefined;
}

/** What a repeat after a first, perhaps unseen, success must be. */
export function judgeRepeat(effects: number | undefined, again: Reply, situation: string): Verdict | undefined {
  if (effects !== undefined && effects > 1) return broken("runs-again", `${effects} effects: ${situation}`);
  if (succeeded(again)) return undefined;
  return broken("no-replay", `${shown(again)} instead of the result: ${situation}`);
}

const sequential: Check = {
  id: "replay",
  level: 1,
  title: "a repeat brings status, body and type of the first answer, and no second effect",
  async run(probe) {
    const mark = await probe.mark();
    const wish = probe.wish();
    const first = await probe.command(wish);
    const again = await probe.repeat(wish, {}, FINISHED_MS);
    const third = await probe.repeat(wish, {}, FINISHED_MS);
    const effects = await probe.effects(mark, [first, again, third]);
    if (!succeeded(first)) return broken("no-replay", `the sample was answered ${shown(first)} this time`);
    const bad = judgeRepeat(effects, again, "the same request twice, one after the other");
    if (bad) return bad;
    const differs = difference(first, again) ?? difference(first, third);
    if (differs) return broken("no-replay", `the repeat brought ${differs}`);
    return effects === undefined ? kept("effects could not be seen") : kept();
  },
};

const marker: Check = {
  id: "marker",
  level: 1,
  title: "first answer and replay are told apart, and both echo the key",
  async run(probe) {
    const wish = probe.wish();
    const first = await probe.command(wish);
    const again = await probe.repeat(wish, {}, FINISHED_MS);
    if (!succeeded(first) || !succeeded(again)) return notTested("there was no replay to look at");
    const name = MARKERS.find((name) => again.header(name) !== undefined);
    const echo = again.header("idempotency-key");
    if (name === undefined) return warning("no-marker", "a replay carries no Idempotent-Replayed");
    if (first.header(name) === "true") return broken("wrong-marker", "the first answer calls itself a replay");
    if (again.header(name) !== "true") return broken("wrong-marker", `the replay says ${name}: ${again.header(name)}`);
    if (name !== MARKERS[0]) return warning("no-marker", `the replay is marked by ${name}`);
    if (echo !== undefined && !echo.includes(wish.key)) return broken("wrong-marker", "the echoed key is another one");
    if (echo === undefined || first.header("idempotency-key") === undefined) {
      return warning("no-marker", "an answer does not echo Idempotency-Key");
    }
    if (first.header(name) === undefined) return warning("no-marker", "the first answer carries no marker");
    return kept();
  },
};

const copiedHeaders: Check = {
  id: "replayed-headers",
  level: 1,
  title: "a replay sets no cookie and may not be stored by caches",
  async run(probe) {
    const wish = probe.wish();
    await probe.command(wish);
    const again = await probe.repeat(wish, {}, FINISHED_MS);
    if (!succeeded(again)) return notTested("there was no replay to look at");
    if (again.header("set-cookie") !== undefined) return warning("replayed-headers", "the replay sets a cookie");
    const cached = again.header("cache-control") ?? "";
    return cached.includes("no-store")
      ? kept()
      : warning("replayed-headers", "the replay lacks Cache-Control: no-store");
  },
};

const lostAnswer: Check = {
  id: "lost-answer",
  level: 1,
  title: "after an answer was lost on its way, the repeat brings the result and no second effect",
  async run(probe) {
    const mark = await probe.mark();
    const wish = probe.wish();
    await probe.command(wish, { cut: "at_answer" });
    const again = await probe.repeat(wish);
    const third = succeeded(again) ? await probe.repeat(wish) : again;
    const effects = await probe.effects(mark, [again, third]);
    return judgeRepeat(effects, again, "the first answer was cut off, then the request was repeated") ?? kept();
  },
};

const goneClient: Check = {
  id: "gone-client",
  level: 1,
  title: "an effect that is under way when the client leaves happens once, and its answer is kept",
  async run(probe) {
    const slow = probe.plan.slow;
    if (!slow) return notTested("no --slow-payload or --slow-hook");
    const mark = await probe.mark();
    const wish = probe.wish(slow.payload);
    await (await probe.begin(wish, { cut: "after_sending" })).reply;
    const again = await probe.repeat(wish);
    // A first attempt that runs on unseen must have the time to show.
    if (succeeded(again)) await pause(FINISHED_MS);
    const third = succeeded(again) ? await probe.repeat(wish) : again;
    const effects = await probe.effects(mark, [again, third]);
    if (effects !== undefined && effects > 1) {
      const cause = probe.found.has("no-unique") ? "no-unique" : "forgets-on-disconnect";
      return broken(cause, `${effects} effects: the client left while the first ran, then repeated`);
    }
    if (succeeded(again)) return kept();
    if (effects === 0) {
      return broken("cancel-on-disconnect", `no effect, and ${shown(again)} for ever after the client left`);
    }
    const cause = probe.found.has("no-replay") ? "no-replay" : "cancel-on-disconnect";
    return broken(cause, `one effect, but ${shown(again)} instead of its result after the client left`);
  },
};

const restart: Check = {
  id: "restart",
  level: 1,
  title: "a repeat after a restart of the server brings the first answer, and no second effect",
  async run(probe) {
    const hook = probe.plan.restartHook;
    if (hook === undefined) return notTested("no --restart-hook");
    const mark = await probe.mark();
    const wish = probe.wish();
    const first = await probe.command(wish);
    await probe.hook(hook);
    const again = await probe.repeat(wish, {}, FINISHED_MS);
    // A counter that restarts too says nothing; the ids of both answers do.
    const effects = await probe.effects(mark, [first, again]);
    const [before, after] = [probe.idOf(first), probe.idOf(again)];
    if ((effects !== undefined && effects > 1) || (before !== undefined && after !== undefined && before !== after)) {
      return broken("forgets-on-restart", "a repeat after the restart ran again");
    }
    if (!succeeded(first) || difference(first, again) === undefined) return kept();
    const cause = probe.found.has("no-replay") ? "no-replay" : "forgets-on-restart";
    return broken(cause, `after the restart the repeat brought ${difference(first, again)}`);
  },
};

const domainRefusal: Check = {
  id: "domain-refusal",
  level: 1,
  title: "a refusal of the domain is answered the same way again",
  async run(probe) {
    if (!probe.plan.refused) return notTested("no --refused-payload");
    const mark = await probe.mark();
    const wish = probe.wish(probe.plan.refused);
    const first = await probe.command(wish);
    const again = await probe.command(wish);
    const effects = await probe.effects(mark, [first, again]);
    if (first.kind === "silence" || !refused(first)) return notTested(`--refused-payload was answered ${shown(first)}`);
    if (effects) return broken("runs-again", `${effects} effects behind a refusal`);
    const differs = difference(first, again);
    if (!differs) return kept();
    if (probe.found.has("no-replay")) return broken("no-replay", `the repeat of a refusal brought ${differs}`);
    return warning("no-replay", `the repeat of a refusal brought ${differs}`);
  },
};

const failure: Check = {
  id: "failure",
  level: 1,
  title: "a failure is not stored as the final answer, and its repeat has no second effect",
  async run(probe) {
    if (!probe.plan.failing) return notTested("no --failing-payload");
    const mark = await probe.mark();
    const wish = probe.wish(probe.plan.failing);
    const first = await probe.command(wish);
    const again = await probe.repeat(wish, {}, FINISHED_MS);
    const effects = await probe.effects(mark, [first, again]);
    if (first.kind === "silence" || first.status < 500) {
      return notTested(`--failing-payload was answered ${shown(first)}`);
    }
    if (effects !== undefined && effects > 1) return broken("deletes-on-error", `${effects} effects behind failures`);
    if (isWaiting(again)) return warning("stuck", `after a ${first.status} every repeat is told ${shown(again)}`);
    const marked = again.kind === "answer" && MARKERS.some((name) => again.header(name) === "true");
    if (!marked || again.status < 500) return kept();
    return warning("stored-5xx", `the ${again.status} is replayed: the person can never succeed under this key`);
  },
};

const outage: Check = {
  id: "store-down",
  level: 1,
  title: "without its store of keys the server refuses and runs nothing",
  async run(probe: Probe) {
    const hooks = probe.plan.outage;
    if (!hooks) return notTested("no --down-hook and --up-hook");
    const mark = await probe.mark();
    const wish = probe.wish();
    await probe.hook(hooks.down);
    let during: Reply;
    try {
      during = await probe.command(wish);
    } finally {
      await probe.hook(hooks.up);
    }
    const meanwhile = await probe.effects(mark, [during]);
    if (succeeded(during) || meanwhile)
      return broken("fail-open", `without its store the server answered ${shown(during)}`);
    return kept(shown(during));
  },
};

export const REPLAY_CHECKS: readonly Check[] = [sequential, marker, copiedHeaders, lostAnswer];
/** After the race, whose cause explains some of what these see. */
export const INTERRUPTION_CHECKS: readonly Check[] = [goneClient, restart, domainRefusal, failure, outage];
