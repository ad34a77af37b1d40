// A proxy in front of the demo server, whose pages are opened through it, that can hold a request back and deliver it although its
// sender has long hung up, as middle boxes do. It forwards everything else as it is.
import { createServer, request } from "node:http";

/**
 * Starts it on a free port. `openLab({ front: proxy.inFrontOf })` opens the pages through it.
 * @param {{
 *   delayMs?: (incoming: import("node:http").IncomingMessage) => number,
 *   cut?: (incoming: import("node:http").IncomingMessage) => boolean,
 *   clones?: (incoming: import("node:http").IncomingMessage) => boolean,
 *   onAnswer?: (incoming: import("node:http").IncomingMessage, headers: Record<string, unknown>) => void,
 * }} rules how long to hold a request back once its body is here; whether to cut the connection instead, or to deliver a copy at once whose answer is nobody's; what to change in an answer's headers
 */
export async function startSlowProxy(rules) {
  /** What was delivered, in order: when the sender left, if it did, and what the server answered. */
  const deliveries = [];
  const timers = new Set();
  let target;
  const proxy = createServer((incoming, outgoing) => {
    if (rules.cut?.(incoming)) {
      incoming.socket.destroy();
      return;
    }
    const delivery = { method: incoming.method, path: pathOf(incoming), senderLeft: false, status: null };
    deliveries.push(delivery);
    const chunks = [];
    incoming.on("data", (chunk) => chunks.push(chunk));
    outgoing.on("close", () => {
      delivery.senderLeft = !outgoing.writableFinished;
    });
    incoming.on("end", () => {
      if (rules.clones?.(incoming)) deliverCopy(`${target}${incoming.url}`, incoming, Buffer.concat(chunks));
      const timer = setTimeout(() => {
        timers.delete(timer);
        deliver(`${target}${incoming.url}`, incoming, Buffer.concat(chunks), outgoing, delivery, rules);
      }, rules.delayMs?.(incoming) ?? 0);
      timers.add(timer);
    });
  });
  await new Promise((listening) => proxy.listen(0, "127.0.0.1", listening));
  return {
    deliveries,
    /** Where to find, through this proxy, what the server at `url` offers. */
    inFrontOf(url) {
      target = url;
      return `http://127.0.0.1:${proxy.address().port}`;
    },
    /** Replaces the rules for the requests to come. */
    set(next) {
      for (const name of ["delayMs", "cut", "clones", "onAnswer"]) delete rules[name];
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

/** The path of a request, without its query. */
export const pathOf = ({ url }) => url.split("?")[0];

function deliver(url, incoming, body, outgoing, delivery, rules) {
  const { method, headers } = incoming;
  // The server closes each connection; so does the proxy, or a browser may repeat a POST by itself.
  const onward = request(url, { method, headers, agent: false }, (answer) => {
    delivery.status = answer.statusCode;
    const changed = { ...answer.headers, connection: "close" };
    rules.onAnswer?.(incoming, changed);
    outgoing.writeHead(answer.statusCode, changed);
    answer.pipe(outgoing);
  });
  onward.on("error", () => outgoing.destroy());
  onward.end(body);
}

function deliverCopy(url, { method, headers }, body) {
  const onward = request(url, { method, headers, agent: false }, (answer) => answer.resume());
  onward.on("error", () => {});
  onward.end(body);
}
