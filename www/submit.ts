// The submit button: it says what pressing it does now. It is never disabled, because a repeated press is harmless and
// a disabled button would take the keyboard's place on the page with it; where nothing new can go out, it says so.
import type { Snapshot } from "postonce";
import { byId, setText } from "./dom.js";
import { productName } from "./values.js";

interface Face {
  readonly label: string;
  readonly hint: string;
  /** Pressing it can send something, or lead somewhere. */
  readonly useful: boolean;
}

export function showSubmit(form: HTMLFormElement, snapshot: Snapshot, edited: boolean): void {
  const { label, hint, useful } = faceFor(snapshot, edited, wish(form));
  const button = byId<HTMLButtonElement>("submit");
  setText(byId("submit-label"), label);
  setText(byId("submit-hint"), hint);
  button.disabled = false;
  button.setAttribute("aria-disabled", String(!useful));
}

function faceFor({ state, may }: Snapshot, edited: boolean, wished: string): Face {
  switch (state) {
    case "idle":
      return {
        label: `Place order: ${wished}`,
        hint: "Sends it to the shop. Pressing twice still orders once.",
        useful: true,
      };
    case "sending":
    case "waiting":
      return { label: "Placing order", hint: "Pressing again joins the order that is on its way.", useful: false };
    case "checking":
      return { label: "Checking", hint: "Nothing new goes out meanwhile.", useful: false };
    case "succeeded":
      return edited
        ? {
            label: `Place another order: ${wished}`,
            hint: "It differs from the last order, so it is a new one.",
            useful: true,
          }
        : { label: "Order placed", hint: "Pressing again orders nothing more.", useful: false };
    case "rejected":
    case "fenced":
      return { label: `Place order: ${wished}`, hint: "Goes out as a new order under a new key.", useful: true };
    case "refused":
    case "not_sent":
      if (may.includes("submit")) {
        return { label: `Place order: ${wished}`, hint: "Goes out under the key that is still unused.", useful: true };
      }
      return held(edited);
    case "decided":
      return { label: "Order settled", hint: "Start a new order to place another.", useful: false };
    case "suspended":
    case "unknown":
    case "disputed":
      return held(edited);
  }
}

function held(edited: boolean): Face {
  return edited
    ? { label: "Compare with the open order", hint: "Sends nothing. Shows both versions side by side.", useful: true }
    : {
        label: "An order is still open",
        hint: "No second order goes out before this one is settled.",
        useful: false,
      };
}

function wish(form: HTMLFormElement): string {
  const fields = new FormData(form);
  const quantity = String(fields.get("quantity") ?? "").trim() || "?";
  return `${quantity} × ${productName(String(fields.get("sku") ?? ""))}`;
}
