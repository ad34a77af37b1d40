// A reporter for Node's test runner: one line of JSON for each test that ended, for whoever counts by name.

/** @param {AsyncIterable<{ type: string, data: any }>} events */
export default async function* scenarios(events) {
  for await (const { type, data } of events) {
    if ((type !== "test:pass" && type !== "test:fail") || data.details?.type === "suite") continue;
    const verdict = leftOut(data) ? "left out" : type === "test:pass" ? "passed" : "failed";
    yield `${JSON.stringify({ scenario: data.name, verdict, ms: Math.round(data.details?.duration_ms ?? 0) })}\n`;
  }
}

const leftOut = ({ skip, todo }) => (skip !== undefined && skip !== false) || (todo !== undefined && todo !== false);
