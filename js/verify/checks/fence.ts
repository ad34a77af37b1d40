/** Level 4: making a key void, the only proof of "not applied". */
import type { Probe } from "../probe.js";
import { broken, type Check, kept, notOffered, notTested, type Verdict, warning } from "../verdict.js";
import { refused, shown, statusOf, succeeded } from "../wire.js";
import { difference } from "./replay.js";
import { stateOf, withoutState } from "./status.js";

function fenceCheck(id: string, title: string, run: (probe: Probe) => Promise<Verdict>): Check {
  return {
    id,
    level: 4,
    title,
    async run(probe) {
      if (!probe.plan.status) return notOffered("no-fence", "no --status was named");
      if (probe.plan.contract !== "postonce") return notOffered("no-fence", "the dialect has no fence");
      return run(probe);
    },
  };
}

const late = fenceCheck(
  "fence-unknown",
  "an unused key is fenced, and the late command is refused for ever",
  async (probe) => {
    const mark = await probe.mark();
    const wish = probe.wish();
    const fenced = await probe.fence(wish);
    const state = stateOf(fenced);
    if (state === undefined) return withoutState(fenced, "no-fence", "a fence");
    if (state !== "fenced") return broken("fence-leaks", `the fence of an unused key answers ${String(state)}`);
    const replies = [await probe.command(wish), await probe.command(wish, { payload: probe.plan.otherPayload })];
    const asked = await probe.ask(wish);
    const effects = await probe.effects(mark, replies);
    const ran = replies.find(succeeded);
    if (ran || effects) return broken("fence-leaks", `a fenced key was run: ${replies.map(shown).join(", ")}`);
    if (stateOf(asked) !== "fenced")
      return broken("fence-leaks", `after the fence the status says ${String(stateOf(asked))}`);
    const odd = replies.find((reply) => statusOf(reply) !== 410);
    return odd ? warning("fence-leaks", `the late command was answered ${shown(odd)}, not 410`) : kept();
  },
);

const done = fenceCheck(
  "fence-completed",
  "a finished command cannot be voided, and its replay stays",
  async (probe) => {
    const mark = await probe.mark();
    const wish = probe.wish();
    const first = await probe.command(wish);
    const fenced = await probe.fence(wish);
    const again = await probe.command(wish);
    const effects = await probe.effects(mark, [first, again]);
    const state = stateOf(fenced);
    if (state === undefined) return withoutState(fenced, "no-fence", "a fence");
    if (!succeeded(first)) return notTested("the first request was not answered with success");
    if (state === "fenced") return broken("fence-leaks", "a finished command is called fenced: not applied");
    if (effects !== undefined && effects > 1) return broken("runs-again", `${effects} effects after a fence`);
    if (state !== "completed")
      return broken("status-untrue", `the fence of a finished command answers ${String(state)}`);
    const differs = difference(first, again);
    if (!differs) return kept();
    return broken(
      probe.found.has("no-replay") ? "no-replay" : "fence-leaks",
      `after the fence the repeat brought ${differs}`,
    );
  },
);

const old = fenceCheck("fence-old", "an old, unknown key is expired, and nothing is written", async (probe) => {
  const wish = probe.oldWish();
  const fenced = await probe.fence(wish);
  const state = stateOf(fenced);
  if (state === undefined) return withoutState(fenced, "no-fence", "a fence");
  if (state === "fenced") return broken("fence-after-purge", "a key from before the retention is called not applied");
  if (state !== "expired") return broken("fence-after-purge", `the fence of an old key answers ${String(state)}`);
  // The same key as a young one: a tombstone would show.
  const asked = await probe.ask({ ...wish, firstSent: probe.wish().firstSent });
  const left = stateOf(asked);
  return left === "not_found" ? kept() : broken("fence-after-purge", `the refused fence left ${String(left)} behind`);
});

const race = fenceCheck(
  "fence-race",
  "fence and command at once: either it ran or it is void, never both",
  async (probe) => {
    for (let round = 0; round < 6; round += 1) {
      const mark = await probe.mark();
      const wish = probe.wish();
      const [reply, fenced] = await Promise.all([probe.command(wish), probe.fence(wish)]);
      const effects = await probe.effects(mark, [reply]);
      if (stateOf(fenced) === undefined) return withoutState(fenced, "no-fence", "a fence");
      if (stateOf(fenced) === "fenced" && (succeeded(reply) || effects)) {
        const cause = probe.found.has("no-unique") ? "no-unique" : "fence-leaks";
        return broken(cause, "the fence said not applied, and the command ran");
      }
    }
    return kept();
  },
);

const unnamed = fenceCheck(
  "fence-unnamed",
  "a fence without its subject, or for another one, voids nothing",
  async (probe) => {
    const { first, other } = probe.plan;
    if (first.tag === undefined) return notTested("no --subject");
    const wish = probe.wish();
    const without = await probe.fence(wish, { tag: undefined });
    if (stateOf(without) === "fenced") return broken("fence-unnamed", "a fence that names no subject was taken");
    if (other) {
      await probe.fence(wish, { as: other });
      const reply = await probe.command(wish);
      if (!succeeded(reply)) {
        const cause = probe.found.has("scope-by-key-only") ? "scope-by-key-only" : "fence-leaks";
        return broken(cause, `another subject's fence voided this one's key: ${shown(reply)}`);
      }
    }
    return refused(without) ? kept(shown(without)) : warning("fence-unnamed", `answered ${shown(without)}`);
  },
);

export const FENCE_CHECKS: readonly Check[] = [late, done, old, race, unnamed];
