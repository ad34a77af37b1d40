// Which rounds are run: each step, and instants drawn from a seed.
import { FATES, KILL_WITHIN_MS, STEPS } from "./round.mjs";

/** Steps at which an answer has come need a server that gives one. */
const ANSWERED_FROM = STEPS.indexOf("answer_arrived");
const ANSWERING = FATES.slice(0, 3);

/** `times` rounds at each step; the fates take turns. */
export function stepPlans(times) {
  return STEPS.flatMap((step, at) => {
    const answered = at >= ANSWERED_FROM;
    const [fates, first] = answered ? [ANSWERING, 0] : [FATES, at];
    return Array.from({ length: times }, (_, n) => ({ step, fate: fates[(first + n) % fates.length] }));
  });
}

/** `count` rounds at random instants; the same seed draws the same. */
export function instantPlans(count, seed) {
  const random = mulberry32(seed);
  return Array.from({ length: count }, (_, n) => ({
    killAfterMs: Math.floor(random() * KILL_WITHIN_MS),
    fate: FATES[n % FATES.length],
  }));
}

/** Small and good enough to spread instants. */
function mulberry32(seed) {
  let state = seed >>> 0;
  return () => {
    state = (state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
}
