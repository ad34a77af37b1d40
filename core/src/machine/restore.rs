//! What a stored record means to the document that finds it: at load, when another tab wrote, when a write was outrun.

use alloc::string::String;

use super::effect::{ConflictReason, Effect, Effects, Reply};
use super::event::Ticket;
use super::inquiry::Purpose;
use super::state::{Cause, NotSentReason, Problem, State, Success, UnknownReason};
use super::submit::is_digest_of;
use super::{Activity, Machine, Turn};
use crate::backoff;
use crate::planted::{self, Bug};
use crate::record::{self, Current, Ending, Phase, Record, RecordFault, Tombstone};
use crate::time::{Now, Wall};

impl Machine {
    /// Both stores were read. A sound copy wins over an unreadable one; a newer schema anywhere is not ours to touch.
    pub(super) fn on_loaded(&mut self, now: Now, database: Option<String>, local: Option<String>, fx: &mut Effects) {
        self.loaded = true;
        self.read_only = None;
        let mut found: Option<Record> = None;
        let mut corrupt = false;
        let spoilt = database.as_deref().is_some_and(|text| record::read(text) == Err(RecordFault::Corrupt));
        for text in [database, local].into_iter().flatten() {
            match record::read(&text) {
                Ok(copy) => {
                    found = Some(match found {
                        Some(best) => best.newer(copy),
                        None => copy,
                    });
                }
                Err(RecordFault::Corrupt) => corrupt = !planted::is_on(Bug::CorruptOverwritten),
                Err(RecordFault::Newer(_)) if planted::is_on(Bug::NewerOverwritten) => {}
                Err(RecordFault::Newer(version)) => {
                    self.read_only = Some(UnknownReason::NewerVersion);
                    self.record.version = version;
                }
            }
        }
        // Where the database is spoilt, the copy beside it may be older: what it says did not happen may have (R85).
        if let Some(record) = found.as_mut().filter(|_| spoilt && !planted::is_on(Bug::OlderCopyTrusted)) {
            match &mut record.current {
                Some(current) => distrust(current),
                None => self.read_only = Some(UnknownReason::NoKey),
            }
        }
        match (found, self.read_only) {
            (_, Some(_)) => {}
            // Another subject came while the stores were read: nothing is asked or sent in this one's name (R25, R93).
            (Some(record), None) if self.inert => {
                self.stored = Some(record.version);
                self.confirmed = self.stored;
                self.record = record;
                self.record.erase_remembered();
                if self.record.current.is_some() {
                    let _ = self.write(fx);
                }
            }
            (Some(record), None) => {
                self.stored = Some(record.version);
                self.confirmed = self.stored;
                self.adopt_at_load(now, record, fx);
            }
            (None, None) if corrupt => self.read_only = Some(UnknownReason::NoKey),
            (None, None) => {}
        }
        fx.push(Effect::Announce);
    }

    fn adopt_at_load(&mut self, now: Now, record: Record, fx: &mut Effects) {
        self.record = record;
        self.generation = self.record.version.generation;
        self.witnessed = self.record.current.is_some().then_some(self.generation);
        let Some(current) = &mut self.record.current else { return };
        if current.phase == Phase::Sending && !planted::is_on(Bug::LostDocumentForgotten) {
            // The write-ahead mark: bytes may have left with a document that is gone (R19, R20).
            current.raise_doubt(Cause::DocumentLost);
        }
        if !current.is_open() {
            return;
        }
        let phase = current.phase.clone();
        match phase {
            Phase::Disputed(_) => {}
            Phase::Sending | Phase::Waiting if self.is_led_by_another(now) => {
                self.ask_drive(fx);
                self.look(now, Purpose::Load, fx);
            }
            Phase::Reserved
            | Phase::Sending
            | Phase::Waiting
            | Phase::Suspended(_)
            | Phase::Refused { .. }
            | Phase::NotSent(_)
            | Phase::Unknown(_) => self.look(now, Purpose::Load, fx),
        }
    }

    fn is_led_by_another(&self, now: Now) -> bool {
        self.record
            .current
            .as_ref()
            .is_some_and(|current| current.driver != self.setting.document && current.lease_until > now.wall)
            && !planted::is_on(Bug::LeaseIgnored)
    }

    /// A status check where there is one and it may help; else what can be said without.
    fn look(&mut self, now: Now, purpose: Purpose, fx: &mut Effects) {
        let doubtful = self.record.current.as_ref().is_some_and(|current| current.doubt != Default::default());
        if doubtful && self.operation.can_check() {
            self.inquire(now, purpose, fx);
        } else {
            self.after_look(now, false, fx);
        }
    }

    /// Nothing more was learnt: observe a driver that may live, or say what is known.
    pub(super) fn after_look(&mut self, now: Now, pressed: bool, fx: &mut Effects) {
        let Some(current) = &self.record.current else { return };
        let live = matches!(current.phase, Phase::Sending | Phase::Waiting);
        if live && self.turn != Turn::Mine && self.is_led_by_another(now) {
            let lease_ends = self.lease_ends(now, current.lease_until);
            self.activity = Activity::Observing { lease_ends, pressed };
            fx.push(Effect::Announce);
            return;
        }
        let phase = match (&current.phase, current.doubt) {
            (Phase::Sending | Phase::Waiting, super::state::Doubt::None) if current.attempts == 0 => {
                Phase::NotSent(NotSentReason::DocumentLost)
            }
            // Every attempt surely ran nothing; with which status went with the document (R54).
            (Phase::Sending | Phase::Waiting, super::state::Doubt::None) => {
                Phase::Refused { status: 0, kind: String::new() }
            }
            (Phase::Sending | Phase::Waiting, super::state::Doubt::Possible { .. }) => {
                Phase::Unknown(UnknownReason::DocumentLost)
            }
            (
                Phase::Reserved
                | Phase::Suspended(_)
                | Phase::Refused { .. }
                | Phase::NotSent(_)
                | Phase::Unknown(_)
                | Phase::Disputed(_),
                _,
            ) => current.phase.clone(),
        };
        self.rest(now, phase, fx);
    }

    /// The driver is gone, or its lease is over: start with a look (R70).
    pub(super) fn take_over(&mut self, now: Now, fx: &mut Effects) {
        let Activity::Observing { pressed, .. } = self.activity else { return };
        if let Some(current) = &mut self.record.current {
            current.lease_until = Wall(0);
            if current.phase == Phase::Sending {
                current.raise_doubt(Cause::DocumentLost);
            }
            if current.phase == Phase::Waiting {
                self.hold_until = now.mono.plus(backoff::FLOOR_UNAVAILABLE);
            }
        }
        let purpose = if pressed { Purpose::BeforeResend } else { Purpose::Load };
        let doubtful = self.record.current.as_ref().is_some_and(|current| current.doubt != Default::default());
        if pressed && !(doubtful && self.operation.can_check()) {
            self.start_round(now, fx);
        } else {
            self.look(now, purpose, fx);
        }
    }

    /// Back from the back/forward cache. Like a document that finds the record it looks first: what was out may have been
    /// cut there, and a press before the return is no press after it (R63, R75).
    pub(super) fn on_returned(&mut self, now: Now, fx: &mut Effects) {
        if planted::is_on(Bug::ReturnGoesOn) {
            return self.check_automatically(now, fx);
        }
        match &mut self.activity {
            Activity::Resting => return self.check_automatically(now, fx),
            Activity::Observing { pressed, .. } => {
                *pressed = false;
                // The turn went with the page.
                self.give_up_drive(fx);
                return self.ask_drive(fx);
            }
            Activity::Claiming { .. } => self.unclaim(),
            Activity::Sending { .. } => {
                fx.push(Effect::Abort);
                self.doubt(Cause::DocumentLost);
            }
            Activity::Waiting { .. } => {}
            Activity::Inquiring(_) => fx.push(Effect::Abort),
        }
        if let Some(current) = &mut self.record.current {
            current.lease_until = Wall(0);
        }
        self.give_up_drive(fx);
        self.look(now, Purpose::Load, fx);
    }

    pub(super) fn on_drive_granted(&mut self, now: Now, fx: &mut Effects) {
        self.turn = Turn::Mine;
        match &self.activity {
            Activity::Observing { .. } => self.take_over(now, fx),
            // The claim asked for it.
            Activity::Claiming { .. } => self.send_in_turn(now, fx),
            Activity::Sending { .. } | Activity::Waiting { .. } => {}
            // Asked at load: the driver is gone, so what the check leaves open is ours to say.
            Activity::Inquiring(_) => {}
            Activity::Resting => self.give_up_drive(fx),
        }
    }

    /// A hint made the shell read again. The higher version wins (R65); what this document does goes on unless the
    /// record moved on without it.
    pub(super) fn on_record_seen(
        &mut self,
        now: Now,
        database: Option<String>,
        local: Option<String>,
        fx: &mut Effects,
    ) {
        let mut spoilt = false;
        for text in [database, local].into_iter().flatten() {
            if !self.loaded || self.read_only.is_some() {
                return;
            }
            match record::read(&text) {
                Err(RecordFault::Corrupt) => spoilt = true,
                Err(RecordFault::Newer(_)) => self.freeze(fx),
                Ok(seen) => {
                    if Some(seen.version) > self.stored && seen.version > self.record.version {
                        self.stored = Some(seen.version);
                        self.confirmed = self.stored;
                        self.adopt(now, seen, fx);
                    }
                }
            }
        }
        // What could not be read may be newer than what this document knows (R85).
        if spoilt && self.record.current.is_some() && matches!(self.activity, Activity::Resting) {
            self.distrust_record();
            fx.push(Effect::Announce);
        }
    }

    /// A newer version of the library wrote here: read-only from now on (R27).
    fn freeze(&mut self, fx: &mut Effects) {
        self.read_only = Some(UnknownReason::NewerVersion);
        self.activity = Activity::Resting;
        fx.push(Effect::Abort);
        self.settle(Reply::Held, fx);
    }

    /// Takes another document's record as the truth.
    fn adopt(&mut self, now: Now, record: Record, fx: &mut Effects) {
        let denied = self.is_denied_by(&record);
        self.record = record;
        if self.inert {
            return self.record.erase_remembered();
        }
        if denied {
            return self.dispute(now, fx);
        }
        let generation = self.record.version.generation;
        // The first reservation of a slot is nobody's news: a document without one takes it over (R1).
        if self.generation == 0 {
            self.generation = generation;
            self.witnessed = Some(generation);
        }
        if let Activity::Sending { .. } = self.activity {
            fx.push(Effect::Abort);
        }
        let pressed = self.is_waited_for();
        // Its round is over; whoever pressed is told if what goes on is not that wish (R6).
        let asked = pressed || matches!(self.activity, Activity::Sending { .. } | Activity::Waiting { .. });
        if self.generation < generation {
            // Another document went on to the next wish; ours is older (R23). What is over stays in sight.
            self.activity = Activity::Resting;
            self.shown = self.shown.take().filter(State::is_terminal);
            let offered = self.wish.as_ref().map(|wish| wish.remembered.clone()).unwrap_or_default();
            let reply = self.conflict(ConflictReason::Stale, offered);
            self.settle(reply, fx);
            return;
        }
        match &self.record.current {
            None => self.show_ending_of_another(asked, fx),
            Some(current) if matches!(current.phase, Phase::Sending | Phase::Waiting) => {
                let lease_ends = self.lease_ends(now, current.lease_until);
                let same = self.holds_digest_of_current();
                self.shown = None;
                self.activity = Activity::Observing { lease_ends, pressed: pressed && same };
                // To be next, should its driver die (R70).
                self.give_up_drive(fx);
                self.ask_drive(fx);
                fx.push(Effect::Announce);
                if asked && !same {
                    self.reply_conflict_all(fx);
                }
            }
            Some(current) if current.phase == Phase::Reserved => {
                self.activity = Activity::Resting;
                fx.push(Effect::Announce);
                if pressed {
                    self.start_round(now, fx);
                }
            }
            Some(_) => {
                self.shown = None;
                self.activity = Activity::Resting;
                if asked && !self.holds_digest_of_current() {
                    self.reply_conflict_all(fx);
                }
                self.settle(Reply::Settled, fx);
            }
        }
    }

    fn reply_conflict_all(&mut self, fx: &mut Effects) {
        let offered = self.wish.take().map(|wish| wish.remembered).unwrap_or_default();
        let reply = self.conflict(ConflictReason::Fields, offered);
        fx.push(Effect::ReplyAll(reply));
    }

    /// A submit of this document is on its way to the store or waits for another driver.
    const fn is_waited_for(&self) -> bool {
        match &self.activity {
            Activity::Claiming { .. } => true,
            Activity::Observing { pressed, .. } => *pressed,
            Activity::Inquiring(inquiry) => matches!(inquiry.purpose, Purpose::BeforeResend),
            Activity::Resting | Activity::Sending { .. } | Activity::Waiting { .. } => false,
        }
    }

    pub(super) fn holds_digest_of_current(&self) -> bool {
        match (&self.wish, &self.record.current) {
            (Some(wish), Some(current)) => match &current.digest {
                Some(digest) => *digest == crate::fingerprint::Digest::of(&current.key, &wish.canonical),
                None => true,
            },
            _ => false,
        }
    }

    fn show_ending_of_another(&mut self, pressed: bool, fx: &mut Effects) {
        self.activity = Activity::Resting;
        let last = self.record.last.as_ref();
        let other = last
            .zip(self.wish.as_ref())
            .is_some_and(|(last, wish)| !is_digest_of(last.digest.as_ref(), &last.key, wish));
        if pressed && other {
            // What was pressed here is not what ended there: the person chooses (R6).
            self.reply_conflict_all(fx);
        }
        if self.witnessed == Some(self.record.version.generation) {
            self.shown = self.record.last.as_ref().map(state_of_tombstone);
        }
        self.settle(Reply::Settled, fx);
    }

    /// The compare found another record than expected. What this document knows for sure is written on top of it;
    /// otherwise the stored one is the truth.
    pub(super) fn on_outrun(&mut self, now: Now, ticket: Ticket, text: &str, fx: &mut Effects) {
        let _ = self.reported(ticket);
        let theirs = match record::read(text) {
            Ok(theirs) => theirs,
            Err(RecordFault::Newer(_)) => return self.freeze(fx),
            Err(RecordFault::Corrupt) => return self.write_over(ticket, text.is_empty(), fx),
        };
        self.stored = Some(theirs.version);
        if planted::is_on(Bug::OutrunSends) {
            return self.write_again(ticket, fx);
        }
        if self.stored == self.confirmed && theirs.version < self.record.version {
            // Nobody else wrote: an earlier write of ours did not land. What this document knows is newer (R65).
            return self.write_again(ticket, fx);
        }
        self.confirmed = self.stored;
        let theirs = self.with_what_we_know(theirs);
        let ours_ends = self.record.current.is_none() && self.record.last.is_some();
        // What is disputed is a person's to settle, whatever this document learnt (R66).
        let theirs_open = theirs.current.as_ref().is_some_and(|current| !matches!(current.phase, Phase::Disputed(_)));
        let same = theirs.version.generation == self.record.version.generation;
        let out = matches!(self.activity, Activity::Sending { .. });
        if same && theirs_open && (ours_ends || out) {
            self.record.version.round = self.record.version.round.max(theirs.version.round);
            self.record.version.rev = self.record.version.rev.max(theirs.version.rev);
            let _ = self.write(fx);
        } else {
            self.adopt(now, theirs, fx);
        }
    }
}

/// What says that nothing ran may be older than what did.
fn distrust(current: &mut Current) {
    current.raise_doubt(Cause::DocumentLost);
    if matches!(current.phase, Phase::Reserved | Phase::Refused { .. } | Phase::NotSent(_)) {
        current.phase = Phase::Unknown(UnknownReason::DocumentLost);
    }
}

impl Machine {
    fn distrust_record(&mut self) {
        self.shown = None;
        if let Some(current) = &mut self.record.current {
            distrust(current);
        }
    }

    /// What this document learnt of the same key and could not store is not forgotten: a doubt, a server's wait.
    fn with_what_we_know(&self, mut theirs: Record) -> Record {
        if let (Some(ours), Some(current)) = (&self.record.current, &mut theirs.current)
            && ours.key == current.key
        {
            current.not_before = current.not_before.max(ours.not_before);
            if current.doubt == Default::default() && !matches!(self.activity, Activity::Claiming { .. }) {
                current.doubt = ours.doubt;
                if current.doubt != Default::default() && !matches!(current.phase, Phase::Sending | Phase::Waiting) {
                    current.phase = Phase::Unknown(UnknownReason::DocumentLost);
                }
            }
        }
        theirs
    }

    /// Somebody emptied or spoilt the store while this document lives: memory is the truth (F16). A spoilt text is kept
    /// aside.
    fn write_over(&mut self, ticket: Ticket, emptied: bool, fx: &mut Effects) {
        if self.confirmed.is_none() && !emptied {
            // This document never knew what stood there: a fresh intent does not overwrite it unasked (R85).
            self.read_only = Some(UnknownReason::NoKey);
            self.activity = Activity::Resting;
            return self.settle(Reply::Held, fx);
        }
        self.aside = !emptied;
        if self.aside && matches!(self.activity, Activity::Resting | Activity::Observing { .. }) {
            // What could not be read may be newer than what this document knows.
            self.distrust_record();
        }
        self.stored = None;
        self.write_again(ticket, fx);
    }

    /// The write did not land and is still wanted; a claim waits for the new one.
    fn write_again(&mut self, ticket: Ticket, fx: &mut Effects) {
        let again = self.write(fx);
        if let Activity::Claiming { ticket: claim, .. } = &mut self.activity
            && *claim == ticket
        {
            *claim = again;
        }
    }
}

/// What a tombstone alone can show.
pub(super) fn state_of_tombstone(last: &Tombstone) -> State {
    match &last.ending {
        Ending::Succeeded { result_id, earlier } => State::Succeeded(Success {
            result_id: result_id.clone(),
            replayed: true,
            at: last.at,
            earlier: *earlier,
            ..Success::default()
        }),
        Ending::Rejected { status, kind } => {
            State::Rejected { status: *status, problem: Problem { kind: kind.clone(), ..Problem::default() } }
        }
        Ending::Fenced => State::Fenced,
        Ending::Decided { outcome, by } => State::Decided { outcome: *outcome, by: by.clone(), at: last.at },
    }
}
