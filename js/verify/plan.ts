/** What to test and how: read from the command line and, under it, from a JSON file with the same names. */
import { readFileSync } from "node:fs";
import { parseArgs } from "node:util";
import { LEVELS, type Level } from "./verdict.js";

/** How to call the program. */
export const USAGE = `npx postonce verify --url URL --payload JSON (--counter URL | --result-id POINTER) [options]

Sends real commands to the server under test: use one whose effects do not matter. Only the URLs named here are called.

  --url URL               the command
  --method M              its method (POST)
  --payload JSON          a sample that is accepted; {unique} inside it becomes a fresh text for each wish
  --encoding json|form    how the sample is sent (json)
  --other-payload JSON    another wish that is accepted too (the sample with one value changed)
  --header 'NAME: VALUE'  sent along for the first subject; may be repeated
  --other-header …        the same for a second subject
  --subject TAG           Idempotency-Subject of the first subject; --other-subject of the second
  --contract C            postonce: all headers; ietf, bare: the key alone (postonce)
  --dialect D             quoted | bare: how the key is written (bare for --contract bare, else quoted)
  --key-header NAME       header of the key (Idempotency-Key)

  --counter URL           answers a number of effects; --counter-pointer POINTER finds it in JSON ("" for the whole)
  --result-id POINTER     counts effects by the ids in answers instead, where there is no counter

  --status URL            status and fence route
  --other-operation URL   another command that takes the same payload
  --refused-payload JSON  one the domain refuses with a 4xx
  --failing-payload JSON  one that ends in a 5xx
  --slow-payload JSON     one whose effect takes about a second, or
  --slow-hook COMMAND     makes the next command slow
  --restart-hook COMMAND  restarts the server and returns when it listens
  --down-hook COMMAND     takes the store of keys away; --up-hook COMMAND brings it back
  --origin ORIGIN         a page's origin that may call, to look at CORS
  --retention SECONDS     how long keys are kept (86400)

  --level N               highest level to try: 1 replay and parallel, 2 fingerprint and scope, 3 status, 4 fence (4)
  --without ID            leaves a check out; may be repeated
  --parallel N            requests at once (12)
  --requests-max N        (500)      --seconds-max N  (120)      --answer-ms N  (10000)
  --config FILE           JSON with any of these names; the command line wins
  --json FILE             writes findings as JSON         --junit FILE   writes them as JUnit XML

Exit: 0 clean; 1 warnings, parts not offered or not tested; 2 a double effect or a lost protection; 64 misuse.`;

/** Which headers travel. */
export type Contract = "postonce" | "ietf" | "bare";

/** Everything a run needs. Times in milliseconds unless the name says otherwise. */
export interface Plan {
  readonly url: URL;
  readonly method: string;
  readonly payload: Payload;
  readonly otherPayload: Payload;
  readonly encoding: "json" | "form";
  readonly first: Subject;
  readonly other: Subject | undefined;
  readonly contract: Contract;
  readonly dialect: "quoted" | "bare";
  readonly keyHeader: string;
  readonly counter: { readonly url: URL; readonly pointer: string } | undefined;
  readonly resultId: string | undefined;
  readonly status: URL | undefined;
  readonly otherOperation: URL | undefined;
  readonly refused: Payload | undefined;
  readonly failing: Payload | undefined;
  readonly slow: { readonly payload: Payload; readonly hook: string | undefined } | undefined;
  readonly restartHook: string | undefined;
  readonly outage: { readonly down: string; readonly up: string } | undefined;
  readonly origin: string | undefined;
  readonly retentionSeconds: number;
  readonly level: Level;
  readonly without: readonly string[];
  readonly parallel: number;
  readonly requestsMax: number;
  readonly secondsMax: number;
  readonly answerMs: number;
  readonly json: string | undefined;
  readonly junit: string | undefined;
}

/** Names and values of one command. */
export type Payload = Readonly<Record<string, unknown>>;

/** Who asks. */
export interface Subject {
  readonly headers: readonly (readonly [string, string])[];
  readonly tag: string | undefined;
}

/** The command line makes no sense; the message says which word. */
export class Misuse extends Error {
  override readonly name = "Misuse";
}

const TEXTS = [
  ...["url", "method", "payload", "encoding", "other-payload", "subject", "other-subject", "contract", "dialect"],
  ...["key-header", "counter", "counter-pointer", "result-id", "status", "other-operation", "refused-payload"],
  ...["failing-payload", "slow-payload", "slow-hook", "restart-hook", "down-hook", "up-hook", "origin", "retention"],
  ...["level", "parallel", "requests-max", "seconds-max", "answer-ms", "config", "json", "junit"],
] as const;
const LISTS = ["header", "other-header", "without"] as const;

/** Options as given, before anything is made of them. */
interface Raw {
  text(name: (typeof TEXTS)[number]): string | undefined;
  list(name: (typeof LISTS)[number]): readonly string[];
}

/**
 * Reads the words after `verify`.
 * @throws {Misuse} naming the first option that makes no sense.
 */
export function readPlan(words: readonly string[]): Plan {
  const raw = readRaw(words);
  const url = required(raw, "url", readUrl);
  const payload = required(raw, "payload", readPayload);
  const contract = oneOf("contract", raw.text("contract") ?? "postonce", ["postonce", "ietf", "bare"] as const);
  const counterUrl = optional(raw, "counter", readUrl);
  const resultId = optional(raw, "result-id", readPointer);
  if (!counterUrl && resultId === undefined) throw new Misuse("--counter or --result-id must say how to count effects");
  const counter = counterUrl && {
    url: counterUrl,
    pointer: optional(raw, "counter-pointer", readPointer) ?? "",
  };
  return {
    url,
    method: (raw.text("method") ?? "POST").toUpperCase(),
    payload,
    otherPayload: optional(raw, "other-payload", readPayload) ?? changed(payload),
    encoding: oneOf("encoding", raw.text("encoding") ?? "json", ["json", "form"] as const),
    first: { headers: raw.list("header").map(readHeader), tag: raw.text("subject") },
    other: readOther(raw),
    contract,
    dialect: oneOf("dialect", raw.text("dialect") ?? (contract === "bare" ? "bare" : "quoted"), [
      "quoted",
      "bare",
    ] as const),
    keyHeader: raw.text("key-header") ?? "Idempotency-Key",
    counter,
    resultId,
    status: optional(raw, "status", readUrl),
    otherOperation: optional(raw, "other-operation", readUrl),
    refused: optional(raw, "refused-payload", readPayload),
    failing: optional(raw, "failing-payload", readPayload),
    slow: readSlow(raw, payload),
    restartHook: raw.text("restart-hook"),
    outage: readOutage(raw),
    origin: raw.text("origin"),
    retentionSeconds: count(raw, "retention", 86_400),
    level: readLevel(raw.text("level") ?? "4"),
    without: raw.list("without"),
    parallel: count(raw, "parallel", 12),
    requestsMax: count(raw, "requests-max", 500),
    secondsMax: count(raw, "seconds-max", 120),
    answerMs: count(raw, "answer-ms", 10_000),
    json: raw.text("json"),
    junit: raw.text("junit"),
  };
}

function readRaw(words: readonly string[]): Raw {
  const options = Object.fromEntries([
    ...TEXTS.map((name) => [name, { type: "string" as const }]),
    ...LISTS.map((name) => [name, { type: "string" as const, multiple: true }]),
  ]);
  let values: Record<string, unknown>;
  try {
    values = parseArgs({ args: [...words], options, allowPositionals: false }).values;
  } catch (error) {
    throw new Misuse(error instanceof Error ? error.message : String(error));
  }
  const file = typeof values.config === "string" ? readConfig(values.config) : {};
  const known: readonly string[] = [...TEXTS, ...LISTS];
  const stray = Object.keys(file).find((name) => !known.includes(name));
  if (stray !== undefined) throw new Misuse(`the configuration has no option "${stray}"`);
  const given = (name: string): unknown => values[name] ?? file[name];
  return {
    text(name) {
      const value = given(name);
      if (value === undefined) return undefined;
      return typeof value === "string" ? value : JSON.stringify(value);
    },
    list(name) {
      const value = given(name) ?? [];
      return (Array.isArray(value) ? value : [value]).map(String);
    },
  };
}

function readConfig(path: string): Record<string, unknown> {
  try {
    const value: unknown = JSON.parse(readFileSync(path, "utf8"));
    if (isObject(value)) return value;
  } catch (error) {
    throw new Misuse(`--config ${path}: ${error instanceof Error ? error.message : String(error)}`);
  }
  throw new Misuse(`--config ${path} is no JSON object`);
}

function required<T>(raw: Raw, name: (typeof TEXTS)[number], read: (name: string, text: string) => T): T {
  const value = optional(raw, name, read);
  if (value === undefined) throw new Misuse(`--${name} is missing`);
  return value;
}

function optional<T>(raw: Raw, name: (typeof TEXTS)[number], read: (name: string, text: string) => T): T | undefined {
  const text = raw.text(name);
  return text === undefined ? undefined : read(name, text);
}

function readUrl(name: string, text: string): URL {
  const url = URL.canParse(text) ? new URL(text) : undefined;
  if (url?.protocol !== "http:" && url?.protocol !== "https:") throw new Misuse(`--${name} ${text} is no http(s) URL`);
  return url;
}

function readPayload(name: string, text: string): Payload {
  try {
    const value: unknown = JSON.parse(text);
    if (isObject(value) && Object.keys(value).length > 0) return value;
  } catch {
    // Said below, in one sentence for both.
  }
  throw new Misuse(`--${name} must be a JSON object that is not empty`);
}

function readPointer(name: string, text: string): string {
  if (text !== "" && !text.startsWith("/")) throw new Misuse(`--${name} ${text} is no JSON Pointer like /id`);
  return text;
}

function readHeader(line: string): readonly [string, string] {
  const [, name, value] = /^([!#$%&'*+.^_`|~\w-]+):\s*(.*)$/.exec(line) ?? [];
  if (name === undefined || value === undefined) throw new Misuse(`"${line}" is no header like 'Cookie: session=1'`);
  return [name, value];
}

function readOther(raw: Raw): Subject | undefined {
  const headers = raw.list("other-header").map(readHeader);
  return headers.length === 0 ? undefined : { headers, tag: raw.text("other-subject") };
}

function readSlow(raw: Raw, sample: Payload): Plan["slow"] {
  const payload = optional(raw, "slow-payload", readPayload);
  const hook = raw.text("slow-hook");
  return payload || hook ? { payload: payload ?? sample, hook } : undefined;
}

function readOutage(raw: Raw): Plan["outage"] {
  const [down, up] = [raw.text("down-hook"), raw.text("up-hook")];
  if (down !== undefined && up !== undefined) return { down, up };
  if (down === undefined && up === undefined) return undefined;
  throw new Misuse("--down-hook and --up-hook go together");
}

function readLevel(text: string): Level {
  const level = Object.keys(LEVELS).find((name) => name === text);
  if (level === undefined) throw new Misuse(`--level ${text} is not between 1 and 4`);
  return Number(level) as Level;
}

function oneOf<const T extends string>(name: string, text: string, choices: readonly T[]): T {
  const choice = choices.find((choice) => choice === text);
  if (choice === undefined) throw new Misuse(`--${name} ${text} is none of ${choices.join(", ")}`);
  return choice;
}

function count(raw: Raw, name: (typeof TEXTS)[number], otherwise: number): number {
  const text = raw.text(name);
  if (text === undefined) return otherwise;
  const value = Number(text);
  if (!Number.isSafeInteger(value) || value < 1) throw new Misuse(`--${name} ${text} is no whole number above 0`);
  return value;
}

export function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

/** The same wish with one value changed, a number if there is one: it is the most likely to be accepted. */
function changed(payload: Payload): Payload {
  const entries = Object.entries(payload);
  const numeric = entries.find(([, value]) => typeof value === "number" || /^\d+$/.test(String(value)));
  const [name, value] = numeric ?? entries[0] ?? ["changed", ""];
  if (typeof value === "number") return { ...payload, [name]: value + 1 };
  return { ...payload, [name]: numeric ? String(Number(value) + 1) : `${String(value)}x` };
}
