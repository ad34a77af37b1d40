//! A request as RFC 8785 bytes.

use alloc::string::{String, ToString};
use alloc::vec::Vec;

use super::form::collect;
use super::{CONTRACT_VERSION, Canonical, Field, FingerprintError, RESERVED_PREFIX, Target, ecmascript_lexeme};
use crate::json::{DEPTH_MAX, JsonError, Value, is_number, order, push_decimal, push_hex, push_quoted};
use crate::planted::{self, Bug};

/// The canonical bytes of a form, whatever it is encoded as (R14).
///
/// # Errors
/// [`FingerprintError`]: a path parameter named twice, or a file larger than 2^53-1 bytes.
pub fn canonical_pairs(
    target: &Target<'_>,
    pairs: &[(String, Field)],
    volatile: &[String],
) -> Result<Canonical, FingerprintError> {
    // Names that only their line ends keep apart are one name, so those go first.
    let values = pairs.iter().map(|(name, field)| (line_feeds(name), field_value(field))).collect();
    canonical_value(target, &collect(values), volatile, ecmascript_lexeme)
}

/// The canonical bytes of a JSON payload: an object without its volatile members, anything else as it is.
///
/// `numbers` gives a number's canonical text from the text it was written as, or `None` to refuse it:
/// [`ecmascript_lexeme`] where ECMAScript wrote it, `native_lexeme` elsewhere.
///
/// # Errors
/// [`FingerprintError`]: a number that two readers may see differently, or names that become equal (R12).
pub fn canonical_value(
    target: &Target<'_>,
    payload: &Value,
    volatile: &[String],
    numbers: fn(&str) -> Option<String>,
) -> Result<Canonical, FingerprintError> {
    let volatile = volatile.iter().map(|name| line_feeds(name)).collect();
    let mut pen = Pen { out: String::new(), at: String::new(), volatile, numbers, error: None };
    pen.out.push_str("{\"contract\":");
    push_decimal(&mut pen.out, CONTRACT_VERSION);
    pen.out.push_str(",\"method\":");
    pen.text(target.method);
    pen.out.push_str(",\"operation\":");
    pen.text(target.operation);
    pen.out.push_str(",\"path\":");
    pen.object(&text_members(target.path), Members::All, 0);
    pen.out.push_str(",\"payload\":");
    match payload {
        Value::Object(_) if planted::is_on(Bug::FieldIgnored) => pen.out.push_str("{}"),
        Value::Object(members) => pen.object(members, Members::Significant, 0),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) | Value::Array(_) => pen.value(payload, 0),
    }
    pen.out.push_str(",\"query\":");
    pen.query(&text_members(target.query));
    pen.out.push('}');
    match pen.error {
        Some(error) => Err(error),
        None => Ok(Canonical(pen.out.into_bytes())),
    }
}

/// CR LF and lone CR as LF: engines differ in which of them a form hands out (R15).
fn line_feeds(text: &str) -> String {
    let mut out = String::new();
    let mut after_cr = false;
    for c in text.chars() {
        if c == '\r' {
            out.push('\n');
        } else if c != '\n' || !after_cr {
            out.push(c);
        }
        after_cr = c == '\r';
    }
    out
}

fn text_members(pairs: &[(String, String)]) -> Vec<(String, Value)> {
    pairs.iter().map(|(name, text)| (line_feeds(name), Value::String(text.clone()))).collect()
}

/// Text is a string and a file an object, so the one never passes for the other.
fn field_value(field: &Field) -> Value {
    match field {
        Field::Text(text) => Value::String(text.clone()),
        Field::File { name, size, sha256 } => {
            let (mut digits, mut hex) = (String::new(), String::new());
            push_decimal(&mut digits, *size);
            push_hex(&mut hex, sha256);
            let file = Value::Object(Vec::from([
                ("name".to_string(), Value::String(name.clone())),
                ("sha256".to_string(), Value::String(hex)),
                ("size".to_string(), Value::Number(digits)),
            ]));
            Value::Object(Vec::from([("file".to_string(), file)]))
        }
    }
}

/// Appends one step of a JSON Pointer.
fn push_token(at: &mut String, name: &str) {
    at.push('/');
    for c in name.chars() {
        match c {
            '~' => at.push_str("~0"),
            '/' => at.push_str("~1"),
            plain => at.push(plain),
        }
    }
}

/// Which members of an object count.
#[derive(Clone, Copy)]
enum Members {
    /// Every one.
    All,
    /// Neither volatile ones nor the contract's own.
    Significant,
}

/// Writes values and knows where it is, for the error that names the place. The first error stays.
struct Pen {
    out: String,
    at: String,
    volatile: Vec<String>,
    numbers: fn(&str) -> Option<String>,
    error: Option<FingerprintError>,
}

impl Pen {
    fn fail(&mut self, error: FingerprintError) {
        if self.error.is_none() {
            self.error = Some(error);
        }
    }

    fn text(&mut self, text: &str) {
        push_quoted(&mut self.out, &line_feeds(text));
    }

    fn value(&mut self, value: &Value, depth: usize) {
        match value {
            Value::Null => self.out.push_str("null"),
            Value::Bool(flag) => self.out.push_str(if *flag { "true" } else { "false" }),
            Value::Number(lexeme) => self.number(lexeme),
            Value::String(text) => self.text(text),
            Value::Array(items) => self.array(items, depth),
            Value::Object(members) => self.object(members, Members::All, depth),
        }
    }

    fn number(&mut self, lexeme: &str) {
        if !is_number(lexeme) {
            self.fail(FingerprintError::NumberInvalid { at: self.at.clone() });
        } else if let Some(text) = (self.numbers)(lexeme) {
            self.out.push_str(&text);
        } else {
            self.fail(FingerprintError::NumberOutOfRange { at: self.at.clone() });
        }
    }

    /// A value built by hand may be deeper than any that was read.
    fn too_deep(&mut self, depth: usize) -> bool {
        let too_deep = depth >= DEPTH_MAX;
        if too_deep {
            self.fail(JsonError::TooDeep.into());
        }
        too_deep
    }

    fn array(&mut self, items: &[Value], depth: usize) {
        if self.too_deep(depth) {
            return;
        }
        let here = self.at.len();
        self.out.push('[');
        for (at, item) in items.iter().enumerate() {
            if at > 0 {
                self.out.push(',');
            }
            self.at.push('/');
            push_decimal(&mut self.at, at as u64);
            self.value(item, depth + 1);
            self.at.truncate(here);
        }
        self.out.push(']');
    }

    fn object(&mut self, members: &[(String, Value)], which: Members, depth: usize) {
        if self.too_deep(depth) {
            return;
        }
        let mut kept: Vec<(String, &Value)> = Vec::new();
        for (name, value) in members {
            let name = line_feeds(name);
            let counts = match which {
                Members::All => true,
                Members::Significant => !name.starts_with(RESERVED_PREFIX) && !self.volatile.contains(&name),
            };
            if counts {
                kept.push((name, value));
            }
        }
        let here = self.at.len();
        let mut before: Option<&str> = None;
        self.out.push('{');
        for at in order(kept.len(), &|at| kept.get(at).map_or("", |(name, _)| name)) {
            let Some((name, value)) = kept.get(at) else { continue };
            if before == Some(name) {
                self.fail(JsonError::DuplicateMember { name: name.clone() }.into());
            }
            if before.is_some() {
                self.out.push(',');
            }
            before = Some(name);
            push_quoted(&mut self.out, name);
            self.out.push(':');
            push_token(&mut self.at, name);
            self.value(value, depth + 1);
            self.at.truncate(here);
        }
        self.out.push('}');
    }

    /// Pairs by name; those of one name in their own order.
    fn query(&mut self, pairs: &[(String, Value)]) {
        let mut separator = "[";
        for at in order(pairs.len(), &|at| pairs.get(at).map_or("", |(name, _)| name)) {
            let Some((name, value)) = pairs.get(at) else { continue };
            self.out.push_str(separator);
            self.out.push('[');
            push_quoted(&mut self.out, name);
            self.out.push(',');
            self.value(value, 0);
            self.out.push(']');
            separator = ",";
        }
        self.out.push_str(if pairs.is_empty() { "[]" } else { "]" });
    }
}

#[cfg(test)]
mod tests {
    use super::super::form_as_value;
    use super::*;
    use crate::json::parse;
    use core::str::from_utf8;

    const TARGET: Target<'static> = Target { operation: "o", method: "POST", path: &[], query: &[] };

    fn text(name: &str, value: &str) -> (String, Field) {
        (name.to_string(), Field::Text(value.to_string()))
    }

    fn of_json(json: &str) -> Result<Canonical, FingerprintError> {
        canonical_value(&TARGET, &parse(json).unwrap(), &[], ecmascript_lexeme)
    }

    #[test]
    fn r14_given_a_form_then_it_has_the_bytes_of_the_json_body_it_is_sent_as() {
        let pairs =
            [text("b", "2"), text("a", "1"), text("b", "1"), text("c\r\n", "x\ry"), text("b", ""), text("😀", "")];
        let form = canonical_pairs(&TARGET, &pairs, &[]).unwrap();
        let body = form_as_value(&pairs).unwrap();
        assert_eq!(canonical_value(&TARGET, &body, &[], ecmascript_lexeme), Ok(form.clone()));
        assert_eq!(
            from_utf8(form.as_bytes()).unwrap(),
            "{\"contract\":1,\"method\":\"POST\",\"operation\":\"o\",\"path\":{},\"payload\":\
             {\"a\":\"1\",\"b\":[\"2\",\"1\",\"\"],\"c\\n\":\"x\\ny\",\"😀\":\"\"},\"query\":[]}"
        );
    }

    #[test]
    fn r14_given_form_names_that_differ_in_line_ends_then_they_are_one_repeated_name() {
        let pairs = [text("a\r", "1"), text("a\n", "2"), text("a\r\n", "3")];
        let same = [text("a\n", "1"), text("a\n", "2"), text("a\n", "3")];
        assert_eq!(canonical_pairs(&TARGET, &pairs, &[]), canonical_pairs(&TARGET, &same, &[]));
    }

    #[test]
    fn r16_given_text_that_looks_like_a_file_then_it_never_collides_with_one() {
        let file = Field::File { name: String::new(), size: 0, sha256: [0; 32] };
        let with_file = canonical_pairs(&TARGET, &[("f".to_string(), file.clone())], &[]).unwrap();
        let shown = field_value(&file).to_text();
        assert_ne!(canonical_pairs(&TARGET, &[text("f", &shown)], &[]), Ok(with_file));
    }

    #[test]
    fn r12_given_a_file_size_beyond_the_safe_integers_then_it_is_refused() {
        let file = Field::File { name: String::new(), size: 1 << 53, sha256: [0; 32] };
        let error = FingerprintError::NumberOutOfRange { at: "/a~1b/file/size".to_string() };
        assert_eq!(canonical_pairs(&TARGET, &[("a/b".to_string(), file)], &[]), Err(error));
    }

    #[test]
    fn r12_given_a_number_that_is_refused_then_the_error_names_its_place() {
        let error = FingerprintError::NumberOutOfRange { at: "/a~1b/1/m~0n".to_string() };
        assert_eq!(of_json(r#"{"x":[1],"a/b":[0,{"m~n":9007199254740993}]}"#), Err(error));
        let by_hand = Value::Array([Value::Number("NaN".to_string())].to_vec());
        let error = FingerprintError::NumberInvalid { at: "/0".to_string() };
        assert_eq!(canonical_value(&TARGET, &by_hand, &[], |text| Some(text.to_string())), Err(error));
    }

    #[test]
    fn r12_given_names_that_become_equal_or_values_built_too_deep_then_it_is_an_error_never_the_last_one() {
        let duplicate = |name: &str| Err(JsonError::DuplicateMember { name: name.to_string() }.into());
        assert_eq!(of_json("{\"a\\r\":1,\"a\\n\":1}"), duplicate("a\n"));
        let path = [("id".to_string(), "1".to_string()), ("id".to_string(), "2".to_string())];
        let target = Target { path: &path, ..TARGET };
        assert_eq!(canonical_pairs(&target, &[], &[]), duplicate("id"));
        let mut deep = Value::Null;
        for _ in 0..=DEPTH_MAX {
            deep = Value::Array(Vec::from([deep]));
        }
        let error = Err(JsonError::TooDeep.into());
        assert_eq!(canonical_value(&TARGET, &deep, &[], ecmascript_lexeme), error);
    }

    #[test]
    fn r11_given_volatile_names_then_only_the_top_level_is_left_out() {
        let volatile = ["csrf\r\n".to_string()];
        let form =
            canonical_pairs(&TARGET, &[text("csrf\n", "1"), text("a", "b"), text("_idempotency_key", "k")], &volatile);
        assert_eq!(form, of_json(r#"{"a":"b"}"#));
        let nested = parse(r#"{"a":{"csrf\n":1,"_idempotency_key":2}}"#).unwrap();
        assert_eq!(canonical_value(&TARGET, &nested, &volatile, ecmascript_lexeme), of_json(&nested.to_text()));
        let list = parse(r#"["csrf\n"]"#).unwrap();
        assert_eq!(canonical_value(&TARGET, &list, &volatile, ecmascript_lexeme), of_json(&list.to_text()));
    }
}
