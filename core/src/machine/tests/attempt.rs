//! Attempts, deadline, waits, verdicts in their round.

use super::*;
use crate::machine::state::{Cause, NotSentReason, UnknownReason, WaitReason};

#[test]
fn r1_r19_given_a_submit_then_the_claim_is_stored_before_the_one_send() {
    let mut desk = Desk::new();
    desk.submit("2");
    assert_eq!(desk.sent.len(), 1);
    assert!(desk.written.last().unwrap().contains(r#""phase":"sending""#));
    assert!(desk.written.last().unwrap().contains(desk.key().as_str()));
    assert_eq!(desk.state(), "sending");
}

#[test]
fn r39_given_a_tied_201_then_succeeded_with_the_result_id() {
    let mut desk = Desk::new();
    desk.submit("2");
    desk.answer(created(&desk.key(), "false"));
    assert_eq!(result_id(&desk.machine.state()), Some("ord_1"));
    assert_eq!(desk.replies, [Reply::Settled]);
    assert!(!desk.store.text.as_ref().unwrap().1.contains(r#""current""#));
}

#[test]
fn r39_given_a_login_page_or_an_untied_201_then_never_succeeded() {
    let html = Answer {
        status: 200,
        content_type: Some("text/html".into()),
        body: Body::Text("<form>".into()),
        ..Answer::default()
    };
    let foreign = created(&Key::from_random([9; 16]), "false");
    let own = created(&Key::from_random([1; 16]), "false");
    let unmarked = Answer { replayed: None, ..own.clone() };
    for answer in [html, foreign, unmarked] {
        let mut desk = Desk::new();
        desk.submit("2");
        assert!(own.is_tied_to(&desk.key()), "only what is left out makes the difference");
        desk.answer(answer);
        assert_eq!(desk.state(), "waiting");
        assert_ne!(desk.doubt(), Doubt::None);
    }
}

#[test]
fn r4_r34_given_lost_answers_then_one_key_and_at_most_n_attempts() {
    let mut desk = Desk::new();
    desk.submit("2");
    for _ in 0..5 {
        let attempt = desk.sent.last().unwrap().0;
        desk.feed(Event::TransportFailed { attempt });
        desk.run(1_000);
    }
    assert_eq!(desk.sent.len(), 3);
    assert_eq!(desk.keys().len(), 1);
    assert_eq!(desk.machine.state(), State::Unknown { why: UnknownReason::Attempts });
}

#[test]
fn r33_r53_given_a_silent_server_then_no_attempt_after_the_deadline_and_one_unknown() {
    let mut desk = Desk::new();
    desk.lose_everything();
    let deadline = START + 8_000;
    assert!(desk.now.wall.0 >= deadline);
    assert_eq!(desk.machine.state(), State::Unknown { why: UnknownReason::Deadline });
    let before = desk.sent.len();
    desk.run(600_000);
    assert_eq!(desk.sent.len(), before, "nothing is sent by itself");
    assert!(desk.checks.is_empty(), "no automatic check at that moment");
    assert!(!desk.may("submit") && desk.may("check") && desk.may("resend") && desk.may("fence"));
}

#[test]
fn r35_given_a_hang_then_its_cap_leaves_room_for_another_attempt() {
    let mut desk = Desk::new();
    desk.submit("2");
    desk.run(4_000);
    assert_eq!(desk.aborts, 1);
    desk.run(1_000);
    assert_eq!(desk.sent.len(), 2);
}

#[test]
fn r31_given_a_forward_jump_then_it_ends_early_in_unknown_and_never_sends_again() {
    let mut desk = Desk::new();
    desk.submit("2");
    desk.now.wall = desk.now.wall.plus(Millis(3_600_000));
    desk.feed(Event::Timer);
    desk.run(60_000);
    assert_eq!(desk.sent.len(), 1);
    assert_eq!(desk.state(), "unknown");
}

#[test]
fn r31_given_a_jump_ahead_and_back_then_no_time_is_given_back() {
    let mut desk = Desk::new();
    desk.submit("2");
    desk.now.wall = desk.now.wall.plus(Millis(7_700));
    desk.feed(Event::Online(true));
    desk.now.wall = desk.now.wall.minus(Millis(7_700));
    desk.feed(Event::TransportFailed { attempt: 1 });
    desk.run(8_000);
    assert_eq!(desk.sent.len(), 1, "300 ms were left: too little for another attempt");
    assert_eq!(desk.state(), "unknown");
}

#[test]
fn r31_given_a_backward_jump_then_the_deadline_is_not_extended() {
    let mut desk = Desk::new();
    desk.submit("2");
    desk.now.wall = desk.now.wall.minus(Millis(3_600_000));
    desk.run(8_000);
    assert_eq!(desk.state(), "unknown");
    let before = desk.sent.len();
    desk.run(600_000);
    assert_eq!(desk.sent.len(), before);
}

#[test]
fn r48_given_a_wait_longer_than_the_budget_then_it_ends_at_once_refused_with_the_hint() {
    let mut desk = Desk::new();
    desk.submit("2");
    desk.answer(Answer { retry_after: Some("60".into()), ..status_only(429) });
    assert_eq!(desk.state(), "refused", "429 ran nothing: never unknown");
    let not_before = desk.machine.view(desk.now).not_before;
    assert_eq!(not_before, Some(desk.now.wall.plus(Millis(60_000))));
    desk.run(120_000);
    assert_eq!(desk.sent.len(), 1);
}

#[test]
fn r50_given_a_hint_beyond_the_budget_then_another_submit_sends_nothing_and_stays_refused() {
    let mut desk = Desk::new();
    desk.submit("2");
    desk.answer(Answer { retry_after: Some("60".into()), ..status_only(429) });
    desk.pass(10_000);
    desk.submit("2");
    assert_eq!((desk.sent.len(), desk.state()), (1, "refused"));
    assert_eq!(desk.replies.last(), Some(&Reply::Settled));
    desk.pass(55_000);
    desk.submit("2");
    assert_eq!((desk.sent.len(), desk.keys().len()), (2, 1));
}

#[test]
fn r48_given_doubt_and_a_long_wait_then_unknown_with_the_hint() {
    let mut desk = Desk::new();
    desk.submit("2");
    desk.answer(Answer { retry_after: Some("60".into()), ..status_only(503) });
    assert_eq!(desk.machine.state(), State::Unknown { why: UnknownReason::RetryAfter });
    assert!(desk.machine.view(desk.now).not_before.is_some());
}

#[test]
fn r46_r52_given_a_second_asked_for_then_the_next_attempt_comes_no_earlier() {
    let mut desk = Desk::new();
    desk.submit("2");
    desk.answer(Answer { retry_after: Some("1".into()), ..status_only(429) });
    assert!(matches!(desk.machine.state(), State::Waiting { why: WaitReason::RetryAfter, .. }));
    desk.run(999);
    assert_eq!(desk.sent.len(), 1);
    desk.run(400);
    assert_eq!(desk.sent.len(), 2);
    assert_eq!(desk.keys().len(), 1);
}

#[test]
fn f30_given_junk_in_retry_after_then_the_floor_of_a_503_holds() {
    for junk in ["-3", "1.5", "+3", "1000abc", "0x10", "", "120, 120"] {
        let mut desk = Desk::new();
        desk.submit("2");
        desk.answer(Answer { retry_after: Some(junk.into()), ..status_only(503) });
        desk.run(999);
        assert_eq!(desk.sent.len(), 1, "{junk}: not before a second");
        desk.run(600);
        assert_eq!(desk.sent.len(), 2, "{junk}: not after a thousand seconds");
    }
}

#[test]
fn r21_given_doubt_then_a_later_refusal_never_reads_as_refused() {
    for status in [400, 404, 413, 429] {
        let mut desk = Desk::new();
        desk.submit("2");
        desk.feed(Event::TransportFailed { attempt: 1 });
        desk.run(1_000);
        desk.answer(status_only(status));
        desk.run(10_000);
        assert_eq!(desk.state(), "unknown", "{status}");
        assert!(matches!(desk.doubt(), Doubt::Possible { first_attempt: 1, cause: Cause::Transport }));
    }
}

#[test]
fn r24_r127_given_a_4xx_without_the_marker_then_refused_and_the_key_is_kept() {
    let mut desk = Desk::new();
    desk.submit("2");
    desk.answer(status_only(404));
    assert_eq!(desk.state(), "refused");
    desk.submit("3");
    assert_eq!(desk.keys().len(), 1, "the edited payload goes out under the same key");
}

#[test]
fn r24_f46_given_a_record_backed_refusal_then_the_key_is_retired() {
    let mut desk = Desk::new();
    desk.submit("2");
    let key = desk.key();
    desk.answer(Answer { status: 402, ..created(&key, "false") });
    assert_eq!(desk.state(), "rejected");
    desk.submit("2");
    assert_eq!(desk.keys().len(), 2);
}

#[test]
fn r22_given_a_stop_before_fetch_then_not_sent_and_after_it_unknown() {
    let mut desk = Desk::new();
    desk.machine.setting.online = false;
    desk.submit("2");
    assert!(matches!(desk.machine.state(), State::Waiting { why: WaitReason::Offline, .. }));
    desk.feed(Event::Stop);
    assert_eq!(desk.machine.state(), State::NotSent { why: NotSentReason::Stopped });
    desk.feed(Event::Online(true));
    desk.submit("2");
    desk.feed(Event::Stop);
    assert_eq!(desk.machine.state(), State::Unknown { why: UnknownReason::Stopped });
    assert_eq!(desk.keys().len(), 1);
}

#[test]
fn r54_given_offline_until_the_end_then_not_sent_and_never_unknown() {
    let mut desk = Desk::new();
    desk.feed(Event::Online(false));
    desk.submit("2");
    desk.run(9_000);
    assert_eq!(desk.machine.state(), State::NotSent { why: NotSentReason::Offline });
    assert!(desk.sent.is_empty());
}

#[test]
fn r37_given_offline_then_online_inside_the_budget_then_it_is_sent_once() {
    let mut desk = Desk::new();
    desk.feed(Event::Online(false));
    desk.submit("2");
    desk.run(2_500);
    desk.feed(Event::Online(true));
    assert_eq!(desk.sent.len(), 1);
}

#[test]
fn r42_given_a_replayed_500_then_stop_and_unknown() {
    let mut desk = Desk::new();
    desk.submit("2");
    desk.answer(Answer { replayed: Some("true".into()), ..status_only(500) });
    assert_eq!(desk.machine.state(), State::Unknown { why: UnknownReason::ServerError });
    desk.run(60_000);
    assert_eq!(desk.sent.len(), 1);
}

#[test]
fn r117_given_a_slow_clock_then_one_correction_and_the_same_key() {
    let mut desk = Desk::new();
    desk.submit("2");
    let server = START + 10_000;
    desk.answer(problem(412, "deadline-passed", &[r#","now":"#, &server.to_string_plain()].concat()));
    assert_eq!(desk.sent.len(), 2);
    assert_eq!(desk.keys().len(), 1);
    let headers = &desk.sent[1].1;
    assert_eq!(headers.first_sent, Some(Wall(server)));
    assert_eq!(headers.deadline, Some(Wall(server + 8_000)));
    desk.answer(problem(412, "deadline-passed", &[r#","now":"#, &server.to_string_plain()].concat()));
    assert_eq!(desk.sent.len(), 2, "corrected once, never hammered");
    assert_eq!(desk.state(), "refused");
}

#[test]
fn r117_given_a_clock_two_days_slow_then_expired_corrects_it_once() {
    let mut desk = Desk::new();
    desk.submit("2");
    let server = START + 2 * 86_400_000;
    desk.answer(problem(410, "expired", &[r#","now":"#, &server.to_string_plain()].concat()));
    assert_eq!(desk.sent.len(), 2);
    desk.answer(created(&desk.key(), "false"));
    assert_eq!(desk.state(), "succeeded");
}

#[test]
fn r7_given_no_declared_contract_then_one_attempt_and_no_resend() {
    let input = OperationInput { contract: None, status_url: None, ..order() };
    let mut desk = Desk::open(input, Store::default(), "doc-a", Now { mono: Mono(0), wall: Wall(START) });
    desk.submit("2");
    desk.feed(Event::TransportFailed { attempt: 1 });
    desk.run(20_000);
    assert_eq!(desk.sent.len(), 1);
    assert_eq!(desk.state(), "unknown");
    desk.feed(Event::Resend(None));
    assert_eq!(desk.declined, [Declined::NotOffered]);
    assert!(!desk.may("resend"));
}

#[test]
fn r82_given_no_store_then_required_refuses_and_best_effort_sends_once() {
    for (persistence, sends, state) in [("required", 0, "not_sent"), ("best-effort", 1, "sending")] {
        let input = OperationInput { persistence: Some(persistence.into()), ..order() };
        let store = Store { fault: Some(StoreFault::Unavailable), ..Store::default() };
        let mut desk = Desk::open(input, store, "doc-a", Now { mono: Mono(0), wall: Wall(START) });
        desk.submit("2");
        assert_eq!((desk.sent.len(), desk.state()), (sends, state), "{persistence}");
        assert_eq!(desk.machine.view(desk.now).durability, Durability::None);
    }
}

#[test]
fn f56_given_409_for_our_own_attempt_then_waits_polls_and_succeeds_without_another_key() {
    let mut desk = Desk::new();
    desk.submit("2");
    desk.run(4_200);
    desk.answer(problem(409, "in-progress", r#","retry_after_ms":1000"#));
    assert_eq!(desk.state(), "waiting");
    desk.run(1_100);
    assert_eq!(desk.checks.len(), 1);
    desk.answer_inquiry(status(&desk.key(), "2", "completed"));
    assert_eq!(result_id(&desk.machine.state()), Some("ord_1"));
    assert_eq!(desk.keys().len(), 1);
}

#[test]
fn r122_given_a_replay_of_something_older_than_the_fetch_then_it_is_shown_as_earlier() {
    let key_of = |desk: &Desk| desk.key();
    for (seen, earlier) in [(START / 1_000 - 60, true), (START / 1_000 + 10, false)] {
        let mut desk = Desk::new();
        desk.pass(10_000);
        desk.submit("2");
        let first_seen = ["@", &seen.to_string_plain()].concat();
        desk.answer(Answer { first_seen: Some(first_seen), ..created(&key_of(&desk), "true") });
        let State::Succeeded(success) = desk.machine.state() else { panic!("succeeded") };
        assert_eq!(success.earlier.is_some(), earlier);
        assert!(success.replayed);
    }
}

#[test]
fn f58_given_one_attempt_that_takes_the_whole_budget_then_the_deadline_is_why_and_not_the_attempts() {
    let input = OperationInput { attempts: Some(1.0), budget: Some(2_000.0), ..order() };
    let mut desk = Desk::open(input, Store::default(), "doc-a", Now { mono: Mono(0), wall: Wall(START) });
    desk.submit("2");
    desk.run(2_000);
    assert_eq!(desk.machine.state(), State::Unknown { why: UnknownReason::Deadline });
}

#[test]
fn f26_given_2xx_headers_over_a_body_that_the_deadline_cut_then_the_doubt_says_what_was_seen() {
    let input = OperationInput { attempts: Some(1.0), budget: Some(1_000.0), ..order() };
    let mut desk = Desk::open(input, Store::default(), "doc-a", Now { mono: Mono(0), wall: Wall(START) });
    desk.submit("2");
    desk.run(1_000);
    desk.answer(Answer { body: Body::Unreadable, ..created(&desk.key(), "false") });
    assert_eq!(desk.state(), "unknown", "never succeeded");
    assert!(matches!(desk.doubt(), Doubt::Possible { cause: Cause::Unreadable, .. }));
    assert!(desk.store.text.unwrap().1.contains(r#""cause":"unreadable""#));
}

/// Decimal text without the formatting machinery the core itself avoids.
trait Plain {
    fn to_string_plain(&self) -> String;
}

impl Plain for u64 {
    fn to_string_plain(&self) -> String {
        alloc::string::ToString::to_string(self)
    }
}

#[test]
fn r54_given_a_store_that_fails_at_the_second_claim_then_what_the_first_attempt_left_decides_and_never_not_sent() {
    let required = || OperationInput { persistence: Some("required".into()), ..order() };
    let at = Now { mono: Mono(0), wall: Wall(START) };
    for (first, state) in [(500, "unknown"), (429, "refused")] {
        let mut desk = Desk::open(required(), Store::default(), "doc-a", at);
        desk.submit("2");
        desk.answer(status_only(first));
        desk.store.fault = Some(StoreFault::Quota);
        desk.run(7_000);
        assert_eq!((desk.sent.len(), desk.state()), (1, state), "{first}");
    }
}

#[test]
fn r65_given_a_late_answer_of_an_attempt_that_was_given_up_then_it_counts_only_if_it_settles_the_key() {
    for (late, state) in [("false", "succeeded"), ("maybe", "sending")] {
        let mut desk = Desk::new();
        desk.submit("2");
        desk.run(4_900);
        assert_eq!((desk.sent.len(), desk.state()), (2, "sending"), "the first attempt was given up");
        let answer = created(&desk.key(), late);
        desk.feed(Event::Answered { attempt: 1, answer });
        assert_eq!((desk.state(), desk.sent.len()), (state, 2));
    }
}

#[test]
fn r62_given_a_lost_answer_and_then_a_session_that_ended_then_suspended_keeps_the_doubt() {
    let mut desk = Desk::new();
    desk.submit("2");
    desk.feed(Event::TransportFailed { attempt: 1 });
    desk.run(2_000);
    assert_eq!(desk.sent.len(), 2);
    desk.answer(status_only(401));
    assert_eq!(desk.state(), "suspended");
    assert_ne!(desk.doubt(), Doubt::None, "the first may have happened");
    let later = desk.reopen(1_000);
    assert_ne!(later.doubt(), Doubt::None, "and that is on record");
}

#[test]
fn r33_given_a_claim_whose_write_takes_the_rest_of_the_budget_then_it_is_not_sent_after_the_deadline() {
    let mut desk = Desk::new();
    let entropy = desk.entropy();
    let fx = desk.machine.step(desk.now, Event::Submit(wish("2"), entropy));
    let budget = desk.machine.operation().budget.0;
    desk.pass(budget);
    desk.perform(fx);
    assert_eq!(desk.sent.len(), 0);
    desk.run(1_000);
    assert_eq!((desk.state(), desk.sent.len(), desk.doubt()), ("not_sent", 0, Doubt::None));
}
