/** Loads the module once for the whole page, at the first bind (R79). */
import init, { Digest, enter, pending as readPending, Slot } from "#wasm";
import { ModuleError } from "./errors.js";

/** One slot as the module offers it. */
export interface SlotHandle {
  touch(): void;
  submit_form(pairs: object, body?: BodyInit): void;
  offer_page_key(text: string): void;
  native_key(): string | undefined;
  unreadable(): void;
  submit_json(text: string): void;
  check(reference?: string): void;
  resend(pairs?: object, body?: BodyInit): void;
  fence(reference?: string): void;
  begin_new(leaveOpen: boolean): void;
  stop(): void;
  hand_over(): void;
  decide(outcome: string, by: string): boolean;
  change_subject(): void;
}

/** A content digest in the making. */
export interface DigestHandle {
  update(bytes: Uint8Array): void;
  finish(): string;
}

/** What the loaded module offers. */
export interface LoadedModule {
  digest(): DigestHandle;
  slot(options: string, subject: string, object: string, host: object): SlotHandle;
  pending(done: (text: string) => void): void;
  enter(subject: string): void;
}

const MODULE: LoadedModule = {
  digest: () => new Digest(),
  slot: (options, subject, object, host) => new Slot(options, subject, object, host as never, document.baseURI),
  pending: readPending,
  enter,
};

let source: URL | string | undefined;
let loading: Promise<LoadedModule> | undefined;

/** Where the module is, when it does not lie beside this file. Has no effect once the module loads. */
export function configure(options: { wasm: URL | string }): void {
  source = options.wasm;
}

export function loadModule(): Promise<LoadedModule> {
  loading ??= init({ module_or_path: source ?? new URL("postonce_bg.wasm", import.meta.url) }).then(
    () => MODULE,
    (cause: unknown) => {
      loading = undefined;
      throw new ModuleError(cause);
    },
  );
  return loading;
}

/**
 * Whether that is a trap in the module. It is in the middle of a step then, and never called again in this document (R80).
 */
export function isTrap(error: unknown): error is WebAssembly.RuntimeError {
  // Of another module in the page it says nothing: our own glue stands in the stack of ours.
  if (!(error instanceof WebAssembly.RuntimeError && error.stack?.includes(import.meta.url))) return false;
  loading = Promise.reject(new ModuleError(error));
  loading.catch(() => {});
  return true;
}
