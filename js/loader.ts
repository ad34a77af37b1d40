/** Loads the module once for the whole page, at the first bind (R79). */
import init from "#wasm";
import { ModuleError } from "./errors.js";

let source: URL | string | undefined;
let loading: Promise<unknown> | undefined;

/** Where the module is, when it does not lie beside this file. Has no effect once the module loads. */
export function configure(options: { wasm: URL | string }): void {
  source = options.wasm;
}

export function loadModule(): Promise<unknown> {
  loading ??= init({ module_or_path: source ?? new URL("postonce_bg.wasm", import.meta.url) }).catch((cause: unknown) => {
    loading = undefined;
    throw new ModuleError(cause);
  });
  return loading;
}
