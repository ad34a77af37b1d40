//! The contract's problems as HTTP answers (RFC 9457).

use axum::http::HeaderValue;
use axum::http::header::{CACHE_CONTROL, CONTENT_TYPE, RETRY_AFTER};
use axum::response::{IntoResponse, Response};
use postonce_core::contract::{Problem, StateName};
use postonce_core::key::Key;
use postonce_core::time::{Millis, Wall};
use serde_json::{Map, Value, json};

use crate::reply::status_code;

/// What `Retry-After` says beside `not-started`.
const NOT_STARTED_RETRY: Millis = Millis(1_000);

/// A problem of the contract with the members that go with it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct ProblemReply {
    /// Which one.
    pub(crate) problem: Problem,
    /// The store's clock, for a client whose own is wrong (R117).
    pub(crate) now: Option<Wall>,
    /// How long to wait, in the header and in the body (R51).
    pub(crate) retry_after: Option<Millis>,
    /// What a person can be given to find the record (R128).
    pub(crate) reference: Option<String>,
    /// The field whose token was refused.
    pub(crate) field: Option<String>,
    /// State of the record that holds the object.
    pub(crate) state: Option<StateName>,
}

impl ProblemReply {
    /// The bare problem.
    #[must_use]
    pub(crate) const fn new(problem: Problem) -> Self {
        Self { problem, now: None, retry_after: None, reference: None, field: None, state: None }
    }

    /// With the store's clock.
    #[must_use]
    pub(crate) fn at(problem: Problem, now: Wall) -> Self {
        Self { now: Some(now), ..Self::new(problem) }
    }

    /// Another request with this key runs (R105).
    #[must_use]
    pub(crate) fn in_progress(retry_after: Millis) -> Self {
        Self { retry_after: Some(retry_after), ..Self::new(Problem::InProgress) }
    }

    /// Nobody can tell (R60).
    #[must_use]
    pub(crate) fn uncertain(key: &Key) -> Self {
        Self { reference: Some(key.reference()), ..Self::new(Problem::Uncertain) }
    }

    /// The store is unavailable and nothing ran (R114).
    #[must_use]
    pub(crate) fn not_started() -> Self {
        Self { retry_after: Some(NOT_STARTED_RETRY), ..Self::new(Problem::NotStarted) }
    }

    /// A one-time token was refused and nothing ran (R91).
    #[must_use]
    pub(crate) fn token_refused(field: String) -> Self {
        Self { field: Some(field), ..Self::new(Problem::TokenRefused) }
    }
}

const fn title(problem: Problem) -> &'static str {
    match problem {
        Problem::InProgress => "Another request with this key is being processed",
        Problem::Uncertain => "It is not known whether this was done; a person has to decide",
        Problem::ObjectTaken => "Another submission already holds this object",
        Problem::KeyReused => "This key was used for a different request",
        Problem::TokenRefused => "A one-time token was refused",
        Problem::KeyMissing => "The Idempotency-Key header is missing",
        Problem::KeyInvalid => "The idempotency key is not valid",
        Problem::FirstSentMissing => "Idempotency-First-Sent is missing or not a date",
        Problem::SubjectMissing => "Idempotency-Subject is missing",
        Problem::WrongSubject => "Somebody else is signed in",
        Problem::Expired => "This key is older than its record is kept",
        Problem::Fenced => "This key has been made void",
        Problem::DeadlinePassed => "The deadline of this attempt has passed",
        Problem::ClockSkew => "Idempotency-First-Sent lies in the future",
        Problem::NotStarted => "The request could not be started",
    }
}

/// Whole seconds for `Retry-After`, rounded up: never an invitation to come too early.
pub(crate) fn retry_after_header(wait: Millis) -> HeaderValue {
    HeaderValue::from(wait.0.div_ceil(1_000))
}

impl IntoResponse for ProblemReply {
    fn into_response(self) -> Response {
        let status = self.problem.status();
        let mut members = Map::new();
        members.insert(String::from("type"), Value::from(self.problem.type_uri()));
        members.insert(String::from("title"), Value::from(title(self.problem)));
        members.insert(String::from("status"), Value::from(status));
        let optional = [
            ("now", self.now.map(|now| json!(now.0))),
            ("retry_after_ms", self.retry_after.map(|wait| json!(wait.0))),
            ("reference", self.reference.map(Value::from)),
            ("field", self.field.map(Value::from)),
            ("state", self.state.map(|state| json!(state.as_str()))),
        ];
        for (name, value) in optional {
            if let Some(value) = value {
                members.insert(String::from(name), value);
            }
        }
        let mut response = (status_code(status), Value::Object(members).to_string()).into_response();
        let headers = response.headers_mut();
        headers.insert(CONTENT_TYPE, HeaderValue::from_static("application/problem+json"));
        headers.insert(CACHE_CONTROL, HeaderValue::from_static("no-store"));
        if let Some(wait) = self.retry_after {
            headers.insert(RETRY_AFTER, retry_after_header(wait));
        }
        response
    }
}
