/**
 * postonce: one wish, one effect, and the truth about it.
 *
 * @example
 * const placeOrder = defineOperation({ name: "order.create", url: "/orders", status: { url: "/orders/status" } });
 * const order = bindForm("#order", placeOrder, { subject: user.id, object: cart.id });
 * order.subscribe((snapshot) => render(snapshot));
 *
 * @packageDocumentation
 */
import { Controller, snapshotForm } from "./controller.js";
import { MisuseError, OptionError } from "./errors.js";
import { configure, type FormHandle, loadModule } from "./loader.js";
import { checkOptions, isSecretControl } from "./options.js";
import type {
  BindOptions,
  Decision,
  FormIntent,
  Intent,
  Operation,
  OperationOptions,
  PendingIntent,
  Snapshot,
  SubmitOutcome,
  ValueIntent,
} from "./types.js";

export { MisuseError, ModuleError, OptionError, PostonceError } from "./errors.js";
export type * from "./types.js";
export { configure };

/** One controller for each slot of the page, whoever binds it (R78). */
const controllers = new Map<string, Controller>();
const bindings = new WeakMap<HTMLFormElement, BoundForm>();
/** Options by the operation that was made of them. */
const definitions = new WeakMap<Operation, OperationOptions>();

function controllerOf(operation: Operation, { subject, object }: BindOptions): Controller {
  const options = definitions.get(operation);
  if (!options) throw new MisuseError("not_an_operation");
  if (typeof subject !== "string" || !(subject || options.anonymous)) throw new MisuseError("subject_missing");
  if (options.object !== "singleton" && !object) throw new MisuseError("object_missing");
  const slot = JSON.stringify([subject, options.name, object ?? ""]);
  let controller = controllers.get(slot);
  if (!controller) {
    controller = new Controller(options, subject, object ?? "");
    controllers.set(slot, controller);
    // A later bind may find the module where this one did not.
    controller.ready.catch(() => controllers.delete(slot));
  }
  return controller;
}

class SlotIntent extends EventTarget implements Intent {
  protected readonly controller: Controller;

  constructor(controller: Controller) {
    super();
    this.controller = controller;
    let first = true;
    controller.subscribe(() => {
      if (!first) this.dispatchEvent(new Event("statechange"));
      first = false;
    });
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

  resend(): Promise<Snapshot> {
    const { form } = this.controller;
    // After a reload nobody knows which button was pressed: the form's default one, as for Enter.
    const button = [...(form?.elements ?? [])].find((control) => (control as HTMLButtonElement).type === "submit");
    const data = form && snapshotForm(form, (button as HTMLButtonElement | undefined) ?? null);
    return this.controller.gesture((slot) => slot.resend(data));
  }

  fence(options?: { reference?: string }): Promise<Snapshot> {
    return this.controller.gesture((slot) => slot.fence(options?.reference));
  }

  beginNew(options?: { leaveOpen?: boolean }): Promise<Snapshot> {
    return this.controller.gesture((slot) => slot.begin_new(options?.leaveOpen === true));
  }

  stop(): void {
    this.controller.now((slot) => slot.stop());
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

class ValueSlot extends SlotIntent implements ValueIntent {
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

class BoundForm extends SlotIntent implements FormIntent {
  readonly form: HTMLFormElement;
  #binding: FormHandle | undefined;
  #detached = false;
  #held: FormData | undefined;
  /** Holds one submit made before the module is there, and hands it over once (R79). */
  readonly #early = (event: SubmitEvent): void => {
    const method = event.submitter?.getAttribute("formmethod") ?? this.form.getAttribute("method") ?? "post";
    if (event.defaultPrevented || method.toLowerCase() !== "post") return;
    event.preventDefault();
    this.controller.submitting();
    this.#held ??= snapshotForm(this.form, event.submitter);
  };

  constructor(form: HTMLFormElement, controller: Controller) {
    super(controller);
    this.form = form;
    controller.form = form;
    form.addEventListener("submit", this.#early);
    controller.ready.then(
      (slot) => {
        form.removeEventListener("submit", this.#early);
        if (!this.#detached) this.#binding = slot.bind(form);
        if (this.#held) slot.submit_form(this.#held);
      },
      // Without the module nothing is sent; the listener stays, so that no unkeyed POST leaves either (R80).
      (error: unknown) => this.dispatchEvent(new ErrorEvent("error", { error })),
    );
  }

  /** Whether this binding is one of that slot (R78). */
  isOf(controller: Controller): boolean {
    return this.controller === controller;
  }

  submitted(): Promise<SubmitOutcome> {
    return this.controller.submitted();
  }

  unbind(): void {
    this.#detached = true;
    this.form.removeEventListener("submit", this.#early);
    this.#binding?.unbind();
    bindings.delete(this.form);
  }
}

function copyOf(value: unknown): unknown {
  if (Array.isArray(value)) return [...value];
  return typeof value === "object" && value ? { ...value } : value;
}

/**
 * Describes an endpoint once, for every form and intent that uses it (R125).
 *
 * @throws OptionError naming the option, the rule it breaks and the remedy.
 */
export function defineOperation(options: OperationOptions): Operation {
  checkOptions(options);
  // A copy of every list and table: what is changed after the check would escape it.
  const copied = Object.entries(options).map(([name, value]) => [name, copyOf(value)]);
  const kept = Object.freeze(Object.fromEntries(copied)) as OperationOptions;
  const operation: Operation = Object.freeze({
    name: kept.name,
    intent: (bind: BindOptions): ValueIntent => new ValueSlot(controllerOf(operation, bind)),
  });
  definitions.set(operation, kept);
  return operation;
}

/**
 * Binds a form to its slot. There is nothing to wait for: a submit made before the module is loaded is held. Handlers
 * that fill fields in or cancel a submit belong on the page while it loads: the snapshot is taken after those.
 *
 * @throws MisuseError when the form or the object is missing; OptionError when a secret control would be remembered.
 */
export function bindForm(target: string | HTMLFormElement, operation: Operation, options: BindOptions): FormIntent {
  const form = typeof target === "string" ? document.querySelector(target) : target;
  if (!(form instanceof HTMLFormElement)) throw new MisuseError("form_not_found", String(target));
  const controller = controllerOf(operation, options);
  const bound = bindings.get(form);
  if (bound?.isOf(controller)) return bound;
  // Another operation, or another person on the same page.
  bound?.unbind();
  for (const name of definitions.get(operation)?.remember ?? []) {
    for (const element of form.elements) {
      if (element.getAttribute("name") === name && isSecretControl(element)) {
        throw new OptionError("remember", "sensitive-remember", name);
      }
    }
  }
  const made = new BoundForm(form, controller);
  bindings.set(form, made);
  return made;
}

/** Tells the library who is there now; `null` after a logout. Intents of anybody else become inert (R25, R93). */
export function setSubject(subject: string | null): void {
  for (const [slot, controller] of controllers) {
    if ((JSON.parse(slot) as string[])[0] === subject) continue;
    controller.now((module) => module.change_subject());
    controllers.delete(slot);
  }
}

/** The open intents that this device knows of, on whatever page the person landed. */
export async function pending(): Promise<readonly PendingIntent[]> {
  const module = await loadModule();
  return new Promise((resolve) => module.pending((text) => resolve(JSON.parse(text))));
}
