//! A person's explicit words: begin new, leave open, stop, hand over, decide; and a change of subject.

use alloc::string::String;

use super::effect::{Declined, Effect, Effects, Reply};
use super::event::Entropy;
use super::inquiry::Purpose;
use super::state::{Cause, NotSentReason, Ruling, State, UnknownReason};
use super::{Activity, Machine};
use crate::planted::{self, Bug};
use crate::record::{Current, Ending, LeftOpen, OPEN_MAX, OpenEnding, Phase};
use crate::time::Now;

impl Machine {
    pub(super) fn on_begin_new(&mut self, now: Now, leave_open: bool, entropy: Entropy, fx: &mut Effects) {
        self.entropy = entropy;
        match self.read_only {
            Some(UnknownReason::NoKey) if leave_open => return self.start_over(now, fx),
            Some(_) => return Self::decline(Declined::OpenUnknown, fx),
            None => {}
        }
        if !self.loaded || self.inert {
            return Self::decline(Declined::NotNow, fx);
        }
        if self.is_stale() {
            // By its own beginNew a document takes the slot's generation over (R23).
            self.generation = self.record.version.generation;
            self.witnessed = self.record.current.is_some().then_some(self.generation);
        }
        if !matches!(self.activity, Activity::Resting) {
            return Self::decline(Declined::NotNow, fx);
        }
        let Some(current) = &self.record.current else { return self.open_generation(now, fx) };
        if !current.is_open() {
            let too_old = self.is_too_old(now, current.reserved_at);
            self.wish = None;
            fx.push(Effect::Keep(false));
            if too_old && self.operation.can_fence() {
                // The server may have forgotten it: replaced as at a submit (R28, R121).
                return self.inquire(now, Purpose::Renew, fx);
            }
            // Nothing ran under this key and it carries nothing: it serves the new wish (R24).
            self.rest(now, Phase::Reserved, fx);
            return;
        }
        if planted::is_on(Bug::BeginNewSkipsFence) {
            self.open_generation(now, fx);
        } else if self.operation.can_fence() {
            self.inquire(now, Purpose::BeginNew { leave_open }, fx);
        } else if leave_open {
            self.leave_open(now, fx);
        } else {
            Self::decline(Declined::OpenUnknown, fx);
        }
    }

    /// The next generation, empty.
    pub(super) fn open_generation(&mut self, now: Now, fx: &mut Effects) {
        self.mint(now);
        self.wish = None;
        fx.push(Effect::Keep(false));
        self.activity = Activity::Resting;
        let _ = self.write(fx);
        self.settle(Reply::Settled, fx);
    }

    /// The stored text cannot be read; told so, the person goes on. The text is kept aside (R85).
    fn start_over(&mut self, now: Now, fx: &mut Effects) {
        self.read_only = None;
        self.stored = None;
        self.aside = true;
        self.open_generation(now, fx);
    }

    /// The old intent moves to the open list: visible, checkable, no longer blocking (R55).
    pub(super) fn leave_open(&mut self, now: Now, fx: &mut Effects) {
        if self.record.open.len() >= OPEN_MAX {
            Self::decline(Declined::OpenUnknown, fx);
            self.activity = Activity::Resting;
            fx.push(Effect::Announce);
            return;
        }
        if let Some(current) = self.record.current.take()
            && !planted::is_on(Bug::LeftOpenForgotten)
        {
            self.record.open.push(left_open(current, now));
        }
        self.open_generation(now, fx);
    }

    /// Before `fetch` was called nothing was sent; after it nobody knows (R22). Never "cancelled".
    pub(super) fn on_stop(&mut self, now: Now, fx: &mut Effects) {
        match &self.activity {
            Activity::Claiming { .. } => {
                self.unclaim();
                self.stop_unsent(now, fx);
            }
            Activity::Waiting { .. } => self.stop_unsent(now, fx),
            Activity::Sending { .. } => {
                fx.push(Effect::Abort);
                if planted::is_on(Bug::StopSaysNotSent) {
                    return self.rest(now, Phase::NotSent(NotSentReason::Stopped), fx);
                }
                self.doubt(Cause::Stopped);
                self.rest(now, Phase::Unknown(UnknownReason::Stopped), fx);
            }
            Activity::Inquiring(inquiry) if matches!(inquiry.purpose, Purpose::Progress) => {
                fx.push(Effect::Abort);
                self.rest(now, Phase::Unknown(UnknownReason::Stopped), fx);
            }
            Activity::Resting | Activity::Inquiring(_) | Activity::Observing { .. } => {}
        }
    }

    fn stop_unsent(&mut self, now: Now, fx: &mut Effects) {
        match (self.is_doubtful(), self.last_refusal.clone()) {
            (true, _) => self.rest(now, Phase::Unknown(UnknownReason::Stopped), fx),
            (false, Some((status, problem))) => {
                self.rest(now, Phase::Refused { status, kind: problem.kind.clone() }, fx);
                self.shown = Some(State::Refused { status, problem });
            }
            (false, None) => self.rest(now, Phase::NotSent(NotSentReason::Stopped), fx),
        }
    }

    /// Stays open and blocks until somebody decides (R128).
    pub(super) fn on_hand_over(&mut self, now: Now, fx: &mut Effects) {
        if self.read_only.is_some() || self.inert || !self.may_hand_over() {
            return Self::decline(Declined::NotNow, fx);
        }
        self.rest(now, Phase::Unknown(UnknownReason::HandedOver), fx);
    }

    /// Only what may have happened is worth a person's time (R54, R128).
    pub(super) fn may_hand_over(&self) -> bool {
        self.may_ask() && self.is_doubtful()
    }

    /// A person ends what was handed over, or what no machine can check (R125, R128).
    pub(super) fn on_decide(&mut self, now: Now, outcome: Ruling, by: String, fx: &mut Effects) {
        if self.read_only.is_some() || self.inert || !self.may_decide() {
            return Self::decline(Declined::NotNow, fx);
        }
        if outcome == Ruling::LeftOpen
            && let Some(current) = &self.record.current
            && self.record.open.len() < OPEN_MAX
        {
            self.record.open.push(left_open(current.clone(), now));
        }
        let shown = State::Decided { outcome, by: by.clone(), at: now.wall };
        self.finish(now, Ending::Decided { outcome, by }, shown, Reply::Settled, fx);
    }

    pub(super) fn may_decide(&self) -> bool {
        self.may_ask()
            && self.record.current.as_ref().is_some_and(|current| match &current.phase {
                Phase::Unknown(why) => *why == UnknownReason::HandedOver || !self.operation.can_check(),
                Phase::Disputed(_) => true,
                Phase::Reserved
                | Phase::Sending
                | Phase::Waiting
                | Phase::Suspended(_)
                | Phase::Refused { .. }
                | Phase::NotSent(_) => false,
            })
    }

    /// Somebody else is there: nothing is shown, resumed or sent any more, and remembered values go (R25, R93).
    pub(super) fn on_subject_changed(&mut self, now: Now, fx: &mut Effects) {
        if self.inert || planted::is_on(Bug::SubjectIgnored) {
            return;
        }
        if self.read_only.is_none() && self.loaded {
            self.record.erase_remembered();
            match &self.activity {
                Activity::Resting | Activity::Observing { .. } | Activity::Inquiring(_) => {
                    self.activity = Activity::Resting;
                    fx.push(Effect::Abort);
                    if self.record.current.is_some() {
                        let _ = self.write(fx);
                    }
                    self.settle(Reply::Held, fx);
                }
                Activity::Claiming { .. } | Activity::Sending { .. } | Activity::Waiting { .. } => {
                    self.on_stop(now, fx);
                }
            }
        }
        self.inert = true;
        self.wish = None;
        fx.push(Effect::Keep(false));
        fx.push(Effect::Announce);
    }
}

fn left_open(current: Current, now: Now) -> LeftOpen {
    LeftOpen {
        key: current.key,
        digest: current.digest,
        first_sent: current.first_sent,
        reserved_at: current.reserved_at,
        left_at: now.wall,
        ending: OpenEnding::Unknown,
    }
}
