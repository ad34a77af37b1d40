/** Level 2: what belongs to a key, and to whom it belongs. */
import type { Probe, Variation, Wish } from "../probe.js";
import { broken, type Check, kept, notOffered, notTested, type Verdict, warning } from "../verdict.js";
import { type Answer, type Reply, refused, shown, statusOf, succeeded } from "../wire.js";
import { difference } from "./replay.js";

/** A finished first answer, then the same key in another setting. */
async function afterFirst(
  probe: Probe,
  how: Variation,
): Promise<{ wish: Wish; first: Answer; next: Reply; effects: number | undefined } | undefined> {
  const wish = probe.wish();
  const first = await probe.command(wish);
  if (!succeeded(first)) return undefined;
  const mark = await probe.mark();
  const next = await probe.command(wish, how);
  return { wish, first, next, effects: await probe.effects(mark, [next]) };
}

const UNANSWERED = "the first request was not answered with success";

const otherPayload: Check = {
  id: "other-payload",
  level: 2,
  title: "another payload under a used key is refused before any effect",
  async run(probe) {
    const seen = await afterFirst(probe, { payload: probe.wish(probe.plan.otherPayload).payload });
    if (!seen) return notTested(UNANSWERED);
    const { first, next, effects } = seen;
    if (succeeded(next) && difference(first, next) === undefined) {
      return broken("no-fingerprint", "another payload got the first one's result, as if it had been done");
    }
    if (succeeded(next) || effects)
      return broken("no-fingerprint", `another payload ran under a used key: ${shown(next)}`);
    if (!refused(next)) return warning("other-refusal", `another payload was answered ${shown(next)}`);
    return statusOf(next) === 422
      ? kept()
      : warning("other-refusal", `another payload was refused with ${shown(next)}, not 422`);
  },
};

const otherPayloadWhileRunning: Check = {
  id: "other-payload-running",
  level: 2,
  title: "another payload is refused also while the first one runs",
  async run(probe) {
    const slow = probe.plan.slow;
    if (!slow) return notTested("no --slow-payload or --slow-hook");
    const mark = await probe.mark();
    const wish = probe.wish(slow.payload);
    const running = await probe.begin(wish);
    const next = await probe.command(wish, { payload: probe.wish(probe.plan.otherPayload).payload });
    await running.reply;
    const effects = await probe.effects(mark, []);
    if (succeeded(next) || (effects !== undefined && effects > 1)) {
      const cause = probe.found.has("no-unique") ? "no-unique" : "no-fingerprint";
      return broken(cause, `another payload was answered ${shown(next)} while the first one ran`);
    }
    if (statusOf(next) === 422) return kept();
    if (probe.found.has("no-fingerprint")) return broken("no-fingerprint", `told ${shown(next)} instead of 422`);
    return warning(
      "fingerprint-after-state",
      `another payload was told ${shown(next)}, not 422, while the first one ran`,
    );
  },
};

const otherSubject: Check = {
  id: "other-subject",
  level: 2,
  title: "another subject under the same key sees an unused key, and nothing of the first one's answer",
  async run(probe) {
    const { other } = probe.plan;
    if (!other) return notTested("no --other-header: there is no second subject");
    const seen = await afterFirst(probe, { as: other });
    if (!seen) return notTested(UNANSWERED);
    const { first, next, effects } = seen;
    const id = probe.idOf(first);
    const told = next.kind === "answer" && ((id !== undefined && probe.idOf(next) === id) || next.text === first.text);
    // Without an id two subjects may rightly get the same words; then only the missing effect tells.
    if (told && (id !== undefined || effects === 0))
      return broken("scope-by-key-only", "another subject got the first one's answer");
    if (succeeded(next)) return kept();
    return warning("tells-used-keys", `another subject was answered ${shown(next)} under a used key`);
  },
};

const otherOperation: Check = {
  id: "other-operation",
  level: 2,
  title: "the same key at another operation never brings the first one's result",
  async run(probe) {
    const { otherOperation: url } = probe.plan;
    if (!url) return notTested("no --other-operation");
    const seen = await afterFirst(probe, { url });
    if (!seen) return notTested(UNANSWERED);
    const { first, next, effects } = seen;
    if (succeeded(next) && (difference(first, next) === undefined || (effects === 0 && probe.plan.counter))) {
      return broken(
        probe.found.has("no-fingerprint") ? "no-fingerprint" : "operation-unchecked",
        "another operation was answered with the first one's result, and did not run",
      );
    }
    if (succeeded(next)) return warning("operation-unchecked", "the key is a new one at another operation");
    return refused(next)
      ? kept(shown(next))
      : warning("other-refusal", `another operation was answered ${shown(next)}`);
  },
};

const wrongSubject: Check = {
  id: "wrong-subject",
  level: 2,
  title: "a request meant for another subject than the one signed in is refused",
  async run(probe) {
    const missing = onlyOurs(probe, "subject-unchecked", "the dialect names no intended subject");
    if (missing) return missing;
    if (probe.plan.first.tag === undefined) return notTested("no --subject");
    const mark = await probe.mark();
    const reply = await probe.command(probe.wish(), { tag: `not-${probe.plan.first.tag}` });
    const effects = await probe.effects(mark, [reply]);
    if (effects || succeeded(reply)) return broken("subject-unchecked", `ran for the wrong subject: ${shown(reply)}`);
    return statusOf(reply) === 403 ? kept() : warning("subject-unchecked", `answered ${shown(reply)}, not 403`);
  },
};

const oldKey: Check = {
  id: "old-key",
  level: 2,
  title: "a key whose record may have been purged is answered 410 and never run",
  async run(probe) {
    const missing = onlyOurs(probe, "expired-as-new", "the dialect does not say how old a key is");
    if (missing) return missing;
    const mark = await probe.mark();
    const reply = await probe.command(probe.oldWish());
    const effects = await probe.effects(mark, [reply]);
    if (effects || succeeded(reply))
      return broken("expired-as-new", "a key from before the retention was run as a new one");
    return statusOf(reply) === 410 ? kept() : warning("expired-as-new", `answered ${shown(reply)}, not 410`);
  },
};

const late: Check = {
  id: "late",
  level: 2,
  title: "a command that arrives after its deadline is answered 412 and not run",
  async run(probe) {
    const missing = onlyOurs(probe, "late-work", "the dialect has no deadline");
    if (missing) return missing;
    const mark = await probe.mark();
    const wish = probe.wish();
    const reply = await probe.command(wish, { deadline: wish.firstSent - 60 });
    const effects = await probe.effects(mark, [reply]);
    if (effects || succeeded(reply)) return broken("late-work", "a command was run after its deadline");
    return statusOf(reply) === 412 ? kept() : warning("late-work", `answered ${shown(reply)}, not 412`);
  },
};

function onlyOurs(
  probe: Probe,
  cause: "subject-unchecked" | "expired-as-new" | "late-work",
  symptom: string,
): Verdict | undefined {
  return probe.plan.contract === "postonce" ? undefined : notOffered(cause, symptom);
}

export const FINGERPRINT_CHECKS: readonly Check[] = [
  otherPayload,
  otherPayloadWhileRunning,
  otherSubject,
  otherOperation,
  wrongSubject,
  oldKey,
  late,
];
