// The list of orders that a person left open: they block nothing and are still there.
import type { FormIntent, OpenIntent, Snapshot } from "postonce";
import { showNotice } from "./actions.js";
import { problemText } from "./answers.js";
import { byId, element, setText } from "./dom.js";
import { clockTime } from "./format.js";

export function openList(form: FormIntent): { show(snapshot: Snapshot, now: number): void } {
  const section = byId("open-orders");
  const list = byId<HTMLUListElement>("open-list");
  const rows = new Map<string, HTMLLIElement>();

  return {
    show({ open }, now) {
      const wanted = new Set(open.map(({ reference }) => reference));
      for (const [reference, row] of rows) {
        if (wanted.has(reference)) continue;
        if (row.contains(document.activeElement)) byId("status").focus();
        row.remove();
        rows.delete(reference);
      }
      for (const intent of open) {
        const row = rows.get(intent.reference) ?? build(form, intent.reference);
        rows.set(intent.reference, row);
        if (!row.isConnected) list.append(row);
        describe(row, intent, now);
      }
      section.hidden = open.length === 0;
    },
  };
}

function build(form: FormIntent, reference: string): HTMLLIElement {
  const button = (action: "check" | "fence", label: string) => {
    const attributes = { type: "button", class: "button button-small", "data-action": action };
    const made = element("button", attributes, label, element("span", { class: "visually-hidden" }, ` ${reference}`));
    made.addEventListener("click", async () => {
      if (made.getAttribute("aria-busy") === "true") return;
      made.setAttribute("aria-busy", "true");
      showNotice(null);
      try {
        await form[action]({ reference });
      } catch (error) {
        showNotice(problemText(error));
      } finally {
        made.setAttribute("aria-busy", "false");
      }
    });
    return made;
  };
  return element(
    "li",
    { class: "open-item", "data-reference": reference },
    element("code", { class: "open-reference" }, reference),
    element("p", { class: "open-state" }),
    element("div", { class: "button-row" }, button("check", "Check"), button("fence", "Void")),
  );
}

function describe(row: HTMLLIElement, intent: OpenIntent, now: number): void {
  row.dataset.state = intent.state;
  const state = row.querySelector(".open-state");
  if (state) setText(state, `${stateText(intent)} Left open at ${clockTime(intent.leftAt, now)}.`);
  const settled = intent.state === "succeeded" || intent.state === "rejected" || intent.state === "fenced";
  for (const button of row.querySelectorAll("button")) button.hidden = settled;
}

function stateText({ state, resultId }: OpenIntent): string {
  switch (state) {
    case "unknown":
      return "May or may not have been placed.";
    case "checking":
      return "Asking the shop.";
    case "succeeded":
      return `Was placed${resultId ? ` as ${resultId}` : ""}.`;
    case "rejected":
      return "The shop said no. Nothing was ordered.";
    case "fenced":
      return "Void: not placed, and never will be.";
    case "disputed":
      return "The shop's answers do not fit together.";
  }
}
