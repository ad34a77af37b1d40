// What the end-to-end step calls a fault: no scenario may go missing in an engine without a stated and sound reason.
import assert from "node:assert/strict";
import { test } from "node:test";
import { faultsOf } from "../../scripts/end-to-end.mjs";

const ENGINES = ["chromium", "firefox"];
const SELF = "tests/js/exceptions.test.mjs::given_a_sound_exception";
const EXCEPTION = { engine: "firefox", scenario: "one", reason: "It has no such thing.", covered_by: SELF };

/** What was seen of the scenario `one`. */
const seen = (chromium, firefox) => {
  const row = new Map([["chromium", { verdict: chromium, ms: 1 }]]);
  if (firefox) row.set("firefox", { verdict: firefox, ms: 1 });
  return new Map([["one", row]]);
};

test("given_a_sound_exception_and_nothing_else_left_out_then_no_fault", () => {
  assert.deepEqual(faultsOf(seen("passed", "passed"), ENGINES, []), []);
  assert.deepEqual(faultsOf(seen("passed", "left out"), ENGINES, [EXCEPTION]), []);
});

for (const [name, results, cannot, says] of [
  ["one_left_out_without_an_exception", seen("passed", "left out"), [], /firefox: one left out, not passed/],
  ["one_that_one_engine_never_ran", seen("passed"), [], /firefox: one was not run, not passed/],
  ["one_that_failed", seen("failed", "passed"), [], /chromium: one failed, not passed/],
  ["an_exception_that_is_run_all_the_same", seen("passed", "passed"), [EXCEPTION], /firefox: one passed, not left out/],
  [
    "an_exception_for_a_scenario_that_is_gone",
    seen("passed", "passed"),
    [{ ...EXCEPTION, scenario: "gone" }],
    /there is no such scenario/,
  ],
  [
    "an_exception_for_an_unknown_engine",
    seen("passed", "passed"),
    [{ ...EXCEPTION, engine: "mosaic" }],
    /there is no such engine/,
  ],
  ["an_exception_without_a_reason", seen("passed", "left out"), [{ ...EXCEPTION, reason: "" }], /gives no reason/],
  [
    "an_exception_that_no_test_covers",
    seen("passed", "left out"),
    [{ ...EXCEPTION, covered_by: "tests/js/exceptions.test.mjs::no such test".replace("such", "other") }],
    /covered_by names no test/,
  ],
]) {
  test(`given_${name}_then_it_is_named`, () => {
    const faults = faultsOf(results, ENGINES, cannot);
    assert.equal(faults.length, 1, faults.join("; "));
    assert.match(faults[0], says);
  });
}
