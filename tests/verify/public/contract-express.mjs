// The postonce contract in Express over PostgreSQL, effect and record in one transaction. See docs/server.md. The
// database is PGlite, PostgreSQL inside this process, so that it runs anywhere; with `pg` the statements are the same.
import { createHmac, randomUUID } from "node:crypto";
import { PGlite } from "@electric-sql/pglite";
import express from "express";

const [RETENTION, SKEW, LEASE] = [86_400_000, 300_000, Number(process.argv[4] ?? 30_000)]; // milliseconds
const NOW = "(extract(epoch FROM clock_timestamp()) * 1000)::bigint";
const db = await PGlite.create(process.argv[2]);
await db.exec(`
  CREATE TABLE IF NOT EXISTS idempotency (
    subject text NOT NULL, key text COLLATE "C" NOT NULL, operation text NOT NULL, fingerprint text,
    state text NOT NULL, token text, lease_until bigint, first_seen bigint NOT NULL, changed bigint NOT NULL,
    status int, body text, result_id text,
    UNIQUE (subject, key));
  CREATE TABLE IF NOT EXISTS orders (id serial PRIMARY KEY, subject text, sku text, quantity int);`);

/** A problem of the contract: nothing ran in this request. */
class Refused extends Error {
  constructor(status, name, members = {}) {
    super(name);
    Object.assign(this, { status, members });
  }
}

/** The domain's no: its answer is stored like a yes. */
class Declined extends Error {}

// -- 1. what travels around the payload

function envelope(request) {
  const who = request.get("x-user"); // your authentication
  if (!who) throw new Refused(401, "unauthenticated");
  // Node joins repeated headers; the raw list shows them.
  const lines = request.rawHeaders.filter((_, n, all) => n % 2 && all[n - 1].toLowerCase() === "idempotency-key");
  if (lines.length === 0) throw new Refused(400, "key-missing");
  const [, key] = /^"([A-Za-z0-9_-]{22,255})"$/.exec(lines[0]) ?? [];
  if (lines.length > 1 || !key) throw new Refused(400, "key-invalid");
  const tag = request.get("idempotency-subject");
  if (tag === undefined) throw new Refused(400, "subject-missing");
  if (tag !== `"${who}"`) throw new Refused(403, "wrong-subject");
  const date = (name) => {
    const [, seconds] = /^@(\d{1,11})$/.exec(request.get(`idempotency-${name}`) ?? "") ?? [];
    return seconds === undefined ? undefined : Number(seconds) * 1_000;
  };
  return { who, key, firstSent: date("first-sent"), deadline: date("deadline") };
}

function payloadOf(request) {
  try {
    const text = new TextDecoder("utf-8", { fatal: true }).decode(request.body);
    return JSON.parse(text); // takes a member twice: use a stricter reader where that matters (R12)
  } catch {
    throw new Refused(400, "malformed");
  }
}

// -- 2. fingerprint: the payload, the operation, the method; keyed by the key

function fingerprint(key, operation, payload) {
  const canonical = { contract: 1, method: "POST", operation, path: {}, payload, query: [] };
  return `1:${createHmac("sha256", key).update(sorted(canonical)).digest("hex")}`;
}

/** RFC 8785: JSON.stringify writes texts and numbers as it says, names sort by UTF-16 units. */
function sorted(value) {
  if (Array.isArray(value)) return `[${value.map(sorted)}]`;
  if (value === null || typeof value !== "object") return JSON.stringify(value);
  const names = Object.keys(value).sort();
  return `{${names.map((name) => `${JSON.stringify(name)}:${sorted(value[name])}`)}}`;
}

// -- 3. command: look up, judge, reserve by one unique insert, run, store

async function command(operation, { who, key, firstSent, deadline }, payload) {
  const digest = fingerprint(key, operation, payload);
  for (let turn = 0; turn < 8; turn += 1) {
    const { record, now } = await lookUp(who, key);
    if (record) return known(record, digest, now);
    if (firstSent === undefined) throw new Refused(400, "first-sent-missing");
    if (firstSent > now + SKEW) throw new Refused(412, "clock-skew", { now });
    if (firstSent < now - RETENTION - SKEW) throw new Refused(410, "expired", { now });
    if (deadline < now) throw new Refused(412, "deadline-passed", { now });
    const token = randomUUID();
    if (await reserve(who, key, operation, digest, token, deadline)) return run(who, key, token, payload);
  }
  throw new Refused(503, "not-started");
}

async function lookUp(who, key) {
  const { record, now } = await find(who, key);
  if (record?.state !== "in_progress" || Number(record.lease_until) >= now) return { record, now };
  // Its owner is gone. The effect shared the transaction of the record, so it did not happen (R109).
  await db.query(
    `DELETE FROM idempotency WHERE subject = $1 AND key = $2 AND token = $3 AND state = 'in_progress'
     AND lease_until < ${NOW}`,
    [who, key, record.token],
  );
  return find(who, key);
}

async function find(who, key) {
  const found = await db.query(
    `SELECT ${NOW}::float8 AS now, r.* FROM (SELECT 1) one LEFT JOIN idempotency r ON r.subject = $1 AND r.key = $2`,
    [who, key],
  );
  const [row] = found.rows;
  return { now: row.now, record: row.state === null ? undefined : row };
}

function known(record, digest, now) {
  if (record.state === "fenced") throw new Refused(410, "fenced", { now });
  if (record.fingerprint !== digest) throw new Refused(422, "key-reused");
  if (record.state === "in_progress") throw new Refused(409, "in-progress", { retry_after_ms: 1_000 });
  return { status: record.status, body: record.body, firstSeen: Number(record.first_seen) };
}

async function reserve(who, key, operation, digest, token, deadline) {
  // The deadline once more: the statement may have waited for its turn.
  const done = await db.query(
    `INSERT INTO idempotency (subject, key, operation, fingerprint, state, token, lease_until, first_seen, changed)
     SELECT $1, $2, $3, $4, 'in_progress', $5, ${NOW} + ${LEASE}, ${NOW}, ${NOW}
     WHERE $6::bigint IS NULL OR $6::bigint >= ${NOW} ON CONFLICT DO NOTHING`,
    [who, key, operation, digest, token, deadline ?? null],
  );
  return done.affectedRows === 1;
}

async function run(who, key, token, payload) {
  if (payload.sku === "SLOW") await new Promise((settle) => setTimeout(settle, 600)); // for verify
  const settle = async (tx, state, status, body, id) => {
    const done = await tx.query(
      `UPDATE idempotency SET state = $4, status = $5, body = $6, result_id = $7, changed = ${NOW}, lease_until = NULL
       WHERE subject = $1 AND key = $2 AND token = $3 AND state = 'in_progress'`,
      [who, key, token, state, status, body, id],
    );
    // Somebody took over: our effect goes with our record.
    if (done.affectedRows !== 1) throw new Refused(409, "in-progress", { retry_after_ms: 1_000 });
    return { status, body };
  };
  try {
    return await db.transaction(async (tx) => {
      const order = await effect(tx, who, payload);
      return settle(tx, "completed", 201, JSON.stringify(order), order.id);
    });
  } catch (error) {
    if (error instanceof Declined) {
      return settle(db, "rejected", 402, JSON.stringify({ error: error.message }), null);
    }
    // The rollback proves that nothing was applied, so the key is free again; only under our own token.
    await db.query("DELETE FROM idempotency WHERE subject = $1 AND key = $2 AND token = $3 AND state = 'in_progress'", [
      who,
      key,
      token,
    ]);
    throw error;
  }
}

async function effect(tx, who, { sku, quantity }) {
  if (sku === "DECLINED") throw new Declined("declined");
  const placed = await tx.query("INSERT INTO orders (subject, sku, quantity) VALUES ($1, $2, $3) RETURNING id", [
    who,
    sku,
    quantity,
  ]);
  if (sku === "BROKEN") throw new Error("broken after its row");
  return { id: `ord_${placed.rows[0].id}`, sku, quantity };
}

// -- 4. status and fence

async function status(operation, { who, key, firstSent }, fence) {
  const { now } = await lookUp(who, key);
  const old = firstSent === undefined || firstSent < now - RETENTION - SKEW;
  if (fence && firstSent > now + SKEW) throw new Refused(412, "clock-skew", { now });
  if (fence && !old) {
    // The same unique row as a reserve: whoever comes second changes nothing.
    await db.query(
      `INSERT INTO idempotency (subject, key, operation, state, first_seen, changed)
       VALUES ($1, $2, $3, 'fenced', ${NOW}, ${NOW}) ON CONFLICT DO NOTHING`,
      [who, key, operation],
    );
  }
  const { record } = await lookUp(who, key);
  const echo = { key, subject: who, now, operation: record?.operation ?? operation };
  if (!record) return { ...echo, state: old ? "expired" : "not_found" };
  const { state, status, body, result_id } = record;
  const found = { ...echo, state, fingerprint: record.fingerprint, first_seen: Number(record.first_seen) };
  if (state === "in_progress") return { ...found, retry_after_ms: 1_000 };
  if (state !== "completed" && state !== "rejected") return found;
  const response = { status, body, result_id, content_type: "application/json", result_unavailable: false };
  return { ...found, response };
}

const app = express();
app.use((_request, response, next) => {
  response.set("Cache-Control", "no-store");
  next();
});
for (const [path, operation] of [
  ["/orders", "order.create"],
  ["/drafts", "order.draft"],
]) {
  app.post(path, express.raw({ type: "*/*", limit: "1mb" }), async (request, response) => {
    const asked = envelope(request);
    const payload = payloadOf(request);
    if (!payload?.sku || !Number.isInteger(payload.quantity)) {
      response.status(422).send({ error: "sku and quantity are needed" });
      return;
    }
    // Node runs this to its end whether or not the client still listens.
    const { status, body, firstSeen } = await command(operation, asked, payload);
    response.set({ "Idempotency-Key": `"${asked.key}"`, "Idempotent-Replayed": String(firstSeen !== undefined) });
    if (firstSeen !== undefined) response.set("Idempotency-First-Seen", `@${Math.floor(firstSeen / 1_000)}`);
    response.status(status).type("application/json").send(body);
  });
  app.all(`${path}/status`, async (request, response) => {
    const asked = envelope(request);
    const told = await status(operation, asked, request.method === "DELETE");
    if (told.retry_after_ms) response.set("Retry-After", "1");
    response.set("Idempotency-Key", `"${asked.key}"`).send(told);
  });
}
app.get("/count", async (_request, response) => {
  const { rows } = await db.query("SELECT count(*)::int AS count FROM orders");
  response.send(rows[0]);
});
app.use((error, _request, response, _next) => {
  if (!(error instanceof Refused)) {
    response.status(error.status ?? 500).send({ title: "failed" }); // never stored, never marked
    return;
  }
  if (error.members.retry_after_ms) response.set("Retry-After", "1");
  const problem = { type: `urn:postonce:problem:${error.message}`, title: error.message, ...error.members };
  response.status(error.status).type("application/problem+json").send(JSON.stringify(problem));
});
const server = app.listen(Number(process.argv[3] ?? 0), "127.0.0.1", () => {
  console.log(`listening on http://127.0.0.1:${server.address().port}`);
});
