//! Open records and what was decided about them, in SQLite.

use postonce_core::time::{Millis, Wall};
use sqlx::Row;
use sqlx::sqlite::SqliteRow;

use super::super::columns::{from_ms, read_columns, to_ms};
use super::super::open::reference_of;
use super::super::{Backlog, Conclusion, Decision, Guarded, Note, OpenRecord, RecordId, Scope, Store, StoreError};
use super::{SqliteStore, commit, corrupt, guard, unavailable, write_terminal};

impl SqliteStore {
    pub(super) async fn find_open(&self, operation: &str, limit: u32) -> Result<Vec<OpenRecord>, StoreError> {
        let rows = sqlx::query(concat!(
            "SELECT ",
            now_ms!(),
            " AS now_ms, NULL AS floor_ms, r.*, EXISTS (SELECT 1 FROM postonce_decisions AS d WHERE d.record = r.id \
             AND d.conclusion = 'referred') AS referred FROM postonce_records AS r WHERE r.operation = ?1 \
             AND r.state IN ('in_progress', 'uncertain') AND (r.state = 'uncertain' OR r.lease_until_ms <= ",
            now_ms!(),
            ") ORDER BY referred, r.changed_ms, r.id LIMIT ?2"
        ))
        .bind(operation)
        .bind(limit)
        .fetch_all(&self.readers)
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
        let mut tx = self.immediate().await?;
        // Written first, while the record is there to be named; undone with everything else on a stale token.
        let noted = sqlx::query(concat!(
            "INSERT INTO postonce_decisions (record, operation, reference, conclusion, decided_by, why, decided_ms) \
             SELECT r.id, r.operation, ?3, ?4, ?5, ?6, ",
            now_ms!(),
            " FROM postonce_records AS r WHERE r.id = ?1 AND r.token = ?2 AND r.state IN ('in_progress', 'uncertain') \
             AND NOT (?4 = 'referred' AND EXISTS (SELECT 1 FROM postonce_decisions AS d WHERE d.record = r.id \
             AND d.conclusion = 'referred'))"
        ))
        .bind(id.0)
        .bind(to_ms(token))
        .bind(self.reference(id).await?)
        .bind(conclusion.word())
        .bind(&note.by)
        .bind(&note.why)
        .execute(&mut *tx)
        .await
        .map_err(|error| unavailable(&error))?;
        let done = match (guard(noted.rows_affected()), conclusion) {
            (Guarded::Stale, _) => Guarded::Stale,
            (Guarded::Done, Conclusion::Refer) => Guarded::Done,
            (Guarded::Done, Conclusion::Settle(terminal)) => write_terminal(&mut tx, id, token, terminal).await?,
            (Guarded::Done, Conclusion::GiveBack) => {
                let gone = sqlx::query("DELETE FROM postonce_records WHERE id = ?1 AND token = ?2")
                    .bind(id.0)
                    .bind(to_ms(token))
                    .execute(&mut *tx)
                    .await
                    .map_err(|error| unavailable(&error))?;
                guard(gone.rows_affected())
            }
        };
        match done {
            Guarded::Done => commit(tx).await.map(|()| Guarded::Done),
            Guarded::Stale => self.rollback(tx).await.map(|()| Guarded::Stale),
        }
    }

    async fn reference(&self, id: RecordId) -> Result<Option<String>, StoreError> {
        let key: Option<String> = sqlx::query_scalar("SELECT key FROM postonce_records WHERE id = ?1")
            .bind(id.0)
            .fetch_optional(&self.readers)
            .await
            .map_err(|error| unavailable(&error))?;
        Ok(key.as_deref().and_then(reference_of))
    }

    pub(super) async fn read_decisions(&self, id: RecordId) -> Result<Vec<Decision>, StoreError> {
        let rows = sqlx::query("SELECT * FROM postonce_decisions WHERE record = ?1 ORDER BY id")
            .bind(id.0)
            .fetch_all(&self.readers)
            .await
            .map_err(|error| unavailable(&error))?;
        rows.iter().map(|row| decision(row).map_err(|error| corrupt(&error))).collect()
    }

    pub(super) async fn count_open(&self, operation: &str) -> Result<Backlog, StoreError> {
        let row = sqlx::query(concat!(
            "SELECT count(*) FILTER (WHERE state = 'in_progress') AS in_progress, \
             count(*) FILTER (WHERE state = 'uncertain') AS uncertain, ",
            now_ms!(),
            " - min(first_seen_ms) FILTER (WHERE state = 'in_progress') AS oldest_ms FROM postonce_records \
             WHERE operation = ?1 AND state IN ('in_progress', 'uncertain')"
        ))
        .bind(operation)
        .fetch_one(&self.readers)
        .await
        .map_err(|error| unavailable(&error))?;
        backlog(&row).map_err(|error| corrupt(&error))
    }
}

fn open_record(row: &SqliteRow) -> Result<OpenRecord, StoreError> {
    let text = |name: &str| row.try_get::<String, _>(name);
    let scope = || Ok(Scope { tenant: text("tenant")?, subject: text("subject")?, key: text("key")? });
    let scope: Scope = scope().map_err(|error: sqlx::Error| corrupt(&error))?;
    let token: i64 = row.try_get("token").map_err(|error| corrupt(&error))?;
    let object = row.try_get("object").map_err(|error| corrupt(&error))?;
    let expected: Option<Vec<u8>> = row.try_get("expected").map_err(|error| corrupt(&error))?;
    let referred = row.try_get("referred").map_err(|error| corrupt(&error))?;
    let seen = read_columns!(row)?.seen()?;
    let (id, record) = seen.record.ok_or_else(|| StoreError::Corrupt(String::from("an open record has no number")))?;
    let expected = expected.and_then(|bytes| String::from_utf8(bytes).ok());
    Ok(OpenRecord { id, scope, token: from_ms(token), record, object, expected, referred, now: seen.now })
}

fn decision(row: &SqliteRow) -> Result<Decision, sqlx::Error> {
    Ok(Decision {
        record: RecordId(row.try_get("record")?),
        operation: row.try_get("operation")?,
        reference: row.try_get("reference")?,
        conclusion: row.try_get("conclusion")?,
        note: Note { by: row.try_get("decided_by")?, why: row.try_get("why")? },
        at: Wall(from_ms(row.try_get("decided_ms")?)),
    })
}

fn backlog(row: &SqliteRow) -> Result<Backlog, sqlx::Error> {
    Ok(Backlog {
        in_progress: from_ms(row.try_get("in_progress")?),
        uncertain: from_ms(row.try_get("uncertain")?),
        oldest_in_progress: row.try_get::<Option<i64>, _>("oldest_ms")?.map(|ms| Millis(from_ms(ms))),
    })
}
