//! Runs one slot's machine in this page: performs its effects in order and feeds their reports back.

use std::cell::{Cell, RefCell};
use std::rc::{Rc, Weak};

use gloo_timers::callback::Timeout;
use postonce_core::budget::TIMER_MAX;
use postonce_core::json::{Writer, push_decimal};
use postonce_core::machine::effect::{Effect, Headers, Reply};
use postonce_core::machine::event::{Entropy, Event, Ticket, Wish};
use postonce_core::machine::{Machine, Setting, write_pairs};
use postonce_core::operation::Operation;
use postonce_core::record::Version;
use postonce_core::slot::hash_hex;
use postonce_core::structured::date_item;
use wasm_bindgen::JsValue;
use web_sys::AbortController;

use crate::callback::First;
use crate::clock::now;
use crate::fetch::{self, Outcome, Request};
use crate::host::Host;
use crate::journal::PersistReport;
use crate::page::{Page, enter, is_online, page};
use crate::payload::{self, Payload, Unusable};
use crate::tabs::{Drive, Hold};

/// The longest wait for the slot lock; the compare and set is safe without it (R69).
const LOCK_WAIT_MS: u32 = 2_000;

/// One slot in this page.
#[derive(Clone)]
pub(crate) struct Driver(Rc<Inner>);

pub(crate) struct Inner {
    machine: RefCell<Machine>,
    page: Rc<Page>,
    host: Host,
    base: JsValue,
    origin: String,
    subject: String,
    events: RefCell<Vec<Event>>,
    busy: Cell<bool>,
    changed: Cell<bool>,
    /// The attempt and the inquiry that `Abort` ends: an inquiry about an intent left open may run beside an attempt.
    out: RefCell<Option<AbortController>>,
    asking: RefCell<Option<AbortController>>,
    timer: RefCell<Option<Timeout>>,
    hold: RefCell<Option<Hold>>,
    /// Writes on their way; the drive lock is given back when they have landed, so that whoever follows reads them.
    writes: Cell<u32>,
    releases: Cell<bool>,
    /// The turn that is waited for.
    turn: RefCell<Option<Hold>>,
    kept: RefCell<Option<Payload>>,
    offered: RefCell<Option<Payload>>,
}

impl Driver {
    /// Starts a slot: opens the stores, reads its record, and goes on from there.
    pub(crate) fn start(operation: Operation, subject: String, object: String, host: Host, base: JsValue) -> Self {
        let random = entropy().map_or([0; 16], |Entropy(bytes)| bytes);
        let [a, b, c, d, ..] = random;
        let setting = Setting {
            subject: subject.clone(),
            object,
            document: hash_hex(&random),
            seed: u32::from_le_bytes([a, b, c, d]),
            clock_offset: 0,
            online: is_online(),
        };
        let origin = ["postonce:clock:", &hash_hex(origin_of(&operation.url, &base).as_bytes())].concat();
        let driver = Self(Rc::new(Inner {
            machine: RefCell::new(Machine::new(operation, setting)),
            page: page(),
            host,
            base,
            origin,
            subject,
            events: RefCell::default(),
            busy: Cell::default(),
            changed: Cell::default(),
            out: RefCell::default(),
            asking: RefCell::default(),
            timer: RefCell::default(),
            hold: RefCell::default(),
            writes: Cell::default(),
            releases: Cell::default(),
            turn: RefCell::default(),
            kept: RefCell::default(),
            offered: RefCell::default(),
        }));
        let page = &driver.0.page;
        page.add(&driver);
        let offset = page.journal.local_text(&driver.0.origin).and_then(|text| text.parse::<i64>().ok());
        if let Some(offset) = offset {
            driver.0.machine.borrow_mut().set_clock_offset(offset);
        }
        let slot = driver.0.machine.borrow().slot().clone();
        let started = driver.clone();
        page.journal.read(&slot, move |stored| {
            started.dispatch(Event::Loaded { database: stored.database, local: stored.local });
            enter(&started.0.subject);
        });
        driver
    }

    pub(crate) fn downgrade(&self) -> Weak<Inner> {
        Rc::downgrade(&self.0)
    }

    pub(crate) fn upgrade(weak: &Weak<Inner>) -> Option<Self> {
        weak.upgrade().map(Self)
    }

    /// Feeds one event. Events raised meanwhile wait their turn, so that a step is never entered twice.
    pub(crate) fn dispatch(&self, event: Event) {
        self.0.events.borrow_mut().push(event);
        if self.0.busy.replace(true) {
            return;
        }
        loop {
            let next = {
                let mut events = self.0.events.borrow_mut();
                if events.is_empty() { None } else { Some(events.remove(0)) }
            };
            let Some(event) = next else { break };
            let effects = self.0.machine.borrow_mut().step(now(), event);
            for effect in effects {
                self.perform(effect);
            }
            if self.0.changed.replace(false) {
                self.announce();
            }
        }
        self.0.busy.set(false);
        self.arm();
    }

    fn perform(&self, effect: Effect) {
        match effect {
            Effect::Persist { ticket, text, version, expect, aside } => {
                self.persist(ticket, text, version, expect, aside);
            }
            Effect::Send { headers, attempt, .. } => self.send(&headers, attempt),
            Effect::Abort => {
                for out in [self.0.out.take(), self.0.asking.take()].into_iter().flatten() {
                    out.abort();
                }
            }
            Effect::Check { ticket, headers, .. } => self.inquire("GET", ticket, &headers),
            Effect::Fence { ticket, headers, .. } => self.inquire("DELETE", ticket, &headers),
            Effect::Drive => self.drive(),
            Effect::Release if self.0.writes.get() > 0 => self.0.releases.set(true),
            Effect::Release => self.release(),
            Effect::Keep(true) => {
                if let Some(payload) = self.0.offered.take() {
                    self.0.kept.replace(Some(payload));
                }
            }
            Effect::Keep(false) => drop(self.0.kept.take()),
            Effect::Announce => self.0.changed.set(true),
            Effect::Reply(reply) => self.reply(false, &reply),
            Effect::ReplyAll(reply) => self.reply(true, &reply),
            // Before the next snapshot: that one would pass for the gesture's success.
            Effect::Decline(why) => self.0.host.declined(why.name()),
        }
    }

    /// Gives the drive lock back, if it is held.
    pub(crate) fn release(&self) {
        self.0.releases.set(false);
        drop(self.0.turn.take());
        drop(self.0.hold.take());
    }

    fn reply(&self, all: bool, reply: &Reply) {
        // Whoever is answered sees the state that the answer is about.
        self.flush();
        let (kind, detail) = match reply {
            Reply::Settled => ("settled", String::new()),
            Reply::Conflict { why, live, offered } => {
                let mut w = Writer::object();
                w.string("why", why.name());
                write_pairs(&mut w, "live", live);
                write_pairs(&mut w, "offered", offered);
                ("conflict", w.finish())
            }
            Reply::AlreadyDone => ("already_done", String::new()),
            Reply::Held => ("held", String::new()),
        };
        self.0.host.reply(all, kind, &detail);
    }

    fn flush(&self) {
        self.0.changed.set(false);
        self.announce();
    }

    /// Tells the facade what a person sees now.
    fn announce(&self) {
        let coordination = self.0.page.tabs.coordination(&self.0.page.journal).name();
        let text = self.0.machine.borrow().snapshot(now(), coordination);
        self.0.host.changed(&text);
    }

    fn arm(&self) {
        let wake = self.0.machine.borrow().next_wake();
        let timer = wake.map(|(at, _)| {
            let delay = at.since(now().mono).0.min(TIMER_MAX.0);
            let weak = self.downgrade();
            Timeout::new(u32::try_from(delay).unwrap_or(i32::MAX as u32), move || {
                if let Some(driver) = Self::upgrade(&weak) {
                    driver.dispatch(Event::Timer);
                }
            })
        });
        self.0.timer.replace(timer);
    }

    /// Compares and sets under the slot lock; the report is fed while the lock is held, so that `fetch` is called
    /// inside it (R67, R68).
    fn persist(&self, ticket: Ticket, text: String, version: Version, expect: Option<Version>, aside: bool) {
        let page = Rc::clone(&self.0.page);
        let driver = self.clone();
        self.0.writes.set(self.0.writes.get() + 1);
        let slot = self.0.machine.borrow().slot().clone();
        let lock = slot.lock_name();
        let shared = Rc::clone(&page);
        let work: First<Box<dyn FnOnce(Option<Hold>)>> = First::new(Box::new(move |hold| {
            let after = Rc::clone(&shared);
            shared.journal.persist(&slot.clone(), text, version, expect, aside, move |report| {
                driver.dispatch(match report {
                    PersistReport::Done(durability) => Event::Persisted(ticket, durability),
                    PersistReport::Outrun(text) => Event::Outrun(ticket, text),
                    PersistReport::Failed(fault) => Event::PersistFailed(ticket, fault),
                });
                drop(hold);
                driver.0.writes.set(driver.0.writes.get() - 1);
                if driver.0.writes.get() == 0 && driver.0.releases.get() {
                    driver.release();
                }
                after.tabs.hint(slot.hash());
            });
        }));
        let late = work.clone();
        page.tabs.under_slot_lock(
            &lock,
            LOCK_WAIT_MS,
            move |hold| run(&work, Some(hold)),
            // The compare and set alone is safe; the lock only keeps claims in order (R69).
            move || run(&late, None),
        );
    }

    fn send(&self, headers: &Headers, attempt: u8) {
        let report = self.clone();
        let machine = self.0.machine.borrow();
        let operation = machine.operation();
        let kept = self.0.kept.borrow();
        let request = Request {
            url: &operation.url,
            method: operation.method.as_str(),
            payload: kept.as_ref(),
            redirected_to: operation.redirected_to.as_deref(),
        };
        let wire = fetch::header_object(headers, operation, &self.0.subject);
        let out = fetch::send(&self.0.host, &request, &wire, attempt, move |outcome| {
            if report.0.page.is_leaving() {
                return;
            }
            report.keep_clock(|driver| {
                driver.dispatch(match outcome {
                    Outcome::Answered(answer) => Event::Answered { attempt, answer },
                    Outcome::Failed => Event::TransportFailed { attempt },
                    Outcome::NotCalled => Event::NotCalled { attempt },
                });
            });
        });
        drop(kept);
        drop(machine);
        self.0.out.replace(out);
    }

    fn inquire(&self, method: &str, ticket: Ticket, headers: &Headers) {
        let report = self.clone();
        let machine = self.0.machine.borrow();
        let operation = machine.operation();
        let Some(url) = &operation.status_url else { return };
        let wire = fetch::header_object(headers, operation, &self.0.subject);
        let request = Request { url, method, payload: None, redirected_to: None };
        let out = fetch::send(&self.0.host, &request, &wire, 0, move |outcome| {
            if report.0.page.is_leaving() {
                return;
            }
            report.dispatch(match outcome {
                Outcome::Answered(answer) => Event::Inquired(ticket, answer),
                Outcome::Failed | Outcome::NotCalled => Event::InquiryFailed(ticket),
            });
        });
        drop(machine);
        self.0.asking.replace(out);
    }

    /// Keeps what was learnt of the server's clock for later documents (R117).
    fn keep_clock(&self, act: impl FnOnce(&Self)) {
        let before = self.0.machine.borrow().clock_offset();
        act(self);
        let after = self.0.machine.borrow().clock_offset();
        if before != after {
            let mut text = String::new();
            if after < 0 {
                text.push('-');
            }
            push_decimal(&mut text, after.unsigned_abs());
            self.0.page.journal.set_local_text(&self.0.origin, &text);
        }
    }

    fn drive(&self) {
        let page = Rc::clone(&self.0.page);
        if self.0.releases.get() {
            // Asked for anew: whoever waits is first.
            self.release();
        }
        if self.0.hold.borrow().is_some() {
            return self.dispatch(Event::DriveGranted);
        }
        if self.0.turn.borrow().is_some() {
            return;
        }
        let driver = self.clone();
        let name = self.0.machine.borrow().slot().drive_lock_name();
        let waited = Cell::new(false);
        let turn = page.tabs.drive(&name, move |drive| match drive {
            Drive::Granted(hold) => {
                driver.0.hold.replace(Some(hold));
                // What the one before left behind is read first: as a rule it has settled the intent.
                if waited.get() { driver.look(Some(Event::DriveGranted)) } else { driver.dispatch(Event::DriveGranted) }
            }
            Drive::Busy => {
                waited.set(true);
                driver.dispatch(Event::DriveBusy);
            }
            Drive::Unsupported => driver.dispatch(Event::DriveUnsupported),
        });
        self.0.turn.replace(Some(turn));
    }

    /// Another tab wrote something; empty: anything may have changed (R72).
    pub(crate) fn hinted(&self, hash: &str) {
        if hash.is_empty() || hash == self.0.machine.borrow().slot().hash() {
            self.look(None);
        }
    }

    /// Reads the record again; `then` follows.
    fn look(&self, then: Option<Event>) {
        let slot = self.0.machine.borrow().slot().clone();
        let driver = self.clone();
        self.0.page.journal.read(&slot, move |stored| {
            driver.dispatch(Event::RecordSeen { database: stored.database, local: stored.local });
            // The lock may have been given back meanwhile.
            if let Some(then) = then.filter(|_| driver.0.hold.borrow().is_some()) {
                driver.dispatch(then);
            }
        });
    }

    pub(crate) fn offer_page_key(&self, text: &str) {
        self.0.machine.borrow_mut().offer_page_key(text);
    }

    pub(crate) fn native_key(&self) -> Option<String> {
        let machine = self.0.machine.borrow();
        let (key, first_sent) = machine.native_key()?;
        Some([key.as_str(), " ", &date_item(first_sent, false)].concat())
    }

    /// First touch or idle time.
    pub(crate) fn touch(&self) {
        if let Some(entropy) = entropy() {
            self.dispatch(Event::Touched(entropy));
        }
    }

    /// A form's snapshot is submitted.
    pub(crate) fn submit_form(&self, pairs: &JsValue, body: JsValue) {
        let made = payload::from_form(pairs, body, self.0.machine.borrow().operation(), &self.0.base);
        self.submit(made);
    }

    /// A JSON payload is submitted.
    pub(crate) fn submit_json(&self, text: &str) {
        let made = payload::from_json(text, self.0.machine.borrow().operation(), &self.0.base);
        self.submit(made);
    }

    fn submit(&self, made: Result<(Wish, Payload), Unusable>) {
        match (made, entropy()) {
            (Err(Unusable::File(name)), _) => self.0.host.failed("file_unsupported", &name),
            (Err(Unusable::Payload(at)), _) => self.0.host.failed("invalid_payload", &at),
            (Ok(_), None) => self.0.host.failed("no_secure_random", ""),
            (Ok((wish, payload)), Some(entropy)) => {
                self.0.offered.replace(Some(payload));
                self.dispatch(Event::Submit(wish, entropy));
            }
        }
    }

    /// An explicit resend; `pairs` is what the form holds now, if there is one.
    pub(crate) fn resend(&self, pairs: &JsValue, body: JsValue) {
        let wish = if pairs.is_object() {
            let made = payload::from_form(pairs, body, self.0.machine.borrow().operation(), &self.0.base);
            made.ok().map(|(wish, payload)| {
                self.0.offered.replace(Some(payload));
                wish
            })
        } else {
            None
        };
        self.dispatch(Event::Resend(wish));
    }

    pub(crate) fn begin_new(&self, leave_open: bool) {
        match entropy() {
            Some(entropy) => self.dispatch(Event::BeginNew { leave_open, entropy }),
            None => self.0.host.failed("no_secure_random", ""),
        }
    }
}

fn run(work: &First<Box<dyn FnOnce(Option<Hold>)>>, hold: Option<Hold>) {
    if let Some(work) = work.take() {
        work(hold);
    }
}

/// Sixteen bytes of the platform's CSPRNG; `None` where there is none: then nothing is sent (R3).
pub(crate) fn entropy() -> Option<Entropy> {
    let mut bytes = [0; 16];
    getrandom::fill(&mut bytes).ok().map(|()| Entropy(bytes))
}

/// The part of an absolute URL up to its path; of a relative one the document's.
fn origin_of(url: &str, base: &JsValue) -> String {
    let base = base.as_string().unwrap_or_default();
    let whole = if url.contains("://") { url } else { &base };
    whole.splitn(4, '/').take(3).collect::<Vec<_>>().join("/")
}
