//! State and view as one JSON text, in the names of the public types: the shortest way across the module's border.

use alloc::string::String;

use super::Machine;
use super::event::Durability;
use super::state::{Doubt, Problem, State};
use super::view::{LastView, OpenView};
use crate::json::Writer;
use crate::operation::Persistence;
use crate::time::{Now, Wall};

impl Machine {
    /// The snapshot's text. `coordination` is the host's word for how tabs are kept apart. Absent members are `null` in
    /// the public type; `body` is the result's text and `remembered` a list of pairs.
    #[must_use]
    pub fn snapshot(&self, now: Now, coordination: &str) -> String {
        let view = self.view(now);
        let mut w = Writer::object();
        let state = self.state();
        w.string("state", state.name());
        write_state(&mut w, &state);
        if let Doubt::Possible { first_attempt, cause } = view.doubt {
            w.number("firstAttempt", u64::from(first_attempt));
            w.string("cause", cause.name());
        }
        w.string(
            "persistence",
            match self.operation.persistence {
                Persistence::Required => "required",
                Persistence::BestEffort => "best-effort",
            },
        );
        w.string("coordination", coordination);
        w.boolean("durable", view.durability == Durability::Durable);
        w.boolean("driving", view.driving);
        optional(&mut w, "reference", view.reference.as_deref());
        instant(&mut w, "notBefore", view.not_before);
        w.number("attempts", u64::from(view.attempts));
        w.number("attemptsMax", u64::from(view.attempts_max));
        w.number("round", u64::from(view.round));
        instant(&mut w, "deadline", view.deadline);
        w.number("budget", view.budget.0);
        write_pairs(&mut w, "remembered", &view.remembered);
        w.begin_array("may");
        for action in view.may {
            w.item_string(action);
        }
        w.end();
        w.begin_array("open");
        for OpenView { reference, state, left_at, result_id } in &view.open {
            w.item_begin_object();
            w.string("reference", reference);
            w.string("state", state);
            w.number("leftAt", left_at.0);
            optional(&mut w, "resultId", result_id.as_deref());
            w.end();
        }
        w.end();
        if let Some(LastView { state, at, result_id, reference }) = &view.last {
            w.begin_object("last");
            w.string("state", state);
            w.number("at", at.0);
            optional(&mut w, "resultId", result_id.as_deref());
            w.string("reference", reference);
            w.end();
        }
        w.finish()
    }
}

/// Pairs as `[[name, value], …]`.
pub fn write_pairs(w: &mut Writer, name: &str, pairs: &[(String, String)]) {
    w.begin_array(name);
    for (name, value) in pairs {
        w.item_begin_array();
        w.item_string(name);
        w.item_string(value);
        w.end();
    }
    w.end();
}

fn optional(w: &mut Writer, name: &str, text: Option<&str>) {
    if let Some(text) = text {
        w.string(name, text);
    }
}

fn instant(w: &mut Writer, name: &str, at: Option<Wall>) {
    if let Some(at) = at {
        w.number(name, at.0);
    }
}

fn write_state(w: &mut Writer, state: &State) {
    match state {
        State::Idle | State::Checking | State::Fenced => {}
        State::Sending { attempt } => w.number("attempt", u64::from(*attempt)),
        State::Waiting { until, why } => {
            w.number("until", until.0);
            w.string("why", why.name());
        }
        State::Suspended { why } => w.string("why", why.name()),
        State::Succeeded(success) => {
            optional(w, "body", success.body.as_deref());
            optional(w, "resultId", success.result_id.as_deref());
            w.boolean("replayed", success.replayed);
            w.number("at", success.at.0);
            instant(w, "earlier", success.earlier);
            w.begin_array("notCompared");
            for name in &success.not_compared {
                w.item_string(name);
            }
            w.end();
        }
        State::Rejected { status, problem } | State::Refused { status, problem } => write_problem(w, *status, problem),
        State::NotSent { why } => w.string("why", why.name()),
        State::Unknown { why } => w.string("why", why.name()),
        State::Disputed { why, field, expected, found } => {
            w.string("why", why.name());
            w.string("field", field);
            w.string("expected", expected);
            w.string("found", found);
        }
        State::Decided { outcome, by, at } => {
            w.string("outcome", outcome.name());
            w.string("by", by);
            w.number("at", at.0);
        }
    }
}

fn write_problem(w: &mut Writer, status: u16, problem: &Problem) {
    w.number("status", u64::from(status));
    w.begin_object("problem");
    w.string("type", &problem.kind);
    w.string("title", &problem.title);
    w.string("detail", &problem.detail);
    w.string("field", &problem.field);
    w.end();
}
