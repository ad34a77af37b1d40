// express-idempotency as its README mounts it: its own in-memory store, the check for a hit, its error report.
import express from "express";
import { getSharedIdempotencyService, idempotency } from "express-idempotency";
import { effects, listen, place } from "./shop.mjs";

const app = express();
app.use(express.json());
app.get("/count", (_request, response) => response.json({ count: effects() }));
app.use(idempotency());
for (const [path, kind] of [
  ["/orders", "ord"],
  ["/drafts", "drf"],
]) {
  app.post(path, async (request, response) => {
    const service = getSharedIdempotencyService();
    if (service.isHit(request)) return;
    try {
      const { status, body } = await place(kind, request.body);
      response.status(status).send(body);
    } catch (error) {
      await service.reportError(request);
      throw error;
    }
  });
}
listen(app);
