//! The outbox in PostgreSQL.

use postonce_core::time::Millis;
use sqlx::postgres::PgRow;
use sqlx::{Postgres, Row, Transaction};

use super::super::columns::{from_ms, to_ms};
use super::super::{Closing, Guarded, Letter, NewLetter, Note, RecordId, StoreError};
use super::{PostgresStore, corrupt, unavailable};

pub(super) async fn post(tx: &mut Transaction<'static, Postgres>, letter: &NewLetter<'_>) -> Result<(), StoreError> {
    sqlx::query(concat!(
        "INSERT INTO postonce_outbox (record, purpose, key, payload, state, attempts, token, due_ms, posted_ms) \
         SELECT $1, $2, $3, $4, 'waiting', 0, 0, clock.ms, clock.ms FROM ",
        clock!(),
        " ON CONFLICT DO NOTHING"
    ))
    .bind(letter.record.0)
    .bind(letter.purpose)
    .bind(letter.key)
    .bind(letter.payload)
    .execute(&mut **tx)
    .await
    .map_err(|error| unavailable(&error))?;
    Ok(())
}

impl PostgresStore {
    pub(super) async fn claim_due(&self, limit: u32, lease: Millis) -> Result<Vec<Letter>, StoreError> {
        // Not sent again when its answer is lost: what it claimed is due once more when the lease is over.
        let rows = sqlx::query(concat!(
            "WITH due AS MATERIALIZED (SELECT d.id FROM postonce_outbox AS d, ",
            clock!(),
            " WHERE d.state = 'waiting' AND d.due_ms <= clock.ms ORDER BY d.due_ms, d.id LIMIT $1 \
             FOR UPDATE OF d SKIP LOCKED) \
             UPDATE postonce_outbox AS o SET attempts = o.attempts + 1, token = o.token + 1, due_ms = clock.ms + $2 FROM due, ",
            clock!(),
            " WHERE o.id = due.id RETURNING o.*"
        ))
        .bind(i64::from(limit))
        .bind(to_ms(lease.0))
        .fetch_all(&self.statements)
        .await
        .map_err(|error| unavailable(&error))?;
        rows.iter().map(|row| letter(row).map_err(|error| corrupt(&error))).collect()
    }

    pub(super) async fn close_claimed(
        &self,
        letter: &Letter,
        closing: Closing,
        note: &Note,
    ) -> Result<Guarded, StoreError> {
        self.guarded(|| {
            sqlx::query(concat!(
                "WITH done AS (UPDATE postonce_outbox AS o SET state = $3, due_ms = clock.ms + $4 FROM ",
                clock!(),
                " WHERE o.id = $1 AND o.token = $2 AND o.state = 'waiting' RETURNING o.id, o.record, o.purpose, clock.ms), \
                 noted AS (INSERT INTO postonce_decisions (record, operation, conclusion, decided_by, why, decided_ms) \
                 SELECT record, purpose, 'referred', $5, $6, ms FROM done WHERE $3 = 'refused') SELECT id FROM done"
            ))
            .bind(letter.id)
            .bind(to_ms(letter.token))
            .bind(closing.state())
            .bind(to_ms(closing.wait().0))
            .bind(note.by.clone())
            .bind(note.why.clone())
        })
        .await
    }
}

fn letter(row: &PgRow) -> Result<Letter, sqlx::Error> {
    Ok(Letter {
        id: row.try_get("id")?,
        record: RecordId(row.try_get("record")?),
        purpose: row.try_get("purpose")?,
        key: row.try_get("key")?,
        payload: row.try_get("payload")?,
        attempt: u32::try_from(from_ms(row.try_get("attempts")?)).unwrap_or(u32::MAX),
        token: from_ms(row.try_get("token")?),
    })
}
