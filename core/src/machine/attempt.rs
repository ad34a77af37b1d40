//! One round: claim, send, verdict, wait, and what its end means.

use super::effect::{Effect, Effects};
use super::event::Ticket;
use super::inquiry::Purpose;
use super::state::{Cause, Doubt, NotSentReason, Problem, State, Success, UnknownReason, WaitReason};
use super::submit::OFFLINE_LOOK;
use super::{Activity, Machine, Then, Turn};
use crate::backoff;
use crate::budget::GRACE;
use crate::json;
use crate::planted::{self, Bug};
use crate::record::{Ending, Phase};
use crate::time::{Millis, Now, Wall};
use crate::verdict::{self, Answer, Verdict};

/// A record first seen this much before the very fetch was somebody else's doing, not a clone of it (R122).
const EARLIER_MARGIN: Millis = Millis(2_000);

impl Machine {
    /// Writes the attempt ahead of its first byte (R19); the report of the store starts it.
    pub(super) fn claim(&mut self, now: Now, fx: &mut Effects) {
        let cap = self.operation.attempt_cap();
        if planted::is_on(Bug::DeadlineRestarts) {
            self.round = crate::budget::Round::start(now, self.operation.budget);
        }
        if self.round.attempt_cap(now, cap, self.budget_minimum()).is_none() {
            self.end_round(now, UnknownReason::Deadline, fx);
            return;
        }
        if let Some(at) = self.record.current.as_ref().and_then(|current| current.not_before)
            && at > now.wall
            && !planted::is_on(Bug::RetryAfterIgnored)
        {
            // Back online sooner than the server allows, say (R50).
            return self.wait_or_end(now, at.since(now.wall), WaitReason::RetryAfter, Then::Attempt, fx);
        }
        if let Some(current) = &mut self.record.current {
            if planted::is_on(Bug::KeyPerAttempt) {
                current.key = crate::key::Key::from_random([current.attempts.wrapping_add(100); 16]);
            }
            if !planted::is_on(Bug::AttemptsNotCounted) {
                current.attempts = current.attempts.saturating_add(1);
            }
            current.phase = Phase::Sending;
            current.driver = self.setting.document.clone();
            current.lease_until = now.wall.plus(cap).plus(GRACE);
            current.elapsed = self.round.elapsed(now);
        }
        let ticket: Ticket = self.write(fx);
        self.activity = Activity::Claiming { ticket, turn_until: None };
        fx.push(Effect::Announce);
        if planted::is_on(Bug::CalledBeforeStored) {
            self.send(now, fx);
        }
    }

    /// The claim will not be followed by a `fetch`.
    pub(super) fn unclaim(&mut self) {
        if let Some(current) = &mut self.record.current {
            current.attempts = current.attempts.saturating_sub(1);
        }
    }

    /// The claim stands. It is followed by `fetch` once no other document can be sending: whoever holds the drive lock sees
    /// that it was outrun and gives it up, or its time is over (R36, R69).
    pub(super) fn send_in_turn(&mut self, now: Now, fx: &mut Effects) {
        match (&self.activity, self.turn) {
            (Activity::Claiming { turn_until: Some(_), .. }, Turn::Unasked | Turn::Mine | Turn::NoLocks) => {
                self.send(now, fx);
            }
            (_, Turn::Unasked | Turn::Asked | Turn::Mine | Turn::Others | Turn::NoLocks) => {}
        }
    }

    /// The claim stands: call `fetch`, if there is still time (R32, R33).
    pub(super) fn send(&mut self, now: Now, fx: &mut Effects) {
        let cap = self.round.attempt_cap(now, self.operation.attempt_cap(), self.budget_minimum());
        let cap = cap.or(planted::is_on(Bug::DeadlineNotChecked).then_some(crate::budget::ATTEMPT_MINIMUM));
        let Some(cap) = cap else {
            self.unclaim();
            self.end_round(now, UnknownReason::Deadline, fx);
            return;
        };
        let Some(current) = &self.record.current else { return };
        let attempt = current.attempts;
        let headers = self.headers(current, Some(self.round.deadline()), Some(attempt));
        self.activity = Activity::Sending { attempt, called: now, ends: now.mono.plus(cap) };
        fx.push(Effect::Send { headers, attempt, cap });
        fx.push(Effect::Announce);
    }

    /// When the attempt was sent, if it is the one out.
    const fn out(&self, attempt: u8) -> Option<Now> {
        match &self.activity {
            Activity::Sending { attempt: out, called, .. } if *out == attempt => Some(*called),
            Activity::Resting
            | Activity::Claiming { .. }
            | Activity::Sending { .. }
            | Activity::Waiting { .. }
            | Activity::Inquiring(_)
            | Activity::Observing { .. } => None,
        }
    }

    pub(super) fn on_transport_failed(&mut self, now: Now, attempt: u8, fx: &mut Effects) {
        if self.out(attempt).is_some() {
            if !planted::is_on(Bug::FailureLeavesNoDoubt) {
                self.doubt(Cause::Transport);
            }
            self.retry(now, None, backoff::FLOOR, fx);
        }
    }

    pub(super) fn on_attempt_timed_out(&mut self, now: Now, attempt: u8, fx: &mut Effects) {
        if self.out(attempt).is_some() {
            if !planted::is_on(Bug::TimeoutLeavesNoDoubt) {
                self.doubt(Cause::TimedOut);
            }
            self.retry(now, None, backoff::FLOOR, fx);
        }
    }

    /// `fetch` threw before it sent anything: no doubt, and another try makes sense (verdict table, first row).
    pub(super) fn on_not_called(&mut self, now: Now, attempt: u8, fx: &mut Effects) {
        if self.out(attempt).is_some() {
            if attempt >= self.operation.attempts {
                self.unclaim();
                self.end_round(now, UnknownReason::Attempts, fx);
            } else {
                self.retry(now, None, backoff::FLOOR, fx);
            }
        }
    }

    /// Planted bugs only: no rule lets a doubt go without an authoritative answer.
    fn forget_doubt(&mut self) {
        if let Some(current) = &mut self.record.current {
            current.doubt = Doubt::None;
        }
    }

    pub(super) fn doubt(&mut self, cause: Cause) {
        if let Some(current) = &mut self.record.current {
            current.raise_doubt(cause);
        }
    }

    pub(super) fn on_answered(&mut self, now: Now, attempt: u8, answer: &Answer, fx: &mut Effects) {
        self.learn_clock(now, answer);
        let Some(current) = &self.record.current else { return self.on_answered_late(now, answer, fx) };
        if matches!(current.phase, Phase::Disputed(_)) {
            // A person's to settle, whatever comes in late (R66).
            return;
        }
        let verdict = verdict::judge(answer, &self.operation, &current.key, now.wall);
        match self.out(attempt) {
            Some(called) => self.follow(now, called, verdict, fx),
            // Late, but for this key and definitive: it counts.
            None if verdict.is_authoritative() && answer.is_tied_to(&current.key) => {
                self.follow(now, now, verdict, fx);
            }
            None if answer.is_tied_to(&current.key) => self.learn_evidence(&verdict, fx),
            None => {}
        }
    }

    /// Our own abort cut the body of a 2xx: its headers are better evidence than the timeout they came with (F26).
    fn learn_evidence(&mut self, verdict: &Verdict, fx: &mut Effects) {
        if let Verdict::Ambiguous { cause: Cause::Unreadable, .. } = verdict
            && let Some(current) = &mut self.record.current
            && let Doubt::Possible { cause: cause @ Cause::TimedOut, .. } = &mut current.doubt
        {
            *cause = Cause::Unreadable;
            let _ = self.write(fx);
            fx.push(Effect::Announce);
        }
    }

    fn follow(&mut self, now: Now, called: Now, verdict: Verdict, fx: &mut Effects) {
        match verdict {
            Verdict::Applied { body, replayed, first_seen, date } => {
                let earlier = self.earlier(now, called, replayed, first_seen, date);
                self.succeed(now, body, None, replayed, earlier, fx);
            }
            Verdict::Rejected { status, problem } => self.reject(now, status, problem, fx),
            Verdict::Fenced => self.finish(now, Ending::Fenced, State::Fenced, super::Reply::Settled, fx),
            Verdict::InProgress { after } => {
                self.doubt(Cause::InProgress);
                if self.operation.can_check() {
                    let after = after.unwrap_or(backoff::FLOOR_UNAVAILABLE);
                    self.wait_or_end(now, after, WaitReason::RetryAfter, Then::Poll, fx);
                } else {
                    self.retry(now, after, backoff::FLOOR_UNAVAILABLE, fx);
                }
            }
            Verdict::KeyReused => {
                self.doubt(Cause::KeyReused);
                if self.operation.can_check() {
                    self.inquire(now, Purpose::KeyReused, fx);
                } else {
                    self.rest(now, Phase::Unknown(UnknownReason::KeyReused), fx);
                }
            }
            Verdict::Refused { status, problem } => self.refuse(now, UnknownReason::Refused, status, problem, fx),
            Verdict::Suspended(why) => {
                if planted::is_on(Bug::SuspendedForgets) {
                    self.forget_doubt();
                }
                self.rest(now, Phase::Suspended(why), fx);
            }
            Verdict::NotRun { status, problem, after } => {
                self.last_refusal = Some((status, problem));
                self.retry(now, after, backoff::FLOOR_UNAVAILABLE, fx);
            }
            Verdict::ClockRefused { status, problem, server_now } => {
                self.last_refusal = Some((status, problem));
                if self.correct_clock(now, server_now) {
                    self.again(now, fx);
                } else {
                    self.end_round(now, UnknownReason::Deadline, fx);
                }
            }
            Verdict::Ambiguous { cause, after, unavailable } => {
                self.doubt(cause);
                let floor = if unavailable { backoff::FLOOR_UNAVAILABLE } else { backoff::FLOOR };
                self.retry(now, after, floor, fx);
            }
            Verdict::Final { cause, why, server_now } => {
                if why == UnknownReason::Expired && self.is_young(now) && self.correct_clock(now, server_now) {
                    self.again(now, fx);
                } else {
                    self.doubt(cause);
                    self.rest(now, Phase::Unknown(why), fx);
                }
            }
        }
    }

    /// The server calls a key expired that was reserved moments ago and never left a doubt: our clock is wrong (R117).
    fn is_young(&self, now: Now) -> bool {
        self.record.current.as_ref().is_some_and(|current| {
            current.doubt == Doubt::None && now.wall.since(current.reserved_at) < Millis(self.operation.retention.0 / 2)
        })
    }

    fn earlier(
        &self,
        now: Now,
        called: Now,
        replayed: bool,
        first_seen: Option<Wall>,
        date: Option<Wall>,
    ) -> Option<Wall> {
        let current = self.record.current.as_ref()?;
        let first = current.attempts <= 1 && self.record.version.round <= 1 && current.doubt == Doubt::None;
        if !(replayed && first) {
            return None;
        }
        // Both on the server's clock: its Date, less the time since the fetch was called.
        let answered = date.unwrap_or_else(|| self.server_time(now.wall));
        let sent = answered.minus(now.elapsed_since(called));
        first_seen.filter(|seen| sent.since(*seen) > EARLIER_MARGIN)
    }

    /// Confirmed: compared with the wish where that is possible (R126), then retired.
    pub(super) fn succeed(
        &mut self,
        now: Now,
        body: alloc::string::String,
        result_id: Option<alloc::string::String>,
        replayed: bool,
        earlier: Option<Wall>,
        fx: &mut Effects,
    ) {
        let parsed = json::parse(&body).ok();
        let (difference, not_compared) = self.compare(parsed.as_ref());
        if let Some(disputed) = difference {
            self.doubt(Cause::Untied);
            self.rest(now, Phase::Disputed(super::state::DisputeReason::Value), fx);
            self.shown = Some(disputed);
            return;
        }
        let result_id = result_id.or_else(|| self.result_id_in(parsed.as_ref()));
        let ending = Ending::Succeeded { result_id: result_id.clone(), earlier };
        let body = (!body.is_empty()).then_some(body);
        let success = Success { result_id, body, replayed, at: now.wall, earlier, not_compared };
        self.finish(now, ending, State::Succeeded(success), super::Reply::Settled, fx);
    }

    /// The result's id in a body, where the operation says.
    pub(super) fn result_id_in(&self, body: Option<&json::Value>) -> Option<alloc::string::String> {
        super::view::plain_text(body?.pointer(self.operation.result_id.as_deref()?)?)
    }

    pub(super) fn reject(&mut self, now: Now, status: u16, problem: Problem, fx: &mut Effects) {
        let ending = Ending::Rejected { status, kind: problem.kind.clone() };
        self.finish(now, ending, State::Rejected { status, problem }, super::Reply::Settled, fx);
    }

    /// This copy ran nothing. Without doubt the wish surely was not done; with it, that stays open (R21).
    fn refuse(&mut self, now: Now, why: UnknownReason, status: u16, problem: Problem, fx: &mut Effects) {
        self.last_refusal = Some((status, problem));
        if planted::is_on(Bug::RefusalClearsDoubt) {
            self.forget_doubt();
        }
        self.end_round(now, why, fx);
    }

    /// The same key again at once, for a corrected clock.
    fn again(&mut self, now: Now, fx: &mut Effects) {
        let spent = self.record.current.as_ref().is_none_or(|current| current.attempts >= self.operation.attempts);
        if spent {
            self.end_round(now, UnknownReason::Attempts, fx);
        } else {
            self.claim(now, fx);
        }
    }

    /// Another attempt after our backoff or the asked wait, if attempts and budget allow it (R33, R34, R43, R48).
    fn retry(&mut self, now: Now, after: Option<Millis>, floor: Millis, fx: &mut Effects) {
        let attempts = self.record.current.as_ref().map_or(0, |current| current.attempts);
        let after = after.filter(|_| !planted::is_on(Bug::RetryAfterIgnored));
        let floor = if planted::is_on(Bug::NoFloor) { Millis(1) } else { floor };
        if let (Some(after), Some(current)) = (after, &mut self.record.current) {
            current.not_before = Some(now.wall.plus(after.min(self.operation.retention)));
        }
        if attempts >= self.operation.attempts {
            // With no room for another attempt anyway, the budget is why (F58).
            let left = self.round.attempt_cap(now, self.operation.attempt_cap(), self.budget_minimum());
            let why = if left.is_none() { UnknownReason::Deadline } else { UnknownReason::Attempts };
            self.end_round(now, why, fx);
            return;
        }
        let random = self.random();
        let (delay, why) = match after {
            Some(after) => (backoff::jittered(after.max(backoff::FLOOR), random), WaitReason::RetryAfter),
            None => (backoff::delay(attempts.max(1), random, floor), WaitReason::Backoff),
        };
        self.wait_or_end(now, delay, why, Then::Attempt, fx);
    }

    pub(super) fn wait_or_end(&mut self, now: Now, delay: Millis, why: WaitReason, then: Then, fx: &mut Effects) {
        if self.round.fits(now, delay, self.budget_minimum()) {
            self.wait(now, delay, why, then, fx);
        } else if why == WaitReason::RetryAfter && then == Then::Attempt {
            self.end_round(now, UnknownReason::RetryAfter, fx);
        } else {
            self.end_round(now, UnknownReason::Deadline, fx);
        }
    }

    pub(super) fn wait(&mut self, now: Now, delay: Millis, why: WaitReason, then: Then, fx: &mut Effects) {
        let until_wall = now.wall.plus(delay);
        // Offline it looks again and again without writing: the lease has to cover all of that (R70).
        let leased = if why == WaitReason::Offline { self.round.remaining(now) } else { delay };
        if let Some(current) = &mut self.record.current {
            current.phase = Phase::Waiting;
            current.lease_until = now.wall.plus(leased).plus(GRACE);
            current.elapsed = self.round.elapsed(now);
        }
        self.activity = Activity::Waiting { until: now.mono.plus(delay), until_wall, why, then };
        let _ = self.write(fx);
        fx.push(Effect::Announce);
    }

    pub(super) fn on_wait_timer(&mut self, now: Now, fx: &mut Effects) {
        let Activity::Waiting { until, until_wall, why, then } = self.activity else { return };
        if self.round.is_over(now)
            || self.round.attempt_cap(now, self.operation.attempt_cap(), self.budget_minimum()).is_none()
        {
            return self.end_round(now, UnknownReason::Deadline, fx);
        }
        if now.mono < until && now.wall < until_wall {
            return;
        }
        match (why, then) {
            (WaitReason::Offline, _) if !self.setting.online => {
                // Looks again without writing: nothing changed.
                let until = now.mono.plus(OFFLINE_LOOK);
                let until_wall = now.wall.plus(OFFLINE_LOOK);
                self.activity = Activity::Waiting { until, until_wall, why, then };
            }
            (_, Then::Attempt) => self.claim(now, fx),
            (_, Then::Poll) => self.inquire(now, Purpose::Progress, fx),
        }
    }

    pub(super) fn on_online(&mut self, now: Now, online: bool, fx: &mut Effects) {
        self.setting.online = online;
        if !online {
            return;
        }
        match &self.activity {
            Activity::Waiting { why: WaitReason::Offline, .. } => self.claim(now, fx),
            Activity::Resting => self.check_automatically(now, fx),
            Activity::Claiming { .. }
            | Activity::Sending { .. }
            | Activity::Waiting { .. }
            | Activity::Inquiring(_)
            | Activity::Observing { .. } => {}
        }
    }

    /// What the end of budget or attempts means follows from the doubt alone (R53, R54).
    pub(super) fn end_round(&mut self, now: Now, why: UnknownReason, fx: &mut Effects) {
        let unsent = match &self.activity {
            Activity::Waiting { why: WaitReason::Offline, .. } => NotSentReason::Offline,
            Activity::Resting
            | Activity::Claiming { .. }
            | Activity::Sending { .. }
            | Activity::Waiting { .. }
            | Activity::Inquiring(_)
            | Activity::Observing { .. } => NotSentReason::Deadline,
        };
        self.close_round(now, why, unsent, fx);
    }

    /// Ends a round in which this attempt was not sent; an earlier one may have been (R54).
    pub(super) fn end_round_unsent(&mut self, now: Now, why: NotSentReason, fx: &mut Effects) {
        self.close_round(now, UnknownReason::Attempts, why, fx);
    }

    fn close_round(&mut self, now: Now, why: UnknownReason, unsent: NotSentReason, fx: &mut Effects) {
        let doubt = self.record.current.as_ref().map(|current| current.doubt).unwrap_or_default();
        match (doubt, self.last_refusal.clone()) {
            (Doubt::Possible { .. }, _) => {
                self.rest(now, Phase::Unknown(why), fx);
                if planted::is_on(Bug::UnknownUnlocks) {
                    self.record.current = None;
                }
            }
            (Doubt::None, Some((status, problem))) => {
                self.rest(now, Phase::Refused { status, kind: problem.kind.clone() }, fx);
                self.shown = Some(State::Refused { status, problem });
            }
            (Doubt::None, None) => self.rest(now, Phase::NotSent(unsent), fx),
        }
    }

    /// A rough look at the server's clock from `Date`; fine enough to notice a wrong clock (R117).
    fn learn_clock(&mut self, now: Now, answer: &Answer) {
        /// `Date` has whole seconds, and the answer travelled.
        const COARSE: i64 = 2_000;
        if let Some(date) = answer.server_date(now.wall) {
            let offset = difference(date, now.wall);
            if (offset - self.setting.clock_offset).abs() > COARSE {
                self.setting.clock_offset = offset;
            }
        }
    }

    /// Takes the server's word for the time, once a round. First-sent becomes the reservation's instant by the corrected
    /// clock and never later than now; where an attempt may have run it is never made younger, or a purged key would pass
    /// for a new one (R116).
    pub(super) fn correct_clock(&mut self, now: Now, server_now: Option<Wall>) -> bool {
        let Some(server_now) = server_now else { return false };
        if self.clock_corrected {
            return false;
        }
        self.clock_corrected = true;
        self.setting.clock_offset = difference(server_now, now.wall);
        if let Some(current) = &mut self.record.current {
            let reserved = Wall(current.reserved_at.0.saturating_add_signed(self.setting.clock_offset)).min(server_now);
            current.first_sent = match current.doubt {
                Doubt::None => reserved,
                Doubt::Possible { .. } => reserved.min(current.first_sent),
            };
        }
        true
    }
}

/// `a - b` in milliseconds, saturating.
fn difference(a: Wall, b: Wall) -> i64 {
    let forward = i64::try_from(a.since(b).0).unwrap_or(i64::MAX);
    let backward = i64::try_from(b.since(a).0).unwrap_or(i64::MAX);
    forward - backward
}
