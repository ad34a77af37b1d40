//! The shared vectors of answers and records against the native build; the browser module runs the same ones (R13).

#[path = "../../tests/vectors/shape.rs"]
mod shape;
#[path = "../../tests/vectors/verdicts.rs"]
mod verdicts;

#[test]
fn r127_given_each_shared_answer_then_the_verdict_of_the_table_and_never_a_bolder_one() {
    let count = verdicts::check();
    assert!(count >= 240, "the file was not cut short: {count}");
}
