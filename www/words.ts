// The drawing in words, for those who do not see it and for everyone who wants to be sure.

import type { Snapshot } from "postonce";
import { clockTime, count, duration } from "./format.js";
import type { Story, Trip } from "./story.js";

const FAULT_LABELS: Readonly<Record<string, string>> = {
  "html-200": "login page",
  "html-200-after": "login page",
  redirect: "redirect",
  "redirect-after": "redirect",
  "truncated-body": "answer cut",
  "stalled-body": "answer stalled",
};

/** What a check or a fence told, where this page saw what came of it. */
const LEARNT: Partial<Record<Snapshot["state"], string>> = {
  succeeded: "was placed",
  rejected: "was refused",
  fenced: "void",
  unknown: "not known yet",
  disputed: "contradiction",
  suspended: "sign in",
};

/** The short text at an arrow's end. */
export function answerLabel({ fate, status, replayed, kind, arrivedAt, fault, ledTo }: Trip): string {
  switch (fate.kind) {
    case "pending":
      return arrivedAt === null ? "" : "working";
    case "not_arrived":
      return "never arrived";
    case "answer_lost":
      return FAULT_LABELS[fault ?? ""] ?? "answer lost";
    case "too_late":
      return "too late";
    case "answered":
      if (fault !== null && FAULT_LABELS[fault]) return FAULT_LABELS[fault];
      if (ledTo !== null && LEARNT[ledTo]) return LEARNT[ledTo];
      if (status === null) return "";
      if (replayed && kind === "command") return `${status} again`;
      return String(status);
  }
}

export function summary({ trips, placed }: Story): string {
  const attempts = trips.filter(({ kind }) => kind === "command").length;
  const asked = trips.length - attempts;
  const parts = [count(attempts, "attempt", "attempts")];
  if (asked > 0) parts.push(count(asked, "check or fence", "checks and fences"));
  parts.push(placed.length === 0 ? "no order placed" : `placed: ${placed.map(({ id }) => id).join(", ")}`);
  return `${parts.join(", ")}.`;
}

/** One line for each request, in order. */
export function lines({ trips, placed, rounds }: Story, now: number): string[] {
  const origin = trips[0]?.sentAt ?? rounds[0]?.start ?? now;
  const told = trips.map((trip) => ({ at: trip.sentAt, text: `${since(origin, trip.sentAt)} ${tripText(trip)}` }));
  const effects = placed.map(({ id, at }) => ({ at, text: `${since(origin, at)} The shop placed order ${id}.` }));
  const spent = rounds.filter(({ deadline, settledAt }) => now >= deadline && (settledAt ?? deadline) >= deadline);
  const ends = spent.map(({ deadline }) => ({
    at: deadline,
    text: `${since(origin, deadline)} The budget is used up, at ${clockTime(deadline, now)}.`,
  }));
  return [...told, ...effects, ...ends].sort((a, b) => a.at - b.at).map(({ text }) => text);
}

function since(origin: number, at: number): string {
  return `After ${duration(Math.max(0, at - origin))}:`;
}

function tripText(trip: Trip): string {
  const { kind, attempt, fate, status, replayed, sentAt, fault, ledTo } = trip;
  const what = kind === "command" ? `Attempt ${attempt}` : kind === "status" ? "A status check" : "A fence";
  switch (fate.kind) {
    case "pending":
      return `${what} is on its way.`;
    case "not_arrived":
      return `${what} did not get through to the shop.`;
    case "answer_lost":
      return `${what} reached the shop, its answer did not get back.`;
    case "too_late":
      return `${what} reached the shop, but the page had stopped waiting for its answer.`;
    case "answered": {
      const took = duration(Math.max(0, fate.backAt - sentAt));
      const special = FAULT_LABELS[fault ?? ""];
      if (special !== undefined) return `${what} got a ${special} instead of an answer, in ${took}.`;
      if (ledTo !== null && LEARNT[ledTo]) return `${what} was answered in ${took}: ${LEARNT[ledTo]}.`;
      return `${what} was answered ${status ?? "somehow"}${replayed ? ", the stored answer once more" : ""}, in ${took}.`;
    }
  }
}
