//! Faults that the simulator found, each in its smallest form.

use alloc::string::ToString;

use super::*;
use crate::machine::effect::ConflictReason;
use crate::machine::state::{NotSentReason, UnknownReason};
use crate::record::{self, Phase};

const DAY: u64 = 24 * 60 * 60 * 1_000;

fn at(ms: u64) -> Now {
    Now { mono: Mono(1_000), wall: Wall(START + ms) }
}

fn touched() -> Desk {
    let mut desk = Desk::new();
    let entropy = desk.entropy();
    desk.feed(Event::Touched(entropy));
    desk
}

/// A further document on the same store, at the same instant.
fn beside(desk: &Desk, name: &str) -> Desk {
    Desk::open(order(), desk.store.clone(), name, desk.now)
}

/// What the store holds now reaches that document.
fn hint(desk: &mut Desk, store: &Store) {
    desk.store = store.clone();
    if let Some((_, text)) = store.text.clone() {
        desk.feed(Event::RecordSeen { database: Some(text), local: None });
    }
}

#[test]
fn r25_given_another_subject_while_the_stores_are_read_then_nothing_is_ever_asked_or_sent() {
    let mut one = Desk::new();
    one.submit("2");
    let mut two = Desk::new();
    two.machine = Machine::new(Operation::define(order()).unwrap(), Setting::default());
    two.store = one.store.clone();
    two.feed(Event::SubjectChanged);
    let text = one.store.text.clone().map(|(_, text)| text);
    two.feed(Event::Loaded { database: text.clone(), local: text });
    two.run(60_000);
    assert_eq!((two.state(), two.checks.len(), two.sent.len()), ("idle", 0, 0));
    assert!(!two.store.text.clone().unwrap().1.contains("remembered\":[{"), "R93: remembered values are erased");
}

#[test]
fn r25_given_a_record_of_another_tab_after_the_subject_changed_then_it_is_never_taken_over() {
    let mut one = Desk::new();
    one.submit("2");
    let mut two = beside(&one, "doc-b");
    two.feed(Event::SubjectChanged);
    let asked = two.checks.len();
    one.feed(Event::TransportFailed { attempt: 1 });
    hint(&mut two, &one.store.clone());
    two.run(60_000);
    assert_eq!((two.state(), two.checks.len(), two.sent.len()), ("idle", asked, 0));
}

#[test]
fn r70_given_an_offline_hold_then_its_lease_covers_the_round_and_no_other_tab_ends_it() {
    let mut one = Desk::new();
    one.feed(Event::Online(false));
    one.submit("2");
    let mut two = Desk::open(order(), Store::default(), "doc-b", one.now);
    two.drive_busy = true;
    hint(&mut two, &one.store.clone());
    two.run(4_000);
    assert_eq!(two.state(), "waiting");
    one.run(4_000);
    one.feed(Event::Online(true));
    assert_eq!((one.state(), one.sent.len()), ("sending", 1));
}

#[test]
fn r70_given_a_lease_from_before_the_clock_was_set_back_then_it_is_over_after_one_budget() {
    let mut one = Desk::new();
    one.submit("2");
    let mut two = Desk::open(order(), one.store.clone(), "doc-b", Now { mono: Mono(5), wall: Wall(START - 2 * DAY) });
    two.drive_busy = true;
    two.run(3_000);
    two.run(9_000);
    assert_eq!(two.state(), "unknown");
}

#[test]
fn r121_given_a_reserved_key_older_than_the_servers_memory_then_a_fresh_one_and_never_unknown() {
    let mut one = touched();
    one.pass(DAY + 600_000);
    one.submit("2");
    assert_eq!((one.fences.len(), one.sent.len()), (1, 0));
    let reserved = one.fences[0].1.key.clone();
    one.answer_inquiry(status(&reserved, "2", "expired"));
    assert_eq!((one.state(), one.sent.len()), ("sending", 1));
    assert_ne!(one.key(), reserved);
}

#[test]
fn r60_given_an_old_reserved_key_that_the_server_cannot_tell_about_then_that_key_goes_out_and_no_other() {
    let mut one = touched();
    one.pass(DAY - 3_600_000);
    one.submit("2");
    let reserved = one.fences[0].1.key.clone();
    one.answer_inquiry(status(&reserved, "2", "uncertain"));
    assert_eq!(one.key(), reserved);
    one.answer(problem(409, "uncertain", ""));
    assert_eq!(one.state(), "unknown");
    one.submit("2");
    assert!(!matches!(one.replies.last(), Some(Reply::Conflict { .. })), "the same fields are no conflict");
}

#[test]
fn r117_given_a_fence_that_the_server_dates_ahead_then_one_correction_and_the_fence_again() {
    let mut one = touched();
    let reserved = one.machine.record.current.clone().unwrap().key;
    one.now.wall = Wall(START + 2 * DAY);
    one.submit("2");
    let now = [r#","now":"#, &(START - DAY).to_string()].concat();
    one.answer_inquiry(problem(412, "clock-skew", &now));
    assert_eq!(one.fences.len(), 2);
    assert_eq!(one.fences[1].1.first_sent, Some(Wall(START - DAY)));
    one.answer_inquiry(status(&reserved, "2", "fenced"));
    assert_eq!(one.state(), "sending");
}

#[test]
fn r116_given_a_corrected_clock_and_a_doubt_then_first_sent_is_never_made_younger() {
    let mut one = Desk::new();
    one.submit("2");
    one.feed(Event::TransportFailed { attempt: 1 });
    one.run(400);
    let now = [r#","now":"#, &(START + 20 * 3_600_000).to_string()].concat();
    one.answer(problem(412, "deadline-passed", &now));
    assert_eq!(one.sent.len(), 3);
    assert_eq!(one.sent[2].1.first_sent, one.sent[0].1.first_sent);
}

#[test]
fn r65_given_a_write_that_did_not_land_before_the_next_then_the_round_goes_on_and_never_starts_anew() {
    let mut one = touched();
    one.store.fault = Some(StoreFault::Quota);
    one.submit("2");
    assert_eq!(one.sent.len(), 1);
    one.store.fault = None;
    one.feed(Event::TransportFailed { attempt: 1 });
    one.run(400);
    let deadlines: Vec<_> = one.sent.iter().map(|(_, headers, _)| headers.deadline).collect();
    assert_eq!(one.sent.last().unwrap().0, 2, "the second attempt of the same round");
    assert_eq!(deadlines[0], deadlines[1]);
}

#[test]
fn r68_given_two_documents_that_counted_to_the_same_version_then_one_never_takes_the_others_record_for_its_own() {
    let mut one = Desk::new();
    let mut two = Desk::open(order(), Store::default(), "doc-b", at(0));
    two.machine.setting.seed = 11;
    one.submit("2");
    two.minted = 40;
    two.submit("2");
    let (first, second) = (one.machine.record.version, two.machine.record.version);
    assert_eq!((first.generation, first.round, first.rev), (second.generation, second.round, second.rev));
    assert_ne!(first, second);
    two.store = one.store.clone();
    two.feed(Event::TransportFailed { attempt: 1 });
    assert_eq!(one.store.text.clone().map(|(version, _)| version), Some(first));
}

#[test]
fn r109_given_a_press_and_a_record_that_stays_in_progress_then_the_same_key_is_sent_and_never_left_for_ever() {
    let mut one = Desk::new();
    one.lose_everything();
    let key = one.key();
    let sent = one.sent.len();
    one.submit("2");
    for _ in 0..8 {
        if one.state() != "checking" {
            break;
        }
        one.answer_inquiry(status(&key, "2", "in_progress"));
        one.run(1_200);
    }
    assert_eq!((one.sent.len() > sent, one.keys().len()), (true, 1));
}

#[test]
fn r109_given_a_press_and_a_poll_that_is_cut_after_an_in_progress_then_the_same_key_is_sent_all_the_same() {
    let mut one = Desk::new();
    one.lose_everything();
    let key = one.key();
    let sent = one.sent.len();
    one.submit("2");
    one.answer_inquiry(status(&key, "2", "in_progress"));
    one.run(20_000);
    assert_eq!((one.sent.len() > sent, one.keys().len()), (true, 1));
}

#[test]
fn r85_given_a_spoilt_database_and_an_older_copy_then_what_the_copy_denies_may_have_happened() {
    let mut one = touched();
    let old = one.store.text.clone().map(|(_, text)| text);
    one.submit("2");
    let mut two = Desk::new();
    two.machine = Machine::new(Operation::define(order()).unwrap(), Setting::default());
    two.feed(Event::Loaded { database: Some("#".into()), local: old });
    assert_eq!(two.state(), "checking");
    two.run(4_000);
    assert_eq!(two.state(), "unknown");
}

#[test]
fn r85_given_a_spoilt_text_that_this_document_never_knew_then_a_fresh_intent_never_overwrites_it() {
    let mut one = Desk::new();
    one.store.text = Some((Version { generation: 1, round: 1, rev: 4, writer: 3 }, "#".into()));
    one.submit("2");
    assert_eq!(one.machine.state(), State::Unknown { why: UnknownReason::NoKey });
    assert!(one.sent.is_empty());
    assert_eq!(one.store.text.clone().map(|(_, text)| text).as_deref(), Some("#"));
}

#[test]
fn r71_given_no_store_and_another_document_that_drives_then_no_second_key_is_sent() {
    let store = Store { fault: Some(StoreFault::Unavailable), ..Store::default() };
    let mut one = Desk::open(order(), store, "doc-b", at(0));
    one.drive_busy = true;
    one.feed(Event::DriveBusy);
    one.submit("2");
    assert!(one.sent.is_empty());
    assert_eq!(one.machine.state(), State::NotSent { why: NotSentReason::StorageUnavailable });
}

#[test]
fn r122_given_an_earlier_success_found_and_a_reload_then_a_resubmit_sends_nothing_unasked() {
    let mut one = Desk::new();
    one.submit("2");
    one.answer(problem(422, "key-reused", ""));
    let mut found = status(&one.key(), "7", "completed");
    found.status = 200;
    one.answer_inquiry(found);
    assert_eq!(one.state(), "succeeded");
    let mut two = one.reopen(1_000);
    two.submit("2");
    assert_eq!((two.replies.last(), two.sent.len()), (Some(&Reply::AlreadyDone), 0));
    two.begin_new(false);
    two.submit("2");
    assert_eq!(two.sent.len(), 1);
}

#[test]
fn r23_given_a_refusal_of_other_fields_then_going_back_to_what_is_done_sends_nothing_unasked() {
    let mut one = Desk::new();
    one.submit("2");
    one.answer(created(&one.key(), "false"));
    one.submit("7");
    one.answer(status_only(404));
    assert_eq!((one.state(), one.sent.len()), ("refused", 2));
    one.submit("2");
    assert_eq!((one.replies.last(), one.sent.len()), (Some(&Reply::AlreadyDone), 2));
    one.submit("7");
    assert_eq!(one.sent.len(), 3, "the refused wish may be tried again");
}

#[test]
fn r6_given_other_fields_done_in_another_tab_then_a_press_is_answered_by_a_conflict_and_never_by_its_success() {
    let mut one = Desk::new();
    one.submit("3");
    one.answer(created(&one.key(), "false"));
    let mut two = Desk::open(order(), Store::default(), "doc-b", at(0));
    two.machine.setting.seed = 11;
    two.minted = 40;
    two.store = one.store.clone();
    two.submit("2");
    assert!(matches!(two.replies.first(), Some(Reply::Conflict { .. })), "{:?}", two.replies);
    assert!(two.sent.is_empty());
}

#[test]
fn r36_given_a_drive_lock_that_another_holds_then_the_claim_waits_for_its_turn_and_no_longer_than_the_grace() {
    let mut one = Desk::new();
    one.drive_busy = true;
    one.submit("2");
    assert_eq!((one.state(), one.sent.len()), ("sending", 0));
    one.feed(Event::DriveGranted);
    assert_eq!(one.sent.len(), 1);
    let mut two = Desk::new();
    two.drive_busy = true;
    two.submit("2");
    two.run(1_001);
    assert_eq!(two.sent.len(), 1, "never stuck behind a frozen holder");
}

#[test]
fn r44_given_a_wish_that_another_document_overtook_then_a_resend_never_sends_its_bytes_under_the_other_key() {
    let mut one = Desk::new();
    one.lose_everything();
    let mut two = Desk::open(order(), Store::default(), "doc-b", at(0));
    two.machine.setting.seed = 11;
    two.store = one.store.clone();
    two.submit("7");
    let sent = two.sent.len();
    two.feed(Event::Resend(Some(wish("7"))));
    assert_eq!(two.sent.len(), sent);
    assert_eq!(two.declined.last(), Some(&Declined::OtherFields));
}

#[test]
fn r48_given_a_kept_key_with_a_wait_beyond_the_budget_then_a_press_says_not_sent_and_never_nothing() {
    let mut one = Desk::new();
    one.submit("2");
    one.answer(Answer { retry_after: Some("3600".into()), ..status_only(429) });
    assert_eq!(one.state(), "refused");
    one.begin_new(false);
    one.submit("3");
    assert_eq!((one.state(), one.sent.len()), ("not_sent", 1));
    assert!(one.machine.view(one.now).not_before.is_some());
}

#[test]
fn r128_given_a_suspended_intent_without_a_doubt_then_it_is_never_handed_over_as_unknown() {
    let mut one = Desk::new();
    one.submit("2");
    one.answer(status_only(401));
    assert_eq!(one.state(), "suspended");
    one.feed(Event::HandOver);
    assert_eq!((one.state(), one.declined.last()), ("suspended", Some(&Declined::NotNow)));
    assert!(!one.may("hand_over"));
}

#[test]
fn r128_given_a_hand_over_then_neither_a_401_nor_a_press_during_a_check_ever_sends_it_again() {
    let mut one = Desk::new();
    one.lose_everything();
    one.feed(Event::HandOver);
    let sent = one.sent.len();
    one.feed(Event::Check(CURRENT));
    one.answer_inquiry(status_only(401));
    assert_eq!(one.machine.state(), State::Unknown { why: UnknownReason::HandedOver });
    one.feed(Event::Check(CURRENT));
    one.submit("2");
    one.answer_inquiry(status(&one.key(), "2", "not_found"));
    assert_eq!(one.machine.state(), State::Unknown { why: UnknownReason::HandedOver });
    assert_eq!(one.sent.len(), sent);
}

#[test]
fn r50_given_an_offline_hold_and_a_servers_wait_then_being_online_again_never_cuts_the_wait_short() {
    let mut one = Desk::new();
    one.submit("2");
    one.answer(Answer { retry_after: Some("12".into()), ..status_only(429) });
    one.pass(9_000);
    one.feed(Event::Online(false));
    one.submit("2");
    one.pass(500);
    one.feed(Event::Online(true));
    assert_eq!((one.state(), one.sent.len()), ("waiting", 1));
    one.run(3_500);
    assert_eq!(one.sent.len(), 2);
}

#[test]
fn r23_given_a_document_that_another_overtook_then_it_shows_the_live_intent_and_never_an_older_refusal() {
    let mut one = Desk::new();
    one.submit("2");
    one.answer(status_only(404));
    assert_eq!(one.state(), "refused");
    let mut store = one.store.clone();
    let mut record = record::read(&store.text.clone().unwrap().1).unwrap();
    record.version.generation += 1;
    record.current.as_mut().unwrap().phase = Phase::Unknown(UnknownReason::Deadline);
    store.text = Some((record.version, record.write()));
    hint(&mut one, &store);
    assert_eq!(one.state(), "unknown");
}

#[test]
fn r44_given_a_refused_wish_and_other_fields_in_the_form_when_it_is_resent_then_the_kept_bytes_go_out_never_the_forms()
{
    let mut desk = touched();
    desk.submit("3");
    desk.answer(status_only(404));
    assert_eq!(desk.state(), "refused");
    let fx = desk.machine.step(desk.now, Event::Resend(Some(wish("2"))));
    assert!(!fx.iter().any(|effect| matches!(effect, Effect::Keep(_))), "the snapshot of the submit stays: {fx:?}");
    desk.perform(fx);
    assert_eq!((desk.sent.len(), desk.keys().len()), (2, 1), "the same wish again, under its key");
}

#[test]
fn r85_given_a_refusal_in_sight_when_both_copies_are_found_spoilt_then_it_is_never_called_refused_any_more() {
    let mut one = Desk::new();
    one.submit("2");
    one.answer(status_only(404));
    assert_eq!(one.state(), "refused");
    let spoilt = Some("{".to_string());
    one.feed(Event::RecordSeen { database: spoilt.clone(), local: spoilt });
    assert_eq!(one.state(), "unknown", "another document may have sent it since");
    assert_ne!(one.doubt(), Doubt::None);
}

#[test]
fn r46_given_an_unavailable_server_and_a_driver_that_is_gone_then_the_next_document_keeps_the_floor_too() {
    let mut one = Desk::new();
    let mut two = beside(&one, "doc-b");
    one.submit("2");
    two.drive_busy = true;
    hint(&mut two, &one.store.clone());
    two.submit("2");
    one.pass(20);
    one.answer(status_only(503));
    two.pass(20);
    hint(&mut two, &one.store.clone());
    two.drive_busy = false;
    two.pass(500);
    two.feed(Event::DriveGranted);
    two.answer_inquiry(status(&one.key(), "2", "not_found"));
    assert_eq!(two.sent.len(), 0, "half a second is too soon");
    two.run(1_100);
    assert_eq!(two.sent.len(), 1);
}

#[test]
fn r6_given_a_press_that_waits_offline_when_another_tab_sends_other_fields_under_the_unused_key_then_it_conflicts() {
    let mut one = touched();
    let mut two = beside(&one, "doc-b");
    one.feed(Event::Online(false));
    two.feed(Event::Online(false));
    one.submit("9");
    assert_eq!(one.state(), "waiting");
    two.submit("2");
    two.feed(Event::Online(true));
    hint(&mut one, &two.store.clone());
    assert!(
        matches!(one.replies.last(), Some(Reply::Conflict { why: ConflictReason::Fields, .. })),
        "{:?}",
        one.replies
    );
}
