//! Number text: RFC 8785 writes a number as ECMAScript does.

use alloc::string::{String, ToString};

use crate::json::decimal;

/// 2^53-1 in digits: up to here every integer has a number of its own in every language.
const SAFE_INTEGER: &str = "9007199254740991";

/// ECMAScript writes an exponent from 1e-7 down.
const EXPONENT_MIN: u64 = 7;

/// A fraction that begins so is smaller than 1e-6, and ECMAScript writes it with an exponent.
const ZEROS_BEYOND: &str = "000000";

/// The canonical text of a number that ECMAScript wrote already, as `JSON.stringify` does: the text itself.
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
    // A positive exponent begins at 1e21, far beyond the limit; a negative one is a small number.
    let (mantissa, exponent) = match magnitude.split_once("e-") {
        Some((mantissa, exponent)) => (mantissa, Some(exponent)),
        None => (magnitude, None),
    };
    let (whole, fraction) = match mantissa.split_once('.') {
        Some((whole, fraction)) => (whole, Some(fraction)),
        None => (mantissa, None),
    };
    let is_digits = |text: &str| text.bytes().all(|byte| byte.is_ascii_digit());
    if !is_digits(whole) || whole.is_empty() || whole.len() > 1 && whole.starts_with('0') {
        return None;
    }
    // `10.0` and `1.` are other spellings: taking them as they are would give one number two fingerprints.
    if fraction.is_some_and(|digits| digits.is_empty() || digits.ends_with('0') || !is_digits(digits)) {
        return None;
    }
    let as_written = match exponent {
        // One digit before the point, and at least seven places behind it.
        Some(exponent) => {
            whole.len() == 1 && whole != "0" && !exponent.starts_with('0') && decimal(exponent)? >= EXPONENT_MIN
        }
        None => whole != "0" || fraction.is_none_or(|digits| !digits.starts_with(ZEROS_BEYOND)),
    };
    let beyond = whole.len() > SAFE_INTEGER.len() || whole.len() == SAFE_INTEGER.len() && whole > SAFE_INTEGER;
    if as_written && !beyond { Some(lexeme.to_string()) } else { None }
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
            "1e-7e-7",
            "0.0000001",
            "0.00000012",
            "007",
            "00",
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
