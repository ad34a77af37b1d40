//! A form as the JSON body it is sent as.

use alloc::string::String;
use alloc::vec::Vec;
use core::mem;

use super::Field;
use crate::json::{Value, order};

/// An object of strings in the order names first appear, an array where a name repeats; names and values untouched.
/// `None` when there is a file: only multipart carries that (R14).
///
/// ```
/// use postonce_core::fingerprint::{form_as_value, Field};
/// let pair = |name: &str, text: &str| (String::from(name), Field::Text(text.into()));
/// let body = form_as_value(&[pair("b", "1"), pair("a", ""), pair("b", "2")]);
/// assert_eq!(body.map(|value| value.to_text()).as_deref(), Some(r#"{"b":["1","2"],"a":""}"#));
/// ```
#[must_use]
pub fn form_as_value(pairs: &[(String, Field)]) -> Option<Value> {
    let mut texts = Vec::new();
    for (name, field) in pairs {
        match field {
            Field::Text(text) => texts.push((name.clone(), Value::String(text.clone()))),
            Field::File { .. } => return None,
        }
    }
    Some(collect(texts))
}

/// Brings the values of one name together where the name first appears. No value may be null or an array yet.
pub(super) fn collect(mut pairs: Vec<(String, Value)>) -> Value {
    let mut first = 0;
    // Sorting is stable: the first of a run is where the name first appears.
    for at in order(pairs.len(), &|at| pairs.get(at).map_or("", |(name, _)| name)) {
        if pairs.get(at).map(|pair| &pair.0) != pairs.get(first).map(|pair| &pair.0) {
            first = at;
        } else if at != first {
            let later = take(&mut pairs, at);
            let mut values = match take(&mut pairs, first) {
                Value::Array(values) => values,
                one @ (Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) | Value::Object(_)) => {
                    Vec::from([one])
                }
            };
            values.push(later);
            if let Some((_, value)) = pairs.get_mut(first) {
                *value = Value::Array(values);
            }
        }
    }
    pairs.retain(|(_, value)| !matches!(value, Value::Null));
    Value::Object(pairs)
}

/// Leaves null behind.
fn take(pairs: &mut [(String, Value)], at: usize) -> Value {
    pairs.get_mut(at).map_or(Value::Null, |(_, value)| mem::replace(value, Value::Null))
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::string::ToString;

    fn text(name: &str, value: &str) -> (String, Field) {
        (name.to_string(), Field::Text(value.to_string()))
    }

    #[test]
    fn r14_given_a_form_then_the_body_keeps_first_appearance_and_no_value_is_dropped_or_typed() {
        let pairs = [text("z", "1"), text("a", ""), text("z", "1"), text("\u{e000}", "true"), text("z", "x\r\n")];
        let body = form_as_value(&pairs).map(|value| value.to_text());
        assert_eq!(body.as_deref(), Some("{\"z\":[\"1\",\"1\",\"x\\r\\n\"],\"a\":\"\",\"\u{e000}\":\"true\"}"));
    }

    #[test]
    fn r14_given_a_file_then_there_is_no_json_body() {
        let file = Field::File { name: "a.txt".to_string(), size: 3, sha256: [0; 32] };
        assert_eq!(form_as_value(&[text("a", "1"), ("f".to_string(), file)]), None);
        assert_eq!(form_as_value(&[]), Some(Value::Object(Vec::new())));
    }
}
