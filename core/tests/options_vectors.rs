//! The shared option vectors against the core (R7, R88, R125). The facade runs the same file.

use postonce_core::operation::{FIELDS, InvalidOption, Operation, OperationInput};
use serde_json::Value;

const VECTORS: &str = include_str!("../../tests/vectors/options.json");

/// Fewer would mean that the file was cut short.
const VECTORS_MIN: usize = 90;

fn vectors() -> Vec<Value> {
    let file: Value = serde_json::from_str(VECTORS).expect("the vector file is JSON");
    assert_eq!(file["version"], 1);
    file["vectors"].as_array().expect("vectors").clone()
}

fn text(value: &Value) -> Option<String> {
    (!value.is_null()).then(|| value.as_str().expect("a text").to_owned())
}

fn number(value: &Value) -> Option<f64> {
    match value.as_str() {
        Some("NaN") => Some(f64::NAN),
        Some("Infinity") => Some(f64::INFINITY),
        word => {
            assert_eq!(word, None, "no number");
            value.as_f64()
        }
    }
}

fn names(value: &Value) -> Vec<String> {
    value.as_array().map(|list| list.iter().filter_map(text).collect()).unwrap_or_default()
}

/// One of the facade's words for a yes.
fn says(value: &Value, word: &str) -> bool {
    assert!(value.is_null() || value == word);
    value == word
}

fn input(vector: &Value) -> OperationInput {
    let input = &vector["input"];
    let expect = input["expect"].as_object().into_iter().flatten();
    OperationInput {
        name: text(&input["name"]).expect("a name"),
        url: text(&input["url"]).expect("a URL"),
        method: text(&input["method"]),
        effect: text(&input["effect"]),
        contract: text(&input["contract"]),
        budget: number(&input["budget"]),
        attempts: number(&input["attempts"]),
        attempt_cap: number(&input["attemptCap"]),
        significant: names(&input["significant"]),
        volatile: names(&input["volatile"]),
        remember: names(&input["remember"]),
        status_url: text(&input["status"]["url"]),
        object: text(&input["object"]),
        persistence: text(&input["persistence"]),
        reconcile: text(&input["reconcile"]),
        encoding: text(&input["encoding"]),
        retention: number(&input["retention"]),
        result_id: text(&input["resultId"]),
        expect: expect.filter_map(|(name, pointer)| Some((name.clone(), text(pointer)?))).collect(),
        confirm_empty: input["confirm"]["empty"] == true,
        redirected_to: input["confirm"]["redirectedTo"].as_str().map(String::from),
        anonymous: input["anonymous"] == true,
        refusals_final: says(&input["refusals"], "final"),
        echo_none: says(&input["echo"], "none"),
        base: text(&vector["base"]),
    }
}

#[test]
fn r125_given_each_shared_vector_then_defined_or_refused_by_the_stated_rule() {
    let vectors = vectors();
    assert!(vectors.len() >= VECTORS_MIN);
    for vector in vectors {
        let name = &vector["name"];
        match Operation::define(input(&vector)) {
            Ok(_) => assert_eq!(vector["ok"], true, "{name}: defined, although {} breaks a rule", vector["field"]),
            Err(InvalidOption { field, rule, item }) => {
                assert_ne!(vector["ok"], true, "{name}: {field} {}", rule.as_str());
                assert_eq!((&vector["field"], &vector["rule"]), (&field.into(), &rule.as_str().into()), "{name}");
                assert_eq!(text(&vector["item"]), item, "{name}");
            }
        }
    }
}

#[test]
fn r125_given_any_refusal_then_it_names_an_option_that_exists_and_a_remedy() {
    for vector in vectors() {
        let Err(invalid) = Operation::define(input(&vector)) else { continue };
        let option = invalid.field.split('.').next().expect("a name");
        assert!(FIELDS.contains(&option), "{option}");
        assert!(invalid.remedy().ends_with('.'));
        assert!(invalid.to_string().contains(invalid.rule.as_str()));
    }
}

#[test]
fn r125_given_the_list_of_options_then_it_holds_every_one_the_vectors_use_once() {
    let vectors = vectors();
    for vector in &vectors {
        for option in vector["input"].as_object().expect("options").keys() {
            assert_eq!(FIELDS.iter().filter(|field| **field == option.as_str()).count(), 1, "{option}");
        }
    }
    let full = vectors.iter().find(|vector| vector["name"] == "everything").expect("the full vector");
    for field in FIELDS.iter().filter(|field| !["headers", "transport", "keepalive"].contains(field)) {
        assert!(full["input"].get(*field).is_some(), "{field}");
    }
}

/// What the facade hands over: the same options with whole numbers.
fn handed_over(input: &Value) -> String {
    let mut input = input.clone();
    for (_, value) in input.as_object_mut().expect("options") {
        if let Some(number) = value.as_f64() {
            *value = Value::from(number.floor() as u64);
        }
    }
    input.to_string()
}

#[test]
fn r125_given_sound_options_then_the_browser_reads_the_entry_that_the_check_makes() {
    let mut read = 0;
    for vector in vectors() {
        let Ok(defined) = Operation::define(input(&vector)) else { continue };
        let options = postonce_core::json::parse(&handed_over(&vector["input"])).expect("JSON");
        assert_eq!(Operation::from_checked(&options), defined, "{}", vector["name"]);
        read += 1;
    }
    assert!(read >= 10, "the file was not cut short: {read}");
}
