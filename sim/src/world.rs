//! The whole world in one loop: a queue of happenings in true time, and the documents, stores, network and server that
//! they happen to. One tape of choices makes one run.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::fmt::Write as _;

use postonce_core::machine::effect::{ConflictReason, Effect, Headers, Reply};
use postonce_core::machine::event::{Event, Ticket};
use postonce_core::machine::state::State;
use postonce_core::machine::{Machine, Setting};
use postonce_core::verdict::Answer;

use crate::catalog::Entry;
use crate::choices::Choices;
use crate::coverage::Coverage;
use crate::document::{Device, Document};
use crate::facts::{Facts, Lineage, Time};
use crate::faults::Fault;
use crate::network::Request;
use crate::server::{Running, Server};
use crate::storage::Write;

/// More happenings than any honest run needs: a run beyond it spins.
const HAPPENINGS_MAX: usize = 20_000;

/// What breaks a promise.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Violation {
    /// The rule.
    pub rule: &'static str,
    /// What was seen.
    pub what: String,
}

/// Something due at a time.
#[derive(Clone, Debug)]
pub(crate) enum Due {
    /// The person does the next thing.
    Act,
    /// A document's timer.
    Wake { document: usize, serial: u32 },
    /// A document has read its stores.
    Load { document: usize },
    /// A store takes a write or not.
    Apply { document: usize, ticket: Ticket, write: Write },
    /// A report reaches a document.
    Tell { document: usize, event: Event },
    /// The drive lock is a document's, if it still wants it.
    Grant { document: usize },
    /// A hint makes a document read again.
    Look { document: usize },
    /// A document runs again.
    Thaw { document: usize },
    /// A copy of a request reaches the server.
    Arrive { request: usize, by_clone: bool },
    /// A handler starts, acts elsewhere, ends.
    Start { running: Box<Running>, request: usize, by_clone: bool },
    /// The effect of a handler that works elsewhere.
    Elsewhere { running: Box<Running> },
    /// The end of a handler.
    Finish { running: Box<Running>, request: usize, by_clone: bool },
    /// An answer reaches the browser.
    Answer { request: usize, answer: Box<Answer> },
    /// The browser learns that a request failed.
    Fail { request: usize },
}

struct Queued(Reverse<(Time, u64)>, Due);

impl PartialEq for Queued {
    fn eq(&self, other: &Self) -> bool {
        self.0 == other.0
    }
}
impl Eq for Queued {}
impl PartialOrd for Queued {
    fn partial_cmp(&self, other: &Self) -> Option<std::cmp::Ordering> {
        Some(self.cmp(other))
    }
}
impl Ord for Queued {
    fn cmp(&self, other: &Self) -> std::cmp::Ordering {
        self.0.cmp(&other.0)
    }
}

/// One run.
pub struct World<'c> {
    pub(crate) catalog: &'c [Entry],
    pub(crate) choices: Choices,
    pub(crate) t: Time,
    queue: BinaryHeap<Queued>,
    queued: u64,
    pub(crate) devices: Vec<Device>,
    pub(crate) documents: Vec<Document>,
    pub(crate) requests: Vec<Request>,
    pub(crate) server: Server,
    pub(crate) facts: Facts,
    /// Kinds switched on in this run.
    enabled: u64,
    /// Kinds that struck.
    pub struck: u64,
    /// Machine events so far.
    pub events: usize,
    /// Pairs of state and event that were reached.
    pub coverage: Coverage,
    /// What broke, if anything.
    pub violation: Option<Violation>,
    /// What happened, line by line, when asked for.
    pub trace: Option<String>,
    pub(crate) acts_left: u32,
    happenings: usize,
    pub(crate) document_names: u32,
    entropy: u64,
    /// Hours lie between the last deed and the next.
    pub(crate) hours_passed: bool,
    /// The last press got its answer otherwise than by a state.
    pub(crate) last_press_answered: bool,
}

impl<'c> World<'c> {
    /// A world before its first instant.
    #[must_use]
    pub fn new(catalog: &'c [Entry], choices: Choices) -> Self {
        let mut world = Self {
            catalog,
            choices,
            t: 0,
            queue: BinaryHeap::new(),
            queued: 0,
            devices: Vec::new(),
            documents: Vec::new(),
            requests: Vec::new(),
            server: Server::new(0),
            facts: Facts::default(),
            enabled: 0,
            struck: 0,
            events: 0,
            coverage: Coverage::default(),
            violation: None,
            trace: None,
            acts_left: 0,
            happenings: 0,
            document_names: 0,
            entropy: 0,
            hours_passed: false,
            last_press_answered: false,
        };
        for fault in Fault::ALL {
            if world.choices.odd(fault.rates().0) {
                world.enabled |= fault.bit();
            }
        }
        world
    }

    /// Whether that fault strikes here and now.
    pub(crate) fn strikes(&mut self, fault: Fault) -> bool {
        let strikes = self.enabled & fault.bit() != 0 && self.choices.odd(fault.rates().1);
        if strikes {
            self.struck |= fault.bit();
        }
        strikes
    }

    /// From now on nothing goes wrong any more.
    pub(crate) const fn heal(&mut self) {
        self.enabled = 0;
    }

    pub(crate) fn after(&mut self, delay: Time, due: Due) {
        self.queued += 1;
        self.queue.push(Queued(Reverse((self.t + delay, self.queued)), due));
    }

    pub(crate) fn note(&mut self, line: impl FnOnce() -> String) {
        if let Some(trace) = &mut self.trace {
            let _ = writeln!(trace, "{:>9} {}", self.t, line());
        }
    }

    pub(crate) fn violate(&mut self, rule: &'static str, what: impl FnOnce() -> String) {
        if self.violation.is_none() {
            let what = what();
            self.note(|| format!("!! {rule}: {what}"));
            self.violation = Some(Violation { rule, what });
        }
    }

    /// Lets the queue run until it is empty, `until` is reached, or something breaks.
    pub(crate) fn run_until(&mut self, until: Time) {
        while self.violation.is_none() {
            match self.queue.peek() {
                Some(Queued(Reverse((at, _)), _)) if *at <= until => {}
                Some(_) | None => break,
            }
            let Some(Queued(Reverse((at, _)), due)) = self.queue.pop() else { break };
            self.t = self.t.max(at);
            self.happenings += 1;
            if self.happenings > HAPPENINGS_MAX {
                self.violate("R43", || "the world spins: too many happenings".into());
            }
            self.happen(due);
        }
    }

    /// Lets everything that is due within that time happen.
    pub(crate) fn rest(&mut self, time: Time) {
        let until = self.t + time;
        self.run_until(until);
        self.t = self.t.max(until);
    }

    fn happen(&mut self, due: Due) {
        match due {
            Due::Act => self.act(),
            Due::Wake { document, serial } => {
                if self.documents.get(document).is_some_and(|it| it.serial == serial) {
                    self.feed(document, Event::Timer);
                }
            }
            Due::Load { document } => self.load(document),
            Due::Apply { document, ticket, write } => self.apply(document, ticket, &write),
            Due::Tell { document, event } => self.feed(document, event),
            Due::Grant { document } => {
                let device = self.device_of(document);
                if device.is_some_and(|it| it.drive.iter().any(|(_, holder)| *holder == document)) {
                    self.feed(document, Event::DriveGranted);
                }
            }
            Due::Look { document } => self.look(document),
            Due::Thaw { document } => self.thaw(document),
            Due::Arrive { request, by_clone } => self.arrive(request, by_clone),
            Due::Start { running, request, by_clone } => self.start_handler(*running, request, by_clone),
            Due::Elsewhere { running } => {
                if let Some(entry) = self.entry_of(&running) {
                    self.server.act_elsewhere(self.t, &running, entry, &mut self.facts);
                    self.check_effects();
                }
            }
            Due::Finish { running, request, by_clone } => self.finish_handler(&running, request, by_clone),
            Due::Answer { request, answer } => self.answered(request, *answer),
            Due::Fail { request } => self.failed(request),
        }
    }

    fn entry_of(&self, running: &Running) -> Option<&'c Entry> {
        self.catalog.get(running.operation())
    }

    // --- documents -------------------------------------------------------------------------------------------------

    /// Opens a page with that form.
    pub(crate) fn open(&mut self, lineage: Lineage, quantity: u8) -> Option<usize> {
        let entry = self.catalog.get(lineage.operation)?;
        let device = self.devices.get(lineage.device)?;
        self.document_names += 1;
        let name = self.document_names;
        let setting = Setting {
            subject: lineage.subject.into(),
            object: lineage.object.into(),
            document: format!("doc-{name}"),
            seed: name.wrapping_mul(0x9e37_79b9),
            clock_offset: device.storage.clock_offset.unwrap_or(0),
            online: !device.offline,
        };
        let machine = Machine::new(entry.operation.clone(), setting);
        let document = Document::new(machine, lineage, self.t, device.mono_lost, quantity);
        if !device.storage.keeps_anything() {
            // Each document is alone with what it knows, and says so (R71, R82).
            self.facts.lineages.entry(lineage).or_default().excused = true;
        }
        self.documents.push(document);
        let index = self.documents.len() - 1;
        self.note(|| format!("doc {index} opens {lineage:?}"));
        let delay = self.choices.between(5, 60);
        self.after(delay, Due::Load { document: index });
        Some(index)
    }

    /// Sixteen bytes that no other draw has.
    pub(crate) fn entropy(&mut self) -> postonce_core::machine::event::Entropy {
        self.entropy += 1;
        let mut bytes = [0x5a; 16];
        bytes[..8].copy_from_slice(&self.entropy.wrapping_mul(0x9e37_79b9_7f4a_7c15).to_le_bytes());
        postonce_core::machine::event::Entropy(bytes)
    }

    pub(crate) fn slot_of(&self, document: usize) -> String {
        self.documents.get(document).map(|it| it.machine.slot().hash().into()).unwrap_or_default()
    }

    fn load(&mut self, document: usize) {
        let slot = self.slot_of(document);
        let Some(device) = self.device_of(document) else { return };
        let (database, local) = device.storage.read(&slot);
        if let Some(it) = self.documents.get_mut(document) {
            it.loaded = true;
        }
        self.feed(document, Event::Loaded { database, local });
    }

    pub(crate) fn device_of(&self, document: usize) -> Option<&Device> {
        self.devices.get(self.documents.get(document)?.lineage.device)
    }

    pub(crate) fn look_soon(&mut self, document: usize, delay: Time) {
        if let Some(it) = self.documents.get_mut(document) {
            it.behind += 1;
        }
        self.after(delay, Due::Look { document });
    }

    fn look(&mut self, document: usize) {
        let slot = self.slot_of(document);
        let awake = self.device_of(document).map_or(0, |device| device.asleep_until);
        if awake > self.t {
            return self.after(awake - self.t, Due::Look { document });
        }
        if let Some(it) = self.documents.get_mut(document) {
            if it.frozen {
                // Looked at when it thaws.
                return;
            }
            it.behind = it.behind.saturating_sub(1);
        }
        let Some(device) = self.device_of(document) else { return };
        let (database, local) = device.storage.read(&slot);
        self.feed(document, Event::RecordSeen { database, local });
    }

    fn thaw(&mut self, document: usize) {
        let Some(it) = self.documents.get_mut(document) else { return };
        if !it.alive || !it.frozen {
            return;
        }
        it.frozen = false;
        it.returned = std::mem::take(&mut it.kept_for_back);
        it.behind = 0;
        let returned = it.returned;
        let held_back = std::mem::take(&mut it.held_back);
        self.note(|| format!("doc {document} {}", if returned { "returns" } else { "thaws" }));
        self.look_soon(document, 3);
        self.feed(document, if returned { Event::Returned } else { Event::Timer });
        self.feed(document, Event::Shown);
        for event in held_back {
            if returned && is_of_a_request(&event) {
                continue;
            }
            if matches!(event, Event::Loaded { .. }) {
                self.load(document);
            } else {
                self.feed(document, event);
            }
        }
    }

    /// One event into one machine, its effects performed in order, everything looked at afterwards.
    pub(crate) fn feed(&mut self, document: usize, event: Event) {
        let t = self.t;
        let Some(it) = self.documents.get_mut(document) else { return };
        if !it.alive || self.violation.is_some() {
            return;
        }
        if it.frozen {
            if !matches!(event, Event::Timer) {
                it.held_back.push(event);
            }
            return;
        }
        let Some(device) = self.devices.get(it.lineage.device) else { return };
        if t < device.asleep_until {
            let delay = device.asleep_until - t;
            // What was read before the sleep is read again.
            let loads = matches!(event, Event::Loaded { .. });
            let due = if loads { Due::Load { document } } else { Due::Tell { document, event } };
            return self.after(delay, due);
        }
        let now = it.now(t, device);
        let before = it.machine.state();
        let name = event_name(&event);
        self.events += 1;
        if self.trace.is_some() {
            let shown = brief(&event);
            self.note(|| format!("doc {document} <- {shown}"));
        }
        let Some(it) = self.documents.get_mut(document) else { return };
        let effects = it.machine.step(now, event);
        let after = it.machine.state();
        it.told_of_change |= name == "subject_changed";
        // Between the claim and the call its round ended.
        let given_up = matches!((&before, &after), (State::Sending { .. }, State::NotSent { .. }));
        if given_up || matches!(name, "subject_changed" | "stop") {
            self.facts.lineages.entry(it.lineage).or_default().uncalled = true;
        }
        self.coverage.add(before.name(), name, after.name());
        if self.trace.is_some() && before != after {
            let shown = shorten(&format!("{after:?}"));
            self.note(|| format!("doc {document} is {shown}"));
        }
        for effect in effects {
            self.perform(document, effect);
        }
        self.arm(document);
        self.check_view(document);
        match name {
            "loaded" => self.check_load(document),
            "persisted" => self.check_handed_over(document),
            _ => {}
        }
    }

    fn arm(&mut self, document: usize) {
        let t = self.t;
        let Some(it) = self.documents.get_mut(document) else { return };
        it.serial += 1;
        let serial = it.serial;
        let Some(device) = self.devices.get(it.lineage.device) else { return };
        let now = it.now(t, device);
        if let Some((at, _)) = it.machine.next_wake() {
            let mut delay = at.since(now.mono).0;
            if self.strikes(Fault::Throttled) {
                delay += self.choices.between(1_000, 60_000);
            }
            self.after(delay, Due::Wake { document, serial });
        }
    }

    fn perform(&mut self, document: usize, effect: Effect) {
        match effect {
            Effect::Persist { ticket, text, version, expect, aside } => {
                let write = Write { text, version, expect, aside };
                let mut delay = self.choices.between(1, 12);
                if self.strikes(Fault::Delayed) {
                    delay += self.choices.between(50, 900);
                }
                let at = self.t + delay;
                let Some(it) = self.documents.get_mut(document) else { return };
                it.last_apply = it.last_apply.max(at);
                it.writes += 1;
                let delay = it.last_apply - self.t;
                self.after(delay, Due::Apply { document, ticket, write });
            }
            Effect::Send { headers, attempt, .. } => self.send(document, &headers, attempt),
            Effect::Abort => {
                let Some(it) = self.documents.get_mut(document) else { return };
                for request in [it.out.take(), it.asking.take()].into_iter().flatten() {
                    self.abort(request);
                }
            }
            Effect::Check { ticket, headers, .. } => self.inquire(document, ticket, &headers, false),
            Effect::Fence { ticket, headers, .. } => self.inquire(document, ticket, &headers, true),
            Effect::Drive => self.drive(document),
            Effect::Release => {
                let Some(it) = self.documents.get_mut(document) else { return };
                it.releases = true;
                if it.writes == 0 {
                    self.release_drive(document);
                }
            }
            Effect::Keep(keep) => {
                if let Some(it) = self.documents.get_mut(document) {
                    if !keep {
                        it.kept = None;
                    } else if let Some(offered) = it.offered.take() {
                        it.kept = Some(offered);
                    }
                }
            }
            Effect::Decline(why) => {
                self.note(|| format!("doc {document} declines: {}", why.name()));
                self.declined(document, why);
            }
            Effect::Announce => {}
            Effect::Reply(reply) | Effect::ReplyAll(reply) => {
                match &reply {
                    Reply::Settled => self.check_settled(document),
                    Reply::Conflict { .. } | Reply::AlreadyDone | Reply::Held => {
                        if let Some(it) = self.documents.get_mut(document) {
                            it.pressed = None;
                        }
                        self.last_press_answered |= reply != Reply::Held;
                        let reused = matches!(&reply, Reply::Conflict { why: ConflictReason::KeyReused, .. });
                        if let Some(it) = self.documents.get_mut(document) {
                            it.key_reused |= reused;
                        }
                    }
                }
                self.note(|| format!("doc {document} replies {}", shorten(&format!("{reply:?}"))));
            }
        }
    }

    fn inquire(&mut self, document: usize, ticket: Ticket, headers: &Headers, fence: bool) {
        self.send_inquiry(document, ticket, headers, fence);
    }
}

const SHOWN_MAX: usize = 120;

/// One line for a trace.
/// What a document is not told that was away when it came.
const fn is_of_a_request(event: &Event) -> bool {
    matches!(
        event,
        Event::Answered { .. }
            | Event::TransportFailed { .. }
            | Event::NotCalled { .. }
            | Event::Inquired(..)
            | Event::InquiryFailed(_)
    )
}

fn brief(event: &Event) -> String {
    #[allow(clippy::wildcard_enum_match_arm, reason = "the others show themselves")]
    match event {
        Event::Submit(wish, _) => format!("Submit {:?}", wish.remembered),
        Event::Answered { attempt, answer } => {
            format!("Answered {attempt}: {} {:?} {:?}", answer.status, answer.replayed, answer.body)
        }
        Event::Inquired(ticket, answer) => format!("Inquired {}: {} {:?}", ticket.0, answer.status, answer.body),
        other => shorten(&format!("{other:?}")),
    }
}

fn shorten(text: &str) -> String {
    text.chars().take(SHOWN_MAX).collect()
}

/// The name of an event for coverage and traces.
#[must_use]
pub const fn event_name(event: &Event) -> &'static str {
    match event {
        Event::Loaded { .. } => "loaded",
        Event::Touched(_) => "touched",
        Event::Submit(..) => "submit",
        Event::Persisted(..) => "persisted",
        Event::Outrun(..) => "outrun",
        Event::Unreadable => "unreadable",
        Event::PersistFailed(..) => "persist_failed",
        Event::RecordSeen { .. } => "record_seen",
        Event::Answered { .. } => "answered",
        Event::TransportFailed { .. } => "transport_failed",
        Event::NotCalled { .. } => "not_called",
        Event::Inquired(..) => "inquired",
        Event::InquiryFailed(_) => "inquiry_failed",
        Event::Timer => "timer",
        Event::Check(_) => "check",
        Event::Resend(_) => "resend",
        Event::Fence(_) => "fence",
        Event::BeginNew { leave_open: false, .. } => "begin_new",
        Event::BeginNew { leave_open: true, .. } => "leave_open",
        Event::Stop => "stop",
        Event::HandOver => "hand_over",
        Event::Decide { .. } => "decide",
        Event::Online(_) => "online",
        Event::Shown => "shown",
        Event::Returned => "returned",
        Event::DriveGranted => "drive_granted",
        Event::DriveBusy => "drive_busy",
        Event::DriveUnsupported => "drive_unsupported",
        Event::SubjectChanged => "subject_changed",
    }
}
