//! The verdict table, row by row.

use alloc::string::String;
use alloc::vec::Vec;

use super::*;
use crate::operation::OperationInput;
use crate::structured::string_item;

const NOW: Wall = Wall(1_800_000_000_000);

fn key() -> Key {
    Key::from_random([7; 16])
}

fn operation(contract: &str) -> Operation {
    let input = OperationInput {
        name: "order.create".into(),
        url: "https://shop.test/orders".into(),
        contract: Some(contract.into()),
        ..OperationInput::default()
    };
    Operation::define(input).unwrap()
}

fn answer(status: u16) -> Answer {
    Answer { status, body: Body::Text(String::new()), ..Answer::default() }
}

fn on_record(status: u16, replayed: &str) -> Answer {
    Answer {
        content_type: Some("application/json; charset=utf-8".into()),
        key_echo: string_item(key().as_str()),
        replayed: Some(replayed.into()),
        body: Body::Text("{\"id\":\"1\"}".into()),
        ..answer(status)
    }
}

fn ours(status: u16, name: &str) -> Answer {
    Answer {
        content_type: Some("application/problem+json".into()),
        body: Body::Text([r#"{"type":"urn:postonce:problem:"#, name, r#"","now":5}"#].concat()),
        ..answer(status)
    }
}

fn judged(answer: &Answer) -> Verdict {
    judge(answer, &operation("postonce"), &key(), NOW)
}

fn name(verdict: &Verdict) -> &'static str {
    match verdict {
        Verdict::Applied { .. } => "applied",
        Verdict::InProgress { .. } => "in progress",
        Verdict::KeyReused => "key reused",
        Verdict::Rejected { .. } => "rejected",
        Verdict::Refused { .. } => "refused",
        Verdict::Suspended(_) => "suspended",
        Verdict::NotRun { .. } => "not run",
        Verdict::ClockRefused { .. } => "clock",
        Verdict::Ambiguous { .. } => "ambiguous",
        Verdict::Final { .. } => "final",
        Verdict::Fenced => "fenced",
    }
}

#[test]
fn r41_given_each_answer_without_a_marker_then_the_verdict_of_the_table() {
    let rows: Vec<(Answer, &str)> = [
        (answer(202), "in progress"),
        (answer(206), "ambiguous"),
        (answer(204), "ambiguous"),
        (answer(304), "ambiguous"),
        (answer(400), "refused"),
        (ours(400, "key-invalid"), "refused"),
        (answer(401), "suspended"),
        (ours(403, "wrong-subject"), "suspended"),
        (answer(403), "refused"),
        (answer(404), "refused"),
        (answer(408), "ambiguous"),
        (ours(409, "in-progress"), "in progress"),
        (ours(409, "uncertain"), "final"),
        (ours(409, "object-taken"), "rejected"),
        (answer(409), "refused"),
        (ours(410, "expired"), "final"),
        (ours(410, "fenced"), "fenced"),
        (answer(410), "refused"),
        (ours(412, "deadline-passed"), "clock"),
        (ours(412, "clock-skew"), "clock"),
        (answer(413), "refused"),
        (ours(422, "key-reused"), "key reused"),
        (ours(422, "token-refused"), "refused"),
        (answer(422), "refused"),
        (answer(425), "ambiguous"),
        (answer(429), "not run"),
        (answer(500), "ambiguous"),
        (answer(501), "final"),
        (answer(502), "ambiguous"),
        (answer(503), "ambiguous"),
        (ours(503, "not-started"), "not run"),
        (answer(504), "ambiguous"),
        (answer(0), "ambiguous"),
    ]
    .into();
    for (answer, expected) in rows {
        assert_eq!(name(&judged(&answer)), expected, "{} {:?}", answer.status, answer.body);
    }
}

#[test]
fn r127_given_the_marker_and_the_echo_then_2xx_confirms_and_4xx_is_authoritative() {
    assert_eq!(name(&judged(&on_record(201, "false"))), "applied");
    for status in [400, 402, 404, 409, 410, 422] {
        assert_eq!(name(&judged(&on_record(status, "true"))), "rejected", "{status}");
    }
    assert_eq!(name(&judged(&on_record(500, "true"))), "final");
    let foreign = Answer { key_echo: string_item("another-key-of-some-length"), ..on_record(402, "true") };
    assert_eq!(name(&judged(&foreign)), "refused", "another key's record is not ours");
}

#[test]
fn r39_given_2xx_that_is_redirected_cut_untyped_or_unparseable_then_never_applied() {
    let good = on_record(201, "false");
    assert_eq!(name(&judged(&good)), "applied");
    let bad = [
        Answer { kind: ResponseKind::OpaqueRedirect, ..good.clone() },
        Answer { kind: ResponseKind::Redirected { confirmed: false }, ..good.clone() },
        Answer { body: Body::Unreadable, ..good.clone() },
        Answer { content_type: Some("text/html".into()), ..good.clone() },
        Answer { content_type: None, ..good.clone() },
        Answer { body: Body::Text("{\"id\":".into()), ..good.clone() },
        Answer { key_echo: None, ..good.clone() },
        Answer { replayed: Some("maybe".into()), ..good },
    ];
    for answer in bad {
        assert_eq!(name(&judged(&answer)), "ambiguous", "{answer:?}");
    }
}

#[test]
fn r52_given_retry_after_then_it_is_honoured_on_429_503_and_in_progress_only() {
    let with = |answer: Answer| Answer { retry_after: Some("7".into()), ..answer };
    let seven = Some(Millis(7_000));
    assert!(matches!(judged(&with(answer(429))), Verdict::NotRun { after, .. } if after == seven));
    assert!(matches!(judged(&with(answer(503))), Verdict::Ambiguous { after, .. } if after == seven));
    assert!(matches!(judged(&with(ours(409, "in-progress"))), Verdict::InProgress { after } if after == seven));
    for status in [408, 425, 500, 502, 504] {
        assert!(matches!(judged(&with(answer(status))), Verdict::Ambiguous { after: None, .. }), "{status}");
    }
}

#[test]
fn r51_given_a_hidden_header_then_the_body_says_how_long() {
    let body = r#"{"type":"urn:postonce:problem:in-progress","retry_after_ms":1500}"#;
    let hidden =
        Answer { content_type: Some("application/problem+json".into()), body: Body::Text(body.into()), ..answer(409) };
    assert_eq!(judged(&hidden), Verdict::InProgress { after: Some(Millis(1_500)) });
}

#[test]
fn r41_given_a_dialect_then_409_and_422_mean_what_it_says() {
    let rows = [
        ("ietf", 409, "in progress"),
        ("ietf", 422, "key reused"),
        ("bare", 409, "in progress"),
        ("bare", 422, "refused"),
    ];
    for (contract, status, expected) in rows {
        let verdict = judge(&answer(status), &operation(contract), &key(), NOW);
        assert_eq!(name(&verdict), expected, "{contract} {status}");
    }
}

#[test]
fn r24_given_a_foreign_server_whose_refusals_are_final_then_rejected() {
    let mut operation = operation("bare");
    operation.refusals_final = true;
    assert_eq!(name(&judge(&answer(402), &operation, &key(), NOW)), "rejected");
}

#[test]
fn r39_given_confirm_empty_then_204_confirms_only_when_tied() {
    let mut operation = operation("postonce");
    operation.confirm_empty = true;
    let empty = Answer { body: Body::Text(String::new()), content_type: None, ..on_record(204, "false") };
    assert_eq!(name(&judge(&empty, &operation, &key(), NOW)), "applied");
    assert_eq!(name(&judge(&answer(204), &operation, &key(), NOW)), "ambiguous");
}
