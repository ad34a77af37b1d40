-- One row per effect. Nothing here is unique on purpose: a second effect of one key must show.
CREATE TABLE IF NOT EXISTS demo_orders (
    id        BIGINT GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    operation TEXT   NOT NULL,
    key       TEXT   NOT NULL,
    subject   TEXT   NOT NULL,
    sku       TEXT   NOT NULL,
    quantity  BIGINT NOT NULL,
    note      TEXT,
    total     BIGINT NOT NULL,
    placed_ms BIGINT NOT NULL DEFAULT (extract(epoch FROM clock_timestamp()) * 1000)::bigint
);

-- What a record went through, seen from the outside.
CREATE TABLE IF NOT EXISTS demo_history (
    n       BIGINT GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    subject TEXT   NOT NULL,
    key     TEXT   NOT NULL,
    step    TEXT   NOT NULL,
    at_ms   BIGINT NOT NULL DEFAULT (extract(epoch FROM clock_timestamp()) * 1000)::bigint
);

CREATE OR REPLACE FUNCTION demo_record_moved() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF TG_OP = 'DELETE' THEN
        INSERT INTO demo_history (subject, key, step) VALUES (old.subject, old.key, 'released');
    ELSE
        INSERT INTO demo_history (subject, key, step) VALUES (new.subject, new.key, new.state);
    END IF;
    RETURN NULL;
END $$;

CREATE OR REPLACE TRIGGER demo_record_made AFTER INSERT OR DELETE ON postonce_records
    FOR EACH ROW EXECUTE FUNCTION demo_record_moved();

CREATE OR REPLACE TRIGGER demo_record_changed AFTER UPDATE OF state ON postonce_records
    FOR EACH ROW WHEN (old.state <> new.state) EXECUTE FUNCTION demo_record_moved();
