//! The fingerprint: which request a key stands for (R12 to R18).
//!
//! A request is brought to one text, whatever language, engine or encoding it came through, and that text is hashed
//! under the key. The text is the RFC 8785 form of
//!
//! ```json
//! {"contract":1,"method":"POST","operation":"order.create","path":{},"payload":{},"query":[]}
//! ```
//!
//! - **payload**: a form is an object with a string per name, or an array of them where the name repeats; so the same
//!   form has the same fingerprint sent as JSON, urlencoded or multipart. A JSON payload stays typed: `"2"` is not `2`.
//!   A file is `{"file":{"name":…,"sha256":…,"size":…}}`, an object where text is a string.
//! - **left out** at the top level: volatile names (R11) and names that start with [`RESERVED_PREFIX`].
//! - **line ends**: CR LF and CR become LF in every name and value (R15). Nothing else about Unicode is changed.
//! - **query**: `[name, value]` pairs by name, one name's values in their own order.

mod canonical;
mod content;
mod form;
mod numbers;

use alloc::string::String;
use alloc::vec::Vec;
use core::fmt;

pub use canonical::{canonical_pairs, canonical_value};
pub use content::ContentDigest;
pub use form::form_as_value;
pub use numbers::ecmascript_lexeme;
#[cfg(feature = "native-numbers")]
pub use numbers::native_lexeme;

use crate::json::{JsonError, push_hex};
use crate::key::Key;

/// Version of the canonical form, inside it: a record is compared under the rules it was written by (R18).
pub const CONTRACT_VERSION: u64 = 1;

/// Fields whose name starts so carry the contract itself in a native form post and are never fingerprinted.
pub const RESERVED_PREFIX: &str = "_idempotency_";

/// What [`Digest::to_text`] starts with: version 1 is HMAC-SHA-256.
const DIGEST_PREFIX: &str = "1:";

/// The value of one form field.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Field {
    /// What a control or a urlencoded pair holds; never a number, whatever it looks like (R14).
    Text(String),
    /// A file. Neither its modification time nor its path counts (R16).
    File {
        /// The name declared for it.
        name: String,
        /// Bytes.
        size: u64,
        /// Digest of the content.
        sha256: [u8; 32],
    },
}

/// Where a request goes. All of it counts, so that a key never crosses to another object (R12).
#[derive(Clone, Copy, Debug)]
pub struct Target<'a> {
    /// Name of the operation in the catalog.
    pub operation: &'a str,
    /// HTTP method, upper case.
    pub method: &'a str,
    /// Values of the path's parameters, decoded, in any order; no name twice.
    pub path: &'a [(String, String)],
    /// Pairs of the query, decoded, in the order sent.
    pub query: &'a [(String, String)],
}

/// The bytes that are hashed. `Debug` shows their number only: they hold what the person typed.
#[derive(Clone, PartialEq, Eq)]
pub struct Canonical(Vec<u8>);

/// Why a request has no fingerprint; it is refused rather than compared loosely (R12).
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum FingerprintError {
    /// Not acceptable as JSON, or two names became one when their line ends did.
    Json(JsonError),
    /// An integer beyond 2^53-1, or a number that is not finite: two readers may see two numbers. Send it as a string.
    NumberOutOfRange {
        /// JSON Pointer to it inside the payload.
        at: String,
    },
    /// Not a JSON number at all; only a [`Value`](crate::json::Value) built by hand can hold one.
    NumberInvalid {
        /// JSON Pointer to it inside the payload.
        at: String,
    },
}

/// A fingerprint: HMAC-SHA-256 over the canonical bytes, keyed with the idempotency key (R18).
///
/// ```
/// use postonce_core::fingerprint::{canonical_pairs, Digest, Field, Target};
/// use postonce_core::key::Key;
/// let target = Target { operation: "order.create", method: "POST", path: &[], query: &[] };
/// let sku = (String::from("sku"), Field::Text("A1".into()));
/// let token = (String::from("csrf"), Field::Text("t-1".into()));
/// let volatile = [String::from("csrf")];
/// let key = Key::from_random([7; 16]);
/// let one = Digest::of(&key, &canonical_pairs(&target, &[sku.clone(), token], &volatile)?);
/// let two = Digest::of(&key, &canonical_pairs(&target, &[sku], &volatile)?);
/// assert_eq!(one, two);
/// assert_eq!(Digest::parse(&one.to_text()), Some(one));
/// # Ok::<(), postonce_core::fingerprint::FingerprintError>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Digest([u8; 32]);

impl Digest {
    /// The fingerprint of these bytes under this key; the HMAC's key is the idempotency key's own characters.
    #[must_use]
    pub fn of(key: &Key, canonical: &Canonical) -> Self {
        Self(hmac_sha256::HMAC::mac(canonical.as_bytes(), key.as_str().as_bytes()))
    }

    /// `1:` and 64 lower-case hex digits.
    #[must_use]
    pub fn to_text(&self) -> String {
        let mut text = String::from(DIGEST_PREFIX);
        push_hex(&mut text, &self.0);
        text
    }

    /// Reads [`to_text`](Self::to_text) strictly; another algorithm version or spelling is `None`.
    #[must_use]
    pub fn parse(text: &str) -> Option<Self> {
        let mut digits = text.strip_prefix(DIGEST_PREFIX)?.bytes();
        let mut bytes = [0; 32];
        for byte in &mut bytes {
            *byte = nibble(digits.next()?)? << 4 | nibble(digits.next()?)?;
        }
        if digits.next().is_some() { None } else { Some(Self(bytes)) }
    }
}

const fn nibble(digit: u8) -> Option<u8> {
    match digit {
        b'0'..=b'9' => Some(digit - b'0'),
        b'a'..=b'f' => Some(digit - b'a' + 10),
        _ => None,
    }
}

impl Canonical {
    /// The bytes: UTF-8 of the canonical JSON.
    #[must_use]
    pub fn as_bytes(&self) -> &[u8] {
        &self.0
    }
}

impl fmt::Debug for Canonical {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Canonical").field(&self.0.len()).finish()
    }
}

impl FingerprintError {
    /// A stable name for logs, problem bodies and the shared vectors.
    #[must_use]
    pub const fn code(&self) -> &'static str {
        match self {
            Self::Json(error) => error.code(),
            Self::NumberOutOfRange { .. } => "number_out_of_range",
            Self::NumberInvalid { .. } => "number_invalid",
        }
    }
}

impl From<JsonError> for FingerprintError {
    fn from(error: JsonError) -> Self {
        Self::Json(error)
    }
}

impl fmt::Display for FingerprintError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.code())
    }
}

impl core::error::Error for FingerprintError {}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::format;

    #[test]
    fn r18_given_a_digest_of_another_version_or_spelling_then_it_is_never_compared() {
        let hex = "0123456789abcdef".repeat(4);
        assert_eq!(Digest::parse(&format!("1:{hex}")).map(|digest| digest.to_text()), Some(format!("1:{hex}")));
        for text in [
            String::new(),
            hex.clone(),
            format!("2:{hex}"),
            format!("1:{}", hex.to_uppercase()),
            format!("1:{hex}0"),
            format!("1:{}", hex.get(1..).unwrap()),
            format!("1:{} ", hex.get(1..).unwrap()),
            format!("1: {hex}"),
        ] {
            assert_eq!(Digest::parse(&text), None, "{text}");
        }
    }

    #[test]
    fn r18_given_one_request_under_two_keys_then_the_digests_differ() {
        let canonical = Canonical(b"{}".to_vec());
        let digests = [1, 2].map(|byte| Digest::of(&Key::from_random([byte; 16]), &canonical));
        assert_ne!(digests[0], digests[1]);
    }

    #[test]
    fn r88_given_canonical_bytes_when_they_are_debug_printed_then_no_value_shows() {
        assert_eq!(format!("{:?}", Canonical(b"secret".to_vec())), "Canonical(6)");
    }

    #[test]
    fn r12_given_an_error_when_it_is_printed_then_its_stable_name_shows() {
        let error = FingerprintError::NumberOutOfRange { at: "/amount".into() };
        assert_eq!(format!("{error}"), "number_out_of_range");
        assert_eq!(format!("{}", FingerprintError::Json(JsonError::TooDeep)), "too_deep");
    }

    #[test]
    fn r12_given_a_value_built_by_hand_beyond_the_depth_limit_then_refused_never_recursed_into() {
        use crate::json::{DEPTH_MAX, Value};
        let target = Target { operation: "o", method: "POST", path: &[], query: &[] };
        let nested = |levels: usize, wrap: fn(Value) -> Value| (0..levels).fold(Value::Null, |inner, _| wrap(inner));
        let wraps: [fn(Value) -> Value; 2] =
            [|inner| Value::Object(alloc::vec![("a".into(), inner)]), |inner| Value::Array(alloc::vec![inner])];
        for wrap in wraps {
            assert!(canonical_value(&target, &nested(DEPTH_MAX, wrap), &[], ecmascript_lexeme).is_ok());
            let beyond = canonical_value(&target, &nested(DEPTH_MAX + 1, wrap), &[], ecmascript_lexeme);
            assert_eq!(beyond, Err(FingerprintError::Json(JsonError::TooDeep)));
        }
    }
}
