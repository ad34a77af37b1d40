-- One row per (tenant, subject, key). BINARY is SQLite's default collation; it stands here because byte-wise
-- comparison is a promise (R103). Times are milliseconds of the store's own clock.
CREATE TABLE IF NOT EXISTS postonce_records (
    -- Never reused: a downstream service's key derives from it.
    id             INTEGER PRIMARY KEY AUTOINCREMENT,
    tenant         TEXT    NOT NULL COLLATE BINARY,
    subject        TEXT    NOT NULL COLLATE BINARY,
    key            TEXT    NOT NULL COLLATE BINARY,
    operation      TEXT    NOT NULL,
    fingerprint    TEXT,
    object         TEXT    COLLATE BINARY,
    -- What a reconciliation compares, as JSON (R109); only what the operation chose to keep.
    expected       BLOB,
    state          TEXT    NOT NULL
                   CHECK (state IN ('in_progress', 'completed', 'rejected', 'uncertain', 'fenced')),
    owner          TEXT,
    token          INTEGER NOT NULL,
    started_ms     INTEGER,
    lease_until_ms INTEGER,
    first_seen_ms  INTEGER NOT NULL,
    changed_ms     INTEGER NOT NULL,
    status         INTEGER,
    content_type   TEXT,
    location       TEXT,
    result_id      TEXT,
    body           BLOB,
    CHECK (state <> 'in_progress' OR (owner IS NOT NULL AND lease_until_ms IS NOT NULL)),
    CHECK (state NOT IN ('completed', 'rejected') OR (status IS NOT NULL AND content_type IS NOT NULL)),
    CHECK (state = 'fenced' OR fingerprint IS NOT NULL),
    UNIQUE (tenant, subject, key)
) STRICT;

-- What may need settling is found without reading what is settled.
CREATE INDEX IF NOT EXISTS postonce_open ON postonce_records (operation, changed_ms)
    WHERE state IN ('in_progress', 'uncertain');

-- Who settled an open record, or handed it to a person: kept when the record is gone. It names no key, subject or field.
CREATE TABLE IF NOT EXISTS postonce_decisions (
    id         INTEGER PRIMARY KEY AUTOINCREMENT,
    record     INTEGER NOT NULL,
    operation  TEXT NOT NULL,
    reference  TEXT,
    conclusion TEXT NOT NULL CHECK (conclusion IN ('applied', 'refused', 'not_applied', 'referred')),
    decided_by TEXT NOT NULL,
    why        TEXT NOT NULL,
    decided_ms INTEGER NOT NULL
) STRICT;

CREATE INDEX IF NOT EXISTS postonce_decisions_of ON postonce_decisions (record, conclusion);

-- A single-use object belongs to the first key that reserved it, until that key is rejected, fenced or released.
CREATE UNIQUE INDEX IF NOT EXISTS postonce_objects ON postonce_records (tenant, operation, object)
    WHERE object IS NOT NULL AND state IN ('in_progress', 'completed', 'uncertain');

CREATE TABLE IF NOT EXISTS postonce_tokens (
    one   INTEGER PRIMARY KEY CHECK (one = 1),
    value INTEGER NOT NULL
) STRICT;

INSERT OR IGNORE INTO postonce_tokens (one, value) VALUES (1, 0);

-- Keys first sent before this instant may have lost their record (R116). No row: nothing was ever lost.
CREATE TABLE IF NOT EXISTS postonce_floor (
    one      INTEGER PRIMARY KEY CHECK (one = 1),
    floor_ms INTEGER NOT NULL
) STRICT;

-- Calls to other services that committed together with an effect (R108). The key is the downstream service's; it never
-- changes, so that a call that was made and not noted is made again as the same one.
CREATE TABLE IF NOT EXISTS postonce_outbox (
    id         INTEGER PRIMARY KEY AUTOINCREMENT,
    record     INTEGER NOT NULL,
    purpose    TEXT NOT NULL,
    key        TEXT NOT NULL UNIQUE,
    payload    BLOB NOT NULL,
    state      TEXT NOT NULL CHECK (state IN ('waiting', 'delivered', 'refused')),
    attempts   INTEGER NOT NULL,
    token      INTEGER NOT NULL,
    due_ms     INTEGER NOT NULL,
    posted_ms  INTEGER NOT NULL
) STRICT;

CREATE INDEX IF NOT EXISTS postonce_outbox_due ON postonce_outbox (due_ms) WHERE state = 'waiting';
