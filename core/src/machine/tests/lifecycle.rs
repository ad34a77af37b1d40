//! Reload, kill, other tabs, unreadable records, other subjects.

use super::*;
use crate::machine::state::{NotSentReason, UnknownReason};

#[test]
fn f12_r121_given_a_kill_mid_flight_then_the_next_document_checks_first_and_is_never_idle() {
    let mut one = Desk::new();
    one.submit("2");
    let mut two = one.reopen(500);
    assert_eq!(two.state(), "checking");
    assert_ne!(two.doubt(), Doubt::None);
    assert!(two.sent.is_empty());
    two.answer_inquiry(status(&one.key(), "2", "completed"));
    assert_eq!(two.state(), "succeeded");
}

#[test]
fn r121_given_a_kill_before_the_server_saw_it_then_a_resubmit_sends_the_same_key_once() {
    let mut one = Desk::new();
    one.submit("2");
    let mut two = one.reopen(500);
    two.answer_inquiry(status(&one.key(), "2", "not_found"));
    assert_eq!(two.machine.state(), State::Unknown { why: UnknownReason::DocumentLost });
    two.submit("2");
    two.answer_inquiry(status(&one.key(), "2", "not_found"));
    assert_eq!(two.sent.len(), 1);
    assert_eq!(two.key(), one.key());
}

#[test]
fn r121_given_a_press_while_the_first_check_runs_then_the_same_key_follows_not_found() {
    let mut one = Desk::new();
    one.submit("2");
    let mut two = one.reopen(500);
    two.submit("2");
    two.answer_inquiry(status(&one.key(), "2", "not_found"));
    assert_eq!(two.sent.len(), 1);
    assert_eq!(two.key(), one.key());
}

#[test]
fn r70_given_a_driver_that_lives_then_the_second_document_observes_and_sends_nothing() {
    let mut one = Desk::new();
    one.submit("2");
    let at = one.now;
    let mut two = Desk::open(order(), Store::default(), "doc-b", at);
    two.drive_busy = true;
    two.store = one.store.clone();
    let text = one.store.text.clone().map(|(_, text)| text);
    two.feed(Event::Loaded { database: text.clone(), local: text });
    two.answer_inquiry(status(&one.key(), "2", "not_found"));
    assert_eq!(two.state(), "sending");
    two.submit("2");
    assert!(two.sent.is_empty(), "one driver");
    two.run(20_000);
    assert!(two.checks.len() >= 2, "the lease ended: takeover starts with a check");
}

#[test]
fn r20_given_an_attempt_never_claimed_then_the_next_document_says_not_sent() {
    let mut one = Desk::new();
    one.feed(Event::Online(false));
    one.submit("2");
    let two = one.reopen(20_000);
    assert_eq!(two.machine.state(), State::NotSent { why: NotSentReason::DocumentLost });
}

#[test]
fn r85_given_a_corrupt_record_then_unknown_no_key_and_never_overwritten_unasked() {
    let mut desk = Desk::new();
    desk.store.text = Some((Version { generation: 1, round: 1, rev: 3, writer: 0 }, "{\"schema\":1,".into()));
    let text = desk.store.text.clone().map(|(_, text)| text);
    let mut desk = Desk { machine: Machine::new(Operation::define(order()).unwrap(), Setting::default()), ..desk };
    desk.feed(Event::Loaded { database: text.clone(), local: None });
    assert_eq!(desk.machine.state(), State::Unknown { why: UnknownReason::NoKey });
    let entropy = desk.entropy();
    desk.feed(Event::Touched(entropy));
    desk.submit("2");
    assert_eq!(desk.replies, [Reply::Held]);
    assert!(desk.sent.is_empty());
    assert_eq!(desk.store.text.clone().map(|(_, text)| text), text);
    desk.begin_new(true);
    assert_eq!(desk.state(), "idle");
    desk.feed(Event::Online(true));
    desk.submit("2");
    assert_eq!(desk.sent.len(), 1);
}

#[test]
fn r85_given_one_corrupt_copy_then_the_sound_one_gives_the_key() {
    let mut one = Desk::new();
    one.submit("2");
    let sound = one.store.text.clone().map(|(_, text)| text);
    let mut two = Desk::new();
    two.machine = Machine::new(Operation::define(order()).unwrap(), Setting::default());
    two.feed(Event::Loaded { database: Some("#".into()), local: sound });
    assert_eq!(two.state(), "checking");
    assert_eq!(two.checks.last().unwrap().1.key, one.key());
}

#[test]
fn r27_given_a_newer_record_then_read_only_and_nothing_is_written_or_sent() {
    let newer = r#"{"schema":9,"generation":4,"round":1,"rev":2}"#;
    let mut desk = Desk::new();
    desk.written.clear();
    desk.machine = Machine::new(Operation::define(order()).unwrap(), Setting::default());
    desk.feed(Event::Loaded { database: Some(newer.into()), local: None });
    desk.submit("2");
    desk.begin_new(true);
    desk.feed(Event::Check(CURRENT));
    desk.feed(Event::SubjectChanged);
    assert!(desk.written.is_empty() && desk.sent.is_empty());
}

#[test]
fn r65_given_an_outrun_write_after_success_then_the_success_is_written_on_top() {
    let mut one = Desk::new();
    one.submit("2");
    let (version, text) = one.store.text.clone().unwrap();
    let raised = Version { rev: version.rev + 1, ..version };
    one.store.text = Some((raised, text.replacen(&rev(version.rev), &rev(raised.rev), 1)));
    one.answer(created(&one.key(), "false"));
    assert_eq!(one.state(), "succeeded");
    assert!(one.store.text.unwrap().1.contains(r#""ending":"succeeded""#));
}

fn rev(rev: u32) -> String {
    ["\"rev\":", &alloc::string::ToString::to_string(&rev)].concat()
}

#[test]
fn r25_r93_given_another_subject_then_values_are_erased_and_nothing_is_shown_or_sent() {
    let mut desk = Desk::new();
    desk.submit("2");
    assert!(desk.machine.native_key().is_some());
    desk.feed(Event::SubjectChanged);
    assert_eq!(desk.state(), "idle");
    assert!(desk.machine.native_key().is_none(), "no key of theirs for a form's own POST");
    assert!(!desk.store.text.as_ref().unwrap().1.contains("A1"));
    let sent = desk.sent.len();
    desk.submit("2");
    desk.feed(Event::Check(CURRENT));
    desk.run(20_000);
    assert_eq!(desk.sent.len(), sent);
    assert!(desk.checks.is_empty());
    let again = desk.reopen(1_000);
    assert_eq!(again.state(), "checking", "the wish itself is not lost");
}

#[test]
fn r82_given_a_store_that_fails_from_the_first_touch_then_best_effort_still_sends_once() {
    let store = Store { fault: Some(StoreFault::Unavailable), ..Store::default() };
    let mut desk = Desk::open(order(), store, "doc-a", Now { mono: Mono(0), wall: Wall(START) });
    let entropy = desk.entropy();
    desk.feed(Event::Touched(entropy));
    desk.submit("2");
    assert_eq!((desk.sent.len(), desk.state()), (1, "sending"));
    desk.answer(created(&desk.key(), "false"));
    assert_eq!(desk.state(), "succeeded");
}

#[test]
fn f16_given_a_store_emptied_mid_flight_then_the_retry_uses_the_key_from_memory_and_writes_it_back() {
    let mut desk = Desk::new();
    desk.submit("2");
    desk.store.text = None;
    desk.feed(Event::TransportFailed { attempt: 1 });
    desk.run(1_000);
    assert_eq!((desk.sent.len(), desk.keys().len()), (2, 1));
    assert!(desk.store.text.as_ref().unwrap().1.contains(desk.key().as_str()));
}

#[test]
fn r85_given_a_store_spoilt_mid_flight_then_the_text_is_moved_aside_once_and_the_key_stays() {
    let mut desk = Desk::new();
    desk.submit("2");
    desk.store.text = Some((Version { generation: 9, round: 9, rev: 9, writer: 0 }, "#".into()));
    desk.feed(Event::TransportFailed { attempt: 1 });
    desk.run(1_000);
    assert_eq!((desk.sent.len(), desk.keys().len()), (2, 1));
}

#[test]
fn r54_given_a_document_lost_between_refused_attempts_then_refused_and_never_not_sent_or_unknown() {
    let mut one = Desk::new();
    one.submit("2");
    one.answer(Answer { retry_after: Some("2".into()), ..status_only(429) });
    assert_eq!(one.state(), "waiting");
    let mut two = one.reopen(500);
    assert_eq!((two.state(), two.doubt()), ("refused", Doubt::None));
    two.pass(10_000);
    two.submit("2");
    assert_eq!(two.key(), one.key());
}

#[test]
fn r70_given_a_verdict_then_the_drive_is_given_back_only_behind_the_write_that_tells_of_it() {
    for answer in [status_only(429), created(&Key::from_random([1; 16]), "false")] {
        let mut desk =
            Desk::open(OperationInput { attempts: Some(1.0), ..order() }, Store::default(), "doc-a", Desk::new().now);
        desk.submit("2");
        let fx = desk.machine.step(desk.now, Event::Answered { attempt: 1, answer });
        let written = fx.iter().position(|effect| matches!(effect, Effect::Persist { .. }));
        let released = fx.iter().position(|effect| *effect == Effect::Release);
        assert!(written.is_some() && written < released, "whoever takes over reads what this document knows: {fx:?}");
    }
}

#[test]
fn r63_r75_given_an_attempt_that_was_out_when_the_page_was_kept_then_it_asks_and_never_sends_without_a_press() {
    let mut desk = Desk::new();
    desk.submit("2");
    desk.pass(1_000);
    desk.feed(Event::Returned);
    assert_eq!((desk.state(), desk.sent.len(), desk.checks.len()), ("checking", 1, 1));
    desk.feed(Event::TransportFailed { attempt: 1 });
    desk.answer_inquiry(status(&desk.key(), "2", "not_found"));
    desk.run(120_000);
    assert_eq!((desk.state(), desk.sent.len()), ("unknown", 1));
    desk.submit("2");
    desk.answer_inquiry(status(&desk.key(), "2", "not_found"));
    assert_eq!((desk.sent.len(), desk.keys().len()), (2, 1), "R20: a press sends it again, under its key");
}

#[test]
fn r63_given_a_wait_a_claim_or_a_look_before_a_resend_when_the_page_returns_then_nothing_follows_without_a_press() {
    let mut waiting = Desk::new();
    waiting.submit("2");
    waiting.feed(Event::TransportFailed { attempt: 1 });
    assert_eq!(waiting.state(), "waiting");
    let mut looking = Desk::new();
    looking.submit("2");
    let key = looking.key();
    let mut looking = looking.reopen(1_000);
    looking.submit("2");
    assert_eq!(looking.state(), "checking");
    for (key, mut desk) in [(waiting.key(), waiting), (key, looking)] {
        let sent = desk.sent.len();
        desk.feed(Event::Returned);
        desk.answer_inquiry(status(&key, "2", "not_found"));
        desk.run(120_000);
        assert_eq!((desk.state(), desk.sent.len()), ("unknown", sent));
    }
}

#[test]
fn r75_given_nothing_was_sent_when_the_page_returns_then_not_sent_and_no_doubt() {
    let mut desk = Desk::new();
    desk.feed(Event::Online(false));
    desk.submit("2");
    assert_eq!((desk.state(), desk.sent.len()), ("waiting", 0));
    desk.feed(Event::Returned);
    desk.feed(Event::Online(true));
    desk.run(120_000);
    assert_eq!((desk.state(), desk.sent.len(), desk.doubt()), ("not_sent", 0, Doubt::None));
}
