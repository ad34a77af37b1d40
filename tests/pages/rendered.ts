// What a server would have written into the page: the slot's frozen name, a key, and who it is for. And the library, which
// comes at once, when it is called for, or never.

const wanted = new URLSearchParams(location.search);
const form = document.querySelector<HTMLFormElement>("#order");
if (form) {
  form.dataset.postonce = wanted.get("slot") ?? "";
  form.dataset.postonceWait = wanted.get("wait") ?? "1500";
  for (const name of ["key", "first_sent", "subject"]) {
    const field = form.querySelector<HTMLInputElement>(`[name=_idempotency_${name}]`);
    if (field) field.value = wanted.get(name) ?? "";
  }
}

const load = (): void =>
  document.head.append(Object.assign(document.createElement("script"), { type: "module", src: "./order.js" }));
if (wanted.get("module") === "late") Object.assign(globalThis, { loadModule: load });
if (wanted.get("module") === "now") load();

export {};
