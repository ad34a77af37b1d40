//! The outbox in SQLite.

use postonce_core::time::Millis;
use sqlx::sqlite::SqliteRow;
use sqlx::{Row, Sqlite, Transaction};

use super::super::columns::{from_ms, to_ms};
use super::super::{Closing, Guarded, Letter, NewLetter, Note, RecordId, Store, StoreError};
use super::{SqliteStore, commit, corrupt, guard, unavailable};

pub(super) async fn post(tx: &mut Transaction<'static, Sqlite>, letter: &NewLetter<'_>) -> Result<(), StoreError> {
    sqlx::query(concat!(
        "INSERT INTO postonce_outbox (record, purpose, key, payload, state, attempts, token, due_ms, posted_ms) \
         SELECT ?1, ?2, ?3, ?4, 'waiting', 0, 0, now.ms, now.ms FROM (SELECT ",
        now_ms!(),
        " AS ms) AS now WHERE TRUE ON CONFLICT DO NOTHING"
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

impl SqliteStore {
    pub(super) async fn claim_due(&self, limit: u32, lease: Millis) -> Result<Vec<Letter>, StoreError> {
        let mut tx = self.immediate().await?;
        let rows = sqlx::query(concat!(
            "UPDATE postonce_outbox SET attempts = attempts + 1, token = token + 1, due_ms = ",
            now_ms!(),
            " + ?2 WHERE id IN (SELECT id FROM postonce_outbox WHERE state = 'waiting' AND due_ms <= ",
            now_ms!(),
            " ORDER BY due_ms, id LIMIT ?1) RETURNING *"
        ))
        .bind(limit)
        .bind(to_ms(lease.0))
        .fetch_all(&mut *tx)
        .await
        .map_err(|error| unavailable(&error))?;
        commit(tx).await?;
        rows.iter().map(|row| letter(row).map_err(|error| corrupt(&error))).collect()
    }

    pub(super) async fn close_claimed(
        &self,
        letter: &Letter,
        closing: Closing,
        note: &Note,
    ) -> Result<Guarded, StoreError> {
        let mut tx = self.immediate().await?;
        let done = sqlx::query(concat!(
            "UPDATE postonce_outbox SET state = ?3, due_ms = ",
            now_ms!(),
            " + ?4 WHERE id = ?1 AND token = ?2 AND state = 'waiting'"
        ))
        .bind(letter.id)
        .bind(to_ms(letter.token))
        .bind(closing.state())
        .bind(to_ms(closing.wait().0))
        .execute(&mut *tx)
        .await
        .map_err(|error| unavailable(&error))?;
        if guard(done.rows_affected()) == Guarded::Stale {
            return self.rollback(tx).await.map(|()| Guarded::Stale);
        }
        if closing == Closing::Refused {
            sqlx::query(concat!(
                "INSERT INTO postonce_decisions (record, operation, conclusion, decided_by, why, decided_ms) \
                 VALUES (?1, ?2, 'referred', ?3, ?4, ",
                now_ms!(),
                ")"
            ))
            .bind(letter.record.0)
            .bind(&letter.purpose)
            .bind(&note.by)
            .bind(&note.why)
            .execute(&mut *tx)
            .await
            .map_err(|error| unavailable(&error))?;
        }
        commit(tx).await.map(|()| Guarded::Done)
    }
}

fn letter(row: &SqliteRow) -> Result<Letter, sqlx::Error> {
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
