//! The few pieces of Structured Field Values (RFC 9651) that the contract's headers use.

use alloc::string::{String, ToString};

use crate::json::{decimal, push_decimal};
use crate::key::{Key, KeyError};
use crate::time::Wall;

/// Digits an RFC 9651 Integer, and so a Date, may have.
const INTEGER_DIGITS_MAX: usize = 15;

/// The largest Date, in seconds since the Unix epoch.
const DATE_SECONDS_MAX: u64 = 999_999_999_999_999;

const SECOND_MS: u64 = 1_000;

/// Why an `Idempotency-Key` field gives no key; each is answered 400 (R102).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum KeyFieldError {
    /// Nothing there, or an empty string.
    Empty,
    /// More than one: a repeated header line, joined or not.
    Many,
    /// Not quoted, and this dialect takes only the quoted form.
    Bare,
    /// Not an RFC 9651 Item.
    Syntax,
    /// A well-formed field with an unacceptable key inside.
    Key(KeyError),
}

/// The text as an RFC 9651 String, quotes included; `None` when a character is not printable ASCII.
///
/// ```
/// use postonce_core::structured::string_item;
/// assert_eq!(string_item(r#"say "hi""#).as_deref(), Some(r#""say \"hi\"""#));
/// assert_eq!(string_item("é"), None);
/// ```
#[must_use]
pub fn string_item(text: &str) -> Option<String> {
    let mut out = String::from("\"");
    for c in text.chars() {
        match c {
            '"' | '\\' => out.push('\\'),
            ' '..='~' => {}
            _ => return None,
        }
        out.push(c);
    }
    out.push('"');
    Some(out)
}

/// Reads a field that is one quoted RFC 9651 String; the flag says that parameters followed it, which are ignored.
/// Anything else, a list or a bare word among them, is `None`.
#[must_use]
pub fn parse_string_item(field: &str) -> Option<(String, bool)> {
    let (text, rest) = quoted(skip(field, is_space))?;
    match after_item(rest) {
        Rest::Nothing => Some((text, false)),
        Rest::Parameters => Some((text, true)),
        Rest::Another | Rest::Malformed => None,
    }
}

/// Reads an `Idempotency-Key` field: quoted, or bare as well where `accept_bare`. Both forms of one key give the same
/// key and parameters are ignored (R106).
///
/// ```
/// use postonce_core::structured::{parse_key_field, KeyFieldError};
/// let bare = "0123456789abcdef0123456789abcdef";
/// let quoted = format!("\"{bare}\"");
/// assert_eq!(parse_key_field(&quoted, false), parse_key_field(bare, true));
/// assert_eq!(parse_key_field(bare, false), Err(KeyFieldError::Bare));
/// ```
///
/// # Errors
/// [`KeyFieldError`]: empty, repeated, malformed, or not a key (R9).
pub fn parse_key_field(field: &str, accept_bare: bool) -> Result<Key, KeyFieldError> {
    let field = skip(field, is_space);
    let (text, rest) = if field.as_bytes().first() == Some(&b'"') {
        quoted(field).ok_or(KeyFieldError::Syntax)?
    } else {
        let rest = skip(field, is_plain);
        let word = field.get(..field.len() - rest.len()).unwrap_or_default();
        if !accept_bare && !word.is_empty() {
            return Err(KeyFieldError::Bare);
        }
        (word.to_string(), rest)
    };
    match after_item(rest) {
        Rest::Nothing | Rest::Parameters if text.is_empty() => Err(KeyFieldError::Empty),
        Rest::Nothing | Rest::Parameters => Key::parse(&text).map_err(KeyFieldError::Key),
        Rest::Another => Err(KeyFieldError::Many),
        Rest::Malformed => Err(KeyFieldError::Syntax),
    }
}

/// The instant as an RFC 9651 Date, in whole seconds: a deadline is rounded up, a first-sent down (R117).
///
/// ```
/// use postonce_core::{structured::date_item, time::Wall};
/// assert_eq!(date_item(Wall(1_769_817_600_001), false), "@1769817600");
/// assert_eq!(date_item(Wall(1_769_817_600_001), true), "@1769817601");
/// ```
#[must_use]
pub fn date_item(at: Wall, round_up: bool) -> String {
    let seconds = if round_up { at.0.div_ceil(SECOND_MS) } else { at.0 / SECOND_MS };
    let mut out = String::from("@");
    push_decimal(&mut out, seconds.min(DATE_SECONDS_MAX));
    out
}

/// Reads an RFC 9651 Date of the epoch or later, in digits alone; anything else is `None`.
#[must_use]
pub fn parse_date_item(field: &str) -> Option<Wall> {
    let digits = skip(field, is_space).strip_prefix('@')?;
    let rest = skip(digits, |byte| byte.is_ascii_digit());
    let digits = digits.get(..digits.len() - rest.len())?;
    if digits.len() > INTEGER_DIGITS_MAX || !skip(rest, is_space).is_empty() {
        return None;
    }
    decimal(digits)?.checked_mul(SECOND_MS).map(Wall)
}

/// What stands behind an item.
enum Rest {
    Nothing,
    Parameters,
    Another,
    Malformed,
}

/// The text after its leading bytes of one class, which is within ASCII.
fn skip(text: &str, class: fn(u8) -> bool) -> &str {
    let count = text.bytes().take_while(|byte| class(*byte)).count();
    text.get(count..).unwrap_or_default()
}

fn is_space(byte: u8) -> bool {
    byte == b' '
}

/// Visible, and nothing that ends a value.
fn is_plain(byte: u8) -> bool {
    byte.is_ascii_graphic() && byte != b';' && byte != b',' && byte != b'"'
}

fn is_parameter_name(byte: u8) -> bool {
    matches!(byte, b'a'..=b'z' | b'0'..=b'9' | b'_' | b'-' | b'.' | b'*')
}

/// Reads a quoted string at the start; the text and what follows.
fn quoted(field: &str) -> Option<(String, &str)> {
    let mut text = String::new();
    let mut bytes = field.strip_prefix('"')?.bytes();
    loop {
        let byte = match bytes.next()? {
            b'"' => return Some((text, field.get(field.len() - bytes.len()..)?)),
            b'\\' => bytes.next().filter(|byte| matches!(byte, b'"' | b'\\'))?,
            byte @ b' '..=b'~' => byte,
            _ => return None,
        };
        text.push(char::from(byte));
    }
}

fn after_item(mut rest: &str) -> Rest {
    let mut seen = Rest::Nothing;
    while let Some(parameter) = rest.strip_prefix(';') {
        let Some(after) = skip_parameter(skip(parameter, is_space)) else {
            return Rest::Malformed;
        };
        rest = after;
        seen = Rest::Parameters;
    }
    match skip(rest, |byte| matches!(byte, b' ' | b'\t')).as_bytes().first() {
        None => seen,
        Some(b',') => Rest::Another,
        Some(_) => Rest::Malformed,
    }
}

/// Steps over `key` or `key=value`. The value is not looked into beyond where it ends.
fn skip_parameter(text: &str) -> Option<&str> {
    if !matches!(text.as_bytes().first(), Some(b'a'..=b'z' | b'*')) {
        return None;
    }
    let after_name = skip(text, is_parameter_name);
    let Some(value) = after_name.strip_prefix('=') else {
        return Some(after_name);
    };
    let string = value.strip_prefix('%').unwrap_or(value);
    if let Some((_, after)) = quoted(string) {
        return Some(after);
    }
    let after = skip(value, is_plain);
    if after.len() == value.len() { None } else { Some(after) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::format;

    const KEY: &str = "0123456789abcdef0123456789ABCDEF";

    #[test]
    fn r2_given_a_key_then_the_field_is_one_quoted_string_that_reads_back() {
        let field = string_item(KEY).unwrap();
        assert_eq!(field, format!("\"{KEY}\""));
        assert_eq!(parse_string_item(&field), Some((KEY.to_string(), false)));
    }

    #[test]
    fn given_text_that_is_not_printable_ascii_then_no_field_is_made_of_it() {
        for text in ["é", "a\nb", "\r", "\t", "\u{7f}", "\0", "😀"] {
            assert_eq!(string_item(text), None, "{text:?}");
        }
        assert_eq!(string_item("").as_deref(), Some("\"\""));
        assert_eq!(parse_string_item(&string_item("a\\\"b ~").unwrap()), Some(("a\\\"b ~".to_string(), false)));
    }

    #[test]
    fn given_anything_but_one_quoted_string_then_it_is_not_a_string_item() {
        for field in [
            "",
            "a",
            "\"",
            "\"a",
            "a\"",
            "\"a\" \"b\"",
            "\"a\", \"b\"",
            "\"a\"b",
            "\"a\\n\"",
            "\"é\"",
            "'a'",
            "\"a\";",
            "\"a\";A",
            "\"a\";a=",
            "\"a\" ;a",
            "\"a\\\"",
            ":YQ==:",
            "@1",
            "1",
            "\"a\tb\"",
        ] {
            assert_eq!(parse_string_item(field), None, "{field:?}");
        }
    }

    #[test]
    fn r106_given_parameters_then_they_are_ignored_and_reported() {
        for parameters in [";a", ";a=1", "; a=?1;b=\"x,;y\"", ";*k=:YQ==:;t=@1;f=-1.5;d=%\"f%c3\"", ";a=tok/en:x"] {
            let field = format!(" \"{KEY}\"{parameters} ");
            assert_eq!(parse_string_item(&field), Some((KEY.to_string(), true)), "{field}");
            assert_eq!(parse_key_field(&field, false), Ok(Key::parse(KEY).unwrap()), "{field}");
            assert_eq!(parse_key_field(&format!("{KEY}{parameters}"), true), Ok(Key::parse(KEY).unwrap()), "{field}");
        }
    }

    #[test]
    fn r106_given_the_quoted_and_the_bare_form_then_they_are_one_key() {
        assert_eq!(parse_key_field(&format!("\"{KEY}\""), true), parse_key_field(KEY, true));
        assert_eq!(parse_key_field(KEY, false), Err(KeyFieldError::Bare));
    }

    #[test]
    fn r102_given_no_key_or_two_or_a_malformed_one_then_it_is_an_error_never_the_first() {
        for (field, error) in [
            (String::new(), KeyFieldError::Empty),
            ("  ".to_string(), KeyFieldError::Empty),
            ("\"\"".to_string(), KeyFieldError::Empty),
            (format!("\"{KEY}\", \"{KEY}\""), KeyFieldError::Many),
            (format!("\"{KEY}\",\"{KEY}\""), KeyFieldError::Many),
            (format!("\"{KEY}\";a=1, \"{KEY}\""), KeyFieldError::Many),
            (format!("{KEY}, {KEY}"), KeyFieldError::Many),
            (format!("{KEY},"), KeyFieldError::Many),
            (format!("{KEY} {KEY}"), KeyFieldError::Syntax),
            (format!("\"{KEY}\" x"), KeyFieldError::Syntax),
            (format!("\"{KEY}"), KeyFieldError::Syntax),
            ("\"short\"".to_string(), KeyFieldError::Key(KeyError::TooShort)),
            (format!("\"{KEY} \""), KeyFieldError::Key(KeyError::Character)),
            (format!("{KEY}\""), KeyFieldError::Syntax),
            ("k".repeat(256), KeyFieldError::Key(KeyError::TooLong)),
        ] {
            assert_eq!(parse_key_field(&field, true), Err(error), "{field:?}");
        }
    }

    #[test]
    fn r117_given_a_fraction_of_a_second_then_a_deadline_is_never_early_and_a_first_sent_never_late() {
        assert_eq!(date_item(Wall(0), true), "@0");
        assert_eq!(date_item(Wall(1), true), "@1");
        assert_eq!(date_item(Wall(1_000), true), "@1");
        assert_eq!(date_item(Wall(1_999), false), "@1");
        assert_eq!(date_item(Wall(u64::MAX), true), "@999999999999999");
    }

    #[test]
    fn given_a_date_item_then_only_at_sign_and_digits_pass() {
        assert_eq!(parse_date_item("@1769817600"), Some(Wall(1_769_817_600_000)));
        assert_eq!(parse_date_item(" @0 "), Some(Wall(0)));
        assert_eq!(parse_date_item("@999999999999999"), Some(Wall(999_999_999_999_999_000)));
        for field in
            ["", "@", "1", "@-1", "@-0", "@1.5", "@1e3", "@+1", "\"@1\"", "@1;a", "@1, @2", "@1234567890123456"]
        {
            assert_eq!(parse_date_item(field), None, "{field:?}");
        }
    }
}
