// @node-idempotency/core, whose two calls are made around an Express handler. The package leaves HTTP to its caller, so
// the shim picks the statuses for its error codes (400, 409, 422); a failing handler stores nothing.
import { Idempotency, IdempotencyErrorCodes } from "@node-idempotency/core";
import { MemoryStorageAdapter } from "@node-idempotency/storage-adapter-memory";
import express from "express";
import { effects, listen, place } from "./shop.mjs";

const STATUSES = {
  [IdempotencyErrorCodes.REQUEST_IN_PROGRESS]: 409,
  [IdempotencyErrorCodes.IDEMPOTENCY_FINGERPRINT_MISSMATCH]: 422,
};
const idempotency = new Idempotency(new MemoryStorageAdapter());
const app = express();
app.use(express.json());
app.get("/count", (_request, response) => response.json({ count: effects() }));
for (const [path, kind] of [
  ["/orders", "ord"],
  ["/drafts", "drf"],
]) {
  app.post(path, async (request, response) => {
    const asked = { headers: request.headers, path, method: request.method, body: request.body };
    let stored;
    try {
      stored = await idempotency.onRequest(asked);
    } catch (error) {
      response.status(STATUSES[error.code] ?? 400).send({ error: error.message });
      return;
    }
    if (stored) {
      response.status(stored.additional.status).send(stored.body);
      return;
    }
    const { status, body } = await place(kind, request.body);
    await idempotency.onResponse(asked, { body, additional: { status } });
    response.status(status).send(body);
  });
}
listen(app);
