//! Rows of the record table to records and back.

use postonce_core::contract::{Claim, Phase, Record, RecordState, StateName, Stored, StoredBody};
use postonce_core::time::Wall;
use sqlx::Row;
use sqlx::sqlite::SqliteRow;

use super::super::{RecordId, Seen, StoreError};
use super::corrupt;

/// A number as SQLite holds it; what does not fit is the largest one that does.
pub(super) fn to_ms(value: u64) -> i64 {
    i64::try_from(value).unwrap_or(i64::MAX)
}

/// A number as SQLite held it; a negative one never was written by us and counts as zero.
pub(super) fn from_ms(value: i64) -> u64 {
    u64::try_from(value).unwrap_or(0)
}

pub(super) fn wall(row: &SqliteRow, column: &str) -> Result<Wall, StoreError> {
    row.try_get::<i64, _>(column).map(|ms| Wall(from_ms(ms))).map_err(|error| corrupt(&error))
}

pub(super) fn state_name(row: &SqliteRow) -> Result<StateName, StoreError> {
    let text: String = row.try_get("state").map_err(|error| corrupt(&error))?;
    StateName::parse(&text).ok_or_else(|| StoreError::Corrupt(format!("unknown state {text:?}")))
}

/// The body column: `NULL` is a body that was not kept (R115).
pub(super) fn body_column(body: &StoredBody) -> Option<&[u8]> {
    match body {
        StoredBody::Kept(bytes) => Some(bytes),
        StoredBody::Unavailable => None,
    }
}

/// Reads the answer of the look-up statement: the time, and the record where its outer join found one.
pub(super) fn seen(row: &SqliteRow) -> Result<Seen, StoreError> {
    let now = wall(row, "now_ms")?;
    let id: Option<i64> = row.try_get("id").map_err(|error| corrupt(&error))?;
    let record = match id {
        Some(id) => Some((RecordId(id), record(row)?)),
        None => None,
    };
    Ok(Seen { record, now })
}

fn record(row: &SqliteRow) -> Result<Record, StoreError> {
    let state = match state_name(row)? {
        StateName::InProgress => RecordState::InProgress(claim(row)?),
        StateName::Completed => RecordState::Completed(stored(row)?),
        StateName::Rejected => RecordState::Rejected(stored(row)?),
        StateName::Uncertain => RecordState::Uncertain,
        StateName::Fenced => RecordState::Fenced,
        name @ (StateName::Expired | StateName::NotFound) => {
            return Err(StoreError::Corrupt(format!("{} is no state of a record", name.as_str())));
        }
    };
    Ok(Record {
        operation: row.try_get("operation").map_err(|error| corrupt(&error))?,
        fingerprint: row.try_get("fingerprint").map_err(|error| corrupt(&error))?,
        first_seen: wall(row, "first_seen_ms")?,
        changed: wall(row, "changed_ms")?,
        state,
    })
}

fn claim(row: &SqliteRow) -> Result<Claim, StoreError> {
    let started: Option<i64> = row.try_get("started_ms").map_err(|error| corrupt(&error))?;
    Ok(Claim {
        owner: row.try_get("owner").map_err(|error| corrupt(&error))?,
        token: from_ms(row.try_get("token").map_err(|error| corrupt(&error))?),
        phase: started.map_or(Phase::Reserved, |ms| Phase::Started { at: Wall(from_ms(ms)) }),
        lease_until: wall(row, "lease_until_ms")?,
    })
}

fn stored(row: &SqliteRow) -> Result<Stored, StoreError> {
    let status: i64 = row.try_get("status").map_err(|error| corrupt(&error))?;
    let body: Option<Vec<u8>> = row.try_get("body").map_err(|error| corrupt(&error))?;
    Ok(Stored {
        status: u16::try_from(status).map_err(|_| StoreError::Corrupt(format!("status {status}")))?,
        content_type: row.try_get("content_type").map_err(|error| corrupt(&error))?,
        location: row.try_get("location").map_err(|error| corrupt(&error))?,
        result_id: row.try_get("result_id").map_err(|error| corrupt(&error))?,
        body: body.map_or(StoredBody::Unavailable, StoredBody::Kept),
    })
}
