// Stops this document for good at one step of a submit, for whoever is about to kill the browser: the platform's own
// calls are watched from outside, so that the module under test is the published one, byte for byte.

const address = new URLSearchParams(location.search);
const wanted = address.get("step");
/** A route that the page has no other use for: the server logs the request and, told so, never answers it. */
const MARK = "/drafts/status";
const RECORD = /^postonce:[\da-f]{32}$/;

/** How far the submit has come; reservations and status checks are not steps of it. */
let phase: "before" | "submitted" | "sent" | "answered" = "before";

/** A synchronous request holds this thread where it is until the browser dies. */
function reach(step: string): void {
  if (step !== wanted) return;
  const request = new XMLHttpRequest();
  request.open("GET", MARK, false);
  request.send();
}

/** The same store calls write the claim first and the verdict later. */
function reachWrite(what: "written" | "committed" | "copied"): void {
  if (phase === "submitted") reach(`claim_${what}`);
  if (phase === "answered") reach(`verdict_${what}`);
}

/** Puts `around(real)` in the place of a method. */
function replace<Host extends object, Name extends keyof Host>(
  host: Host,
  name: Name,
  around: (real: Host[Name]) => Host[Name],
): void {
  Object.defineProperty(host, name, { value: around(host[name]), configurable: true, writable: true });
}

replace(
  Event.prototype,
  "preventDefault",
  (real) =>
    function (this: Event) {
      real.call(this);
      if (this.type !== "submit") return;
      phase = "submitted";
      reach("prevented");
    },
);

replace(
  globalThis,
  "FormData",
  (Real) =>
    class extends Real {
      constructor(form?: HTMLFormElement, submitter?: HTMLElement | null) {
        const ours = phase === "submitted" && form?.isConnected === true;
        if (ours) reach("guard_passed");
        super(form, submitter);
        if (ours) reach("snapshot_taken");
      }
    },
);

replace(
  LockManager.prototype,
  "request",
  (real) =>
    function (this: LockManager, ...args: unknown[]) {
      const act = args.at(-1) as (lock: Lock | null) => unknown;
      const seen = (lock: Lock | null): unknown => {
        if (lock && RECORD.test(lock.name) && phase === "submitted") reach("slot_locked");
        return act(lock);
      };
      return Reflect.apply(real, this, [...args.slice(0, -1), seen]);
    } as typeof real,
);

replace(
  IDBDatabase.prototype,
  "transaction",
  (real) =>
    function (this: IDBDatabase, ...args: Parameters<typeof real>) {
      const transaction = real.apply(this, args);
      if (args[1] === "readwrite") transaction.addEventListener("complete", () => reachWrite("committed"));
      return transaction;
    },
);

replace(
  IDBObjectStore.prototype,
  "put",
  (real) =>
    function (this: IDBObjectStore, ...args: Parameters<typeof real>) {
      const request = real.apply(this, args);
      reachWrite("written");
      return request;
    },
);

replace(
  Storage.prototype,
  "setItem",
  (real) =>
    function (this: Storage, name: string, value: string) {
      real.call(this, name, value);
      if (RECORD.test(name)) reachWrite("copied");
    },
);

replace(globalThis, "fetch", (real) => async (input, init) => {
  const answering = real(input, init);
  if (init?.method !== "POST") return answering;
  phase = "sent";
  reach("fetch_called");
  const answer = await answering;
  phase = "answered";
  reach("answer_arrived");
  const text = answer.text.bind(answer);
  answer.text = async () => {
    const body = await text();
    reach("body_read");
    return body;
  };
  return answer;
});
