// The status region: one message, the facts behind it, and the time that is left.
import type { Snapshot } from "postonce";
import { byId, element, setText } from "./dom.js";
import { secondsLeft } from "./format.js";
import { messageFor } from "./messages.js";
import { describeValues } from "./values.js";

const BUSY = new Set<Snapshot["state"]>(["sending", "waiting", "checking"]);

export function isBusy({ state }: Snapshot): boolean {
  return BUSY.has(state);
}

export function showStatus(snapshot: Snapshot, now: number): void {
  const { tone, title, text } = messageFor(snapshot, now);
  const status = byId("status");
  byId("outcome").dataset.tone = tone;
  status.dataset.state = snapshot.state;
  status.setAttribute("aria-busy", String(isBusy(snapshot)));
  setText(byId("status-title"), title);
  setText(byId("status-text"), text);
  showFacts(snapshot);
  showCountdown(snapshot, now);
}

/** Moves with the clock, so it is outside the live region and hidden from screen readers. */
export function showCountdown(snapshot: Snapshot, now: number): void {
  const countdown = byId("countdown");
  const parts: string[] = [];
  if (snapshot.state === "waiting" && snapshot.until > now)
    parts.push(`next attempt in ${secondsLeft(snapshot.until, now)}`);
  if (isBusy(snapshot) && snapshot.state !== "checking" && snapshot.deadline !== null) {
    parts.push(`${secondsLeft(snapshot.deadline, now)} of ${snapshot.budget / 1_000} s left`);
    const left = Math.min(1, Math.max(0, (snapshot.deadline - now) / snapshot.budget));
    countdown.style.setProperty("--left", left.toFixed(3));
  }
  countdown.dataset.shown = String(parts.length > 0);
  setText(countdown, parts.join(" · "));
}

function showFacts(snapshot: Snapshot): void {
  const facts = byId("facts");
  const rows = factsOf(snapshot);
  facts.hidden = rows.length === 0;
  const wanted = JSON.stringify(rows);
  if (facts.dataset.rows === wanted) return;
  facts.dataset.rows = wanted;
  facts.replaceChildren(
    ...rows.map(([name, value]) =>
      element(
        "div",
        {},
        element("dt", {}, name),
        element("dd", name === "Reference" ? { id: "reference" } : {}, value),
      ),
    ),
  );
}

function factsOf(snapshot: Snapshot): [string, string][] {
  if (snapshot.state === "idle") return durabilityOf(snapshot);
  const rows: [string, string][] = [];
  if (snapshot.reference !== null) rows.push(["Reference", snapshot.reference]);
  const values = describeValues(snapshot.remembered);
  if (values) rows.push(["In question", values]);
  if (snapshot.attempts > 0) {
    const round = snapshot.round > 1 ? `, round ${snapshot.round}` : "";
    rows.push(["Attempts", `${snapshot.attempts} of ${snapshot.attemptsMax}${round}`]);
  }
  return [...rows, ...durabilityOf(snapshot)];
}

/** Only what weakens the promise is said; a promise that holds needs no words. */
function durabilityOf({ durable, coordination, persistence }: Snapshot): [string, string][] {
  const rows: [string, string][] = [];
  if (!durable && persistence === "best-effort") rows.push(["Kept", "only while this page is open"]);
  if (coordination === "none") rows.push(["Tabs", "not coordinated, use only this one"]);
  return rows;
}
