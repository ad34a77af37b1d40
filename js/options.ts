/**
 * Options are checked when an operation is defined, before the module is there. The core checks the same rules in the
 * same order; both run tests/vectors/options.json.
 */
import { MisuseError, OptionError } from "./errors.js";
import type { OperationOptions } from "./types.js";

const NAME_BYTES_MAX = 64;
const URL_BYTES_MAX = 2_048;
const LIST_MAX = 128;
const BUDGET_DEFAULT = 8_000;
const BUDGET_MAX = 600_000;
const ATTEMPTS_MAX = 10;
const SKEW = 300_000;
const RETENTION_MAX = 3_653 * 86_400_000;
const RESERVED = "_idempotency_";
/** So many first letters in common make a name close to a misspelt one. */
const CLOSE_LETTERS = 2;

/** A type; the words to choose from; the least and the largest number; or the members of an object. */
type Spec = string | readonly string[] | readonly [number, number] | Specs;
type Specs = { readonly [name: string]: Spec };

/** Every option, in the order in which the core checks them. */
const OPTIONS: Specs = {
  name: "string",
  url: "string",
  status: { url: "string" },
  effect: ["none", "idempotent", "once"],
  method: ["POST", "PUT", "PATCH", "DELETE"],
  contract: ["postonce", "ietf", "bare"],
  reconcile: ["status_by_key", "read_object", "manual"],
  significant: "string[]",
  volatile: "string[]",
  remember: "string[]",
  expect: "object",
  resultId: "string",
  budget: [1, BUDGET_MAX],
  attempts: [1, ATTEMPTS_MAX],
  attemptCap: [1, BUDGET_MAX],
  object: ["required", "singleton"],
  persistence: ["required", "best-effort"],
  encoding: ["json", "urlencoded", "multipart"],
  // Less the skew something has to be left (R28).
  retention: [SKEW + 1, RETENTION_MAX],
  confirm: { empty: "boolean", redirectedTo: "string" },
  anonymous: "boolean",
  refusals: ["final"],
  echo: ["none"],
  headers: "function",
  transport: "function",
  keepalive: "boolean",
};

/** A secret by its name: whole words, or letters that say so anywhere (R88). */
const SECRET_WORDS =
  /-(pwd?|pin|t?otp|mfa|2-fa|(sms|auth)-code|user-pass|pan|cv[cnv]|csc|card-(no|num|code|exp|expiry)|card-?holder|cc-(num|no|name|type)|cc-?(number|exp)|cccsc)-|^-pass-$/;
const SECRET_LETTERS =
  /pass(word|wd|code|phrase)|onetime(code|pin)|(verification|security)code|(credit|debit)card|card(number|cvc|cvv)/;
const SECRET_CONTROL = /(^|\s)(((current|new)-)?password|one-time-code|cc-\S+)(\s|$)/i;

function isSecretName(name: string): boolean {
  const words = name.match(/[A-Z]*[a-z\x80-\uffff]+|[A-Z]+|\d+/g) ?? [];
  const spelt = (between: string): string => words.join(between).toLowerCase();
  return SECRET_WORDS.test(`-${spelt("-")}-`) || SECRET_LETTERS.test(spelt(""));
}

/** A control whose type or `autocomplete` says secret, whatever its name (R88). */
export function isSecretControl(control: Element): boolean {
  return SECRET_CONTROL.test(`${control.getAttribute("type")} ${control.getAttribute("autocomplete")}`);
}

/**
 * The application's own headers: texts, and none of the contract's.
 *
 * @throws OptionError naming the header; MisuseError for a `Headers`, a promise or anything else without members: what
 * it holds would be left out unsaid.
 */
export function checkHeaders(headers: Readonly<Record<string, unknown>>): void {
  if (!isOfType(headers, "object")) throw new MisuseError("unsupported_headers", "headers");
  for (const [name, value] of Object.entries(headers)) {
    if (/^idempotency-/i.test(name)) fail("headers", "reserved-name", name);
    checkType("headers", value, "string", name);
  }
}

function fail(field: string, rule: string, item?: string, remedy?: string): never {
  throw new OptionError(field, rule, item, remedy);
}

function isOfType(value: unknown, type: string): boolean {
  if (type === "string[]") return Array.isArray(value) && value.every((item) => typeof item === "string");
  return type === "object" ? {}.toString.call(value) === "[object Object]" : typeof value === type;
}

function checkType(field: string, value: unknown, type: string, item?: string): void {
  if (!isOfType(value, type)) fail(field, "wrong-type", item, `Use a value of type ${type}.`);
}

const useOneOf = (words: readonly unknown[]): string => `Use instead: ${words.join(", ")}.`;

function checkShape(given: object, specs: Specs, within: string): void {
  const names = Object.keys(specs);
  for (const [name, value] of Object.entries(given)) {
    if (!names.includes(name)) {
      const close = names.filter((known) => known.startsWith(name.slice(0, CLOSE_LETTERS).toLowerCase()));
      fail(within + name, "unknown-option", undefined, useOneOf(close[0] ? close : names));
    }
    const spec = specs[name] as Spec;
    if (value === undefined) continue;
    if (typeof spec === "string") checkType(within + name, value, spec);
    else if (Array.isArray(spec)) checkType(within + name, value, typeof spec[0]);
    else {
      checkType(within + name, value, "object");
      checkShape(value, spec as Specs, `${within + name}.`);
    }
  }
}

function checkCount(field: string, count: number, most: number): void {
  if (count > most) fail(field, "over-limit", undefined, `Use at most ${most}.`);
}

function checkText(field: string, text = "", most: number): void {
  if (!text) fail(field, "missing");
  checkCount(field, new TextEncoder().encode(text).length, most);
}

function checkUrl(field: string, url = ""): void {
  checkText(field, url, URL_BYTES_MAX);
  // A URL parser drops tabs and reads a backslash as a slash: what is checked would not be what is used.
  if (/[\0- \\\x7f]/.test(url)) fail(field, "malformed-url");
  const [, scheme, slashes, host = ""] = /^([a-z][a-z\d+.-]*:)?(\/\/)?([^/?#]*)/i.exec(url) ?? [];
  if (!/^https?:/i.test(scheme ?? `${globalThis.document?.baseURI}`)) {
    fail(field, scheme ? "unsupported-scheme" : "relative-url-without-base");
  }
  if (slashes && host.includes("@")) fail(field, "url-with-credentials");
  if (slashes ? /^(:|$)/.test(host) : scheme) fail(field, "malformed-url");
}

function checkNames({
  volatile = [],
  significant = [],
  remember = [],
  expect = {},
  resultId = "",
}: OperationOptions): void {
  for (const [field, names] of Object.entries({ significant, volatile, remember, expect: Object.keys(expect) })) {
    checkCount(field, names.length, LIST_MAX);
    for (const name of names) {
      if (!name) fail(field, "missing");
      if (name.startsWith(RESERVED)) fail(field, "reserved-name", name);
      if (field === "expect" && volatile.includes(name)) fail(field, "volatile-name", name);
    }
  }
  for (const name of volatile) if (significant.includes(name)) fail("volatile", "significant-and-volatile", name);
  for (const name of remember) {
    if (isSecretName(name)) fail("remember", "sensitive-remember", name);
    if (volatile.includes(name)) fail("remember", "volatile-name", name);
  }
  const checkPointer = (field: string, to: unknown, item?: string): void => {
    if (typeof to !== "string" || !/^(\/([^~]|~[01])*)?$/.test(to)) fail(field, "malformed-pointer", item);
  };
  checkPointer("resultId", resultId);
  for (const [name, to] of Object.entries(expect)) checkPointer("expect", to, name);
}

/**
 * Checks what `defineOperation` was given.
 *
 * @throws OptionError naming the option, the rule and the remedy.
 */
export function checkOptions(options: OperationOptions): void {
  checkType("options", options, "object");
  checkShape(options, OPTIONS, "");
  const { name, url, status, confirm, effect, budget = BUDGET_DEFAULT } = options;
  checkText("name", name, NAME_BYTES_MAX);
  if (!/^[\w.-]+$/.test(name)) fail("name", "malformed-name");
  checkUrl("url", url);
  if (status) checkUrl("status.url", status.url);
  if (confirm?.redirectedTo !== undefined) checkUrl("confirm.redirectedTo", confirm.redirectedTo);
  for (const [field, spec] of Object.entries(OPTIONS)) {
    const value: unknown = options[field as keyof OperationOptions];
    if (field === "expect") checkNames(options);
    if (value === undefined || !Array.isArray(spec)) continue;
    if (typeof value === "number") {
      // NaN fails both comparisons.
      if (!(value >= spec[0] && value <= spec[1]))
        fail(field, "out-of-range", undefined, `Use a number from ${spec[0]} to ${spec[1]}.`);
      if (field === "attempts" && value % 1) fail(field, "not-an-integer");
      // Fractions of a millisecond do not count.
      if (field === "attemptCap" && value >= Math.floor(budget) + 1) fail(field, "cap-above-budget");
    } else if (!spec.includes(value)) {
      if (field === "method" && /^(GET|HEAD)$/.test(`${value}`) && effect !== "none")
        fail(field, "safe-method-with-effect");
      fail(field, "unknown-value", `${value}`, useOneOf(spec));
    }
    if (field === "reconcile" && value !== "manual" && !status) fail(field, "status-url-missing");
  }
}
