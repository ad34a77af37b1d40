/** The hands of a run: makes wishes, sends them as first or second subject, counts effects, keeps the limits. */
import { exec } from "node:child_process";
import { randomUUID } from "node:crypto";
import type { CauseName } from "./causes.js";
import type { Payload, Plan, Subject } from "./plan.js";
import { exchange, type Outgoing, pointed, type Reply, succeeded } from "./wire.js";

/** Beside what the plan allows, a wait for somebody else's attempt looks again at least this often. */
const LOOK_AGAIN_MS = 250;
/** A `Retry-After` is obeyed up to this: a run has little time. */
const RETRY_AFTER_MS_MAX = 2_000;
/** A request that was sent this long ago has arrived. */
const ARRIVED_MS = 100;
/** Longer than any slow effect of a run. */
const HOPELESS_MS = 1_500;
const HOOK_MS_MAX = 60_000;
/** A round's deadline this far ahead never decides by accident. */
const DEADLINE_SECONDS = 300;

/** A limit of the plan was reached; what is not tried by then is not tested. */
export class LimitReached extends Error {
  override readonly name = "LimitReached";
}

/** Something the run depends on does not do what it should: a hook, the counter. */
export class Unusable extends Error {
  override readonly name = "Unusable";
}

/** One thing wanted once. */
export interface Wish {
  readonly key: string;
  /** Seconds since the epoch. */
  readonly firstSent: number;
  readonly payload: Payload;
}

/** How one request differs from the plain one of a wish. */
export interface Variation {
  readonly as?: Subject;
  readonly payload?: Payload;
  /** Instead of the encoded payload. */
  readonly body?: string | Uint8Array;
  readonly url?: URL;
  /** Lines of the key header, as they are; none for no key. */
  readonly keyLines?: readonly string[];
  /** Tag in Idempotency-Subject, instead of the subject's own. */
  readonly tag?: string | undefined;
  readonly deadline?: number;
  readonly extra?: readonly (readonly [string, string])[];
  readonly cut?: Outgoing["cut"];
}

/** The counter at the beginning of an observation. */
export interface Mark {
  readonly count: number | undefined;
}

/** Everything a check may do. */
export class Probe {
  readonly plan: Plan;
  /** Causes that earlier checks have found; a later symptom may have the same. */
  readonly found = new Set<CauseName>();
  readonly #until: number;
  #requests = 0;

  constructor(plan: Plan) {
    this.plan = plan;
    this.#until = Date.now() + plan.secondsMax * 1_000;
  }

  get requests(): number {
    return this.#requests;
  }

  wish(payload: Payload = this.plan.payload): Wish {
    const unique = randomUUID().replaceAll("-", "").slice(0, 12);
    const text = JSON.stringify(payload).replaceAll("{unique}", unique);
    return { key: randomUUID(), firstSent: nowSeconds(), payload: JSON.parse(text) as Payload };
  }

  /** A wish as it would look long after its key was purged. */
  oldWish(): Wish {
    return { ...this.wish(), firstSent: nowSeconds() - 2 * this.plan.retentionSeconds - 3_600 };
  }

  /** Sends the command of a wish once. */
  command(wish: Wish, how: Variation = {}): Promise<Reply> {
    const form = this.plan.encoding === "form";
    const type = form ? "application/x-www-form-urlencoded" : "application/json";
    const payload = how.payload ?? wish.payload;
    const deadline = how.deadline ?? nowSeconds() + DEADLINE_SECONDS;
    return this.#send({
      method: this.plan.method,
      url: how.url ?? this.plan.url,
      headers: [["Content-Type", type], ...this.#headers(wish, how), ...this.#ours([["Deadline", `@${deadline}`]])],
      body: how.body ?? (form ? formText(payload) : JSON.stringify(payload)),
      cut: how.cut,
      answerMs: this.plan.answerMs,
    });
  }

  /** Sends the command again and again while another attempt of it is said to run, at most as long as an answer may take. */
  async repeat(wish: Wish, how: Variation = {}, patienceMs = this.plan.answerMs): Promise<Reply> {
    // Where finished commands are known to be refused for ever, waiting longer would learn nothing.
    const ended = Date.now() + (this.found.has("no-replay") ? Math.min(patienceMs, HOPELESS_MS) : patienceMs);
    for (;;) {
      const reply = await this.command(wish, how);
      if (!isWaiting(reply) || Date.now() > ended) return reply;
      await pause(waitOf(reply));
    }
  }

  /** Sends the slow command of a wish; when this returns, the server has it and is at work. */
  async begin(wish: Wish, how: Variation = {}): Promise<{ readonly reply: Promise<Reply> }> {
    if (this.plan.slow?.hook) await this.hook(this.plan.slow.hook);
    const reply = this.command(wish, how);
    await pause(ARRIVED_MS);
    return { reply };
  }

  /** Asks what became of a wish. */
  ask(wish: Wish, how: Variation = {}): Promise<Reply> {
    return this.#toStatus("GET", wish, how);
  }

  /** Makes the key of a wish void. */
  fence(wish: Wish, how: Variation = {}): Promise<Reply> {
    return this.#toStatus("DELETE", wish, how);
  }

  /** A browser's question before a request from another origin. */
  preflight(url: URL, method: string, headers: string): Promise<Reply> {
    return this.#send({
      method: "OPTIONS",
      url,
      headers: [
        ["Origin", this.plan.origin ?? ""],
        ["Access-Control-Request-Method", method],
        ["Access-Control-Request-Headers", headers],
      ],
      answerMs: this.plan.answerMs,
    });
  }

  async mark(): Promise<Mark> {
    return { count: await this.#count() };
  }

  /**
   * Effects since the mark. Without a counter the distinct ids in `replies` stand for them, and `undefined` says that
   * nothing could be seen.
   */
  async effects(mark: Mark, replies: readonly Reply[]): Promise<number | undefined> {
    const count = await this.#count();
    if (count !== undefined && mark.count !== undefined) return count - mark.count;
    const ids = replies.filter(succeeded).map((answer) => this.idOf(answer));
    const known = new Set(ids.filter((id) => id !== undefined));
    return known.size === 0 && ids.length > 0 ? undefined : known.size;
  }

  /** The result id in an answer, as text. */
  idOf(reply: Reply): string | undefined {
    if (reply.kind !== "answer" || this.plan.resultId === undefined) return undefined;
    const id = pointed(reply.json, this.plan.resultId);
    return typeof id === "string" || typeof id === "number" ? String(id) : undefined;
  }

  /** Runs a command of the person who started this. */
  hook(command: string): Promise<void> {
    return new Promise((settle, fail) => {
      exec(command, { timeout: HOOK_MS_MAX }, (error, _out, err) =>
        error ? fail(new Unusable(`the hook \`${command}\` failed: ${err.trim() || error.message}`)) : settle(),
      );
    });
  }

  async #count(): Promise<number | undefined> {
    const { counter, first, answerMs } = this.plan;
    if (!counter) return undefined;
    const reply = await this.#send({ method: "GET", url: counter.url, headers: first.headers, answerMs });
    const value = reply.kind === "answer" ? pointed(reply.json, counter.pointer) : undefined;
    if (typeof value !== "number")
      throw new Unusable(`the counter ${counter.url} holds no number at "${counter.pointer}"`);
    return value;
  }

  #toStatus(method: "GET" | "DELETE", wish: Wish, how: Variation): Promise<Reply> {
    const url = how.url ?? this.plan.status;
    if (!url) throw new Unusable("no status route was named");
    return this.#send({ method, url, headers: this.#headers(wish, how), answerMs: this.plan.answerMs });
  }

  #headers(wish: Wish, how: Variation): (readonly [string, string])[] {
    const as = how.as ?? this.plan.first;
    const tag = "tag" in how ? how.tag : as.tag;
    const lines = how.keyLines ?? [this.plan.dialect === "bare" ? wish.key : `"${wish.key}"`];
    return [
      ...lines.map((line) => [this.plan.keyHeader, line] as const),
      ...this.#ours([
        ["First-Sent", `@${wish.firstSent}`],
        ...(tag === undefined ? [] : [["Subject", `"${tag}"`] as const]),
      ]),
      ...as.headers,
      ...(how.extra ?? []),
    ];
  }

  /** Headers that only our own contract knows. */
  #ours(headers: readonly (readonly [string, string])[]): (readonly [string, string])[] {
    return this.plan.contract === "postonce"
      ? headers.map(([name, value]) => [`Idempotency-${name}`, value] as const)
      : [];
  }

  #send(outgoing: Outgoing): Promise<Reply> {
    if (this.#requests >= this.plan.requestsMax) throw new LimitReached(`${this.plan.requestsMax} requests were sent`);
    if (Date.now() > this.#until) throw new LimitReached(`${this.plan.secondsMax} s were over`);
    this.#requests += 1;
    return exchange(outgoing);
  }
}

export const nowSeconds = (): number => Math.floor(Date.now() / 1_000);

export const pause = (ms: number): Promise<void> => new Promise((settle) => setTimeout(settle, ms));

/** Whether the answer says that another attempt is at work. */
export function isWaiting(reply: Reply): boolean {
  return reply.kind === "answer" && (reply.status === 409 || reply.status === 425);
}

function waitOf(reply: Reply): number {
  const text = reply.kind === "answer" ? reply.header("retry-after") : undefined;
  const asked = text !== undefined && /^\d+$/.test(text) ? Number(text) * 1_000 : LOOK_AGAIN_MS;
  return Math.min(Math.max(asked, LOOK_AGAIN_MS), RETRY_AFTER_MS_MAX);
}

function formText(payload: Payload): string {
  const fields = new URLSearchParams();
  for (const [name, value] of Object.entries(payload)) {
    for (const one of Array.isArray(value) ? value : [value]) fields.append(name, String(one));
  }
  return fields.toString();
}
