// What the page says about answers that are no state: a submit that sent nothing, an action that could not be done.
import type { SubmitOutcome } from "postonce";
import { clockTime } from "./format.js";

/** By the code of the error; what is not listed is said in the error's own words. */
const BY_CODE: Readonly<Record<string, string>> = {
  open_unknown:
    "The open order could not be voided, so it may still have been placed. No new order was started. " +
    "You can leave it open knowingly, or hand it over to support.",
  module_unavailable:
    "The part of this page that keeps orders apart could not be loaded, so nothing is sent. Please reload.",
};

export const NOTE_NOT_KEPT =
  "This browser kept the product and quantity of your open order, but not its note. " +
  "If there was one, type it again before you send the same order again.";

export function problemText(error: unknown): string {
  const code = codeOf(error);
  const known = code === null ? undefined : BY_CODE[code];
  if (known !== undefined) return known;
  return error instanceof Error ? error.message : "That could not be done. Nothing was sent.";
}

/** `null` where the state itself says it all. */
export function noticeFor(outcome: SubmitOutcome, now: number): string | null {
  switch (outcome.kind) {
    case "settled":
    case "conflict":
      return null;
    case "already_done": {
      const name = outcome.resultId ? `order ${outcome.resultId}` : "that order";
      return `This was already placed: ${name}, at ${clockTime(outcome.at, now)}. Nothing was sent. To have it twice, start a new order.`;
    }
    case "held":
      return "Nothing was sent: an order is still open. Check it, void it or hand it over first.";
  }
}

/** Why a submit was set against the open order. */
export function conflictText(why: Extract<SubmitOutcome, { kind: "conflict" }>["why"]): string {
  switch (why) {
    case "fields":
      return "An order is still open, and the form now says something else. Nothing was sent. The open order stays as it is until you decide.";
    case "stale":
      return "This page is older than the last order, which was placed or changed in another tab. Nothing was sent.";
    case "key_reused":
      return "The shop already knows an order under this key, with other contents. Your change was not sent and stays here as a draft.";
  }
}

function codeOf(error: unknown): string | null {
  if (typeof error !== "object" || error === null || !("code" in error)) return null;
  return typeof error.code === "string" ? error.code : null;
}
