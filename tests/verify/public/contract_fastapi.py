"""The postonce contract in FastAPI over SQLite, effect and record in one transaction. See docs/server.md."""

import asyncio
import hashlib
import hmac
import json
import re
import secrets
import socket
import sqlite3
import sys
import time

import uvicorn
from fastapi import FastAPI, Request, Response

RETENTION, SKEW, LEASE = 86_400_000, 300_000, int(sys.argv[3]) if len(sys.argv) > 3 else 30_000  # milliseconds
BODY_MAX = 1024 * 1024
SCHEMA = """
CREATE TABLE IF NOT EXISTS idempotency (
    subject TEXT NOT NULL, key TEXT NOT NULL, operation TEXT NOT NULL, fingerprint TEXT,
    state TEXT NOT NULL, token TEXT, lease_until INTEGER, first_seen INTEGER NOT NULL, changed INTEGER NOT NULL,
    status INTEGER, body TEXT, result_id TEXT,
    UNIQUE (subject, key)
);
CREATE TABLE IF NOT EXISTS orders (id INTEGER PRIMARY KEY, subject TEXT, sku TEXT, quantity INTEGER);
"""
app = FastAPI()
path = sys.argv[1]


class Refused(Exception):
    """A problem of the contract: nothing ran in this request."""

    def __init__(self, status, name, **members):
        self.response = answer(status, {"type": f"urn:postonce:problem:{name}", "title": name, **members}, problem=True)


class Declined(Exception):
    """The domain's no: its answer is stored like a yes."""


def answer(status, body, problem=False, headers=None):
    text = body if isinstance(body, str) else json.dumps(body)
    kind = "application/problem+json" if problem else "application/json"
    return Response(text, status, {"cache-control": "no-store", **(headers or {})}, kind)


def now():
    return time.time_ns() // 1_000_000


def connect():
    db = sqlite3.connect(path, timeout=5, isolation_level=None)
    db.row_factory = sqlite3.Row
    db.execute("PRAGMA synchronous = FULL")
    return db


# -- 1. what travels around the payload ------------------------------------------------------------------------------


def envelope(request):
    who = request.headers.get("x-user")  # your authentication
    if not who:
        raise Refused(401, "unauthenticated")
    lines = request.headers.getlist("idempotency-key")
    if not lines:
        raise Refused(400, "key-missing")
    key = re.fullmatch(r'"([A-Za-z0-9_-]{22,255})"', lines[0])
    if len(lines) > 1 or not key:
        raise Refused(400, "key-invalid")
    tag = request.headers.get("idempotency-subject")
    if tag is None:
        raise Refused(400, "subject-missing")
    if tag != f'"{who}"':
        raise Refused(403, "wrong-subject")
    return who, key[1], date(request, "first-sent"), date(request, "deadline")


def date(request, name):
    found = re.fullmatch(r"@(\d{1,11})", request.headers.get(f"idempotency-{name}", ""))
    return int(found[1]) * 1000 if found else None


async def payload_of(request):
    raw = b""
    async for part in request.stream():
        raw = raw + part if len(raw) <= BODY_MAX else raw  # read on, unkept: closing now would hide the 413
    if len(raw) > BODY_MAX:
        raise Refused(413, "too-large")
    try:
        payload = json.loads(raw.decode("utf-8"), object_pairs_hook=once)
    except (ValueError, RecursionError):
        raise Refused(400, "malformed") from None
    if not isinstance(payload, dict):
        raise Refused(400, "malformed")
    return payload


def once(pairs):
    members = dict(pairs)
    if len(members) < len(pairs):
        raise ValueError("a member twice")
    return members


# -- 2. fingerprint: the payload, the operation, the method; keyed by the key ------------------------------------------


def fingerprint(key, operation, payload):
    # For texts and whole numbers this is the canonical form of docs/contract.md; for more take a JCS library.
    canonical = {"contract": 1, "method": "POST", "operation": operation, "path": {}, "payload": payload, "query": []}
    text = json.dumps(canonical, sort_keys=True, separators=(",", ":"), ensure_ascii=False)
    return "1:" + hmac.new(key.encode(), text.encode(), hashlib.sha256).hexdigest()


# -- 3. command: look up, judge, reserve by one unique insert, run, store -----------------------------------------------


def command(operation, who, key, first_sent, deadline, payload):
    db = connect()
    try:
        digest = fingerprint(key, operation, payload)
        for _ in range(8):
            record = look_up(db, who, key)
            if record:
                return known(record, key, digest)
            young(first_sent)
            if deadline is not None and deadline < now():
                raise Refused(412, "deadline-passed", now=now())
            token = secrets.token_hex(16)
            if reserve(db, who, key, operation, digest, token, deadline):
                return run(db, who, key, token, payload)
        raise Refused(503, "not-started")
    except sqlite3.OperationalError:
        raise Refused(503, "not-started") from None
    finally:
        db.close()


def look_up(db, who, key):
    find = "SELECT * FROM idempotency WHERE subject = ? AND key = ?"
    record = db.execute(find, (who, key)).fetchone()
    if record is None or record["state"] != "in_progress" or record["lease_until"] >= now():
        return record
    # Its owner is gone. The effect shared the transaction of the record, so it did not happen (R109).
    db.execute(
        "DELETE FROM idempotency WHERE subject = ? AND key = ? AND token = ? AND state = 'in_progress'"
        " AND lease_until < ?",
        (who, key, record["token"], now()),
    )
    return db.execute(find, (who, key)).fetchone()


def known(record, key, digest):
    if record["state"] == "fenced":
        raise Refused(410, "fenced", now=now())
    if record["fingerprint"] != digest:
        raise Refused(422, "key-reused")
    if record["state"] == "in_progress":
        refused = Refused(409, "in-progress", retry_after_ms=1000)
        refused.response.headers["retry-after"] = "1"
        raise refused
    return stored(record["status"], record["body"], key, "true", record["first_seen"])


def stored(status, body, key, replayed, first_seen=None):
    headers = {"idempotency-key": f'"{key}"', "idempotent-replayed": replayed}
    if first_seen is not None:
        headers["idempotency-first-seen"] = f"@{first_seen // 1000}"
    return answer(status, body, headers=headers)


def young(first_sent):
    if first_sent is None:
        raise Refused(400, "first-sent-missing")
    if first_sent > now() + SKEW:
        raise Refused(412, "clock-skew", now=now())
    if first_sent < now() - RETENTION - SKEW:
        raise Refused(410, "expired", now=now())


def reserve(db, who, key, operation, digest, token, deadline):
    at = now()
    # The deadline once more, by the database: the statement may have waited for its turn.
    done = db.execute(
        "INSERT INTO idempotency (subject, key, operation, fingerprint, state, token, lease_until, first_seen,"
        " changed) SELECT ?, ?, ?, ?, 'in_progress', ?, ?, ?, ?"
        " WHERE ? IS NULL OR ? >= CAST((julianday('now') - 2440587.5) * 86400000 AS INTEGER) ON CONFLICT DO NOTHING",
        (who, key, operation, digest, token, at + LEASE, at, at, deadline, deadline),
    )
    return done.rowcount == 1


def run(db, who, key, token, payload):
    try:
        time.sleep(0.6 if payload.get("sku") == "SLOW" else 0)  # a slow effect for verify
        db.execute("BEGIN IMMEDIATE")
        try:
            order = effect(db, who, payload)
            state, status, body, result_id = "completed", 201, json.dumps(order), order["id"]
        except Declined as no:
            db.execute("ROLLBACK")
            db.execute("BEGIN IMMEDIATE")
            state, status, body, result_id = "rejected", 402, json.dumps({"error": str(no)}), None
        done = db.execute(
            "UPDATE idempotency SET state = ?, status = ?, body = ?, result_id = ?, changed = ?, lease_until = NULL"
            " WHERE subject = ? AND key = ? AND token = ? AND state = 'in_progress'",
            (state, status, body, result_id, now(), who, key, token),
        )
        if done.rowcount != 1:  # somebody took over: our effect goes with our record
            raise Refused(409, "in-progress", retry_after_ms=1000)
        db.execute("COMMIT")
        return stored(status, body, key, "false")
    except BaseException:
        if db.in_transaction:
            db.execute("ROLLBACK")
        # The rollback proves that nothing was applied, so the key is free again; only under our own token.
        db.execute("DELETE FROM idempotency WHERE subject = ? AND key = ? AND token = ? AND state = 'in_progress'",
                   (who, key, token))  # fmt: skip
        raise


def effect(db, who, payload):
    if payload["sku"] == "DECLINED":
        raise Declined("declined")
    done = db.execute("INSERT INTO orders (subject, sku, quantity) VALUES (?, ?, ?)",
                      (who, payload["sku"], payload["quantity"]))  # fmt: skip
    if payload["sku"] == "BROKEN":
        raise RuntimeError("broken after its row")
    return {"id": f"ord_{done.lastrowid}", "sku": payload["sku"], "quantity": payload["quantity"]}


# -- 4. status and fence ------------------------------------------------------------------------------------------------


def status(operation, who, key, first_sent, fence):
    db = connect()
    try:
        old = first_sent is None or first_sent < now() - RETENTION - SKEW
        if fence and not old:
            if first_sent > now() + SKEW:
                raise Refused(412, "clock-skew", now=now())
            look_up(db, who, key)  # an abandoned claim must not keep the fence out
            # The same unique row as a reserve: whoever comes second changes nothing.
            db.execute(
                "INSERT INTO idempotency (subject, key, operation, state, first_seen, changed)"
                " VALUES (?, ?, ?, 'fenced', ?, ?) ON CONFLICT DO NOTHING",
                (who, key, operation, now(), now()),
            )
        record = look_up(db, who, key)
        body = {"key": key, "subject": who, "operation": operation, "now": now()}
        if record is None:
            body["state"] = "expired" if old else "not_found"
        else:
            body |= {name: record[name] for name in ("operation", "state", "fingerprint", "first_seen")}
            if record["state"] in ("completed", "rejected"):
                names = ("status", "body", "result_id")
                body["response"] = {name: record[name] for name in names} | {
                    "content_type": "application/json", "result_unavailable": False}  # fmt: skip
        headers = {"idempotency-key": f'"{key}"'}
        if body["state"] == "in_progress":
            body["retry_after_ms"], headers["retry-after"] = 1000, "1"
        return answer(200, body, headers=headers)
    except sqlite3.OperationalError:
        raise Refused(503, "not-started") from None
    finally:
        db.close()


def routes(at, operation):
    @app.post(at)
    async def post(request: Request):
        who, key, first_sent, deadline = envelope(request)
        payload = await payload_of(request)
        if not payload.get("sku") or not isinstance(payload.get("quantity"), int):
            return answer(422, {"error": "sku and quantity are needed"})
        # In a thread that the client's leaving does not end.
        return await asyncio.shield(
            asyncio.to_thread(command, operation, who, key, first_sent, deadline, payload))  # fmt: skip

    @app.api_route(f"{at}/status", methods=["GET", "DELETE"])
    async def ask(request: Request):
        who, key, first_sent, _ = envelope(request)
        return await asyncio.to_thread(status, operation, who, key, first_sent, request.method == "DELETE")


routes("/orders", "order.create")
routes("/drafts", "order.draft")


@app.get("/count")
def count():
    db = connect()
    try:
        return {"count": db.execute("SELECT count(*) FROM orders").fetchone()[0]}
    finally:
        db.close()


@app.exception_handler(Refused)
async def refused(_request, error):
    return error.response


if __name__ == "__main__":
    first = sqlite3.connect(path)
    first.execute("PRAGMA journal_mode = WAL")
    first.executescript(SCHEMA)
    first.close()
    listener = socket.create_server(("127.0.0.1", int(sys.argv[2]) if len(sys.argv) > 2 else 0))
    print(f"listening on http://127.0.0.1:{listener.getsockname()[1]}", flush=True)
    uvicorn.Server(uvicorn.Config(app, log_level="error")).run(sockets=[listener])
