/** A slot as a page holds it: what a person sees of it, and may do. */
import type { Controller } from "./controller.js";
import { MisuseError } from "./errors.js";
import type { Decision, Intent, Snapshot, SubmitOutcome, ValueIntent } from "./types.js";

export class SlotIntent extends EventTarget implements Intent {
  protected readonly controller: Controller;
  readonly #forget: () => void;

  constructor(controller: Controller) {
    super();
    this.controller = controller;
    let first = true;
    this.#forget = controller.subscribe(() => {
      if (!first) this.dispatchEvent(new Event("statechange"));
      first = false;
    });
  }

  /** Hears of no further change. */
  protected unbind(): void {
    this.#forget();
  }

  get snapshot(): Snapshot {
    return this.controller.snapshot;
  }

  subscribe(listener: (snapshot: Snapshot) => void): () => void {
    return this.controller.subscribe(listener);
  }

  check(options?: { reference?: string }): Promise<Snapshot> {
    return this.controller.gesture((slot) => slot.check(options?.reference));
  }

  async resend({ volatile }: { volatile?: Readonly<Record<string, string>> } = {}): Promise<Snapshot> {
    if (volatile && !this.controller.source) throw new MisuseError("unbound");
    const offer = await this.controller.source?.offer(volatile);
    return this.controller.gesture((slot) => slot.resend(offer?.pairs, offer?.body));
  }

  fence(options?: { reference?: string }): Promise<Snapshot> {
    return this.controller.gesture((slot) => slot.fence(options?.reference));
  }

  beginNew(options?: { leaveOpen?: boolean }): Promise<Snapshot> {
    return this.controller.gesture((slot) => slot.begin_new(options?.leaveOpen === true));
  }

  stop(): void {
    this.controller.slot?.stop();
  }

  async handOver(note: string): Promise<Snapshot> {
    const snapshot = await this.controller.gesture((slot) => slot.hand_over());
    this.#tell("handover", { note });
    return snapshot;
  }

  async decide(decision: Decision): Promise<Snapshot> {
    const { reference } = this.snapshot;
    const snapshot = await this.controller.gesture((slot) => {
      if (!slot.decide(decision.outcome, decision.by)) throw new MisuseError("unknown_outcome", decision.outcome);
    });
    this.#tell("decision", { ...decision, reference });
    return snapshot;
  }

  /** What a person wrote is the application's to keep: the device stores no such text (R88). */
  #tell(type: string, detail: object): void {
    this.dispatchEvent(
      new CustomEvent(type, { detail: Object.freeze({ reference: this.snapshot.reference, ...detail }) }),
    );
  }
}

export class ValueSlot extends SlotIntent implements ValueIntent {
  submit(payload: Readonly<Record<string, unknown>>): Promise<SubmitOutcome> {
    let at = "";
    // `JSON.stringify` would write what is not finite as `null`: another payload than was meant (R12).
    const text = JSON.stringify(payload, (name, value: unknown) => {
      if (typeof value === "number" && !Number.isFinite(value)) at ||= `/${name}`;
      return value;
    });
    if (at) return Promise.reject(new MisuseError("invalid_payload", at));
    return this.controller.submit((slot) => slot.submit_json(text));
  }
}
