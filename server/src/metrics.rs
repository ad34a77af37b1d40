//! What can be counted and watched, through the facade of the crate `metrics`: an application installs a recorder, or
//! none. Labels are the operation's name and words of ours; never a key, a subject or a value of a field (R92).

use std::time::Duration;

use metrics::{counter, gauge, histogram};
use postonce_core::contract::Problem;

use crate::reply::Reply;
use crate::store::{Backlog, Closing, Store, StoreError};

/// Commands, by operation and what they came to.
pub const COMMANDS: &str = "postonce_commands_total";
/// Records reserved, by operation.
pub const RECORDS: &str = "postonce_records_total";
/// Effects begun, by operation; above the records, a downstream service was asked again.
pub const EFFECTS: &str = "postonce_effects_total";
/// Uncertain records, by operation.
pub const UNCERTAIN: &str = "postonce_uncertain";
/// Claims, held or abandoned, by operation.
pub const IN_PROGRESS: &str = "postonce_in_progress";
/// Age of the oldest claim in seconds, by operation.
pub const OLDEST_IN_PROGRESS: &str = "postonce_oldest_in_progress_seconds";
/// Seconds for one open record, by operation.
pub const RECONCILE: &str = "postonce_reconcile_seconds";
/// Passes that the store broke off, by operation.
pub const RECONCILE_FAILURES: &str = "postonce_reconcile_failures_total";
/// Conclusions, by operation, kind of decider (`reconciler` or `person`) and word.
pub const DECISIONS: &str = "postonce_decisions_total";

/// Attempts to deliver what effects posted, by purpose and how they ended.
pub const LETTERS: &str = "postonce_letters_total";

pub(crate) fn letter(purpose: &str, closing: Closing) {
    let ended = match closing {
        Closing::Delivered => "delivered",
        Closing::Refused => "refused",
        Closing::Again(_) => "again",
    };
    counter!(LETTERS, "purpose" => purpose.to_owned(), "ended" => ended).increment(1);
}

/// Sets the gauges of one operation from the store: for a process without a reconciler.
///
/// # Errors
/// [`StoreError`] when the store is away; the gauges keep their last values.
pub async fn watch<S: Store>(store: &S, operation: &str) -> Result<(), StoreError> {
    backlog(operation, &store.backlog(operation).await?);
    Ok(())
}

pub(crate) fn command(operation: &str, reply: &Reply) {
    counter!(COMMANDS, "operation" => operation.to_owned(), "outcome" => outcome(reply)).increment(1);
}

pub(crate) fn reserved(operation: &str) {
    counter!(RECORDS, "operation" => operation.to_owned()).increment(1);
}

pub(crate) fn effect(operation: &str) {
    counter!(EFFECTS, "operation" => operation.to_owned()).increment(1);
}

pub(crate) fn decided(operation: &str, by: &'static str, word: &'static str) {
    counter!(DECISIONS, "operation" => operation.to_owned(), "by" => by, "conclusion" => word).increment(1);
}

pub(crate) fn reconciled(operation: &str, took: Duration) {
    histogram!(RECONCILE, "operation" => operation.to_owned()).record(took.as_secs_f64());
}

pub(crate) fn reconcile_failed(operation: &str) {
    counter!(RECONCILE_FAILURES, "operation" => operation.to_owned()).increment(1);
}

pub(crate) fn backlog(operation: &str, backlog: &Backlog) {
    let set = |name: &'static str, value: f64| gauge!(name, "operation" => operation.to_owned()).set(value);
    set(IN_PROGRESS, backlog.in_progress as f64);
    set(UNCERTAIN, backlog.uncertain as f64);
    set(OLDEST_IN_PROGRESS, backlog.oldest_in_progress.map_or(0.0, |age| age.0 as f64 / 1_000.0));
}

/// What a command came to, in one word. `key_reused` with other fields is the one to alert on.
fn outcome(reply: &Reply) -> &'static str {
    match reply {
        Reply::First(_) => "first",
        Reply::Replay { .. } => "replay",
        Reply::Unstored(_) => "unstored",
        Reply::Failed => "failed",
        Reply::Problem(problem) => match problem.problem {
            Problem::KeyReused => "key_reused",
            Problem::InProgress => "in_progress",
            Problem::Uncertain => "uncertain",
            Problem::ObjectTaken => "object_taken",
            Problem::Expired => "expired",
            Problem::Fenced => "fenced",
            Problem::NotStarted => "not_started",
            Problem::TokenRefused
            | Problem::KeyMissing
            | Problem::KeyInvalid
            | Problem::FirstSentMissing
            | Problem::SubjectMissing
            | Problem::WrongSubject
            | Problem::DeadlinePassed
            | Problem::ClockSkew => "refused",
        },
    }
}
