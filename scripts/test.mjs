// `npm test`: every check and every test. `node scripts/test.mjs NAME…` runs only the named steps and what they need;
// `--engine chromium|firefox|webkit` runs the browser's part in that engine alone.
// A failing step stops only the steps that need it; those are counted as failed too, nothing is skipped.
import { join } from "node:path";
import { parseArgs } from "node:util";
import { build } from "./build.mjs";
import { buildBrokenServer, buildDemoServer } from "./demo-server.mjs";
import { endToEnd, NODE_TEST_MS_MAX, testFiles } from "./end-to-end.mjs";
import { ENGINES, engineNamed, findEngine, startDisplay } from "./engines.mjs";
import { npmTool } from "./paths.mjs";
import { withPostgres } from "./postgres.mjs";
import { main, run, Stop } from "./run.mjs";
import { buildCargoDeny, setUpTests, wasmBindgenFolder } from "./setup.mjs";
import { tidy } from "./tidy.mjs";

const WASM = ["--target", "wasm32-unknown-unknown"];
const CLIPPY_DENY = ["--", "-D", "warnings"];

/** The engines to run in. */
let engines = ENGINES;
/** What each end-to-end step saw, scenario by scenario, for the end. @type {string[]} */
const tables = [];

/** The licence checker, built in the background while the other steps run. @type {Promise<string> | undefined} */
let cargoDeny;

/**
 * In running order. `tests` marks a step that runs a test suite: its tests are counted, and none is a failure. A step
 * answers what was printed, or its own count.
 * @type {{ name: string, what: string, needs?: string[], tests?: true, act: () => Promise<unknown> }[]}
 */
const STEPS = [
  { name: "setup", what: "set-up", act: () => setUpTests(engines) },
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
    act: () =>
      withPostgres((env) => run("cargo", ["test", "--workspace", "--all-features", "--no-fail-fast"], { env })),
  },
  { name: "sim", what: "simulator", act: simulate },
  { name: "browser", what: "module in browsers", tests: true, act: testInBrowser },
  { name: "server", what: "demo server", act: buildDemoServer },
  { name: "http", what: "contract over HTTP", needs: ["server"], tests: true, act: () => nodeTests("tests/http") },
  {
    name: "server-kill",
    what: "servers killed",
    needs: ["server"],
    tests: true,
    act: () => nodeTests("tests/server-kill"),
  },
  { name: "facade", what: "facade in Node", needs: ["build"], tests: true, act: () => nodeTests("tests/js") },
  { name: "e2e", what: "end to end", needs: ["build", "server"], tests: true, act: () => inEngines("tests/e2e") },
  { name: "cases", what: "case by case", needs: ["build", "server"], tests: true, act: () => inEngines("tests/cases") },
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

/** Many schedules of the whole world, and every planted bug that so few of them catch. */
async function simulate() {
  const sim = ["run", "--release", "--quiet", "-p", "postonce-sim", "--"];
  await run("cargo", [...sim, "run", "--schedules", "200_000", "--check"]);
  await run("cargo", [...sim, "planted", "--schedules", "5_000", "--frequent"]);
}

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

/** The module's own tests, in each engine. */
async function testInBrowser() {
  const printed = [];
  for (const engine of engines) {
    console.log(`--- the module in ${engine}`);
    printed.push(await testModuleIn(engine));
  }
  return printed.join("\n");
}

async function testModuleIn(engine) {
  const programs = findEngine(engine);
  const display = programs?.display ? await startDisplay(programs.display) : undefined;
  // The runner takes the first driver that is named.
  const drivers = Object.fromEntries(Object.values(RUNNER_DRIVERS).map((name) => [name, undefined]));
  try {
    return await run("cargo", ["test", "-p", "postonce", "--tests", ...WASM], {
      env: {
        CARGO_TARGET_WASM32_UNKNOWN_UNKNOWN_RUNNER: join(wasmBindgenFolder(), "wasm-bindgen-test-runner"),
        WASM_BINDGEN_TEST_TIMEOUT: "120",
        ...drivers,
        [RUNNER_DRIVERS[engine]]: programs?.driver,
        ...(display ? { DISPLAY: display.name } : {}),
      },
    });
  } finally {
    display?.stop();
  }
}

/** What wasm-bindgen's runner calls an engine's driver; it speaks to WebKitGTK's as to Safari's. */
const RUNNER_DRIVERS = { chromium: "CHROMEDRIVER", firefox: "GECKODRIVER", webkit: "SAFARIDRIVER" };

function nodeTests(folder) {
  // One at a time: each starts a browser, and two cores are soon busy.
  const options = ["--test", "--test-concurrency=1", "--test-reporter=spec", `--test-timeout=${NODE_TEST_MS_MAX}`];
  return run("node", [...options, ...testFiles(folder)]);
}

async function inEngines(folder) {
  const { table, ...counted } = await endToEnd(folder, engines);
  tables.push(table);
  return counted;
}

/** What a step counted by itself, or what its programs printed at their end. */
function countOf(answer) {
  return typeof answer === "object" ? answer : { ...countTests(String(answer)), faults: [] };
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
  let answer;
  let failure;
  try {
    answer = await step.act();
  } catch (error) {
    answer = error instanceof Stop ? error.printed : "";
    failure = describe(error);
  }
  const counted = step.tests ? countOf(answer) : { passed: failure ? 0 : 1, failed: 0, faults: [] };
  if (!failure && counted.passed === 0) failure = "ran no test";
  if (!failure && counted.faults.length > 0) failure = counted.faults.join("\n    ");
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
  const { values, positionals } = parseArgs({
    allowPositionals: true,
    options: { engine: { type: "string", multiple: true } },
  });
  if (values.engine) engines = values.engine.map(engineNamed);
  const steps = chosenSteps(positionals);
  const results = new Map();
  for (const step of steps) {
    results.set(step.name, await runStep(step, results));
    if (step.name !== "setup") continue;
    // Without it nothing else can tell anything.
    if (results.get("setup").failed > 0) break;
    if (steps.some(({ name }) => name === "licences")) startBuildingCargoDeny();
  }
  for (const table of tables) console.log(`\n${table}`);
  printTable(results);
  const total = (what) => [...results.values()].reduce((sum, result) => sum + result[what], 0);
  console.log(`\n${total("passed")} passed, ${total("failed")} failed`);
  process.exitCode = total("failed") === 0 ? 0 : 1;
});
