// The ready-made ways to break things: the five that every client and server must get right, and some more.
import { addressOf, freshCart } from "./address.js";
import { byId, element, setText } from "./dom.js";
import { rulesFor } from "./faults.js";
import { type FaultRule, planFaults, resetServer } from "./server.js";

const BUDGET_MS_SHORT = 2_000;
const BUDGET_MS_LONG = 8_000;

interface Scenario {
  readonly name: string;
  readonly title: string;
  readonly budget: number;
  readonly faults: readonly FaultRule[];
  /** What the person does, and what is then to be seen. */
  readonly steps: string;
  readonly expect: string;
}

const SCENARIOS: readonly Scenario[] = [
  {
    name: "calm",
    title: "All goes well",
    budget: BUDGET_MS_LONG,
    faults: [],
    steps: "Place the order.",
    expect: "One attempt, one answer, one order.",
  },
  {
    name: "lost-answer",
    title: "Answer lost after the order",
    budget: BUDGET_MS_LONG,
    faults: rulesFor({ fault: "lost-answer" }, [1]),
    steps: "Place the order and wait a moment.",
    expect: "The second attempt brings the same order id. One order, one key.",
  },
  {
    name: "two-clicks",
    title: "Two clicks",
    budget: BUDGET_MS_LONG,
    faults: rulesFor({ fault: "delay-before", ms: 1_500 }, [1]),
    steps: "Press the button twice, or open a second tab and press it there too.",
    expect: "One request, one order. The second press joins the first.",
  },
  {
    name: "too-slow",
    title: "Server slower than the budget",
    budget: BUDGET_MS_SHORT,
    faults: rulesFor({ fault: "delay-effect", ms: 4_000 }, [1]),
    steps: "Place the order and wait until the budget is over. Check at once, then again after five seconds.",
    expect: "“We do not know yet”, and no further attempt. The check finds the order once the shop is done.",
  },
  {
    name: "edited",
    title: "Edited after unknown",
    budget: BUDGET_MS_SHORT,
    faults: rulesFor({ fault: "lost-answer" }),
    steps: "Place the order. Once the outcome is unknown, change the quantity and press again.",
    expect: "Nothing is sent. Both versions are shown side by side, and you choose.",
  },
  {
    name: "busy",
    title: "Shop asks to wait",
    budget: BUDGET_MS_LONG,
    faults: rulesFor({ fault: "status", status: 503, retry_after: 2 }, [1]),
    steps: "Place the order. The shop answers 503 with Retry-After: 2.",
    expect: "No attempt before the two seconds are over, then one order.",
  },
  {
    name: "cut-off",
    title: "Never gets through",
    budget: BUDGET_MS_SHORT,
    faults: rulesFor({ fault: "drop-before" }),
    steps: "Place the order. Then void it for certain.",
    expect: "Unknown at first, because the page cannot tell. After the fence: surely not placed.",
  },
  {
    name: "login-page",
    title: "Login page says 200",
    budget: BUDGET_MS_LONG,
    faults: rulesFor({ fault: "html-200-after" }, [1]),
    steps: "Place the order.",
    expect: "The page does not fall for it. The next attempt brings the real answer.",
  },
];

export function scenarioList(chosen: string | null): void {
  const list = byId<HTMLUListElement>("scenarios");
  list.replaceChildren(...SCENARIOS.map((scenario) => element("li", {}, scenarioButton(scenario, chosen))));
  const scenario = SCENARIOS.find(({ name }) => name === chosen);
  byId("briefing").hidden = scenario === undefined;
  setText(byId("briefing-do"), scenario?.steps ?? "");
  setText(byId("briefing-expect"), scenario?.expect ?? "");
}

/** An empty shop, a fresh cart, the faults in place; then the page loads anew, because the budget may differ. */
export async function startOver(budget: number, scenario: string | null, faults: readonly FaultRule[]): Promise<void> {
  const line = byId("lab-status");
  setText(line, "Setting up.");
  try {
    await resetServer();
    await planFaults(faults);
    location.assign(addressOf({ cart: freshCart(), budget, scenario }));
  } catch (error) {
    setText(line, error instanceof Error ? error.message : String(error));
  }
}

function scenarioButton(scenario: Scenario, chosen: string | null): HTMLButtonElement {
  const button = element(
    "button",
    {
      type: "button",
      class: "scenario",
      "data-scenario": scenario.name,
      "aria-pressed": String(scenario.name === chosen),
    },
    scenario.title,
  );
  button.addEventListener("click", () => void startOver(scenario.budget, scenario.name, scenario.faults));
  return button;
}
