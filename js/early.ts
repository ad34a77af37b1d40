/**
 * A classic script for the head of a page, before any other: holds a submit that is made before the module is there, and
 * hands it over once (R79). Where the module cannot come, it does what is safe without: the form's own POST with the key
 * that the server wrote into it, or a message; never a POST without a key (R80).
 *
 * It takes forms with `data-postonce`, the frozen name of their slot's record.
 */

/** A submit that nobody has sent yet. */
export interface HeldSubmit {
  readonly data: FormData;
  readonly submitter: HTMLElement | null;
}

/** What the script leaves for the library. */
export interface Early {
  /** From now on the form's submits are the library's; what is held for it, once. */
  take(form: HTMLFormElement): HeldSubmit | undefined;
  /** The library cannot send it: does what is safe. */
  fail(form: HTMLFormElement, submitter: HTMLElement | null): void;
}

/** How long the library may take after a submit. */
const WAIT_MS = 5_000;

((): void => {
  const held = new Map<HTMLFormElement, HeldSubmit>();
  const taken = new WeakSet<HTMLFormElement>();

  const early: Early = {
    take(form) {
      const submit = held.get(form);
      held.delete(form);
      taken.add(form);
      return submit;
    },
    fail(form, submitter) {
      held.delete(form);
      form.removeAttribute("aria-busy");
      const { postonce = "", postonceFailed } = form.dataset;
      const field = (name: string): HTMLInputElement | null => form.querySelector(`[name=_idempotency_${name}]`);
      const key = field("key")?.value;
      let record: string | null = "?";
      try {
        record = localStorage.getItem(postonce);
      } catch {
        // Nobody can tell what stands there.
      }
      // Empty, finished under another key, or still reserved under this very one.
      const current = record?.split('"current":')[1] ?? "";
      const free =
        !record ||
        (record.startsWith("{") &&
          (current
            ? current.startsWith(`{"key":"${key}"`) && current.includes('"phase":"reserved"')
            : !record.includes(`"${key}"`)));
      if (key && free) {
        const sent = field("first_sent");
        if (sent && !sent.value) sent.value = `@${Math.floor(Date.now() / 1_000)}`;
        const { name, value } = (submitter ?? {}) as HTMLButtonElement;
        if (name) form.append(Object.assign(document.createElement("input"), { type: "hidden", name, value }));
        HTMLFormElement.prototype.submit.call(form);
        return;
      }
      const message = form.querySelector<HTMLElement>("[role=alert]") ?? document.createElement("p");
      Object.assign(message, { role: "alert", hidden: false });
      form.append(message);
      message.textContent = postonceFailed ?? "This was not sent. Reload the page and look before you send it again.";
    },
  };
  (globalThis as { postonceEarly?: Early }).postonceEarly = early;

  // On the window, after the page's own handlers: they may fill in or cancel.
  addEventListener("submit", (event) => {
    const form = event.target as HTMLFormElement;
    const { submitter } = event;
    const own = /formaction|formmethod|formtarget/.test(`${submitter?.getAttributeNames()}`);
    if (event.defaultPrevented || !form.dataset.postonce || taken.has(form) || form.method !== "post" || own) return;
    event.preventDefault();
    if (held.has(form)) return;
    const data = new FormData(form);
    const { name, value } = (submitter ?? {}) as HTMLButtonElement;
    if (name) data.append(name, value);
    held.set(form, { data, submitter });
    form.setAttribute("aria-busy", "true");
    setTimeout(() => held.has(form) && early.fail(form, submitter), Number(form.dataset.postonceWait) || WAIT_MS);
  });
})();
