//! The verdict of one attempt's answer, before the doubt of earlier attempts is weighed (R21): the table of
//! `docs/contract.md`, read top down.

mod answer;

pub use answer::{Answer, Body, Marker, PROBLEM_PREFIX, ResponseKind, our_problem, read_problem};

use alloc::string::String;

use crate::json::Value;
use crate::key::Key;
use crate::machine::state::{Cause, Problem, SuspendReason, UnknownReason};
use crate::operation::{Contract, Operation};
use crate::planted::{self, Bug};
use crate::time::{Millis, Wall};

/// What one answer proves.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// Valid, tied to the key, readable: it happened (R39, R127).
    Applied {
        /// The body; empty for a confirmed 204 or 205.
        body: String,
        /// Whether it is a replay.
        replayed: bool,
        /// When the record was first seen, in the server's time.
        first_seen: Option<Wall>,
        /// The response's `Date`: tells a clone of this attempt from an earlier submission (R122).
        date: Option<Wall>,
    },
    /// Another request with this key runs (202, 409 `in-progress`): progress, never failure (R124).
    InProgress {
        /// The asked wait.
        after: Option<Millis>,
    },
    /// 422 `key-reused`: nothing ran; the key carries another payload (R122).
    KeyReused,
    /// Not applied, and on record: authoritative (R127).
    Rejected {
        /// HTTP status.
        status: u16,
        /// What the server said.
        problem: Problem,
    },
    /// This copy ran nothing; says nothing about others (R21).
    Refused {
        /// HTTP status.
        status: u16,
        /// What the server said.
        problem: Problem,
    },
    /// 401 or 403 `wrong-subject` (R62).
    Suspended(SuspendReason),
    /// This attempt ran nothing and another may follow: 429, 503 `not-started`.
    NotRun {
        /// HTTP status.
        status: u16,
        /// What the server said.
        problem: Problem,
        /// The asked wait.
        after: Option<Millis>,
    },
    /// 412 `deadline-passed` or `clock-skew`: nothing ran; the clock may be corrected once (R117).
    ClockRefused {
        /// HTTP status.
        status: u16,
        /// What the server said.
        problem: Problem,
        /// The server's clock.
        server_now: Option<Wall>,
    },
    /// It may have run; the same key may be tried again.
    Ambiguous {
        /// What was seen.
        cause: Cause,
        /// The asked wait, where it is honoured (R52).
        after: Option<Millis>,
        /// Whether a wait of our own starts at the floor of an unavailable server.
        unavailable: bool,
    },
    /// No further automatic step, and nobody can tell here (R42, R60).
    Final {
        /// For the doubt.
        cause: Cause,
        /// For the state.
        why: UnknownReason,
        /// The server's clock, where `expired` gives it (R117).
        server_now: Option<Wall>,
    },
    /// 410 `fenced`: void for ever (R61).
    Fenced,
}

impl Verdict {
    /// Whether it settles the key for good, however late it comes.
    #[must_use]
    pub const fn is_authoritative(&self) -> bool {
        matches!(self, Self::Applied { .. } | Self::Rejected { .. } | Self::Fenced)
    }
}

/// Judges one answer to a command.
#[must_use]
pub fn judge(answer: &Answer, operation: &Operation, key: &Key, now: Wall) -> Verdict {
    match &answer.kind {
        ResponseKind::OpaqueRedirect if planted::is_on(Bug::RedirectConfirms) => {
            return Verdict::Refused { status: 303, problem: Problem::default() };
        }
        ResponseKind::OpaqueRedirect | ResponseKind::Redirected { confirmed: false } => {
            return ambiguous(Cause::Redirected);
        }
        ResponseKind::Readable | ResponseKind::Redirected { confirmed: true } => {}
    }
    let body = answer.json();
    match answer.status {
        200..=299 => judge_success(answer, operation, key, body.as_ref(), now),
        300..=399 => ambiguous(Cause::Redirected),
        400..=499 => judge_refusal(answer, operation, key, body.as_ref(), now),
        500..=599 => judge_server_error(answer, body.as_ref(), now),
        _ => ambiguous(Cause::Unreadable),
    }
}

const fn ambiguous(cause: Cause) -> Verdict {
    Verdict::Ambiguous { cause, after: None, unavailable: false }
}

fn judge_success(answer: &Answer, operation: &Operation, key: &Key, body: Option<&Value>, now: Wall) -> Verdict {
    let loose = planted::is_on(Bug::UntiedConfirms);
    let tied = operation.echo_none || answer.is_tied_to(key) || loose;
    let arrived = operation.echo_none && answer.kind == ResponseKind::Redirected { confirmed: true };
    let text = match (answer.status, &answer.body) {
        // No 2xx states a wait that counts (R52): the status route will.
        (202, _) => return Verdict::InProgress { after: None },
        (_, Body::Unreadable) if planted::is_on(Bug::CutBodyRefused) => {
            return Verdict::Refused { status: answer.status, problem: Problem::default() };
        }
        (206, _) | (_, Body::Unreadable) => return ambiguous(Cause::Unreadable),
        (204 | 205, _) if operation.confirm_empty => String::new(),
        (204 | 205, _) => return ambiguous(Cause::Untied),
        // The address is the confirmation; the page behind it is for people (R40).
        (200, Body::Text(_)) if body.is_none() && arrived => String::new(),
        (_, Body::Text(_)) if body.is_none() && !loose => return ambiguous(Cause::Unreadable),
        (_, Body::Text(text)) => text.clone(),
    };
    // Our own contract marks its terminal answers; a 2xx without the marker was not given by the record (R127).
    let marked =
        operation.contract != Some(Contract::Postonce) || operation.echo_none || answer.marker().is_some() || loose;
    if !(tied && marked) {
        return ambiguous(Cause::Untied);
    }
    Verdict::Applied {
        body: text,
        replayed: answer.marker() == Some(Marker::Replay),
        first_seen: answer.seen_first(),
        date: answer.server_date(now),
    }
}

fn judge_refusal(answer: &Answer, operation: &Operation, key: &Key, body: Option<&Value>, now: Wall) -> Verdict {
    let status = answer.status;
    let on_record = answer.marker().is_some() && answer.is_tied_to(key);
    if matches!(status, 409 | 410 | 412 | 422) && answer.body == Body::Unreadable && !on_record {
        // Under these our own problems travel, and some say that nobody can tell: unread, it proves nothing (R38, R60).
        return ambiguous(Cause::Unreadable);
    }
    let problem = read_problem(body);
    let server_now = || server_now(body);
    match (status, our_problem(&problem)) {
        (403, "wrong-subject") => Verdict::Suspended(SuspendReason::WrongSubject),
        (409, "in-progress") if planted::is_on(Bug::InProgressRefused) => Verdict::Refused { status, problem },
        (409, "in-progress") => Verdict::InProgress { after: answer.wait(body, now) },
        (409, "uncertain") if planted::is_on(Bug::UncertainRefused) => Verdict::Refused { status, problem },
        (409, "uncertain") => {
            Verdict::Final { cause: Cause::Uncertain, why: UnknownReason::Uncertain, server_now: None }
        }
        (409, "object-taken") => Verdict::Rejected { status, problem },
        (410, "expired") => {
            Verdict::Final { cause: Cause::Expired, why: UnknownReason::Expired, server_now: server_now() }
        }
        (410, "fenced") => Verdict::Fenced,
        (412, "deadline-passed" | "clock-skew") => Verdict::ClockRefused { status, problem, server_now: server_now() },
        (422, "key-reused") if planted::is_on(Bug::KeyReusedRejected) => Verdict::Rejected { status, problem },
        (422, "key-reused") => Verdict::KeyReused,
        (422, "token-refused") => Verdict::Refused { status, problem },
        // The record's own answer outranks what its status or the dialect would say of an unrecorded one (R127).
        _ if on_record => Verdict::Rejected { status, problem },
        (401, _) => Verdict::Suspended(SuspendReason::SignedOut),
        (408 | 425, _) => ambiguous(Cause::Status(status)),
        (429, _) => Verdict::NotRun { status, problem, after: answer.wait(body, now) },
        _ => match (status, operation.contract) {
            (409, Some(Contract::Ietf | Contract::Bare)) => Verdict::InProgress { after: answer.wait(body, now) },
            (422, Some(Contract::Ietf)) => Verdict::KeyReused,
            _ if operation.refusals_final || planted::is_on(Bug::RejectedWithoutMarker) => {
                Verdict::Rejected { status, problem }
            }
            _ => Verdict::Refused { status, problem },
        },
    }
}

fn judge_server_error(answer: &Answer, body: Option<&Value>, now: Wall) -> Verdict {
    let status = answer.status;
    let problem = read_problem(body);
    if answer.marker() == Some(Marker::Replay) {
        return server_error(status);
    }
    match (status, our_problem(&problem)) {
        (500, _) if planted::is_on(Bug::ServerErrorRefused) => Verdict::Refused { status, problem },
        (502..=504, "") if planted::is_on(Bug::GatewayRefused) => Verdict::Refused { status, problem },
        (503, "not-started") => Verdict::NotRun { status, problem, after: answer.wait(body, now) },
        (503, _) => {
            Verdict::Ambiguous { cause: Cause::Status(status), after: answer.wait(body, now), unavailable: true }
        }
        (500 | 502 | 504, _) => ambiguous(Cause::Status(status)),
        // Not in the list of what may be tried again (R41).
        _ => server_error(status),
    }
}

const fn server_error(status: u16) -> Verdict {
    Verdict::Final { cause: Cause::Status(status), why: UnknownReason::ServerError, server_now: None }
}

fn server_now(body: Option<&Value>) -> Option<Wall> {
    body?.get("now")?.as_u64().map(Wall)
}

#[cfg(test)]
mod tests;
