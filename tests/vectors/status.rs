//! Runs `status.json` and `problems.json`: native in `core/tests`, in the WebAssembly build in `tests/browser`.

use postonce_core::contract;
use postonce_core::fingerprint::Digest;
use postonce_core::json::{self, Value};
use postonce_core::key::Key;
use postonce_core::machine::state::Problem;
use postonce_core::reconcile::{Finding, Inquired, Stored, find};
use postonce_core::time::{Millis, Wall};
use postonce_core::verdict::{Answer, Body, our_problem, read_problem};

use crate::shape::{Shape, list, optional, text};
use crate::verdicts::answer;

const VECTORS: &str = include_str!("status.json");
const PROBLEMS: &str = include_str!("problems.json");

/// Reads every answer and compares; the number of vectors.
pub(crate) fn check() -> usize {
    let file = json::parse(VECTORS).expect("the vector file is JSON");
    let asked = file.get("asked").expect("what was asked");
    let key = Key::parse(&text(asked, "key")).expect("a key");
    let (operation, subject) = (text(asked, "operation"), text(asked, "subject"));
    let now = Wall(file.get("now").and_then(Value::as_u64).expect("an instant"));
    for vector in list(&file, "vectors") {
        let digest = optional(vector, "digest").map(|digest| Digest::parse(&digest).expect("a digest"));
        let inquired = Inquired { key: &key, operation: &operation, subject: &subject, digest: digest.as_ref() };
        let finding = find(&answer(vector.get("answer").expect("an answer")), &inquired, now);
        shape(&finding).assert_is(vector.get("finding").expect("a finding"), &text(vector, "name"));
    }
    list(&file, "vectors").len()
}

/// Reads every problem body and compares; the number of vectors.
pub(crate) fn check_problems() -> usize {
    let file = json::parse(PROBLEMS).expect("the vector file is JSON");
    for vector in list(&file, "vectors") {
        let content_type = optional(vector, "content_type");
        let answer = Answer { content_type, body: Body::Text(text(vector, "body")), ..Answer::default() };
        let problem = read_problem(answer.json().as_ref());
        let known = contract::Problem::from_type(&problem.kind);
        assert_eq!(known.map(contract::Problem::name), Some(our_problem(&problem)).filter(|_| known.is_some()));
        let mut shape = described(Shape::empty(), &problem);
        if let Some(known) = known {
            shape = shape.text("ours", known.name()).number("status", Some(Millis(u64::from(known.status()))));
        }
        shape.assert_is(vector.get("problem").expect("a problem"), &text(vector, "name"));
    }
    list(&file, "vectors").len()
}

fn described(shape: Shape, problem: &Problem) -> Shape {
    let Problem { kind, title, detail, field } = problem;
    shape.filled("type", kind).filled("title", title).filled("detail", detail).filled("field", field)
}

fn shape(finding: &Finding) -> Shape {
    match finding {
        Finding::Completed { stored, first_seen } => outcome("completed", Some(stored), *first_seen),
        Finding::OtherPayload { stored, first_seen } => outcome("other_payload", stored.as_ref(), *first_seen),
        Finding::Rejected { status, problem } => {
            described(Shape::named("rejected").number("status", Some(Millis(u64::from(*status)))), problem)
        }
        Finding::InProgress { after } => Shape::named("in_progress").number("after_ms", *after),
        Finding::Uncertain => Shape::named("uncertain"),
        Finding::Fenced => Shape::named("fenced"),
        Finding::Expired => Shape::named("expired"),
        Finding::NotFound => Shape::named("not_found"),
        Finding::ClockSkew { server_now } => {
            Shape::named("clock_skew").number("now", server_now.map(|at| Millis(at.0)))
        }
        Finding::Suspended(why) => Shape::named("suspended").text("why", why.name()),
        Finding::Unusable { after } => Shape::named("unusable").number("after_ms", *after),
    }
}

fn outcome(is: &str, stored: Option<&Stored>, first_seen: Option<Wall>) -> Shape {
    let shape = Shape::named(is).number("first_seen", first_seen.map(|at| Millis(at.0)));
    let Some(Stored { status, body, result_id }) = stored else { return shape };
    shape
        .number("stored_status", Some(Millis(u64::from(*status))))
        .filled("body", body.as_deref().unwrap_or_default())
        .filled("result_id", result_id.as_deref().unwrap_or_default())
}
