//! What a submit carries: the bytes to send, frozen once, and the wish that the machine compares (R44).

use postonce_core::fingerprint::{self, Field, FingerprintError, Target, ecmascript_lexeme, form_as_value};
use postonce_core::json;
use postonce_core::machine::event::Wish;
use postonce_core::operation::Operation;
use wasm_bindgen::prelude::*;

use crate::member::{get, items};

#[wasm_bindgen]
extern "C" {
    #[wasm_bindgen(js_name = URL)]
    type Address;
    #[wasm_bindgen(constructor, catch, js_class = "URL")]
    fn new(url: &str, base: &JsValue) -> Result<Address, JsValue>;
    #[wasm_bindgen(method, getter, js_name = searchParams, js_class = "URL")]
    fn search(this: &Address) -> JsValue;
}

/// The bytes of one wish. Every attempt sends these and no others.
pub(crate) struct Payload {
    /// A text, or the form's own snapshot.
    pub(crate) body: JsValue,
    /// `None` where the browser writes it, with the boundary.
    pub(crate) media_type: Option<&'static str>,
}

/// Why a submit carries nothing that could be sent.
pub(crate) enum Unusable {
    /// A file that came without its content's digest.
    File(String),
    /// The payload has no one canonical form (R12).
    Payload(String),
}

/// A form's snapshot as wish and bytes: pairs of name and value, or of name, file name, digest and size. `body` are the bytes, in an encoding whose media type the browser writes;
/// undefined for JSON, which is made of the pairs here.
pub(crate) fn from_form(
    data: &JsValue,
    body: JsValue,
    operation: &Operation,
    base: &JsValue,
) -> Result<(Wish, Payload), Unusable> {
    let (mut pairs, mut fields) = (Vec::new(), Vec::new());
    for pair in items(data) {
        let part = |at| get(&pair, at).as_string();
        let name = part("0").unwrap_or_default();
        let field = match (part("1"), part("2")) {
            // Its digest, and its size as text.
            (Some(file), Some(digest)) => {
                let size = part("3").and_then(|size| size.parse().ok());
                size.and_then(|size| Field::file(&file, size, &digest))
            }
            (Some(value), None) => {
                pairs.push((name.clone(), value.clone()));
                Some(Field::Text(value))
            }
            (None, _) => None,
        };
        let Some(field) = field else { return Err(Unusable::File(name)) };
        fields.push((name, field));
    }
    let query = query_of(operation, base);
    let canonical = fingerprint::canonical_pairs(&target(operation, &query), &fields, &operation.volatile)
        .map_err(|error| unusable(&error))?;
    let payload = if body.is_undefined() {
        let text = form_as_value(&fields).map(|value| value.to_text()).unwrap_or_default();
        Payload { body: text.into(), media_type: Some("application/json") }
    } else {
        Payload { body, media_type: None }
    };
    Ok((wish(canonical, &pairs, operation), payload))
}

/// A JSON payload (`intent.submit`) as wish and bytes.
pub(crate) fn from_json(text: &str, operation: &Operation, base: &JsValue) -> Result<(Wish, Payload), Unusable> {
    let value = json::parse(text).map_err(|error| Unusable::Payload(error.code().into()))?;
    let query = query_of(operation, base);
    let canonical =
        fingerprint::canonical_value(&target(operation, &query), &value, &operation.volatile, ecmascript_lexeme)
            .map_err(|error| unusable(&error))?;
    let mut pairs = Vec::new();
    if let json::Value::Object(members) = &value {
        for (name, member) in members {
            if let json::Value::String(text) | json::Value::Number(text) = member {
                pairs.push((name.clone(), text.clone()));
            }
        }
    }
    let payload = Payload { body: text.into(), media_type: Some("application/json") };
    Ok((wish(canonical, &pairs, operation), payload))
}

fn unusable(error: &FingerprintError) -> Unusable {
    Unusable::Payload(match error {
        FingerprintError::Json(error) => error.code().into(),
        FingerprintError::NumberOutOfRange { at } | FingerprintError::NumberInvalid { at } => at.clone(),
    })
}

const fn target<'a>(operation: &'a Operation, query: &'a [(String, String)]) -> Target<'a> {
    Target { operation: operation.name.as_str(), method: operation.method.as_str(), path: &[], query }
}

fn query_of(operation: &Operation, base: &JsValue) -> Vec<(String, String)> {
    let mut query = Vec::new();
    if let Ok(address) = Address::new(&operation.url, base) {
        for pair in items(&address.search()) {
            let part = |at| get(&pair, at).as_string().unwrap_or_default();
            query.push((part("0"), part("1")));
        }
    }
    query
}

fn wish(canonical: fingerprint::Canonical, pairs: &[(String, String)], operation: &Operation) -> Wish {
    let pick = |wanted: &dyn Fn(&str) -> bool| -> Vec<(String, String)> {
        pairs.iter().filter(|(name, _)| wanted(name)).cloned().collect()
    };
    Wish {
        canonical,
        remembered: pick(&|name| operation.remember.iter().any(|known| known == name)),
        expected: pick(&|name| operation.expect.iter().any(|(known, _)| known == name)),
    }
}
