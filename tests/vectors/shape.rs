//! What was found, as the flat object that the vectors write it in, and how they are read.

use postonce_core::json::Value;
use postonce_core::time::Millis;

/// Flat members; those without a value are left out, as in the vectors.
#[derive(Clone, Debug)]
pub(crate) struct Shape(Vec<(&'static str, Value)>);

impl Shape {
    /// A shape with its `is`.
    pub(crate) fn named(name: &str) -> Self {
        Self(vec![("is", Value::String(name.to_owned()))])
    }

    /// A shape without an `is`.
    pub(crate) fn empty() -> Self {
        Self(Vec::new())
    }

    /// A text that always stands.
    pub(crate) fn text(mut self, name: &'static str, text: &str) -> Self {
        self.0.push((name, Value::String(text.to_owned())));
        self
    }

    /// A text that stands unless it is empty.
    pub(crate) fn filled(self, name: &'static str, text: &str) -> Self {
        if text.is_empty() { self } else { self.text(name, text) }
    }

    /// A yes or no.
    pub(crate) fn flag(mut self, name: &'static str, flag: bool) -> Self {
        self.0.push((name, Value::Bool(flag)));
        self
    }

    /// A number where there is one; the largest is written `"max"`.
    pub(crate) fn number(mut self, name: &'static str, number: Option<Millis>) -> Self {
        self.0.extend(number.map(|Millis(number)| match number {
            u64::MAX => (name, Value::String("max".to_owned())),
            _ => (name, Value::Number(number.to_string())),
        }));
        self
    }

    /// Whether the vector wants exactly these members, in any order.
    pub(crate) fn assert_is(&self, wanted: &Value, vector: &str) {
        let Value::Object(members) = wanted else { panic!("{vector}: wants {wanted:?}") };
        let same = self.0.len() == members.len() && self.0.iter().all(|(name, value)| wanted.get(name) == Some(value));
        assert!(same, "{vector}:\n found {:?}\nwanted {}", self.0, wanted.to_text());
    }
}

/// A text that has to be there.
pub(crate) fn text(of: &Value, name: &str) -> String {
    optional(of, name).unwrap_or_else(|| panic!("no text `{name}` in {}", of.to_text()))
}

/// A text that may be left out.
pub(crate) fn optional(of: &Value, name: &str) -> Option<String> {
    of.get(name).and_then(Value::as_str).map(String::from)
}

/// A list that has to be there.
pub(crate) fn list<'v>(of: &'v Value, name: &str) -> &'v [Value] {
    of.get(name).and_then(Value::as_array).unwrap_or_else(|| panic!("no list `{name}`"))
}
