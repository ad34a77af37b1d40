/** Level 1: the same request many times at once. */

import { isWaiting } from "../probe.js";
import { broken, type Check, kept, notOffered, type Verdict, warning } from "../verdict.js";
import { type Reply, shown, succeeded } from "../wire.js";
import { difference } from "./replay.js";

const parallel: Check = {
  id: "parallel",
  level: 1,
  title: "of many equal requests at once one runs; the others wait or get its answer",
  async run(probe) {
    const mark = await probe.mark();
    const wish = probe.wish();
    const replies = await Promise.all(Array.from({ length: probe.plan.parallel }, () => probe.command(wish)));
    const last = await probe.repeat(wish);
    const effects = await probe.effects(mark, [...replies, last]);
    if (effects !== undefined && effects > 1) {
      const cause = probe.found.has("runs-again") ? "runs-again" : "no-unique";
      return broken(cause, `${effects} effects of ${replies.length} equal requests at once`);
    }
    return (
      judge(replies, last, probe.found.has("no-replay")) ??
      (effects === undefined ? kept("effects could not be seen") : kept())
    );
  },
};

const slowRace: Check = {
  id: "parallel-slow",
  level: 1,
  title: "a repeat while the first one runs waits or is told to wait",
  async run(probe) {
    const slow = probe.plan.slow;
    if (!slow) return { kind: "not_tested", why: "no --slow-payload or --slow-hook" };
    const mark = await probe.mark();
    const wish = probe.wish(slow.payload);
    const running = await probe.begin(wish);
    const early = await probe.command(wish);
    const first = await running.reply;
    const last = await probe.repeat(wish);
    const effects = await probe.effects(mark, [first, early, last]);
    if (effects !== undefined && effects > 1)
      return broken("no-unique", `${effects} effects of a request and its early repeat`);
    return judge([first, early], last, probe.found.has("no-replay")) ?? kept(`meanwhile: ${shown(early)}`);
  },
};

/** What is wrong with the answers of a race that had one effect. */
function judge(replies: readonly Reply[], last: Reply, unanswered: boolean): Verdict | undefined {
  const winner = replies.find(succeeded);
  const odd = replies.find((reply) => !succeeded(reply) && !isWaiting(reply));
  if (odd) {
    const server = odd.kind === "silence" || odd.status >= 500;
    const symptom = `a request that lost the race was answered ${shown(odd)}`;
    return server ? broken("parallel-error", symptom) : warning("parallel-error", symptom);
  }
  if (winner) {
    const other = replies.find((reply) => succeeded(reply) && difference(winner, reply) !== undefined);
    if (other) return broken("no-replay", "two equal requests got two different answers");
    const differs = difference(winner, last);
    if (differs) return broken("no-replay", `the repeat after the race brought ${differs}`);
  } else if (!succeeded(last)) {
    return broken("no-replay", `nobody in the race ever got the result: ${shown(last)}`);
  }
  const waiting = replies.find(isWaiting);
  if (unanswered || waiting?.kind !== "answer" || waiting.header("retry-after") !== undefined) return undefined;
  return notOffered("no-retry-after", `${shown(waiting)} without Retry-After`);
}

export const RACE_CHECKS: readonly Check[] = [parallel, slowRace];
