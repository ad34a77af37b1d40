#!/usr/bin/env node
/** `npx postonce verify`: is this server safe to send a form to? */
import { writeFile } from "node:fs/promises";
import { Misuse, readPlan, USAGE } from "./plan.js";
import { exitStatus, jsonOf, junitOf, textOf } from "./report.js";
import { verify } from "./run.js";

/** As BSD's sysexits has it. */
const EXIT_MISUSE = 64;

async function main(words: readonly string[]): Promise<number> {
  const [command, ...rest] = words;
  if (command === undefined || command === "--help" || rest.includes("--help")) {
    process.stdout.write(`${USAGE}\n`);
    return command === undefined ? EXIT_MISUSE : 0;
  }
  if (command !== "verify") throw new Misuse(`there is no command ${command}, only verify`);
  const plan = readPlan(rest);
  const report = await verify(plan, Date.now);
  process.stdout.write(textOf(report));
  if (plan.json !== undefined) await writeFile(plan.json, jsonOf(report));
  if (plan.junit !== undefined) await writeFile(plan.junit, junitOf(report));
  return exitStatus(report);
}

try {
  process.exitCode = await main(process.argv.slice(2));
} catch (error) {
  if (!(error instanceof Misuse)) throw error;
  process.stderr.write(`postonce verify: ${error.message}\n(postonce verify --help)\n`);
  process.exitCode = EXIT_MISUSE;
}
