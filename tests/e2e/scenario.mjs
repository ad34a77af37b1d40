// `scenarios` for a file with scenarios that some engine cannot run: such a one is left out there if the `cannot.json` of
// its folder says so and why.
import { readFileSync } from "node:fs";
import { test } from "node:test";
import { currentEngine } from "../../scripts/engines.mjs";

/**
 * `test` for the file of that URL.
 * @param {string} file
 */
export function scenarios(file) {
  const engine = currentEngine();
  const cannot = JSON.parse(readFileSync(new URL("cannot.json", file), "utf8"));
  /**
   * @param {string} scenario
   * @param {(context: import("node:test").TestContext) => unknown} act
   */
  return (scenario, act) => {
    const entry = cannot.find((entry) => entry.engine === engine && entry.scenario === scenario);
    test(scenario, entry ? { skip: `${engine} cannot: ${entry.reason}` } : {}, act);
  };
}
