//! Value to text.

use alloc::string::String;
use alloc::vec::Vec;

use super::Value;

/// Builds JSON text piece by piece; commas and closing brackets come by themselves.
///
/// ```
/// use postonce_core::json::Writer;
/// let mut w = Writer::object();
/// w.string("state", "completed");
/// w.begin_array("attempts");
/// w.item_number(1);
/// w.item_number(2);
/// w.end();
/// w.boolean("replayed", false);
/// assert_eq!(w.finish(), r#"{"state":"completed","attempts":[1,2],"replayed":false}"#);
/// ```
#[derive(Clone, Debug)]
pub struct Writer {
    out: String,
    closers: Vec<char>,
}

impl Writer {
    /// Starts an object.
    #[must_use]
    pub fn object() -> Self {
        let mut writer = Self { out: String::new(), closers: Vec::new() };
        writer.open('{', '}');
        writer
    }

    /// Starts an array; its items are written with the `item_` methods.
    #[must_use]
    pub fn array() -> Self {
        let mut writer = Self { out: String::new(), closers: Vec::new() };
        writer.open('[', ']');
        writer
    }

    /// A string member.
    pub fn string(&mut self, name: &str, text: &str) {
        self.name(name);
        push_quoted(&mut self.out, text);
    }

    /// A number member.
    pub fn number(&mut self, name: &str, n: u64) {
        self.name(name);
        push_decimal(&mut self.out, n);
    }

    /// A boolean member.
    pub fn boolean(&mut self, name: &str, flag: bool) {
        self.raw(name, if flag { "true" } else { "false" });
    }

    /// A member whose value is JSON text already; the caller answers for that.
    pub fn raw(&mut self, name: &str, json: &str) {
        self.name(name);
        self.out.push_str(json);
    }

    /// Starts an object member; [`end`](Self::end) closes it.
    pub fn begin_object(&mut self, name: &str) {
        self.name(name);
        self.open('{', '}');
    }

    /// Starts an array member; [`end`](Self::end) closes it.
    pub fn begin_array(&mut self, name: &str) {
        self.name(name);
        self.open('[', ']');
    }

    /// A string item of the array that is open.
    pub fn item_string(&mut self, text: &str) {
        self.comma();
        push_quoted(&mut self.out, text);
    }

    /// A number item of the array that is open.
    pub fn item_number(&mut self, n: u64) {
        self.comma();
        push_decimal(&mut self.out, n);
    }

    /// An item that is JSON text already; the caller answers for that.
    pub fn item_raw(&mut self, json: &str) {
        self.comma();
        self.out.push_str(json);
    }

    /// Starts an object as an item; [`end`](Self::end) closes it.
    pub fn item_begin_object(&mut self) {
        self.comma();
        self.open('{', '}');
    }

    /// Starts an array as an item; [`end`](Self::end) closes it.
    pub fn item_begin_array(&mut self) {
        self.comma();
        self.open('[', ']');
    }

    /// Closes the object or array begun last; does nothing when none is open.
    pub fn end(&mut self) {
        if let Some(closer) = self.closers.pop() {
            self.out.push(closer);
        }
    }

    /// The text, with whatever is still open closed.
    #[must_use]
    pub fn finish(mut self) -> String {
        while let Some(closer) = self.closers.pop() {
            self.out.push(closer);
        }
        self.out
    }

    fn name(&mut self, name: &str) {
        self.comma();
        push_quoted(&mut self.out, name);
        self.out.push(':');
    }

    fn comma(&mut self) {
        // The last byte tells whether something stands before: only a bracket just opened needs no comma.
        if !matches!(self.out.as_bytes().last(), None | Some(b'{' | b'[')) {
            self.out.push(',');
        }
    }

    fn open(&mut self, opener: char, closer: char) {
        self.out.push(opener);
        self.closers.push(closer);
    }
}

pub(super) fn push_value(out: &mut String, value: &Value) {
    match value {
        Value::Null => out.push_str("null"),
        Value::Bool(flag) => out.push_str(if *flag { "true" } else { "false" }),
        Value::Number(lexeme) => out.push_str(lexeme),
        Value::String(text) => push_quoted(out, text),
        Value::Array(items) => {
            out.push('[');
            for (at, item) in items.iter().enumerate() {
                if at > 0 {
                    out.push(',');
                }
                push_value(out, item);
            }
            out.push(']');
        }
        Value::Object(members) => {
            out.push('{');
            for (at, (name, member)) in members.iter().enumerate() {
                if at > 0 {
                    out.push(',');
                }
                push_quoted(out, name);
                out.push(':');
                push_value(out, member);
            }
            out.push('}');
        }
    }
}

/// Appends a whole number in decimal.
pub fn push_decimal(out: &mut String, n: u64) {
    let mut unit: u64 = 1;
    while n / unit >= 10 {
        unit *= 10;
    }
    while unit > 0 {
        let digit = n / unit % 10;
        out.push(char::from(b'0' + u8::try_from(digit).unwrap_or(0)));
        unit /= 10;
    }
}

/// Appends a JSON string, escaped as RFC 8785 wants it: short escapes where there are any, `\u00xx` for the other
/// control characters, everything else as it is.
pub fn push_quoted(out: &mut String, text: &str) {
    out.push('"');
    for c in text.chars() {
        let short = match c {
            '"' | '\\' => c,
            '\u{8}' => 'b',
            '\t' => 't',
            '\n' => 'n',
            '\u{c}' => 'f',
            '\r' => 'r',
            '\0'..='\u{1f}' => {
                out.push_str("\\u00");
                push_hex(out, &[c as u8]);
                continue;
            }
            plain => {
                out.push(plain);
                continue;
            }
        };
        out.push('\\');
        out.push(short);
    }
    out.push('"');
}

/// Appends two lower-case hex digits per byte.
pub(crate) fn push_hex(out: &mut String, bytes: &[u8]) {
    for byte in bytes {
        for half in [byte >> 4, byte & 15] {
            out.push(char::from(if half < 10 { b'0' + half } else { b'a' - 10 + half }));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::string::ToString;

    #[test]
    fn given_numbers_of_every_length_then_push_decimal_writes_what_the_standard_library_writes() {
        let mut n: u64 = 0;
        for digit in 0..20_u64 {
            for near in [n, n.wrapping_add(1), n.saturating_sub(1)] {
                let mut out = String::new();
                push_decimal(&mut out, near);
                assert_eq!(out, near.to_string());
            }
            n = n.wrapping_mul(10).wrapping_add(digit % 10);
        }
        let mut out = String::new();
        push_decimal(&mut out, u64::MAX);
        assert_eq!(out, u64::MAX.to_string());
    }

    #[test]
    fn r12_given_control_characters_then_they_are_escaped_as_jcs_does() {
        let mut out = String::new();
        push_quoted(&mut out, "\u{0}\u{8}\t\n\u{b}\u{c}\r\u{1f}\"\\/\u{7f}\u{2028}€😀");
        assert_eq!(out, "\"\\u0000\\b\\t\\n\\u000b\\f\\r\\u001f\\\"\\\\/\u{7f}\u{2028}€😀\"");
    }

    #[test]
    fn given_strings_that_end_in_brackets_then_no_comma_is_ever_lost() {
        let mut w = Writer::object();
        w.string("a", "{");
        w.string("b", "[");
        w.raw("c", "[]");
        w.begin_object("d");
        w.end();
        w.begin_array("e");
        w.item_string("[");
        w.item_begin_array();
        w.item_raw("null");
        w.end();
        w.item_begin_object();
        w.number("n", 5);
        assert_eq!(w.finish(), r#"{"a":"{","b":"[","c":[],"d":{},"e":["[",[null],{"n":5}]}"#);
    }

    #[test]
    fn given_more_ends_than_begins_then_the_text_is_still_whole() {
        let mut w = Writer::array();
        w.item_number(0);
        w.end();
        w.end();
        assert_eq!(w.finish(), "[0]");
    }
}
