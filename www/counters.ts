// The counters that settle the matter: orders at the server, and the keys that they came under.

import { byId, element, setText } from "./dom.js";
import type { Tone } from "./messages.js";
import type { Observed } from "./server.js";

export function showCounters({ log, effects, records }: Observed): void {
  // The log and the orders come from two looks, so an order may be known before the request that placed it.
  const commands = log.filter(({ kind }) => kind === "command");
  const keys = new Set([...commands, ...effects.orders].map(({ reference }) => reference)).size;
  setText(byId("effects-count"), String(effects.count));
  setText(byId("keys-count"), String(keys));
  const [tone, text] = verdict(effects.count, keys, effects.perKeyMax);
  byId("effects").dataset.tone = tone;
  byId("keys").dataset.tone = tone === "bad" ? "bad" : "calm";
  byId("verdict").dataset.tone = tone;
  setText(byId("verdict"), text);
  showRecords(records, effects);
}

function verdict(orders: number, keys: number, perKeyMax: number): [Tone, string] {
  if (perKeyMax > 1) return ["bad", "An order was placed twice. This must never happen."];
  if (keys === 0) return ["calm", "No order has reached the server yet."];
  if (orders === 0) return ["calm", "No order placed so far."];
  if (orders === 1) return ["good", "Placed exactly once."];
  return ["good", "Every order placed exactly once."];
}

function showRecords(records: Observed["records"], effects: Observed["effects"]): void {
  const body = byId("records");
  const rows = records.map(({ reference, state, resultId }) => {
    const order = resultId ?? effects.orders.find((placed) => placed.reference === reference)?.id ?? "none";
    return [reference, state.replaceAll("_", " "), order];
  });
  const wanted = JSON.stringify(rows);
  if (body.dataset.rows === wanted) return;
  body.dataset.rows = wanted;
  body.replaceChildren(
    ...rows.map(([reference = "", state = "", order = ""]) =>
      element(
        "tr",
        {},
        element("td", {}, element("code", {}, reference)),
        element("td", {}, state),
        element("td", {}, order),
      ),
    ),
  );
}
