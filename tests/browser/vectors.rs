//! The shared vectors in the WebAssembly build, with the browser's own `JSON` in between where a page has it there
//! (R13): the same bytes as on the server, or the same refusal.
#![cfg(target_arch = "wasm32")]
#![allow(clippy::panic, reason = "the lint knows `#[test]` only")]

use postonce_core::fingerprint::{
    Canonical, Digest, Field, FingerprintError, Target, canonical_pairs, canonical_value, ecmascript_lexeme,
};
use postonce_core::json::{self, Value};
use postonce_core::key::Key;
use postonce_core::operation::Operation;
use postonce_core::time::Wall;
use postonce_core::{http_date, retry_after};
use wasm_bindgen_test::{wasm_bindgen_test, wasm_bindgen_test_configure};

#[path = "../vectors/records.rs"]
mod records;
#[path = "../vectors/shape.rs"]
mod shape;
#[path = "../vectors/status.rs"]
mod status;
#[path = "../vectors/verdicts.rs"]
mod verdicts;

wasm_bindgen_test_configure!(run_in_browser);

const FINGERPRINTS: &str = include_str!("../vectors/fingerprint.json");
const WAITS: &str = include_str!("../vectors/retry_after.json");
const OPTIONS: &str = include_str!("../vectors/options.json");

fn vectors(file: &str) -> Vec<Value> {
    let file = json::parse(file).expect("the vector file is JSON");
    file.get("vectors").and_then(Value::as_array).expect("vectors").to_vec()
}

fn text(of: &Value, name: &str) -> String {
    of.get(name).and_then(Value::as_str).unwrap_or_else(|| panic!("no text `{name}`")).to_owned()
}

fn list<'v>(of: &'v Value, name: &str) -> &'v [Value] {
    of.get(name).and_then(Value::as_array).unwrap_or_else(|| panic!("no list `{name}`"))
}

fn pair(of: &Value) -> (String, &Value) {
    match of.as_array() {
        Some([Value::String(name), value]) => (name.clone(), value),
        _ => panic!("no pair: {of:?}"),
    }
}

fn texts(of: &[Value]) -> Vec<(String, String)> {
    of.iter().map(pair).map(|(name, value)| (name, value.as_str().expect("a text").to_owned())).collect()
}

fn field(of: &Value) -> Field {
    let Some(file) = of.get("file") else { return Field::Text(of.as_str().expect("a text").to_owned()) };
    let hex = text(file, "sha256");
    let sha256 = core::array::from_fn(|at| u8::from_str_radix(&hex[at * 2..at * 2 + 2], 16).expect("hex"));
    Field::File { name: text(file, "name"), size: file.get("size").and_then(Value::as_u64).expect("a size"), sha256 }
}

/// As a page does it: the payload is an object there, and its text is what `JSON.stringify` writes.
fn as_the_page_writes_it(json: &str) -> Option<String> {
    let parsed = js_sys::JSON::parse(json).ok()?;
    js_sys::JSON::stringify(&parsed).ok().and_then(|text| text.as_string())
}

fn canonical(vector: &Value) -> Option<Result<Canonical, FingerprintError>> {
    let target = vector.get("target").expect("a target");
    let (operation, method) = (text(target, "operation"), text(target, "method"));
    let (path, query) = (texts(list(target, "path")), texts(list(target, "query")));
    let volatile: Vec<String> = list(vector, "volatile").iter().filter_map(Value::as_str).map(String::from).collect();
    let target = Target { operation: &operation, method: &method, path: &path, query: &query };
    let Some(payload) = vector.get("json").and_then(Value::as_str) else {
        let pairs: Vec<(String, Field)> =
            list(vector, "form").iter().map(pair).map(|(name, value)| (name, field(value))).collect();
        return Some(canonical_pairs(&target, &pairs, &volatile));
    };
    let payload = match json::parse(&as_the_page_writes_it(payload)?) {
        Ok(payload) => payload,
        Err(error) => return Some(Err(error.into())),
    };
    Some(canonical_value(&target, &payload, &volatile, ecmascript_lexeme))
}

#[wasm_bindgen_test]
fn r13_given_each_fingerprint_vector_then_the_page_has_the_servers_digest_or_refusal() {
    let (mut same, mut refused) = (0, 0);
    for vector in vectors(FINGERPRINTS) {
        let name = text(&vector, "name");
        // What a page's own parser has already lost cannot be told here; the server refuses it.
        if vector.get("text_only").is_some() {
            continue;
        }
        match (canonical(&vector), vector.get("error")) {
            (Some(Ok(canonical)), None) => {
                let key = Key::parse(&text(&vector, "key")).expect("a key");
                assert_eq!(canonical.as_bytes(), text(&vector, "canonical").as_bytes(), "{name}");
                assert_eq!(Digest::of(&key, &canonical).to_text(), text(&vector, "digest"), "{name}");
                same += 1;
            }
            (Some(Err(_)) | None, Some(_)) => refused += 1,
            (got, wanted) => panic!("{name}: {got:?} instead of {wanted:?}"),
        }
    }
    assert!(same >= 90 && refused >= 8, "the file was not cut short: {same} and {refused}");
}

#[wasm_bindgen_test]
fn r46_given_each_retry_after_vector_then_the_page_waits_as_stated() {
    let waits = vectors(WAITS);
    assert!(waits.len() >= 80);
    for vector in waits {
        let now = Wall(vector.get("now").and_then(Value::as_u64).expect("an instant"));
        let date = vector.get("date").and_then(Value::as_str).and_then(|text| http_date::parse(text, now));
        let wait = retry_after::parse(&text(&vector, "value"), date, now).map(|wait| wait.0);
        let wanted = vector.get("delay_ms");
        let wanted =
            if wanted.and_then(Value::as_str) == Some("max") { Some(u64::MAX) } else { wanted.and_then(Value::as_u64) };
        assert_eq!(wait, wanted, "{}", text(&vector, "name"));
    }
}

#[wasm_bindgen_test]
fn r125_given_sound_options_then_what_the_module_reads_is_what_was_written() {
    let mut read = 0;
    for vector in vectors(OPTIONS) {
        let input = vector.get("input").expect("an input");
        if vector.get("ok").is_none() {
            continue;
        }
        let operation = Operation::from_checked(input);
        assert_eq!(operation.name, text(input, "name"));
        assert_eq!(operation.url, text(input, "url"));
        if let Some(budget) = input.get("budget").and_then(Value::as_u64) {
            assert_eq!(operation.budget.0, budget, "{}", text(&vector, "name"));
        }
        assert!(operation.attempt_cap() <= operation.budget && operation.attempts >= 1);
        read += 1;
    }
    assert!(read >= 10, "the file was not cut short: {read}");
}

#[wasm_bindgen_test]
fn r127_given_each_shared_answer_then_the_page_judges_as_the_table_says() {
    let count = verdicts::check();
    assert!(count >= 240, "the file was not cut short: {count}");
}

#[wasm_bindgen_test]
fn r85_given_each_shared_record_then_the_page_reads_it_as_stated_and_never_shows_idle_in_doubt() {
    let count = records::check();
    assert!(count >= 160, "the file was not cut short: {count}");
}

#[wasm_bindgen_test]
fn r61_given_each_shared_status_answer_then_only_a_tied_fence_proves_not_applied() {
    let count = status::check();
    assert!(count >= 70, "the file was not cut short: {count}");
}

#[wasm_bindgen_test]
fn r41_given_each_shared_problem_body_then_only_a_type_of_ours_is_our_answer() {
    let count = status::check_problems();
    assert!(count >= 35, "the file was not cut short: {count}");
}
