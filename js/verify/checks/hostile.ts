/** Level 2: keys and bodies that no honest client sends. They are refused or treated consistently, never run unprotected. */
import type { Probe, Variation } from "../probe.js";
import { broken, type Check, kept, notOffered, type Verdict, warning } from "../verdict.js";
import { type Reply, refused, shown, succeeded } from "../wire.js";

const KEY_BYTES_HUGE = 10_000;
const BODY_BYTES_HUGE = 4 * 1024 * 1024;
const DEPTH = 5_000;

/** Sends the same odd request twice and counts. */
async function twice(probe: Probe, how: Variation): Promise<{ replies: [Reply, Reply]; effects: number | undefined }> {
  const mark = await probe.mark();
  const wish = probe.wish();
  const replies: [Reply, Reply] = [await probe.command(wish, how), await probe.command(wish, how)];
  return { replies, effects: await probe.effects(mark, replies) };
}

/** Refused is best, a consistent record is tolerable, two effects are what the key was to prevent. */
async function oddKey(probe: Probe, lines: readonly string[], what: string): Promise<Verdict> {
  const { replies, effects } = await twice(probe, { keyLines: lines });
  const [first] = replies;
  if (effects !== undefined && effects > 1) {
    return broken("fail-open", `${what} was taken without a word: two requests, ${effects} effects`);
  }
  if (succeeded(first)) return warning("odd-key", `${what} was accepted: ${shown(first)}`);
  if (!refused(first)) return warning("odd-key", `${what} was answered ${shown(first)}`);
  return kept(shown(first));
}

const missingKey: Check = {
  id: "key-missing",
  level: 2,
  title: "a request without a key is refused",
  async run(probe) {
    const { replies, effects } = await twice(probe, { keyLines: [] });
    const [first] = replies;
    if (!succeeded(first) && !effects) return kept(shown(first));
    const symptom = "a request without a key is run, each time anew";
    return probe.plan.contract === "postonce" ? broken("fail-open", symptom) : notOffered("key-optional", symptom);
  },
};

const invalidKey: Check = {
  id: "key-invalid",
  level: 2,
  title: "a malformed key is refused",
  run: (probe) =>
    probe.plan.dialect === "bare"
      ? oddKey(probe, [""], "an empty key")
      : oddKey(probe, ['"0123456789abcdef0123456789'], "a key whose quote is never closed"),
};

const hugeKey: Check = {
  id: "key-huge",
  level: 2,
  title: "a key of 10 kB is refused",
  run(probe) {
    const text = "k".repeat(KEY_BYTES_HUGE);
    return oddKey(probe, [probe.plan.dialect === "bare" ? text : `"${text}"`], "a key of 10 kB");
  },
};

const doubleKey: Check = {
  id: "key-twice",
  level: 2,
  title: "two key lines in one request are refused",
  run(probe) {
    const keys = [probe.wish().key, probe.wish().key];
    return oddKey(
      probe,
      probe.plan.dialect === "bare" ? keys : keys.map((key) => `"${key}"`),
      "a request with two keys",
    );
  },
};

/** A body that must be answered with a 4xx and must not run. */
function bodyCheck(
  id: string,
  title: string,
  body: (probe: Probe) => string | Uint8Array,
  tolerated: "closing" | "nothing",
): Check {
  return {
    id,
    level: 2,
    title,
    async run(probe) {
      const mark = await probe.mark();
      const reply = await probe.command(probe.wish(), { body: body(probe) });
      const effects = await probe.effects(mark, [reply]);
      if (succeeded(reply) || effects) return warning("body-trouble", `it was accepted: ${shown(reply)}`);
      if (refused(reply)) return kept(shown(reply));
      if (reply.kind === "silence" && reply.why === "broken" && tolerated === "closing") {
        return kept("the connection was closed on it");
      }
      return warning("body-trouble", `it was answered ${shown(reply)}`);
    },
  };
}

const hugeBody = bodyCheck(
  "body-huge",
  "a body of 4 MiB is refused and not run",
  (probe) => padded(probe, "x".repeat(BODY_BYTES_HUGE)),
  "closing",
);
const deepBody = bodyCheck(
  "body-deep",
  "a body of 5,000 levels is refused and not run",
  () => `${'{"a":'.repeat(DEPTH)}1${"}".repeat(DEPTH)}`,
  "nothing",
);
const badText = bodyCheck(
  "body-utf8",
  "a body that is no UTF-8 is refused and not run",
  (probe) => withBadByte(padded(probe, "~")),
  "nothing",
);
const cutBody = bodyCheck(
  "body-cut",
  "a body that ends in the middle is refused and not run",
  (probe) => (probe.plan.encoding === "json" ? JSON.stringify(probe.wish().payload).slice(0, -1) : "%zz=%"),
  "nothing",
);

/** The sample with one more field of this text. */
function padded(probe: Probe, text: string): string {
  const { payload } = probe.wish();
  if (probe.plan.encoding === "json") return JSON.stringify({ ...payload, note: text });
  const fields = new URLSearchParams(
    Object.fromEntries(Object.entries(payload).map(([name, value]) => [name, String(value)])),
  );
  return `${fields}&note=${text}`;
}

/** Replaces the tilde by a byte that no UTF-8 text holds. */
function withBadByte(text: string): Uint8Array {
  const bytes = Buffer.from(text, "utf8");
  bytes[bytes.lastIndexOf("~")] = 0xff;
  return bytes;
}

export const HOSTILE_CHECKS: readonly Check[] = [
  missingKey,
  invalidKey,
  hugeKey,
  doubleKey,
  hugeBody,
  deepBody,
  badText,
  cutBody,
];
