// A shop of the old kind in front of the demo server: it answers a form's POST with 303 to the order's page, and knows
// of no keys. Orders are counted here.
import { createServer, request } from "node:http";

const PAGE = { "content-type": "text/html" };

/** Starts it; `openLab({ front: shop.inFrontOf })` opens the pages through it. `to` says where a POST is sent on to. */
export async function startClassicShop() {
  let target;
  const shop = {
    orders: [],
    /** Requests of all kinds. */
    requests: 0,
    /** Where the next POSTs are redirected, by the order's number. */
    to: (number) => `/classic/${number}`,
    /** Whether a POST does anything. */
    open: true,
    inFrontOf(url) {
      target = url;
      return `http://127.0.0.1:${server.address().port}`;
    },
    async stop() {
      server.closeAllConnections();
      await new Promise((closed) => server.close(closed));
    },
  };
  const server = createServer((incoming, outgoing) => {
    const { method, url } = incoming;
    shop.requests += 1;
    if (method === "POST" && url === "/classic") {
      incoming.resume();
      if (shop.open) shop.orders.push(incoming.headers["idempotency-key"]);
      outgoing.writeHead(303, { location: shop.to(shop.orders.length) }).end();
    } else if (url?.startsWith("/classic/") || url === "/signin") {
      outgoing.writeHead(200, PAGE).end(`<h1>${url}</h1>`);
    } else {
      const onward = request(`${target}${url}`, { method, headers: incoming.headers }, (answer) => {
        outgoing.writeHead(answer.statusCode ?? 502, answer.headers);
        answer.pipe(outgoing);
      });
      onward.on("error", () => outgoing.destroy());
      incoming.pipe(onward);
    }
  });
  await new Promise((listening) => server.listen(0, "127.0.0.1", listening));
  return shop;
}
