//! Open records and what was decided about them, in PostgreSQL.

use postonce_core::contract::StateName;
use postonce_core::time::{Millis, Wall};
use sqlx::Row;
use sqlx::postgres::PgRow;

use super::super::columns::{body_column, from_ms, read_columns, to_ms};
use super::super::open::reference_of;
use super::super::{Backlog, Conclusion, Decision, Guarded, Note, OpenRecord, RecordId, Scope, StoreError, Terminal};
use super::{PostgresStore, corrupt, nothing, unavailable};

/// A conclusion and its decision are one statement: `done` is the record that the first half changed.
macro_rules! and_note {
    () => {
        " INSERT INTO postonce_decisions (record, operation, reference, conclusion, decided_by, why, decided_ms) \
         SELECT done.id, done.operation, $3, $4, $5, $6, done.ms FROM done RETURNING record"
    };
}

impl PostgresStore {
    pub(super) async fn find_open(&self, operation: &str, limit: u32) -> Result<Vec<OpenRecord>, StoreError> {
        let rows = sqlx::query(concat!(
            "SELECT clock.ms AS now_ms, NULL::bigint AS floor_ms, r.*, EXISTS (SELECT 1 FROM postonce_decisions AS d \
             WHERE d.record = r.id AND d.conclusion = 'referred') AS referred FROM ",
            clock!(),
            ", postonce_records AS r WHERE r.operation = $1 AND r.state IN ('in_progress', 'uncertain') \
             AND (r.state = 'uncertain' OR r.lease_until_ms <= clock.ms) ORDER BY referred, r.changed_ms, r.id LIMIT $2"
        ))
        .bind(operation)
        .bind(i64::from(limit))
        .fetch_all(&self.statements)
        .await
        .map_err(|error| unavailable(&error))?;
        rows.iter().map(open_record).collect()
    }

    pub(super) async fn settle_open(
        &self,
        id: RecordId,
        token: u64,
        conclusion: &Conclusion,
        note: &Note,
    ) -> Result<Guarded, StoreError> {
        let reference = self.reference(id).await?;
        let noted = |text: &'static str| {
            let statement = sqlx::query(text).bind(id.0).bind(to_ms(token)).bind(reference.clone());
            statement.bind(conclusion.word()).bind(note.by.clone()).bind(note.why.clone())
        };
        let terminal = match conclusion {
            Conclusion::Refer => {
                return self
                    .guarded(|| {
                        noted(concat!(
                            "WITH done AS (SELECT r.id, r.operation, clock.ms FROM ",
                            clock!(),
                            ", postonce_records AS r WHERE r.id = $1 AND r.token = $2 \
                             AND r.state IN ('in_progress', 'uncertain') AND NOT EXISTS (SELECT 1 \
                             FROM postonce_decisions AS d WHERE d.record = r.id AND d.conclusion = 'referred'))",
                            and_note!()
                        ))
                    })
                    .await;
            }
            Conclusion::GiveBack => {
                return self
                    .guarded(|| {
                        noted(concat!(
                            "WITH done AS (DELETE FROM postonce_records AS r USING ",
                            clock!(),
                            " WHERE r.id = $1 AND r.token = $2 AND r.state IN ('in_progress', 'uncertain') \
                             RETURNING r.id, r.operation, clock.ms)",
                            and_note!()
                        ))
                    })
                    .await;
            }
            Conclusion::Settle(terminal) => terminal,
        };
        let (state, stored) = match terminal {
            Terminal::Completed(stored) => (StateName::Completed, stored),
            Terminal::Rejected(stored) => (StateName::Rejected, stored),
        };
        self.guarded(|| {
            noted(concat!(
                "WITH done AS (UPDATE postonce_records AS r SET state = $7, status = $8, content_type = $9, \
                 location = $10, result_id = $11, body = $12, owner = NULL, lease_until_ms = NULL, \
                 changed_ms = clock.ms FROM ",
                clock!(),
                " WHERE r.id = $1 AND r.token = $2 AND r.state IN ('in_progress', 'uncertain') \
                 RETURNING r.id, r.operation, clock.ms)",
                and_note!()
            ))
            .bind(state.as_str())
            .bind(i64::from(stored.status))
            .bind(&stored.content_type)
            .bind(&stored.location)
            .bind(stored.result_id.as_deref().map(str::as_bytes))
            .bind(body_column(&stored.body))
        })
        .await
    }

    async fn reference(&self, id: RecordId) -> Result<Option<String>, StoreError> {
        let key: Option<String> = sqlx::query_scalar("SELECT key FROM postonce_records WHERE id = $1")
            .bind(id.0)
            .fetch_optional(&self.statements)
            .await
            .map_err(|error| unavailable(&error))?;
        Ok(key.as_deref().and_then(reference_of))
    }

    pub(super) async fn read_decisions(&self, id: RecordId) -> Result<Vec<Decision>, StoreError> {
        let rows = sqlx::query("SELECT * FROM postonce_decisions WHERE record = $1 ORDER BY id")
            .bind(id.0)
            .fetch_all(&self.statements)
            .await
            .map_err(|error| unavailable(&error))?;
        rows.iter().map(|row| decision(row).map_err(|error| corrupt(&error))).collect()
    }

    pub(super) async fn count_open(&self, operation: &str) -> Result<Backlog, StoreError> {
        let row = self
            .row(|| {
                sqlx::query(concat!(
                    "SELECT count(*) FILTER (WHERE r.state = 'in_progress') AS in_progress, \
                     count(*) FILTER (WHERE r.state = 'uncertain') AS uncertain, \
                     max(clock.ms - r.first_seen_ms) FILTER (WHERE r.state = 'in_progress') AS oldest_ms FROM ",
                    clock!(),
                    ", postonce_records AS r WHERE r.operation = $1 AND r.state IN ('in_progress', 'uncertain')"
                ))
                .bind(operation)
            })
            .await
            .map_err(|error| unavailable(&error))?
            .ok_or_else(nothing)?;
        backlog(&row).map_err(|error| corrupt(&error))
    }
}

fn open_record(row: &PgRow) -> Result<OpenRecord, StoreError> {
    let text = |name: &str| row.try_get::<String, _>(name);
    let bytes = |name: &str| row.try_get::<Option<Vec<u8>>, _>(name);
    let scope = || Ok(Scope { tenant: text("tenant")?, subject: text("subject")?, key: text("key")? });
    let scope: Scope = scope().map_err(|error: sqlx::Error| corrupt(&error))?;
    let token: i64 = row.try_get("token").map_err(|error| corrupt(&error))?;
    let object = bytes("object").map_err(|error| corrupt(&error))?;
    let expected = bytes("expected").map_err(|error| corrupt(&error))?;
    let referred = row.try_get("referred").map_err(|error| corrupt(&error))?;
    let seen = read_columns!(row)?.seen()?;
    let (id, record) = seen.record.ok_or_else(|| StoreError::Corrupt(String::from("an open record has no number")))?;
    let as_text = |bytes: Option<Vec<u8>>| bytes.and_then(|bytes| String::from_utf8(bytes).ok());
    Ok(OpenRecord {
        id,
        scope,
        token: from_ms(token),
        record,
        object: as_text(object),
        expected: as_text(expected),
        referred,
        now: seen.now,
    })
}

fn decision(row: &PgRow) -> Result<Decision, sqlx::Error> {
    Ok(Decision {
        record: RecordId(row.try_get("record")?),
        operation: row.try_get("operation")?,
        reference: row.try_get("reference")?,
        conclusion: row.try_get("conclusion")?,
        note: Note { by: row.try_get("decided_by")?, why: row.try_get("why")? },
        at: Wall(from_ms(row.try_get("decided_ms")?)),
    })
}

fn backlog(row: &PgRow) -> Result<Backlog, sqlx::Error> {
    Ok(Backlog {
        in_progress: from_ms(row.try_get("in_progress")?),
        uncertain: from_ms(row.try_get("uncertain")?),
        oldest_in_progress: row.try_get::<Option<i64>, _>("oldest_ms")?.map(|ms| Millis(from_ms(ms))),
    })
}
