//! The shared vectors of answers and records against the native build; the browser module runs the same ones (R13).
#![allow(clippy::panic, reason = "the lint knows `#[test]` only")]

#[path = "../../tests/vectors/records.rs"]
mod records;
#[path = "../../tests/vectors/shape.rs"]
mod shape;
#[path = "../../tests/vectors/status.rs"]
mod status;
#[path = "../../tests/vectors/verdicts.rs"]
mod verdicts;

#[test]
fn r127_given_each_shared_answer_then_the_verdict_of_the_table_and_never_a_bolder_one() {
    let count = verdicts::check();
    assert!(count >= 240, "the file was not cut short: {count}");
}

#[test]
fn r85_given_each_shared_record_then_it_is_read_as_stated_and_never_shown_idle_in_doubt() {
    let count = records::check();
    assert!(count >= 160, "the file was not cut short: {count}");
}

#[test]
fn r61_given_each_shared_status_answer_then_only_a_tied_fence_proves_not_applied() {
    let count = status::check();
    assert!(count >= 70, "the file was not cut short: {count}");
}

#[test]
fn r41_given_each_shared_problem_body_then_only_a_type_of_ours_is_our_answer() {
    let count = status::check_problems();
    assert!(count >= 35, "the file was not cut short: {count}");
}
