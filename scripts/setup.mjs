// Brings a machine to where the project builds: `node scripts/setup.mjs`, with `--test` to where its tests run.
// Each step looks first and does nothing when there is nothing to do.
import { createHash } from "node:crypto";
import { existsSync, mkdirSync, mkdtempSync, readFileSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { copyFile } from "node:fs/promises";
import { delimiter, join } from "node:path";
import {
  DEBIAN_PACKAGES,
  ENGINES,
  findEngine,
  findFirefox,
  GECKODRIVER_FOLDER,
  GECKODRIVER_VERSION,
} from "./engines.mjs";
import { CACHE, CARGO_HOME, ROOT } from "./paths.mjs";
import { findPostgres } from "./postgres.mjs";
import { isMain, main, run, Stop, which } from "./run.mjs";

const NODE_MAJOR_MIN = 20;
const WASM_BINDGEN_VERSION = "0.2.130";
const CARGO_DENY_VERSION = "0.20.2";
const CARGO_MUTANTS_VERSION = "27.1.0";
const WASM_TARGET = "wasm32-unknown-unknown";
const RUSTUP_COMMAND = "curl --proto '=https' --tlsv1.2 -sSf https://sh.rustup.rs | sh -s -- -y";

/** The folder of `wasm-bindgen` and `wasm-bindgen-test-runner`, named after what they were built from. */
export const wasmBindgenFolder = () =>
  join(CACHE, `wasm-bindgen-${WASM_BINDGEN_VERSION}-${hashOf("tools/wasm-bindgen/Cargo.lock").slice(0, 12)}`);

/** All that building and serving the demo needs. */
export async function setUp() {
  checkNode();
  findCargo();
  await ensureLinker();
  await ensureToolchain();
  await ensureNpmModules();
  await ensureWasmBindgen();
}

/**
 * All that driving these browser engines and testing on PostgreSQL need besides.
 * @param {readonly import("./engines.mjs").Engine[]} [engines]
 */
export async function setUpTests(engines = ENGINES) {
  await setUp();
  await ensurePostgres();
  const missing = engines.filter((engine) => !findEngine(engine));
  const packages = missing.filter((engine) => engine !== "firefox" || !findFirefox());
  if (packages.length > 0) {
    const names = packages.flatMap((engine) => DEBIAN_PACKAGES[engine]);
    await installFromDebian(`What drives ${packages.join(" and ")} (for the browser tests)`, names);
  }
  if (missing.includes("firefox") && !findEngine("firefox")) await buildGeckodriver();
  const lost = missing.find((engine) => !findEngine(engine));
  if (lost)
    throw new Stop(`${lost} was installed but is not found.`, `Set ${PROGRAM_VARIABLES[lost]} to its programs.`);
}

async function ensurePostgres() {
  if (findPostgres()) return;
  await installFromDebian("PostgreSQL (for the tests of its store)", ["postgresql"]);
  if (!findPostgres()) throw new Stop("PostgreSQL was installed but its programs were not found.");
}

/** @type {Record<import("./engines.mjs").Engine, string>} */
const PROGRAM_VARIABLES = {
  chromium: "CHROME and CHROMEDRIVER",
  firefox: "FIREFOX and GECKODRIVER",
  webkit: "MINIBROWSER and WEBKITWEBDRIVER",
};

function checkNode() {
  const major = Number(process.versions.node.split(".")[0]);
  if (major >= NODE_MAJOR_MIN) return;
  throw new Stop(
    `Node ${NODE_MAJOR_MIN} or newer is needed, this is ${process.versions.node}.`,
    "Install it from https://nodejs.org, then run the command again.",
  );
}

export function findCargo() {
  if (which("cargo")) return;
  const folder = join(CARGO_HOME, "bin");
  if (!existsSync(join(folder, "cargo")))
    throw new Stop("Rust's cargo is not installed. Install it with:", RUSTUP_COMMAND);
  // Just installed, and this shell has not read its profile again.
  process.env.PATH = `${folder}${delimiter}${process.env.PATH}`;
}

async function ensureLinker() {
  if (which("cc")) return;
  await installFromDebian("A C compiler (for linking, and for SQLite)", ["gcc", "libc6-dev"]);
}

/** The pinned toolchain with all its parts: the module is built with a standard library made for size. */
async function ensureToolchain() {
  if (await hasToolchain()) return;
  const { channel, components, targets } = pinnedToolchain();
  say(`installing Rust ${channel} with ${[...components, ...targets].join(", ")}`);
  const parts = [...components.flatMap((name) => ["-c", name]), ...targets.flatMap((name) => ["-t", name])];
  const command = ["toolchain", "install", channel, "--profile", "minimal", "--no-self-update", ...parts];
  const remedy = `Run \`rustup ${command.join(" ")}\` where rustup's host can be reached.`;
  try {
    await run("rustup", command);
  } catch {
    throw new Stop(`Rust ${channel} could not be installed.`, remedy);
  }
  if (!(await hasToolchain())) throw new Stop(`rustup installed Rust ${channel}, but cargo does not use it.`, remedy);
}

function pinnedToolchain() {
  const text = readFileSync(join(ROOT, "rust-toolchain.toml"), "utf8");
  const list = (name) => [...(new RegExp(`^${name} = \\[(.*)\\]`, "m").exec(text)?.[1] ?? "").matchAll(/"([^"]+)"/g)];
  const names = (name) => list(name).map(([, item]) => String(item));
  const channel = /^channel = "([^"]+)"/m.exec(text)?.[1];
  if (!channel) throw new Stop("rust-toolchain.toml names no channel.");
  return { channel, components: names("components"), targets: names("targets") };
}

async function hasToolchain() {
  let sysroot;
  try {
    sysroot = (await run("rustc", ["--print", "sysroot"], { show: false })).trim().split("\n").pop() ?? "";
  } catch {
    return false;
  }
  const rustlib = join(sysroot, "lib", "rustlib");
  return [WASM_TARGET, join("src", "rust", "library", "Cargo.lock")].every((part) => existsSync(join(rustlib, part)));
}

async function ensureNpmModules() {
  const stamp = join(ROOT, "node_modules", ".postonce-lock-hash");
  const wanted = hashOf("package-lock.json");
  if (existsSync(stamp) && readFileSync(stamp, "utf8") === wanted) return;
  say("installing the npm modules");
  await run("npm", ["ci", "--no-audit", "--no-fund", "--loglevel=error"]);
  writeFileSync(stamp, wanted);
}

async function ensureWasmBindgen() {
  const folder = wasmBindgenFolder();
  if (existsSync(folder)) return;
  say(`building wasm-bindgen ${WASM_BINDGEN_VERSION} (once per user; about three minutes of processor time)`);
  await buildIntoCache(folder, async (scratch) => {
    const manifest = join("tools", "wasm-bindgen", "Cargo.toml");
    const target = join(scratch, "target");
    await run("cargo", ["build", "--locked", "--manifest-path", manifest, "--target-dir", target], {
      env: PLAIN_CARGO,
    });
    for (const name of ["wasm-bindgen", "wasm-bindgen-test-runner"]) {
      await copyFile(join(target, "debug", name), join(scratch, name));
    }
    rmSync(target, { recursive: true });
  });
}

/** Firefox's driver is in no Debian package; its makers publish its source. */
async function buildGeckodriver() {
  if (existsSync(GECKODRIVER_FOLDER)) return;
  say(`building geckodriver ${GECKODRIVER_VERSION} (once per user; some minutes of processor time)`);
  await buildIntoCache(GECKODRIVER_FOLDER, async (scratch) => {
    const args = ["install", "geckodriver", "--version", GECKODRIVER_VERSION, "--locked", "--debug"];
    const target = join(scratch, "target");
    await run("cargo", [...args, "--root", scratch, "--target-dir", target], { env: PLAIN_CARGO });
    rmSync(target, { recursive: true });
  });
}

/**
 * The path of the licence checker. It takes a minute to build, with low priority and on one core, so that it can be
 * started early and awaited late.
 */
export const buildCargoDeny = () => buildCargoTool("cargo-deny", CARGO_DENY_VERSION);

/** The path of the tool that `npm run mutants` runs. */
export const buildCargoMutants = () => buildCargoTool("cargo-mutants", CARGO_MUTANTS_VERSION);

async function buildCargoTool(name, version) {
  const folder = join(CACHE, `${name}-${version}`);
  const program = join(folder, "bin", name);
  if (existsSync(program)) return program;
  say(`building ${name} ${version} in the background (once per user)`);
  await buildIntoCache(folder, async (scratch) => {
    const args = ["install", name, "--version", version, "--locked", "--debug", "-j1"];
    const target = join(scratch, "target");
    const places = ["--root", scratch, "--target-dir", target];
    await run("nice", ["-n", "10", "cargo", ...args, ...places], {
      env: PLAIN_CARGO,
      logFile: join(CACHE, `${name}.log`),
    });
    rmSync(target, { recursive: true });
  });
  return program;
}

/** Tools must not depend on the flags and folders that somebody set for the project itself. */
const PLAIN_CARGO = { CARGO_TARGET_DIR: undefined, RUSTFLAGS: undefined, CARGO_ENCODED_RUSTFLAGS: undefined };

/** Fills a scratch folder and renames it, so that a half-built tool is never found under the final name. */
async function buildIntoCache(folder, fill) {
  mkdirSync(CACHE, { recursive: true });
  const scratch = mkdtempSync(`${folder}-building-`);
  try {
    await fill(scratch);
    if (!existsSync(folder)) renameSync(scratch, folder);
  } finally {
    rmSync(scratch, { recursive: true, force: true });
  }
}

export async function installFromDebian(what, packages) {
  const install = `apt-get update && apt-get install -y --no-install-recommends ${packages.join(" ")}`;
  const able = which("apt-get") && process.getuid?.() === 0;
  if (!able) throw new Stop(`${what} is missing. On Debian, install it with:`, `sudo sh -c '${install}'`);
  say(`installing ${packages.join(" and ")}`);
  const env = { DEBIAN_FRONTEND: "noninteractive" };
  await run("apt-get", ["update", "-q"], { env, show: false });
  await run("apt-get", ["install", "-y", "-q", "--no-install-recommends", ...packages], { env, show: false });
}

function hashOf(path) {
  return createHash("sha256")
    .update(readFileSync(join(ROOT, path)))
    .digest("hex");
}

function say(text) {
  console.error(`set-up: ${text}`);
}

if (isMain(import.meta.url)) {
  await main(async () => {
    if (!process.argv.includes("--test")) return setUp();
    await setUpTests();
    await buildCargoDeny();
  });
}
