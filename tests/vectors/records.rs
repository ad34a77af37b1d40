//! Runs `records.json`: native in `core/tests`, in the WebAssembly build in `tests/browser`.

use postonce_core::json::{self, Value};
use postonce_core::machine::effect::Effect;
use postonce_core::machine::event::Event;
use postonce_core::machine::state::{Doubt, State};
use postonce_core::machine::{Machine, Setting};
use postonce_core::operation::Operation;
use postonce_core::record::{RecordFault, Version, read};
use postonce_core::time::{Millis, Mono, Now, Wall};

use crate::shape::{Shape, list, optional, text};

const VECTORS: &str = include_str!("records.json");

/// Reads and loads every vector and compares; the number of vectors.
pub(crate) fn check() -> usize {
    let file = json::parse(VECTORS).expect("the vector file is JSON");
    let now = Now { mono: Mono(1_000), wall: Wall(file.get("now").and_then(Value::as_u64).expect("an instant")) };
    for vector in list(&file, "vectors") {
        let name = text(vector, "name");
        if let Some(wanted) = vector.get("read") {
            read_shape(&text(vector, "database")).assert_is(wanted, &name);
        }
        for (member, status_url) in [("loaded", None), ("loaded_with_status", Some("https://shop.test/orders/status"))]
        {
            let wanted = vector.get(member).unwrap_or_else(|| panic!("{name}: no `{member}`"));
            loaded_shape(vector, status_url, now).assert_is(wanted, &format!("{name}, {member}"));
        }
    }
    list(&file, "vectors").len()
}

fn read_shape(text: &str) -> Shape {
    match read(text) {
        Ok(record) => {
            assert_eq!(read(&record.write()), Ok(record.clone()), "what is written reads back");
            versioned("record", record.version)
        }
        Err(RecordFault::Newer(version)) => versioned("newer", version),
        Err(RecordFault::Corrupt) => Shape::named("corrupt"),
    }
}

fn versioned(is: &str, Version { generation, round, rev, writer: _ }: Version) -> Shape {
    let number = |number: u32| Some(Millis(u64::from(number)));
    Shape::named(is).number("generation", number(generation)).number("round", number(round)).number("rev", number(rev))
}

fn loaded_shape(vector: &Value, status_url: Option<&str>, now: Now) -> Shape {
    let status = status_url.map(|url| format!(r#","contract":"postonce","status":{{"url":"{url}"}}"#));
    let options =
        format!(r#"{{"name":"order.create","url":"https://shop.test/orders"{}}}"#, status.unwrap_or_default());
    let operation = Operation::from_checked(&json::parse(&options).expect("options"));
    let setting = Setting { document: "doc-b".to_owned(), online: true, ..Setting::default() };
    let mut machine = Machine::new(operation, setting);
    let stores = Event::Loaded { database: optional(vector, "database"), local: optional(vector, "local") };
    for effect in machine.step(now, stores) {
        assert!(
            !matches!(effect, Effect::Send { .. } | Effect::Fence { .. }),
            "{}: nothing is sent at a load (R63)",
            text(vector, "name")
        );
    }
    let shape = Shape::named(machine.state().name()).filled("why", why(&machine.state()));
    match machine.view(now).doubt {
        Doubt::None => shape.text("doubt", "none"),
        Doubt::Possible { cause, .. } => shape.text("doubt", "possible").text("cause", cause.name()),
    }
}

fn why(state: &State) -> &'static str {
    match state {
        State::Suspended { why } => why.name(),
        State::NotSent { why } => why.name(),
        State::Unknown { why } => why.name(),
        State::Disputed { why, .. } => why.name(),
        State::Waiting { why, .. } => why.name(),
        State::Idle
        | State::Sending { .. }
        | State::Checking
        | State::Succeeded(_)
        | State::Rejected { .. }
        | State::Refused { .. }
        | State::Fenced
        | State::Decided { .. } => "",
    }
}
