//! Text to record, strictly (R85).

use alloc::string::String;
use alloc::vec::Vec;

use super::{Current, Ending, LeftOpen, OpenEnding, Phase, Record, SCHEMA, TEXT_BYTES_MAX, Tombstone, Version};
use crate::fingerprint::Digest;
use crate::json::{self, Value};
use crate::key::Key;
use crate::machine::state::{Cause, DisputeReason, Doubt, NotSentReason, Ruling, SuspendReason, UnknownReason};
use crate::time::{Millis, Wall};

/// Why a stored text is not a record of this version.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RecordFault {
    /// Not JSON, not ours, truncated, oversized or of another shape: quarantined, never overwritten unasked (R85).
    Corrupt,
    /// Written by a newer version: live and read-only (R27).
    Newer(Version),
}

/// Reads a stored text.
///
/// ```
/// use postonce_core::record::{read, Record, RecordFault};
/// let record = Record::default();
/// assert_eq!(read(&record.write()), Ok(record));
/// assert_eq!(read("{"), Err(RecordFault::Corrupt));
/// ```
///
/// # Errors
/// [`RecordFault`]: corrupt, or of a newer schema.
pub fn read(text: &str) -> Result<Record, RecordFault> {
    if text.len() > TEXT_BYTES_MAX {
        return Err(RecordFault::Corrupt);
    }
    let value = json::parse(text).map_err(|_| RecordFault::Corrupt)?;
    let schema = number(&value, "schema").filter(|n| *n > 0).ok_or(RecordFault::Corrupt)?;
    let version = read_version(&value).ok_or(RecordFault::Corrupt)?;
    if schema > SCHEMA {
        return Err(RecordFault::Newer(version));
    }
    read_record(&value, version).ok_or(RecordFault::Corrupt)
}

fn read_record(value: &Value, version: Version) -> Option<Record> {
    let current = optional(value, "current", read_current)?;
    let last = optional(value, "last", read_tombstone)?;
    let mut open = Vec::new();
    for item in value.get("open")?.as_array()? {
        open.push(read_open(item)?);
    }
    Some(Record { version, current, last, open })
}

/// `Some(None)` when the member is absent, `None` when it is there and wrong.
fn optional<T>(value: &Value, name: &str, reader: fn(&Value) -> Option<T>) -> Option<Option<T>> {
    match value.get(name) {
        None => Some(None),
        Some(member) => reader(member).map(Some),
    }
}

fn number(value: &Value, name: &str) -> Option<u64> {
    value.get(name)?.as_u64()
}

fn small<T: TryFrom<u64>>(value: &Value, name: &str) -> Option<T> {
    T::try_from(number(value, name)?).ok()
}

fn text<'a>(value: &'a Value, name: &str) -> Option<&'a str> {
    value.get(name)?.as_str()
}

fn owned(value: &Value, name: &str) -> Option<String> {
    text(value, name).map(String::from)
}

fn read_version(value: &Value) -> Option<Version> {
    Some(Version {
        generation: small(value, "generation")?,
        round: small(value, "round")?,
        rev: small(value, "rev")?,
        writer: if value.get("writer").is_some() { small(value, "writer")? } else { 0 },
    })
}

fn read_key(value: &Value) -> Option<Key> {
    Key::parse(text(value, "key")?).ok()
}

fn read_digest(value: &Value) -> Option<Option<Digest>> {
    optional(value, "digest", |digest| Digest::parse(digest.as_str()?))
}

fn read_wall(value: &Value) -> Option<Wall> {
    value.as_u64().map(Wall)
}

fn read_current(value: &Value) -> Option<Current> {
    let mut remembered = Vec::new();
    for item in value.get("remembered")?.as_array()? {
        remembered.push((owned(item, "n")?, owned(item, "v")?));
    }
    let doubt = optional(value, "doubt", read_doubt)?.unwrap_or_default();
    let mut phase = read_phase(value)?;
    // A phase that says "nothing ran" beside a doubt is a contradiction that no writer makes: the doubt counts (R21).
    if doubt != Doubt::None && matches!(phase, Phase::Reserved | Phase::Refused { .. } | Phase::NotSent(_)) {
        phase = Phase::Unknown(UnknownReason::DocumentLost);
    }
    Some(Current {
        key: read_key(value)?,
        digest: read_digest(value)?,
        reserved_at: Wall(number(value, "reserved_at")?),
        first_sent: Wall(number(value, "first_sent")?),
        phase,
        doubt,
        attempts: small(value, "attempts")?,
        round_started: Wall(number(value, "round_started")?),
        budget: Millis(number(value, "budget")?),
        elapsed: Millis(number(value, "elapsed")?),
        not_before: optional(value, "not_before", read_wall)?,
        driver: owned(value, "driver")?,
        lease_until: Wall(number(value, "lease_until")?),
        checked_at: Wall(number(value, "checked_at")?),
        remembered,
        owner: optional(value, "owner", |owner| owner.as_str().map(String::from))?.unwrap_or_default(),
    })
}

fn read_phase(value: &Value) -> Option<Phase> {
    let why = text(value, "why")?;
    Some(match text(value, "phase")? {
        "reserved" => Phase::Reserved,
        "sending" => Phase::Sending,
        "waiting" => Phase::Waiting,
        "suspended" => Phase::Suspended(SuspendReason::from_name(why)?),
        "refused" => Phase::Refused { status: small(value, "status")?, kind: why.into() },
        "not_sent" => Phase::NotSent(NotSentReason::from_name(why)?),
        "unknown" => Phase::Unknown(UnknownReason::from_name(why)?),
        "disputed" => Phase::Disputed(DisputeReason::from_name(why)?),
        _ => return None,
    })
}

fn read_doubt(value: &Value) -> Option<Doubt> {
    let status = optional(value, "status", Value::as_u64)?.unwrap_or(0);
    Some(Doubt::Possible {
        first_attempt: small(value, "first_attempt")?,
        cause: Cause::from_name(text(value, "cause")?, u16::try_from(status).ok()?)?,
    })
}

fn read_ending(value: &Value) -> Option<Ending> {
    Some(match text(value, "ending")? {
        "succeeded" => Ending::Succeeded {
            result_id: optional(value, "result_id", |id| id.as_str().map(String::from))?,
            earlier: optional(value, "earlier", read_wall)?,
        },
        "rejected" => Ending::Rejected { status: small(value, "status")?, kind: owned(value, "kind")? },
        "fenced" => Ending::Fenced,
        "decided" => Ending::Decided { outcome: Ruling::from_name(text(value, "outcome")?)?, by: owned(value, "by")? },
        _ => return None,
    })
}

fn read_tombstone(value: &Value) -> Option<Tombstone> {
    Some(Tombstone {
        key: read_key(value)?,
        digest: read_digest(value)?,
        ending: read_ending(value)?,
        at: Wall(number(value, "at")?),
    })
}

fn read_open(value: &Value) -> Option<LeftOpen> {
    let ending = match text(value, "ending")? {
        "unknown" => OpenEnding::Unknown,
        "disputed" => OpenEnding::Disputed,
        _ => OpenEnding::Settled(read_ending(value)?),
    };
    Some(LeftOpen {
        key: read_key(value)?,
        digest: read_digest(value)?,
        first_sent: Wall(number(value, "first_sent")?),
        reserved_at: Wall(number(value, "reserved_at")?),
        left_at: Wall(number(value, "left_at")?),
        ending,
    })
}
