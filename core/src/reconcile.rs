//! What a status or fence answer means (R56–R61). Nothing is taken on the key alone: key, operation and subject tag
//! must be echoed, and the digest must match where we know it (R57).

use alloc::string::String;

use crate::fingerprint::Digest;
use crate::json::Value;
use crate::key::Key;
use crate::machine::state::{Problem, SuspendReason};
use crate::planted::{self, Bug};
use crate::time::{Millis, Wall};
use crate::verdict::{Answer, ResponseKind, our_problem, read_problem};

/// The intent an inquiry is about.
#[derive(Clone, Copy, Debug)]
pub struct Inquired<'a> {
    /// Its key.
    pub key: &'a Key,
    /// Its operation's name.
    pub operation: &'a str,
    /// Its subject tag.
    pub subject: &'a str,
    /// The digest it was bound to, where known.
    pub digest: Option<&'a Digest>,
}

/// The stored answer inside a status answer.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Stored {
    /// HTTP status of the stored answer.
    pub status: u16,
    /// Its body, where the server still has it (R115).
    pub body: Option<String>,
    /// The result's id.
    pub result_id: Option<String>,
}

/// What an inquiry found.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Finding {
    /// It happened: as good as a replay.
    Completed {
        /// The stored answer.
        stored: Stored,
        /// When the record was first seen, in the server's time.
        first_seen: Option<Wall>,
    },
    /// It surely did not, and that is on record.
    Rejected {
        /// HTTP status.
        status: u16,
        /// What the server said.
        problem: Problem,
    },
    /// The server's digest of this key is not ours: the outcome belongs to another payload (R57).
    OtherPayload {
        /// The stored answer of that payload, once it ended.
        stored: Option<Stored>,
        /// When the record was first seen, in the server's time.
        first_seen: Option<Wall>,
    },
    /// It runs.
    InProgress {
        /// The asked wait.
        after: Option<Millis>,
    },
    /// The server cannot tell (R60).
    Uncertain,
    /// Void for ever: the only "not applied, safe to start anew" (R61).
    Fenced,
    /// Older than the server remembers.
    Expired,
    /// No record now; a late copy can still arrive (R59).
    NotFound,
    /// Our clock is wrong (412 `clock-skew`): nothing was read or written (R117).
    ClockSkew {
        /// The server's clock.
        server_now: Option<Wall>,
    },
    /// The subject must sign in again (R62).
    Suspended(SuspendReason),
    /// Not an answer to what was asked: a failure, a login page, another subject's echo.
    Unusable {
        /// The asked wait.
        after: Option<Millis>,
    },
}

/// Reads a status or fence answer.
#[must_use]
pub fn find(answer: &Answer, inquired: &Inquired<'_>, now: Wall) -> Finding {
    let body = answer.json();
    let body = body.as_ref();
    let unusable = Finding::Unusable { after: answer.wait(body, now) };
    match answer.status {
        // Behind a redirect another route answered, perhaps to another method (R40).
        _ if answer.kind != ResponseKind::Readable => return unusable,
        200 => {}
        401 => return Finding::Suspended(SuspendReason::SignedOut),
        403 if our_problem(&read_problem(body)) == "wrong-subject" => {
            return Finding::Suspended(SuspendReason::WrongSubject);
        }
        412 if our_problem(&read_problem(body)) == "clock-skew" => {
            let server_now = body.and_then(|problem| problem.get("now")?.as_u64()).map(Wall);
            return Finding::ClockSkew { server_now };
        }
        _ => return unusable,
    }
    match body {
        Some(status) if is_echoed(answer, status, inquired) => read_finding(status, inquired).unwrap_or(unusable),
        _ => unusable,
    }
}

fn text<'a>(value: &'a Value, name: &str) -> Option<&'a str> {
    value.get(name)?.as_str()
}

fn is_echoed(answer: &Answer, status: &Value, inquired: &Inquired<'_>) -> bool {
    let key = text(status, "key") == Some(inquired.key.as_str()) || answer.is_tied_to(inquired.key);
    key && text(status, "operation") == Some(inquired.operation) && text(status, "subject") == Some(inquired.subject)
}

fn read_finding(status: &Value, inquired: &Inquired<'_>) -> Option<Finding> {
    let first_seen = status.get("first_seen").and_then(Value::as_u64).map(Wall);
    let stored = status.get("response").and_then(read_stored);
    let ours = match (inquired.digest, text(status, "fingerprint")) {
        (Some(digest), Some(echo)) => Digest::parse(echo).as_ref() == Some(digest),
        // A record without a fingerprint is a tombstone or nothing; one with it must be compared.
        (Some(_), None) => !matches!(text(status, "state"), Some("completed" | "rejected")),
        (None, _) => true,
    };
    Some(match text(status, "state")? {
        "fenced" => Finding::Fenced,
        "not_found" => Finding::NotFound,
        "expired" if planted::is_on(Bug::ExpiredMeansFenced) => Finding::Fenced,
        "expired" => Finding::Expired,
        _ if !ours && !planted::is_on(Bug::StatusByKeyAlone) => Finding::OtherPayload { stored, first_seen },
        "completed" => Finding::Completed { stored: stored.unwrap_or_default(), first_seen },
        "rejected" => {
            let stored = stored.unwrap_or_default();
            let body = stored.body.as_deref().and_then(|text| crate::json::parse(text).ok());
            Finding::Rejected { status: stored.status, problem: read_problem(body.as_ref()) }
        }
        "uncertain" => Finding::Uncertain,
        "in_progress" => {
            Finding::InProgress { after: status.get("retry_after_ms").and_then(Value::as_u64).map(Millis) }
        }
        _ => return None,
    })
}

fn read_stored(response: &Value) -> Option<Stored> {
    Some(Stored {
        status: u16::try_from(response.get("status")?.as_u64()?).ok()?,
        body: text(response, "body").map(String::from),
        result_id: text(response, "result_id").map(String::from),
    })
}
