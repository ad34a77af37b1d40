-- One row per (tenant, subject, key). Collation "C" compares byte by byte whatever the database's own does (R103).
-- Times are milliseconds of the store's own clock. What a payload may fill is BYTEA: TEXT holds no NUL character.
CREATE SEQUENCE IF NOT EXISTS postonce_tokens AS BIGINT;

CREATE TABLE IF NOT EXISTS postonce_records (
    -- Never reused: a downstream service's key derives from it.
    id             BIGINT GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    tenant         TEXT   NOT NULL COLLATE "C",
    subject        TEXT   NOT NULL COLLATE "C",
    key            TEXT   NOT NULL COLLATE "C",
    operation      TEXT   NOT NULL COLLATE "C",
    fingerprint    TEXT,
    object         BYTEA,
    -- What a reconciliation compares, as JSON (R109); only what the operation chose to keep.
    expected       BYTEA,
    state          TEXT   NOT NULL
                   CHECK (state IN ('in_progress', 'completed', 'rejected', 'uncertain', 'fenced')),
    owner          TEXT,
    token          BIGINT NOT NULL,
    started_ms     BIGINT,
    lease_until_ms BIGINT,
    first_seen_ms  BIGINT NOT NULL,
    changed_ms     BIGINT NOT NULL,
    status         BIGINT,
    content_type   TEXT,
    location       TEXT,
    result_id      BYTEA,
    body           BYTEA,
    CHECK (state <> 'in_progress' OR (owner IS NOT NULL AND lease_until_ms IS NOT NULL)),
    CHECK (state NOT IN ('completed', 'rejected') OR (status IS NOT NULL AND content_type IS NOT NULL)),
    CHECK (state = 'fenced' OR fingerprint IS NOT NULL),
    UNIQUE (tenant, subject, key)
);

-- What may need settling is found without reading what is settled.
CREATE INDEX IF NOT EXISTS postonce_open ON postonce_records (operation, changed_ms)
    WHERE state IN ('in_progress', 'uncertain');

-- Who settled an open record, or handed it to a person: kept when the record is gone. It names no key, subject or field.
CREATE TABLE IF NOT EXISTS postonce_decisions (
    id         BIGINT GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    record     BIGINT NOT NULL,
    operation  TEXT NOT NULL,
    reference  TEXT,
    conclusion TEXT NOT NULL CHECK (conclusion IN ('applied', 'refused', 'not_applied', 'referred')),
    decided_by TEXT NOT NULL,
    why        TEXT NOT NULL,
    decided_ms BIGINT NOT NULL
);

CREATE INDEX IF NOT EXISTS postonce_decisions_of ON postonce_decisions (record, conclusion);

-- A single-use object belongs to the first key that reserved it, until that key is rejected, fenced or released.
CREATE UNIQUE INDEX IF NOT EXISTS postonce_objects ON postonce_records (tenant, operation, object)
    WHERE object IS NOT NULL AND state IN ('in_progress', 'completed', 'uncertain');

-- The server's history that these records belong to. Another timeline is a promoted standby or a restored backup:
-- keys first sent before that moment may have lost their record (R116).
CREATE TABLE IF NOT EXISTS postonce_floor (
    one      BIGINT PRIMARY KEY CHECK (one = 1),
    timeline TEXT   NOT NULL,
    floor_ms BIGINT
);

-- Calls to other services that committed together with an effect (R108). The key is the downstream service's; it never
-- changes, so that a call that was made and not noted is made again as the same one.
CREATE TABLE IF NOT EXISTS postonce_outbox (
    id         BIGINT GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    record     BIGINT NOT NULL,
    purpose    TEXT NOT NULL,
    key        TEXT NOT NULL UNIQUE,
    payload    BYTEA NOT NULL,
    state      TEXT NOT NULL CHECK (state IN ('waiting', 'delivered', 'refused')),
    attempts   BIGINT NOT NULL,
    token      BIGINT NOT NULL,
    due_ms     BIGINT NOT NULL,
    posted_ms  BIGINT NOT NULL
);

CREATE INDEX IF NOT EXISTS postonce_outbox_due ON postonce_outbox (due_ms) WHERE state = 'waiting';
