//! Number text: RFC 8785 writes a number as ECMAScript does.

use alloc::string::{String, ToString};

/// 2^53-1 in digits: up to here every integer has a number of its own in every language.
const SAFE_INTEGER: &str = "9007199254740991";

/// What begins so is smaller than 1e-6, and ECMAScript writes it with an exponent.
const BEYOND_PLACES: &str = "0.000000";

/// The canonical text of a JSON number that ECMAScript wrote already, as `JSON.stringify` does: the text itself.
/// `None` when the integer is beyond 2^53-1, or when ECMAScript would not have written it so; digits that a double does
/// not hold are not looked for.
///
/// Only digits are compared; the browser module does no floating point.
///
/// ```
/// use postonce_core::fingerprint::ecmascript_lexeme;
/// assert_eq!(ecmascript_lexeme("12.5").as_deref(), Some("12.5"));
/// assert_eq!(ecmascript_lexeme("9007199254740993"), None);
/// ```
#[must_use]
pub fn ecmascript_lexeme(lexeme: &str) -> Option<String> {
    if lexeme == "-0" {
        return Some("0".to_string());
    }
    let magnitude = lexeme.strip_prefix('-').unwrap_or(lexeme);
    let zero = magnitude.starts_with('0');
    let mut whole = 0;
    let mut last = b'.';
    let mut fraction = false;
    let mut bytes = magnitude.bytes();
    while let Some(byte) = bytes.next() {
        match byte {
            // A positive exponent begins at 1e21, far beyond the limit; a negative one is a small number.
            b'e' if bytes.next() == Some(b'-') => match (bytes.next(), bytes.next()) {
                // From 1e-7 down, one digit before the point.
                (Some(b'7'..=b'9'), _) | (Some(b'1'..=b'6'), Some(_)) if whole == 1 && !zero => break,
                _ => return None,
            },
            b'0'..=b'9' if !fraction => whole += 1,
            b'0'..=b'9' => {}
            b'.' if !fraction => fraction = true,
            _ => return None,
        }
        last = byte;
    }
    // `10.0` and `1.` are other spellings: taking them as they are would give one number two fingerprints.
    if fraction && (last == b'0' || last == b'.') {
        return None;
    }
    let beyond = match magnitude.get(..whole) {
        Some(digits) if whole == SAFE_INTEGER.len() => digits > SAFE_INTEGER,
        Some(_) | None => whole == 0 || whole > SAFE_INTEGER.len(),
    };
    if beyond || magnitude.starts_with(BEYOND_PLACES) { None } else { Some(lexeme.to_string()) }
}

/// The canonical text of any JSON number, for hosts without a JavaScript engine: read as a double, written as
/// ECMAScript does. `None` when it is not a number, not finite, or beyond 2^53-1.
///
/// ```
/// use postonce_core::fingerprint::native_lexeme;
/// assert_eq!(native_lexeme("10.0").as_deref(), Some("10"));
/// assert_eq!(native_lexeme("1e-5").as_deref(), Some("0.00001"));
/// assert_eq!(native_lexeme("9007199254740993"), None);
/// ```
#[cfg(feature = "native-numbers")]
#[must_use]
pub fn native_lexeme(lexeme: &str) -> Option<String> {
    const SAFE: f64 = 9_007_199_254_740_991.0;
    if !crate::json::is_number(lexeme) {
        return None;
    }
    let number: f64 = lexeme.parse().ok()?;
    if !(-SAFE..=SAFE).contains(&number) {
        return None;
    }
    Some(ryu_js::Buffer::new().format_finite(number).to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn r12_given_what_json_stringify_writes_then_it_stays_as_it_is() {
        for lexeme in [
            "0",
            "-1",
            "10",
            "0.1",
            "-0.00001",
            "1e-7",
            "-1.5e-10",
            "9007199254740991",
            "-9007199254740991",
            "0.000001",
            "0.0000012",
            "5e-324",
            "9.5e-10",
            "9000000000000000",
        ] {
            assert_eq!(ecmascript_lexeme(lexeme).as_deref(), Some(lexeme));
        }
        assert_eq!(ecmascript_lexeme("4503599627370495.5").as_deref(), Some("4503599627370495.5"));
        assert_eq!(ecmascript_lexeme("-0").as_deref(), Some("0"));
    }

    #[test]
    fn r12_given_an_integer_beyond_the_safe_ones_then_it_is_refused_never_rounded() {
        for lexeme in [
            "9007199254740992",
            "-9007199254740992",
            "9007199254740993",
            "10000000000000000",
            "100000000000000000000",
            "1e+21",
            "1.5e+300",
        ] {
            assert_eq!(ecmascript_lexeme(lexeme), None, "{lexeme}");
        }
    }

    #[test]
    fn r13_given_a_spelling_that_ecmascript_never_writes_then_it_is_refused_never_taken_as_another_number() {
        for lexeme in [
            "",
            "-",
            "10.0",
            "1.",
            "1.50",
            "1E-7",
            "1e5",
            "1e21",
            "NaN",
            "Infinity",
            ".5",
            "null",
            "1e-5",
            "1e-6",
            "12e-8",
            "0.1e-7",
            "0e-7",
            "1e-07",
            "1e-",
            "1e-x",
            "0.0000001",
            "0.00000012",
            "1.2.3",
            "--1",
            "1.5x",
        ] {
            assert_eq!(ecmascript_lexeme(lexeme), None, "{lexeme}");
        }
    }

    #[cfg(feature = "native-numbers")]
    #[test]
    fn r12_given_numbers_in_any_spelling_then_equal_ones_get_one_text() {
        for (lexeme, text) in [
            ("10.0", "10"),
            ("1e1", "10"),
            ("1E+1", "10"),
            ("1e-5", "0.00001"),
            ("-0", "0"),
            ("-0.0e5", "0"),
            ("1e-400", "0"),
            ("-1e-400", "0"),
            ("0.30000000000000004", "0.30000000000000004"),
            ("0.0000001", "1e-7"),
            ("5e-324", "5e-324"),
            ("9007199254740991.0", "9007199254740991"),
            ("900719925474099.1e1", "9007199254740991"),
        ] {
            assert_eq!(native_lexeme(lexeme).as_deref(), Some(text), "{lexeme}");
        }
        for lexeme in ["9007199254740992", "-9007199254740993", "1e20", "1e400", "-1e400", "NaN", "inf", "1.", "+1", ""]
        {
            assert_eq!(native_lexeme(lexeme), None, "{lexeme}");
        }
    }

    #[cfg(feature = "native-numbers")]
    #[test]
    fn r13_given_what_the_native_side_writes_then_the_browser_side_agrees() {
        for lexeme in ["1e-7", "123.456", "-5e-324", "9007199254740991", "0.1", "2.2250738585072014e-308", "1e-6"] {
            let native = native_lexeme(lexeme).unwrap();
            assert_eq!(ecmascript_lexeme(&native), Some(native));
        }
    }
}
