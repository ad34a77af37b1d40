//! Everything of one response that a decision may rest on, and how it is read.

use alloc::string::String;

use crate::http_date;
use crate::json::{self, Value};
use crate::key::Key;
use crate::machine::state::Problem;
use crate::retry_after;
use crate::structured;
use crate::time::{Millis, Wall};

/// What the names of our problem types start with.
pub const PROBLEM_PREFIX: &str = "urn:postonce:problem:";

/// How the browser handed the response over.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum ResponseKind {
    /// `basic` or `cors`: status, exposed headers and body are readable.
    #[default]
    Readable,
    /// `opaqueredirect`: a redirect that was not followed (R40).
    OpaqueRedirect,
    /// Followed redirects and ended at this address.
    Redirected {
        /// The final address matches the operation's `confirm.redirectedTo`.
        confirmed: bool,
    },
}

/// What became of the body.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Body {
    /// Read to its end.
    Text(String),
    /// Cut, timed out or not decodable (R38).
    #[default]
    Unreadable,
}

/// Everything of one response that a decision may rest on.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Answer {
    /// HTTP status; 0 for an opaque redirect.
    pub status: u16,
    /// How it was handed over.
    pub kind: ResponseKind,
    /// `Content-Type`.
    pub content_type: Option<String>,
    /// `Idempotency-Key` echoed, as it stands in the header.
    pub key_echo: Option<String>,
    /// `Idempotent-Replayed`, as it stands in the header.
    pub replayed: Option<String>,
    /// `Idempotency-First-Seen`, as it stands in the header.
    pub first_seen: Option<String>,
    /// `Retry-After`, as it stands in the header.
    pub retry_after: Option<String>,
    /// `Date`, as it stands in the header.
    pub date: Option<String>,
    /// The body.
    pub body: Body,
}

/// What `Idempotent-Replayed` says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Marker {
    /// `false`: this is the record's terminal answer, given for the first time.
    First,
    /// `true`: the stored answer, given again.
    Replay,
}

impl Answer {
    /// The record's marker; absent or anything but `true` and `false` counts as none (R127).
    #[must_use]
    pub fn marker(&self) -> Option<Marker> {
        match self.replayed.as_deref()?.trim_ascii() {
            "true" => Some(Marker::Replay),
            "false" => Some(Marker::First),
            _ => None,
        }
    }

    /// Whether the answer names this key (R39, R127). Bare echoes are taken too: the value decides, not its quotes.
    #[must_use]
    pub fn is_tied_to(&self, key: &Key) -> bool {
        let echo = self.key_echo.as_deref().and_then(|field| structured::parse_key_field(field, true).ok());
        echo.as_ref() == Some(key)
    }

    /// The body as JSON, when its media type says so and it parses.
    #[must_use]
    pub fn json(&self) -> Option<Value> {
        let media = self.media_type()?;
        if !(media == "application/json" || media.ends_with("+json")) {
            return None;
        }
        match &self.body {
            Body::Text(text) => json::parse(text).ok(),
            Body::Unreadable => None,
        }
    }

    fn media_type(&self) -> Option<String> {
        let media = self.content_type.as_deref()?.split(';').next()?;
        Some(media.trim_ascii().to_ascii_lowercase())
    }

    /// The asked wait: the header, else `retry_after_ms` of the body (R46, R51). Anything malformed counts as absent.
    #[must_use]
    pub fn wait(&self, body: Option<&Value>, now: Wall) -> Option<Millis> {
        let date = self.server_date(now);
        let header = self.retry_after.as_deref().and_then(|value| retry_after::parse(value, date, now));
        header.or_else(|| body?.get("retry_after_ms")?.as_u64().map(Millis))
    }

    /// The response's `Date`.
    #[must_use]
    pub fn server_date(&self, now: Wall) -> Option<Wall> {
        self.date.as_deref().and_then(|value| http_date::parse(value, now))
    }

    /// `Idempotency-First-Seen`, in the server's time.
    #[must_use]
    pub fn seen_first(&self) -> Option<Wall> {
        self.first_seen.as_deref().and_then(structured::parse_date_item)
    }
}

/// Reads what a problem body says; every member may be missing.
#[must_use]
pub fn read_problem(body: Option<&Value>) -> Problem {
    let member = |name: &str| body.and_then(|value| value.get(name)?.as_str()).unwrap_or_default().into();
    Problem { kind: member("type"), title: member("title"), detail: member("detail"), field: member("field") }
}

/// The name of a problem of ours; another type is not our answer.
#[must_use]
pub fn our_problem(problem: &Problem) -> &str {
    problem.kind.strip_prefix(PROBLEM_PREFIX).unwrap_or_default()
}
