//! Runs `verdicts.json`: native in `core/tests`, in the WebAssembly build in `tests/browser`.

use postonce_core::json::{self, Value};
use postonce_core::key::Key;
use postonce_core::machine::state::{Cause, Problem};
use postonce_core::operation::Operation;
use postonce_core::time::{Millis, Wall};
use postonce_core::verdict::{Answer, Body, ResponseKind, Verdict, judge};

use crate::shape::{Shape, list, optional, text};

const VECTORS: &str = include_str!("verdicts.json");

/// Judges every vector and compares; the number of vectors.
pub(crate) fn check() -> usize {
    let file = json::parse(VECTORS).expect("the vector file is JSON");
    let key = Key::parse(&text(&file, "key")).expect("a key");
    let now = Wall(file.get("now").and_then(Value::as_u64).expect("an instant"));
    for vector in list(&file, "vectors") {
        let verdict = judge(&answer(vector.get("answer").expect("an answer")), &operation(vector), &key, now);
        let wanted = vector.get("verdict").expect("a verdict");
        shape(&verdict).assert_is(wanted, &text(vector, "name"));
    }
    list(&file, "vectors").len()
}

fn operation(vector: &Value) -> Operation {
    let mut options = vec![
        ("name".to_owned(), Value::String("order.create".to_owned())),
        ("url".to_owned(), Value::String("https://shop.test/orders".to_owned())),
    ];
    if let Some(dialect) = optional(vector, "dialect") {
        options.push(("contract".to_owned(), Value::String(dialect)));
    }
    if let Some(Value::Object(further)) = vector.get("options") {
        options.extend(further.clone());
    }
    Operation::from_checked(&Value::Object(options))
}

/// The answer of a vector.
pub(crate) fn answer(of: &Value) -> Answer {
    let header = |name: &str| of.get("headers").and_then(|headers| optional(headers, name));
    Answer {
        status: of
            .get("status")
            .and_then(Value::as_u64)
            .and_then(|status| u16::try_from(status).ok())
            .expect("a status"),
        kind: match optional(of, "kind").as_deref() {
            None => ResponseKind::Readable,
            Some("opaque_redirect") => ResponseKind::OpaqueRedirect,
            Some("redirected") => ResponseKind::Redirected { confirmed: false },
            Some("redirected_as_declared") => ResponseKind::Redirected { confirmed: true },
            Some(other) => panic!("no kind `{other}`"),
        },
        content_type: header("content-type"),
        key_echo: header("idempotency-key"),
        replayed: header("idempotent-replayed"),
        first_seen: header("idempotency-first-seen"),
        retry_after: header("retry-after"),
        date: header("date"),
        body: optional(of, "body").map_or(Body::Unreadable, Body::Text),
    }
}

fn shape(verdict: &Verdict) -> Shape {
    let wall = |at: &Option<Wall>| at.map(|at| Millis(at.0));
    match verdict {
        Verdict::Applied { body, replayed, first_seen, date } => Shape::named("applied")
            .text("body", body)
            .flag("replayed", *replayed)
            .number("first_seen", wall(first_seen))
            .number("date", wall(date)),
        Verdict::InProgress { after } => Shape::named("in_progress").number("after_ms", *after),
        Verdict::KeyReused => Shape::named("key_reused"),
        Verdict::Rejected { status, problem } => refusal("rejected", *status, problem),
        Verdict::Refused { status, problem } => refusal("refused", *status, problem),
        Verdict::Suspended(why) => Shape::named("suspended").text("why", why.name()),
        Verdict::NotRun { status, problem, after } => refusal("not_run", *status, problem).number("after_ms", *after),
        Verdict::ClockRefused { status, problem, server_now } => {
            refusal("clock_refused", *status, problem).number("server_now", wall(server_now))
        }
        Verdict::Ambiguous { cause, after, unavailable } => {
            let shape = doubt("ambiguous", *cause).number("after_ms", *after);
            if *unavailable { shape.flag("unavailable", true) } else { shape }
        }
        Verdict::Final { cause, why, server_now } => {
            doubt("final", *cause).text("why", why.name()).number("server_now", wall(server_now))
        }
        Verdict::Fenced => Shape::named("fenced"),
    }
}

fn refusal(name: &str, status: u16, problem: &Problem) -> Shape {
    let shape = Shape::named(name).number("status", Some(Millis(u64::from(status))));
    shape.filled("type", &problem.kind).filled("field", &problem.field)
}

fn doubt(name: &str, cause: Cause) -> Shape {
    let shape = Shape::named(name).text("cause", cause.name());
    if let Cause::Status(status) = cause {
        return shape.number("cause_status", Some(Millis(u64::from(status))));
    }
    shape
}
