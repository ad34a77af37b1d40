// Times and amounts as people read them.

const CLOCK = new Intl.DateTimeFormat("en-GB", { hour: "2-digit", minute: "2-digit", second: "2-digit" });
const DAY = new Intl.DateTimeFormat("en-GB", { day: "numeric", month: "long", hour: "2-digit", minute: "2-digit" });
const DAY_MS = 86_400_000;

/** `14:02:09`, with the day when it was not within the last day. */
export function clockTime(at: number, now: number): string {
  return (Math.abs(now - at) < DAY_MS ? CLOCK : DAY).format(at);
}

/** `40 ms`, `1.2 s`, `3 min`. */
export function duration(ms: number): string {
  if (ms < 1_000) return `${Math.round(ms)} ms`;
  if (ms < 10_000) return `${trimmed(ms / 1_000)} s`;
  if (ms < 120_000) return `${Math.round(ms / 1_000)} s`;
  return `${Math.round(ms / 60_000)} min`;
}

/** Whole seconds that are left, at least 0. */
export function secondsLeft(until: number, now: number): string {
  return `${Math.max(0, Math.ceil((until - now) / 1_000))} s`;
}

export function count(n: number, one: string, many: string): string {
  return `${n} ${n === 1 ? one : many}`;
}

function trimmed(value: number): string {
  return value.toFixed(1).replace(/\.0$/, "");
}
