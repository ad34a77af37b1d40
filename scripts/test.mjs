// `npm test`: every check and every test. `node scripts/test.mjs NAME…` runs only the named steps and what they need.
// A failing step stops only the steps that need it; those are counted as failed too, nothing is skipped.
import { existsSync, readdirSync } from "node:fs";
import { join } from "node:path";
import { findBrowser } from "./browser.mjs";
import { build } from "./build.mjs";
import { buildBrokenServer, buildDemoServer } from "./demo-server.mjs";
import { npmTool, ROOT } from "./paths.mjs";
import { main, run, Stop } from "./run.mjs";
import { buildCargoDeny, setUpTests, wasmBindgenFolder } from "./setup.mjs";
import { tidy } from "./tidy.mjs";

/** A browser that hangs must end as a failure, well before whoever runs this loses patience. */
const NODE_TEST_MS_MAX = 15 * 60_000;
const WASM = ["--target", "wasm32-unknown-unknown"];
const CLIPPY_DENY = ["--", "-D", "warnings"];

/** The licence checker, built in the background while the other steps run. @type {Promise<string> | undefined} */
let cargoDeny;

/**
 * In running order. `tests` marks a step that runs a test suite: its tests are counted, and none is a failure.
 * @type {{ name: string, what: string, needs?: string[], tests?: true, act: () => Promise<unknown> }[]}
 */
const STEPS = [
  { name: "setup", what: "set-up", act: setUpTests },
  { name: "tidy", what: "house rules", act: tidy },
  { name: "format", what: "cargo fmt", act: checkFormat },
  { name: "biome", what: "biome", act: () => run(npmTool("biome"), ["ci", "--colors=off"]) },
  {
    name: "clippy",
    what: "clippy, native",
    act: () => run("cargo", ["clippy", "--workspace", "--all-targets", "--all-features", ...CLIPPY_DENY]),
  },
  {
    name: "clippy-wasm",
    what: "clippy, WebAssembly",
    act: () => run("cargo", ["clippy", "-p", "postonce", ...WASM, "--all-targets", ...CLIPPY_DENY]),
  },
  { name: "build", what: "build", act: build },
  { name: "types", what: "TypeScript", needs: ["build"], act: checkTypes },
  {
    name: "docs",
    what: "rustdoc",
    act: () => run("cargo", ["doc", "--workspace", "--no-deps"], { env: { RUSTDOCFLAGS: "-D warnings" } }),
  },
  {
    name: "native",
    what: "native tests",
    tests: true,
    act: () => run("cargo", ["test", "--workspace", "--all-features", "--no-fail-fast"]),
  },
  { name: "browser", what: "module in Chromium", tests: true, act: testInBrowser },
  { name: "server", what: "demo server", act: buildDemoServer },
  { name: "http", what: "contract over HTTP", needs: ["server"], tests: true, act: () => nodeTests("tests/http") },
  { name: "facade", what: "facade in Node", needs: ["build"], tests: true, act: () => nodeTests("tests/js") },
  { name: "e2e", what: "end to end", needs: ["build", "server"], tests: true, act: () => nodeTests("tests/e2e") },
  { name: "cases", what: "case by case", needs: ["build", "server"], tests: true, act: () => nodeTests("tests/cases") },
  { name: "kill", what: "killed browser", needs: ["build", "server"], tests: true, act: () => nodeTests("tests/kill") },
  {
    name: "claims",
    what: "claims between processes",
    needs: ["build", "server"],
    tests: true,
    act: () => nodeTests("tests/claims"),
  },
  { name: "broken", what: "broken servers", act: buildBrokenServer },
  { name: "verify", what: "verify", needs: ["build", "broken"], tests: true, act: () => nodeTests("tests/verify") },
  { name: "packaging", what: "packaging", needs: ["build", "server"], tests: true, act: () => nodeTests("tests/apps") },
  {
    name: "size",
    what: "size budget",
    needs: ["build", "server"],
    act: () => run("node", ["scripts/size.mjs", "--check"]),
  },
  { name: "licences", what: "licences, sources", act: checkLicences },
];

async function checkFormat() {
  await run("cargo", ["fmt", "--all", "--check"]);
  await run("cargo", ["fmt", "--manifest-path", "tools/wasm-bindgen/Cargo.toml", "--check"]);
}

async function checkTypes() {
  await run(npmTool("tsc"), ["-p", "tsconfig.json"]);
  await run(npmTool("tsc"), ["-p", "scripts/tsconfig.json"]);
  await run(npmTool("tsc"), ["-p", "src/js/tsconfig.json"]);
  await run(npmTool("tsc"), ["-p", "js/verify/tsconfig.json"]);
}

async function checkLicences() {
  const program = await (cargoDeny ?? buildCargoDeny());
  await run(program, ["--log-level", "error", "check", "bans", "licenses", "sources"]);
}

function startBuildingCargoDeny() {
  cargoDeny = buildCargoDeny();
  // The step that awaits it reports the failure; until then it must not end the process.
  cargoDeny.catch(() => {});
}

function testInBrowser() {
  const runner = join(wasmBindgenFolder(), "wasm-bindgen-test-runner");
  return run("cargo", ["test", "-p", "postonce", "--tests", ...WASM], {
    env: {
      CARGO_TARGET_WASM32_UNKNOWN_UNKNOWN_RUNNER: runner,
      CHROMEDRIVER: findBrowser()?.driver,
      WASM_BINDGEN_TEST_TIMEOUT: "120",
    },
  });
}

function nodeTests(folder) {
  const path = join(ROOT, folder);
  const files = existsSync(path) ? readdirSync(path).filter((name) => name.endsWith(".test.mjs")) : [];
  if (files.length === 0) throw new Stop(`${folder} holds no *.test.mjs`);
  // One at a time: each starts a browser, and two cores are soon busy.
  const options = ["--test", "--test-concurrency=1", "--test-reporter=spec", `--test-timeout=${NODE_TEST_MS_MAX}`];
  return run("node", [...options, ...files.sort().map((name) => join(folder, name))]);
}

/** Counts the closing lines of cargo and of Node's runner. A test that was left out counts as failed. */
function countTests(printed) {
  const sum = (pattern) => [...printed.matchAll(pattern)].reduce((total, [, count]) => total + Number(count), 0);
  const passed = sum(/^test result: .*\b(\d+) passed/gm) + sum(/^(?:#|ℹ) pass (\d+)$/gm);
  const failed = sum(/^test result: .*\b(\d+) failed/gm) + sum(/^(?:#|ℹ) (?:fail|cancelled) (\d+)$/gm);
  const leftOut = sum(/^test result: .*\b(\d+) ignored/gm) + sum(/^(?:#|ℹ) (?:skipped|todo) (\d+)$/gm);
  return { passed, failed: failed + leftOut };
}

async function runStep(step, results) {
  const started = Date.now();
  const ended = (verdict, counted) => ({ verdict, ...counted, seconds: (Date.now() - started) / 1000 });
  console.log(`\n=== ${step.name}: ${step.what}`);

  const missing = (step.needs ?? []).find((name) => results.get(name)?.failed > 0);
  if (missing) {
    console.log(`--- ${step.name} not run, because \`${missing}\` failed`);
    return ended("not run", { passed: 0, failed: 1 });
  }
  let printed = "";
  let failure;
  try {
    printed = String(await step.act());
  } catch (error) {
    printed = error instanceof Stop ? error.printed : "";
    failure = describe(error);
  }
  const counted = step.tests ? countTests(printed) : { passed: failure ? 0 : 1, failed: 0 };
  if (!failure && counted.passed === 0) failure = "ran no test";
  if (!failure && counted.failed > 0) failure = `${counted.failed} tests were left out`;
  if (!failure) return ended("ok", counted);
  console.log(`--- ${step.name} failed: ${failure}`);
  return ended("FAILED", { passed: counted.passed, failed: Math.max(counted.failed, 1) });
}

function describe(error) {
  if (!(error instanceof Stop)) return error.stack;
  return error.remedy ? `${error.message}\n    ${error.remedy}` : error.message;
}

/** The named steps with everything that they need, or all. */
function chosenSteps(names) {
  const unknown = names.find((name) => !STEPS.some((step) => step.name === name));
  if (unknown) throw new Stop(`There is no step \`${unknown}\`.`, `Steps: ${STEPS.map(({ name }) => name).join(" ")}`);
  if (names.length === 0) return STEPS;
  const needed = STEPS.filter(({ name }) => names.includes(name)).flatMap(({ needs = [] }) => needs);
  return STEPS.filter(({ name }) => name === "setup" || names.includes(name) || needed.includes(name));
}

function printTable(results) {
  console.log("\nstep          result    tests   seconds");
  for (const { name, tests } of STEPS) {
    const result = results.get(name);
    if (!result) continue;
    const count = tests ? String(result.passed + result.failed) : "";
    const seconds = result.seconds.toFixed(1);
    console.log(`${name.padEnd(13)} ${result.verdict.padEnd(7)} ${count.padStart(7)} ${seconds.padStart(9)}`);
  }
}

await main(async () => {
  const steps = chosenSteps(process.argv.slice(2));
  const results = new Map();
  for (const step of steps) {
    results.set(step.name, await runStep(step, results));
    if (step.name !== "setup") continue;
    // Without it nothing else can tell anything.
    if (results.get("setup").failed > 0) break;
    if (steps.some(({ name }) => name === "licences")) startBuildingCargoDeny();
  }
  printTable(results);
  const total = (what) => [...results.values()].reduce((sum, result) => sum + result[what], 0);
  console.log(`\n${total("passed")} passed, ${total("failed")} failed`);
  process.exitCode = total("failed") === 0 ? 0 : 1;
});
