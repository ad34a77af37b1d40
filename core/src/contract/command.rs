//! The decision for one command request.

use super::policy::{Age, Policy, SubjectRule};
use super::problem::Problem;
use super::record::{Claim, Record, RecordState, Recovery, Stored, recovery};
use crate::planted::{self, Bug};
use crate::time::{Millis, Wall};

/// What became of the key in the request, before any look-up.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum KeyLine {
    /// None came.
    Missing,
    /// Malformed, repeated, or header and field disagree.
    Invalid,
    /// One sound key.
    Sound,
}

/// The intended subject against the authenticated one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SubjectTag {
    /// The request names no subject.
    Absent,
    /// It names the one that is logged in.
    Same,
    /// It names another one.
    Different,
}

/// Whether the authenticated subject may perform the operation. It is asked only where no record exists (R89): who
/// already owns a record may always learn what became of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Authority {
    /// It may.
    Granted,
    /// It may not, or the payload is not one the operation could ever run.
    Refused,
}

/// What the decision needs from a command.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CommandRequest<'a> {
    /// Digest text, computed by the server from the parsed payload (R10).
    pub fingerprint: &'a str,
    /// When the key was reserved, as the client knows the server's time; `None` when absent or unreadable.
    pub first_sent: Option<Wall>,
    /// Deadline of this round; `None` when the client set none.
    pub deadline: Option<Wall>,
    /// Whether the subject may do this.
    pub authority: Authority,
}

/// What to do with a command.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Decision<'r> {
    /// Reserve the key and run the effect.
    Execute,
    /// Answer what the record holds, marked as a replay.
    Replay(&'r Stored),
    /// Another request holds the claim.
    InProgress {
        /// How long the client should wait.
        retry_after: Millis,
    },
    /// The key is bound to another payload or operation.
    KeyReused,
    /// Void for ever.
    Fenced,
    /// Nobody can tell what became of this key.
    Uncertain,
    /// The claim's lease ended: recover it, then decide anew.
    Recover(Recovery, &'r Claim),
    /// No record, and the subject may not do this.
    NotAuthorised,
    /// No record, and no first-sent.
    FirstSentMissing,
    /// No record, and too old to be sure that there never was one.
    Expired,
    /// First-sent is further ahead than the skew allows.
    ClockSkew,
    /// The round's deadline has passed.
    DeadlinePassed,
}

/// What is refused before anything is read or written: key first, then subject (R102, R123).
///
/// # Errors
/// The problem to answer; the record, if there is one, was neither read nor touched.
pub fn screen(key: KeyLine, subject: SubjectTag, rule: SubjectRule) -> Result<(), Problem> {
    match key {
        KeyLine::Missing => return Err(Problem::KeyMissing),
        KeyLine::Invalid => return Err(Problem::KeyInvalid),
        KeyLine::Sound => {}
    }
    match (subject, rule) {
        (SubjectTag::Same, SubjectRule::Required | SubjectRule::Anonymous)
        | (SubjectTag::Absent, SubjectRule::Anonymous) => Ok(()),
        (SubjectTag::Absent, SubjectRule::Required) => Err(Problem::SubjectMissing),
        (SubjectTag::Different, SubjectRule::Required | SubjectRule::Anonymous)
            if planted::is_on(Bug::OtherSubjectRuns) =>
        {
            Ok(())
        }
        (SubjectTag::Different, SubjectRule::Required | SubjectRule::Anonymous) => Err(Problem::WrongSubject),
    }
}

/// Decides one command that passed [`screen`]. `now` is the store's clock. Whoever is told to execute must look at the
/// deadline once more inside the reserving statement (R117).
#[must_use]
pub fn decide_command<'r>(
    record: Option<&'r Record>,
    request: &CommandRequest<'_>,
    policy: &Policy,
    now: Wall,
) -> Decision<'r> {
    match record {
        Some(record) => with_record(record, request, policy, now),
        None => without_record(request, policy, now),
    }
}

fn with_record<'r>(record: &'r Record, request: &CommandRequest<'_>, policy: &Policy, now: Wall) -> Decision<'r> {
    if record.fingerprint.as_deref().is_some_and(|bound| bound != request.fingerprint)
        && !planted::is_on(Bug::PayloadNotCompared)
    {
        return Decision::KeyReused;
    }
    match &record.state {
        RecordState::Completed(stored) | RecordState::Rejected(stored) => Decision::Replay(stored),
        RecordState::Uncertain if planted::is_on(Bug::UncertainRuns) => Decision::Execute,
        RecordState::Uncertain => Decision::Uncertain,
        RecordState::Fenced => Decision::Fenced,
        RecordState::InProgress(_) if planted::is_on(Bug::InProgressRuns) => Decision::Execute,
        RecordState::InProgress(claim) => match recovery(claim, policy.recovery, now) {
            Some(due) => Decision::Recover(due, claim),
            None => Decision::InProgress { retry_after: policy.retry_after },
        },
    }
}

fn without_record<'r>(request: &CommandRequest<'_>, policy: &Policy, now: Wall) -> Decision<'r> {
    match request.authority {
        Authority::Refused => return Decision::NotAuthorised,
        Authority::Granted => {}
    }
    match policy.age(request.first_sent, now) {
        Age::Unstated => Decision::FirstSentMissing,
        Age::Expired => Decision::Expired,
        Age::Ahead => Decision::ClockSkew,
        Age::BelowFloor => Decision::Uncertain,
        Age::Current
            if request.deadline.is_some_and(|deadline| now > deadline) && !planted::is_on(Bug::DeadlinePassedRuns) =>
        {
            Decision::DeadlinePassed
        }
        Age::Current => Decision::Execute,
    }
}

#[cfg(test)]
#[path = "command_tests.rs"]
mod tests;
