//! What holds of the fingerprint for any request (R11 to R18), against a model that knows nothing of JSON. The seed is
//! fixed unless `PROPTEST_RNG_SEED` or `PROPTEST_CASES` say otherwise.
#![cfg(feature = "native-numbers")]

use std::collections::BTreeMap;

use postonce_core::fingerprint::{
    Canonical, Digest, Field, Target, canonical_pairs, canonical_value, ecmascript_lexeme, form_as_value, native_lexeme,
};
use postonce_core::json;
use postonce_core::key::Key;
use proptest::prelude::*;
use proptest::test_runner::RngSeed;

fn config() -> ProptestConfig {
    let seed = std::env::var_os("PROPTEST_RNG_SEED").map_or(RngSeed::Fixed(1), |_| ProptestConfig::default().rng_seed);
    ProptestConfig { rng_seed: seed, failure_persistence: None, ..ProptestConfig::default() }
}

/// Two lists of few names and few values: often equal in one way and different in another. NFC and NFD are two texts.
const NAMES: [&str; 8] = ["a", "b", "A", "", "é", "e\u{301}", "a\nb", "_idempotency_key"];
const VALUES: [&str; 8] = ["", "1", "01", "x\ny", "\u{1f600}", "é", "e\u{301}", "\"],[\""];

fn name() -> impl Strategy<Value = String> {
    prop_oneof![9 => prop::sample::select(&NAMES[..]).prop_map(String::from), 1 => any::<String>()]
}

fn value() -> impl Strategy<Value = String> {
    prop_oneof![6 => prop::sample::select(&VALUES[..]).prop_map(String::from), 1 => any::<String>()]
}

fn field() -> impl Strategy<Value = Field> {
    prop_oneof![
        4 => value().prop_map(Field::Text),
        1 => (value(), 0..3_u64, 0..2_u8).prop_map(|(name, size, content)| {
            Field::File { name, size, sha256: [content; 32] }
        }),
    ]
}

fn pairs() -> impl Strategy<Value = Vec<(String, Field)>> {
    prop::collection::vec((name(), field()), 0..5)
}

fn texts() -> impl Strategy<Value = Vec<(String, String)>> {
    prop::collection::vec((name(), value()), 0..4)
}

fn target() -> Target<'static> {
    Target { operation: "order.create", method: "POST", path: &[], query: &[] }
}

fn canonical(pairs: &[(String, Field)], volatile: &[String]) -> Canonical {
    canonical_pairs(&target(), pairs, volatile).expect("a small form has a fingerprint")
}

fn line_feeds(text: &str) -> String {
    text.replace("\r\n", "\n").replace('\r', "\n")
}

/// What the rules say counts: per name its values in order, line ends alike, without the contract's own names.
fn model(pairs: &[(String, Field)]) -> BTreeMap<String, Vec<String>> {
    let mut names: BTreeMap<String, Vec<String>> = BTreeMap::new();
    for (name, field) in pairs {
        let shown = match field {
            Field::Text(text) => format!("text {}", line_feeds(text)),
            Field::File { name, size, sha256 } => format!("file {size} {sha256:?} {}", line_feeds(name)),
        };
        names.entry(line_feeds(name)).or_default().push(shown);
    }
    names.retain(|name, _| !name.starts_with("_idempotency_"));
    names
}

/// Line feeds as one engine or another would hand them out.
fn respelt(text: &str, line_end: &str) -> String {
    line_feeds(text).replace('\n', line_end)
}

proptest! {
    #![proptest_config(config())]

    #[test]
    fn r14_given_any_two_forms_then_they_have_one_fingerprint_exactly_if_the_rules_say_they_are_one(
        one in pairs(), other in pairs()
    ) {
        let same = model(&one) == model(&other);
        prop_assert_eq!(canonical(&one, &[]) == canonical(&other, &[]), same);
    }

    #[test]
    fn r14_given_a_shuffle_that_keeps_the_order_within_each_name_then_nothing_changes(
        pairs in pairs(), ranks in prop::collection::vec(any::<u8>(), 5)
    ) {
        let mut names: Vec<String> = pairs.iter().map(|(name, _)| name.clone()).collect();
        names.dedup();
        let rank = |name: &String| names.iter().position(|other| other == name).and_then(|at| ranks.get(at)).copied();
        let mut shuffled = pairs.clone();
        shuffled.sort_by_key(|(name, _)| (rank(name), names.iter().position(|other| other == name)));
        // Names that only their line ends keep apart are one name, and its order would change.
        prop_assume!(names.iter().all(|name| !name.contains('\r')));
        prop_assert_eq!(canonical(&shuffled, &[]), canonical(&pairs, &[]));
    }

    #[test]
    fn r14_given_two_values_of_one_name_then_their_order_counts(pairs in pairs(), one in value(), other in value()) {
        let with = |values: [&String; 2]| {
            let more = values.map(|value| ("twice".to_owned(), Field::Text(value.clone())));
            canonical(&[&pairs[..], &more[..]].concat(), &[])
        };
        let same = line_feeds(&one) == line_feeds(&other);
        prop_assert_eq!(with([&one, &other]) == with([&other, &one]), same);
    }

    #[test]
    fn r15_given_any_spelling_of_line_ends_then_nothing_changes(pairs in pairs()) {
        for line_end in ["\r\n", "\r", "\n"] {
            let respelt: Vec<_> = pairs.iter().map(|(name, field)| {
                let field = match field {
                    Field::Text(text) => Field::Text(respelt(text, line_end)),
                    Field::File { name, size, sha256 } => {
                        Field::File { name: respelt(name, line_end), size: *size, sha256: *sha256 }
                    }
                };
                (respelt(name, line_end), field)
            }).collect();
            prop_assert_eq!(canonical(&respelt, &[]), canonical(&pairs, &[]));
        }
    }

    #[test]
    fn r11_given_a_volatile_name_then_its_values_never_count_and_any_other_name_does(
        pairs in pairs(), value in value(), at in 0..6_usize
    ) {
        let volatile = ["csrf".to_owned()];
        prop_assume!(pairs.iter().all(|(name, _)| name != "csrf" && name != "csrf2"));
        let with = |name: &str| {
            let mut longer = pairs.clone();
            longer.insert(at.min(pairs.len()), (name.to_owned(), Field::Text(value.clone())));
            canonical(&longer, &volatile)
        };
        prop_assert_eq!(with("csrf"), canonical(&pairs, &volatile));
        prop_assert_ne!(with("csrf2"), canonical(&pairs, &volatile));
    }

    #[test]
    fn r14_given_a_form_without_files_then_its_json_body_has_the_same_fingerprint(texts in texts()) {
        let pairs: Vec<_> = texts.iter().map(|(name, text)| (line_feeds(name), Field::Text(text.clone()))).collect();
        let body = form_as_value(&pairs).expect("no file");
        let read = json::parse(&body.to_text()).expect("what is written reads back");
        let as_json = canonical_value(&target(), &read, &[], native_lexeme).expect("text only");
        prop_assert_eq!(as_json, canonical(&pairs, &[]));
    }

    #[test]
    fn r18_given_any_two_requests_then_their_digests_are_equal_exactly_if_key_and_canonical_text_are(
        one in pairs(), other in pairs(), keys in (0..2_u8, 0..2_u8)
    ) {
        let (one, other) = (canonical(&one, &[]), canonical(&other, &[]));
        let digest = |key: u8, canonical: &Canonical| Digest::of(&Key::from_random([key; 16]), canonical);
        let (first, second) = (digest(keys.0, &one), digest(keys.1, &other));
        prop_assert_eq!(first == second, keys.0 == keys.1 && one == other);
        prop_assert_eq!(Digest::parse(&first.to_text()), Some(first));
    }

    #[test]
    fn r12_given_any_two_targets_then_they_have_one_canonical_text_exactly_if_they_are_one(
        paths in (texts(), texts()), queries in (texts(), texts())
    ) {
        let per_name = |pairs: &[(String, String)]| {
            let fields: Vec<_> = pairs.iter().map(|(name, text)| (["n", name].concat(), Field::Text(text.clone()))).collect();
            model(&fields)
        };
        let at = |path: &[(String, String)], query: &[(String, String)]| {
            canonical_pairs(&Target { path, query, ..target() }, &[], &[])
        };
        let (one, other) = (at(&paths.0, &queries.0), at(&paths.1, &queries.1));
        let repeats = |path: &[(String, String)]| per_name(path).values().any(|values| values.len() > 1);
        prop_assert_eq!(one.is_err(), repeats(&paths.0), "a path parameter named twice");
        if let (Ok(one), Ok(other)) = (one, other) {
            let same = per_name(&paths.0) == per_name(&paths.1) && per_name(&queries.0) == per_name(&queries.1);
            prop_assert_eq!(one == other, same);
        }
    }

    #[test]
    fn r12_given_any_number_then_every_spelling_of_it_has_one_text_that_both_sides_take(
        number in prop_oneof![-1e6..1e6_f64, any::<f64>(), (-9_007_199_254_740_991_i64..=9_007_199_254_740_991).prop_map(|whole| whole as f64)]
    ) {
        let spellings = [format!("{number:?}"), format!("{number:e}"), format!("{number}")];
        let texts = spellings.each_ref().map(|spelling| native_lexeme(spelling));
        prop_assert!(texts.iter().all(|text| *text == texts[0]), "{texts:?}");
        let safe = number.is_finite() && number.abs() <= 9_007_199_254_740_991.0;
        prop_assert_eq!(texts[0].is_some(), safe, "{} is beyond two readers", number);
        if let Some(text) = &texts[0] {
            prop_assert_eq!(text.parse::<f64>().ok(), Some(number));
            prop_assert_eq!(ecmascript_lexeme(text), Some(text.clone()), "R13");
        }
    }
}
