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
import { Controller } from "./controller.js";
import { MisuseError, OptionError } from "./errors.js";
import { BoundForm, boundTo } from "./form.js";
import { ValueSlot } from "./intent.js";
import { configure, loadModule } from "./loader.js";
import { checkOptions, isSecretControl } from "./options.js";
import { shared } from "./shared.js";
import type { BindOptions, FormIntent, Operation, OperationOptions, PendingIntent, ValueIntent } from "./types.js";

export { MisuseError, ModuleError, OptionError, PostonceError } from "./errors.js";
export type * from "./types.js";
export { configure };

function controllerOf(operation: Operation, { subject, object }: BindOptions): Controller {
  const { controllers, definitions } = shared();
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
  shared().definitions.set(operation, kept);
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
  const bound = boundTo(form, controller);
  if (bound) return bound;
  for (const name of controller.options.remember ?? []) {
    for (const element of form.elements) {
      if (element.getAttribute("name") === name && isSecretControl(element)) {
        throw new OptionError("remember", "sensitive-remember", name);
      }
    }
  }
  return new BoundForm(form, controller);
}

/** Tells the library who is there now; `null` after a logout. Intents of anybody else become inert (R25, R93). */
export function setSubject(subject: string | null): void {
  const { controllers } = shared();
  for (const [slot, controller] of controllers) {
    if ((JSON.parse(slot) as string[])[0] === subject) continue;
    if (controller.slot) controller.slot.change_subject();
    // Before what is held for it is handed over.
    else controller.ready.then((late) => late.change_subject()).catch(() => {});
    controllers.delete(slot);
  }
  // Wishes of other pages keep nothing of theirs either. Whoever comes erases it at their own bind.
  if (subject === null || controllers.size)
    loadModule()
      .then((module) => module.enter(subject ?? ""))
      .catch(() => {});
}

/** The open intents that this device knows of, on whatever page the person landed. */
export async function pending(): Promise<readonly PendingIntent[]> {
  const module = await loadModule();
  return new Promise((resolve) => module.pending((text) => resolve(JSON.parse(text))));
}
