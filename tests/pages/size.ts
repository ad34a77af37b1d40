// The least a page does with the package: bind a form, submit it, ask once what became of it.
// The size measurement reads the states that it went through from the document element.
import { bindForm, defineOperation } from "postonce";

const page = document.documentElement.dataset;

const placeOrder = defineOperation({
  name: "order.create",
  url: "/orders",
  effect: "once",
  object: "required",
  budget: 2_000,
  attempts: 1,
  significant: ["sku", "quantity"],
  status: { url: "/orders/status" },
});

const form = bindForm("#order", placeOrder, { subject: "demo-user", object: crypto.randomUUID() });
const seen: string[] = [];

form.subscribe(({ state }) => {
  if (seen.at(-1) === state) return;
  seen.push(state);
  page.states = seen.join(" ");
  if (state === "unknown") form.check().catch(report);
});

function report(error: unknown): void {
  page.failure = String(error);
}

addEventListener("error", (event) => report(event.message));
addEventListener("unhandledrejection", (event) => report(event.reason));
document.querySelector<HTMLFormElement>("#order")?.requestSubmit();
