// `npm run planted`: plants every bug, runs the unit tests of the core and the simulator against it, and writes what caught
// it to docs/planted.md. A bug that nothing catches is a hole, and fails.
import { spawnSync } from "node:child_process";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { ROOT } from "./paths.mjs";
import { main, run, Stop } from "./run.mjs";

/** Schedules that the simulator gets for each bug. */
const SCHEDULES = "40_000";
const SIM = ["run", "--release", "--quiet", "-p", "postonce-sim", "--"];
const UNIT = ["test", "--quiet", "-p", "postonce-core", "--lib", "--features", "planted"];

await main(async () => {
  await run("cargo", [...UNIT, "--no-run"]);
  const hunted = captured([...SIM, "planted", "--schedules", SCHEDULES]);
  const rows = hunted.stdout.split("\n").flatMap((line) => {
    const [, name, rule, schedules, how] =
      /^(\S+)\s+(R\d+)\s+(?:caught at\s+(\d+)\s+(R\d+): .*|MISSED.*)$/.exec(line) ?? [];
    return name && rule ? [{ name, rule, schedules, how, tests: failing(name) }] : [];
  });
  if (rows.length === 0) throw new Stop(`The simulator printed no bugs:\n${hunted.stdout}${hunted.stderr}`);
  writeFileSync(join(ROOT, "docs", "planted.md"), page(rows));
  const missed = rows.filter(({ schedules, tests }) => !schedules && tests.length === 0);
  if (missed.length > 0) throw new Stop(`Nothing catches ${missed.map(({ name }) => name).join(", ")}.`);
});

/** @param {string[]} args @param {Record<string, string>} [env] */
function captured(args, env) {
  return spawnSync("cargo", args, { cwd: ROOT, encoding: "utf8", env: { ...process.env, ...env } });
}

/** The unit tests that this bug turns red. @param {string} bug */
function failing(bug) {
  const { stdout } = captured([...UNIT, "--", "--test-threads", "2"], { POSTONCE_PLANTED: bug, RUST_BACKTRACE: "0" });
  return [...stdout.matchAll(/^ {4}(\S+)$/gm)]
    .map(([, name]) => name ?? "")
    .filter((name, at, all) => all.indexOf(name) === at);
}

/** @param {{ name: string, rule: string, schedules: string | undefined, how: string | undefined, tests: string[] }[]} rows */
function page(rows) {
  const caught = rows.filter(({ schedules }) => schedules).length;
  const red = rows.filter(({ tests }) => tests.length > 0).length;
  const lines = rows.map(({ name, rule, schedules, how, tests }) => {
    const found = schedules ? `${schedules} (${how})` : "not";
    const shown = tests.slice(0, 3).map((test) => `\`${test.replace(/^.*::/, "")}\``);
    const more = tests.length > 3 ? ` and ${tests.length - 3} more` : "";
    return `| ${name} | ${rule} | ${found} | ${shown.join("<br>") || "none"}${more} |`;
  });
  return `# Planted bugs

Written by \`npm run planted\`. Each bug is a switch in the core's own code (\`core/src/planted.rs\`) that breaks one rule; a
product build contains none of them. Of ${rows.length} bugs the simulator catches ${caught} within ${SCHEDULES.replace("_", " ")} schedules, the core's unit
tests ${red}.

| bug | rule | schedules until a world broke (the rule it broke) | unit tests that turn red |
| --- | --- | --- | --- |
${lines.join("\n")}
`;
}
