//! Submit and resend: what joins, what conflicts, what opens a round or a generation.

use super::effect::{ConflictReason, Declined, Effect, Effects, Reply};
use super::event::{Entropy, Wish};
use super::inquiry::Purpose;
use super::state::{NotSentReason, Ruling, State, WaitReason};
use super::{Activity, Machine, Then};
use crate::budget::{ECHO_WINDOW, Round};
use crate::fingerprint::Digest;
use crate::key::Key;
use crate::planted::{self, Bug};
use crate::record::{Ending, Phase, owner_of};
use crate::time::{Millis, Now};

/// How often an offline hold looks again, beside the `online` event (R37).
pub(super) const OFFLINE_LOOK: Millis = Millis(1_000);

impl Machine {
    /// First touch or idle time: reserve, so that the click waits for no disk (R1, R121).
    pub(super) fn on_touched(&mut self, now: Now, entropy: Entropy, fx: &mut Effects) {
        if !self.loaded || self.read_only.is_some() || self.inert || self.record.current.is_some() {
            return;
        }
        if self.is_remembered_end(now) {
            return;
        }
        self.entropy = entropy;
        self.mint(now);
        let _ = self.write(fx);
        fx.push(Effect::Announce);
    }

    /// Whether the last intent still answers for a resubmit (R23).
    fn is_remembered_end(&self, now: Now) -> bool {
        self.record.last.as_ref().is_some_and(|last| now.wall.since(last.at) < ECHO_WINDOW)
            && !planted::is_on(Bug::EchoForgotten)
    }

    pub(super) fn on_submit(&mut self, now: Now, wish: Wish, entropy: Entropy, fx: &mut Effects) {
        if !self.loaded || self.read_only.is_some() || self.inert {
            fx.push(Effect::Reply(Reply::Held));
            return;
        }
        if self.is_stale() {
            let reply = self.conflict(ConflictReason::Stale, wish.remembered);
            fx.push(Effect::Reply(reply));
            return;
        }
        self.entropy = entropy;
        let Some(current) = &self.record.current else {
            self.submit_after_end(now, wish, fx);
            return;
        };
        match (&current.phase, self.is_bound_to(&wish)) {
            (Phase::Reserved | Phase::Refused { .. } | Phase::NotSent(_), _) if !current.is_open() => {
                self.submit_with_kept_key(now, wish, fx);
            }
            (_, false) => {
                let reply = self.conflict(ConflictReason::Fields, wish.remembered);
                fx.push(Effect::Reply(reply));
            }
            (_, true) => self.submit_again(now, wish, fx),
        }
    }

    /// A file of the wish is gone or may not be read: nothing was sent, and nothing of it ever will be (R17).
    pub(super) fn on_unreadable(&mut self, now: Now, fx: &mut Effects) {
        let why = NotSentReason::FileUnreadable;
        let resting = self.loaded && !self.inert && self.read_only.is_none() && !self.is_stale();
        match &self.record.current {
            _ if !resting || !matches!(self.activity, Activity::Resting) => fx.push(Effect::Reply(Reply::Held)),
            // An earlier wish is open; what is known of it stays in sight.
            Some(current) if current.is_open() => fx.push(Effect::Reply(Reply::Held)),
            Some(_) => self.rest(now, Phase::NotSent(why), fx),
            None => {
                self.shown = Some(State::NotSent { why });
                fx.push(Effect::Announce);
                fx.push(Effect::Reply(Reply::Settled));
            }
        }
    }

    /// Whether the wish reproduces the digest that the current key is bound to (R64).
    fn is_bound_to(&self, wish: &Wish) -> bool {
        planted::is_on(Bug::OtherFieldsJoin)
            || self
                .record
                .current
                .as_ref()
                .is_some_and(|current| is_digest_of(current.digest.as_ref(), &current.key, wish))
    }

    /// A key that surely carries nothing: reserved, refused or not sent (R24).
    fn submit_with_kept_key(&mut self, now: Now, wish: Wish, fx: &mut Effects) {
        match &self.activity {
            Activity::Resting => {}
            // A fence of a reserved key that is too old is on its way; the newest wish counts.
            Activity::Inquiring(_)
            | Activity::Claiming { .. }
            | Activity::Sending { .. }
            | Activity::Waiting { .. }
            | Activity::Observing { .. } => {
                if self.wish.as_ref().is_some_and(|held| held.canonical != wish.canonical) {
                    let reply = self.conflict(ConflictReason::Fields, wish.remembered);
                    fx.push(Effect::Reply(reply));
                }
                return;
            }
        }
        let current = self.record.current.as_ref();
        let reserved = current.is_some_and(|current| current.phase == Phase::Reserved);
        if !reserved && !self.is_bound_to(&wish) && self.is_done_already(now, &wish) {
            // Back to the fields of what is done, after others were turned down: only beginNew does it again (R23).
            fx.push(Effect::Reply(Reply::AlreadyDone));
            return;
        }
        fx.push(Effect::Keep(true));
        self.start_with_kept_key(now, wish, fx);
    }

    fn start_with_kept_key(&mut self, now: Now, wish: Wish, fx: &mut Effects) {
        self.wish = Some(wish);
        let half = Millis(self.operation.retention.0 / 2);
        let aged = self.record.current.as_ref().is_some_and(|current| now.wall.since(current.reserved_at) > half);
        if aged && self.operation.can_fence() && !planted::is_on(Bug::AgedKeyKept) {
            // Nearly as old as the server's memory: replaced only after a fence says it is unused (R121). Bound already, so
            // that the same fields are known again whatever the fence says.
            if let (Some(wish), Some(current)) = (&self.wish, &mut self.record.current) {
                current.digest = Some(Digest::of(&current.key, &wish.canonical));
            }
            self.inquire(now, Purpose::Renew, fx);
        } else {
            self.start_round(now, fx);
        }
    }

    /// The same fields again while the intent lives: join, or ask first and then send the same key (R20, R95).
    fn submit_again(&mut self, now: Now, wish: Wish, fx: &mut Effects) {
        let handed_over = self.is_handed_over() && !planted::is_on(Bug::HandedOverResends);
        match &mut self.activity {
            Activity::Claiming { .. } | Activity::Sending { .. } | Activity::Waiting { .. } => return,
            Activity::Observing { pressed, .. } => {
                *pressed = true;
                self.wish = Some(wish);
                fx.push(Effect::Keep(true));
                return;
            }
            Activity::Inquiring(inquiry) => {
                if inquiry.purpose.yields_to_press() && !handed_over {
                    inquiry.purpose = Purpose::BeforeResend;
                    self.wish = Some(wish);
                    fx.push(Effect::Keep(true));
                }
                return;
            }
            Activity::Resting => {}
        }
        let phase = self.record.current.as_ref().map(|current| current.phase.clone());
        match phase {
            Some(Phase::Unknown(why))
                if (why != super::state::UnknownReason::HandedOver || planted::is_on(Bug::HandedOverResends))
                    && self.may_resend(now) =>
            {
                self.wish = Some(wish);
                fx.push(Effect::Keep(true));
                if self.operation.can_check() {
                    self.inquire(now, Purpose::BeforeResend, fx);
                } else {
                    self.start_round(now, fx);
                }
            }
            // Nothing ran yet: as if it had never been sent, its age included (R121).
            Some(Phase::Suspended(_)) if !self.is_doubtful() => self.submit_with_kept_key(now, wish, fx),
            Some(Phase::Suspended(_)) if self.may_resend(now) => {
                self.wish = Some(wish);
                fx.push(Effect::Keep(true));
                self.start_round(now, fx);
            }
            _ if self.operation.can_check() && !matches!(phase, Some(Phase::Disputed(_))) => {
                self.inquire(now, Purpose::Person, fx);
            }
            _ => fx.push(Effect::Reply(Reply::Held)),
        }
    }

    /// Whether the last intent answers for these fields (R23).
    fn is_done_already(&self, now: Now, wish: &Wish) -> bool {
        let Some(last) = self.record.last.as_ref().filter(|_| self.is_remembered_end(now)) else { return false };
        let answers = match &last.ending {
            Ending::Succeeded { .. } => true,
            Ending::Decided { outcome, .. } => *outcome != Ruling::NotApplied,
            Ending::Rejected { .. } | Ending::Fenced => false,
        };
        // What an earlier submission carried is not known here: only beginNew sends another (R122).
        let unknown = matches!(last.ending, Ending::Succeeded { earlier: Some(_), .. })
            && last.digest.is_none()
            && !planted::is_on(Bug::EarlierForgotten);
        answers && (unknown || is_digest_of(last.digest.as_ref(), &last.key, wish))
    }

    /// No key in use: the last one may answer, else the next generation opens (R23, R24).
    fn submit_after_end(&mut self, now: Now, wish: Wish, fx: &mut Effects) {
        if self.is_remembered_end(now) && self.draft_held && !planted::is_on(Bug::EarlierForgotten) {
            let reply = self.conflict(ConflictReason::KeyReused, wish.remembered);
            fx.push(Effect::Reply(reply));
            return;
        }
        if self.is_done_already(now, &wish) {
            let shown = self.witnessed == Some(self.generation) && self.shown.is_some();
            fx.push(Effect::Reply(if shown { Reply::Settled } else { Reply::AlreadyDone }));
            return;
        }
        self.mint(now);
        self.wish = Some(wish);
        fx.push(Effect::Keep(true));
        self.start_round(now, fx);
    }

    /// Whether the same key may be sent again on request (R7, R28, R55).
    pub(super) fn may_resend(&self, now: Now) -> bool {
        self.operation.contract.is_some()
            && self.record.current.as_ref().is_some_and(|current| !self.is_too_old(now, current.reserved_at))
    }

    /// The person's explicit resend: the next round of the same key (R55).
    pub(super) fn on_resend(&mut self, now: Now, wish: Option<Wish>, fx: &mut Effects) {
        if self.read_only.is_some() || self.inert || self.is_stale() {
            return Self::decline(Declined::NotNow, fx);
        }
        let Some(current) = &self.record.current else { return Self::decline(Declined::NotNow, fx) };
        let allowed = match &current.phase {
            Phase::Unknown(why) => *why != super::state::UnknownReason::HandedOver,
            Phase::Suspended(_) | Phase::Refused { .. } | Phase::NotSent(_) => true,
            Phase::Reserved | Phase::Sending | Phase::Waiting | Phase::Disputed(_) => false,
        };
        if !allowed || !matches!(self.activity, Activity::Resting) {
            return Self::decline(Declined::NotNow, fx);
        }
        if self.operation.contract.is_none() {
            return Self::decline(Declined::NotOffered, fx);
        }
        if !self.may_resend(now) {
            return Self::decline(Declined::TooOld, fx);
        }
        if current.not_before.is_some_and(|at| at.since(now.wall) > self.operation.budget) {
            return Self::decline(Declined::TooSoon, fx);
        }
        let unsent = !current.is_open();
        match wish {
            // The same wish, perhaps with a fresh one-time token (R44, R91).
            Some(wish) if self.is_bound_to(&wish) => {
                self.wish = Some(wish);
                fx.push(Effect::Keep(true));
            }
            // Other fields, or none: what was submitted goes out as it is.
            _ if self.wish.as_ref().is_some_and(|held| self.is_bound_to(held)) => {}
            // Nothing is held, or what another document's record has overtaken.
            _ => return Self::decline(Declined::OtherFields, fx),
        }
        match self.wish.take() {
            // As at a submit: the key may be too old to go out as it is (R121). What is kept stays: beside a held wish the form
            // may show other fields by now (R44).
            Some(wish) if unsent => self.start_with_kept_key(now, wish, fx),
            wish => {
                self.wish = wish;
                self.start_round(now, fx);
            }
        }
    }

    /// Opens the next round of the current key with the held wish: one deadline, fixed here (R29).
    pub(super) fn start_round(&mut self, now: Now, fx: &mut Effects) {
        let (Some(wish), Some(current)) = (&self.wish, &mut self.record.current) else { return };
        let round = Round::start(now, self.operation.budget);
        let held_until = current.not_before.filter(|at| *at > now.wall);
        if held_until.is_some_and(|at| !round.fits(now, at.since(now.wall), self.operation.minimum_attempt())) {
            // The server's "not before" lies beyond the whole budget: nothing starts, and what is known stays (R50).
            let (phase, shown) = (current.phase.clone(), self.shown.take());
            let phase = if phase == Phase::Reserved { Phase::NotSent(NotSentReason::Deadline) } else { phase };
            self.rest(now, phase, fx);
            self.shown = shown;
            return;
        }
        current.digest = Some(Digest::of(&current.key, &wish.canonical));
        current.remembered = wish.remembered.clone();
        current.owner.clear();
        if !current.remembered.is_empty() {
            current.owner = owner_of(&self.setting.subject);
        }
        current.round_started = now.wall;
        current.budget = self.operation.budget;
        current.elapsed = Millis::ZERO;
        current.attempts = 0;
        current.driver = self.setting.document.clone();
        self.round = round;
        self.record.version.round = self.record.version.round.saturating_add(1);
        self.shown = None;
        self.clock_corrected = false;
        self.last_refusal = None;
        self.ask_drive(fx);
        if !self.setting.online {
            self.wait(now, OFFLINE_LOOK, WaitReason::Offline, Then::Attempt, fx);
        } else if let Some(at) = held_until {
            self.wait_or_end(now, at.since(now.wall), WaitReason::RetryAfter, Then::Attempt, fx);
        } else if self.hold_until > now.mono {
            self.wait_or_end(now, self.hold_until.since(now.mono), WaitReason::Backoff, Then::Attempt, fx);
        } else {
            self.claim(now, fx);
        }
    }

    /// Shows the outcome of a wish that this document did not make under this key (R122).
    pub(super) fn show_earlier(&mut self, now: Now, state: State, ending: Ending, fx: &mut Effects) {
        let offered = self.wish.take().map(|wish| wish.remembered).unwrap_or_default();
        let reply = self.conflict(ConflictReason::KeyReused, offered);
        if let Some(current) = &mut self.record.current {
            // Whose payload it is, we do not know: no resubmit is the same.
            current.digest = None;
        }
        self.draft_held = true;
        self.finish(now, ending, state, reply, fx);
    }
}

pub(super) fn is_digest_of(digest: Option<&Digest>, key: &Key, wish: &Wish) -> bool {
    digest.is_some_and(|digest| *digest == Digest::of(key, &wish.canonical))
}
