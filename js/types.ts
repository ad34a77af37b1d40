/** Public types of postonce. The states carry the same names as in the Rust core. All times are milliseconds. */

/** Whether the wish may already have happened. */
export type Doubt =
  | { readonly possible: false }
  | {
      readonly possible: true;
      readonly firstAttempt: number;
      readonly cause: DoubtCause;
      /**
       * `cors`: the address is another origin's, and every attempt failed without an answer. Perhaps its preflight does not
       * allow the contract's headers; from here nobody can see whether anything left (F34).
       */
      readonly hint?: "cors";
    };

/** What was seen instead of a definitive answer. */
export type DoubtCause =
  | "transport"
  | "timed_out"
  | "stopped"
  | "document_lost"
  | "status"
  | "redirected"
  | "unreadable"
  | "untied"
  | "in_progress"
  | "uncertain"
  | "expired"
  | "key_reused";

/** What a problem answer said (RFC 9457); members are empty strings where the answer was silent. */
export interface Problem {
  readonly type: string;
  readonly title: string;
  readonly detail: string;
  readonly field: string;
}

/** The names under which a person may act now; a page shows a button for each. */
export type Action =
  | "submit"
  | "stop"
  | "check"
  | "resend"
  | "fence"
  | "begin_new"
  | "leave_open"
  | "hand_over"
  | "decide"
  | "sign_in";

/** An intent left open by choice: it no longer blocks, but it is still there (R55). */
export interface OpenIntent {
  readonly reference: string;
  readonly state: "unknown" | "checking" | "succeeded" | "rejected" | "fenced" | "disputed";
  readonly leftAt: number;
  readonly resultId: string | null;
}

/** An open intent found on this device by `pending()`; of whose it is nothing is said, ids are hashed (R88). */
export interface PendingIntent {
  readonly reference: string;
  readonly since: number;
}

/** What the slot's last finished intent left behind (R23). */
export interface LastIntent {
  readonly state: "succeeded" | "rejected" | "fenced" | "decided";
  readonly at: number;
  readonly resultId: string | null;
  readonly reference: string;
}

interface Shared {
  readonly doubt: Doubt;
  /** What the operation asked for. */
  readonly persistence: "required" | "best-effort";
  /** IndexedDB holds the record: it survives a killed browser. `false` is said before the first byte leaves. */
  readonly durable: boolean;
  /** How tabs are kept from driving the same intent at once. */
  readonly coordination: "locks" | "database" | "none";
  /** This document is the one that sends. */
  readonly driving: boolean;
  /** Short name of the intent, safe to show and log; the key itself is never exposed. `null` before a key exists. */
  readonly reference: string | null;
  /** No automatic request before this instant (epoch milliseconds). */
  readonly notBefore: number | null;
  /** Attempts made in the current round. */
  readonly attempts: number;
  readonly attemptsMax: number;
  /** Round of the intent: 1 is the submit, each explicit resend opens the next. */
  readonly round: number;
  /** End of the round's budget (epoch milliseconds), while there is one. */
  readonly deadline: number | null;
  readonly budget: number;
  /** Remembered fields of the live intent (only what the operation lists under `remember`). */
  readonly remembered: Readonly<Record<string, string | readonly string[]>>;
  /** What a person may do now. */
  readonly may: readonly Action[];
  readonly open: readonly OpenIntent[];
  readonly last: LastIntent | null;
}

export type NotSentReason =
  | "offline"
  | "stopped"
  | "storage_unavailable"
  | "file_unreadable"
  | "deadline"
  | "document_lost";
export type UnknownReason =
  | "deadline"
  | "attempts"
  | "retry_after"
  | "document_lost"
  | "stopped"
  | "refused"
  | "expired"
  | "uncertain"
  | "server_error"
  | "key_reused"
  | "no_key"
  | "newer_version"
  | "handed_over";

/** What a person sees of a slot. Frozen, and the same object until something changed. */
export type Snapshot = Shared &
  (
    | { readonly state: "idle" }
    | { readonly state: "sending"; readonly attempt: number }
    | {
        readonly state: "waiting";
        readonly until: number;
        readonly why: "backoff" | "retry_after" | "offline" | "lock";
      }
    | { readonly state: "checking" }
    | { readonly state: "suspended"; readonly why: "signed_out" | "wrong_subject" }
    | {
        readonly state: "succeeded";
        /** The parsed JSON body; `undefined` when only the record's memory is left. */
        readonly result: unknown;
        readonly resultId: string | null;
        readonly replayed: boolean;
        readonly at: number;
        /** An earlier submission did this at that time; placing another is a choice (R122). */
        readonly earlier: number | null;
        readonly notCompared: readonly string[];
      }
    | { readonly state: "rejected"; readonly status: number; readonly problem: Problem }
    | {
        readonly state: "refused";
        /** 0 where the status went with an earlier document. */
        readonly status: number;
        readonly problem: Problem;
      }
    | { readonly state: "not_sent"; readonly why: NotSentReason }
    | { readonly state: "unknown"; readonly why: UnknownReason }
    | {
        readonly state: "disputed";
        readonly why: "fingerprint" | "contradiction" | "value";
        readonly field: string;
        readonly expected: string;
        readonly found: string;
      }
    | { readonly state: "fenced" }
    | {
        readonly state: "decided";
        readonly outcome: "applied" | "not_applied" | "left_open";
        readonly by: string;
        readonly at: number;
      }
  );

export type StateName = Snapshot["state"];

/** The answer to a submit. It resolves; only misuse rejects. */
export type SubmitOutcome =
  | { readonly kind: "settled"; readonly snapshot: Snapshot }
  | {
      readonly kind: "conflict";
      readonly why: "fields" | "stale" | "key_reused";
      readonly live: Readonly<Record<string, string | readonly string[]>>;
      readonly offered: Readonly<Record<string, string | readonly string[]>>;
      readonly snapshot: Snapshot;
    }
  | {
      readonly kind: "already_done";
      readonly at: number;
      readonly resultId: string | null;
      readonly snapshot: Snapshot;
    }
  | { readonly kind: "held"; readonly snapshot: Snapshot };

/** One entry of the catalog of operations (R125). */
export interface OperationOptions {
  /** Stable name, `[A-Za-z0-9_.-]{1,64}`; the server's fingerprint contains it. */
  name: string;
  /** Where the command goes, absolute or relative to the document. */
  url: string;
  method?: "POST" | "PUT" | "PATCH" | "DELETE";
  effect?: "none" | "idempotent" | "once";
  /** What the server promises. Without it a POST gets one attempt (R7). */
  contract?: "postonce" | "ietf" | "bare";
  /** Milliseconds over all attempts, body read included. */
  budget?: number;
  /** Attempts in one round. */
  attempts?: number;
  /** Milliseconds for one attempt; default half the budget. */
  attemptCap?: number;
  significant?: readonly string[];
  volatile?: readonly string[];
  /** Fields that may be stored on the device so that a refreshed page can show the wish. Nothing by default. */
  remember?: readonly string[];
  status?: { url: string };
  object?: "required" | "singleton";
  persistence?: "required" | "best-effort";
  reconcile?: "status_by_key" | "read_object" | "manual";
  /** How a form's fields travel: what the form or its button states as `enctype`, else JSON. A file forces multipart. */
  encoding?: "json" | "urlencoded" | "multipart";
  /** How long the server remembers a key, milliseconds. */
  retention?: number;
  /** JSON Pointer to the result's id in a successful body. */
  resultId?: string;
  /** Field name to JSON Pointer: compared with what was wished (R126). */
  expect?: Readonly<Record<string, string>>;
  /**
   * What confirms beside a tied 2xx: `empty`, a 204 or 205 (R39); `redirectedTo`, a redirect that ends at this path of the
   * page's own origin, where `*` stands for one segment, as in `/orders/*` (R40).
   */
  confirm?: { empty?: boolean; redirectedTo?: string };
  anonymous?: boolean;
  refusals?: "final";
  echo?: "none";
  /** Headers read afresh for every attempt (CSRF, authorisation); `Idempotency-*` may not be set. */
  headers?: (attempt: number) => Readonly<Record<string, string>>;
  /**
   * Ask the browser to finish the first attempt even if the page is left (R45). Left off where it would make the library's
   * own bodies in flight larger than the 64 KiB that browsers allow, and for multipart. It promises no answer.
   */
  keepalive?: boolean;
  /** An application's own `fetch`. */
  transport?: (input: string, init: RequestInit) => Promise<Response>;
}

export interface BindOptions {
  /** Opaque tag of the person for whom this is done; the server compares it with who is logged in (R123). */
  subject: string;
  /** What this is done to (a cart, an invoice); together with subject and operation it names the slot (R26). */
  object?: string;
}

/** A person's verdict on an open intent (R128). */
export interface Decision {
  readonly outcome: "applied" | "not_applied" | "left_open";
  readonly by: string;
  readonly note: string;
}

/** A slot as a page holds it. Also an `EventTarget`: `"statechange"`. */
export interface Intent extends EventTarget {
  readonly snapshot: Snapshot;
  /** Calls back now and at every change; returns the way to stop. */
  subscribe(listener: (snapshot: Snapshot) => void): () => void;
  /** Asks the server what became of it, by the same key; never sends the payload. Resolves when it is known or given up. */
  check(options?: { reference?: string }): Promise<Snapshot>;
  /**
   * Sends again under the same key, with a budget of its own: the same wish, with what a bound form holds now in fields that
   * are declared volatile, or with the values given here (a fresh captcha, R91).
   */
  resend(options?: { volatile?: Readonly<Record<string, string>> }): Promise<Snapshot>;
  /** Voids the key for ever if nothing has happened yet. */
  fence(options?: { reference?: string }): Promise<Snapshot>;
  /** Opens the next intent; fences an open one first, and refuses (`open_unknown`) where that proves nothing. */
  beginNew(options?: { leaveOpen?: boolean }): Promise<Snapshot>;
  stop(): void;
  /**
   * Leaves it to a person; it stays open and blocks until somebody decides (R128). The note is not stored here: a
   * `"handover"` event carries it, with the reference, to whoever keeps the queue.
   */
  handOver(note: string): Promise<Snapshot>;
  /** A person ends it; outcome and name are kept, and a `"decision"` event carries everything. */
  decide(decision: Decision): Promise<Snapshot>;
}

export interface FormIntent extends Intent {
  readonly form: HTMLFormElement;
  /** The form was edited since its last snapshot: what an answer says is about that snapshot, not about this (R101). */
  readonly dirty: boolean;
  /** Resolves with the answer to the submit that is running or comes next. */
  submitted(): Promise<SubmitOutcome>;
  /** Detaches the listeners; an intent that is out goes on (R77). */
  unbind(): void;
}

export interface ValueIntent extends Intent {
  submit(payload: Readonly<Record<string, unknown>>): Promise<SubmitOutcome>;
}

export interface Operation {
  readonly name: string;
  intent(options: BindOptions): ValueIntent;
}
