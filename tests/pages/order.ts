// An order page like a user's: only the public face. What it is bound with comes from the address.

import type { OperationOptions, SubmitOutcome } from "postonce";
import { bindForm, defineOperation, pending, setSubject } from "postonce";

const address = new URLSearchParams(location.search);
const number = (name: string): object => (address.has(name) ? { [name]: Number(address.get(name)) } : {});
const list = (name: string): object =>
  address.has(name) ? { [name]: address.get(name)?.split(",").filter(Boolean) } : {};
const word = (name: string): object => (address.has(name) ? { [name]: address.get(name) } : {});

const options: OperationOptions = {
  name: "order.create",
  url: "/orders",
  contract: "postonce",
  effect: "once",
  status: { url: "/orders/status" },
  resultId: "/id",
  ...number("budget"),
  ...number("attempts"),
  ...number("attemptCap"),
  ...list("significant"),
  ...list("volatile"),
  ...list("remember"),
  ...word("persistence"),
  ...word("encoding"),
  ...(address.has("expect") ? { expect: JSON.parse(address.get("expect") ?? "{}") } : {}),
  // Any other; `null` leaves one out.
  ...JSON.parse(address.get("options") ?? "{}", (_, value) => value ?? undefined),
};

const outcomes: SubmitOutcome[] = [];
const history: { state: string; at: number }[] = [];
const operation = defineOperation(options);
const form = bindForm("#order", operation, {
  subject: address.get("subject") ?? "demo-user",
  object: address.get("cart") ?? "cart-1",
});

form.subscribe(({ state }) => {
  history.push({ state, at: Date.now() });
  const shown = document.querySelector("#state");
  if (shown) shown.textContent = state;
});

/** Every submit's answer, in order. */
form.form.addEventListener("submit", () => {
  form.submitted().then(
    (outcome) => outcomes.push(outcome),
    (error: unknown) => {
      document.documentElement.dataset.failure = String(error);
    },
  );
});

Object.assign(globalThis, {
  lab: { form, operation, outcomes, history, pending, setSubject, bindForm, defineOperation },
});
