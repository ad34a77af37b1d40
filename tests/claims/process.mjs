// Which process runs a page, found without a word of any engine's own tools: the page keeps its thread busy, and one
// process among this one's descendants has used the time.
import { readdirSync, readFileSync } from "node:fs";

const SPIN_MS = 800;
/** `/proc` counts in ticks of 10 ms. */
const TICKS_MIN = 20;

/** On a busy machine one spin may not be enough: others have work of their own to do, but less and less of it. */
const SPINS_MAX = 6;

/** @param {(ms: number) => Promise<unknown>} spin keeps the page busy for so long */
export async function processOf(spin) {
  let seen;
  for (let spins = 0; spins < SPINS_MAX; spins += 1) {
    const before = ticksOfDescendants();
    await spin(SPIN_MS);
    seen = [...ticksOfDescendants()].map(([pid, ticks]) => ({ pid, ticks: ticks - (before.get(pid) ?? 0) }));
    seen.sort((a, b) => b.ticks - a.ticks);
    const [busiest, next] = seen;
    if (busiest !== undefined && busiest.ticks >= Math.max(TICKS_MIN, 2 * (next?.ticks ?? 0))) return busiest.pid;
  }
  throw new Error(`no process stands out: ${JSON.stringify(seen?.slice(0, 3))}`);
}

/** User time of every process that this one started, directly or not. */
function ticksOfDescendants() {
  const all = new Map(readdirSync("/proc").flatMap((name) => statOf(name)));
  const isOurs = (pid) => {
    for (let at = pid; at !== undefined && at > 1; at = all.get(at)?.parent) if (at === process.pid) return true;
    return false;
  };
  return new Map(
    [...all].filter(([pid]) => pid !== process.pid && isOurs(pid)).map(([pid, { ticks }]) => [pid, ticks]),
  );
}

function statOf(name) {
  if (!/^\d+$/.test(name)) return [];
  try {
    // After the name in brackets: state, parent, … and user time as the twelfth.
    const fields = readFileSync(`/proc/${name}/stat`, "utf8")
      .replace(/^.*\) /s, "")
      .split(" ");
    return [[Number(name), { parent: Number(fields[1]), ticks: Number(fields[11]) }]];
  } catch {
    // Gone meanwhile.
    return [];
  }
}
