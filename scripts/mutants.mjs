// `npm run mutants -- MODULE… [--shards N] [--fresh]`: changes the core's decisions one by one and looks for a test that
// notices. A mutant that a test caught is not tried again until `--fresh`; so a run that was stopped goes on where it
// was, and one after new tests tries the survivors only. What survives is listed, and accounted for in docs/mutants.md.
import { existsSync, mkdirSync, readFileSync, rmSync } from "node:fs";
import { dirname, join } from "node:path";
import { TARGET } from "./paths.mjs";
import { isMain, main, run, Stop } from "./run.mjs";
import { buildCargoMutants, findCargo } from "./setup.mjs";

/** In running order: the pure decisions first, the machine that uses them last. */
const MODULES = [
  "verdict",
  "budget",
  "retry_after",
  "fingerprint",
  "contract",
  "structured",
  "backoff",
  "reconcile",
  "key",
  "slot",
  "record",
  "http_date",
  "json",
  "operation",
  "machine",
];
const FOLDER = join(TARGET, "mutants");
const TEST_SECONDS_MAX = 60;
const KINDS = ["caught", "previously_caught", "unviable", "missed", "timeout"];
/** What cargo-mutants ends with when every mutant was looked at and some survived or hung. */
const SURVIVORS = /ended with [23]\b/;

export async function mutants(args) {
  const { modules, shards, fresh } = read(args);
  findCargo();
  const program = await buildCargoMutants();
  const lines = [];
  for (const name of modules) lines.push(await mutate(program, name, shards, fresh));
  console.log(`\n${lines.join("\n")}`);
}

function read(args) {
  const fresh = args.includes("--fresh");
  const modules = [];
  let shards = 1;
  for (let at = 0; at < args.length; at += 1) {
    if (args[at] === "--shards") shards = Number(args[++at]);
    else if (args[at] !== "--fresh") modules.push(args[at]);
  }
  if (!Number.isInteger(shards) || shards < 1) throw new Stop("--shards takes a whole number of at least 1.");
  const unknown = modules.find((name) => !MODULES.includes(name));
  if (unknown) throw new Stop(`There is no module \`${unknown}\`.`, `Modules: ${MODULES.join(" ")}`);
  return { modules: modules.length > 0 ? modules : MODULES, shards, fresh };
}

/** One module, in a copy of the checkout: the working tree is never changed. */
async function mutate(program, name, shards, fresh) {
  const survivors = [];
  let total = 0;
  for (let shard = 0; shard < shards; shard += 1) {
    const output = join(FOLDER, `${name}-${shard}-of-${shards}`);
    if (fresh) rmSync(output, { recursive: true, force: true });
    mkdirSync(output, { recursive: true });
    console.log(`\n=== ${name}, shard ${shard + 1} of ${shards}`);
    await mutateShard(program, name, `${shard}/${shards}`, output);
    // An earlier run's caught and unbuildable ones are left out of this one and listed as such.
    for (const kind of KINDS) total += listed(output, kind).length;
    survivors.push(...listed(output, "missed"), ...listed(output, "timeout"));
  }
  const line = `${name}: ${total} mutants, ${survivors.length} survived`;
  return [line, ...survivors.map((survivor) => `  ${survivor}`)].join("\n");
}

async function mutateShard(program, name, shard, output) {
  const scope = ["-p", "postonce-core", "-f", `core/src/${name}.rs`, "-f", `core/src/${name}/**`, "--all-features"];
  const limits = ["--timeout", String(TEST_SECONDS_MAX), "--no-shuffle", "--colors", "never", "--iterate"];
  const tests = ["--cargo-test-arg=--lib", "--cargo-test-arg=--tests"];
  const args = ["mutants", ...scope, ...limits, "--shard", shard, "--output", output, ...tests];
  try {
    // cargo finds a tool on PATH only.
    await run("cargo", args, {
      env: { PATH: `${dirname(program)}:${process.env.PATH}`, CARGO_TARGET_DIR: undefined },
    });
  } catch (error) {
    if (!(error instanceof Stop) || !SURVIVORS.test(error.message)) throw error;
  }
}

function listed(output, kind) {
  const file = join(output, "mutants.out", `${kind}.txt`);
  return existsSync(file) ? readFileSync(file, "utf8").split("\n").filter(Boolean) : [];
}

if (isMain(import.meta.url)) await main(() => mutants(process.argv.slice(2)));
