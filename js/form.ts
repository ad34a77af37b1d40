/** A bound form: which submits are ours, when a snapshot is taken, and when a repeat joins without one (R94 to R101). */
import { type Controller, type Offer, RUNNING, type Source } from "./controller.js";
import type { Early } from "./early.js";
import { MisuseError } from "./errors.js";
import { digested, filesOf } from "./files.js";
import { SlotIntent } from "./intent.js";
import { shared } from "./shared.js";
import type { FormIntent, SubmitOutcome } from "./types.js";

type Disableable = { disabled: boolean };
type Control = { name?: string; value?: string; checked?: boolean; selectedOptions?: Iterable<HTMLOptionElement> };

/** A page that is not touched reserves its key after this long. */
const IDLE_RESERVE_MS = 200;
/** Fields that carry the contract itself in a native POST, and no wish. */
const RESERVED = "_idempotency_";

const SUBMIT_BUTTONS = "button:not([type=button],[type=reset]),input[type=submit],input[type=image]";

/** The script that held submits before the module was there, where the page has it. */
const early = (): Early | undefined => (globalThis as { postonceEarly?: Early }).postonceEarly;

/** What the controls hold, asked without a `formdata` event; `left` names those that do not count. */
function valuesOf(form: HTMLFormElement, left: readonly string[] = []): string {
  const counts = ({ name }: Control): boolean => !(name?.startsWith(RESERVED) || left.includes(name ?? ""));
  const held = ({ value, checked, selectedOptions }: Control): unknown[] => [
    value,
    checked,
    [...(selectedOptions ?? [])].map((option) => option.value),
  ];
  return JSON.stringify(([...form.elements] as Control[]).filter(counts).map(held));
}

/** Every binding of the form, in order. */
const bindingsOf = (form: HTMLFormElement): BoundForm[] => shared().bindings.get(form) ?? [];

/**
 * GET, dialog, other windows and other addresses are the page's own business (R94). `alone`: no other operation is bound
 * to the form, so what states no address of its own is meant for this one.
 */
function isOurs(form: HTMLFormElement, submitter: HTMLElement | null, url: string, alone: boolean): boolean {
  const of = (own: string, overriding: string): string =>
    submitter?.getAttribute(overriding) ?? form.getAttribute(own) ?? "";
  const action = submitter?.getAttribute("formaction") ?? (alone ? null : form.getAttribute("action"));
  const address = (to: string): string => new URL(to, form.baseURI).href;
  // No method stated: the page bound the form, so it means to send it.
  const sends = /^(post)?$/i.test(of("method", "formmethod"));
  const here = /^(_self)?$/i.test(of("target", "formtarget"));
  return sends && here && (action === null || address(action) === address(url));
}

/** `new FormData(form, submitter)`, where the engine has it; else the submitter is appended, as it would be (R96). */
function formData(form: HTMLFormElement, submitter: HTMLElement | null): FormData {
  try {
    // An engine that knows the second argument refuses one that is no submit button.
    new FormData(form.ownerDocument.createElement("form"), form);
  } catch {
    return new FormData(form, submitter);
  }
  const data = new FormData(form);
  const name = submitter?.getAttribute("name");
  if (name) data.append(name, submitter?.getAttribute("value") ?? "");
  return data;
}

/** The binding of the form to that slot, if there is one; any of the same operation to another slot ends (R25, R78). */
export function boundTo(form: HTMLFormElement, controller: Controller): BoundForm | undefined {
  let found: BoundForm | undefined;
  for (const bound of [...bindingsOf(form)]) {
    if (bound.isOf(controller)) found = bound;
    // Another person, or another object, on the same page.
    else if (bound.operation === controller.options.name) bound.unbind();
  }
  return found;
}

export class BoundForm extends SlotIntent implements FormIntent, Source {
  readonly form: HTMLFormElement;
  readonly #off = new AbortController();
  /** Controls that were enabled when the submit began, and those that the page's handlers then disabled. */
  #enabled: Element[] = [];
  #locked: Disableable[] = [];
  /** What the last snapshot was taken of. */
  #submitter: HTMLElement | null = null;
  #values = "";
  #edited = true;
  /** A submit was made and is not with the module yet. */
  #held = false;
  #touched = false;
  /** Why the module is not there. */
  #failed: unknown;

  constructor(form: HTMLFormElement, controller: Controller) {
    super(controller);
    this.form = form;
    controller.source = this;
    const all = [...bindingsOf(form), this];
    shared().bindings.set(form, all);
    // The key that stands in the form may not be theirs to write any more.
    for (const bound of all) bound.told();
    // Else an engine may keep them disabled over a reload, as the page's own handler left them (B21).
    for (const button of this.#controls(SUBMIT_BUTTONS)) button.setAttribute("autocomplete", "off");

    // What is enabled before the page's own handlers, which may disable controls (R97); the snapshot itself comes after
    // them, since they may also fill fields in or cancel the submit (R99).
    this.#listen(
      form,
      "submit",
      () => {
        this.#enabled = this.#controls(":enabled");
        controller.coming();
      },
      true,
    );
    this.#listen(form, "submit", this.#onSubmit);
    for (const type of ["input", "change", "reset"]) this.#listen(form.ownerDocument, type, this.#onEdit);
    for (const type of ["focusin", "pointerdown"]) this.#listen(form, type, this.#touch);
    this.#listen(globalThis, "pageshow", (event) => {
      // Back from the cache with nothing running: what was locked for that submit is free again (R97).
      if ((event as PageTransitionEvent).persisted && !RUNNING.has(this.snapshot.state)) this.#unlock();
    });
    controller.ready.then(
      (slot) => {
        if (this.#off.signal.aborted) return;
        // Once more at the end: handlers that the page added meanwhile come first.
        form.removeEventListener("submit", this.#onSubmit as EventListener);
        this.#listen(form, "submit", this.#onSubmit);
        // The page's own key serves where the slot needs one; else the slot's stands in the field (R8).
        const page = this.#hidden("key");
        if (page && !shared().written.has(page)) slot.offer_page_key(page.value);
        this.told();
        setTimeout(this.#touch, IDLE_RESERVE_MS);
      },
      (error: unknown) => this.failed(error),
    );
    const held = early()?.take(form);
    if (held) this.#begin(held.data, held.submitter);
  }

  /** Without the module nothing is sent; the listener stays, so that no unkeyed POST leaves either (R80). */
  failed(error: unknown): void {
    const held = this.#held;
    this.#held = false;
    this.#failed = error;
    this.dispatchEvent(new ErrorEvent("error", { error }));
    if (held) early()?.fail(this.form, this.#submitter);
  }

  /** Name of the operation that it is bound to. */
  get operation(): string {
    return this.controller.options.name;
  }

  get dirty(): boolean {
    return this.#edited;
  }

  isOf(controller: Controller): boolean {
    return this.controller === controller;
  }

  /** The key in use goes along with a POST that bypasses the library, and no old one does (R100). */
  told(): void {
    const { slot, options, subject } = this.controller;
    if (!slot || (options.contract ?? "postonce") !== "postonce" || !(options.contract || options.status)) return;
    // One field carries one key: of several operations, that of the one which the form's own action names (R98).
    const entitled = isOurs(this.form, null, options.url, this.#alone);
    const key = entitled ? slot.native_key() : undefined;
    const page = this.#hidden("key");
    const writer = page && shared().written.get(page);
    // Before the slot has a key, a server's own stays where it is.
    if (!key && !(entitled ? writer : writer === this)) return;
    const [value = "", sent = ""] = key?.split(" ") ?? [];
    if (page?.value === value && writer) return;
    for (const [name, text] of Object.entries({ key: value, first_sent: sent, subject: key ? subject : "" })) {
      const field = this.#hidden(name) ?? this.form.ownerDocument.createElement("input");
      // Else an engine may restore an old key after a reload (B21).
      field.setAttribute("autocomplete", "off");
      Object.assign(field, { type: "hidden", name: RESERVED + name, value: text });
      if (!field.form) this.form.append(field);
      shared().written.set(field, this);
    }
  }

  get #alone(): boolean {
    return bindingsOf(this.form).length === 1;
  }

  #hidden(name: string): HTMLInputElement | undefined {
    return this.#controls(`[name=${RESERVED}${name}]`)[0] as HTMLInputElement | undefined;
  }

  submitted(): Promise<SubmitOutcome> {
    return this.controller.submitted();
  }

  /**
   * What the form holds now, with fresh values for volatile fields (R91). Nobody knows which button was pressed: the
   * default one, as for Enter.
   */
  async offer(volatile: Readonly<Record<string, string>> = {}): Promise<Offer> {
    const [button] = this.#controls(SUBMIT_BUTTONS);
    const data = formData(this.form, (button as HTMLElement | undefined) ?? null);
    for (const [name, value] of Object.entries(volatile)) {
      if (!this.controller.options.volatile?.includes(name)) throw new MisuseError("not_volatile", name);
      data.set(name, value);
    }
    return this.#offerOf(data, null);
  }

  override unbind(): void {
    super.unbind();
    this.#off.abort();
    shared().bindings.set(
      this.form,
      bindingsOf(this.form).filter((bound) => bound !== this),
    );
  }

  #listen(on: EventTarget, type: string, act: (event: never) => void, capture = false): void {
    on.addEventListener(type, act as EventListener, { capture, signal: this.#off.signal });
  }

  #controls(selector: string): Element[] {
    return [...this.form.elements].filter((control) => control.matches(selector));
  }

  readonly #touch = (): void => {
    if (this.#touched || this.#off.signal.aborted) return;
    this.#touched = true;
    this.controller.ready.then(
      (slot) => slot.touch(),
      () => {},
    );
  };

  readonly #onEdit = (event: Event): void => {
    const edited = event.target as (Element & { form?: Element | null }) | null;
    // A control with a `form` attribute may stand anywhere in the document (R96).
    if (edited?.form !== this.form && !this.form.contains(edited)) return;
    this.#edited = true;
    this.#touch();
  };

  readonly #onSubmit = (event: SubmitEvent): void => {
    const { form, controller } = this;
    const { submitter } = event;
    if (event.defaultPrevented || !isOurs(form, submitter, controller.options.url, this.#alone)) return;
    event.preventDefault();
    // One that is still on its way to the module takes this one in (R79, R95).
    if (this.#held) {
      controller.submitting(true);
      return;
    }
    if (this.#failed) {
      this.#submitter = submitter;
      this.#held = true;
      this.failed(this.#failed);
      return;
    }
    controller.submitting();
    // Scripts change fields without an event.
    const values = valuesOf(form, controller.options.volatile);
    const same = submitter === this.#submitter && !this.#edited && values === this.#values;
    // Joins the running intent; `formdata` has fired for it already (R95, R96).
    if (RUNNING.has(this.snapshot.state) && same) return;
    this.#values = values;
    this.#submitter = submitter;
    this.#edited = false;
    this.#begin(this.#snapshot(submitter), submitter, false);
  };

  #begin(data: FormData, submitter: HTMLElement | null, first = true): void {
    const { form, controller } = this;
    const { slot } = controller;
    if (first) {
      controller.submitting();
      this.#submitter = submitter;
      this.#edited = false;
    }
    const files = filesOf(data);
    if (slot && !files.length) {
      const { pairs, body } = this.#plainOffer(data, submitter);
      slot.submit_form(pairs, body);
      return;
    }
    this.#held = true;
    if (files.length) {
      // How much there is to read, for a page that wants to say so; how far it is nobody is told.
      form.setAttribute("aria-busy", "true");
      const bytes = files.reduce((sum, { size }) => sum + size, 0);
      this.dispatchEvent(new CustomEvent("files", { detail: Object.freeze({ count: files.length, bytes }) }));
    }
    Promise.all([this.#offerOf(data, submitter), controller.ready]).then(
      ([{ pairs, body }, slot]) => {
        this.#held = false;
        slot.submit_form(pairs, body);
      },
      (error: unknown) => {
        if (this.#failed) return;
        this.#held = false;
        controller.slot?.unreadable();
        form.setAttribute("aria-busy", "false");
        this.dispatchEvent(new ErrorEvent("error", { error }));
      },
    );
  }

  /** After the page's handlers, with what they filled in; what they disabled counts as it was before (R97). */
  #snapshot(submitter: HTMLElement | null): FormData {
    this.#locked = [];
    for (const control of this.#enabled.splice(0)) {
      while (control.matches(":disabled")) {
        const by = control.closest<HTMLElement & Disableable>("[disabled]");
        if (!by) break;
        by.disabled = false;
        this.#locked.push(by);
      }
    }
    const data = formData(this.form, submitter);
    for (const control of this.#locked) control.disabled = true;
    return data;
  }

  #unlock(): void {
    for (const control of this.#locked.splice(0)) control.disabled = false;
  }

  /** A file forces multipart (R14), and is read before anything is sent. */
  async #offerOf(data: FormData, submitter: HTMLElement | null): Promise<Offer> {
    const offer = this.#plainOffer(data, submitter);
    return filesOf(data).length ? { pairs: await digested(data), body: data } : offer;
  }

  #plainOffer(data: FormData, submitter: HTMLElement | null): Offer {
    for (const name of [...data.keys()]) if (name.startsWith(RESERVED)) data.delete(name);
    const stated = submitter?.getAttribute("formenctype") ?? this.form.getAttribute("enctype");
    const encoding = this.controller.options.encoding ?? stated ?? "";
    if (/urlencoded$/i.test(encoding)) return { pairs: data, body: new URLSearchParams(data as never) };
    return { pairs: data, ...(/^multipart/i.test(encoding) && { body: data }) };
  }
}
