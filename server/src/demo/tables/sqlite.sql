-- One row per effect. Nothing here is unique on purpose: a second effect of one key must show.
CREATE TABLE IF NOT EXISTS demo_orders (
    id        INTEGER PRIMARY KEY AUTOINCREMENT,
    operation TEXT    NOT NULL,
    key       TEXT    NOT NULL,
    subject   TEXT    NOT NULL,
    sku       TEXT    NOT NULL,
    quantity  INTEGER NOT NULL,
    note      TEXT,
    total     INTEGER NOT NULL,
    placed_ms INTEGER NOT NULL
) STRICT;

-- What a record went through, seen from the outside.
CREATE TABLE IF NOT EXISTS demo_history (
    n       INTEGER PRIMARY KEY AUTOINCREMENT,
    subject TEXT    NOT NULL,
    key     TEXT    NOT NULL,
    step    TEXT    NOT NULL,
    at_ms   INTEGER NOT NULL
) STRICT;

CREATE TRIGGER IF NOT EXISTS demo_record_made AFTER INSERT ON postonce_records BEGIN
    INSERT INTO demo_history (subject, key, step, at_ms)
    VALUES (new.subject, new.key, new.state, CAST(ROUND(unixepoch('subsec') * 1000) AS INTEGER));
END;

CREATE TRIGGER IF NOT EXISTS demo_record_changed AFTER UPDATE OF state ON postonce_records
WHEN old.state <> new.state BEGIN
    INSERT INTO demo_history (subject, key, step, at_ms)
    VALUES (new.subject, new.key, new.state, CAST(ROUND(unixepoch('subsec') * 1000) AS INTEGER));
END;

CREATE TRIGGER IF NOT EXISTS demo_record_gone AFTER DELETE ON postonce_records BEGIN
    INSERT INTO demo_history (subject, key, step, at_ms)
    VALUES (old.subject, old.key, 'released', CAST(ROUND(unixepoch('subsec') * 1000) AS INTEGER));
END;
