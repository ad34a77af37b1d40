//! Strict JSON (RFC 8259) without serde: what core stores, answers and fingerprints.
//!
//! A number stays the text it was written as, so that nothing here depends on floating point. What another reader
//! might settle silently, a repeated member or half a surrogate pair, is an error (R12).

mod order;
mod reader;
mod writer;

use alloc::string::String;
use alloc::vec::Vec;

pub(crate) use order::{order, repeated};
pub(crate) use reader::is_number;
pub use reader::parse;
pub(crate) use writer::push_hex;
pub use writer::{Writer, push_decimal, push_quoted};

/// Arrays and objects inside one another; one more is [`JsonError::TooDeep`].
pub const DEPTH_MAX: usize = 64;

/// Bytes of UTF-8 that one text may have; more is [`JsonError::TooLarge`].
pub const TEXT_BYTES_MAX: usize = 1 << 20;

/// A JSON value, as written: members keep their order and numbers their digits.
///
/// ```
/// use postonce_core::json;
/// let value = json::parse(r#"{"order": {"id": "A-1", "lines": [3]}}"#)?;
/// assert_eq!(value.pointer("/order/id").and_then(json::Value::as_str), Some("A-1"));
/// assert_eq!(value.pointer("/order/lines/0").and_then(json::Value::as_u64), Some(3));
/// # Ok::<(), json::JsonError>(())
/// ```
#[derive(Clone, Debug, PartialEq)]
pub enum Value {
    /// `null`.
    Null,
    /// `true` or `false`.
    Bool(bool),
    /// A number, as the characters it was written in.
    Number(String),
    /// A string, unescaped.
    String(String),
    /// An array.
    Array(Vec<Self>),
    /// An object's members in the order written; [`parse`] lets no name appear twice.
    Object(Vec<(String, Self)>),
}

/// Why a text was not taken as JSON.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum JsonError {
    /// Not JSON.
    Syntax {
        /// Offset in bytes of what cannot stand there.
        at: usize,
    },
    /// One object has this member twice; readers disagree about which one counts (R12).
    DuplicateMember {
        /// The member's name.
        name: String,
    },
    /// An escape names half of a surrogate pair, which no UTF-8 can carry (R12).
    LoneSurrogate {
        /// Offset in bytes of the escape.
        at: usize,
    },
    /// More than [`DEPTH_MAX`] arrays and objects inside one another.
    TooDeep,
    /// More than [`TEXT_BYTES_MAX`] bytes.
    TooLarge,
}

impl JsonError {
    /// A stable name for logs, problem bodies and the shared vectors.
    #[must_use]
    pub const fn code(&self) -> &'static str {
        match self {
            Self::Syntax { .. } => "syntax",
            Self::DuplicateMember { .. } => "duplicate_member",
            Self::LoneSurrogate { .. } => "lone_surrogate",
            Self::TooDeep => "too_deep",
            Self::TooLarge => "too_large",
        }
    }
}

impl core::fmt::Display for JsonError {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.write_str(self.code())
    }
}

impl core::error::Error for JsonError {}

impl Value {
    /// The member of that name; `None` when there is none or this is no object.
    #[must_use]
    pub fn get(&self, name: &str) -> Option<&Self> {
        match self {
            Self::Object(members) => members.iter().find(|(member, _)| member == name).map(|(_, value)| value),
            Self::Null | Self::Bool(_) | Self::Number(_) | Self::String(_) | Self::Array(_) => None,
        }
    }

    /// The text of a string; never that of a number.
    #[must_use]
    pub fn as_str(&self) -> Option<&str> {
        match self {
            Self::String(text) => Some(text),
            Self::Null | Self::Bool(_) | Self::Number(_) | Self::Array(_) | Self::Object(_) => None,
        }
    }

    /// A number written in digits alone and no larger than `u64::MAX`; a sign, fraction or exponent is `None`.
    #[must_use]
    pub fn as_u64(&self) -> Option<u64> {
        match self {
            Self::Number(lexeme) => decimal(lexeme),
            Self::Null | Self::Bool(_) | Self::String(_) | Self::Array(_) | Self::Object(_) => None,
        }
    }

    /// A boolean.
    #[must_use]
    pub fn as_bool(&self) -> Option<bool> {
        match self {
            Self::Bool(flag) => Some(*flag),
            Self::Null | Self::Number(_) | Self::String(_) | Self::Array(_) | Self::Object(_) => None,
        }
    }

    /// An array's items.
    #[must_use]
    pub fn as_array(&self) -> Option<&[Self]> {
        match self {
            Self::Array(items) => Some(items),
            Self::Null | Self::Bool(_) | Self::Number(_) | Self::String(_) | Self::Object(_) => None,
        }
    }

    /// What a JSON Pointer (RFC 6901) names: `""` is the value itself, `/a/0` the first item of member `a`.
    /// A malformed pointer names nothing.
    #[must_use]
    pub fn pointer(&self, json_pointer: &str) -> Option<&Self> {
        let mut found = self;
        let mut rest = json_pointer;
        while !rest.is_empty() {
            let (name, after) = first_token(rest)?;
            rest = after;
            found = match found {
                Self::Object(_) => found.get(&name)?,
                Self::Array(items) if name == "0" || !name.starts_with('0') => {
                    items.get(usize::try_from(decimal(&name)?).ok()?)?
                }
                Self::Null | Self::Bool(_) | Self::Number(_) | Self::String(_) | Self::Array(_) => return None,
            };
        }
        Some(found)
    }

    /// The value as compact JSON text, members in their own order.
    #[must_use]
    pub fn to_text(&self) -> String {
        let mut out = String::new();
        writer::push_value(&mut out, self);
        out
    }
}

/// A whole number of at least one digit and nothing else.
pub(crate) fn decimal(digits: &str) -> Option<u64> {
    let mut n: u64 = 0;
    for byte in digits.bytes() {
        if !byte.is_ascii_digit() {
            return None;
        }
        n = n.checked_mul(10)?.checked_add(u64::from(byte - b'0'))?;
    }
    if digits.is_empty() { None } else { Some(n) }
}

/// A pointer's first token with `~1` and `~0` resolved, and the pointer after it.
fn first_token(pointer: &str) -> Option<(String, &str)> {
    let mut token = String::new();
    let mut rest = pointer.strip_prefix('/')?.chars();
    loop {
        let after = rest.as_str();
        token.push(match rest.next() {
            None | Some('/') => return Some((token, after)),
            Some('~') => match rest.next()? {
                '0' => '~',
                '1' => '/',
                _ => return None,
            },
            Some(plain) => plain,
        });
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::borrow::ToOwned;

    #[test]
    fn given_a_number_with_sign_fraction_exponent_or_overflow_then_as_u64_is_none() {
        for lexeme in ["-1", "1.0", "1e2", "18446744073709551616", "-0"] {
            assert_eq!(Value::Number(lexeme.to_owned()).as_u64(), None, "{lexeme}");
        }
        assert_eq!(Value::Number("18446744073709551615".to_owned()).as_u64(), Some(u64::MAX));
        assert_eq!(Value::String("1".to_owned()).as_u64(), None);
    }

    #[test]
    fn r126_given_the_pointers_of_rfc_6901_then_each_names_its_value() {
        let text = r#"{"foo":["bar","baz"],"":0,"a/b":1,"c%d":2,"m~n":8," ":7,"e^f":3}"#;
        let value = parse(text).unwrap();
        assert_eq!(value.pointer(""), Some(&value));
        assert_eq!(value.pointer("/foo/0").and_then(Value::as_str), Some("bar"));
        for (pointer, n) in [("/", 0), ("/a~1b", 1), ("/c%d", 2), ("/e^f", 3), ("/ ", 7), ("/m~0n", 8)] {
            assert_eq!(value.pointer(pointer).and_then(Value::as_u64), Some(n), "{pointer}");
        }
    }

    #[test]
    fn r126_given_a_malformed_or_dangling_pointer_then_it_names_nothing() {
        let value = parse(r#"{"foo":["bar","baz"],"m~n":8,"s":"x"}"#).unwrap();
        for pointer in ["foo", "/foo/2", "/foo/-", "/foo/00", "/foo/01", "/foo/+1", "/foo/", "/m~n", "/m~2n", "/s/0"] {
            assert_eq!(value.pointer(pointer), None, "{pointer}");
        }
    }

    #[test]
    fn given_a_value_then_its_text_reads_back_as_the_same_value() {
        let text = r#"{"b":[1.50,-0,true,null,"\n\"é"],"a":{}}"#;
        assert_eq!(parse(text).unwrap().to_text(), text);
    }
}
