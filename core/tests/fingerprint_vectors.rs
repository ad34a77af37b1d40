//! The shared vectors against the native side (R13). The browser module runs the same file.
#![cfg(feature = "native-numbers")]

use postonce_core::fingerprint::{
    Canonical, Digest, Field, FingerprintError, Target, canonical_pairs, canonical_value, ecmascript_lexeme,
    form_as_value, native_lexeme,
};
use postonce_core::json;
use postonce_core::key::Key;
use serde_json::Value;

const VECTORS: &str = include_str!("../../tests/vectors/fingerprint.json");

/// Fewer would mean that the file was cut short.
const VECTORS_MIN: usize = 45;

const ERROR_CODES: [&str; 5] = ["syntax", "duplicate_member", "lone_surrogate", "number_out_of_range", "too_deep"];

fn vectors() -> Vec<Value> {
    let file: Value = serde_json::from_str(VECTORS).expect("the vector file is JSON");
    assert_eq!(file["version"], 1);
    file["vectors"].as_array().expect("vectors").clone()
}

fn text(value: &Value) -> String {
    value.as_str().expect("a string").to_owned()
}

fn text_pairs(value: &Value) -> Vec<(String, String)> {
    value.as_array().expect("pairs").iter().map(|pair| (text(&pair[0]), text(&pair[1]))).collect()
}

fn form_pairs(value: &Value) -> Vec<(String, Field)> {
    let field = |value: &Value| {
        let file = &value["file"];
        if file.is_null() {
            return Field::Text(text(value));
        }
        Field::File {
            name: text(&file["name"]),
            size: file["size"].as_u64().expect("a size"),
            sha256: sha256(&text(&file["sha256"])),
        }
    };
    value.as_array().expect("pairs").iter().map(|pair| (text(&pair[0]), field(&pair[1]))).collect()
}

fn sha256(hex: &str) -> [u8; 32] {
    assert_eq!(hex.len(), 64);
    core::array::from_fn(|at| u8::from_str_radix(&hex[at * 2..at * 2 + 2], 16).expect("hex"))
}

fn key(vector: &Value) -> Key {
    Key::parse(&text(&vector["key"])).expect("a key")
}

/// Hands a vector's target and volatile names to `run`.
fn with_target<T>(vector: &Value, run: impl FnOnce(&Target<'_>, &[String]) -> T) -> T {
    let (operation, method) = (text(&vector["target"]["operation"]), text(&vector["target"]["method"]));
    let (path, query) = (text_pairs(&vector["target"]["path"]), text_pairs(&vector["target"]["query"]));
    let volatile: Vec<String> = vector["volatile"].as_array().expect("volatile").iter().map(text).collect();
    run(&Target { operation: &operation, method: &method, path: &path, query: &query }, &volatile)
}

fn of_json(vector: &Value, json: &str) -> Result<Canonical, FingerprintError> {
    let payload = json::parse(json)?;
    with_target(vector, |target, volatile| canonical_value(target, &payload, volatile, native_lexeme))
}

fn canonical(vector: &Value) -> Result<Canonical, FingerprintError> {
    match vector["json"].as_str() {
        Some(json) => of_json(vector, json),
        None => {
            let pairs = form_pairs(&vector["form"]);
            with_target(vector, |target, volatile| canonical_pairs(target, &pairs, volatile))
        }
    }
}

fn place(error: &FingerprintError) -> Option<&str> {
    match error {
        FingerprintError::NumberOutOfRange { at } | FingerprintError::NumberInvalid { at } => Some(at),
        FingerprintError::Json(_) => None,
    }
}

#[test]
fn r13_given_the_shared_vectors_then_every_canonical_text_digest_and_error_is_byte_identical() {
    let vectors = vectors();
    assert!(vectors.len() >= VECTORS_MIN, "{} vectors", vectors.len());
    for vector in &vectors {
        let name = &vector["name"];
        match canonical(vector) {
            Ok(found) => {
                assert_eq!(vector["error"], Value::Null, "{name} was accepted");
                assert_eq!(core::str::from_utf8(found.as_bytes()), Ok(text(&vector["canonical"]).as_str()), "{name}");
                let digest = Digest::of(&key(vector), &found);
                assert_eq!(digest.to_text(), text(&vector["digest"]), "{name}");
                assert_eq!(Digest::parse(&text(&vector["digest"])), Some(digest), "{name}");
            }
            Err(error) => {
                assert_eq!(vector["error"], error.code(), "{name}");
                assert_eq!(vector["canonical"], Value::Null, "{name}");
                if vector["at"].is_string() {
                    assert_eq!(vector["at"].as_str(), place(&error), "{name}");
                }
            }
        }
    }
}

#[test]
fn r13_given_vectors_that_name_each_other_then_what_is_said_of_them_holds() {
    let vectors = vectors();
    let named = |reference: &Value| {
        let mut found = vectors.iter().filter(|vector| vector["name"] == *reference);
        let vector = found.next().unwrap_or_else(|| panic!("no vector {reference}"));
        assert_eq!(found.next(), None, "{reference} twice");
        let canonical = canonical(vector).unwrap_or_else(|error| panic!("{reference}: {error}"));
        (Digest::of(&key(vector), &canonical), canonical)
    };
    let mut relations = 0;
    for vector in &vectors {
        let name = &vector["name"];
        for relation in ["same_as", "same_canonical_as", "differs_from"] {
            if vector[relation].is_null() {
                continue;
            }
            relations += 1;
            let (own, other) = (named(name), named(&vector[relation]));
            match relation {
                "same_as" => assert_eq!(own, other, "{name}"),
                "same_canonical_as" => assert_eq!(own.1, other.1, "{name}"),
                _ => assert_ne!(own.0, other.0, "{name}"),
            }
        }
    }
    assert!(relations > 40, "{relations}");
}

#[test]
fn r14_given_a_form_without_files_then_the_json_body_made_of_it_has_the_same_fingerprint() {
    let mut compared = 0;
    for vector in vectors().iter().filter(|vector| vector["form"].is_array() && vector["error"].is_null()) {
        let pairs = form_pairs(&vector["form"]);
        // Names that only line ends keep apart are two members of a body, which is refused rather than merged.
        if vector["name"] == "newline_in_names_of_a_form_makes_one_name" {
            continue;
        }
        if let Some(body) = form_as_value(&pairs) {
            assert_eq!(of_json(vector, &body.to_text()), canonical(vector), "{}", vector["name"]);
            compared += 1;
        }
    }
    assert!(compared > 30, "{compared}");
}

#[test]
fn r13_given_numbers_as_the_native_side_wrote_them_then_the_browser_rule_gives_the_same_bytes() {
    for vector in vectors().iter().filter(|vector| vector["json"].is_string() && vector["error"].is_null()) {
        let canonical_text = text(&vector["canonical"]);
        let (_, tail) = canonical_text.split_once("\"payload\":").expect("a payload");
        let (payload, _) = tail.rsplit_once(",\"query\":").expect("a query");
        let payload = json::parse(payload).expect("canonical text is JSON");
        let again =
            with_target(vector, |target, volatile| canonical_value(target, &payload, volatile, ecmascript_lexeme));
        let again = again.unwrap_or_else(|error| panic!("{}: {error}", vector["name"]));
        assert_eq!(core::str::from_utf8(again.as_bytes()), Ok(canonical_text.as_str()), "{}", vector["name"]);
    }
}

#[test]
fn r12_given_the_vectors_then_every_kind_of_error_and_rule_is_among_them() {
    let vectors = vectors();
    for code in ERROR_CODES {
        assert!(vectors.iter().any(|vector| vector["error"] == code), "no vector for {code}");
    }
    for vector in vectors.iter().filter(|vector| !vector["error"].is_null()) {
        assert!(ERROR_CODES.contains(&text(&vector["error"]).as_str()), "{}", vector["name"]);
    }
    for rule in ["R11", "R12", "R14", "R15", "R16", "R18"] {
        assert!(vectors.iter().any(|vector| vector["rule"] == rule), "no vector for {rule}");
    }
}
