//! Stored records, and what a document does that finds them.

use postonce_core::fingerprint::{Field, Target, canonical_pairs};
use postonce_core::json::parse;
use postonce_core::key::Key;
use postonce_core::machine::effect::Effect;
use postonce_core::machine::event::{Durability, Entropy, Event, Wish};
use postonce_core::machine::state::Doubt;
use postonce_core::machine::{Machine, Setting};
use postonce_core::operation::Operation;
use postonce_core::record::{Phase, Record, RecordFault, read};
use postonce_core::time::{Millis, Mono, Now, Wall};

use crate::lossy;

/// Between the two stores' texts in an input.
const SEPARATOR: &str = "\n---\n";

/// Steps of a document's life; enough for a check, its polls and a round of attempts.
const STEPS: usize = 24;

const MANUAL: &str = r#"{"name":"order.create","url":"https://shop.test/orders"}"#;
const WITH_STATUS: &str = r#"{"name":"order.create","url":"https://shop.test/orders","contract":"postonce","status":{"url":"https://shop.test/orders/status"}}"#;

/// What is written reads back; what may have left is never shown as nothing, and never gets a second key (R4, R20, R85).
pub(crate) fn record(bytes: &[u8]) {
    let text = lossy(bytes);
    let (database, local) = text.split_once(SEPARATOR).map_or((text.as_str(), None), |(d, l)| (d, Some(l)));
    let copies: Vec<_> = [Some(database), local].into_iter().flatten().map(read).collect();
    for copy in copies.iter().flatten() {
        assert_eq!(read(&copy.write()).as_ref(), Ok(copy));
        let newer = copy.clone().newer(Record::default());
        assert!(newer.version >= copy.version);
    }
    for options in [MANUAL, WITH_STATUS] {
        let Ok(options) = parse(options) else { return };
        load(Operation::from_checked(&options), database, local, &copies);
    }
}

fn load(operation: Operation, database: &str, local: Option<&str>, copies: &[Result<Record, RecordFault>]) {
    let setting = Setting { document: "doc-b".to_owned(), seed: 7, online: true, ..Setting::default() };
    let mut machine = Machine::new(operation, setting);
    let mut now = Now { mono: Mono(1_000), wall: Wall(1_800_000_000_000) };
    let stores = Event::Loaded { database: Some(database.to_owned()), local: local.map(str::to_owned) };
    for effect in machine.step(now, stores) {
        let touches =
            matches!(effect, Effect::Send { .. } | Effect::Fence { .. } | Effect::Persist { aside: true, .. });
        assert!(!touches, "a load sends, voids and moves nothing (R63)");
    }

    let (state, doubt) = (machine.state().name(), machine.view(now).doubt);
    if copies.iter().any(|copy| matches!(copy, Err(RecordFault::Newer(_)))) {
        assert_eq!(state, "unknown", "a newer schema is live and read-only (R27)");
    } else if copies.iter().all(Result::is_err) {
        assert_eq!(state, "unknown", "an unreadable record is no fresh start (R85)");
    }
    let live = live(copies);
    if doubt != Doubt::None || live.is_some() {
        assert!(!matches!(state, "idle" | "not_sent" | "refused" | "rejected"), "{state} in doubt (R20)");
    }
    for _ in 0..STEPS {
        let event = next_event(&machine, now);
        let fx = machine.step(now, event);
        perform(&mut machine, &mut now, fx, live.as_ref());
    }
}

/// The key that may have left, of the copy that counts.
fn live(copies: &[Result<Record, RecordFault>]) -> Option<Key> {
    if copies.iter().any(|copy| matches!(copy, Err(RecordFault::Newer(_)))) {
        return None;
    }
    let best = copies.iter().flatten().cloned().reduce(Record::newer)?.current?;
    let left = best.doubt != Doubt::None || best.phase == Phase::Sending;
    left.then_some(best.key)
}

/// The wake-up it asked for, or else a person who presses submit.
fn next_event(machine: &Machine, now: Now) -> Event {
    match machine.next_wake() {
        Some((at, _)) if at > now.mono => Event::Shown,
        Some(_) => Event::Timer,
        None => wish().map_or(Event::Timer, |wish| Event::Submit(wish, Entropy([3; 16]))),
    }
}

fn wish() -> Option<Wish> {
    let target = Target { operation: "order.create", method: "POST", path: &[], query: &[] };
    let pairs = [("sku".to_owned(), Field::Text("A1".to_owned()))];
    let canonical = canonical_pairs(&target, &pairs, &[]).ok()?;
    Some(Wish { canonical, remembered: Vec::new(), expected: Vec::new() })
}

/// Every write lands; every request fails without a word.
fn perform(machine: &mut Machine, now: &mut Now, fx: impl IntoIterator<Item = Effect>, live: Option<&Key>) {
    let mut reports = Vec::new();
    for effect in fx {
        match effect {
            Effect::Send { headers, attempt, .. } => {
                assert!(live.is_none_or(|key| *key == headers.key), "a second key for what may have left (R4)");
                reports.push(Event::TransportFailed { attempt });
            }
            Effect::Check { ticket, headers, .. } | Effect::Fence { ticket, headers, .. } => {
                assert!(live.is_none_or(|key| *key == headers.key));
                reports.push(Event::InquiryFailed(ticket));
            }
            Effect::Persist { ticket, text, .. } => {
                assert!(read(&text).is_ok(), "{text}");
                reports.push(Event::Persisted(ticket, Durability::Durable));
            }
            Effect::Drive => reports.push(Event::DriveGranted),
            Effect::Abort
            | Effect::Release
            | Effect::Keep(_)
            | Effect::Announce
            | Effect::Reply(_)
            | Effect::ReplyAll(_)
            | Effect::Decline(_) => {}
        }
    }
    let wait = Millis(700);
    *now = Now { mono: now.mono.plus(wait), wall: now.wall.plus(wait) };
    if let Some(key) = live {
        let state = machine.state().name();
        assert!(!matches!(state, "idle" | "not_sent" | "refused" | "rejected" | "fenced"), "{state} for {key:?} (R21)");
    }
    for report in reports {
        let fx = machine.step(*now, report);
        perform(machine, now, fx, live);
    }
}
