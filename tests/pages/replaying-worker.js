// A service worker as offline libraries have it: a POST fails at once, and is sent later from a queue, headers and all.
const delay = Number(new URL(location.href).searchParams.get("delay"));

addEventListener("install", () => skipWaiting());
addEventListener("activate", (event) => event.waitUntil(clients.claim()));
addEventListener("fetch", (event) => {
  if (event.request.method !== "POST" || !event.request.url.endsWith("/orders")) return;
  const queued = event.request.clone();
  event.respondWith(Promise.resolve(Response.error()));
  event.waitUntil(
    new Promise((settle) => setTimeout(settle, delay)).then(async () =>
      // A request's own mode and headers stay what they were; its signal went with its page.
      fetch(queued.url, { method: "POST", headers: queued.headers, body: await queued.text(), credentials: "include" }),
    ),
  );
});
