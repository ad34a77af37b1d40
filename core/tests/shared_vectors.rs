//! The shared vectors of answers and records against the native build; the browser module runs the same ones (R13).
#![allow(clippy::panic, reason = "the lint knows `#[test]` only")]

#[path = "../../tests/vectors/records.rs"]
mod records;
#[path = "../../tests/vectors/shape.rs"]
mod shape;
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
