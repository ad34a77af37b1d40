// The answer to a submit that differs from the open order: both are shown, nothing is sent, the person chooses.
import type { FormIntent, SubmitOutcome } from "postonce";
import { showNotice } from "./actions.js";
import { conflictText, problemText } from "./answers.js";
import { byId, element, setText } from "./dom.js";
import { labelOf, shownValue } from "./values.js";

type Conflict = Extract<SubmitOutcome, { kind: "conflict" }>;

export function showConflict(intent: FormIntent, conflict: Conflict, keep: () => void): void {
  const dialog = byId<HTMLDialogElement>("conflict");
  setText(byId("conflict-text"), conflictText(conflict.why));
  byId("conflict-rows").replaceChildren(...rowsOf(conflict));
  byId("conflict-choices").replaceChildren(...choicesOf(intent, conflict, keep));
  if (!dialog.open) dialog.showModal();
}

function rowsOf({ live, offered }: Conflict): HTMLTableRowElement[] {
  const fields = [...new Set([...Object.keys(live), ...Object.keys(offered)])];
  return fields.map((field) => {
    const before = shownValue(live, field);
    const after = shownValue(offered, field);
    // A field that is not remembered cannot be compared here; it differs only if the rest does not.
    const differs = before !== null && after !== null && before !== after;
    return element(
      "tr",
      { "data-differs": String(differs) },
      element("th", { scope: "row" }, labelOf(field)),
      element("td", {}, before ?? "not kept here"),
      element("td", {}, after ?? "not kept here"),
    );
  });
}

function choicesOf(intent: FormIntent, conflict: Conflict, keep: () => void): HTMLElement[] {
  const dialog = byId<HTMLDialogElement>("conflict");
  const choice = (name: string, text: string, act: () => unknown) => {
    const button = element("button", { type: "button", class: "button", "data-choice": name }, text);
    button.addEventListener("click", async () => {
      dialog.close();
      try {
        await act();
      } catch (error) {
        showNotice(problemText(error));
      }
    });
    return button;
  };
  const keepButton = choice("keep", "Keep the open order", keep);
  keepButton.classList.add("button-strong");
  const draft = choice("draft", "Go on editing", () => undefined);
  if (!conflict.snapshot.may.includes("begin_new")) return [keepButton, draft];

  const replace = choice("begin_new", "Void the open order, start with my change", async () => {
    await intent.beginNew();
    byId("submit").focus();
  });
  return [keepButton, replace, draft];
}
