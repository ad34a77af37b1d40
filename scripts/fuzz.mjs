// `npm run fuzz -- --seconds 600 NAME…`: libFuzzer on each named target, or on all, one after the other.
// What it found lies under target/fuzz; a failing input is kept by copying it to fuzz/corpus/NAME.
import { existsSync, mkdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { ROOT, TARGET } from "./paths.mjs";
import { isMain, main, run, Stop, which } from "./run.mjs";
import { findCargo, installFromDebian } from "./setup.mjs";

const SECONDS_DEFAULT = 600;
const INPUT_BYTES_MAX = 4_096;
/** One input that takes longer is a finding too. */
const INPUT_SECONDS_MAX = 10;
const FOLDER = join(TARGET, "fuzz");

/** What `cargo fuzz` passes to rustc, without a sanitizer: all of it is stable. */
const COVERAGE = [
  "--cfg fuzzing",
  "-Cpasses=sancov-module",
  "-Cllvm-args=-sanitizer-coverage-level=4",
  "-Cllvm-args=-sanitizer-coverage-inline-8bit-counters",
  "-Cllvm-args=-sanitizer-coverage-pc-table",
  "-Cllvm-args=-sanitizer-coverage-trace-compares",
  "-Ccodegen-units=1",
  "-Cdebug-assertions",
  "-Coverflow-checks",
].join(" ");

export async function fuzz(args) {
  const { seconds, names } = read(args);
  findCargo();
  if (!which("c++")) await installFromDebian("A C++ compiler (for libFuzzer)", ["g++"]);
  const program = await buildSearch();
  const seeds = join(FOLDER, "seeds");
  await run("cargo", ["run", "-q", "-p", "postonce-fuzz", "--", seeds]);
  const lines = [];
  for (const name of names) lines.push(await search(program, name, seconds, join(seeds, name)));
  console.log(`\n${lines.join("\n")}`);
}

function read(args) {
  const all = targetNames();
  const names = [];
  let seconds = SECONDS_DEFAULT;
  for (let at = 0; at < args.length; at += 1) {
    if (args[at] === "--seconds") seconds = Number(args[++at]);
    else names.push(args[at]);
  }
  if (!(seconds >= 1)) throw new Stop("--seconds takes a number of at least 1.");
  const unknown = names.find((name) => !all.includes(name));
  if (unknown) throw new Stop(`There is no target \`${unknown}\`.`, `Targets: ${all.join(" ")}`);
  return { seconds: Math.round(seconds), names: names.length > 0 ? names : all };
}

function targetNames() {
  const source = readFileSync(join(ROOT, "fuzz/src/lib.rs"), "utf8");
  return [...source.matchAll(/Target \{ name: "(\w+)"/g)].map(([, name]) => String(name));
}

/** With an explicit target, so that build scripts are not instrumented too. */
async function buildSearch() {
  const host = /^host: (.+)$/m.exec(await run("rustc", ["-vV"], { show: false }))?.[1];
  if (!host) throw new Stop("rustc does not name its host.");
  const place = join(FOLDER, "build");
  await run("cargo", ["build", "-p", "postonce-fuzz", "--release", "--target", host, "--target-dir", place], {
    env: { RUSTFLAGS: COVERAGE, CARGO_ENCODED_RUSTFLAGS: undefined },
  });
  return join(place, host, "release", "postonce-fuzz");
}

async function search(program, name, seconds, seeds) {
  const found = join(FOLDER, "corpus", name);
  const artifacts = join(FOLDER, "artifacts", name);
  for (const folder of [found, artifacts]) mkdirSync(folder, { recursive: true });
  const kept = join(ROOT, "fuzz/corpus", name);
  const folders = [found, seeds, ...(existsSync(kept) ? [kept] : [])];
  console.log(`\n=== ${name}: ${seconds} s`);
  const options = [
    `-max_total_time=${seconds}`,
    `-max_len=${INPUT_BYTES_MAX}`,
    `-timeout=${INPUT_SECONDS_MAX}`,
    `-artifact_prefix=${artifacts}/`,
    `-dict=${join(ROOT, "fuzz/dictionary.txt")}`,
    "-use_value_profile=1",
    "-print_final_stats=1",
    "-verbosity=1",
  ];
  const logFile = join(FOLDER, `${name}.log`);
  const printed = await run(program, [...options, ...folders], { env: { POSTONCE_FUZZ_TARGET: name }, logFile }).catch(
    (error) => {
      throw new Stop(
        `${name}: a property does not hold`,
        `The input lies in ${artifacts}, the log is ${logFile}.`,
        error.printed,
      );
    },
  );
  const last = (pattern) => [...printed.matchAll(pattern)].pop()?.[1] ?? "?";
  return [
    `| ${name}`,
    `${seconds} s`,
    `${last(/number_of_executed_units: *(\d+)/g)} runs`,
    `coverage ${last(/cov: (\d+)/g)}`,
    `corpus ${last(/corp: (\d+)/g)}`,
    "0 findings |",
  ].join(" | ");
}

if (isMain(import.meta.url)) await main(() => fuzz(process.argv.slice(2)));
