//! The JSON reader, canonical JSON payloads, and forms.

use postonce_core::fingerprint::{
    Canonical, Digest, Field, FingerprintError, Target, canonical_pairs, canonical_value, ecmascript_lexeme,
    form_as_value, native_lexeme,
};
use postonce_core::json::{JsonError, Value, parse};
use postonce_core::key::Key;

use crate::lossy;

/// Between the fields of a form in an input: a character that no test means as text.
const SEPARATOR: char = '\u{1e}';

/// A second reader agrees, and what is written reads back (R12).
pub(crate) fn json(bytes: &[u8]) {
    let text = lossy(bytes);
    let theirs = serde_json::from_str::<serde_json::Value>(&text);
    match parse(&text) {
        Ok(value) => {
            let written = value.to_text();
            assert_eq!(parse(&written).as_ref(), Ok(&value), "{written}");
            assert!(is_accepted(&theirs), "{text:?}: {theirs:?}");
            let again = serde_json::from_str::<serde_json::Value>(&written);
            assert_eq!(again.ok(), theirs.ok(), "{text:?}");
        }
        Err(JsonError::Syntax { at }) => {
            assert!(at <= text.len());
            assert!(theirs.is_err(), "{text:?}");
        }
        Err(JsonError::LoneSurrogate { at }) => {
            assert!(text.get(at..).is_some_and(|rest| rest.starts_with("\\u")));
            assert!(theirs.is_err(), "{text:?}");
        }
        // The second reader keeps the last of two members and has other limits.
        Err(JsonError::DuplicateMember { .. } | JsonError::TooDeep | JsonError::TooLarge) => {}
    }
}

/// It has no number beyond a double.
fn is_accepted(theirs: &serde_json::Result<serde_json::Value>) -> bool {
    theirs.as_ref().map_or_else(|error| error.to_string().contains("number out of range"), |_| true)
}

/// Characters of a number that every double holds, and places behind the point where doubles begin to hold fewer.
const DIGITS_SURE: usize = 15;
const PLACES_SURE: u16 = 290;

/// Names that do not count: the input's payload may well hold one.
fn volatile() -> [String; 1] {
    ["csrf".to_owned()]
}

fn target() -> Target<'static> {
    Target { operation: "order.create", method: "POST", path: &[], query: &[] }
}

fn key() -> Key {
    Key::from_random([7; 16])
}

/// The payload inside a canonical text; `None` where it stands one level too deep to be read there.
fn payload(canonical: &Canonical) -> Option<Value> {
    let text = lossy(canonical.as_bytes());
    match parse(&text) {
        Ok(value) => value.get("payload").cloned(),
        Err(error) => {
            assert_eq!(error, JsonError::TooDeep, "canonical text is JSON: {text:?}");
            None
        }
    }
}

/// Canonical text is its own canonical text, on both sides alike (R12, R13).
pub(crate) fn fingerprint(bytes: &[u8]) {
    let Ok(value) = parse(&lossy(bytes)) else { return };
    let canonical = match canonical_value(&target(), &value, &volatile(), native_lexeme) {
        Ok(canonical) => canonical,
        Err(error) => return refused(&error),
    };
    let Some(inner) = payload(&canonical) else { return };
    assert_eq!(inner.get("csrf"), None);
    for numbers in [native_lexeme, ecmascript_lexeme] {
        let again = canonical_value(&target(), &inner, &[], numbers);
        assert_eq!(again.as_ref().map(Canonical::as_bytes), Ok(canonical.as_bytes()));
    }
    // What the browser side takes as it is written, the native side takes alike: up to the digits that any double holds.
    if numbers_are_short(&value)
        && let Ok(browser) = canonical_value(&target(), &value, &volatile(), ecmascript_lexeme)
    {
        assert_eq!(browser.as_bytes(), canonical.as_bytes());
    }
    let other = Target { operation: "order.cancel", ..target() };
    let elsewhere = canonical_value(&other, &value, &volatile(), native_lexeme);
    assert_ne!(elsewhere.map(|other| Digest::of(&key(), &other)), Ok(Digest::of(&key(), &canonical)));
}

fn numbers_are_short(value: &Value) -> bool {
    match value {
        Value::Number(lexeme) => {
            let (mantissa, exponent) = lexeme.split_once("e-").unwrap_or((lexeme, "0"));
            mantissa.len() <= DIGITS_SURE && exponent.parse::<u16>().is_ok_and(|places| places < PLACES_SURE)
        }
        Value::Array(items) => items.iter().all(numbers_are_short),
        Value::Object(members) => members.iter().all(|(_, member)| numbers_are_short(member)),
        Value::Null | Value::Bool(_) | Value::String(_) => true,
    }
}

/// Only what two readers might settle differently is refused.
fn refused(error: &FingerprintError) {
    let codes = ["number_out_of_range", "duplicate_member"];
    assert!(codes.contains(&error.code()), "{error}: a text that was read");
}

/// A form's text has one fingerprint whatever the order of its names and its encoding (R14, R15).
pub(crate) fn form(bytes: &[u8]) {
    let text = lossy(bytes);
    let pairs: Vec<(String, Field)> = text.split(SEPARATOR).filter_map(field).collect();
    let canonical = canonical_pairs(&target(), &pairs, &volatile());
    let Ok(canonical) = canonical else {
        assert!(pairs.iter().any(|(_, field)| matches!(field, Field::File { .. })), "text always has one");
        return;
    };

    let mut sorted = pairs.clone();
    // Stable: the order within a name stays.
    sorted.sort_by_key(|(name, _)| line_feeds(name));
    assert_eq!(canonical_pairs(&target(), &sorted, &volatile()).as_ref(), Ok(&canonical), "order of names");

    let unix: Vec<(String, Field)> = pairs.iter().map(|(name, field)| (line_feeds(name), unix(field))).collect();
    assert_eq!(canonical_pairs(&target(), &unix, &volatile()).as_ref(), Ok(&canonical), "line ends");

    if let Some(body) = form_as_value(&unix) {
        let read = parse(&body.to_text());
        let as_json = read.map(|read| canonical_value(&target(), &read, &volatile(), native_lexeme));
        assert_eq!(as_json, Ok(Ok(canonical.clone())), "encoding");
    }
    let mut longer = pairs;
    longer.push(("one more".to_owned(), Field::Text(String::new())));
    let longer = canonical_pairs(&target(), &longer, &volatile());
    assert_ne!(longer.as_ref(), Ok(&canonical), "absent is not empty");
}

/// `name=text`, or `@name=file name`.
fn field(part: &str) -> Option<(String, Field)> {
    let (name, value) = part.split_once('=')?;
    Some(match name.strip_prefix('@') {
        None => (name.to_owned(), Field::Text(value.to_owned())),
        Some(name) => {
            let size = value.len() as u64;
            (name.to_owned(), Field::File { name: value.to_owned(), size, sha256: [9; 32] })
        }
    })
}

fn unix(field: &Field) -> Field {
    match field {
        Field::Text(text) => Field::Text(line_feeds(text)),
        Field::File { name, size, sha256 } => Field::File { name: line_feeds(name), size: *size, sha256: *sha256 },
    }
}

fn line_feeds(text: &str) -> String {
    text.replace("\r\n", "\n").replace('\r', "\n")
}
