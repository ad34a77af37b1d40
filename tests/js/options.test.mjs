// The facade's check of options against the vectors that the core runs too, and what only the facade can see. The
// checks are bundled from their sources here; only the import of the whole package needs a build.
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { afterEach, test } from "node:test";
import { fileURLToPath } from "node:url";
import { build } from "esbuild";

const { vectors } = JSON.parse(readFileSync(new URL("../vectors/options.json", import.meta.url), "utf8"));
const NUMBERS = { NaN: Number.NaN, Infinity: Number.POSITIVE_INFINITY };
const NUMERIC = ["budget", "attempts", "attemptCap", "retention"];
const SOUND = { name: "order.create", url: "https://shop.test/orders" };

const { checkHeaders, checkOptions, isSecretControl, MisuseError, ModuleError, OptionError, PostonceError } =
  await bundled(["errors", "options"]);

async function bundled(names) {
  const contents = names.map((name) => `export * from "./${name}.ts";`).join("");
  const resolveDir = fileURLToPath(new URL("../../js", import.meta.url));
  const { outputFiles } = await build({
    stdin: { contents, resolveDir },
    bundle: true,
    format: "esm",
    target: "es2022",
    write: false,
  });
  return import(`data:text/javascript;base64,${Buffer.from(outputFiles[0].contents).toString("base64")}`);
}

afterEach(() => {
  delete globalThis.document;
});

function thrownBy(act) {
  try {
    act();
    return undefined;
  } catch (error) {
    return error;
  }
}

/** What the check says in a document of that URL, or in none. */
function refusalOf(options, baseURI) {
  if (baseURI === undefined) delete globalThis.document;
  else globalThis.document = { baseURI };
  return thrownBy(() => checkOptions(options));
}

function refusalOfVector({ input, base }) {
  const options = { ...input };
  for (const name of NUMERIC) if (name in input) options[name] = NUMBERS[input[name]] ?? input[name];
  return refusalOf(options, base);
}

const control = (attributes) => ({ getAttribute: (name) => attributes[name] ?? null });

test("the_vectors_were_not_cut_short", () => {
  assert.ok(vectors.length >= 94 && vectors.filter(({ ok }) => ok).length >= 20);
});

for (const vector of vectors) {
  const { name, ok, field, rule, item } = vector;
  test(`r125_given_${name.replaceAll(/\W+/g, "_")}_then_the_facade_says_what_the_core_says`, () => {
    const error = refusalOfVector(vector);
    if (ok) {
      assert.equal(error, undefined);
      return;
    }
    assert.ok(error instanceof OptionError && error instanceof PostonceError && error instanceof Error, String(error));
    assert.deepEqual([error.name, error.code], ["OptionError", "invalid_option"]);
    assert.deepEqual([error.field, error.rule, error.item], [field, rule, item ?? null]);
    const about = item ? `${field} (${item})` : field;
    assert.equal(error.message, `postonce: ${about}: ${rule}. ${error.remedy}`);
    assert.match(error.remedy, /^[A-Z].{7,}\.$/, "never without a remedy");
  });
}

test("r125_given_several_faults_then_the_one_that_the_core_names_first", () => {
  for (const [options, field, rule] of [
    [{ persistence: "b", attemptCap: 0 }, "attemptCap", "out-of-range"],
    [{ object: "many", remember: ["password"] }, "remember", "sensitive-remember"],
    [{ method: "GET", effect: "twice" }, "effect", "unknown-value"],
    [{ retention: 0, encoding: "xml" }, "encoding", "unknown-value"],
    [{ resultId: "id", reconcile: "read_object" }, "reconcile", "status-url-missing"],
  ]) {
    const error = refusalOf({ ...SOUND, ...options });
    assert.deepEqual([error?.field, error?.rule], [field, rule]);
  }
});

test("r125_given_fractions_of_a_millisecond_then_they_never_make_an_attempt_longer_than_the_round", () => {
  assert.equal(refusalOf({ ...SOUND, budget: 1000.2, attemptCap: 1000.9 }), undefined);
  assert.equal(refusalOf({ ...SOUND, budget: 1000.9, attemptCap: 1001 }).rule, "cap-above-budget");
});

test("r125_given_words_or_limits_then_the_remedy_lists_them", () => {
  assert.match(refusalOf({ ...SOUND, method: "BREW" }).remedy, /POST, PUT, PATCH, DELETE/);
  assert.match(refusalOf({ ...SOUND, attempts: 11 }).remedy, /1 to 10/);
  assert.match(refusalOf({ ...SOUND, name: "a".repeat(65) }).remedy, /64/);
  assert.match(refusalOf({ ...SOUND, significant: Array(129).fill("sku") }).remedy, /128/);
});

test("given_an_unknown_option_then_it_is_named_with_close_ones_and_never_ignored", () => {
  for (const [name, close] of [
    ["budgt", "Use instead: budget."],
    ["URL", "Use instead: url."],
    ["attemptsMax", "Use instead: attempts, attemptCap."],
    ["statusUrl", "Use instead: status."],
  ]) {
    const error = refusalOf({ ...SOUND, [name]: 1 });
    assert.deepEqual([error?.field, error?.rule, error?.remedy], [name, "unknown-option", close]);
  }
  assert.match(refusalOf({ ...SOUND, zzz: 1 }).remedy, /name, url, .*transport/, "nothing is close: all of them");
});

test("given_an_option_named_like_a_member_of_every_object_then_it_is_unknown_too", () => {
  for (const name of ["constructor", "toString", "hasOwnProperty", "__proto__"]) {
    const options = JSON.parse(`{"name":"x","url":"https://shop.test/","${name}":"y"}`);
    assert.deepEqual([refusalOf(options)?.field, refusalOf(options)?.rule], [name, "unknown-option"]);
  }
});

test("given_an_unknown_member_of_an_option_then_it_is_named_with_its_place", () => {
  for (const [options, field] of [
    [{ status: { URL: "https://shop.test/status" } }, "status.URL"],
    [{ confirm: { emtpy: true } }, "confirm.emtpy"],
  ]) {
    const error = refusalOf({ ...SOUND, ...options });
    assert.deepEqual([error?.field, error?.rule], [field, "unknown-option"]);
  }
  assert.deepEqual([refusalOf({ ...SOUND, status: {} })?.field], ["status.url"]);
});

test("given_an_option_of_another_type_then_it_is_named_with_the_right_one", () => {
  for (const [name, value, type] of [
    ["name", 7, "string"],
    ["url", null, "string"],
    ["url", new URL("https://shop.test/"), "string"],
    ["method", ["POST"], "string"],
    ["budget", "8000", "number"],
    ["retention", 1n, "number"],
    ["significant", "sku", "string[]"],
    ["remember", [1], "string[]"],
    ["expect", [], "object"],
    ["expect", new Map([["sku", "/sku"]]), "object"],
    ["status", "/status", "object"],
    ["anonymous", 1, "boolean"],
    ["headers", {}, "function"],
    ["transport", "fetch", "function"],
    ["keepalive", "yes", "boolean"],
  ]) {
    const error = refusalOf({ ...SOUND, [name]: value });
    assert.deepEqual([error?.field, error?.rule], [name, "wrong-type"]);
    assert.ok(error.remedy.includes(type) && error.message.includes(`${name}: `), error.message);
  }
  assert.equal(refusalOf({ ...SOUND, confirm: { empty: "yes" } })?.field, "confirm.empty");
  assert.equal(refusalOf({ ...SOUND, expect: { sku: ["/sku"] } })?.rule, "malformed-pointer");
});

test("given_no_options_at_all_then_that_is_said", () => {
  for (const nothing of [undefined, null, "order", 1, [], () => SOUND]) {
    const error = refusalOf(nothing);
    assert.deepEqual([error?.field, error?.rule], ["options", "wrong-type"]);
  }
});

test("given_unknown_words_for_refusals_or_echo_then_they_are_refused", () => {
  for (const name of ["refusals", "echo"]) {
    const error = refusalOf({ ...SOUND, [name]: "retry" });
    assert.deepEqual([error?.field, error?.rule, error?.item], [name, "unknown-value", "retry"]);
  }
});

test("given_options_left_undefined_and_functions_then_they_are_fine", () => {
  const options = { ...SOUND, budget: undefined, status: undefined, headers: () => ({}), transport: fetch };
  assert.equal(refusalOf(options), undefined);
});

test("given_headers_of_the_application_then_those_of_the_contract_are_never_among_them", () => {
  assert.equal(
    thrownBy(() => checkHeaders({ "X-CSRF-Token": "t", Authorization: "Bearer x" })),
    undefined,
  );
  assert.equal(
    thrownBy(() => checkHeaders({})),
    undefined,
  );
  for (const name of ["Idempotency-Key", "idempotency-key", "IDEMPOTENCY-Subject"]) {
    const error = thrownBy(() => checkHeaders({ name: "x", [name]: "y" }));
    assert.deepEqual([error?.field, error?.rule, error?.item], ["headers", "reserved-name", name]);
    assert.ok(error.remedy && error.message.includes(name), error.message);
  }
});

test("given_header_values_that_are_no_texts_then_they_are_refused_by_name_and_never_shown", () => {
  for (const value of [undefined, null, 4711, ["4711"]]) {
    const error = thrownBy(() => checkHeaders({ "X-CSRF-Token": value }));
    assert.deepEqual([error?.field, error?.rule, error?.item], ["headers", "wrong-type", "X-CSRF-Token"]);
    assert.ok(!error.message.includes("4711"));
  }
});

test("given_headers_without_members_then_they_are_refused_and_never_left_out_unsaid", () => {
  const token = { "X-CSRF-Token": "t" };
  for (const headers of [new Headers(token), Promise.resolve(token), Object.entries(token), new Map(), "x", null]) {
    const error = thrownBy(() => checkHeaders(headers));
    assert.ok(error instanceof MisuseError, String(error));
    assert.deepEqual([error.code, error.field], ["unsupported_headers", "headers"]);
    assert.ok(error.remedy && error.message.includes(error.remedy));
  }
});

test("r88_given_a_control_that_says_secret_in_any_spelling_then_it_is_one", () => {
  for (const attributes of [
    { type: "password" },
    { type: "PassWord" },
    { autocomplete: "one-time-code" },
    { type: "text", autocomplete: "current-password" },
    { autocomplete: "new-password webauthn" },
    { autocomplete: "section-pay billing CC-Number" },
    { autocomplete: "cc-csc" },
    { autocomplete: "cc-exp-month" },
  ]) {
    assert.equal(isSecretControl(control(attributes)), true, JSON.stringify(attributes));
  }
});

test("r88_given_a_control_of_a_wish_then_it_is_no_secret", () => {
  for (const attributes of [
    {},
    { type: "number", autocomplete: "off" },
    { type: "text", autocomplete: "section-cc-blue shipping street-address" },
    { type: "email", autocomplete: "username" },
  ]) {
    assert.equal(isSecretControl(control(attributes)), false, JSON.stringify(attributes));
  }
});

test("given_a_code_of_misuse_then_its_remedy_is_never_empty", () => {
  const codes =
    "open_unknown not_now not_offered too_soon too_old other_fields no_such not_an_operation subject_missing object_missing form_not_found invalid_payload unsupported_headers unbound not_volatile file_unsupported no_secure_random unknown_outcome";
  for (const code of codes.split(" ")) {
    const { name, remedy, message } = new MisuseError(code);
    assert.equal(name, "MisuseError");
    assert.ok(remedy, code);
    assert.equal(message, `postonce: ${code}. ${remedy}`);
  }
  assert.match(new MisuseError("form_not_found", "#order").message, /^postonce: #order: form_not_found\. /);
});

test("r80_given_no_module_then_the_error_keeps_its_cause", () => {
  const cause = new TypeError("blocked");
  const error = new ModuleError(cause);
  assert.deepEqual(
    [error.name, error.code, error.field, error.cause],
    ["ModuleError", "module_unavailable", null, cause],
  );
  assert.match(error.message, /postonce_bg\.wasm/);
});

test("given_node_without_a_document_then_the_import_has_no_effect_and_a_relative_url_is_refused", async () => {
  const before = Object.keys(globalThis);
  const { defineOperation } = await import("../../dist/index.js");
  assert.deepEqual(Object.keys(globalThis), before);
  const error = thrownBy(() => defineOperation({ ...SOUND, url: "/orders" }));
  assert.deepEqual([error.name, error.field, error.rule], ["OptionError", "url", "relative-url-without-base"]);
});
