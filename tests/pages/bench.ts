// Times a submit up to its `fetch` call: the package, and the least that somebody would write by hand.
// Both run in turns in one page, so that whatever slows the machine slows both.
import { bindForm, defineOperation } from "postonce";

const ROUNDS = 60;
const WARM_UP = 10;
const BUDGET_MS = 8_000;

let fetchCalled: (at: number) => void = () => {};
const realFetch = globalThis.fetch.bind(globalThis);
globalThis.fetch = (input, init) => {
  fetchCalled(performance.now());
  return realFetch(input, init);
};

const placeOrder = defineOperation({
  name: "order.create",
  url: "/orders",
  effect: "once",
  object: "required",
  budget: BUDGET_MS,
  significant: ["sku", "quantity"],
  status: { url: "/orders/status" },
});
const bound = bindForm("#bound", placeOrder, { subject: "demo-user", object: "bound" });

/** Key in storage, snapshot, JSON, headers, one abort: no retry, no second tab, no unknown outcome. */
function submitByHand(form: HTMLFormElement): Promise<unknown> {
  const random = crypto.getRandomValues(new Uint8Array(16));
  const key = Array.from(random, (byte) => byte.toString(16).padStart(2, "0")).join("");
  const now = Math.floor(Date.now() / 1_000);
  localStorage.setItem("by-hand", key);
  return fetch(form.action, {
    method: "POST",
    body: JSON.stringify(Object.fromEntries(new FormData(form))),
    headers: {
      "Content-Type": "application/json",
      "Idempotency-Key": `"${key}"`,
      "Idempotency-First-Sent": `@${now}`,
      "Idempotency-Deadline": `@${now + BUDGET_MS / 1_000}`,
      "Idempotency-Subject": '"demo-user"',
    },
    signal: AbortSignal.timeout(BUDGET_MS),
  }).then((answer) => answer.text());
}

function formOf(id: string): HTMLFormElement {
  const form = document.getElementById(id);
  if (!(form instanceof HTMLFormElement)) throw new Error(`no form #${id}`);
  return form;
}

const byHandForm = formOf("by-hand");
let byHandDone: Promise<unknown> = Promise.resolve();
byHandForm.addEventListener("submit", (event) => {
  event.preventDefault();
  byHandDone = submitByHand(byHandForm);
});

async function millisToFetch(form: HTMLFormElement): Promise<number> {
  const called = new Promise<number>((settle) => {
    fetchCalled = settle;
  });
  const submitted = performance.now();
  form.requestSubmit();
  const elapsed = (await called) - submitted;
  fetchCalled = () => {};
  return elapsed;
}

function boundSettled(): Promise<void> {
  return new Promise((settle, fail) => {
    const stop = bound.subscribe(({ state }) => {
      if (state === "sending" || state === "idle") return;
      queueMicrotask(() => stop());
      if (state === "succeeded") settle();
      else fail(new Error(`the bound form is \`${state}\``));
    });
  });
}

async function measure(): Promise<{ bound: number[]; byHand: number[] }> {
  const times = { bound: [] as number[], byHand: [] as number[] };
  for (let round = -WARM_UP; round < ROUNDS; round += 1) {
    const boundMs = await millisToFetch(formOf("bound"));
    await boundSettled();
    await bound.beginNew();
    const byHandMs = await millisToFetch(byHandForm);
    await byHandDone;
    if (round < 0) continue;
    times.bound.push(boundMs);
    times.byHand.push(byHandMs);
  }
  return times;
}

measure().then(
  (times) => {
    document.documentElement.dataset.times = JSON.stringify(times);
  },
  (error: unknown) => {
    document.documentElement.dataset.failure = String(error);
  },
);
