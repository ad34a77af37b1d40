// One intent's story: the requests as the server logged them, with the times at which this page sent and heard.
// Pure: what it returns depends only on what it is given.
import type { Snapshot } from "postonce";
import type { Sighting } from "./diary.js";
import type { Observed, PlacedOrder, Seen } from "./server.js";

/** How a request and its answer fared. */
export type Fate =
  | { readonly kind: "answered"; readonly backAt: number }
  /** The request did not get through to the shop. */
  | { readonly kind: "not_arrived" }
  /** The answer, or the rest of it, did not get back. */
  | { readonly kind: "answer_lost" }
  /** The answer left, or was still being made, after the page had stopped listening. */
  | { readonly kind: "too_late" }
  | { readonly kind: "pending" };

export interface Trip {
  readonly kind: Seen["kind"];
  /** Number of the attempt in its round; 0 for checks and fences. */
  readonly attempt: number;
  readonly sentAt: number;
  /** `null` when the server has not seen it. */
  readonly arrivedAt: number | null;
  readonly leftAt: number | null;
  /** Until when the page listened for the answer. */
  readonly listenedUntil: number;
  readonly status: number | null;
  readonly replayed: boolean;
  readonly fault: string | null;
  /** The state that the answer to a check or fence led to. */
  readonly ledTo: Snapshot["state"] | null;
  readonly fate: Fate;
}

export interface Round {
  readonly start: number;
  readonly deadline: number;
  /** When the page came to rest; `null` while it is still trying. */
  readonly settledAt: number | null;
}

export interface Placed {
  readonly id: string;
  readonly at: number;
}

export interface Story {
  readonly reference: string;
  readonly trips: readonly Trip[];
  readonly rounds: readonly Round[];
  readonly placed: readonly Placed[];
}

/** While the page listened for the answer to one attempt; `end` is `null` while it still does. */
interface Watch {
  readonly attempt: number;
  readonly start: number;
  readonly end: number | null;
}

/** Faults after which the browser cannot have read a whole answer, whatever status the server logged. */
const ANSWER_BROKEN = new Set(["lost-answer", "truncated-body", "stalled-body", "hang", "hang-after"]);
const REQUEST_BROKEN = new Set(["drop-before"]);
/** How far the page's and the server's view of one instant may lie apart. */
const SLACK_MS = 200;

export function storyOf(
  reference: string,
  { at: lookedAt, log, effects }: Observed,
  sightings: readonly Sighting[],
  snapshot: Snapshot,
  now: number,
): Story {
  const watches = watchesOf(sightings);
  const free = new Set(watches);
  const mine = log.filter((seen) => seen.reference === reference).sort((a, b) => a.at - b.at);
  const trips = mine.map((seen) => tripOf(seen, takeWatch(seen, free), ledTo(seen, sightings), snapshot, now));
  for (const watch of free) trips.push(unseenTrip(watch, lookedAt, now));
  trips.sort((a, b) => a.sentAt - b.sentAt);
  const placed = effects.orders
    .filter((order) => order.reference === reference)
    .map((order) => ({ id: order.id, at: placedAt(order, trips, now) }));
  return { reference, trips, rounds: roundsOf(trips, sightings, snapshot, now), placed };
}

function watchesOf(sightings: readonly Sighting[]): Watch[] {
  return sightings.flatMap(({ attempt, at }, index) =>
    attempt > 0 ? [{ attempt, start: at, end: sightings[index + 1]?.at ?? null }] : [],
  );
}

function takeWatch(seen: Seen, free: Set<Watch>): Watch | null {
  if (seen.kind !== "command") return null;
  for (const watch of free) {
    const fits = seen.at >= watch.start - SLACK_MS && seen.at <= (watch.end ?? Number.POSITIVE_INFINITY) + SLACK_MS;
    if (watch.attempt !== seen.attempt || !fits) continue;
    free.delete(watch);
    return watch;
  }
  return null;
}

function tripOf(seen: Seen, watch: Watch | null, led: Trip["ledTo"], snapshot: Snapshot, now: number): Trip {
  const fate = fateOf(seen, watch, snapshot);
  const leftAt = seen.answeredAt;
  const heard = fate.kind === "answered" ? fate.backAt : (leftAt ?? now);
  return {
    kind: seen.kind,
    attempt: seen.kind === "command" ? seen.attempt : 0,
    sentAt: watch ? Math.min(watch.start, seen.at) : seen.at,
    arrivedAt: fate.kind === "not_arrived" ? null : seen.at,
    leftAt,
    listenedUntil: watch ? (watch.end ?? now) : heard,
    status: typeof seen.answered === "number" ? seen.answered : null,
    replayed: seen.replayed,
    fault: seen.fault,
    ledTo: led,
    fate,
  };
}

/** The end of a check that this page saw at about the time of the answer; before it there may have been polls. */
function ledTo({ kind, answeredAt }: Seen, sightings: readonly Sighting[]): Trip["ledTo"] {
  if (kind === "command" || answeredAt === null) return null;
  const end = sightings.find(
    ({ at }, index) => sightings[index - 1]?.state === "checking" && Math.abs(at - answeredAt) <= SLACK_MS,
  );
  return end?.state ?? null;
}

function fateOf(seen: Seen, watch: Watch | null, { doubt, state }: Snapshot): Fate {
  if (seen.fault !== null && REQUEST_BROKEN.has(seen.fault)) return { kind: "not_arrived" };
  if (seen.answered === null || seen.answeredAt === null) return { kind: "pending" };
  if (seen.answered === "dropped" || (seen.fault !== null && ANSWER_BROKEN.has(seen.fault)))
    return { kind: "answer_lost" };
  const heard = seen.answeredAt;
  if (seen.answered === "client-left" || (watch?.end != null && heard > watch.end + SLACK_MS))
    return { kind: "too_late" };
  // A page that was reloaded meanwhile remembers which attempt it lost.
  const abandoned = seen.kind === "command" && doubt.possible && doubt.cause === "document_lost";
  if (!watch && abandoned && state !== "succeeded" && doubt.firstAttempt === seen.attempt) return { kind: "too_late" };
  return { kind: "answered", backAt: Math.max(heard, watch?.end ?? heard) };
}

/** An attempt that this page made and of which the server knows nothing, so far or at all. */
function unseenTrip({ attempt, start, end }: Watch, lookedAt: number, now: number): Trip {
  // Nobody has looked at the log since, so it may well be in there.
  const open = end === null || end >= lookedAt;
  return {
    kind: "command",
    attempt,
    sentAt: start,
    arrivedAt: null,
    leftAt: null,
    listenedUntil: end ?? now,
    status: null,
    replayed: false,
    fault: null,
    ledTo: null,
    fate: open ? { kind: "pending" } : { kind: "not_arrived" },
  };
}

function placedAt(order: PlacedOrder, trips: readonly Trip[], now: number): number {
  if (order.at !== null) return order.at;
  const ran = trips.find(({ kind, fate }) => kind === "command" && fate.kind !== "not_arrived");
  if (!ran) return now;
  return ran.fault === "delay-before" ? (ran.leftAt ?? now) : (ran.arrivedAt ?? ran.sentAt);
}

function roundsOf(trips: readonly Trip[], sightings: readonly Sighting[], snapshot: Snapshot, now: number): Round[] {
  const seen: Round[] = [];
  for (const { deadline, budget } of sightings) {
    if (deadline === null || seen.some((round) => Math.abs(round.deadline - deadline) <= SLACK_MS)) continue;
    const start = deadline - budget;
    seen.push({ start, deadline, settledAt: settledAt(sightings, start, deadline, now) });
  }
  const covers = (at: number) =>
    seen.some(({ start, deadline }) => at >= start - SLACK_MS && at <= deadline + SLACK_MS);
  const logged = roundsInLog(trips.filter(({ kind, sentAt }) => kind === "command" && !covers(sentAt)));
  const told = logged.map(({ start, until }) => {
    const deadline = start + snapshot.budget;
    return { start, deadline, settledAt: Math.min(until, deadline) };
  });
  return [...seen, ...told].sort((a, b) => a.start - b.start);
}

/** Rounds of an earlier document: each begins where the attempts count from 1 again. */
function roundsInLog(commands: readonly Trip[]): { start: number; until: number }[] {
  const rounds: { start: number; until: number }[] = [];
  let previous = Number.POSITIVE_INFINITY;
  for (const { attempt, sentAt, listenedUntil } of commands) {
    const last = rounds.at(-1);
    if (last && attempt > previous) last.until = Math.max(last.until, listenedUntil);
    else rounds.push({ start: sentAt, until: listenedUntil });
    previous = attempt;
  }
  return rounds;
}

function settledAt(sightings: readonly Sighting[], start: number, deadline: number, now: number): number | null {
  const rest = sightings.find(({ at, busy }) => at >= start && !busy);
  if (rest) return Math.min(rest.at, deadline);
  return now > deadline + SLACK_MS ? deadline : null;
}
