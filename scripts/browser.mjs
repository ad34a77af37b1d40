// The unattended browser that tests and measurements drive, in any of the three engines.
import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { findEngine, OPEN } from "./engines.mjs";
import { Stop } from "./run.mjs";

/** Every process of a browser carries its profile's path in this variable, so that a kill finds all and no other. */
const MARK = "POSTONCE_PROFILE";

/** Profiles whose browsers this process started. @type {Set<string>} */
const started = new Set();

// Nothing outlives whoever started it, be it that a test runner lost its patience.
process.once("exit", () => {
  for (const profile of started) if (existsSync(profile)) killBrowser(profile);
});
for (const signal of ["SIGINT", "SIGTERM"]) process.once(signal, () => process.exit(1));

/** The environment for what belongs to this profile. */
export function markedEnvironment(profile) {
  started.add(profile);
  return { ...process.env, [MARK]: profile };
}

/**
 * Opens a browser, with a profile of its own unless one is given. `close()` ends it and removes its own profile.
 * `flags` are Chromium's command line and reach no other engine.
 * @param {{ engine?: import("./engines.mjs").Engine, flags?: readonly string[], profile?: string }} [options]
 */
export async function openBrowser({ engine = "chromium", flags = [], profile: given } = {}) {
  const programs = findEngine(engine);
  if (!programs) throw new Stop(`${engine} with its driver was not found.`, "node scripts/setup.mjs --test");
  const profile = given ?? mkdtempSync(join(tmpdir(), "postonce-profile-"));
  const { driver, end } = await OPEN[engine]({ profile, flags, env: markedEnvironment(profile), programs });
  return {
    driver,
    async close() {
      try {
        await driver.quit();
      } finally {
        await end();
        if (!given) rmSync(profile, { recursive: true, force: true, maxRetries: 5 });
      }
    },
  };
}

/** SIGKILL for every process of this profile's browser, and for nothing else, until none is left: they start others. */
export function killBrowser(profile) {
  for (let pids = processesOf(profile); pids.length > 0; pids = processesOf(profile)) {
    for (const pid of pids) {
      try {
        process.kill(pid, "SIGKILL");
      } catch {
        // Gone meanwhile.
      }
    }
  }
}

/** Those that carry the mark, those that name the profile (some overwrite what they carry), and whatever these started. */
function processesOf(profile) {
  const all = readdirSync("/proc").filter((name) => /^\d+$/.test(name));
  const parents = new Map(all.map((pid) => [pid, parentOf(pid)]));
  const mine = new Set(all.filter((pid) => pid !== String(process.pid) && carries(pid, profile)));
  for (let before = -1; before !== mine.size; ) {
    before = mine.size;
    for (const [pid, parent] of parents) if (parent !== undefined && mine.has(parent)) mine.add(pid);
  }
  return [...mine].filter((pid) => parents.get(pid) !== undefined).map(Number);
}

function carries(pid, profile) {
  return read(pid, "environ").includes(`${MARK}=${profile}\0`) || read(pid, "cmdline").includes(profile);
}

/** The parent of a running process; none for one that is gone or only waits to be collected. */
function parentOf(pid) {
  // The name before it, in brackets, may hold anything.
  const [state, parent] = read(pid, "stat").split(") ").pop()?.split(" ") ?? [];
  return state === "Z" || state === "X" ? undefined : parent;
}

function read(pid, name) {
  try {
    return readFileSync(`/proc/${pid}/${name}`, "utf8");
  } catch {
    return "";
  }
}
