//! Every target over its seeds, its kept corpus, and a fixed number of mutations of both: the same in every run.

use std::path::Path;

use postonce_fuzz::{Draw, TARGETS, Target, seeds};

/// Mutations of each target: a few seconds without optimisation.
const MUTATIONS: u64 = 25_000;

/// Where the first draw starts; a failure names the one it was found with.
const SEED: u64 = 1;

fn corpus(target: &Target) -> Vec<Vec<u8>> {
    let mut inputs = seeds(target.name);
    assert!(inputs.len() >= 7, "{} has seeds", target.name);
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("corpus").join(target.name);
    let mut kept: Vec<_> = match std::fs::read_dir(&folder) {
        Ok(entries) => entries.map(|entry| entry.expect("an entry").path()).collect(),
        // A target that has found nothing yet has no folder.
        Err(_) => Vec::new(),
    };
    kept.sort();
    inputs.extend(kept.iter().map(|path| std::fs::read(path).expect("an input")));
    inputs
}

fn search(name: &str) {
    let target = postonce_fuzz::target(name).expect("a target");
    let corpus = corpus(target);
    corpus.iter().for_each(|input| (target.run)(input));
    for number in SEED..SEED + MUTATIONS {
        let mut draw = Draw::new(number);
        let (one, other) = (draw.below(corpus.len()), draw.below(corpus.len()));
        let input = draw.mutate(&corpus[one], &corpus[other]);
        let held = std::panic::catch_unwind(|| (target.run)(&input)).is_ok();
        assert!(held, "{name}: draw {number} breaks a property: {:?}", String::from_utf8_lossy(&input));
    }
}

macro_rules! targets {
    ($($test:ident = $name:literal),+ $(,)?) => {
        $(#[test] fn $test() { search($name); })+

        #[test]
        fn given_the_list_of_targets_then_each_is_searched_here() {
            assert_eq!(TARGETS.map(|target| target.name), [$($name),+]);
        }
    };
}

targets! {
    r12_given_any_text_then_two_readers_of_json_agree_and_what_is_written_reads_back = "json",
    r13_given_any_payload_then_its_canonical_text_is_its_own_canonical_text = "fingerprint",
    r14_given_any_form_then_neither_order_of_names_nor_line_ends_nor_encoding_change_its_fingerprint = "form",
    r85_given_any_stored_text_then_what_may_have_left_is_never_idle_and_never_gets_a_second_key = "record",
    r127_given_any_answer_then_no_outcome_that_it_does_not_carry = "verdict",
    r57_given_any_status_answer_then_no_outcome_on_the_key_alone = "status",
    r48_given_any_retry_after_then_never_a_shorter_wait_than_stated = "retry_after",
    r47_given_any_http_date_then_it_is_written_and_read_as_the_same_instant = "http_date",
    r102_given_any_field_then_never_the_first_of_two_keys = "structured",
    r125_given_any_options_then_within_the_limits_and_never_more_daring_than_said = "options",
}
