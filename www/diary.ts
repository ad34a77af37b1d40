// What this document saw of each intent, in order. The drawing joins it with what the server saw.
import type { Snapshot } from "postonce";
import { isBusy } from "./status.js";

const SIGHTINGS_MAX = 400;

export interface Sighting {
  /** Epoch milliseconds. */
  readonly at: number;
  readonly state: Snapshot["state"];
  /** The attempt that was out; 0 in every other state. */
  readonly attempt: number;
  readonly deadline: number | null;
  readonly budget: number;
  readonly busy: boolean;
}

/** The intent that a snapshot tells of: an ended one is in `last`, and a fresh key has nothing to tell yet. */
export function referenceOf({ state, reference, last }: Snapshot): string | null {
  if (state === "idle") return last?.reference ?? reference;
  return reference ?? last?.reference ?? null;
}

export class Diary {
  readonly #byReference = new Map<string, Sighting[]>();

  note(snapshot: Snapshot, at: number): void {
    const reference = referenceOf(snapshot);
    if (reference === null) return;
    const sightings = this.#byReference.get(reference) ?? [];
    this.#byReference.set(reference, sightings);
    const attempt = snapshot.state === "sending" && snapshot.driving ? snapshot.attempt : 0;
    const last = sightings.at(-1);
    if (last?.state === snapshot.state && last.attempt === attempt && last.deadline === snapshot.deadline) return;
    const { state, deadline, budget } = snapshot;
    sightings.push({ at, state, attempt, deadline, budget, busy: isBusy(snapshot) });
    if (sightings.length > SIGHTINGS_MAX) sightings.shift();
  }

  of(reference: string): readonly Sighting[] {
    return this.#byReference.get(reference) ?? [];
  }
}
