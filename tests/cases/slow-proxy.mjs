// A forward proxy between the browser and the demo server that can hold a request back and deliver it although its
// sender has long hung up, as middle boxes do. It forwards everything else as it is.
import { createServer, request } from "node:http";

/**
 * Starts it on a free port. Chromium goes through it with `proxyFlags(proxy)`.
 * @param {{
 *   delayMs?: (incoming: import("node:http").IncomingMessage) => number,
 *   onAnswer?: (incoming: import("node:http").IncomingMessage, headers: Record<string, unknown>) => void,
 * }} rules how long to hold a request back once its body is here; what to change in an answer's headers
 */
export async function startSlowProxy(rules) {
  /** What was delivered, in order: when the sender left, if it did, and what the server answered. */
  const deliveries = [];
  const timers = new Set();
  const proxy = createServer((incoming, outgoing) => {
    const delivery = { method: incoming.method, path: new URL(incoming.url).pathname, senderLeft: false, status: null };
    deliveries.push(delivery);
    const chunks = [];
    incoming.on("data", (chunk) => chunks.push(chunk));
    outgoing.on("close", () => {
      delivery.senderLeft = !outgoing.writableFinished;
    });
    incoming.on("end", () => {
      const timer = setTimeout(() => {
        timers.delete(timer);
        deliver(incoming, Buffer.concat(chunks), outgoing, delivery, rules);
      }, rules.delayMs?.(incoming) ?? 0);
      timers.add(timer);
    });
  });
  await new Promise((listening) => proxy.listen(0, "127.0.0.1", listening));
  return {
    port: proxy.address().port,
    deliveries,
    /** Replaces the rules for the requests to come. */
    set(next) {
      for (const name of ["delayMs", "onAnswer"]) delete rules[name];
      Object.assign(rules, next);
      deliveries.length = 0;
    },
    async stop() {
      for (const timer of timers) clearTimeout(timer);
      proxy.closeAllConnections();
      await new Promise((closed) => proxy.close(closed));
    },
  };
}

/** Chromium leaves loopback addresses out of proxying unless told otherwise. */
export function proxyFlags({ port }) {
  return [`--proxy-server=http://127.0.0.1:${port}`, "--proxy-bypass-list=<-loopback>"];
}

function deliver(incoming, body, outgoing, delivery, rules) {
  const { "proxy-connection": _hop, ...headers } = incoming.headers;
  // The server closes each connection; so does the proxy, or Chromium may repeat a POST by itself.
  const onward = request(incoming.url, { method: incoming.method, headers, agent: false }, (answer) => {
    delivery.status = answer.statusCode;
    const changed = { ...answer.headers, connection: "close" };
    rules.onAnswer?.(incoming, changed);
    outgoing.writeHead(answer.statusCode, changed);
    answer.pipe(outgoing);
  });
  onward.on("error", () => outgoing.destroy());
  onward.end(body);
}
