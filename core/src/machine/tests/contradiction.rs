//! Answers that contradict what is on record (R66).

use super::*;
use crate::machine::state::DisputeReason;

fn rejected(key: &Key) -> Answer {
    Answer {
        key_echo: crate::structured::string_item(key.as_str()),
        replayed: Some("false".into()),
        ..problem(402, "declined", "")
    }
}

fn created_as(key: &Key, id: &str) -> Answer {
    Answer { body: Body::Text([r#"{"id":""#, id, r#"","sku":"A1","quantity":2}"#].concat()), ..created(key, "true") }
}

fn is_contradiction(desk: &Desk) -> bool {
    matches!(desk.machine.state(), State::Disputed { why: DisputeReason::Contradiction, .. })
}

/// The first attempt is given up, the second is answered so.
fn ended(second: impl Fn(&Key) -> Answer) -> Desk {
    let mut desk = Desk::new();
    desk.submit("2");
    desk.feed(Event::TransportFailed { attempt: 1 });
    desk.run(2_000);
    assert_eq!(desk.sent.len(), 2);
    let key = desk.key();
    desk.answer(second(&key));
    desk
}

#[test]
fn r66_given_a_rejection_and_a_late_success_of_the_same_key_then_disputed_and_never_flipped_in_silence() {
    let mut desk = ended(rejected);
    assert_eq!(desk.state(), "rejected");
    let key = desk.keys().pop().unwrap();
    let late = created(&desk.key(), "false");
    desk.feed(Event::Answered { attempt: 1, answer: late });
    assert!(is_contradiction(&desk), "{:?}", desk.machine.state());
    assert_ne!(desk.doubt(), Doubt::None);
    assert!(desk.may("hand_over") && !desk.may("submit"));
    let again = desk.reopen(1_000);
    assert!(is_contradiction(&again), "it is on record");
    desk.submit("2");
    desk.run(60_000);
    assert_eq!((desk.sent.len(), desk.keys()), (2, vec![key]), "and blocks its object");
}

#[test]
fn r66_given_a_success_and_a_late_rejection_or_another_result_then_disputed() {
    for late in [rejected, |key: &Key| created_as(key, "ord_2")] {
        let mut desk = ended(|key| created(key, "false"));
        assert_eq!(desk.state(), "succeeded");
        let answer = late(&desk.key());
        desk.feed(Event::Answered { attempt: 1, answer });
        assert!(is_contradiction(&desk), "{:?}", desk.machine.state());
    }
}

#[test]
fn r66_given_a_late_answer_that_agrees_proves_nothing_or_is_of_another_key_then_the_outcome_stands() {
    for late in [
        |key: &Key| created(key, "true"),
        |_: &Key| problem(409, "in-progress", ""),
        |_: &Key| status_only(503),
        |_: &Key| rejected(&Key::from_random([9; 16])),
    ] {
        let mut desk = ended(|key| created(key, "false"));
        let answer = late(&desk.key());
        desk.feed(Event::Answered { attempt: 1, answer });
        assert_eq!(desk.state(), "succeeded");
    }
}

#[test]
fn r66_given_two_tabs_that_learnt_opposite_endings_then_both_are_disputed() {
    let mut one = Desk::new();
    one.submit("2");
    let mut two = one.reopen(0);
    let key = one.key();
    two.answer_inquiry(status(&key, "2", "fenced"));
    assert_eq!(two.state(), "fenced");
    one.store = two.store.clone();
    one.answer(created(&key, "false"));
    assert!(is_contradiction(&one), "its write was outrun: {:?}", one.machine.state());
    two.store = one.store.clone();
    let (_, text) = one.store.text.clone().unwrap();
    two.feed(Event::RecordSeen { database: Some(text), local: None });
    assert!(is_contradiction(&two), "{:?}", two.machine.state());
}

#[test]
fn r66_given_disputed_then_no_later_answer_ends_it_but_a_persons_ruling() {
    let mut desk = ended(rejected);
    let key = desk.key();
    for _ in 0..2 {
        desk.feed(Event::Answered { attempt: 1, answer: created(&key, "false") });
        assert!(is_contradiction(&desk), "{:?}", desk.machine.state());
    }
}

#[test]
fn r66_given_a_dispute_that_another_tab_found_then_a_tab_with_an_outcome_never_writes_it_away() {
    let mut one = ended(rejected);
    let mut two = one.reopen(0);
    let key = one.key();
    one.feed(Event::Answered { attempt: 1, answer: created(&key, "false") });
    let disputed = one.store.clone();
    let mut late = ended(rejected);
    late.store = disputed.clone();
    two.store = disputed;
    for mut desk in [late, two] {
        let (_, text) = desk.store.text.clone().unwrap();
        desk.feed(Event::RecordSeen { database: Some(text), local: None });
        assert!(is_contradiction(&desk), "{:?}", desk.machine.state());
    }
}
