//! The shared `Retry-After` vectors against the core (R46, R47, R49, F30).

use postonce_core::time::{Millis, Wall};
use postonce_core::{http_date, retry_after};
use serde_json::Value;

const VECTORS: &str = include_str!("../../tests/vectors/retry_after.json");

/// Fewer would mean that the file was cut short.
const VECTORS_MIN: usize = 80;

fn vectors() -> Vec<Value> {
    let file: Value = serde_json::from_str(VECTORS).expect("the vector file is JSON");
    assert_eq!(file["version"], 1);
    file["vectors"].as_array().expect("vectors").clone()
}

fn wanted(vector: &Value) -> Option<Millis> {
    let wait = &vector["delay_ms"];
    if wait == "max" {
        return Some(Millis(u64::MAX));
    }
    (!wait.is_null()).then(|| Millis(wait.as_u64().expect("milliseconds")))
}

fn read(vector: &Value) -> Option<Millis> {
    let now = Wall(vector["now"].as_u64().expect("an instant"));
    let date = vector["date"].as_str().and_then(|text| http_date::parse(text, now));
    retry_after::parse(vector["value"].as_str().expect("a value"), date, now)
}

#[test]
fn r46_given_each_shared_vector_then_the_wait_is_as_stated() {
    let vectors = vectors();
    assert!(vectors.len() >= VECTORS_MIN);
    for vector in vectors {
        assert!(vector.get("delay_ms").is_some(), "{} states no wait", vector["name"]);
        assert_eq!(read(&vector), wanted(&vector), "{} ({})", vector["name"], vector["rule"]);
    }
}

#[test]
fn r46_given_the_vectors_then_each_name_stands_once() {
    let mut names: Vec<String> = vectors().iter().map(|vector| vector["name"].to_string()).collect();
    let count = names.len();
    names.sort();
    names.dedup();
    assert_eq!(names.len(), count);
}

#[test]
fn r50_given_any_usable_value_then_no_instant_derived_from_it_wraps() {
    for vector in vectors() {
        let now = Wall(vector["now"].as_u64().expect("an instant"));
        let Some(delay) = read(&vector) else { continue };
        assert!(now.plus(delay) >= now, "{}", vector["name"]);
    }
}
