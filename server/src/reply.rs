//! What a command comes to, and how that goes over the wire.

use axum::http::header::{ACCEPT, CACHE_CONTROL, CONTENT_TYPE, LOCATION};
use axum::http::{HeaderMap, HeaderName, HeaderValue, StatusCode};
use axum::response::{IntoResponse, Response};
use bytes::Bytes;
use postonce_core::contract::{Stored, StoredBody};
use postonce_core::key::Key;
use postonce_core::structured;
use postonce_core::time::Wall;
use serde_json::json;

use crate::operation::Answer;
use crate::problem::ProblemReply;

/// Says whether an answer is the record's first or a replay of it (R127).
pub(crate) const REPLAYED: HeaderName = HeaderName::from_static("idempotent-replayed");
/// The key, as a request header and as the echo.
pub(crate) const KEY: HeaderName = HeaderName::from_static("idempotency-key");
/// When the record of a replay was made.
pub(crate) const FIRST_SEEN: HeaderName = HeaderName::from_static("idempotency-first-seen");

/// What a command comes to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Reply {
    /// The terminal answer, for the first time.
    First(Answer),
    /// The terminal answer again.
    Replay {
        /// As it was stored.
        stored: Stored,
        /// When the record was made.
        first_seen: Wall,
    },
    /// A problem of the contract.
    Problem(ProblemReply),
    /// An answer given before the reserve; nothing is stored and it carries no marker (R112).
    Unstored(Answer),
    /// Something broke; the client cannot tell and will ask again under the same key.
    Failed,
}

/// How the client sent the command, as far as the answer depends on it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Origin {
    /// A script: it gets the result itself.
    Script,
    /// A form without script whose browser wants a page: it gets a redirect to one.
    NativeForm,
}

impl Origin {
    /// A native form sends the contract's values as body fields and no key header.
    pub(crate) fn of(headers: &HeaderMap, fields_only: bool) -> Self {
        let wants_html = headers
            .get_all(ACCEPT)
            .iter()
            .filter_map(|value| value.to_str().ok())
            .any(|accept| accept.split(',').any(|range| range.trim_start().starts_with("text/html")));
        if fields_only && wants_html { Self::NativeForm } else { Self::Script }
    }
}

impl Reply {
    /// The HTTP answer to the request that carried `key`.
    pub(crate) fn render(self, key: &Key, origin: Origin) -> Response {
        match self {
            Self::Problem(problem) => problem.into_response(),
            Self::Unstored(answer) => plain_response(answer),
            Self::Failed => failed(),
            Self::First(answer) => marked(answer, key, origin, "false"),
            Self::Replay { stored, first_seen } => {
                let mut response = marked(replayed(stored), key, origin, "true");
                insert_text(response.headers_mut(), FIRST_SEEN, &structured::date_item(first_seen, false));
                response
            }
        }
    }
}

impl IntoResponse for Reply {
    /// A reply to a request whose key is not known (yet), so that nothing can be echoed.
    fn into_response(self) -> Response {
        match self {
            Self::Problem(problem) => problem.into_response(),
            Self::Unstored(answer) => plain_response(answer),
            Self::First(_) | Self::Replay { .. } | Self::Failed => failed(),
        }
    }
}

/// A status that came through a stored record or a constant; anything else is our own failure.
pub(crate) fn status_code(status: u16) -> StatusCode {
    StatusCode::from_u16(status).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR)
}

/// Sets a header to text that may come from the outside; what no header can hold is left out.
pub(crate) fn insert_text(headers: &mut HeaderMap, name: HeaderName, text: &str) {
    if let Ok(value) = HeaderValue::from_str(text) {
        headers.insert(name, value);
    }
}

/// Sets the echo of the key.
pub(crate) fn echo_key(headers: &mut HeaderMap, key: &Key) {
    if let Some(item) = structured::string_item(key.as_str()) {
        insert_text(headers, KEY, &item);
    }
}

fn replayed(stored: Stored) -> Answer {
    match stored.body {
        StoredBody::Kept(bytes) => Answer {
            status: stored.status,
            content_type: stored.content_type,
            location: stored.location,
            body: Bytes::from(bytes),
        },
        StoredBody::Unavailable => Answer {
            location: stored.location,
            ..Answer::json(stored.status, &json!({ "result_id": stored.result_id, "result_unavailable": true }))
        },
    }
}

fn plain_response(answer: Answer) -> Response {
    let mut response = (status_code(answer.status), answer.body).into_response();
    let headers = response.headers_mut();
    insert_text(headers, CONTENT_TYPE, &answer.content_type);
    headers.insert(CACHE_CONTROL, HeaderValue::from_static("no-store"));
    if let Some(location) = &answer.location {
        insert_text(headers, LOCATION, location);
    }
    response
}

fn marked(answer: Answer, key: &Key, origin: Origin, replayed: &'static str) -> Response {
    let mut response = match (origin, answer.status, &answer.location) {
        (Origin::NativeForm, 200..=299, Some(location)) => {
            let location = location.clone();
            plain_response(Answer {
                status: 303,
                content_type: String::from("text/plain"),
                location: Some(location),
                body: Bytes::new(),
            })
        }
        (Origin::NativeForm | Origin::Script, _, _) => plain_response(answer),
    };
    let headers = response.headers_mut();
    headers.insert(REPLAYED, HeaderValue::from_static(replayed));
    echo_key(headers, key);
    response
}

fn failed() -> Response {
    plain_response(Answer::problem(500, "about:blank", "Internal Server Error"))
}
