//! What the server's answers look like from the page.

use postonce_core::contract::{Problem, Record, RecordState, StateName, Stored, StoredBody};
use postonce_core::http_date;
use postonce_core::json::Writer;
use postonce_core::key::Key;
use postonce_core::structured::{date_item, string_item};
use postonce_core::time::{Millis, Wall};
use postonce_core::verdict::{Answer, Body, ResponseKind};

use crate::catalog::Entry;
use crate::server::Message;

/// Only a status; the body is empty.
#[must_use]
pub fn plain(status: u16, now: Wall) -> Answer {
    Answer { status, date: Some(http_date::format(now)), body: Body::Text(String::new()), ..Answer::default() }
}

fn json(status: u16, media: &str, body: String, now: Wall) -> Answer {
    Answer { content_type: Some(media.into()), body: Body::Text(body), ..plain(status, now) }
}

/// A problem of the contract.
#[must_use]
pub fn problem(problem: Problem, now: Wall) -> Answer {
    let mut w = Writer::object();
    w.string("type", &problem.type_uri());
    w.number("now", now.0);
    if problem == Problem::TokenRefused {
        w.string("field", "captcha");
    }
    json(problem.status(), "application/problem+json", w.finish(), now)
}

/// Another request holds the claim.
#[must_use]
pub fn in_progress(after: Millis, now: Wall) -> Answer {
    Answer { retry_after: Some(after.0.div_ceil(1_000).to_string()), ..problem(Problem::InProgress, now) }
}

/// The record's terminal answer: the first time without `first_seen`, then as a replay (R113, R127).
#[must_use]
pub fn stored(stored: &Stored, key: &Key, first_seen: Option<Wall>, now: Wall) -> Answer {
    Answer {
        key_echo: string_item(key.as_str()),
        replayed: Some(first_seen.is_some().to_string()),
        first_seen: first_seen.map(|at| date_item(at, false)),
        ..json(stored.status, &stored.content_type, text_of(stored), now)
    }
}

fn text_of(stored: &Stored) -> String {
    match &stored.body {
        StoredBody::Kept(bytes) => String::from_utf8_lossy(bytes).into_owned(),
        StoredBody::Unavailable => String::new(),
    }
}

/// The domain says no, on record.
#[must_use]
pub fn declined() -> Stored {
    Stored {
        status: 402,
        content_type: "application/problem+json".into(),
        location: None,
        result_id: None,
        body: StoredBody::Kept(br#"{"type":"urn:shop:declined"}"#.to_vec()),
    }
}

fn echoed(message: &Message, entry: &Entry, state: StateName, now: Wall) -> Writer {
    let mut w = Writer::object();
    w.string("state", state.as_str());
    w.string("key", message.key.as_str());
    w.string("operation", &entry.operation.name);
    w.string("subject", message.signed_in.unwrap_or_default());
    w.number("now", now.0);
    w
}

/// What the record says.
#[must_use]
pub fn status(record: &Record, message: &Message, entry: &Entry, now: Wall) -> Answer {
    let mut w = echoed(message, entry, record.state.name(), now);
    if let Some(fingerprint) = &record.fingerprint {
        w.string("fingerprint", fingerprint);
    }
    w.number("first_seen", record.first_seen.0);
    match &record.state {
        RecordState::InProgress(_) => w.number("retry_after_ms", entry.policy.retry_after.0),
        RecordState::Completed(stored) | RecordState::Rejected(stored) => {
            w.begin_object("response");
            w.number("status", u64::from(stored.status));
            w.string("body", &text_of(stored));
            if let Some(id) = &stored.result_id {
                w.string("result_id", id);
            }
            w.end();
        }
        RecordState::Uncertain | RecordState::Fenced => {}
    }
    json(200, "application/json", w.finish(), now)
}

/// No record.
#[must_use]
pub fn absent(state: StateName, message: &Message, entry: &Entry, now: Wall) -> Answer {
    json(200, "application/json", echoed(message, entry, state, now).finish(), now)
}

/// Whether it says that another request with this key runs.
#[must_use]
pub fn is_in_progress(answer: &Answer) -> bool {
    answer.status == 409 && matches!(&answer.body, Body::Text(text) if text.contains("in-progress"))
}

/// A login page or an error page of something in between.
#[must_use]
pub fn page(status: u16, now: Wall) -> Answer {
    json(status, "text/html", "<h1>Hello</h1>".into(), now)
}

/// A redirect that the browser did not follow.
#[must_use]
pub fn redirect() -> Answer {
    Answer { kind: ResponseKind::OpaqueRedirect, ..Answer::default() }
}

/// The same answer, cut in its body.
#[must_use]
pub fn cut(answer: Answer) -> Answer {
    Answer { body: Body::Unreadable, ..answer }
}
