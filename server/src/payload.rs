//! The parsed body of a command: JSON, urlencoded or multipart, with the contract's own fields taken out.

use axum::http::HeaderMap;
use axum::http::header::CONTENT_TYPE;
use bytes::Bytes;
use http_body_util::{BodyDataStream, Full};
use postonce_core::fingerprint::{
    Digest, Field, FingerprintError, Target, canonical_pairs, canonical_value, native_lexeme,
};
use postonce_core::json::{self, Value};
use postonce_core::key::Key;

use crate::envelope::Reserved;

/// Most fields one form may have.
pub const FIELDS_MAX: usize = 1_000;

/// What a command carries.
#[derive(Clone, Debug, PartialEq)]
pub enum Payload {
    /// A form's fields, in the order sent.
    Form(Vec<Part>),
    /// A JSON value.
    Json(Value),
}

/// One field of a form.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Part {
    /// Its name.
    pub name: String,
    /// Its value.
    pub value: PartValue,
}

/// A field's value.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum PartValue {
    /// Text, as sent.
    Text(String),
    /// A file.
    File {
        /// The declared name.
        name: String,
        /// The content.
        content: Bytes,
    },
}

/// Why a body was not taken; nothing was stored.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PayloadError {
    /// Larger than the limit (413).
    TooLarge,
    /// Neither JSON nor a form (415).
    Unsupported,
    /// Not what its media type says, or not something that can be fingerprinted (400, R12).
    Malformed(&'static str),
}

const NOT_UTF8: PayloadError = PayloadError::Malformed("The body is not UTF-8");
const NOT_JSON: PayloadError = PayloadError::Malformed("The body is not JSON that can be compared");
const NOT_A_FORM: PayloadError = PayloadError::Malformed("The body is not a form");

impl Payload {
    /// Parses a body by its media type and takes the contract's fields out of it.
    ///
    /// # Errors
    /// [`PayloadError`].
    pub async fn read(headers: &HeaderMap, body: Bytes) -> Result<(Self, Reserved), PayloadError> {
        let declared = match headers.get(CONTENT_TYPE) {
            None if body.is_empty() => return Ok((Self::Form(Vec::new()), Reserved::default())),
            None => return Err(PayloadError::Unsupported),
            Some(value) => value.to_str().map_err(|_| PayloadError::Unsupported)?,
        };
        let essence = declared.split(';').next().unwrap_or_default().trim().to_ascii_lowercase();
        match essence.as_str() {
            "application/json" => read_json(&body),
            "application/x-www-form-urlencoded" => read_form(urlencoded(&body)?),
            "multipart/form-data" => read_form(multipart(declared, body).await?),
            _ => Err(PayloadError::Unsupported),
        }
    }

    /// The first text under `name`: a form's field, a JSON string, or a JSON number's digits.
    #[must_use]
    pub fn text(&self, name: &str) -> Option<&str> {
        match self {
            Self::Form(parts) => parts.iter().find(|part| part.name == name).and_then(|part| match &part.value {
                PartValue::Text(text) => Some(text.as_str()),
                PartValue::File { .. } => None,
            }),
            Self::Json(value) => match value.get(name)? {
                Value::String(text) | Value::Number(text) => Some(text),
                Value::Null | Value::Bool(_) | Value::Array(_) | Value::Object(_) => None,
            },
        }
    }

    /// The fingerprint of this payload sent to `target` under `key`, with its version (R10, R18).
    ///
    /// # Errors
    /// [`PayloadError::Malformed`] for what no two sides would be sure to read alike (R12).
    pub fn fingerprint(&self, key: &Key, target: &Target<'_>, volatile: &[String]) -> Result<String, PayloadError> {
        let canonical = match self {
            Self::Form(parts) => {
                let pairs: Vec<(String, Field)> = parts.iter().map(Part::pair).collect();
                canonical_pairs(target, &pairs, volatile)
            }
            Self::Json(value) => canonical_value(target, value, volatile, native_lexeme),
        };
        let canonical = canonical.map_err(|error| match error {
            FingerprintError::Json(_) => NOT_JSON,
            FingerprintError::NumberOutOfRange { .. } | FingerprintError::NumberInvalid { .. } => {
                PayloadError::Malformed("A number in the body is too large to compare; send it as text")
            }
        })?;
        Ok(Digest::of(key, &canonical).to_text())
    }
}

impl Part {
    fn pair(&self) -> (String, Field) {
        let field = match &self.value {
            PartValue::Text(text) => Field::Text(text.clone()),
            PartValue::File { name, content } => Field::File {
                name: name.clone(),
                size: u64::try_from(content.len()).unwrap_or(u64::MAX),
                sha256: hmac_sha256::Hash::hash(content),
            },
        };
        (self.name.clone(), field)
    }
}

/// Decoded pairs of a query or a urlencoded body. Text that is not UTF-8 is refused: replacing it would make two
/// payloads one.
pub(crate) fn urlencoded_pairs(bytes: &[u8]) -> Result<Vec<(String, String)>, PayloadError> {
    let pieces = bytes.split(|byte| *byte == b'&').filter(|piece| !piece.is_empty());
    let mut pairs = Vec::new();
    for piece in pieces {
        if pairs.len() >= FIELDS_MAX {
            return Err(PayloadError::TooLarge);
        }
        let mut halves = piece.splitn(2, |byte| *byte == b'=');
        let name = percent_decoded(halves.next().unwrap_or_default())?;
        let value = percent_decoded(halves.next().unwrap_or_default())?;
        pairs.push((name, value));
    }
    Ok(pairs)
}

fn read_json(body: &[u8]) -> Result<(Payload, Reserved), PayloadError> {
    let text = std::str::from_utf8(body).map_err(|_| NOT_UTF8)?;
    let mut value = json::parse(text).map_err(|_| NOT_JSON)?;
    let mut reserved = Reserved::default();
    if let Value::Object(members) = &mut value {
        // One that is no text can be no key, and must not pass as one that was left out.
        if members.iter().any(|(name, value)| Reserved::claims(name) && value.as_str().is_none()) {
            return Err(NOT_A_FORM);
        }
        members.retain(|(name, value)| {
            if !Reserved::claims(name) {
                return true;
            }
            reserved.take(name, value.as_str().unwrap_or_default().to_owned());
            false
        });
    }
    Ok((Payload::Json(value), reserved))
}

fn read_form(parts: Vec<Part>) -> Result<(Payload, Reserved), PayloadError> {
    let mut reserved = Reserved::default();
    let mut kept = Vec::with_capacity(parts.len());
    for part in parts {
        if !Reserved::claims(&part.name) {
            kept.push(part);
            continue;
        }
        match part.value {
            PartValue::Text(text) => reserved.take(&part.name, text),
            PartValue::File { .. } => return Err(NOT_A_FORM),
        }
    }
    Ok((Payload::Form(kept), reserved))
}

fn urlencoded(body: &[u8]) -> Result<Vec<Part>, PayloadError> {
    let pairs = urlencoded_pairs(body)?;
    Ok(pairs.into_iter().map(|(name, value)| Part { name, value: PartValue::Text(value) }).collect())
}

fn percent_decoded(text: &[u8]) -> Result<String, PayloadError> {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.iter().copied();
    while let Some(byte) = rest.next() {
        bytes.push(match byte {
            b'+' => b' ',
            b'%' => {
                let high = rest.next().and_then(hex_digit).ok_or(NOT_A_FORM)?;
                let low = rest.next().and_then(hex_digit).ok_or(NOT_A_FORM)?;
                high << 4 | low
            }
            plain => plain,
        });
    }
    String::from_utf8(bytes).map_err(|_| NOT_UTF8)
}

const fn hex_digit(byte: u8) -> Option<u8> {
    match byte {
        b'0'..=b'9' => Some(byte - b'0'),
        b'a'..=b'f' => Some(byte - b'a' + 10),
        b'A'..=b'F' => Some(byte - b'A' + 10),
        _ => None,
    }
}

async fn multipart(content_type: &str, body: Bytes) -> Result<Vec<Part>, PayloadError> {
    let boundary = multer::parse_boundary(content_type).map_err(|_| NOT_A_FORM)?;
    let mut form = multer::Multipart::new(BodyDataStream::new(Full::new(body)), boundary);
    let mut parts = Vec::new();
    while let Some(field) = form.next_field().await.map_err(|_| NOT_A_FORM)? {
        if parts.len() >= FIELDS_MAX {
            return Err(PayloadError::TooLarge);
        }
        let name = field.name().ok_or(NOT_A_FORM)?.to_owned();
        let file = field.file_name().map(str::to_owned);
        let content = field.bytes().await.map_err(|_| NOT_A_FORM)?;
        let value = match file {
            Some(name) => PartValue::File { name, content },
            None => PartValue::Text(String::from_utf8(content.to_vec()).map_err(|_| NOT_UTF8)?),
        };
        parts.push(Part { name, value });
    }
    Ok(parts)
}
