// docs/planted.md is not stale: it names every planted bug with its rule, and tests that exist.
import assert from "node:assert/strict";
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { ROOT } from "../../scripts/paths.mjs";

const BUGS = readFileSync(join(ROOT, "core", "src", "planted.rs"), "utf8").matchAll(
  /^ {4}\w+ "([a-z0-9-]+)" "(R\d+)" "[^"]+",$/gm,
);
const ROWS = readFileSync(join(ROOT, "docs", "planted.md"), "utf8").matchAll(
  /^\| ([a-z0-9-]+) \| (R\d+) \| ([^|]+) \| ([^|]+) \|$/gm,
);
const bugs = new Map([...BUGS].map(([, name, rule]) => [name, rule]));
const rows = [...ROWS].map(([, name, rule, schedules, tests]) => ({ name, rule, schedules, tests }));

function sources(folder) {
  const entries = readdirSync(folder, { recursive: true, encoding: "utf8" });
  return entries
    .filter((name) => name.endsWith(".rs"))
    .map((name) => readFileSync(join(folder, name), "utf8"))
    .join("\n");
}

test("given_the_planted_bugs_then_the_page_has_a_row_for_each_with_its_rule_and_no_other", () => {
  assert.ok(bugs.size >= 60, "the list was read");
  assert.deepEqual(new Map(rows.map(({ name, rule }) => [name, rule])), bugs);
});

test("given_a_row_then_a_test_turns_red_and_every_test_that_it_names_exists", () => {
  const code = sources(join(ROOT, "core", "src"));
  for (const { name, schedules, tests } of rows) {
    const named = [...tests.matchAll(/`(\w+)`/g)].map(([, test]) => test);
    assert.ok(named.length > 0 || /^\d/.test(schedules), `${name}: nothing catches it`);
    for (const test of named) assert.ok(code.includes(`fn ${test}(`), `${name}: there is no test ${test}`);
  }
});
