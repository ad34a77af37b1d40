//! Status checks and fences: reads of what became of a key, with a budget of their own (R56).

use alloc::string::String;

use super::effect::{Declined, Effect, Effects, Headers, Reply};
use super::event::{Target, Ticket};
use super::state::{Cause, DisputeReason, Doubt, State, Success, UnknownReason, WaitReason};
use super::{Activity, Machine, Then, Turn};
use crate::backoff;
use crate::budget::{CHECK_SPACING, GESTURE_SPACING, STATUS_BUDGET, STATUS_POLLS_MAX};
use crate::operation::Contract;
use crate::planted::{self, Bug};
use crate::reconcile::{self, Finding, Inquired, Stored};
use crate::record::{Ending, OpenEnding, Phase};
use crate::time::{Millis, Mono, Now, Wall};
use crate::verdict::Answer;

/// What an inquiry is for: decides what its finding leads to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Purpose {
    /// Automatic: load, shown, online, takeover.
    Load,
    /// The person asked.
    Person,
    /// The person pressed submit on an open intent: the same key follows if nothing is found (R20).
    BeforeResend,
    /// Another request with the key runs; inside the round's budget.
    Progress,
    /// 422: what did the key do earlier (R122)?
    KeyReused,
    /// The person wants certainty (R61).
    Fence,
    /// The person wants a new one: fence first (R55).
    BeginNew {
        /// Told that both may happen.
        leave_open: bool,
    },
    /// A reserved key that is too old is fenced before it is replaced (R121).
    Renew,
}

impl Purpose {
    /// Whether a submit of the same fields turns it into [`Purpose::BeforeResend`].
    pub(super) const fn yields_to_press(self) -> bool {
        matches!(self, Self::Load | Self::Person)
    }

    const fn is_fence(self) -> bool {
        matches!(self, Self::Fence | Self::BeginNew { .. } | Self::Renew)
    }
}

/// An inquiry about the current intent, with its polls.
#[derive(Clone, Copy, Debug)]
pub(super) struct Inquiry {
    pub(super) purpose: Purpose,
    ticket: Ticket,
    polls: u8,
    /// The end of its own budget.
    ends: Mono,
    /// A further poll is due then; `None` while a request is out.
    next: Option<Mono>,
    /// An answer said that it is in progress.
    running: bool,
}

impl Inquiry {
    pub(super) const fn wakes_at(&self) -> Mono {
        match self.next {
            Some(next) if next.0 < self.ends.0 => next,
            Some(_) | None => self.ends,
        }
    }
}

/// An inquiry about an intent left open: one request, no polls.
#[derive(Clone, Debug)]
pub(super) struct SideInquiry {
    pub(super) ticket: Ticket,
    pub(super) reference: String,
    pub(super) ends: Mono,
}

impl Machine {
    /// Starts asking. The state shows `checking` meanwhile.
    pub(super) fn inquire(&mut self, now: Now, purpose: Purpose, fx: &mut Effects) {
        let budget = match purpose {
            Purpose::Progress => self.round.remaining(now),
            Purpose::Load
            | Purpose::Person
            | Purpose::BeforeResend
            | Purpose::KeyReused
            | Purpose::Fence
            | Purpose::BeginNew { .. }
            | Purpose::Renew => STATUS_BUDGET,
        };
        if let Some(current) = &mut self.record.current {
            current.checked_at = now.wall;
        }
        let ends = now.mono.plus(budget);
        let ticket = self.ask(purpose, budget, fx);
        self.activity = Activity::Inquiring(Inquiry { purpose, ticket, polls: 1, ends, next: None, running: false });
        fx.push(Effect::Announce);
    }

    fn ask(&mut self, purpose: Purpose, cap: Millis, fx: &mut Effects) -> Ticket {
        let ticket = self.ticket();
        if let Some(current) = &self.record.current {
            let headers = self.headers(current, None, None);
            fx.push(inquiry_effect(purpose.is_fence(), ticket, headers, cap));
        }
        ticket
    }

    /// Automatic checks: at most one in five seconds over all tabs, and only where something is open (R53, R63).
    pub(super) fn check_automatically(&mut self, now: Now, fx: &mut Effects) {
        if !self.loaded || self.read_only.is_some() || self.inert || !matches!(self.activity, Activity::Resting) {
            return;
        }
        if self.is_stale() {
            // The intent is another document's, and so is the check (R23).
            return;
        }
        let Some(current) = &mut self.record.current else { return };
        let since = now.wall.since(current.checked_at);
        let spaced = since >= CHECK_SPACING || now.wall < current.checked_at;
        if spaced && matches!(current.phase, Phase::Unknown(_)) && self.operation.can_check() {
            current.checked_at = now.wall;
            // Written first: of all tabs that wake together, the one whose write lands asks.
            self.asking = Some(self.write(fx));
        }
    }

    /// The write before an automatic check has landed, or no store takes one. Only if the outcome is still open: an answer
    /// may have come meanwhile, or somebody else may be there (R25).
    pub(super) fn ask_now(&mut self, now: Now, ticket: Ticket, fx: &mut Effects) {
        let open = self.record.current.as_ref().is_some_and(|current| matches!(current.phase, Phase::Unknown(_)));
        if self.asking == Some(ticket)
            && open
            && !self.inert
            && !self.is_stale()
            && matches!(self.activity, Activity::Resting)
        {
            self.inquire(now, Purpose::Load, fx);
        }
    }

    pub(super) fn on_check(&mut self, now: Now, target: &Target, fx: &mut Effects) {
        self.on_gesture(now, target, Purpose::Person, self.operation.can_check(), fx);
    }

    pub(super) fn on_fence(&mut self, now: Now, target: &Target, fx: &mut Effects) {
        self.on_gesture(now, target, Purpose::Fence, self.operation.can_fence(), fx);
    }

    fn on_gesture(&mut self, now: Now, target: &Target, purpose: Purpose, offered: bool, fx: &mut Effects) {
        if !self.loaded || self.read_only.is_some() || self.inert {
            return Self::decline(Declined::NotNow, fx);
        }
        if !offered {
            return Self::decline(Declined::NotOffered, fx);
        }
        if self.is_too_soon(now) {
            return Self::decline(Declined::TooSoon, fx);
        }
        match target {
            Target::Current if self.may_ask() => {
                self.last_gesture = Some(now.mono);
                self.inquire(now, purpose, fx);
            }
            Target::Current => Self::decline(Declined::NotNow, fx),
            Target::Open(reference) => self.ask_open(now, reference, purpose.is_fence(), fx),
        }
    }

    /// Under the server's "not before" a gesture goes through once in ten seconds (R50).
    fn is_too_soon(&self, now: Now) -> bool {
        let held = self.record.current.as_ref().and_then(|current| current.not_before);
        held.is_some_and(|at| at > now.wall)
            && self.last_gesture.is_some_and(|last| now.mono.since(last) < GESTURE_SPACING)
    }

    pub(super) fn may_ask(&self) -> bool {
        matches!(self.activity, Activity::Resting)
            && self.record.current.as_ref().is_some_and(|current| match current.phase {
                Phase::Unknown(_) | Phase::Suspended(_) | Phase::Disputed(_) => true,
                Phase::Reserved | Phase::Sending | Phase::Waiting | Phase::Refused { .. } | Phase::NotSent(_) => false,
            })
    }

    fn ask_open(&mut self, now: Now, reference: &str, fence: bool, fx: &mut Effects) {
        let found = self.record.open.iter().find(|open| open.key.reference() == reference);
        let Some(open) = found else { return Self::decline(Declined::NoSuch, fx) };
        if self.side.is_some() || open.ending != OpenEnding::Unknown {
            return Self::decline(Declined::NotNow, fx);
        }
        let own = self.operation.contract == Some(Contract::Postonce);
        let headers = Headers {
            key: open.key.clone(),
            first_sent: own.then_some(open.first_sent),
            deadline: None,
            attempt: None,
        };
        let ticket = self.ticket();
        self.side = Some(SideInquiry { ticket, reference: reference.into(), ends: now.mono.plus(STATUS_BUDGET) });
        fx.push(inquiry_effect(fence, ticket, headers, STATUS_BUDGET));
        fx.push(Effect::Announce);
    }

    pub(super) fn on_inquired(&mut self, now: Now, ticket: Ticket, answer: &Answer, fx: &mut Effects) {
        if self.side.as_ref().is_some_and(|side| side.ticket == ticket) {
            return self.settle_open(now, Some(answer), fx);
        }
        let Activity::Inquiring(inquiry) = self.activity else { return };
        let Some(current) = &self.record.current else { return };
        if inquiry.ticket != ticket || inquiry.next.is_some() {
            return;
        }
        let inquired = Inquired {
            key: &current.key,
            operation: &self.operation.name,
            subject: &self.setting.subject,
            digest: current.digest.as_ref(),
        };
        let finding = reconcile::find(answer, &inquired, now.wall);
        self.follow_finding(now, inquiry, finding, fx);
    }

    pub(super) fn on_inquiry_failed(&mut self, now: Now, ticket: Ticket, fx: &mut Effects) {
        if self.side.as_ref().is_some_and(|side| side.ticket == ticket) {
            return self.settle_open(now, None, fx);
        }
        if let Activity::Inquiring(inquiry) = self.activity
            && inquiry.ticket == ticket
            && inquiry.next.is_none()
        {
            self.follow_finding(now, inquiry, Finding::Unusable { after: None }, fx);
        }
    }

    pub(super) fn on_inquiry_timer(&mut self, now: Now, fx: &mut Effects) {
        let Activity::Inquiring(mut inquiry) = self.activity else { return };
        if now.mono >= inquiry.ends {
            if inquiry.next.is_none() {
                fx.push(Effect::Abort);
            }
            return self.end_inquiry(now, inquiry, fx);
        }
        if inquiry.next.is_some_and(|next| now.mono >= next) {
            inquiry.ticket = self.ask(inquiry.purpose, inquiry.ends.since(now.mono), fx);
            inquiry.polls = inquiry.polls.saturating_add(1);
            inquiry.next = None;
            self.activity = Activity::Inquiring(inquiry);
        }
    }

    fn follow_finding(&mut self, now: Now, inquiry: Inquiry, finding: Finding, fx: &mut Effects) {
        match finding {
            Finding::Completed { stored, first_seen } => {
                self.found_completed(now, inquiry.purpose, stored, first_seen, fx);
            }
            Finding::Rejected { status, problem } => self.reject(now, status, problem, fx),
            Finding::Fenced => self.found_fenced(now, inquiry.purpose, fx),
            Finding::OtherPayload { stored, first_seen } => {
                self.found_other_payload(now, inquiry.purpose, stored, first_seen, fx);
            }
            // Whatever short of an outcome is found, it stays with the person who decides (R128).
            Finding::Suspended(_) | Finding::Uncertain | Finding::Expired if self.is_handed_over() => {
                self.rest(now, Phase::Unknown(UnknownReason::HandedOver), fx);
            }
            Finding::Suspended(why) => self.rest(now, Phase::Suspended(why), fx),
            // The same key goes out and is told the same: then the answer is about what was sent.
            Finding::Uncertain if inquiry.purpose == Purpose::Renew => {
                self.leave_open_question(now, inquiry.purpose, fx);
            }
            Finding::Uncertain => {
                self.found_final(now, inquiry.purpose, Cause::Uncertain, UnknownReason::Uncertain, fx);
            }
            // A reserved key that nothing was ever sent under, older than the server's memory: a new one is safe, since a
            // wish of that age is history anyway (R23).
            Finding::Expired if inquiry.purpose == Purpose::Renew || self.record.version.round == 0 => {
                self.renew(now, fx);
            }
            Finding::Expired => self.found_final(now, inquiry.purpose, Cause::Expired, UnknownReason::Expired, fx),
            Finding::ClockSkew { server_now } => {
                if self.correct_clock(now, server_now) {
                    if let (Purpose::Renew, Some(server_now), Some(current)) =
                        (inquiry.purpose, server_now, &mut self.record.current)
                    {
                        // Nothing ran under it, so nothing can have been purged: the fence may be as young as it takes.
                        current.first_sent = server_now;
                    }
                    self.inquire(now, inquiry.purpose, fx);
                } else {
                    self.leave_open_question(now, inquiry.purpose, fx);
                }
            }
            Finding::InProgress { after } => {
                self.doubt(Cause::InProgress);
                let inquiry = Inquiry { running: true, ..inquiry };
                if !self.polls_again(now, inquiry, after, fx) {
                    self.end_inquiry(now, inquiry, fx);
                }
            }
            Finding::Unusable { after } => {
                if !self.polls_again(now, inquiry, after, fx) {
                    self.end_inquiry(now, inquiry, fx);
                }
            }
            Finding::NotFound if planted::is_on(Bug::NotFoundMeansFenced) => {
                self.found_fenced(now, inquiry.purpose, fx);
            }
            Finding::NotFound => self.found_nothing(now, inquiry.purpose, fx),
        }
    }

    fn found_completed(&mut self, now: Now, purpose: Purpose, stored: Stored, seen: Option<Wall>, fx: &mut Effects) {
        let bound = self.record.current.as_ref().is_some_and(|current| current.digest.is_some());
        let Stored { body, result_id, .. } = stored;
        if purpose == Purpose::KeyReused || !bound {
            self.show_earlier_success(now, result_id, body, seen, fx);
        } else {
            self.succeed(now, body.unwrap_or_default(), result_id, true, None, fx);
        }
    }

    fn show_earlier_success(
        &mut self,
        now: Now,
        result_id: Option<String>,
        body: Option<String>,
        seen: Option<Wall>,
        fx: &mut Effects,
    ) {
        let earlier = Some(seen.unwrap_or(now.wall));
        let success =
            Success { result_id: result_id.clone(), body, replayed: true, at: now.wall, earlier, ..Success::default() };
        let ending = Ending::Succeeded { result_id, earlier };
        self.show_earlier(now, State::Succeeded(success), ending, fx);
    }

    fn found_other_payload(
        &mut self,
        now: Now,
        purpose: Purpose,
        stored: Option<Stored>,
        seen: Option<Wall>,
        fx: &mut Effects,
    ) {
        match (purpose, stored) {
            (Purpose::KeyReused, Some(stored)) if stored.status < 400 => {
                self.show_earlier_success(now, stored.result_id, stored.body, seen, fx);
            }
            (Purpose::KeyReused, _) => self.rest(now, Phase::Unknown(UnknownReason::KeyReused), fx),
            _ => self.rest(now, Phase::Disputed(DisputeReason::Fingerprint), fx),
        }
    }

    /// The only proof of "not applied": the next one may begin (R61).
    fn found_fenced(&mut self, now: Now, purpose: Purpose, fx: &mut Effects) {
        match purpose {
            Purpose::BeginNew { .. } => {
                self.finish(now, Ending::Fenced, State::Fenced, Reply::Settled, fx);
                self.open_generation(now, fx);
            }
            Purpose::Renew => self.renew(now, fx),
            Purpose::Load
            | Purpose::Person
            | Purpose::BeforeResend
            | Purpose::Progress
            | Purpose::KeyReused
            | Purpose::Fence => self.finish(now, Ending::Fenced, State::Fenced, Reply::Settled, fx),
        }
    }

    /// The reserved key is void or forgotten: the waiting wish, or the next one, gets a fresh one (R121).
    fn renew(&mut self, now: Now, fx: &mut Effects) {
        if self.wish.is_none() {
            return self.open_generation(now, fx);
        }
        self.record.current = None;
        self.mint(now);
        self.start_round(now, fx);
    }

    fn found_final(&mut self, now: Now, purpose: Purpose, cause: Cause, why: UnknownReason, fx: &mut Effects) {
        self.doubt(cause);
        if self.is_left_open(now, purpose, fx) {
            return;
        }
        decline_begin_new(purpose, fx);
        self.rest(now, Phase::Unknown(why), fx);
    }

    /// No record now: proves nothing (R59). A press on submit goes on with the same key.
    fn found_nothing(&mut self, now: Now, purpose: Purpose, fx: &mut Effects) {
        match purpose {
            Purpose::BeforeResend if self.may_drive(now) => self.start_round(now, fx),
            Purpose::Progress => {
                let delay = backoff::FLOOR_UNAVAILABLE;
                let spent =
                    self.record.current.as_ref().is_none_or(|current| current.attempts >= self.operation.attempts);
                let then = if spent { Then::Poll } else { Then::Attempt };
                self.wait_or_end(now, delay, WaitReason::Backoff, then, fx);
            }
            Purpose::Load
            | Purpose::Person
            | Purpose::BeforeResend
            | Purpose::KeyReused
            | Purpose::Fence
            | Purpose::BeginNew { .. }
            | Purpose::Renew => self.leave_open_question(now, purpose, fx),
        }
    }

    /// Nobody else holds the lease, or this document holds the drive lock.
    fn may_drive(&self, now: Now) -> bool {
        self.turn == Turn::Mine
            || self
                .record
                .current
                .as_ref()
                .is_some_and(|current| current.lease_until <= now.wall || current.driver == self.setting.document)
    }

    /// Whether another poll follows; false when polls or time are used up.
    fn polls_again(&mut self, now: Now, mut inquiry: Inquiry, after: Option<Millis>, fx: &mut Effects) -> bool {
        if inquiry.purpose == Purpose::Progress {
            let delay = after.unwrap_or(backoff::FLOOR_UNAVAILABLE).max(backoff::FLOOR);
            self.wait_or_end(now, delay, WaitReason::RetryAfter, Then::Poll, fx);
            return true;
        }
        let random = self.random();
        let delay = match after {
            Some(after) => backoff::jittered(after.max(backoff::FLOOR), random),
            None => backoff::delay(inquiry.polls, random, backoff::FLOOR),
        };
        let next = now.mono.plus(delay);
        if inquiry.polls >= STATUS_POLLS_MAX || next >= inquiry.ends {
            return false;
        }
        inquiry.next = Some(next);
        self.activity = Activity::Inquiring(inquiry);
        true
    }

    /// Polls or time are used up.
    fn end_inquiry(&mut self, now: Now, inquiry: Inquiry, fx: &mut Effects) {
        if inquiry.running {
            // It runs, or its owner is gone and only a command takes it up again (R109): a press sends the same key.
            self.found_nothing(now, inquiry.purpose, fx);
        } else {
            self.leave_open_question(now, inquiry.purpose, fx);
        }
    }

    /// The inquiry ends without an answer that settles anything.
    fn leave_open_question(&mut self, now: Now, purpose: Purpose, fx: &mut Effects) {
        match purpose {
            Purpose::Load => self.after_look(now, false, fx),
            Purpose::BeforeResend => self.after_look(now, true, fx),
            Purpose::Progress => self.end_round(now, UnknownReason::Deadline, fx),
            Purpose::KeyReused => self.rest(now, Phase::Unknown(UnknownReason::KeyReused), fx),
            Purpose::Renew => {
                let too_old =
                    self.record.current.as_ref().is_some_and(|current| self.is_too_old(now, current.reserved_at));
                if self.wish.is_none() {
                    let phase = self.record.current.as_ref().map(|current| current.phase.clone()).unwrap_or_default();
                    self.rest(now, phase, fx);
                } else if too_old {
                    self.end_round_unsent(now, super::state::NotSentReason::Deadline, fx);
                } else {
                    self.start_round(now, fx);
                }
            }
            Purpose::Person | Purpose::Fence | Purpose::BeginNew { .. } => {
                if self.is_left_open(now, purpose, fx) {
                    return;
                }
                let phase = self.record.current.as_ref().map(|current| current.phase.clone()).unwrap_or_default();
                decline_begin_new(purpose, fx);
                self.rest(now, phase, fx);
            }
        }
    }

    /// The fence proved nothing and the person had chosen to leave it open.
    fn is_left_open(&mut self, now: Now, purpose: Purpose, fx: &mut Effects) -> bool {
        match purpose {
            Purpose::BeginNew { leave_open: true } => {
                self.leave_open(now, fx);
                true
            }
            Purpose::BeginNew { leave_open: false }
            | Purpose::Load
            | Purpose::Person
            | Purpose::BeforeResend
            | Purpose::Progress
            | Purpose::KeyReused
            | Purpose::Fence
            | Purpose::Renew => false,
        }
    }

    /// The answer about an intent left open: settles it in the list, or leaves it as it is.
    fn settle_open(&mut self, now: Now, answer: Option<&Answer>, fx: &mut Effects) {
        let Some(side) = self.side.take() else { return };
        let found = self.record.open.iter_mut().find(|open| open.key.reference() == side.reference);
        if let (Some(open), Some(answer)) = (found, answer) {
            let inquired = Inquired {
                key: &open.key,
                operation: &self.operation.name,
                subject: &self.setting.subject,
                digest: open.digest.as_ref(),
            };
            let ending = match reconcile::find(answer, &inquired, now.wall) {
                Finding::Completed { stored, .. } => {
                    OpenEnding::Settled(Ending::Succeeded { result_id: stored.result_id, earlier: None })
                }
                Finding::Rejected { status, problem } => {
                    OpenEnding::Settled(Ending::Rejected { status, kind: problem.kind })
                }
                Finding::Fenced => OpenEnding::Settled(Ending::Fenced),
                Finding::OtherPayload { .. } => OpenEnding::Disputed,
                Finding::InProgress { .. }
                | Finding::Uncertain
                | Finding::Expired
                | Finding::NotFound
                | Finding::ClockSkew { .. }
                | Finding::Suspended(_)
                | Finding::Unusable { .. } => OpenEnding::Unknown,
            };
            if open.ending != ending {
                open.ending = ending;
                let _ = self.write(fx);
            }
        }
        fx.push(Effect::Announce);
    }

    pub(super) fn is_handed_over(&self) -> bool {
        self.record.current.as_ref().is_some_and(|current| current.phase == Phase::Unknown(UnknownReason::HandedOver))
    }

    /// Whether the current key may have run.
    pub(super) fn is_doubtful(&self) -> bool {
        self.record.current.as_ref().is_some_and(|current| current.doubt != Doubt::None)
    }
}

const fn inquiry_effect(fence: bool, ticket: Ticket, headers: Headers, cap: Millis) -> Effect {
    if fence { Effect::Fence { ticket, headers, cap } } else { Effect::Check { ticket, headers, cap } }
}

fn decline_begin_new(purpose: Purpose, fx: &mut Effects) {
    if matches!(purpose, Purpose::BeginNew { .. }) {
        fx.push(Effect::Decline(Declined::OpenUnknown));
    }
}
