// F34. (a) Given another origin whose preflight does not allow the key's header, when the user submits, then the attempts
// stop at their limit and the outcome is unknown with a hint at CORS: the page cannot see that nothing left. (b) Given a
// body of 70 KB and keepalive asked for, then keepalive is left off and the request goes out as any other.
import assert from "node:assert/strict";
import { createServer } from "node:http";
import { after, before, beforeEach, test } from "node:test";
import { openLab } from "../e2e/lab.mjs";
import { assertOneEffect, commandsIn, onlyKeyIn } from "./evidence.mjs";
import { startSlowProxy } from "./slow-proxy.mjs";

const ATTEMPTS = 3;

let lab;
let proxy;
before(async () => {
  // The pages' own policy would stop a call to another origin before any preflight.
  proxy = await startSlowProxy({ onAnswer: (_, headers) => delete headers["content-security-policy"] });
  lab = await openLab({ front: proxy.inFrontOf });
});
after(async () => {
  await lab?.close();
  await proxy?.stop();
});
beforeEach(() => lab.reset());

/** A shop of another origin that has never heard of the header. */
async function refusingShop() {
  const seen = { OPTIONS: 0, POST: 0, GET: 0 };
  const server = createServer((incoming, outgoing) => {
    incoming.resume();
    seen[incoming.method] += 1;
    outgoing.writeHead(204, {
      "access-control-allow-origin": incoming.headers.origin ?? "",
      "access-control-allow-headers": "content-type",
      "access-control-allow-methods": "POST, GET",
    });
    outgoing.end();
  });
  await new Promise((listening) => server.listen(0, "127.0.0.1", listening));
  const stop = () => {
    server.closeAllConnections();
    return new Promise((closed) => server.close(closed));
  };
  return { seen, stop, url: `http://127.0.0.1:${server.address().port}` };
}

test("f34_a_given_a_preflight_that_refuses_the_header_then_the_attempts_end_and_unknown_hints_at_cors", async () => {
  const shop = await refusingShop();
  try {
    const options = { url: `${shop.url}/orders`, status: { url: `${shop.url}/orders/status` } };
    await lab.open({ cart: "f34-a", attempts: ATTEMPTS, budget: 6_000, options });
    await lab.click();
    const { doubt, attempts, why } = await lab.until("unknown", 10_000);
    assert.deepEqual([doubt.possible, doubt.cause, doubt.hint], [true, "transport", "cors"]);
    assert.deepEqual([attempts, why], [ATTEMPTS, "attempts"], "a limit, and never more");
    assert.equal(shop.seen.POST, 0, "nothing arrived, and nobody says that it failed");
    assert.ok(shop.seen.OPTIONS >= 1);
    const said = (await lab.history()).map(({ state }) => state);
    for (const lie of ["rejected", "refused", "not_sent", "succeeded"]) assert.ok(!said.includes(lie), `${said}`);
  } finally {
    await shop.stop();
  }
});

test("f34_a_given_a_lost_answer_of_the_pages_own_origin_then_there_is_no_hint_at_cors", async () => {
  await lab.open({ cart: "f34-own", attempts: 1 });
  await lab.server.plan([{ match: { attempt: 1 }, fault: "drop-before" }]);
  await lab.click();
  const { doubt } = await lab.until("unknown");
  assert.deepEqual([doubt.cause, doubt.hint], ["transport", undefined]);
});

/** What `fetch` was called with. */
const WATCHED = `{
  const real = globalThis.fetch;
  globalThis.keptAlive = [];
  globalThis.fetch = (input, init) => {
    if (init?.method === "POST") globalThis.keptAlive.push(init.keepalive === true);
    return real(input, init);
  };
}`;

for (const [name, bytes, expected] of [
  ["70_kb", 70_000, [false]],
  ["a_few_bytes", 20, [true]],
]) {
  test(`f34_b_r45_given_a_body_of_${name}_and_keepalive_then_it_is_asked_for_only_where_browsers_allow_it_and_the_order_is_placed`, async () => {
    const restore = await lab.beforeLoad(WATCHED);
    try {
      await lab.open({ cart: `f34-b-${bytes}`, options: { keepalive: true } });
      await lab.fill({ note: "x".repeat(bytes) });
      await lab.click();
      await lab.until("succeeded");
      assert.deepEqual(await lab.script(() => globalThis.keptAlive), expected);
      await assertOneEffect(lab.server, onlyKeyIn(await lab.server.log()));
    } finally {
      await restore();
    }
  });
}

test("r45_given_a_first_attempt_kept_alive_that_is_lost_then_the_next_goes_without", async () => {
  const restore = await lab.beforeLoad(WATCHED);
  try {
    await lab.open({ cart: "f34-again", options: { keepalive: true } });
    await lab.server.plan([{ match: { attempt: 1 }, fault: "lost-answer" }]);
    await lab.click();
    await lab.until("succeeded");
    assert.deepEqual(await lab.script(() => globalThis.keptAlive), [true, false]);
    const log = await lab.server.log();
    assert.equal(commandsIn(log).length, 2);
    await assertOneEffect(lab.server, onlyKeyIn(log));
  } finally {
    await restore();
  }
});
