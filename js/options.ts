/**
 * Options are checked when an operation is defined, before the module is there. The core checks the same rules in the
 * same order; both run tests/vectors/options.json.
 */
import { OptionError } from "./errors.js";
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

/** Type of every option; a list of words stands for exactly those. */
const OPTIONS: Readonly<Record<string, string | readonly string[]>> = {
  name: "string",
  url: "string",
  status: "object",
  effect: ["none", "idempotent", "once"],
  method: ["POST", "PUT", "PATCH", "DELETE"],
  contract: ["postonce", "ietf", "bare"],
  reconcile: ["status_by_key", "read_object", "manual"],
  significant: "list",
  volatile: "list",
  remember: "list",
  expect: "object",
  resultId: "string",
  budget: "number",
  attempts: "number",
  attemptCap: "number",
  object: ["required", "singleton"],
  persistence: ["required", "best-effort"],
  encoding: ["json", "urlencoded", "multipart"],
  retention: "number",
  confirm: "object",
  anonymous: "boolean",
  refusals: ["final"],
  echo: ["none"],
  headers: "function",
  transport: "function",
};

/** A secret by its name: whole words, or letters that say so anywhere (R88). */
const SECRET_WORDS =
  /-(?:pwd|pw|pin|otp|totp|mfa|2-fa|sms-code|auth-code|user-pass|pan|cvc|cvv|csc|cvn|card-(?:no|num|code|exp|expiry|holder)|cardholder|cc-(?:number|num|no|exp|name|type)|ccnumber|ccexp|cccsc)-|^-pass-$/;
const SECRET_LETTERS =
  /password|passwd|passcode|passphrase|onetime(?:code|pin)|(?:verification|security)code|(?:credit|debit)card|card(?:number|cvc|cvv)/;

function isSecretName(name: string): boolean {
  const words = name
    .replace(/([a-z\u0080-\uffff])(?=[A-Z0-9])|([A-Z])(?=[0-9])|([0-9])(?=[A-Za-z\u0080-\uffff])/g, "$1$2$3-")
    .replace(/[\0-/:-@[-`{-\x7f]+/g, "-")
    .toLowerCase();
  return SECRET_WORDS.test(`-${words}-`.replace(/-+/g, "-")) || SECRET_LETTERS.test(words.replaceAll("-", ""));
}

/** A control whose type or `autocomplete` says secret, whatever its name (R88). */
export function isSecretControl(control: Element): boolean {
  return (
    control.getAttribute("type")?.toLowerCase() === "password" ||
    /\b(?:one-time-code|(?:current|new)-password|cc-[a-z-]+)\b/.test(control.getAttribute("autocomplete") ?? "")
  );
}

/** The application's own headers: texts, and none of the contract's. */
export function checkHeaders(headers: Readonly<Record<string, unknown>>): void {
  for (const [name, value] of Object.entries(headers)) {
    if (/^idempotency-/i.test(name)) fail("headers", "reserved-name", name);
    if (typeof value !== "string") fail("headers", "wrong-type", name);
  }
}

function fail(field: string, rule: string, item?: string): never {
  throw new OptionError(field, rule, item);
}

function isOfType(value: unknown, type: string): boolean {
  if (type === "list") return Array.isArray(value) && value.every((item) => typeof item === "string");
  return typeof value === type && value !== null && !Array.isArray(value);
}

const bytesOf = (text: string): number => new TextEncoder().encode(text).length;

function checkUrl(field: string, url: string): void {
  const scheme = /^([a-z][a-z0-9+.-]*):/i;
  const http = /^https?$/i;
  if (!url) fail(field, "missing");
  if (bytesOf(url) > URL_BYTES_MAX) fail(field, "over-limit");
  // A URL parser drops tabs and reads a backslash as a slash: what is checked would not be what is used.
  if (/[\0- \\\x7f]/.test(url)) fail(field, "malformed-url");
  const own = scheme.exec(url);
  if (own && !http.test(own[1] ?? "")) fail(field, "unsupported-scheme");
  const base = globalThis.document?.baseURI ?? "";
  if (!own && !http.test(scheme.exec(base)?.[1] ?? "")) fail(field, "relative-url-without-base");
  const rest = own ? url.slice(own[0].length) : url;
  if (!rest.startsWith("//")) {
    if (own) fail(field, "malformed-url");
    return;
  }
  const authority = /^[^/?#]*/.exec(rest.slice(2))?.[0] ?? "";
  if (authority.includes("@")) fail(field, "url-with-credentials");
  if (!authority || authority.startsWith(":")) fail(field, "malformed-url");
}

function checkNumber(field: string, value: number | undefined, least: number, most: number): void {
  // NaN fails both comparisons.
  if (value !== undefined && !(value >= least && value <= most)) fail(field, "out-of-range");
}

function checkNames(options: OperationOptions): void {
  const { volatile = [], significant = [], remember = [], expect = {} } = options;
  for (const [field, names] of Object.entries({ significant, volatile, remember, expect: Object.keys(expect) })) {
    if (names.length > LIST_MAX) fail(field, "over-limit");
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
  const pointer = /^(?:\/(?:[^~]|~[01])*)?$/s;
  if (!pointer.test(options.resultId ?? "")) fail("resultId", "malformed-pointer");
  for (const [name, to] of Object.entries(expect)) if (!pointer.test(to)) fail("expect", "malformed-pointer", name);
}

/**
 * Checks what `defineOperation` was given.
 *
 * @throws OptionError naming the option, the rule and the remedy.
 */
export function checkOptions(options: OperationOptions): void {
  if (typeof options !== "object" || !options) fail("options", "wrong-type");
  for (const [name, value] of Object.entries(options)) {
    const type = OPTIONS[name] ?? fail(name, "unknown-option");
    if (value !== undefined && !isOfType(value, typeof type === "string" ? type : "string")) fail(name, "wrong-type");
  }
  const { name, url, status, method, effect, reconcile, budget = BUDGET_DEFAULT, attempts, attemptCap } = options;
  if (!name) fail("name", "missing");
  if (bytesOf(name) > NAME_BYTES_MAX) fail("name", "over-limit");
  if (!/^[\w.-]+$/.test(name)) fail("name", "malformed-name");
  checkUrl("url", url ?? "");
  if (status) checkUrl("status.url", typeof status.url === "string" ? status.url : fail("status.url", "wrong-type"));
  if (/^(?:GET|HEAD)$/.test(method ?? "") && effect !== "none") fail("method", "safe-method-with-effect");
  for (const [field, words] of Object.entries(OPTIONS)) {
    const word = options[field as keyof OperationOptions];
    if (typeof words !== "string" && word !== undefined && !words.includes(String(word))) {
      fail(field, "unknown-value", String(word));
    }
  }
  if (reconcile && reconcile !== "manual" && !status) fail("reconcile", "status-url-missing");
  checkNames(options);
  checkNumber("budget", budget, 1, BUDGET_MAX);
  checkNumber("attempts", attempts, 1, ATTEMPTS_MAX);
  if (attempts !== undefined && !Number.isInteger(attempts)) fail("attempts", "not-an-integer");
  checkNumber("attemptCap", attemptCap, 1, BUDGET_MAX);
  if (attemptCap !== undefined && attemptCap > budget) fail("attemptCap", "cap-above-budget");
  checkNumber("retention", options.retention, SKEW + 1, RETENTION_MAX);
}
