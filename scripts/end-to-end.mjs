// Runs a folder of end-to-end tests in each engine and holds the outcome against `cannot.json`: what an engine cannot
// run stands there with the reason and the test that covers it instead. Anything else that is left out is a failure.
import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { ENGINES } from "./engines.mjs";
import { ROOT } from "./paths.mjs";
import { run, Stop } from "./run.mjs";

/** A browser that hangs must end as a failure, well before whoever runs this loses patience. */
export const NODE_TEST_MS_MAX = 15 * 60_000;
const SCENARIO_WIDTH = 96;

/** @typedef {import("./engines.mjs").Engine} Engine */
/** @typedef {"passed" | "failed" | "left out"} Verdict */
/** @typedef {{ engine: Engine, scenario: string, reason: string, covered_by: string }} Exception */
/** @typedef {Map<string, Map<Engine, { verdict: Verdict, ms: number }>>} Seen what became of each scenario in each engine */

/**
 * @param {string} folder
 * @param {readonly Engine[]} engines
 * @returns {Promise<{ passed: number, failed: number, faults: string[], table: string }>}
 */
export async function endToEnd(folder, engines) {
  /** @type {Seen} */
  const seen = new Map();
  const seconds = new Map();
  const faults = [];
  for (const engine of engines) {
    console.log(`--- ${folder} in ${engine}`);
    const started = Date.now();
    const { ended, lines } = await runIn(engine, folder);
    for (const { scenario, ...result } of lines) {
      const row = seen.get(scenario) ?? new Map();
      if (row.has(engine)) faults.push(`${engine}: there are two scenarios of the name ${scenario}`);
      seen.set(scenario, row.set(engine, result));
    }
    if (ended) faults.push(`${engine}: ${ended}`);
    seconds.set(engine, (Date.now() - started) / 1000);
  }
  const cannot = readExceptions(folder);
  faults.push(...faultsOf(seen, engines, cannot));
  const verdicts = [...seen.values()].flatMap((row) => [...row.values()].map(({ verdict }) => verdict));
  const passed = verdicts.filter((verdict) => verdict === "passed").length;
  return { passed, failed: faults.length, faults, table: tableOf(folder, seen, engines, cannot, seconds) };
}

/** @returns {string[]} the tests of a folder, from the root */
export function testFiles(folder) {
  const path = join(ROOT, folder);
  const names = existsSync(path) ? readdirSync(path).filter((name) => name.endsWith(".test.mjs")) : [];
  if (names.length === 0) throw new Stop(`${folder} holds no *.test.mjs`);
  return names.sort().map((name) => join(folder, name));
}

async function runIn(engine, folder) {
  const scratch = mkdtempSync(join(tmpdir(), "postonce-e2e-"));
  const report = join(scratch, "scenarios.jsonl");
  const options = ["--test", `--test-timeout=${NODE_TEST_MS_MAX}`, `--test-concurrency=${AT_ONCE}`];
  const reporters = [
    ...["--test-reporter=spec", "--test-reporter-destination=stdout"],
    ...["--test-reporter=./scripts/scenario-reporter.mjs", `--test-reporter-destination=${report}`],
  ];
  let ended;
  try {
    await run("node", [...options, ...reporters, ...testFiles(folder)], { env: { POSTONCE_ENGINE: engine } });
  } catch (error) {
    if (!(error instanceof Stop)) throw error;
    ended = "the tests ended with a failure";
  }
  const lines = readFileSync(report, "utf8").split("\n").filter(Boolean);
  rmSync(scratch, { recursive: true });
  return { ended, lines: lines.map((line) => JSON.parse(line)) };
}

/** Each file has a browser of its own, and mostly waits: two of them fill two cores. */
const AT_ONCE = 2;

/** @returns {Exception[]} */
function readExceptions(folder) {
  const path = join(ROOT, folder, "cannot.json");
  return existsSync(path) ? JSON.parse(readFileSync(path, "utf8")) : [];
}

/**
 * Every way in which what was seen is not: all scenarios passed in all engines, but for the exceptions.
 * @param {Seen} seen
 * @param {readonly Engine[]} engines
 * @param {readonly Exception[]} cannot
 */
export function faultsOf(seen, engines, cannot) {
  const faults = [];
  const excused = (engine, scenario) => cannot.some((entry) => entry.engine === engine && entry.scenario === scenario);
  for (const [scenario, row] of seen) {
    for (const engine of engines) {
      const verdict = row.get(engine)?.verdict;
      const wanted = excused(engine, scenario) ? "left out" : "passed";
      if (verdict !== wanted) faults.push(`${engine}: ${scenario} ${verdict ?? "was not run"}, not ${wanted}`);
    }
  }
  for (const entry of cannot) {
    const { engine, scenario, reason, covered_by } = entry;
    const of = `cannot.json: ${engine}, ${scenario}:`;
    if (!ENGINES.includes(engine)) faults.push(`${of} there is no such engine`);
    if (!seen.has(scenario)) faults.push(`${of} there is no such scenario`);
    if (!reason) faults.push(`${of} gives no reason`);
    if (!isTest(covered_by)) faults.push(`${of} covered_by names no test: ${covered_by}`);
  }
  return faults;
}

/** `path::name`: the file is there, and the name stands in it. */
function isTest(covered_by = "") {
  const [file = "", name = ""] = covered_by.split("::");
  const path = join(ROOT, file);
  return name !== "" && existsSync(path) && readFileSync(path, "utf8").includes(name);
}

const SHOWN = { passed: "ok", failed: "FAILED", "left out": "cannot" };

function tableOf(folder, seen, engines, cannot, seconds) {
  const row = (name, cells) => `${name.padEnd(SCENARIO_WIDTH)} ${cells.map((cell) => cell.padStart(9)).join(" ")}`;
  const short = (name) => (name.length > SCENARIO_WIDTH ? `${name.slice(0, SCENARIO_WIDTH - 1)}…` : name);
  const cell = (results, engine) => SHOWN[results.get(engine)?.verdict ?? ""] ?? "-";
  const rows = [...seen].map(([scenario, results]) =>
    row(
      short(scenario),
      engines.map((engine) => cell(results, engine)),
    ),
  );
  const times = engines.map((engine) => `${(seconds.get(engine) ?? 0).toFixed(1)} s`);
  const reasons = cannot
    .filter(({ engine }) => engines.includes(engine))
    .map(
      ({ engine, scenario, reason, covered_by }) =>
        `cannot: ${engine}: ${scenario}: ${reason} Covered by ${covered_by}`,
    );
  return [row(folder, [...engines]), ...rows, row("", times), ...reasons].join("\n");
}
