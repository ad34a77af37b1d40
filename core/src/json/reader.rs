//! Text to value.

use alloc::string::{String, ToString};
use alloc::vec::Vec;

use super::{DEPTH_MAX, JsonError, TEXT_BYTES_MAX, Value, repeated};

/// Reads one JSON text, all of it.
///
/// ```
/// use postonce_core::json::{parse, JsonError};
/// assert!(parse(r#"{"sku":"A1","quantity":2}"#).is_ok());
/// assert_eq!(parse(r#"{"a":1,"a":2}"#), Err(JsonError::DuplicateMember { name: "a".into() }));
/// ```
///
/// # Errors
/// [`JsonError`]: not JSON, a repeated member, half a surrogate pair, or beyond a limit (R12).
pub fn parse(text: &str) -> Result<Value, JsonError> {
    if text.len() > TEXT_BYTES_MAX {
        return Err(JsonError::TooLarge);
    }
    let mut reader = Reader { text, at: 0, error: None };
    match reader.value(0).filter(|_| reader.at_end()) {
        Some(value) => Ok(value),
        None => Err(reader.error.unwrap_or(JsonError::Syntax { at: reader.at })),
    }
}

/// Whether the text is a JSON number and nothing else.
pub(crate) fn is_number(lexeme: &str) -> bool {
    let mut reader = Reader { text: lexeme, at: 0, error: None };
    reader.number().is_some() && reader.at == lexeme.len()
}

/// Its methods give `None` on an error: the one noted, or else a syntax error where it stands.
struct Reader<'t> {
    text: &'t str,
    at: usize,
    error: Option<JsonError>,
}

impl Reader<'_> {
    fn fail<T>(&mut self, error: JsonError) -> Option<T> {
        self.error = Some(error);
        None
    }

    fn peek(&self) -> Option<u8> {
        self.text.as_bytes().get(self.at).copied()
    }

    fn take(&mut self, byte: u8) -> bool {
        let there = self.peek() == Some(byte);
        if there {
            self.at += 1;
        }
        there
    }

    fn need(&mut self, byte: u8) -> Option<()> {
        self.take(byte).then_some(())
    }

    fn space(&mut self) {
        while matches!(self.peek(), Some(b' ' | b'\t' | b'\n' | b'\r')) {
            self.at += 1;
        }
    }

    /// Steps over white space, and then over this byte if it is there.
    fn mark(&mut self, byte: u8) -> bool {
        self.space();
        self.take(byte)
    }

    fn at_end(&mut self) -> bool {
        self.space();
        self.at == self.text.len()
    }

    fn since(&self, start: usize) -> &str {
        self.text.get(start..self.at).unwrap_or_default()
    }

    /// `depth` is the number of arrays and objects around the value.
    fn value(&mut self, depth: usize) -> Option<Value> {
        if self.mark(b'{') {
            return self.object(depth);
        }
        match self.peek()? {
            b'[' => self.array(depth),
            b'"' => Some(Value::String(self.string()?)),
            b't' => self.literal("true", Value::Bool(true)),
            b'f' => self.literal("false", Value::Bool(false)),
            b'n' => self.literal("null", Value::Null),
            _ => self.number(),
        }
    }

    fn literal(&mut self, word: &str, value: Value) -> Option<Value> {
        for byte in word.bytes() {
            self.need(byte)?;
        }
        Some(value)
    }

    /// What follows an opening brace.
    fn object(&mut self, depth: usize) -> Option<Value> {
        self.enter(depth)?;
        let mut members: Vec<(String, Value)> = Vec::new();
        if !self.mark(b'}') {
            loop {
                self.space();
                let name = self.string()?;
                self.mark(b':').then_some(())?;
                members.push((name, self.value(depth + 1)?));
                if !self.mark(b',') {
                    break;
                }
            }
            self.need(b'}')?;
        }
        let name = repeated(members.len(), &|at| members.get(at).map_or("", |(name, _)| name)).map(ToString::to_string);
        match name {
            Some(name) => self.fail(JsonError::DuplicateMember { name }),
            None => Some(Value::Object(members)),
        }
    }

    fn array(&mut self, depth: usize) -> Option<Value> {
        self.at += 1;
        self.enter(depth)?;
        let mut items = Vec::new();
        if !self.mark(b']') {
            loop {
                items.push(self.value(depth + 1)?);
                if !self.mark(b',') {
                    break;
                }
            }
            self.need(b']')?;
        }
        Some(Value::Array(items))
    }

    fn enter(&mut self, depth: usize) -> Option<()> {
        if depth < DEPTH_MAX { Some(()) } else { self.fail(JsonError::TooDeep) }
    }

    fn number(&mut self) -> Option<Value> {
        let start = self.at;
        self.take(b'-');
        if !self.take(b'0') {
            self.digits()?;
        }
        if self.take(b'.') {
            self.digits()?;
        }
        if self.take(b'e') || self.take(b'E') {
            if !self.take(b'+') {
                self.take(b'-');
            }
            self.digits()?;
        }
        Some(Value::Number(self.since(start).to_string()))
    }

    /// At least one digit.
    fn digits(&mut self) -> Option<()> {
        let start = self.at;
        while self.peek().is_some_and(|byte| byte.is_ascii_digit()) {
            self.at += 1;
        }
        (self.at > start).then_some(())
    }

    fn string(&mut self) -> Option<String> {
        self.need(b'"')?;
        let mut out = String::new();
        loop {
            let start = self.at;
            while self.peek().is_some_and(|byte| byte >= b' ' && byte != b'"' && byte != b'\\') {
                self.at += 1;
            }
            out.push_str(self.since(start));
            if self.take(b'"') {
                return Some(out);
            }
            out.push(self.escape()?);
        }
    }

    fn escape(&mut self) -> Option<char> {
        let start = self.at;
        self.need(b'\\')?;
        let c = match self.peek()? {
            byte @ (b'"' | b'\\' | b'/') => char::from(byte),
            b'b' => '\u{8}',
            b'f' => '\u{c}',
            b'n' => '\n',
            b'r' => '\r',
            b't' => '\t',
            b'u' => {
                self.at += 1;
                return self.unicode(start);
            }
            _ => return None,
        };
        self.at += 1;
        Some(c)
    }

    /// What follows `\u`; `start` is where the escape begins.
    fn unicode(&mut self, start: usize) -> Option<char> {
        let mut scalar = self.hex4()?;
        if scalar >> 10 == HIGH_SURROGATE && self.take(b'\\') && self.take(b'u') {
            let low = self.hex4()?;
            if low >> 10 == LOW_SURROGATE {
                scalar = 0x1_0000 + ((scalar & 0x3ff) << 10 | low & 0x3ff);
            }
        }
        // Half a pair is no character of its own.
        match char::from_u32(scalar) {
            Some(c) => Some(c),
            None => self.fail(JsonError::LoneSurrogate { at: start }),
        }
    }

    fn hex4(&mut self) -> Option<u32> {
        let mut unit = 0;
        for _ in 0..4 {
            unit = unit << 4 | char::from(self.peek()?).to_digit(16)?;
            self.at += 1;
        }
        Some(unit)
    }
}

/// The upper six bits of a UTF-16 unit that begins a pair.
const HIGH_SURROGATE: u32 = 0xd800 >> 10;

/// The upper six bits of a UTF-16 unit that ends a pair.
const LOW_SURROGATE: u32 = 0xdc00 >> 10;

#[cfg(test)]
mod tests {
    use super::*;

    fn nested(depth: usize) -> String {
        "[".repeat(depth) + &"]".repeat(depth)
    }

    #[test]
    fn r12_given_a_member_twice_then_it_is_an_error_never_the_last_one() {
        let duplicate = |name: &str| Err(JsonError::DuplicateMember { name: name.to_string() });
        assert_eq!(parse(r#"{"a":1,"b":2,"a":1}"#), duplicate("a"));
        assert_eq!(parse(r#"{"é":1,"\u00e9":2}"#), duplicate("é"));
        assert_eq!(parse(r#"[{"x":{"":0,"":0}}]"#), duplicate(""));
        assert!(parse(r#"{"a":{"a":1},"b":{"a":1}}"#).is_ok());
    }

    #[test]
    fn r12_given_half_a_surrogate_pair_then_it_is_an_error_never_a_replacement_character() {
        for (text, at) in [
            (r#""\ud800""#, 1),
            (r#""a\udc00""#, 2),
            (r#""\ud800\ud800""#, 1),
            (r#""\ud83dx""#, 1),
            (r#""\ud83d\n""#, 1),
            (r#""\ude00\ud83d""#, 1),
        ] {
            assert_eq!(parse(text), Err(JsonError::LoneSurrogate { at }), "{text}");
        }
        assert_eq!(parse(r#""\ud83d\ude00""#), Ok(Value::String("😀".to_string())));
    }

    #[test]
    fn given_what_rfc_8259_does_not_allow_then_it_is_a_syntax_error() {
        for text in [
            "",
            " ",
            "nul",
            "nulll",
            "True",
            "'a'",
            "\"",
            "\"\\",
            "\"\\x\"",
            "\"\\u12\"",
            "\"\\u+123\"",
            "\"\n\"",
            "01",
            "-",
            "+1",
            ".5",
            "1.",
            "1e",
            "1e+",
            "0x1",
            "NaN",
            "Infinity",
            "-Infinity",
            "[",
            "[1,]",
            "[,1]",
            "[1 2]",
            "{",
            "{\"a\"}",
            "{\"a\":}",
            "{\"a\":1,}",
            "{a:1}",
            "{1:1}",
            "1 2",
            "[1]]",
            "\u{feff}1",
            "\u{a0}1",
            "/**/1",
        ] {
            assert!(matches!(parse(text), Err(JsonError::Syntax { .. })), "{text:?}");
        }
        assert_eq!(parse("[1,x]"), Err(JsonError::Syntax { at: 3 }));
    }

    #[test]
    fn given_numbers_then_their_digits_are_kept_as_written() {
        for lexeme in ["0", "-0", "10.0", "1E+2", "1e-5", "9007199254740993", "123456789012345678901234567890"] {
            assert_eq!(parse(lexeme), Ok(Value::Number(lexeme.to_string())));
            assert!(is_number(lexeme));
        }
        for other in ["", "1 ", "NaN", "1,2", "01"] {
            assert!(!is_number(other), "{other:?}");
        }
    }

    #[test]
    fn given_the_limit_of_depth_then_one_more_is_refused_never_recursed_into() {
        assert!(parse(&nested(DEPTH_MAX)).is_ok());
        assert_eq!(parse(&nested(DEPTH_MAX + 1)), Err(JsonError::TooDeep));
        assert_eq!(parse(&"{\"a\":".repeat(100_000)), Err(JsonError::TooDeep));
    }

    #[test]
    fn given_the_limit_of_size_then_one_byte_more_is_refused() {
        let longest = "\"".to_string() + &"a".repeat(TEXT_BYTES_MAX - 2) + "\"";
        assert!(parse(&longest).is_ok());
        assert_eq!(parse(&(longest + " ")), Err(JsonError::TooLarge));
    }

    #[test]
    fn given_a_hundred_thousand_members_then_looking_for_duplicates_never_takes_quadratic_time() {
        let mut text = "{".to_string();
        for n in 0..90_000_u64 {
            super::super::push_quoted(&mut text, &n.to_string());
            text.push_str(":1,");
        }
        text.push_str("\"7\":1}");
        assert_eq!(parse(&text), Err(JsonError::DuplicateMember { name: "7".to_string() }));
    }
}
