// The facade's check of options against the vectors that the core runs too, and what only the facade can see.
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { after, test } from "node:test";
import { defineOperation, OptionError } from "../../dist/index.js";

const { vectors } = JSON.parse(readFileSync(new URL("../vectors/options.json", import.meta.url), "utf8"));
const NUMBERS = { NaN: Number.NaN, Infinity: Number.POSITIVE_INFINITY };
const NUMERIC = ["budget", "attempts", "attemptCap", "retention"];
after(() => {
  delete globalThis.document;
});

function inDocument(baseURI, act) {
  if (baseURI === undefined) delete globalThis.document;
  else globalThis.document = { baseURI };
  return act();
}

const thrownBy = (act) => {
  try {
    act();
    return undefined;
  } catch (error) {
    return error;
  }
};

test("r125_given_each_shared_vector_then_the_facade_refuses_by_the_same_field_and_rule_as_the_core", () => {
  assert.ok(vectors.length >= 90, "the file was not cut short");
  for (const { name, input, base, ok, field, rule, item } of vectors) {
    const options = { ...input };
    for (const of of NUMERIC) options[of] = NUMBERS[input[of]] ?? input[of];
    const error = thrownBy(() => inDocument(base, () => defineOperation(options)));
    if (ok) {
      assert.equal(error, undefined, name);
      continue;
    }
    assert.ok(error instanceof OptionError, `${name}: not refused`);
    assert.deepEqual([error.field, error.rule, error.item ?? undefined], [field, rule, item], name);
  }
});

test("r125_given_any_refusal_then_its_message_names_the_field_and_the_remedy", () => {
  for (const { input, base, ok } of vectors) {
    if (ok) continue;
    const options = { ...input };
    for (const of of NUMERIC) options[of] = NUMBERS[input[of]] ?? input[of];
    const { message, field, remedy, code } = thrownBy(() => inDocument(base, () => defineOperation(options)));
    assert.equal(code, "invalid_option");
    assert.ok(remedy.length > 10 && message.includes(remedy) && message.includes(field), message);
  }
});

const SOUND = { name: "order.create", url: "https://shop.test/orders" };

test("given_an_unknown_option_then_it_is_named_and_never_ignored", () => {
  for (const [name, value] of [
    ["budgt", 1],
    ["URL", "x"],
    ["retries", 3],
  ]) {
    const error = thrownBy(() => defineOperation({ ...SOUND, [name]: value }));
    assert.deepEqual([error.field, error.rule], [name, "unknown-option"]);
  }
});

test("given_an_option_of_another_type_then_it_is_named", () => {
  const wrong = {
    name: 7,
    url: null,
    budget: "8000",
    significant: "sku",
    remember: [1],
    expect: [],
    headers: {},
    anonymous: 1,
  };
  for (const [name, value] of Object.entries(wrong)) {
    const error = thrownBy(() => defineOperation({ ...SOUND, [name]: value }));
    assert.deepEqual([error?.field, error?.rule], [name, "wrong-type"], name);
  }
  for (const nothing of [undefined, null, "order"])
    assert.ok(thrownBy(() => defineOperation(nothing)) instanceof OptionError);
});

test("given_node_without_a_document_then_the_import_has_no_effect_and_a_relative_url_is_refused", () => {
  const error = thrownBy(() => inDocument(undefined, () => defineOperation({ ...SOUND, url: "/orders" })));
  assert.deepEqual([error.field, error.rule], ["url", "relative-url-without-base"]);
});
