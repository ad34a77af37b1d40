//! The machine in a small world: one store, virtual clocks, and a list of what was sent.

mod attempt;
mod contradiction;
mod found;
mod inquiry;
mod lifecycle;
mod submit;

use alloc::string::String;
use alloc::vec;
use alloc::vec::Vec;

use super::effect::{Declined, Effect, Effects, Headers, Reply};
use super::event::{Durability, Entropy, Event, StoreFault, Target, Ticket, Wish};
use super::state::{Doubt, State};
use super::{Machine, Setting};
use crate::fingerprint::{self, Digest, Field};
use crate::json::Writer;
use crate::key::Key;
use crate::operation::{Operation, OperationInput};
use crate::record::{self, RecordFault, Version};
use crate::time::{Millis, Mono, Now, Wall};
use crate::verdict::{Answer, Body};

/// Where the virtual wall clock starts.
const START: u64 = 1_800_000_000_000;

pub(super) fn order() -> OperationInput {
    OperationInput {
        name: "order.create".into(),
        url: "https://shop.test/orders".into(),
        effect: Some("once".into()),
        contract: Some("postonce".into()),
        status_url: Some("https://shop.test/orders/status".into()),
        result_id: Some("/id".into()),
        remember: vec!["sku".into(), "quantity".into()],
        ..OperationInput::default()
    }
}

pub(super) fn wish(quantity: &str) -> Wish {
    let pairs = [("sku".into(), Field::Text("A1".into())), ("quantity".into(), Field::Text(quantity.into()))];
    let target = fingerprint::Target { operation: "order.create", method: "POST", path: &[], query: &[] };
    let texts = vec![("sku".into(), "A1".into()), ("quantity".into(), String::from(quantity))];
    Wish {
        canonical: fingerprint::canonical_pairs(&target, &pairs, &[]).unwrap(),
        remembered: texts.clone(),
        expected: texts,
    }
}

/// The store that documents share.
#[derive(Clone, Debug, Default)]
pub(super) struct Store {
    pub(super) text: Option<(Version, String)>,
    pub(super) fault: Option<StoreFault>,
    /// What was moved out of the way (R85).
    pub(super) aside: Vec<(Version, String)>,
}

/// One document.
pub(super) struct Desk {
    pub(super) machine: Machine,
    pub(super) now: Now,
    pub(super) store: Store,
    pub(super) sent: Vec<(u8, Headers, Millis)>,
    pub(super) checks: Vec<(Ticket, Headers)>,
    pub(super) fences: Vec<(Ticket, Headers)>,
    pub(super) replies: Vec<Reply>,
    pub(super) declined: Vec<Declined>,
    pub(super) aborts: usize,
    /// Whether another document holds the drive lock.
    pub(super) drive_busy: bool,
    /// Texts in the order they were written.
    pub(super) written: Vec<String>,
    minted: u8,
}

impl Desk {
    pub(super) fn open(input: OperationInput, store: Store, name: &str, at: Now) -> Self {
        let operation = Operation::define(input).unwrap();
        let setting = Setting {
            subject: "u-1".into(),
            object: "cart-7".into(),
            document: name.into(),
            seed: 7,
            clock_offset: 0,
            online: true,
        };
        let mut desk = Self {
            machine: Machine::new(operation, setting),
            now: at,
            store,
            sent: vec![],
            checks: vec![],
            fences: vec![],
            replies: vec![],
            declined: vec![],
            aborts: 0,
            drive_busy: false,
            written: vec![],
            minted: 0,
        };
        let text = desk.store.text.clone().map(|(_, text)| text);
        desk.feed(Event::Loaded { database: text.clone(), local: text });
        desk
    }

    pub(super) fn new() -> Self {
        Self::open(order(), Store::default(), "doc-a", Now { mono: Mono(1_000), wall: Wall(START) })
    }

    /// The same slot in a later document: what a reload or a reopened browser sees.
    pub(super) fn reopen(&self, after: u64) -> Self {
        let at = Now { mono: Mono(10), wall: Wall(self.now.wall.0 + after) };
        Self::open(order(), self.store.clone(), "doc-b", at)
    }

    pub(super) fn entropy(&mut self) -> Entropy {
        self.minted += 1;
        Entropy([self.minted; 16])
    }

    pub(super) fn feed(&mut self, event: Event) {
        let fx = self.machine.step(self.now, event);
        self.perform(fx);
    }

    pub(super) fn perform(&mut self, fx: Effects) {
        let mut reports = vec![];
        for effect in fx {
            match effect {
                Effect::Persist { ticket, text, version, expect, aside } => {
                    self.written.push(text.clone());
                    let unreadable = |(_, text): &(Version, String)| record::read(text) == Err(RecordFault::Corrupt);
                    if aside && self.store.text.as_ref().is_some_and(unreadable) {
                        self.store.aside.extend(self.store.text.take());
                    }
                    let held = self.store.text.as_ref().map(|(version, _)| *version);
                    reports.push(match (self.store.fault, held == expect) {
                        (Some(fault), _) => Event::PersistFailed(ticket, fault),
                        (None, true) => {
                            self.store.text = Some((version, text));
                            Event::Persisted(ticket, Durability::Durable)
                        }
                        (None, false) => {
                            let text = self.store.text.clone().map(|(_, text)| text).unwrap_or_default();
                            Event::Outrun(ticket, text)
                        }
                    });
                }
                Effect::Send { headers, attempt, cap } => self.sent.push((attempt, headers, cap)),
                Effect::Abort => self.aborts += 1,
                Effect::Check { ticket, headers, .. } => self.checks.push((ticket, headers)),
                Effect::Fence { ticket, headers, .. } => self.fences.push((ticket, headers)),
                Effect::Drive => reports.push(if self.drive_busy { Event::DriveBusy } else { Event::DriveGranted }),
                Effect::Reply(reply) | Effect::ReplyAll(reply) => self.replies.push(reply),
                Effect::Decline(why) => self.declined.push(why),
                Effect::Release | Effect::Keep(_) | Effect::Announce => {}
            }
        }
        for report in reports {
            self.feed(report);
        }
    }

    pub(super) fn pass(&mut self, ms: u64) {
        self.now.mono = self.now.mono.plus(Millis(ms));
        self.now.wall = self.now.wall.plus(Millis(ms));
    }

    /// Lets time pass, waking the machine exactly when it asks.
    pub(super) fn run(&mut self, ms: u64) {
        let end = self.now.mono.plus(Millis(ms));
        while let Some((at, _)) = self.machine.next_wake() {
            if at > end {
                break;
            }
            let step = at.since(self.now.mono).0;
            self.pass(step);
            self.feed(Event::Timer);
        }
        let rest = end.since(self.now.mono).0;
        self.pass(rest);
    }

    pub(super) fn submit(&mut self, quantity: &str) {
        let entropy = self.entropy();
        self.feed(Event::Submit(wish(quantity), entropy));
    }

    pub(super) fn begin_new(&mut self, leave_open: bool) {
        let entropy = self.entropy();
        self.feed(Event::BeginNew { leave_open, entropy });
    }

    pub(super) fn answer(&mut self, answer: Answer) {
        let attempt = self.sent.last().unwrap().0;
        self.feed(Event::Answered { attempt, answer });
    }

    pub(super) fn answer_inquiry(&mut self, answer: Answer) {
        let ticket = self.last_inquiry();
        self.feed(Event::Inquired(ticket, answer));
    }

    fn last_inquiry(&self) -> Ticket {
        let tickets = self.checks.iter().chain(&self.fences).map(|(ticket, _)| *ticket);
        tickets.max_by_key(|ticket| ticket.0).unwrap()
    }

    pub(super) fn state(&self) -> &'static str {
        self.machine.state().name()
    }

    pub(super) fn doubt(&self) -> Doubt {
        self.machine.view(self.now).doubt
    }

    /// Every key that ever left, without repetition.
    pub(super) fn keys(&self) -> Vec<String> {
        let mut keys: Vec<String> = vec![];
        for (_, headers, _) in &self.sent {
            let key = String::from(headers.key.as_str());
            if !keys.contains(&key) {
                keys.push(key);
            }
        }
        keys
    }

    pub(super) fn key(&self) -> Key {
        self.sent.last().unwrap().1.key.clone()
    }

    pub(super) fn may(&self, action: &str) -> bool {
        self.machine.view(self.now).may.contains(&action)
    }

    /// Times out the round's attempts until the budget is spent.
    pub(super) fn lose_everything(&mut self) {
        self.submit("2");
        self.run(8_000);
    }
}

pub(super) fn created(key: &Key, replayed: &str) -> Answer {
    Answer {
        status: 201,
        content_type: Some("application/json".into()),
        key_echo: crate::structured::string_item(key.as_str()),
        replayed: Some(replayed.into()),
        body: Body::Text(r#"{"id":"ord_1","sku":"A1","quantity":2}"#.into()),
        ..Answer::default()
    }
}

pub(super) fn status_only(status: u16) -> Answer {
    Answer { status, body: Body::Text(String::new()), ..Answer::default() }
}

pub(super) fn problem(status: u16, name: &str, more: &str) -> Answer {
    let body = [r#"{"type":"urn:postonce:problem:"#, name, r#"""#, more, "}"].concat();
    Answer {
        status,
        content_type: Some("application/problem+json".into()),
        body: Body::Text(body),
        ..Answer::default()
    }
}

/// A status answer about the desk's own key.
pub(super) fn status(key: &Key, quantity: &str, state: &str) -> Answer {
    let mut w = Writer::object();
    w.string("state", state);
    w.string("key", key.as_str());
    w.string("operation", "order.create");
    w.string("subject", "u-1");
    if !matches!(state, "not_found" | "fenced" | "expired") {
        w.string("fingerprint", &Digest::of(key, &wish(quantity).canonical).to_text());
    }
    if state == "completed" {
        w.begin_object("response");
        w.number("status", 201);
        w.string("body", r#"{"id":"ord_1","sku":"A1","quantity":2}"#);
        w.string("result_id", "ord_1");
        w.end();
    }
    Answer {
        status: 200,
        content_type: Some("application/json".into()),
        body: Body::Text(w.finish()),
        ..Answer::default()
    }
}

pub(super) fn result_id(state: &State) -> Option<&str> {
    if let State::Succeeded(success) = state { success.result_id.as_deref() } else { None }
}

pub(super) const CURRENT: Target = Target::Current;
