/** One slot in this page: what its machine says, and the promises that wait for it. */

import { MisuseError, ModuleError, PostonceError } from "./errors.js";
import { isTrap, loadModule, type SlotHandle } from "./loader.js";
import { checkHeaders } from "./options.js";
import type { OperationOptions, Snapshot, SubmitOutcome } from "./types.js";

type Settle<T> = { resolve: (value: T) => void; reject: (reason: unknown) => void };
type Pairs = readonly (readonly [string, string])[];
type Fields = Record<string, string | readonly string[]>;

/** What a submit hands to the module: the pairs, and the bytes to send unless they are the pairs as JSON. */
export interface Offer {
  readonly pairs: object;
  readonly body?: BodyInit;
}

/** Where a resend finds the wish that this document did not send itself: a bound form. */
export interface Source {
  readonly form: HTMLFormElement;
  offer(volatile?: Readonly<Record<string, string>>): Promise<Offer>;
  /** Something changed. */
  told(): void;
  /** The module is not there, or not any more. */
  failed(error: unknown): void;
}

/** What the module writes: members that are absent there are `null` here. */
type Wire = Record<string, unknown> & {
  state: Snapshot["state"];
  remembered: Pairs;
  firstAttempt?: number;
  cause?: string;
  body?: string;
};

/** Fields as a person sees them: a repeated name is a list. */
export function fieldsOf(pairs: Pairs): Readonly<Fields> {
  const fields: Fields = {};
  for (const [name, value] of pairs) {
    const had = fields[name];
    fields[name] = had === undefined ? value : [...(typeof had === "string" ? [had] : had), value];
  }
  return Object.freeze(fields);
}

function freeze(value: unknown): unknown {
  if (typeof value === "object" && value && !Object.isFrozen(value)) {
    Object.freeze(value);
    Object.values(value).forEach(freeze);
  }
  return value;
}

/** What browsers allow of bodies in flight that outlive their page. */
const KEEPALIVE_BYTES_MAX = 64 * 1024;
/** What of it the library uses now. */
let keptAlive = 0;

/** Asks for the first attempt to outlive the page, as far as browsers allow it (R45). Answers how many bytes it took. */
function keepAlive(init: RequestInit): number {
  const { body } = init;
  if (!(typeof body === "string" || body instanceof URLSearchParams)) return 0;
  const bytes = new TextEncoder().encode(`${body}`).length;
  if (keptAlive + bytes > KEEPALIVE_BYTES_MAX) return 0;
  init.keepalive = true;
  keptAlive += bytes;
  return bytes;
}

function readSnapshot(text: string, url = ""): Snapshot {
  const { firstAttempt, cause, body, remembered, ...rest }: Wire = JSON.parse(text);
  const snapshot = {
    reference: null,
    notBefore: null,
    deadline: null,
    last: null,
    ...rest,
    doubt: cause
      ? { possible: true, firstAttempt, cause, ...(cause === "transport" && isElsewhere(url) && { hint: "cors" }) }
      : { possible: false },
    remembered: fieldsOf(remembered),
    open: (rest.open as object[]).map((open) => ({ resultId: null, ...open })),
    ...(rest.last ? { last: { resultId: null, ...rest.last } } : {}),
    ...(rest.state === "succeeded" && {
      resultId: null,
      earlier: null,
      result: body && JSON.parse(body),
      ...pick(rest),
    }),
  };
  return freeze(snapshot) as Snapshot;
}

/** Whether that address is another origin's. */
const isElsewhere = (url: string): boolean =>
  !!globalThis.document && new URL(url, document.baseURI).origin !== location.origin;

/** The members of a success that the module wrote stand over the `null`s before them. */
function pick({ resultId, earlier }: Record<string, unknown>): object {
  return { ...(resultId !== undefined && { resultId }), ...(earlier !== undefined && { earlier }) };
}

const NOTHING = readSnapshot(
  '{"state":"idle","persistence":"best-effort","coordination":"none","durable":false,"driving":false,"attempts":0,"attemptsMax":0,"round":0,"budget":0,"remembered":[],"may":[],"open":[]}',
);

/** States in which the machine goes on by itself. */
export const RUNNING: ReadonlySet<string> = new Set<string>(["sending", "waiting", "checking"]);

export class Controller {
  snapshot = NOTHING;
  /** The form that was bound last. */
  source: Source | undefined;
  /** The module's side, once it is there and has read the record. */
  slot: SlotHandle | undefined;
  ready: Promise<SlotHandle>;
  #tellRecordRead = (): void => {};
  readonly #recordRead = new Promise<void>((resolve) => {
    this.#tellRecordRead = resolve;
  });
  readonly options: OperationOptions;
  readonly subject: string;
  readonly #listeners = new Set<(snapshot: Snapshot) => void>();
  /** For each submit that waits for its answer, everybody who is to hear it. */
  readonly #waiting: Settle<SubmitOutcome>[][] = [];
  #next: Settle<SubmitOutcome>[] = [];
  #coming = false;
  #gestures: Settle<Snapshot>[] = [];
  /** Why the module is not there. */
  #failure: unknown;

  constructor(options: OperationOptions, subject: string, object: string) {
    this.options = options;
    this.subject = subject;
    this.ready = loadModule().then(async (module) => {
      const whole = Object.fromEntries(
        Object.entries(options).map(([name, value]) => [name, typeof value === "number" ? Math.floor(value) : value]),
      );
      const slot = module.slot(JSON.stringify(whole), subject, object, this);
      // Before its record is read, a slot cannot tell a first wish from a repeated one.
      await this.#recordRead;
      this.slot = slot;
      return slot;
    });
    // Whoever waits for an answer is told; a page that only binds must not end in an unhandled rejection.
    this.ready.then(
      () => {
        // Nobody is there to catch what a callback throws.
        addEventListener("error", ({ error }) => isTrap(error) && this.#died(error));
        addEventListener("unhandledrejection", ({ reason }) => isTrap(reason) && this.#died(reason));
      },
      (error: unknown) => this.#fail(error),
    );
  }

  #fail(error: unknown): void {
    this.#failure = error;
    for (const { reject } of [
      ...this.#waiting.splice(0).flat(),
      ...this.#next.splice(0),
      ...this.#gestures.splice(0),
    ]) {
      reject(error);
    }
  }

  /** The module trapped. What was under way is in doubt, as the record says already; only a new document can tell (R80). */
  #died(cause: unknown): void {
    if (this.#failure) return;
    // Before anybody could call it once more.
    this.slot = undefined;
    const { snapshot } = this;
    if (RUNNING.has(snapshot.state)) {
      const doubt = { possible: true, firstAttempt: 1, cause: "document_lost" };
      const said = snapshot.doubt.possible ? snapshot.doubt : doubt;
      this.#show(freeze({ ...snapshot, state: "unknown", why: "document_lost", doubt: said, may: [] }) as Snapshot);
    }
    const error = new ModuleError(cause);
    this.ready = Promise.reject(error);
    this.ready.catch(() => {});
    this.#fail(error);
    this.source?.failed(error);
  }

  subscribe(listener: (snapshot: Snapshot) => void): () => void {
    this.#listeners.add(listener);
    listener(this.snapshot);
    return () => this.#listeners.delete(listener);
  }

  /** The answer to the submit that `start` begins. */
  submit(start: (slot: SlotHandle) => void): Promise<SubmitOutcome> {
    return this.ready.then(
      (slot) =>
        new Promise((resolve, reject) => {
          this.#waiting.push([{ resolve, reject }]);
          start(slot);
        }),
    );
  }

  /** The answer to the submit that is running or comes next. */
  submitted(): Promise<SubmitOutcome> {
    if (this.#failure) return Promise.reject(this.#failure);
    return new Promise((resolve, reject) => {
      ((!this.#coming && this.#waiting.at(-1)) || this.#next).push({ resolve, reject });
    });
  }

  /** Resolves when the machine rests again; rejects when the word was not followed. */
  gesture(start: (slot: SlotHandle) => void): Promise<Snapshot> {
    return this.ready.then(
      (slot) =>
        new Promise((resolve, reject) => {
          this.#gestures.push({ resolve, reject });
          start(slot);
          this.#settleGestures();
        }),
    );
  }

  /** A submit event begins: what the page's own handlers ask for now is the answer to this one, whatever runs already. */
  coming(): void {
    this.#coming = true;
    // Should it be cancelled, or go by some other way.
    setTimeout(() => {
      this.#coming = false;
    });
  }

  /** A submit of a bound form begins, or joins the last one; its answer is for whoever asked for the next one. */
  submitting(joins = false): void {
    this.#coming = false;
    const next = this.#next.splice(0);
    const last = joins && this.#waiting.at(-1);
    if (last) last.push(...next);
    else this.#waiting.push(next);
  }

  #settleGestures(): void {
    if (RUNNING.has(this.snapshot.state) || this.snapshot.open.some(({ state }) => state === "checking")) return;
    for (const { resolve } of this.#gestures.splice(0)) resolve(this.snapshot);
  }

  // --- called by the module ----------------------------------------------------------------------------------------

  changed(text: string): void {
    this.#tellRecordRead();
    this.#show(readSnapshot(text, this.options.url));
    this.#settleGestures();
  }

  #show(snapshot: Snapshot): void {
    this.snapshot = snapshot;
    this.source?.form.setAttribute("aria-busy", String(RUNNING.has(this.snapshot.state)));
    this.source?.told();
    for (const listener of [...this.#listeners]) {
      try {
        listener(this.snapshot);
      } catch (error) {
        // The page's own fault must not reach the module, which would be left in the middle of a step.
        reportError(error);
      }
    }
  }

  reply(all: boolean, kind: SubmitOutcome["kind"], detail: string): void {
    const { snapshot } = this;
    const { why, live, offered } = detail ? JSON.parse(detail) : ({} as never);
    const outcome = freeze(
      kind === "conflict"
        ? { kind, why, live: fieldsOf(live), offered: fieldsOf(offered), snapshot }
        : kind === "already_done"
          ? { kind, at: snapshot.last?.at, resultId: snapshot.last?.resultId, snapshot }
          : { kind, snapshot },
    ) as SubmitOutcome;
    for (const { resolve } of this.#waiting.splice(all ? 0 : -1).flat()) resolve(outcome);
  }

  declined(code: string): void {
    for (const { reject } of this.#gestures.splice(-1)) reject(new MisuseError(code));
  }

  failed(code: string, item: string): void {
    const error = new PostonceError(code, item);
    for (const { reject } of this.#waiting.splice(-1).flat()) reject(error);
    for (const { reject } of this.#gestures.splice(0)) reject(error);
  }

  fetch(url: string, init: RequestInit & { headers: Record<string, string> }, attempt: number): Promise<Response> {
    const { headers, transport, keepalive } = this.options;
    try {
      const own = headers?.(attempt) ?? {};
      checkHeaders(own);
      // Names have no case: the application's own stands in the place of ours, never beside it.
      const names = Object.keys(own).map((name) => name.toLowerCase());
      for (const name of Object.keys(init.headers)) if (names.includes(name.toLowerCase())) delete init.headers[name];
      Object.assign(init.headers, own);
      const bytes = keepalive && attempt === 1 ? keepAlive(init) : 0;
      const answer = (transport ?? fetch)(url, init);
      if (bytes) {
        const ended = (): void => {
          keptAlive -= bytes;
        };
        answer.then(ended, ended);
      }
      return answer;
    } catch (error) {
      // The module takes it as "nothing was sent"; whoever wrote the provider must hear why.
      reportError(error);
      throw error;
    }
  }
}
