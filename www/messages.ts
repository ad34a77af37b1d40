// What the page says in every state. Plain words, and never more than is known: an unknown outcome is not a failure.
import type { NotSentReason, Problem, Snapshot, StateName, UnknownReason } from "postonce";
import { clockTime } from "./format.js";

/** How a message looks: `doubt` is neither good nor bad. */
export type Tone = "calm" | "busy" | "good" | "bad" | "doubt";

export interface Message {
  readonly tone: Tone;
  readonly title: string;
  readonly text: string;
}

type Of<S extends StateName> = Extract<Snapshot, { state: S }>;

const SAME_KEY = "Every attempt carries the same key, so it cannot be placed twice.";

export function messageFor(snapshot: Snapshot, now: number): Message {
  switch (snapshot.state) {
    case "idle":
      return idle(snapshot, now);
    case "sending":
      return sending(snapshot);
    case "waiting":
      return waiting(snapshot);
    case "checking":
      return {
        tone: "busy",
        title: "Asking the shop about your order",
        text: "This looks your order up under its key. It sends no order.",
      };
    case "suspended":
      return suspended(snapshot);
    case "succeeded":
      return succeeded(snapshot, now);
    case "rejected":
      return {
        tone: "bad",
        title: "The shop said no to this order",
        text: `${sentence(snapshot.problem, snapshot.status)} Nothing was ordered. Change the order and place it again.`,
      };
    case "refused":
      return {
        tone: "bad",
        title: "The shop did not take this request",
        text: `${sentence(snapshot.problem, snapshot.status)} Nothing was ordered. ${retryHint(snapshot, now)}`,
      };
    case "not_sent":
      return {
        tone: "calm",
        title: "Nothing was sent",
        text: `${NOT_SENT[snapshot.why]} You can place the order again.`,
      };
    case "unknown":
      return unknown(snapshot, now);
    case "disputed":
      return disputed(snapshot);
    case "fenced":
      return {
        tone: "good",
        title: "This order is void",
        text: "It was not placed and never will be, even if an old request still arrives. You can safely start a new order.",
      };
    case "decided":
      return decided(snapshot, now);
  }
}

function idle({ last }: Of<"idle">, now: number): Message {
  if (last?.state === "succeeded") {
    const name = last.resultId ? `Order ${last.resultId}` : "Your last order";
    return {
      tone: "calm",
      title: "Ready for a new order",
      text: `${name} was placed at ${clockTime(last.at, now)}. What you place now is a new order.`,
    };
  }
  return {
    tone: "calm",
    title: "Nothing sent yet",
    text: "Your order goes out when you press the button. Whatever the network does then, this page says only what is certain.",
  };
}

function sending({ attempt, attemptsMax, driving, doubt, round }: Of<"sending">): Message {
  if (!driving) {
    return {
      tone: "busy",
      title: "Another tab is placing this order",
      text: "This page shows the same answer as soon as it arrives.",
    };
  }
  const numbered = `Attempt ${Math.max(1, attempt)} of ${attemptsMax}.`;
  if (!doubt.possible && attempt <= 1 && round === 1) {
    return { tone: "busy", title: "Placing your order", text: `${numbered} Waiting for the shop to answer.` };
  }
  const why = doubt.possible ? "An earlier attempt brought no clear answer." : "The shop could not take it before.";
  return { tone: "busy", title: "Still placing your order", text: `${numbered} ${why} ${SAME_KEY}` };
}

function waiting({ why, doubt, attempts, attemptsMax }: Of<"waiting">): Message {
  const made = `${attempts} of ${attemptsMax} attempts made.`;
  switch (why) {
    case "backoff":
      return {
        tone: "busy",
        title: "No clear answer yet, trying again shortly",
        text: `${made} ${SAME_KEY}`,
      };
    case "retry_after":
      return {
        tone: "busy",
        title: "The shop asked for a moment",
        text: `${made} The next one goes out by itself when the shop is ready for it.`,
      };
    case "offline":
      return {
        tone: "busy",
        title: "You are offline",
        text: doubt.possible
          ? "An earlier attempt may have arrived. The next one goes out when you are back online."
          : "Nothing has been sent. Your order goes out when you are back online.",
      };
    case "lock":
      return {
        tone: "busy",
        title: "Another tab has this order",
        text: "This page waits for it and sends nothing meanwhile.",
      };
  }
}

function suspended({ why, doubt }: Of<"suspended">): Message {
  const fate = doubt.possible ? "Your order may already have been placed." : "Your order has not been placed.";
  if (why === "signed_out") {
    return {
      tone: "doubt",
      title: "Sign in to go on",
      text: `You were signed out. ${fate} Nothing is sent until you are back.`,
    };
  }
  return {
    tone: "doubt",
    title: "Someone else is signed in",
    text: `This order belongs to another account. ${fate} It is never sent under a different name.`,
  };
}

function succeeded({ resultId, replayed, earlier, at, notCompared }: Of<"succeeded">, now: number): Message {
  const name = resultId ? `Order ${resultId}` : "Your order";
  const uncompared = notCompared.length > 0 ? ` Not compared with the answer: ${notCompared.join(", ")}.` : "";
  if (earlier !== null) {
    return {
      tone: "good",
      title: "This order had been placed before",
      text: `${name} dates from ${clockTime(earlier, now)}. Nothing new was ordered. Placing another is up to you.${uncompared}`,
    };
  }
  if (replayed) {
    return {
      tone: "good",
      title: "Order placed, once",
      text: `${name} went through on an earlier attempt. Nothing was ordered twice.${uncompared}`,
    };
  }
  return {
    tone: "good",
    title: "Order placed",
    text: `${name} was confirmed at ${clockTime(at, now)}. Reloading or pressing again orders nothing more.${uncompared}`,
  };
}

function unknown(snapshot: Of<"unknown">, now: number): Message {
  const wait =
    snapshot.notBefore !== null && snapshot.notBefore > now
      ? ` The shop asked not to send again before ${clockTime(snapshot.notBefore, now)}.`
      : "";
  return {
    tone: "doubt",
    title: TITLE_OF_UNKNOWN[snapshot.why] ?? "We do not know yet whether your order was placed",
    text: `${UNKNOWN[snapshot.why]}${wait}`,
  };
}

const TITLE_OF_UNKNOWN: Partial<Record<UnknownReason, string>> = {
  handed_over: "Support is looking into this order",
  newer_version: "Reload this page to go on",
};

const UNKNOWN: Readonly<Record<UnknownReason, string>> = {
  deadline:
    "The time for it is over and no clear answer came. It may have gone through. Checking is safe and orders nothing.",
  attempts: "Every attempt went without a clear answer. It may have gone through. Checking is safe and orders nothing.",
  retry_after:
    "The shop asked for a longer wait than this order had. It may have gone through. Check before doing anything else.",
  document_lost:
    "The page was closed or reloaded while your order was out. It may have gone through. Check to find out.",
  stopped: "You stopped waiting after it was sent. It may have gone through all the same. Check to find out.",
  refused: "The last attempt was turned away, but an earlier one may have gone through. Check to find out.",
  expired:
    "The shop no longer remembers this order, so it cannot say whether it went through. Please have a person look at it.",
  uncertain: "The shop itself cannot tell. A person has to look at it. Please quote the reference below.",
  server_error:
    "The shop ran into an error and recorded it. It may have gone through. Please quote the reference below.",
  key_reused:
    "The shop knows another order under this key, and what became of that one could not be read. Your changes were not sent.",
  no_key: "The note this browser kept about your order cannot be read. Please ask the shop before ordering again.",
  newer_version: "A newer version of this page keeps this order. Reload to see what became of it.",
  handed_over: "It may or may not have been placed. Nothing more is sent until a person has decided.",
};

const NOT_SENT: Readonly<Record<NotSentReason, string>> = {
  offline: "You were offline the whole time.",
  stopped: "You stopped before anything left this page.",
  storage_unavailable: "This browser cannot keep a note of your order, which this form requires.",
  file_unreadable: "A file could not be read.",
  deadline: "The time for it was over before the first attempt.",
  document_lost: "The page was closed before anything left it.",
};

function disputed({ why, field, expected, found }: Of<"disputed">): Message {
  const tail = "Please have a person look at it and quote the reference below.";
  switch (why) {
    case "value":
      return {
        tone: "doubt",
        title: "The shop has something else than you ordered",
        text: `${field}: you asked for ${expected}, the shop has ${found}. ${tail}`,
      };
    case "contradiction":
      return {
        tone: "doubt",
        title: "The shop gave two answers that do not fit together",
        text: `First ${expected || "one thing"}, then ${found || "another"}. ${tail}`,
      };
    case "fingerprint":
      return {
        tone: "doubt",
        title: "The shop's record is not this order",
        text: `What it holds under this key differs from what was sent. ${tail}`,
      };
  }
}

function decided({ outcome, by, at }: Of<"decided">, now: number): Message {
  const who = `Decided by ${by} at ${clockTime(at, now)}.`;
  switch (outcome) {
    case "applied":
      return { tone: "good", title: "Settled: the order was placed", text: who };
    case "not_applied":
      return { tone: "calm", title: "Settled: the order was not placed", text: `${who} You can start a new one.` };
    case "left_open":
      return { tone: "doubt", title: "Settled: left open", text: `${who} It may still have been placed.` };
  }
}

function sentence({ detail, title }: Problem, status: number): string {
  const said = (detail || title).trim();
  if (!said && status === 0) return "Why is not known any more: the page was closed meanwhile.";
  if (!said) return `It answered ${status} without giving a reason.`;
  return /[.!?]$/.test(said) ? said : `${said}.`;
}

function retryHint({ notBefore }: Of<"refused">, now: number): string {
  if (notBefore !== null && notBefore > now) return `You can place it again from ${clockTime(notBefore, now)}.`;
  return "You can place it again as it is, or change it first.";
}
