//! What travels around the payload: key, first-sent, deadline and subject, as headers or as body fields.

use axum::http::{HeaderMap, HeaderName};
use postonce_core::contract::{KeyLine, Policy, Problem, SubjectTag, screen};
use postonce_core::key::Key;
use postonce_core::structured;
use postonce_core::time::Wall;

use crate::operation::{Answer, Authenticated};
use crate::problem::ProblemReply;
use crate::reply::{KEY, Origin, Reply};
use crate::store::Scope;

const FIRST_SENT: HeaderName = HeaderName::from_static("idempotency-first-sent");
const DEADLINE: HeaderName = HeaderName::from_static("idempotency-deadline");
const SUBJECT: HeaderName = HeaderName::from_static("idempotency-subject");

/// The body field of the key; never part of the payload.
pub const KEY_FIELD: &str = "_idempotency_key";
/// The body field of the first-sent date; never part of the payload.
pub const FIRST_SENT_FIELD: &str = "_idempotency_first_sent";
/// The body field of the subject tag; never part of the payload.
pub const SUBJECT_FIELD: &str = "_idempotency_subject";

/// The contract's values as body fields, every occurrence of them. An empty one is a field nobody filled in.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Reserved {
    key: Vec<String>,
    first_sent: Vec<String>,
    subject: Vec<String>,
}

impl Reserved {
    /// Whether a field of this name is the contract's.
    #[must_use]
    pub fn claims(name: &str) -> bool {
        matches!(name, KEY_FIELD | FIRST_SENT_FIELD | SUBJECT_FIELD)
    }

    /// The first key among the fields, unread.
    pub(crate) fn key(&self) -> Option<&str> {
        self.key.first().map(String::as_str)
    }

    /// Takes one field in; a name that is not ours is left alone.
    pub(crate) fn take(&mut self, name: &str, value: String) {
        let list = match name {
            KEY_FIELD => &mut self.key,
            FIRST_SENT_FIELD => &mut self.first_sent,
            SUBJECT_FIELD => &mut self.subject,
            _ => return,
        };
        if !value.is_empty() {
            list.push(value);
        }
    }
}

/// The key as it came.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum KeyIn {
    Missing,
    Invalid,
    Sound(Key),
}

/// The values of one request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Envelope {
    pub(crate) key: KeyIn,
    pub(crate) subject: Option<String>,
    pub(crate) first_sent: Option<Wall>,
    pub(crate) deadline: Option<Wall>,
    /// Key, first-sent and subject came as fields and no key header did.
    pub(crate) fields_only: bool,
}

/// One value that may come once as a header and once as a field.
enum Line {
    Absent,
    /// Repeated, not text, or header and field differ.
    Bad,
    One(String),
}

impl Envelope {
    /// Reads the headers beside the body's reserved fields.
    ///
    /// # Errors
    /// A plain 400 for a date or subject that is repeated, contradicts itself or is a deadline nobody can read: late
    /// work must not slip through as work without a deadline.
    pub(crate) fn read(headers: &HeaderMap, fields: &Reserved, accept_bare: bool) -> Result<Self, Reply> {
        let header_key = header_line(headers, &KEY);
        let fields_only = matches!(header_key, Line::Absent)
            && !fields.key.is_empty()
            && !fields.first_sent.is_empty()
            && !fields.subject.is_empty();
        Ok(Self {
            key: read_key(&header_key, &fields.key, accept_bare),
            subject: read_subject(headers, &fields.subject)?,
            // A date that cannot be read counts as absent: without a record that is `first-sent-missing`.
            first_sent: one_value(header_line(headers, &FIRST_SENT), &fields.first_sent)?
                .and_then(|text| structured::parse_date_item(&text)),
            deadline: match one_value(header_line(headers, &DEADLINE), &[])? {
                None => None,
                Some(text) => Some(structured::parse_date_item(&text).ok_or_else(contradictory)?),
            },
            fields_only,
        })
    }

    /// Who gets the answer.
    pub(crate) fn origin(&self, headers: &HeaderMap) -> Origin {
        Origin::of(headers, self.fields_only)
    }
}

/// Screens key and subject before anything is looked up.
pub(crate) fn screened(envelope: &Envelope, who: &Authenticated, policy: &Policy) -> Result<Key, ProblemReply> {
    let line = match &envelope.key {
        KeyIn::Missing => KeyLine::Missing,
        KeyIn::Invalid => KeyLine::Invalid,
        KeyIn::Sound(_) => KeyLine::Sound,
    };
    let subject = match &envelope.subject {
        None => SubjectTag::Absent,
        Some(tag) if *tag == who.tag => SubjectTag::Same,
        Some(_) => SubjectTag::Different,
    };
    screen(line, subject, policy.subject).map_err(ProblemReply::new)?;
    match &envelope.key {
        KeyIn::Sound(key) => Ok(key.clone()),
        KeyIn::Missing | KeyIn::Invalid => Err(ProblemReply::new(Problem::KeyInvalid)),
    }
}

/// Where this subject's record of this key lives.
pub(crate) fn scope_of(who: &Authenticated, key: &Key) -> Scope {
    Scope { tenant: who.tenant.clone(), subject: who.subject.clone(), key: String::from(key.as_str()) }
}

/// Nobody is signed in.
pub(crate) fn unauthenticated() -> Reply {
    Reply::Unstored(Answer::problem(401, "about:blank", "Nobody is signed in"))
}

fn contradictory() -> Reply {
    Reply::Unstored(Answer::problem(
        400,
        "about:blank",
        "An Idempotency-* value is repeated, contradictory or unreadable",
    ))
}

fn header_line(headers: &HeaderMap, name: &HeaderName) -> Line {
    let mut lines = headers.get_all(name).iter();
    match (lines.next(), lines.next()) {
        (None, _) => Line::Absent,
        (Some(line), None) => line.to_str().map_or(Line::Bad, |text| Line::One(text.to_owned())),
        (Some(_), Some(_)) => Line::Bad,
    }
}

fn read_key(header: &Line, fields: &[String], accept_bare: bool) -> KeyIn {
    let from_header = match header {
        Line::Absent => KeyIn::Missing,
        Line::Bad => KeyIn::Invalid,
        Line::One(text) => structured::parse_key_field(text, accept_bare).map_or(KeyIn::Invalid, KeyIn::Sound),
    };
    let from_field = match fields {
        [] => KeyIn::Missing,
        // A form field has no quoting of its own, so a bare key is its normal form.
        [text] => structured::parse_key_field(text, true).map_or(KeyIn::Invalid, KeyIn::Sound),
        [_, _, ..] => KeyIn::Invalid,
    };
    match (from_header, from_field) {
        (KeyIn::Missing, only) | (only, KeyIn::Missing) => only,
        (KeyIn::Sound(header), KeyIn::Sound(field)) if header == field => KeyIn::Sound(header),
        (KeyIn::Sound(_) | KeyIn::Invalid, KeyIn::Sound(_) | KeyIn::Invalid) => KeyIn::Invalid,
    }
}

fn one_value(header: Line, fields: &[String]) -> Result<Option<String>, Reply> {
    match (header, fields) {
        (Line::Absent, []) => Ok(None),
        (Line::Absent, [field]) => Ok(Some(field.clone())),
        (Line::One(text), []) => Ok(Some(text)),
        (Line::One(text), [field]) if text.trim() == field.trim() => Ok(Some(text)),
        (Line::Absent | Line::One(_) | Line::Bad, _) => Err(contradictory()),
    }
}

fn read_subject(headers: &HeaderMap, fields: &[String]) -> Result<Option<String>, Reply> {
    // Quoted in the header, plain in a form field; both name the same tag.
    let header = match header_line(headers, &SUBJECT) {
        Line::One(text) => {
            let (tag, _parameters) = structured::parse_string_item(&text).ok_or_else(contradictory)?;
            Line::One(tag)
        }
        other @ (Line::Absent | Line::Bad) => other,
    };
    let plain = |field: &String| structured::parse_string_item(field).map_or_else(|| field.clone(), |(tag, _)| tag);
    let fields: Vec<String> = fields.iter().map(plain).collect();
    one_value(header, &fields)
}
