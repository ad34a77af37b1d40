// F32. Given a 503 or 429 whose `Retry-After` the page cannot read, as across origins without an exposing header. When the
// attempt ends, then the next one never comes within a second: a header that cannot be seen is not "retry at once". And
// the server's own layer exposes it, with the key and the replay marker, on errors as on every answer.
import assert from "node:assert/strict";
import { after, before, beforeEach, test } from "node:test";
import { startDemoServer } from "../../scripts/demo-server.mjs";
import { openLab } from "../e2e/lab.mjs";
import { assertOneEffect, commandsIn, onlyKeyIn } from "./evidence.mjs";
import { newWish } from "./wire.mjs";

const FLOOR_MS = 1_000;
const SHOP = "https://shop.example";
const EXPOSED = ["retry-after", "idempotency-key", "idempotent-replayed"];

/** What a page may read of an answer from another origin that exposes nothing. */
const HIDING = `{
  const real = globalThis.fetch;
  globalThis.fetch = async (input, init) => {
    const answer = await real(input, init);
    if (init?.method !== "POST" || answer.ok) return answer;
    const type = answer.headers.get("content-type") ?? "";
    return new Response(await answer.text(), { status: answer.status, headers: { "content-type": type } });
  };
}`;

let lab;
before(async () => {
  lab = await openLab();
});
after(() => lab?.close());
beforeEach(() => lab.reset());

for (const [status, problem] of [
  [503, "not-started"],
  [503, undefined],
  [429, undefined],
]) {
  test(`f32_given_a_${status}_${problem ?? "without_a_problem"}_and_a_hidden_retry_after_then_the_next_attempt_is_a_second_away`, async () => {
    const restore = await lab.beforeLoad(HIDING);
    try {
      await lab.open({ cart: `f32-${status}-${problem}` });
      await lab.server.plan([
        { match: { attempt: 1 }, fault: "status", status, retry_after: 4, ...(problem && { problem }) },
      ]);
      await lab.click();
      await lab.until("succeeded");
      const log = await lab.server.log();
      const [first, second, ...more] = commandsIn(log);
      assert.deepEqual(more, []);
      const waited = second.received_at - first.answered_at;
      assert.ok(waited >= FLOOR_MS, `only ${waited} ms`);
      await assertOneEffect(lab.server, onlyKeyIn(log));
    } finally {
      await restore();
    }
  });
}

test("f32_given_a_call_from_another_origin_then_errors_expose_the_headers_as_answers_do", async () => {
  const server = await startDemoServer({ origins: [SHOP] });
  try {
    const { key, firstSent, body } = newWish({ sku: "A1", quantity: "1" });
    const headers = {
      origin: SHOP,
      "content-type": "application/json",
      "idempotency-key": `"${key}"`,
      "idempotency-first-sent": `@${firstSent}`,
      "idempotency-deadline": `@${firstSent + 8}`,
      "idempotency-subject": '"demo-user"',
    };
    await server.plan([{ fault: "status", status: 503, retry_after: 4 }]);
    for (const status of [503, 201, 201]) {
      const answer = await fetch(`${server.url}/orders`, { method: "POST", headers, body });
      assert.equal(answer.status, status);
      assert.equal(answer.headers.get("access-control-allow-origin"), SHOP);
      const exposed = (answer.headers.get("access-control-expose-headers") ?? "").toLowerCase();
      for (const name of EXPOSED) assert.ok(exposed.includes(name), `${status} exposes ${name}: ${exposed}`);
    }
    assert.equal(await server.effects(), 1);
  } finally {
    server.stop();
  }
});
