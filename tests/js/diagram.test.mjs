// docs/transitions.md shows the transitions as they are.
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { test } from "node:test";
import { PAGE, page } from "../../scripts/diagram.mjs";

test("given_the_table_of_transitions_then_the_diagram_is_not_stale", () => {
  assert.equal(readFileSync(PAGE, "utf8"), page(), "run `npm run diagram`");
});
