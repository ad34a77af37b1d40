// The buttons for what a person may do now. The snapshot decides which exist; each says what it will do.
import type { Action, FormIntent, Snapshot } from "postonce";
import { problemText } from "./answers.js";
import { byId, element, setText } from "./dom.js";

/** The actions that have a button here; `submit` is the form's own. */
type ButtonAction = Exclude<Action, "submit">;

interface Choice {
  readonly label: string;
  readonly text: string;
  readonly primary?: boolean;
}

const ORDER: readonly ButtonAction[] = [
  "check",
  "stop",
  "resend",
  "sign_in",
  "fence",
  "begin_new",
  "leave_open",
  "hand_over",
  "decide",
];

const RULINGS = [
  { outcome: "applied", label: "It was placed" },
  { outcome: "not_applied", label: "It was not placed" },
  { outcome: "left_open", label: "Leave it open" },
] as const;

const NOTE_LENGTH_MAX = 280;

export interface ActionPanel {
  show(snapshot: Snapshot): void;
}

/**
 * @param settled called after an action brought the slot somewhere, so that the page can follow (focus, drawing).
 */
export function actionPanel(form: FormIntent, settled: (action: ButtonAction) => void): ActionPanel {
  const list = byId<HTMLUListElement>("actions");
  const rows = new Map<ButtonAction, HTMLLIElement>();
  let running: ButtonAction | null = null;

  async function run(action: ButtonAction, work: () => Promise<unknown>): Promise<void> {
    if (running !== null) return;
    running = action;
    showNotice(null);
    markBusy();
    try {
      await work();
    } catch (error) {
      showNotice(problemText(error));
    } finally {
      running = null;
      markBusy();
      settled(action);
    }
  }

  function markBusy(): void {
    for (const [action, row] of rows) {
      for (const button of row.querySelectorAll("button")) {
        button.setAttribute("aria-disabled", String(running !== null));
        button.setAttribute("aria-busy", String(running === action));
      }
    }
  }

  function build(action: ButtonAction): HTMLLIElement {
    if (action === "hand_over") return handOverRow((note) => run(action, () => form.handOver(note)));
    if (action === "decide") {
      return decideRow((outcome) => run(action, () => form.decide({ outcome, by: "support desk", note: "" })));
    }
    const button = actionButton(action);
    button.addEventListener("click", () => void run(action, () => perform(form, action)));
    return element("li", { class: "action" }, button);
  }

  return {
    show(snapshot) {
      const wanted = ORDER.filter((action) => snapshot.may.includes(action));
      const hadFocus = list.contains(document.activeElement);
      for (const [action, row] of rows) {
        if (wanted.includes(action)) continue;
        row.remove();
        rows.delete(action);
      }
      wanted.forEach((action, index) => {
        const row = rows.get(action) ?? build(action);
        rows.set(action, row);
        if (list.children[index] !== row) list.insertBefore(row, list.children[index] ?? null);
        label(row, action, snapshot, index === 0);
      });
      list.hidden = wanted.length === 0;
      markBusy();
      // A button that went away must not take the keyboard's place with it.
      if (hadFocus && !list.contains(document.activeElement)) byId("status").focus();
    },
  };
}

/** The line for what went wrong with an action, or for an answer that changes no state. */
export function showNotice(text: string | null): void {
  const notice = byId("notice");
  setText(notice, text ?? "");
  notice.hidden = text === null;
}

function perform(form: FormIntent, action: Exclude<ButtonAction, "hand_over" | "decide">): Promise<unknown> {
  switch (action) {
    case "check":
      return form.check();
    case "resend":
    case "sign_in":
      return form.resend();
    case "fence":
      return form.fence();
    case "begin_new":
      return form.beginNew();
    case "leave_open":
      return form.beginNew({ leaveOpen: true });
    case "stop":
      form.stop();
      return Promise.resolve();
  }
}

function label(row: HTMLLIElement, action: ButtonAction, snapshot: Snapshot, first: boolean): void {
  const { label: name, text, primary } = choiceFor(action, snapshot);
  row.classList.toggle("action-strong", primary === true && first);
  const called = row.querySelector(".action-label");
  if (called) setText(called, name);
  const described = row.querySelector(".action-text");
  if (described) setText(described, text);
}

function choiceFor(action: ButtonAction, { state, doubt }: Snapshot): Choice {
  switch (action) {
    case "check":
      return { label: "Check with the shop", text: "Looks the order up under its key. Orders nothing.", primary: true };
    case "stop":
      return {
        label: "Stop trying",
        text:
          doubt.possible || state === "sending"
            ? "No further attempt. What is already out may still be placed."
            : "No further attempt. Nothing has been ordered so far.",
      };
    case "resend":
      return {
        label: "Send the same order again",
        text: "Same order, same key: if it went through before, you get that answer and no second order.",
      };
    case "sign_in":
      return { label: "I am signed in again", text: "Sends the same order on, under the same key." };
    case "fence":
      return {
        label: "Void it for certain",
        text: "If it has not been placed, it never will be. If it has, you see the order.",
      };
    case "begin_new":
      return beginNewChoice(state);
    case "leave_open":
      return {
        label: "Leave it open, start a new one",
        text: "Voids it if it can. If not, both may be placed; the open one stays listed, to check or void later.",
      };
    case "hand_over":
      return { label: "Hand over to support", text: "A person decides. Until then nothing more is sent." };
    case "decide":
      return { label: "Decide", text: "For the support desk: record what a person found out." };
  }
}

function beginNewChoice(state: Snapshot["state"]): Choice {
  switch (state) {
    case "unknown":
    case "checking":
    case "disputed":
    case "suspended":
    case "sending":
    case "waiting":
      return {
        label: "Void it, then start a new one",
        text: "A new order starts only once this one is surely void.",
      };
    case "idle":
    case "succeeded":
    case "rejected":
    case "refused":
    case "not_sent":
    case "fenced":
    case "decided":
      return {
        label: "Start a new order",
        text: "With a key of its own, even for the same things.",
      };
  }
}

/** The whole row is the button; its name is the first line, the second describes it. */
function actionButton(action: ButtonAction): HTMLButtonElement {
  const name = element("span", { class: "action-label", id: `action-${action}` });
  const text = element("span", { class: "action-text", id: `action-${action}-text` });
  const attributes = { "aria-labelledby": name.id, "aria-describedby": text.id, "data-action": action };
  return element("button", { type: "button", class: "action-button", ...attributes }, name, text);
}

function handOverRow(handOver: (note: string) => Promise<void>): HTMLLIElement {
  const note = element("input", {
    id: "hand-over-note",
    class: "action-note",
    "aria-label": "Note for support",
    placeholder: "Note for support, optional",
    maxlength: NOTE_LENGTH_MAX,
    autocomplete: "off",
  });
  const button = actionButton("hand_over");
  button.addEventListener("click", () => void handOver(note.value));
  return element("li", { class: "action" }, button, note);
}

function decideRow(decide: (outcome: (typeof RULINGS)[number]["outcome"]) => Promise<void>): HTMLLIElement {
  const buttons = RULINGS.map(({ outcome, label: name }) => {
    const attributes = {
      type: "button",
      class: "button button-small",
      "data-action": "decide",
      "data-outcome": outcome,
    };
    const button = element("button", attributes, name);
    button.addEventListener("click", () => void decide(outcome));
    return button;
  });
  const name = element("span", { class: "action-label" });
  const text = element("span", { class: "action-text" });
  return element(
    "li",
    { class: "action action-decide" },
    name,
    text,
    element("div", { class: "button-row" }, ...buttons),
  );
}
