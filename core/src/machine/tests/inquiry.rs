//! Checks, fences, and what begins anew.

use super::*;
use crate::machine::state::UnknownReason;

fn unknown() -> Desk {
    let mut desk = Desk::new();
    desk.lose_everything();
    desk
}

#[test]
fn r57_given_completed_with_our_digest_then_succeeded_as_a_replay() {
    let mut desk = unknown();
    desk.feed(Event::Check(CURRENT));
    assert_eq!(desk.state(), "checking");
    desk.answer_inquiry(status(&desk.key(), "2", "completed"));
    assert_eq!(result_id(&desk.machine.state()), Some("ord_1"));
    assert_eq!(desk.doubt(), Doubt::None);
}

#[test]
fn r57_given_completed_with_another_digest_then_disputed_and_never_succeeded() {
    let mut desk = unknown();
    desk.feed(Event::Check(CURRENT));
    desk.answer_inquiry(status(&desk.key(), "3", "completed"));
    assert_eq!(desk.state(), "disputed");
    assert!(!desk.may("resend"));
}

#[test]
fn r57_given_an_echo_of_another_key_operation_or_subject_then_it_proves_nothing() {
    for (from, to) in [("u-1", "u-2"), ("order.create", "order.cancel")] {
        let mut desk = unknown();
        desk.feed(Event::Check(CURRENT));
        let mut answer = status(&desk.key(), "2", "completed");
        let Body::Text(text) = &answer.body else { panic!("text") };
        answer.body = Body::Text(text.replace(from, to));
        desk.answer_inquiry(answer);
        desk.run(5_000);
        assert_eq!(desk.state(), "unknown", "{to}");
    }
}

#[test]
fn r59_f60_given_not_found_then_still_unknown_and_no_key_is_unlocked() {
    let mut desk = unknown();
    desk.feed(Event::Check(CURRENT));
    desk.answer_inquiry(status(&desk.key(), "2", "not_found"));
    assert_eq!(desk.state(), "unknown");
    assert!(!desk.may("submit"));
}

#[test]
fn f60_given_failing_checks_then_finitely_many_and_unknown_again() {
    let mut desk = unknown();
    desk.feed(Event::Check(CURRENT));
    for _ in 0..20 {
        let asked = desk.checks.len();
        desk.answer_inquiry(status_only(500));
        desk.run(2_000);
        if desk.checks.len() == asked {
            break;
        }
    }
    assert!(desk.checks.len() <= 4, "{}", desk.checks.len());
    assert_eq!(desk.state(), "unknown");
    assert!(desk.may("check"));
}

#[test]
fn r58_given_in_progress_then_polls_by_retry_after_and_stays_unknown_never_spins() {
    let mut desk = unknown();
    desk.feed(Event::Check(CURRENT));
    for _ in 0..10 {
        desk.answer_inquiry(status(&desk.key(), "2", "in_progress"));
        desk.run(1_000);
    }
    assert!(desk.checks.len() <= 4);
    assert_eq!(desk.state(), "unknown");
}

#[test]
fn r60_given_uncertain_then_unknown_and_nothing_is_sent() {
    let mut desk = unknown();
    let sent = desk.sent.len();
    desk.feed(Event::Check(CURRENT));
    desk.answer_inquiry(status(&desk.key(), "2", "uncertain"));
    desk.run(60_000);
    assert_eq!(desk.machine.state(), State::Unknown { why: UnknownReason::Uncertain });
    assert_eq!(desk.sent.len(), sent);
}

#[test]
fn r61_given_fenced_then_void_and_a_new_one_may_begin() {
    let mut desk = unknown();
    desk.feed(Event::Fence(CURRENT));
    desk.answer_inquiry(status(&desk.key(), "2", "fenced"));
    assert_eq!(desk.state(), "fenced");
    desk.submit("2");
    assert_eq!(desk.keys().len(), 2);
}

#[test]
fn r55_given_begin_new_and_fenced_then_the_next_generation_is_idle() {
    let mut desk = unknown();
    desk.begin_new(false);
    assert_eq!(desk.fences.len(), 1, "fences first");
    desk.answer_inquiry(status(&desk.key(), "2", "fenced"));
    assert_eq!(desk.state(), "idle");
    desk.submit("3");
    assert_eq!(desk.keys().len(), 2);
}

#[test]
fn r55_given_begin_new_and_the_old_one_had_happened_then_it_is_shown_and_asked_again() {
    let mut desk = unknown();
    desk.begin_new(true);
    desk.answer_inquiry(status(&desk.key(), "2", "completed"));
    assert_eq!(desk.state(), "succeeded");
    assert_eq!(desk.keys().len(), 1);
}

#[test]
fn r55_given_begin_new_and_no_proof_then_refused_with_open_unknown_and_no_new_key() {
    for state in ["in_progress", "uncertain", "expired"] {
        let mut desk = unknown();
        desk.begin_new(false);
        for _ in 0..6 {
            if desk.state() == "checking" {
                desk.answer_inquiry(status(&desk.key(), "2", state));
                desk.run(1_000);
            }
        }
        assert_eq!(desk.declined, [Declined::OpenUnknown], "{state}");
        assert_eq!(desk.state(), "unknown");
        desk.submit("3");
        assert_eq!(desk.keys().len(), 1);
    }
}

#[test]
fn r55_given_leave_open_and_no_proof_then_two_keys_and_the_old_one_is_listed_and_checkable() {
    let mut desk = unknown();
    let old = desk.key();
    desk.begin_new(true);
    desk.answer_inquiry(status(&old, "2", "uncertain"));
    assert_eq!(desk.state(), "idle");
    desk.submit("3");
    assert_eq!(desk.keys().len(), 2);
    let open = desk.machine.view(desk.now).open;
    assert_eq!((open.len(), open[0].state), (1, "unknown"));
    desk.feed(Event::Check(Target::Open(open[0].reference.clone())));
    let (ticket, headers) = desk.checks.last().unwrap().clone();
    assert_eq!(headers.key, old);
    desk.feed(Event::Inquired(ticket, status(&old, "2", "completed")));
    let open = desk.machine.view(desk.now).open;
    assert_eq!((open[0].state, open[0].result_id.as_deref()), ("succeeded", Some("ord_1")));
    assert_eq!(desk.state(), "sending", "the new one is not disturbed");
}

#[test]
fn r122_given_key_reused_then_one_check_shows_the_earlier_outcome_and_only_begin_new_sends_the_draft() {
    let mut desk = Desk::new();
    desk.submit("3");
    desk.answer(problem(422, "key-reused", ""));
    assert_eq!(desk.checks.len(), 1);
    desk.answer_inquiry(status(&desk.key(), "2", "completed"));
    let State::Succeeded(success) = desk.machine.state() else { panic!("succeeded") };
    assert!(success.earlier.is_some());
    assert!(matches!(desk.replies.last(), Some(Reply::Conflict { .. })));
    desk.submit("3");
    assert_eq!(desk.sent.len(), 1, "never silently a second key");
    desk.begin_new(false);
    desk.submit("3");
    assert_eq!(desk.keys().len(), 2);
}

#[test]
fn r126_given_a_result_that_differs_from_the_wish_then_disputed() {
    let input = OperationInput { expect: vec![("quantity".into(), "/quantity".into())], ..order() };
    let mut desk = Desk::open(input, Store::default(), "doc-a", Now { mono: Mono(0), wall: Wall(START) });
    desk.submit("5");
    desk.answer(created(&desk.key(), "false"));
    let State::Disputed { field, expected, found, .. } = desk.machine.state() else { panic!("disputed") };
    assert_eq!((field.as_str(), expected.as_str(), found.as_str()), ("quantity", "5", "2"));
}

#[test]
fn r53_given_shown_events_then_at_most_one_automatic_check_in_five_seconds() {
    let mut desk = unknown();
    desk.pass(5_000);
    for _ in 0..5 {
        desk.feed(Event::Shown);
        if desk.state() == "checking" {
            desk.answer_inquiry(status(&desk.key(), "2", "not_found"));
        }
        desk.pass(500);
    }
    assert_eq!(desk.checks.len(), 1);
}

#[test]
fn r128_given_a_hand_over_then_it_blocks_until_a_person_decides() {
    let mut desk = unknown();
    desk.feed(Event::HandOver);
    assert_eq!(desk.machine.state(), State::Unknown { why: UnknownReason::HandedOver });
    desk.submit("2");
    desk.feed(Event::Resend(None));
    assert_eq!(desk.declined, [Declined::NotNow]);
    desk.feed(Event::Timer);
    if desk.state() == "checking" {
        desk.answer_inquiry(status(&desk.key(), "2", "not_found"));
    }
    desk.feed(Event::Decide { outcome: crate::machine::state::Ruling::NotApplied, by: "Ann".into() });
    assert_eq!(desk.state(), "decided");
}

#[test]
fn r53_given_two_tabs_that_wake_together_then_the_one_whose_write_lands_asks_and_the_other_never() {
    let mut one = Desk::new();
    one.lose_everything();
    let mut two = Desk::open(order(), one.store.clone(), "doc-b", one.now);
    two.answer_inquiry(status(&one.key(), "2", "not_found"));
    one.store = two.store.clone();
    if let Some((_, text)) = one.store.text.clone() {
        one.feed(Event::RecordSeen { database: Some(text), local: None });
    }
    for desk in [&mut one, &mut two] {
        desk.pass(60_000);
        desk.checks.clear();
    }
    one.feed(Event::Shown);
    assert_eq!(one.checks.len(), 1);
    // Not told yet of what the first wrote.
    two.store = one.store.clone();
    two.feed(Event::Shown);
    two.feed(Event::Online(true));
    assert_eq!((two.checks.len(), two.state()), (0, "unknown"));
}

#[test]
fn r53_given_a_clock_that_was_set_back_then_automatic_checks_go_on() {
    let mut desk = Desk::new();
    desk.lose_everything();
    desk.feed(Event::Shown);
    desk.answer_inquiry(status(&desk.key(), "2", "not_found"));
    let asked = desk.checks.len();
    desk.now.wall = Wall(desk.now.wall.0 - 3_600_000);
    desk.feed(Event::Shown);
    assert_eq!(desk.checks.len(), asked + 1);
}

#[test]
fn r53_given_an_answer_or_another_subject_before_the_write_of_a_check_lands_then_nothing_is_asked() {
    for event in
        [Event::Answered { attempt: 1, answer: created(&Key::from_random([1; 16]), "false") }, Event::SubjectChanged]
    {
        let mut desk = Desk::new();
        desk.lose_everything();
        desk.pass(60_000);
        let fx = desk.machine.step(desk.now, Event::Shown);
        let ticket =
            fx.iter().find_map(|effect| if let Effect::Persist { ticket, .. } = effect { Some(*ticket) } else { None });
        let _ = desk.machine.step(desk.now, event);
        let _ = desk.machine.step(desk.now, Event::Persisted(ticket.unwrap(), Durability::Durable));
        assert_ne!(desk.state(), "checking");
        assert!(desk.machine.next_wake().is_none());
    }
}
