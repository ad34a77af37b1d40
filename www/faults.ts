// What can go wrong with one attempt, and the form that chooses it attempt by attempt.
import { byId, element, setText } from "./dom.js";
import { type FaultRule, planFaults } from "./server.js";

/** What else a fault needs to know. */
type Parameter = "ms" | "status" | "retry_after";

interface Fault {
  readonly name: string;
  readonly label: string;
  readonly group: string;
  readonly needs: readonly Parameter[];
}

const AFTER = "The order runs, the answer does not arrive";
const BEFORE = "The order does not run";
const SLOW = "Slow";

const FAULTS: readonly Fault[] = [
  { name: "lost-answer", label: "Answer lost", group: AFTER, needs: [] },
  { name: "truncated-body", label: "Answer cut in the middle", group: AFTER, needs: [] },
  { name: "stalled-body", label: "Answer starts and stalls", group: AFTER, needs: [] },
  { name: "status-after", label: "Error status after the order", group: AFTER, needs: ["status", "retry_after"] },
  { name: "html-200-after", label: "Login page after the order", group: AFTER, needs: [] },
  { name: "redirect-after", label: "Redirect after the order", group: AFTER, needs: [] },
  { name: "hang-after", label: "Silence after the order", group: AFTER, needs: [] },
  { name: "drop-before", label: "Connection cut before the order", group: BEFORE, needs: [] },
  { name: "status", label: "Error status instead of the order", group: BEFORE, needs: ["status", "retry_after"] },
  { name: "html-200", label: "Login page instead of the order", group: BEFORE, needs: [] },
  { name: "redirect", label: "Redirect instead of the order", group: BEFORE, needs: [] },
  { name: "hang", label: "Silence instead of the order", group: BEFORE, needs: [] },
  { name: "delay-before", label: "Slow, then the order", group: SLOW, needs: ["ms"] },
  { name: "delay-effect", label: "Slow at the order itself", group: SLOW, needs: ["ms"] },
  { name: "delay-after", label: "The order, then slow", group: SLOW, needs: ["ms"] },
];

const OPERATION = "order.create";
const ATTEMPTS = [1, 2, 3];
const DELAY_MS_DEFAULT = 3_000;
const STATUS_DEFAULT = 503;
const RETRY_AFTER_S_DEFAULT = 2;

export function faultLabel(name: string): string {
  return FAULTS.find((fault) => fault.name === name)?.label ?? name;
}

/** The same rule for the attempts named, or for each of one round. */
export function rulesFor(rule: Omit<FaultRule, "match">, attempts: readonly number[] = ATTEMPTS): FaultRule[] {
  return attempts.map((attempt) => ({ match: { operation: OPERATION, attempt }, ...rule }));
}

export function faultForm(): void {
  const form = byId<HTMLFormElement>("faults");
  const every = faultSelect("every", "Every attempt");
  const single = ATTEMPTS.map((attempt) => faultSelect(String(attempt), `Attempt ${attempt}`));
  const amounts = {
    ms: amount("ms", "Delay", "ms", DELAY_MS_DEFAULT, 0, 60_000),
    status: amount("status", "Error status", "", STATUS_DEFAULT, 400, 599),
    retry_after: amount("retry_after", "Retry-After", "s", RETRY_AFTER_S_DEFAULT, 0, 3_600),
  };
  const apply = element("button", { type: "submit", class: "button" }, "Use these faults");
  const clear = element("button", { type: "reset", class: "button button-quiet" }, "Clear");
  form.append(
    element("div", { class: "faults-row" }, every.field, ...single.map(({ field }) => field)),
    element("div", { class: "faults-row" }, ...Object.values(amounts).map(({ field }) => field)),
    element("div", { class: "button-row" }, apply, clear),
  );

  const showAmounts = () => {
    const chosen = single.map(({ select }) => FAULTS.find(({ name }) => name === select.value));
    for (const [name, { field }] of Object.entries(amounts)) {
      field.dataset.used = String(chosen.some((fault) => fault?.needs.some((needed) => needed === name)));
    }
  };
  every.select.addEventListener("change", () => {
    for (const { select } of single) select.value = every.select.value;
    showAmounts();
  });
  for (const { select } of single) {
    select.addEventListener("change", () => {
      every.select.value = single.every((other) => other.select.value === select.value) ? select.value : "";
      showAmounts();
    });
  }
  form.addEventListener("submit", (event) => {
    event.preventDefault();
    const values = { ms: amounts.ms.value(), status: amounts.status.value(), retry_after: amounts.retry_after.value() };
    void plan(single.flatMap(({ select }, index) => ruleFrom(select.value, ATTEMPTS[index] ?? 1, values)));
  });
  form.addEventListener("reset", () => {
    setTimeout(showAmounts);
    void plan([]);
  });
  showAmounts();
}

async function plan(rules: readonly FaultRule[]): Promise<void> {
  const line = byId("lab-status");
  try {
    await planFaults(rules);
    const named = rules.map(({ match, fault }) => `attempt ${match.attempt}: ${faultLabel(fault).toLowerCase()}`);
    setText(line, named.length > 0 ? `Set. ${named.join(", ")}.` : "No faults. The network behaves.");
  } catch (error) {
    setText(line, error instanceof Error ? error.message : String(error));
  }
}

function ruleFrom(name: string, attempt: number, values: Readonly<Record<Parameter, number>>): FaultRule[] {
  const fault = FAULTS.find((candidate) => candidate.name === name);
  if (!fault) return [];
  const { ms, status, retry_after } = values;
  return rulesFor(
    {
      fault: name,
      ...(fault.needs.includes("ms") ? { ms } : {}),
      ...(fault.needs.includes("status") ? { status } : {}),
      ...(fault.needs.includes("retry_after") ? { retry_after } : {}),
    },
    [attempt],
  );
}

function faultSelect(id: string, label: string) {
  const select = element("select", { id: `fault-${id}`, "data-fault-attempt": id });
  select.append(element("option", { value: "" }, "No fault"));
  for (const group of new Set(FAULTS.map((fault) => fault.group))) {
    const options = FAULTS.filter((fault) => fault.group === group).map(({ name, label: text }) =>
      element("option", { value: name }, text),
    );
    select.append(element("optgroup", { label: group }, ...options));
  }
  const field = element("div", { class: "field" }, element("label", { for: select.id }, label), select);
  return { field, select };
}

function amount(id: string, label: string, unit: string, value: number, min: number, max: number) {
  const input = element("input", { id: `fault-${id}`, type: "number", min, max, value, inputmode: "numeric" });
  const name = unit ? `${label} (${unit})` : label;
  const field = element("div", { class: "field field-amount" }, element("label", { for: input.id }, name), input);
  return { field, value: () => (Number.isFinite(input.valueAsNumber) ? input.valueAsNumber : value) };
}
