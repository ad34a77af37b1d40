/** All checks in order, each judged by itself; what one finds explains what later ones see. */
import { FENCE_CHECKS } from "./checks/fence.js";
import { FINGERPRINT_CHECKS } from "./checks/fingerprint.js";
import { HOSTILE_CHECKS } from "./checks/hostile.js";
import { RACE_CHECKS } from "./checks/race.js";
import { INTERRUPTION_CHECKS, REPLAY_CHECKS } from "./checks/replay.js";
import { STATUS_CHECKS } from "./checks/status.js";
import { Misuse, type Plan } from "./plan.js";
import { LimitReached, Probe, pause, Unusable } from "./probe.js";
import { broken, type Check, type Finding, kept, notTested, type Verdict } from "./verdict.js";
import { shown, succeeded } from "./wire.js";

/** Effects that come after their answers are looked for this long after the last check. */
const LATE_MS = 500;

const late: Check = {
  id: "late-effects",
  level: 1,
  title: "no effect happens after its request was answered",
  async run(probe) {
    if (!probe.plan.counter) return notTested("no --counter");
    const mark = await probe.mark();
    await pause(LATE_MS);
    const effects = await probe.effects(mark, []);
    return effects ? broken("late-effect", `${effects} effects came after the last answer`) : kept();
  },
};

/** Every check in the order it runs. */
export const CHECKS: readonly Check[] = [
  ...REPLAY_CHECKS,
  ...RACE_CHECKS,
  ...INTERRUPTION_CHECKS,
  ...FINGERPRINT_CHECKS,
  ...HOSTILE_CHECKS,
  ...STATUS_CHECKS,
  ...FENCE_CHECKS,
  late,
];

/** What a whole run found. */
export interface Report {
  readonly findings: readonly Finding[];
  readonly requests: number;
  readonly ms: number;
}

/**
 * Runs every check of the plan.
 * @throws {Misuse} when the sample itself is not accepted, so that nothing could be learnt.
 */
export async function verify(plan: Plan, now: () => number): Promise<Report> {
  const stray = plan.without.find((id) => !CHECKS.some((check) => check.id === id));
  if (stray !== undefined) throw new Misuse(`--without ${stray}: checks are ${CHECKS.map(({ id }) => id).join(" ")}`);
  const started = now();
  const probe = new Probe(plan);
  await accepts(probe);
  const findings: Finding[] = [];
  for (const check of CHECKS.filter(({ level }) => level <= plan.level)) {
    const begun = now();
    const verdict = await judged(check, probe);
    if ("cause" in verdict) probe.found.add(verdict.cause);
    findings.push({ id: check.id, level: check.level, title: check.title, verdict, ms: now() - begun });
  }
  return { findings, requests: probe.requests, ms: now() - started };
}

async function judged(check: Check, probe: Probe): Promise<Verdict> {
  if (probe.plan.without.includes(check.id)) return { kind: "left_out", why: "--without" };
  try {
    return await check.run(probe);
  } catch (error) {
    if (error instanceof LimitReached || error instanceof Unusable) return notTested(error.message);
    throw error;
  }
}

async function accepts(probe: Probe): Promise<void> {
  try {
    const mark = await probe.mark();
    const reply = await probe.command(probe.wish());
    const effects = await probe.effects(mark, [reply]);
    if (!succeeded(reply)) throw new Misuse(`the sample was answered ${shown(reply)}, not with success`);
    if (effects === 0) throw new Misuse("the sample was accepted, but the counter did not move");
    if (probe.plan.resultId !== undefined && probe.idOf(reply) === undefined) {
      throw new Misuse(`there is no id at ${probe.plan.resultId} of the answer`);
    }
  } catch (error) {
    if (error instanceof Unusable) throw new Misuse(error.message);
    throw error;
  }
}
