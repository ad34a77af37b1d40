// @aws-lambda-powertools/idempotency without Lambda: makeIdempotent around the command, behind Express. Its cache layer
// gets a Map with Redis's SET NX in the place of Redis, the key by a JMESPath, and a context with the time a Lambda has
// left, which its docs ask for. `validate` on the command line switches payload validation on, over path and body. The
// shim picks the statuses for its error classes.
import {
  IdempotencyAlreadyInProgressError,
  IdempotencyConfig,
  IdempotencyKeyError,
  IdempotencyValidationError,
  makeIdempotent,
} from "@aws-lambda-powertools/idempotency";
import { CachePersistenceLayer } from "@aws-lambda-powertools/idempotency/cache";
import express from "express";
import { effects, listen, place } from "./shop.mjs";

const REMAINING_MS = 30_000;
const STATUSES = [
  [IdempotencyAlreadyInProgressError, 409],
  [IdempotencyValidationError, 422],
  [IdempotencyKeyError, 400],
];
const values = new Map();
const client = {
  get: async (name) => values.get(name) ?? null,
  set: async (name, value, { NX } = {}) => {
    if (NX && values.has(name)) return null;
    values.set(name, value);
    return "OK";
  },
  del: async (names) => names.filter((name) => values.delete(name)).length,
};
const config = new IdempotencyConfig({
  eventKeyJmesPath: "key",
  throwOnNoIdempotencyKey: true,
  ...(process.argv[2] === "validate" ? { payloadValidationJmesPath: "[kind, body]" } : {}),
});
config.registerLambdaContext({ getRemainingTimeInMillis: () => REMAINING_MS });
const command = makeIdempotent(({ kind, body }) => place(kind, body), {
  persistenceStore: new CachePersistenceLayer({ client }),
  config,
});
const app = express();
app.use(express.json());
app.get("/count", (_request, response) => response.json({ count: effects() }));
for (const [path, kind] of [
  ["/orders", "ord"],
  ["/drafts", "drf"],
]) {
  app.post(path, async (request, response) => {
    try {
      const { status, body } = await command({ key: request.get("idempotency-key"), kind, body: request.body });
      response.status(status).send(body);
    } catch (error) {
      const [, status] = STATUSES.find(([kind]) => error instanceof kind) ?? [];
      if (status === undefined) throw error;
      response.status(status).send({ error: error.message });
    }
  });
}
listen(app);
