// `test` for scenarios that some engine cannot run: such a one is left out there if `cannot.json` says so and why.
import { readFileSync } from "node:fs";
import { test as declare } from "node:test";
import { currentEngine } from "../../scripts/engines.mjs";

const engine = currentEngine();
const cannot = JSON.parse(readFileSync(new URL("cannot.json", import.meta.url), "utf8"));

/**
 * @param {string} scenario
 * @param {() => unknown} act
 */
export function test(scenario, act) {
  const entry = cannot.find((entry) => entry.engine === engine && entry.scenario === scenario);
  declare(scenario, entry ? { skip: `${engine} cannot: ${entry.reason}` } : {}, act);
}
