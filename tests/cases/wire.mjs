// Commands and status checks spoken by hand, without the library: what another client of the contract would send.
import { randomBytes } from "node:crypto";
import { request } from "node:http";

const SUBJECT = "demo-user";
const BUDGET_S = 8;

/**
 * A wish as it goes over the wire: one key, one first-sent, one payload. Sending it again sends the same bytes. Whoever
 * is not the demo's own subject is signed in by its cookie.
 * @param {object} payload
 * @param {{ subject?: string, key?: string }} [whose]
 */
export function newWish(payload, { subject = SUBJECT, key = randomBytes(16).toString("hex") } = {}) {
  return {
    subject,
    key,
    firstSent: Math.floor(Date.now() / 1000),
    body: JSON.stringify(payload),
  };
}

/**
 * Sends one attempt and never fails: a connection that ends without an answer is `{ status: null }`. With
 * `leaveAfterMs` the client closes its connection so long after the last byte of the request was handed over.
 * @param {string} url of the server
 * @param {{ attempt?: number, leaveAfterMs?: number, path?: string, type?: string }} [options]
 */
export function post(url, wish, { attempt = 1, leaveAfterMs, path = "/orders", type = "application/json" } = {}) {
  const deadline = wish.firstSent + BUDGET_S;
  const headers = {
    ...identity(wish),
    "content-type": type,
    "idempotency-deadline": `@${deadline}`,
    "x-client-attempt": String(attempt),
  };
  return exchange(`${url}${path}`, { method: "POST", headers, body: wish.body, leaveAfterMs });
}

/** Asks what became of it. */
export function check(url, wish) {
  return exchange(`${url}/orders/status`, { method: "GET", headers: identity(wish) });
}

/** Asks to void it. */
export function fence(url, wish) {
  return exchange(`${url}/orders/status`, { method: "DELETE", headers: identity(wish) });
}

function identity({ key, firstSent, subject, cookie }) {
  return {
    cookie: cookie ?? `demo_subject=${subject}`,
    "idempotency-key": `"${key}"`,
    "idempotency-first-sent": `@${firstSent}`,
    "idempotency-subject": `"${subject}"`,
  };
}

function exchange(url, { method, headers, body = "", leaveAfterMs }) {
  return new Promise((settle) => {
    const length = method === "POST" ? { "content-length": Buffer.byteLength(body) } : {};
    const outgoing = request(url, { method, headers: { ...headers, ...length }, agent: false });
    outgoing.on("error", () => settle({ status: null, headers: {}, text: "" }));
    outgoing.on("response", (incoming) => {
      const chunks = [];
      incoming.on("data", (chunk) => chunks.push(chunk));
      incoming.on("error", () => settle({ status: null, headers: {}, text: "" }));
      incoming.on("end", () => {
        settle({
          status: incoming.statusCode,
          headers: incoming.headers,
          text: Buffer.concat(chunks).toString("utf8"),
        });
      });
    });
    outgoing.end(body, () => {
      if (leaveAfterMs !== undefined) setTimeout(() => outgoing.destroy(new Error("the client left")), leaveAfterMs);
    });
  });
}
