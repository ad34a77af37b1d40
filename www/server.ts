// What the demo server saw, as its `/_demo` routes tell it. Everything is checked on the way in.

/** One rule of the fault plan; rules are used up in order. */
export interface FaultRule {
  readonly match: { readonly operation?: string; readonly attempt?: number };
  readonly fault: string;
  readonly ms?: number;
  readonly status?: number;
  readonly retry_after?: number;
}

/** Why a request got no status: the demo cut the connection, or the page stopped listening. */
export type Silence = "dropped" | "client-left";

/** One request as the server saw it. Times are epoch milliseconds. */
export interface Seen {
  readonly at: number;
  /** When it was answered or fell silent; `null` while it is still being worked on. */
  readonly answeredAt: number | null;
  readonly kind: "command" | "status" | "fence";
  readonly reference: string;
  /** From `X-Client-Attempt`; 1 where it is absent. */
  readonly attempt: number;
  readonly answered: number | Silence | null;
  readonly replayed: boolean;
  readonly fault: string | null;
}

export interface ServerRecord {
  readonly reference: string;
  readonly state: string;
  readonly resultId: string | null;
}

export interface PlacedOrder {
  readonly id: string;
  readonly reference: string;
  readonly at: number | null;
}

export interface Effects {
  readonly count: number;
  /** The most orders that any one key has. */
  readonly perKeyMax: number;
  readonly orders: readonly PlacedOrder[];
}

export interface Observed {
  /** When the look at the server began: it shows everything from before. */
  readonly at: number;
  readonly log: readonly Seen[];
  readonly records: readonly ServerRecord[];
  readonly effects: Effects;
}

export async function observe(signal: AbortSignal): Promise<Observed> {
  const at = Date.now();
  const [log, records, effects] = await Promise.all(["log", "records", "effects"].map((name) => read(name, signal)));
  return {
    at,
    log: listOf(log).flatMap(seenOf),
    records: listOf(records).flatMap(recordOf),
    effects: effectsOf(effects),
  };
}

export async function planFaults(rules: readonly FaultRule[]): Promise<void> {
  await send("PUT", "faults", JSON.stringify(rules));
}

export async function resetServer(): Promise<void> {
  await send("POST", "reset", null);
}

async function send(method: string, name: string, body: string | null): Promise<void> {
  const headers = { "content-type": "application/json" };
  const answer = await fetch(`/_demo/${name}`, { method, ...(body === null ? {} : { body, headers }) });
  if (!answer.ok) throw new Error(`The demo server answered ${answer.status} to ${method} /_demo/${name}.`);
}

async function read(name: string, signal: AbortSignal): Promise<unknown> {
  const answer = await fetch(`/_demo/${name}`, { cache: "no-store", signal });
  if (!answer.ok) throw new Error(`The demo server answered ${answer.status} to GET /_demo/${name}.`);
  return answer.json();
}

function seenOf(value: unknown): Seen[] {
  const at = numberAt(value, "received_at");
  const reference = textAt(value, "key_ref");
  if (at === null || reference === null) return [];
  return [
    {
      at,
      answeredAt: numberAt(value, "answered_at"),
      kind: kindOf(textAt(value, "method"), textAt(value, "path")),
      reference,
      attempt: numberAt(value, "attempt") ?? 1,
      answered: answeredOf(value),
      replayed: memberOf(value, "replayed") === true,
      fault: textAt(value, "fault"),
    },
  ];
}

function answeredOf(value: unknown): Seen["answered"] {
  const silence = textAt(value, "status");
  return numberAt(value, "status") ?? (silence === "dropped" || silence === "client-left" ? silence : null);
}

function kindOf(method: string | null, path: string | null): Seen["kind"] {
  if (!path?.includes("/status")) return "command";
  return method === "DELETE" ? "fence" : "status";
}

function recordOf(value: unknown): ServerRecord[] {
  const reference = textAt(value, "key_ref");
  if (reference === null) return [];
  return [{ reference, state: textAt(value, "state") ?? "unknown", resultId: textAt(value, "result_id") }];
}

function effectsOf(value: unknown): Effects {
  const byKey = memberOf(value, "by_key");
  const counts = typeof byKey === "object" && byKey !== null ? Object.values(byKey) : [];
  const perKey = counts.filter((count) => typeof count === "number");
  const orders = listOf(memberOf(value, "orders")).flatMap((order): PlacedOrder[] => {
    const id = textAt(order, "id");
    if (id === null) return [];
    return [{ id, reference: textAt(order, "key_ref") ?? "", at: numberAt(order, "at") }];
  });
  return { count: numberAt(value, "count") ?? orders.length, perKeyMax: Math.max(0, ...perKey), orders };
}

function listOf(value: unknown): unknown[] {
  return Array.isArray(value) ? value : [];
}

function memberOf(value: unknown, name: string): unknown {
  return typeof value === "object" && value !== null ? (value as Record<string, unknown>)[name] : undefined;
}

function numberAt(value: unknown, name: string): number | null {
  const found = memberOf(value, name);
  return typeof found === "number" && Number.isFinite(found) ? found : null;
}

function textAt(value: unknown, name: string): string | null {
  const found = memberOf(value, name);
  return typeof found === "string" ? found : null;
}
