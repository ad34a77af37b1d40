/** What one check found. `broken` is told apart from what the server never claimed to do. */
import type { CauseName } from "./causes.js";
import type { Probe } from "./probe.js";

/** Outcome of one check. */
export type Verdict =
  /** As the contract wants it. */
  | { readonly kind: "kept"; readonly note?: string }
  /** A double effect, a lost protection, a leak or a lie. */
  | { readonly kind: "broken"; readonly cause: CauseName; readonly symptom: string }
  /** Works, but a client has a harder time than it needs to. */
  | { readonly kind: "warning"; readonly cause: CauseName; readonly symptom: string }
  /** A part of the contract that this server does not have. */
  | { readonly kind: "not_offered"; readonly cause: CauseName; readonly symptom: string }
  /** Could not be tried: something was not configured, or a limit was reached. */
  | { readonly kind: "not_tested"; readonly why: string }
  /** The person who started this said not to. */
  | { readonly kind: "left_out"; readonly why: string };

/** What a level is about. */
export const LEVELS = {
  1: "replay and parallel",
  2: "fingerprint and scope",
  3: "status",
  4: "fence",
} as const;

/** Number of a level. */
export type Level = keyof typeof LEVELS;

/** One thing to try. */
export interface Check {
  /** Stable name, for `--without` and reports. */
  readonly id: string;
  readonly level: Level;
  /** What has to be true. */
  readonly title: string;
  run(probe: Probe): Promise<Verdict>;
}

/** A check with what it found. */
export interface Finding {
  readonly id: string;
  readonly level: Level;
  readonly title: string;
  readonly verdict: Verdict;
  /** How long it took, in milliseconds. */
  readonly ms: number;
}

export const kept = (note?: string): Verdict => (note === undefined ? { kind: "kept" } : { kind: "kept", note });
export const broken = (cause: CauseName, symptom: string): Verdict => ({ kind: "broken", cause, symptom });
export const warning = (cause: CauseName, symptom: string): Verdict => ({ kind: "warning", cause, symptom });
export const notOffered = (cause: CauseName, symptom: string): Verdict => ({ kind: "not_offered", cause, symptom });
export const notTested = (why: string): Verdict => ({ kind: "not_tested", why });
