/** What all copies of the library in one page share: bundlers and widgets bring the same package twice (R78). */
import type { Controller } from "./controller.js";
import type { BoundForm } from "./form.js";
import type { Operation, OperationOptions } from "./types.js";

interface Shared {
  /** One for each slot of the page, whoever binds it. */
  readonly controllers: Map<string, Controller>;
  /** Options by the operation that was made of them. */
  readonly definitions: WeakMap<Operation, OperationOptions>;
  /** Every binding of a form: two of its buttons may mean two operations (R98). */
  readonly bindings: WeakMap<HTMLFormElement, BoundForm[]>;
  /** Hidden fields whose text is the library's, and who wrote it last: never taken for a server's key again (R8). */
  readonly written: WeakMap<Element, BoundForm>;
}

/** To be raised when copies no longer understand each other's objects; those go separate ways, as two tabs do. */
const NAME = Symbol.for("postonce:1");

/** Made at the first call: an import has no effect. */
export function shared(): Shared {
  const page = globalThis as { [NAME]?: Shared };
  page[NAME] ??= {
    controllers: new Map(),
    definitions: new WeakMap(),
    bindings: new WeakMap(),
    written: new WeakMap(),
  };
  return page[NAME];
}
