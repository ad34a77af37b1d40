// A form with named buttons, one of them without a value, and fields of the same name. Its own handler locks every button
// the moment a submit begins, as many pages do, and unlocks them when it is answered.
import { bindForm, defineOperation, type OperationOptions } from "postonce";

const query = new URLSearchParams(location.search);

const options: OperationOptions = {
  name: "order.create",
  url: "/orders",
  effect: "once",
  contract: "postonce",
  budget: Number(query.get("budget") ?? 8_000),
  attempts: Number(query.get("attempts") ?? 3),
  significant: ["sku", "quantity", "action", "special", "tag"],
  encoding: query.get("encoding") === "urlencoded" ? "urlencoded" : "json",
  status: { url: "/orders/status" },
};

const element = document.querySelector("form");
const locksFirst = query.get("handler") === "first";
if (locksFirst) element?.addEventListener("submit", onSubmit);

const order = bindForm("#order", defineOperation(options), {
  subject: "demo-user",
  object: query.get("cart") ?? "submitters",
});
const { form } = order;
const { dataset } = document.documentElement;

function lock(locked: boolean): void {
  for (const button of form.querySelectorAll("button")) button.disabled = locked;
}

if (!locksFirst) form.addEventListener("submit", onSubmit);

function onSubmit(): void {
  lock(true);
  dataset.locked = String(Number(dataset.locked ?? 0) + 1);
}

const kinds: string[] = [];
function listen(): void {
  order.submitted().then(({ kind }) => {
    kinds.push(kind);
    dataset.answers = kinds.join(" ");
    lock(false);
    listen();
  });
}
listen();

order.subscribe(({ state }) => {
  dataset.state = state;
});
