//! One row of the record table as plain values, and what it says. Both databases name their columns alike.

use postonce_core::contract::{Claim, Phase, Record, RecordState, StateName, Stored, StoredBody};
use postonce_core::time::Wall;

use super::{RecordId, Seen, StoreError};

/// The columns of a look-up: the clock and the floor, and a record where the outer join found one.
pub(super) struct Columns {
    pub(super) now_ms: i64,
    pub(super) floor_ms: Option<i64>,
    pub(super) id: Option<i64>,
    pub(super) operation: Option<String>,
    pub(super) fingerprint: Option<String>,
    pub(super) state: Option<String>,
    pub(super) owner: Option<String>,
    pub(super) token: Option<i64>,
    pub(super) started_ms: Option<i64>,
    pub(super) lease_until_ms: Option<i64>,
    pub(super) first_seen_ms: Option<i64>,
    pub(super) changed_ms: Option<i64>,
    pub(super) status: Option<i64>,
    pub(super) content_type: Option<String>,
    pub(super) location: Option<String>,
    pub(super) result_id: Option<Vec<u8>>,
    pub(super) body: Option<Vec<u8>>,
}

/// Reads [`Columns`] out of a row of any database. A macro, because the row's type brings its own bounds with it.
macro_rules! read_columns {
    ($row:expr) => {{
        let row = $row;
        let read = || -> Result<$crate::store::columns::Columns, sqlx::Error> {
            Ok($crate::store::columns::Columns {
                now_ms: row.try_get("now_ms")?,
                floor_ms: row.try_get("floor_ms")?,
                id: row.try_get("id")?,
                operation: row.try_get("operation")?,
                fingerprint: row.try_get("fingerprint")?,
                state: row.try_get("state")?,
                owner: row.try_get("owner")?,
                token: row.try_get("token")?,
                started_ms: row.try_get("started_ms")?,
                lease_until_ms: row.try_get("lease_until_ms")?,
                first_seen_ms: row.try_get("first_seen_ms")?,
                changed_ms: row.try_get("changed_ms")?,
                status: row.try_get("status")?,
                content_type: row.try_get("content_type")?,
                location: row.try_get("location")?,
                result_id: row.try_get("result_id")?,
                body: row.try_get("body")?,
            })
        };
        read().map_err(|error| $crate::store::StoreError::Corrupt(error.to_string()))
    }};
}
pub(super) use read_columns;

/// A number as a database holds it; what does not fit is the largest one that does.
pub(super) fn to_ms(value: u64) -> i64 {
    i64::try_from(value).unwrap_or(i64::MAX)
}

/// A number as a database held it; a negative one never was written by us and counts as zero.
pub(super) fn from_ms(value: i64) -> u64 {
    u64::try_from(value).unwrap_or(0)
}

/// The body column: `NULL` is a body that was not kept (R115).
pub(super) fn body_column(body: &StoredBody) -> Option<&[u8]> {
    match body {
        StoredBody::Kept(bytes) => Some(bytes),
        StoredBody::Unavailable => None,
    }
}

impl Columns {
    /// What the look-up found.
    pub(super) fn seen(self) -> Result<Seen, StoreError> {
        let now = Wall(from_ms(self.now_ms));
        let floor = self.floor_ms.map(|ms| Wall(from_ms(ms)));
        let record = match self.id {
            Some(id) => Some((RecordId(id), self.record()?)),
            None => None,
        };
        Ok(Seen { record, now, floor })
    }

    fn record(self) -> Result<Record, StoreError> {
        let name = state_name(self.state.as_deref().unwrap_or_default())?;
        let (first_seen, changed) =
            (present(self.first_seen_ms, "first_seen_ms")?, present(self.changed_ms, "changed_ms")?);
        let (operation, fingerprint) = (present(self.operation.clone(), "operation")?, self.fingerprint.clone());
        let state = match name {
            StateName::InProgress => RecordState::InProgress(self.claim()?),
            StateName::Completed => RecordState::Completed(self.stored()?),
            StateName::Rejected => RecordState::Rejected(self.stored()?),
            StateName::Uncertain => RecordState::Uncertain,
            StateName::Fenced => RecordState::Fenced,
            name @ (StateName::Expired | StateName::NotFound) => {
                return Err(StoreError::Corrupt(format!("{} is no state of a record", name.as_str())));
            }
        };
        Ok(Record {
            operation,
            fingerprint,
            first_seen: Wall(from_ms(first_seen)),
            changed: Wall(from_ms(changed)),
            state,
        })
    }

    fn claim(self) -> Result<Claim, StoreError> {
        Ok(Claim {
            owner: present(self.owner, "owner")?,
            token: from_ms(present(self.token, "token")?),
            phase: self.started_ms.map_or(Phase::Reserved, |ms| Phase::Started { at: Wall(from_ms(ms)) }),
            lease_until: Wall(from_ms(present(self.lease_until_ms, "lease_until_ms")?)),
        })
    }

    fn stored(self) -> Result<Stored, StoreError> {
        let status = present(self.status, "status")?;
        let result_id = self.result_id.map(String::from_utf8).transpose();
        Ok(Stored {
            status: u16::try_from(status).map_err(|_| StoreError::Corrupt(format!("status {status}")))?,
            content_type: present(self.content_type, "content_type")?,
            location: self.location,
            result_id: result_id.map_err(|_| StoreError::Corrupt(String::from("result_id is not UTF-8")))?,
            body: self.body.map_or(StoredBody::Unavailable, StoredBody::Kept),
        })
    }
}

/// Reads a state's name; any text but ours is a row that no version of this code wrote.
fn state_name(text: &str) -> Result<StateName, StoreError> {
    StateName::parse(text).ok_or_else(|| StoreError::Corrupt(format!("unknown state {text:?}")))
}

fn present<T>(value: Option<T>, column: &str) -> Result<T, StoreError> {
    value.ok_or_else(|| StoreError::Corrupt(format!("{column} is missing")))
}
