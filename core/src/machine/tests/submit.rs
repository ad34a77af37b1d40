//! Joining, conflicts, rounds and generations.

use super::*;
use crate::machine::effect::ConflictReason;
use crate::machine::state::NotSentReason;

#[test]
fn r95_given_repeated_submits_while_live_then_one_send_and_one_key() {
    let mut desk = Desk::new();
    for _ in 0..10 {
        desk.submit("2");
    }
    assert_eq!((desk.sent.len(), desk.keys().len()), (1, 1));
    desk.answer(created(&desk.key(), "false"));
    assert_eq!(desk.replies, [Reply::Settled]);
}

#[test]
fn f02_given_a_submit_after_success_in_the_same_document_then_its_result_and_no_request() {
    let mut desk = Desk::new();
    desk.submit("2");
    desk.answer(created(&desk.key(), "false"));
    desk.submit("2");
    assert_eq!(desk.sent.len(), 1);
    assert_eq!(desk.replies, [Reply::Settled, Reply::Settled]);
    assert_eq!(desk.state(), "succeeded");
}

#[test]
fn r23_given_a_later_document_then_the_same_fields_are_already_done_and_others_open_the_next_generation() {
    let mut first = Desk::new();
    first.submit("2");
    first.answer(created(&first.key(), "false"));
    let mut second = first.reopen(1_000);
    assert_eq!(second.state(), "idle");
    assert_eq!(second.machine.view(second.now).last.unwrap().result_id.as_deref(), Some("ord_1"));
    second.submit("2");
    assert_eq!(second.replies, [Reply::AlreadyDone]);
    assert!(second.sent.is_empty());
    second.minted = 100;
    second.submit("3");
    assert_eq!(second.sent.len(), 1);
    assert_ne!(second.key(), first.key());
}

#[test]
fn r23_given_begin_new_after_success_then_the_same_fields_go_out_under_another_key() {
    let mut desk = Desk::new();
    desk.submit("2");
    desk.answer(created(&desk.key(), "false"));
    desk.begin_new(false);
    assert_eq!(desk.state(), "idle");
    desk.submit("2");
    assert_eq!(desk.keys().len(), 2);
}

#[test]
fn r6_given_other_fields_while_unknown_then_conflict_shows_both_and_nothing_is_sent() {
    let mut desk = Desk::new();
    desk.lose_everything();
    let (sent, key) = (desk.sent.len(), desk.key());
    desk.submit("3");
    let Some(Reply::Conflict { why: ConflictReason::Fields, live, offered }) = desk.replies.last() else {
        panic!("conflict")
    };
    assert_eq!(live[1].1, "2");
    assert_eq!(offered[1].1, "3");
    assert_eq!(desk.sent.len(), sent);
    assert_eq!(desk.state(), "unknown");
    assert!(desk.store.text.as_ref().unwrap().1.contains(key.as_str()), "the old wish is not lost");
}

#[test]
fn f58_given_a_press_on_unknown_then_a_check_and_the_finished_order() {
    let mut desk = Desk::new();
    desk.lose_everything();
    let sent = desk.sent.len();
    desk.submit("2");
    assert_eq!(desk.state(), "checking");
    desk.answer_inquiry(status(&desk.key(), "2", "completed"));
    assert_eq!(desk.state(), "succeeded");
    assert_eq!(desk.sent.len(), sent, "no further POST");
}

#[test]
fn r20_given_a_press_on_unknown_and_not_found_then_the_same_key_in_a_new_round() {
    let mut desk = Desk::new();
    desk.lose_everything();
    desk.submit("2");
    desk.answer_inquiry(status(&desk.key(), "2", "not_found"));
    assert_eq!(desk.state(), "sending");
    assert_eq!(desk.keys().len(), 1);
    assert_eq!(desk.machine.view(desk.now).round, 2);
}

#[test]
fn r55_given_an_explicit_resend_then_a_new_round_with_its_own_deadline_and_the_same_key() {
    let mut desk = Desk::new();
    desk.lose_everything();
    let first = desk.sent[0].1.clone();
    desk.pass(60_000);
    desk.feed(Event::Resend(None));
    let again = desk.sent.last().unwrap();
    assert_eq!(again.0, 1);
    assert_eq!((&again.1.key, again.1.first_sent), (&first.key, first.first_sent));
    assert!(again.1.deadline > first.deadline);
}

#[test]
fn r64_given_a_later_document_then_resend_needs_the_same_fields() {
    let mut first = Desk::new();
    first.lose_everything();
    let mut second = first.reopen(60_000);
    second.answer_inquiry(status(&first.key(), "2", "not_found"));
    second.feed(Event::Resend(Some(wish("3"))));
    assert_eq!(second.declined, [Declined::OtherFields]);
    assert!(second.sent.is_empty());
    second.feed(Event::Resend(Some(wish("2"))));
    assert_eq!(second.key(), first.key());
}

#[test]
fn r28_given_a_key_near_the_end_of_retention_then_no_resend_but_a_check() {
    let mut desk = Desk::new();
    desk.lose_everything();
    desk.pass(24 * 3_600_000 - 5 * 60_000);
    desk.feed(Event::Resend(None));
    assert_eq!(desk.declined, [Declined::TooOld]);
    assert!(!desk.may("resend") && desk.may("check"));
}

#[test]
fn r23_given_another_tab_went_on_then_a_submit_of_the_older_generation_conflicts_as_stale() {
    let mut one = Desk::new();
    one.submit("2");
    one.answer(created(&one.key(), "false"));
    let mut two = one.reopen(10);
    two.begin_new(false);
    let text = two.store.text.clone().unwrap().1;
    one.feed(Event::RecordSeen { database: Some(text), local: None });
    let sent = one.sent.len();
    one.submit("2");
    assert!(matches!(one.replies.last(), Some(Reply::Conflict { why: ConflictReason::Stale, .. })));
    assert_eq!(one.sent.len(), sent);
}

#[test]
fn r68_given_two_tabs_that_submit_together_then_one_sends_and_the_other_observes() {
    let mut one = Desk::new();
    let mut two = Desk::open(order(), Store::default(), "doc-b", one.now);
    two.minted = 50;
    one.submit("2");
    two.store = one.store.clone();
    two.drive_busy = true;
    two.submit("2");
    assert!(two.sent.is_empty());
    assert_eq!(two.state(), "sending");
    one.answer(created(&one.key(), "false"));
    let text = one.store.text.clone().unwrap().1;
    two.feed(Event::RecordSeen { database: Some(text), local: None });
    assert_eq!(result_id(&two.machine.state()), Some("ord_1"));
    assert_eq!(two.replies, [Reply::Settled]);
}

#[test]
fn r121_given_a_reserved_key_then_a_later_document_uses_it_as_it_is() {
    let mut one = Desk::new();
    let entropy = one.entropy();
    one.feed(Event::Touched(entropy));
    let mut two = one.reopen(60_000);
    assert_eq!(two.state(), "idle");
    two.submit("2");
    assert_eq!(two.key().as_str(), "01".repeat(16));
    assert_eq!(two.sent[0].1.first_sent, Some(Wall(START)));
}

#[test]
fn r121_given_a_reserved_key_past_half_the_retention_then_it_is_fenced_before_another_is_minted() {
    let mut one = Desk::new();
    let entropy = one.entropy();
    one.feed(Event::Touched(entropy));
    let mut two = one.reopen(13 * 3_600_000);
    two.minted = 50;
    two.submit("2");
    assert!(two.sent.is_empty());
    let old = two.fences.last().unwrap().1.key.clone();
    two.answer_inquiry(status(&old, "2", "fenced"));
    assert_eq!(two.sent.len(), 1);
    assert_ne!(two.key(), old);
}

#[test]
fn r17_given_a_file_that_cannot_be_read_then_not_sent_and_the_key_serves_the_next_submit() {
    for touch in [false, true] {
        let mut desk = Desk::new();
        if touch {
            let entropy = desk.entropy();
            desk.feed(Event::Touched(entropy));
        }
        desk.feed(Event::Unreadable);
        assert!(matches!(desk.machine.state(), State::NotSent { why: NotSentReason::FileUnreadable }));
        assert_eq!((desk.sent.len(), desk.doubt()), (0, Doubt::None));
        desk.submit("2");
        assert_eq!((desk.sent.len(), desk.keys().len()), (1, 1));
    }
}

#[test]
fn r17_given_an_open_wish_and_a_file_that_cannot_be_read_then_the_open_one_stays_as_it_is() {
    let mut desk = Desk::new();
    desk.lose_everything();
    assert_eq!(desk.state(), "unknown");
    desk.feed(Event::Unreadable);
    assert_eq!((desk.state(), desk.replies.last()), ("unknown", Some(&Reply::Held)));
}
