/** What may be behind a symptom, what to look at, and what to do. The names are stable; the wording is not. */

/** One likely cause. */
export interface Cause {
  /** What the server probably does. */
  readonly cause: string;
  /** Where to look to be sure. */
  readonly look: string;
  /** What to change. */
  readonly action: string;
  /** Rules of docs/rules.md behind it. */
  readonly rules: string;
}

const cause = (cause: string, look: string, action: string, rules: string): Cause => ({ cause, look, action, rules });

/** Every cause by its name. */
export const CAUSES = {
  "no-replay": cause(
    "The answer is not stored with the key, or a repeat is refused as a duplicate instead of answered",
    "What the server does when it finds a finished record",
    "Store status, content type and body with the record; answer every repeat from there",
    "R112 R113",
  ),
  "runs-again": cause(
    "The key is not stored at all, or it is forgotten when the request ends",
    "The table of keys after one request; its retention",
    "Commit one record per key before the effect runs and keep it for the published retention",
    "R102 R116",
  ),
  "no-unique": cause(
    "Look-up and insert are two steps, so two requests both find nothing",
    "A unique constraint on (tenant, subject, key), and that its violation is handled",
    "Reserve by one unique insert that commits before the effect; whoever loses it reads the winner's record",
    "R103",
  ),
  "cancel-on-disconnect": cause(
    "The handler is cancelled when the client leaves, and with it the effect or the writing of its record",
    "Whether the handler runs inside the connection's task or request context",
    "Run effect and record in a task of their own; let the connection wait for it",
    "R107",
  ),
  "forgets-on-disconnect": cause(
    "The key is given back when the client leaves although the effect ran or still runs",
    "What error and disconnect handlers do with the record",
    "Release a key only when it is proven that nothing was applied",
    "R107 R111",
  ),
  "forgets-on-restart": cause(
    "Records live in the process's memory",
    "Where the records are after a restart",
    "Keep records in the database of the effect, committed before and with it",
    "R108",
  ),
  "fail-open": cause(
    "When the key cannot be used or the store cannot be reached, the request is run without protection",
    "Every error path before the reserve",
    "Refuse: 400 for a missing or unusable key, 503 for a store that is away; run nothing",
    "R102 R114",
  ),
  "key-optional": cause(
    "A request without a key is run unprotected",
    "Whether the route requires the header",
    "Answer 400 when the key is missing",
    "R102",
  ),
  "odd-key": cause(
    "An odd key is neither refused nor kept apart cleanly",
    "How the header is parsed, and its limits",
    "Take one well-formed key of at most 255 characters; refuse all else with 400",
    "R102 R9",
  ),
  "no-fingerprint": cause(
    "The key is compared, the payload is not",
    "Whether the record holds a digest of the request",
    "Store a fingerprint of the parsed payload and answer 422 when it differs, before looking at the state",
    "R10 R104",
  ),
  "other-refusal": cause(
    "Another payload under a used key is refused with a status that means something else",
    "The status of that refusal",
    "Answer 422 with its own problem type, so that a client can tell it from a domain refusal",
    "R104",
  ),
  "fingerprint-after-state": cause(
    "The state of the record is looked at before its fingerprint",
    "The order of the two comparisons",
    "Compare the fingerprint first, so that another payload never waits for a result that is not its own",
    "R104",
  ),
  "scope-by-key-only": cause(
    "Records are found by the key alone",
    "The unique constraint and the look-up",
    "Make tenant and authenticated subject part of both",
    "R89 R103",
  ),
  "tells-used-keys": cause(
    "Another subject's key is answered differently from an unused one",
    "The answer to a key that belongs to somebody else",
    "Scope records by subject, so that a foreign key simply does not exist",
    "R89",
  ),
  "subject-unchecked": cause(
    "The intended subject that travels with the request is not compared",
    "Whether Idempotency-Subject is read",
    "Answer 403 wrong-subject when it is not the authenticated one; read and write nothing",
    "R123",
  ),
  "operation-unchecked": cause(
    "Operation and path are not part of the fingerprint",
    "What the digest covers",
    "Add operation, method and path values to the fingerprint",
    "R12 R103",
  ),
  "expired-as-new": cause(
    "A key whose record may be purged is taken for a new one",
    "Whether Idempotency-First-Sent is read before the reserve",
    "Without a record, answer 410 expired when it was first sent before retention + skew",
    "R116",
  ),
  "late-work": cause(
    "The deadline of the round is not looked at",
    "Whether Idempotency-Deadline is read before the reserve",
    "Without a record, answer 412 deadline-passed and run nothing",
    "R117",
  ),
  "no-marker": cause(
    "A replay looks like a first answer",
    "The response headers of the two",
    "Send Idempotent-Replayed: false first and true on replays, and echo Idempotency-Key",
    "R127",
  ),
  "wrong-marker": cause(
    "The replay marker or the echo of the key says what is not so",
    "Where the two headers are set",
    "false and the key on the first answer, true and the key on each replay, neither on an answer before the reserve",
    "R127",
  ),
  "replayed-headers": cause(
    "Headers of the first exchange are stored and sent again",
    "Which headers a replay copies",
    "Replay status, content type, Location and body only; always Cache-Control: no-store",
    "R90",
  ),
  "stored-5xx": cause(
    "A failure is stored as the final answer",
    "What is written to the record when the effect fails",
    "Release when nothing was applied, else uncertain; never store a 5xx as completed",
    "R42 R111",
  ),
  "deletes-on-error": cause(
    "A failing effect gives its key back although it had an effect",
    "The error path after the effect began",
    "Commit effect and record together, or keep the record as uncertain",
    "R108 R111",
  ),
  stuck: cause(
    "A failed attempt leaves its claim behind, so that every repeat is told to wait",
    "What becomes of the record when the handler throws or the process dies",
    "Give claims a lease, and recover by class when it ends: release, run again downstream, or uncertain",
    "R109 R111",
  ),
  "parallel-error": cause(
    "The loser of a race gets an error instead of 409",
    "How a violated unique constraint is answered",
    "Answer 409 in-progress with Retry-After, or wait and replay",
    "R105",
  ),
  "no-retry-after": cause(
    "A request that has to wait is not told how long",
    "The headers of the 409",
    "Send Retry-After, and retry_after_ms in the body",
    "R105 R51",
  ),
  "body-trouble": cause(
    "A hostile body reaches code that does not expect it",
    "Limits of size and depth, and the decoding of text",
    "Answer 413 or 400 before anything is looked up",
    "R12",
  ),
  "no-status": cause(
    "There is no way to ask what became of a key",
    "Whether a status route exists",
    "Add GET PATH/status (docs/server.md); until then an unanswered submission ends with a person",
    "R118",
  ),
  "status-writes": cause(
    "Asking leaves something behind",
    "Statements that the status route runs",
    "Make it a plain read on the primary",
    "R118",
  ),
  "status-untrue": cause(
    "The status route answers something else than the record or the replay",
    "What the route reads: a replica, a cache, another table",
    "Read the record itself on the primary; echo key, operation and subject; send no-store",
    "R57 R118",
  ),
  "status-tells-others": cause(
    "The status route looks a key up without its subject",
    "The WHERE of its query",
    "Make tenant and authenticated subject part of it",
    "R89",
  ),
  "no-fence": cause(
    "There is no way to make a key void",
    "Whether DELETE on the status route exists",
    "Add it (docs/server.md): an insert of a tombstone that loses to any record",
    "R61",
  ),
  "fence-leaks": cause(
    "A fenced key still runs, or a finished one was voided",
    "Whether fence and reserve compete for the same unique row",
    "Write the tombstone by the same unique insert as a reserve, and change nothing where a record exists",
    "R61",
  ),
  "fence-after-purge": cause(
    "An old key without a record is voided and called not applied, although its record may have been purged",
    "Whether the fence looks at first-sent",
    "Answer expired and write nothing when it was first sent before retention + skew",
    "R61 R116",
  ),
  "fence-unnamed": cause(
    "A fence is taken without the subject it is meant for",
    "Whether the fence requires Idempotency-Subject",
    "Answer 400 subject-missing",
    "R123",
  ),
  "cors-hides": cause(
    "Pages of another origin may not send or read what the contract needs",
    "Access-Control-* on the preflight and on every answer, failures too",
    "Allow the Idempotency-* headers and DELETE; expose Retry-After, Date and the markers",
    "R51",
  ),
  "late-effect": cause(
    "Effects happened after their requests were answered",
    "Queues and retries behind the handler",
    "Answer when the effect is committed, or 202 and an own guard in the queue",
    "R105 R108",
  ),
} as const satisfies Record<string, Cause>;

/** Name of a cause. */
export type CauseName = keyof typeof CAUSES;
