//! The intent machine: one for each slot and document. `step(now, event) -> effects` is total: it never fails, late
//! timers do nothing, and a late authoritative answer for the current key always counts.
//!
//! | module | what it decides |
//! | --- | --- |
//! | `restore` | what a stored record means to a document that finds it |
//! | `submit` | submit and resend: join, conflict, next round, next generation |
//! | `attempt` | claim, send, verdict, wait, the round's end |
//! | `inquiry` | status checks and fences |
//! | `gesture` | begin new, leave open, stop, hand over, decide |
//! | `view` | what a person sees and may do |

mod attempt;
mod contradiction;
pub mod effect;
pub mod event;
mod gesture;
mod inquiry;
mod restore;
mod snapshot;
pub mod state;
mod submit;
mod view;

#[cfg(test)]
mod tests;

pub use snapshot::write_pairs;
pub use view::{LastView, OpenView, View};

use alloc::string::String;
use alloc::vec::Vec;

use self::effect::{ConflictReason, Declined, Effect, Effects, Headers, Reply, WakeReason};
use self::event::{Durability, Entropy, Event, StoreFault, Ticket, Wish};
use self::state::{Problem, State, UnknownReason, WaitReason};
use crate::budget::Round;
use crate::key::Key;
use crate::operation::{Contract, Operation, Persistence};
use crate::planted::{self, Bug};
use crate::record::{Current, Ending, Phase, Record, Tombstone, Version};
use crate::slot::Slot;
use crate::time::{Millis, Mono, Now, Wall};

/// What a machine is told about its surroundings when it is made.
#[derive(Clone, Debug, Default)]
pub struct Setting {
    /// Opaque tag of the subject (R123).
    pub subject: String,
    /// What the wish is about; empty for a singleton (R26).
    pub object: String,
    /// Random name of this document, for the driver's lease.
    pub document: String,
    /// Random: seeds the jitter and tells this document's writes from another's. No key comes from it.
    pub seed: u32,
    /// Server's clock minus this device's, as far as known, in milliseconds (R117).
    pub clock_offset: i64,
    /// `navigator.onLine` at the start.
    pub online: bool,
}

/// What this document is doing.
#[derive(Clone, Debug)]
enum Activity {
    /// Nothing.
    Resting,
    /// The write-ahead claim of an attempt is on its way to the store (R19).
    Claiming {
        /// The write.
        ticket: Ticket,
        /// It has landed, and the drive lock is waited for until then (R36).
        turn_until: Option<Mono>,
    },
    /// `fetch` was called.
    Sending { attempt: u8, called: Now, ends: Mono },
    /// Between attempts or polls.
    Waiting { until: Mono, until_wall: Wall, why: WaitReason, then: Then },
    /// A status check or fence, with its polls.
    Inquiring(inquiry::Inquiry),
    /// Another document drives; `pressed` when a submit waits for what becomes of it.
    Observing { lease_ends: Mono, pressed: bool },
}

/// The drive lock, as far as this document knows (R70).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Turn {
    /// Not asked for, or waited for long enough.
    Unasked,
    /// No answer yet.
    Asked,
    /// Held.
    Mine,
    /// Another document holds it.
    Others,
    /// There are no locks: the record's lease decides (R71).
    NoLocks,
}

/// What follows a wait.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Then {
    Attempt,
    Poll,
}

/// The intent machine of one slot in one document.
///
/// ```
/// use postonce_core::machine::event::Event;
/// use postonce_core::machine::{Machine, Setting};
/// use postonce_core::operation::{Operation, OperationInput};
/// use postonce_core::time::Now;
/// let input = OperationInput { name: "order.create".into(), url: "https://shop.test/orders".into(), ..Default::default() };
/// let Ok(operation) = Operation::define(input) else { panic!("valid options") };
/// let mut machine = Machine::new(operation, Setting::default());
/// let effects = machine.step(Now::default(), Event::Loaded { database: None, local: None });
/// assert_eq!(machine.state().name(), "idle");
/// assert_eq!(effects.len(), 1, "one announcement");
/// ```
#[derive(Clone, Debug)]
pub struct Machine {
    operation: Operation,
    setting: Setting,
    slot: Slot,
    record: Record,
    /// What the store holds once every write on its way has landed.
    stored: Option<Version>,
    /// What the store is known to hold: a failed write leaves that.
    confirmed: Option<Version>,
    /// Writes that have not been reported yet.
    on_their_way: Vec<(Ticket, Version)>,
    /// The next write moves an unreadable text aside (R85).
    aside: bool,
    loaded: bool,
    /// The stored record is not ours to touch.
    read_only: Option<UnknownReason>,
    /// Another subject is there (R25).
    inert: bool,
    durability: Durability,
    activity: Activity,
    /// The live round; meaningful while claiming, sending, waiting or polling for its end.
    round: Round,
    side: Option<inquiry::SideInquiry>,
    /// The generation this document took over (R23).
    generation: u32,
    /// The generation this document saw live, so that its end is this document's to show.
    witnessed: Option<u32>,
    /// Details of a settled state that the record does not keep.
    shown: Option<State>,
    /// The payload this document holds for the current key.
    wish: Option<Wish>,
    /// The bytes of the last event that may mint a key; each is used once.
    entropy: Entropy,
    /// The form holds a draft that only `beginNew` may send (R122).
    draft_held: bool,
    turn: Turn,
    clock_corrected: bool,
    last_refusal: Option<(u16, Problem)>,
    last_gesture: Option<Mono>,
    /// The write after which an automatic check goes out (R53).
    asking: Option<Ticket>,
    tickets: u32,
    random: u32,
    /// No attempt before: the driver that is gone may just have met a server that was away (R46).
    hold_until: Mono,
    /// A key that the server wrote into the page, while no slot has taken it (R8).
    page_key: Option<Key>,
}

impl Machine {
    /// A machine that has not read its record yet.
    #[must_use]
    pub fn new(operation: Operation, setting: Setting) -> Self {
        let slot = Slot::new(&setting.subject, &operation.name, &setting.object);
        let random = setting.seed | 1;
        Self {
            operation,
            setting,
            slot,
            record: Record::default(),
            stored: None,
            confirmed: None,
            on_their_way: Vec::new(),
            aside: false,
            loaded: false,
            read_only: None,
            inert: false,
            durability: Durability::None,
            activity: Activity::Resting,
            round: Round::start(Now::default(), Millis::ZERO),
            side: None,
            generation: 0,
            witnessed: None,
            shown: None,
            wish: None,
            entropy: Entropy([0; 16]),
            draft_held: false,
            turn: Turn::Unasked,
            clock_corrected: false,
            last_refusal: None,
            last_gesture: None,
            asking: None,
            tickets: 0,
            random,
            hold_until: Mono(0),
            page_key: None,
        }
    }

    /// Decides what one event means at this instant. Perform the effects in order.
    #[must_use]
    pub fn step(&mut self, now: Now, event: Event) -> Effects {
        let mut fx = Effects::new();
        // What the clocks have once shown as spent stays spent, even if one of them jumps back (R31).
        self.round.observe(now);
        self.dispatch(now, event, &mut fx);
        fx
    }

    fn dispatch(&mut self, now: Now, event: Event, fx: &mut Effects) {
        match event {
            Event::Loaded { database, local } => self.on_loaded(now, database, local, fx),
            Event::Touched(entropy) => self.on_touched(now, entropy, fx),
            Event::Submit(wish, entropy) => self.on_submit(now, wish, entropy, fx),
            Event::Unreadable => self.on_unreadable(now, fx),
            Event::Persisted(ticket, durability) => self.on_persisted(now, ticket, durability, fx),
            Event::Outrun(ticket, text) => self.on_outrun(now, ticket, &text, fx),
            Event::PersistFailed(ticket, fault) => self.on_persist_failed(now, ticket, fault, fx),
            Event::RecordSeen { database, local } => self.on_record_seen(now, database, local, fx),
            Event::Answered { attempt, answer } => self.on_answered(now, attempt, &answer, fx),
            Event::TransportFailed { attempt } => self.on_transport_failed(now, attempt, fx),
            Event::NotCalled { attempt } => self.on_not_called(now, attempt, fx),
            Event::Inquired(ticket, answer) => self.on_inquired(now, ticket, &answer, fx),
            Event::InquiryFailed(ticket) => self.on_inquiry_failed(now, ticket, fx),
            Event::Timer => self.on_timer(now, fx),
            Event::Check(target) => self.on_check(now, &target, fx),
            Event::Resend(wish) => self.on_resend(now, wish, fx),
            Event::Fence(target) => self.on_fence(now, &target, fx),
            Event::BeginNew { leave_open, entropy } => self.on_begin_new(now, leave_open, entropy, fx),
            Event::Stop => self.on_stop(now, fx),
            Event::HandOver => self.on_hand_over(now, fx),
            Event::Decide { outcome, by } => self.on_decide(now, outcome, by, fx),
            Event::Online(online) => self.on_online(now, online, fx),
            Event::Shown => self.check_automatically(now, fx),
            Event::Returned => self.on_returned(now, fx),
            Event::DriveGranted => self.on_drive_granted(now, fx),
            Event::DriveBusy => self.turn = Turn::Others,
            Event::DriveUnsupported => {
                self.turn = Turn::NoLocks;
                self.send_in_turn(now, fx);
            }
            Event::SubjectChanged => self.on_subject_changed(now, fx),
        }
    }

    /// When the machine next wants [`Event::Timer`], and why. Asking again after every step is enough; a timer that
    /// comes early, late or twice does no harm (R32).
    #[must_use]
    pub fn next_wake(&self) -> Option<(Mono, WakeReason)> {
        let main = match &self.activity {
            Activity::Resting | Activity::Claiming { turn_until: None, .. } => None,
            Activity::Claiming { turn_until: Some(until), .. } => Some((*until, WakeReason::WaitEnds)),
            Activity::Sending { ends, .. } => Some((*ends, WakeReason::AttemptEnds)),
            Activity::Waiting { until, .. } => Some((*until, WakeReason::WaitEnds)),
            Activity::Inquiring(inquiry) => Some((inquiry.wakes_at(), WakeReason::Poll)),
            Activity::Observing { lease_ends, .. } => Some((*lease_ends, WakeReason::LeaseEnds)),
        };
        let side = self.side.as_ref().map(|side| (side.ends, WakeReason::Poll));
        match (main, side) {
            (Some(a), Some(b)) => Some(if a.0 <= b.0 { a } else { b }),
            (one, other) => one.or(other),
        }
    }

    fn on_timer(&mut self, now: Now, fx: &mut Effects) {
        if let Some(side) = &self.side
            && now.mono >= side.ends
        {
            let ticket = side.ticket;
            self.on_inquiry_failed(now, ticket, fx);
        }
        match &self.activity {
            Activity::Resting => {}
            Activity::Claiming { turn_until, .. } => {
                if turn_until.is_some_and(|until| now.mono >= until) {
                    self.turn = Turn::Unasked;
                    self.send(now, fx);
                }
            }
            Activity::Sending { attempt, ends, .. } => {
                if now.mono >= *ends || self.round.is_over(now) {
                    let attempt = *attempt;
                    if !planted::is_on(Bug::NotAborted) {
                        fx.push(Effect::Abort);
                    }
                    self.on_attempt_timed_out(now, attempt, fx);
                }
            }
            Activity::Waiting { .. } => self.on_wait_timer(now, fx),
            Activity::Inquiring(_) => self.on_inquiry_timer(now, fx),
            Activity::Observing { lease_ends, .. } => {
                if now.mono >= *lease_ends {
                    self.take_over(now, fx);
                }
            }
        }
    }

    /// The slot.
    #[must_use]
    pub const fn slot(&self) -> &Slot {
        &self.slot
    }

    /// The operation.
    #[must_use]
    pub const fn operation(&self) -> &Operation {
        &self.operation
    }

    /// Server's clock minus this device's, as far as known, in milliseconds: to be kept for the origin (R117).
    #[must_use]
    pub const fn clock_offset(&self) -> i64 {
        self.setting.clock_offset
    }

    /// Takes what an earlier document learnt of the server's clock (R117).
    pub const fn set_clock_offset(&mut self, offset: i64) {
        self.setting.clock_offset = offset;
    }

    // --- shared by the modules -------------------------------------------------------------------------------------

    const fn ticket(&mut self) -> Ticket {
        self.tickets = self.tickets.wrapping_add(1);
        Ticket(self.tickets)
    }

    /// Marsaglia's xorshift: jitter only.
    const fn random(&mut self) -> u32 {
        self.random ^= self.random << 13;
        self.random ^= self.random >> 17;
        self.random ^= self.random << 5;
        self.random
    }

    /// Writes the record: one revision up, on top of what is known to be stored.
    fn write(&mut self, fx: &mut Effects) -> Ticket {
        self.record.version.rev = self.record.version.rev.saturating_add(1);
        self.record.version.writer = if planted::is_on(Bug::WriterForgotten) { 0 } else { self.setting.seed };
        let ticket = self.ticket();
        let version = self.record.version;
        let aside = core::mem::take(&mut self.aside);
        fx.push(Effect::Persist { ticket, text: self.record.write(), version, expect: self.stored, aside });
        self.stored = Some(version);
        self.on_their_way.push((ticket, version));
        ticket
    }

    /// The version that the write with that ticket would have stored.
    fn reported(&mut self, ticket: Ticket) -> Option<Version> {
        let at = self.on_their_way.iter().position(|(written, _)| *written == ticket)?;
        Some(self.on_their_way.remove(at).1)
    }

    /// A fresh key in the next generation; written by whoever calls (R1, R24).
    fn mint(&mut self, now: Now) {
        let generation = self.record.version.generation.saturating_add(1);
        self.record.version = Version { generation, ..Version::default() };
        let first_sent = self.server_time(now.wall);
        let key = self.page_key.take().filter(|key| !self.has_held(key)).unwrap_or(Key::from_random(self.entropy.0));
        self.record.current = Some(Current::reserved(key, now.wall, first_sent, self.operation.budget));
        self.generation = generation;
        self.witnessed = Some(generation);
        self.shown = None;
        self.draft_held = false;
        self.clock_corrected = false;
        self.last_refusal = None;
    }

    /// Whether that key is known to have been this slot's.
    fn has_held(&self, key: &Key) -> bool {
        let last = self.record.last.as_ref().map(|last| &last.key);
        let current = self.record.current.as_ref().map(|current| &current.key);
        last == Some(key) || current == Some(key) || self.record.open.iter().any(|open| open.key == *key)
    }

    /// Takes a key that the server wrote into the page: the next one that is needed, unless the slot has held it (R8). What
    /// is no key is passed over.
    pub fn offer_page_key(&mut self, text: &str) {
        self.page_key = Key::parse(text).ok();
    }

    /// What a form's own POST, without the library, has to carry: the key in use and when it was first sent (R100). Nothing
    /// once somebody else is there (R93).
    #[must_use]
    pub fn native_key(&self) -> Option<(&Key, Wall)> {
        self.record.current.as_ref().filter(|_| !self.inert).map(|current| (&current.key, current.first_sent))
    }

    const fn server_time(&self, at: Wall) -> Wall {
        Wall(at.0.saturating_add_signed(self.setting.clock_offset))
    }

    /// Stays with the key in that phase; every waiting submit is answered.
    fn rest(&mut self, now: Now, phase: Phase, fx: &mut Effects) {
        if let Some(current) = &mut self.record.current {
            if !matches!(self.activity, Activity::Resting | Activity::Observing { .. }) {
                current.elapsed = self.round.elapsed(now);
            }
            current.phase = phase;
            current.lease_until = Wall(0);
        }
        self.shown = None;
        self.activity = Activity::Resting;
        let _ = self.write(fx);
        self.settle(Reply::Settled, fx);
    }

    /// Retires the key with that ending and shows that state.
    fn finish(&mut self, now: Now, ending: Ending, shown: State, reply: Reply, fx: &mut Effects) {
        if let Some(current) = self.record.current.take() {
            let digest = current.digest;
            self.record.last = Some(Tombstone { key: current.key, digest, ending, at: now.wall });
        }
        self.shown = Some(shown);
        self.activity = Activity::Resting;
        let _ = self.write(fx);
        fx.push(Effect::Keep(false));
        self.wish = None;
        self.settle(reply, fx);
    }

    /// Gives the drive back, tells everybody, answers every waiting submit.
    fn settle(&mut self, reply: Reply, fx: &mut Effects) {
        self.give_up_drive(fx);
        fx.push(Effect::Announce);
        fx.push(Effect::ReplyAll(reply));
    }

    /// Asks for the drive lock, unless it is held.
    fn ask_drive(&mut self, fx: &mut Effects) {
        if self.turn != Turn::Mine {
            self.turn = Turn::Asked;
            fx.push(Effect::Drive);
        }
    }

    fn give_up_drive(&mut self, fx: &mut Effects) {
        // A turn that is waited for is given up too: whoever asks again stands behind the one that won.
        if matches!(self.turn, Turn::Asked | Turn::Mine | Turn::Others) {
            fx.push(Effect::Release);
        }
        self.turn = Turn::Unasked;
    }

    fn decline(why: Declined, fx: &mut Effects) {
        fx.push(Effect::Decline(why));
    }

    /// Whether an attempt waits for that write.
    fn is_claimed_by(&self, ticket: Ticket) -> bool {
        matches!(self.activity, Activity::Claiming { ticket: claim, .. } if claim == ticket)
    }

    fn on_persisted(&mut self, now: Now, ticket: Ticket, durability: Durability, fx: &mut Effects) {
        self.confirmed = self.reported(ticket).or(self.confirmed);
        let changed = self.durability != durability;
        self.durability = durability;
        if self.is_claimed_by(ticket) {
            let until = now.mono.plus(crate::budget::GRACE);
            self.activity = Activity::Claiming { ticket, turn_until: Some(until) };
            self.send_in_turn(now, fx);
        } else {
            if changed {
                fx.push(Effect::Announce);
            }
            self.ask_now(now, ticket, fx);
        }
    }

    /// No store took it. A claim goes on in memory where the operation allows it, visibly less safe (R82).
    fn on_persist_failed(&mut self, now: Now, ticket: Ticket, _fault: StoreFault, fx: &mut Effects) {
        let _ = self.reported(ticket);
        self.durability = Durability::None;
        self.stored = self.confirmed;
        if !self.is_claimed_by(ticket) {
            fx.push(Effect::Announce);
            self.ask_now(now, ticket, fx);
        } else if self.operation.persistence == Persistence::Required
            || (self.turn == Turn::Others && !planted::is_on(Bug::NoStoreTwoDrivers))
        {
            // Without a store only the lock tells of another document's key: two would be sent (R1, R71).
            self.unclaim();
            self.end_round_unsent(now, state::NotSentReason::StorageUnavailable, fx);
        } else {
            self.send(now, fx);
        }
    }

    fn headers(&self, current: &Current, deadline: Option<Wall>, attempt: Option<u8>) -> Headers {
        let own = self.operation.contract == Some(Contract::Postonce);
        Headers {
            key: current.key.clone(),
            first_sent: own.then_some(current.first_sent),
            deadline: deadline.filter(|_| own).map(|at| self.server_time(at)),
            attempt,
        }
    }

    /// Whether this document still speaks for the slot (R23).
    fn is_stale(&self) -> bool {
        self.generation < self.record.version.generation && !planted::is_on(Bug::StaleSubmits)
    }

    fn conflict(&self, why: ConflictReason, offered: Vec<(String, String)>) -> Reply {
        let live = self.record.current.as_ref().map(|current| current.remembered.clone()).unwrap_or_default();
        Reply::Conflict { why, live, offered }
    }

    /// Milliseconds of age at which the key may no longer be sent (R28).
    fn is_too_old(&self, now: Now, reserved_at: Wall) -> bool {
        let limit = self.operation.retention.saturating_sub(crate::budget::SKEW);
        now.wall.since(reserved_at) >= limit && !planted::is_on(Bug::RetentionIgnored)
    }

    /// When a lease is over. It never outlasts a budget: a longer one was written under another wall clock (R31, R70).
    fn lease_ends(&self, now: Now, until: Wall) -> Mono {
        if planted::is_on(Bug::LeaseNeverEnds) {
            return Mono(u64::MAX);
        }
        now.mono.plus(until.since(now.wall).min(self.operation.budget.saturating_add(crate::budget::GRACE)))
    }

    fn budget_minimum(&self) -> Millis {
        self.operation.minimum_attempt()
    }
}
