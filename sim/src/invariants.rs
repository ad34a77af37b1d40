//! What must hold after every step. Each check cites its rule and reads only the world's facts and what a tab shows.

use postonce_core::contract::{Policy, SubjectRule};
use postonce_core::machine::View;
use postonce_core::machine::effect::Headers;
use postonce_core::machine::state::{Doubt, Ruling, State, UnknownReason};
use postonce_core::operation::Contract;
use postonce_core::time::Wall;
use postonce_core::verdict::Answer;

use crate::document::Gesture;
use crate::facts::{KeyFact, Lineage, SendFact};
use crate::faults::Fault;
use crate::network::Purpose;
use crate::server::{Message, Payload};
use crate::world::World;

/// Rounding of a deadline header, and the step from the decision to the call.
const SLACK: u64 = 1_100;

impl World<'_> {
    /// Before a command leaves.
    pub(crate) fn check_send(&mut self, document: usize, headers: &Headers, attempt: u8, payload: Option<Payload>) {
        let t = self.t;
        let Some(it) = self.documents.get(document) else { return };
        let lineage = it.lineage;
        let Some(entry) = self.catalog.get(lineage.operation) else { return };
        let Some(device) = self.devices.get(lineage.device) else { return };
        let operation = &entry.operation;
        let (budget, attempts) = (operation.budget.0, usize::from(operation.attempts));
        let offset = it.machine.clock_offset();
        let (wall, user, told) = (device.wall(t), device.user, it.told_of_change);
        let key = headers.key.as_str().to_owned();
        self.note(|| format!("doc {document} sends attempt {attempt} under {}", headers.key.reference()));

        if user != Some(lineage.subject) && told {
            self.violate("R25", || format!("sent for {} while {user:?} is there", lineage.subject));
        }
        let Some(payload) = payload else {
            return self.violate("R44", || "an attempt without a snapshot".into());
        };
        if !self.documents.get(document).is_some_and(|it| it.loaded) {
            self.violate("R20", || "sent before the record was read".into());
        }
        self.check_alone(document, lineage);

        let fact = self.facts.lineages.entry(lineage).or_default();
        let (presses, set_back) = (fact.presses, fact.clock_set_back);
        let (excused, power_lost) = (fact.excused, fact.power_lost);
        let new = !fact.keys.contains(&key);
        if new {
            let there = self.server.wall(t);
            let oldest = there.minus(operation.retention).minus(Policy::SKEW);
            if !self.facts.may_mint(lineage, there, oldest) && !excused && !power_lost {
                self.violate("R55", || "a second key leaves while the first is neither settled nor left open".into());
            }
            self.check_new_key(document, headers, wall.0.saturating_add_signed(offset));
            if let Some(fact) = self.facts.lineages.get_mut(&lineage) {
                fact.keys.push(key.clone());
            }
        }
        self.check_waits(lineage, &key, budget);
        let earlier: Vec<SendFact> = self.facts.keys.get(&key).map(|fact| fact.sends.clone()).unwrap_or_default();
        let other = |wish| self.facts.wish_quantity(wish) != Some(payload.quantity);
        let ran = self.facts.effects_of(&key).any(|effect| !effect.by_clone && other(effect.wish));
        if ran && earlier.iter().any(|sent| sent.quantity != payload.quantity) && !excused && !power_lost {
            self.violate("R44", || "other bytes under a key whose first bytes ran".into());
        }
        if self.facts.keys.get(&key).is_some_and(|fact| fact.purged) && !set_back && !excused {
            self.violate("R28", || "a key is sent that the server has purged".into());
        }
        if presses == 0 {
            self.violate("R63", || "sent without a press".into());
        }
        if self.documents.get(document).is_some_and(|it| it.returned) {
            self.violate("R63", || "sent after a return without a press".into());
        }
        if earlier.len() >= attempts * presses.max(1) && !excused {
            self.violate("R34", || format!("{} attempts for {presses} presses", earlier.len() + 1));
        }
        if let Some(deadline) = headers.deadline {
            let here = deadline.0.saturating_add_signed(-offset);
            if wall.0 > here + SLACK && !set_back {
                self.violate("R33", || "an attempt begins after its round's deadline".into());
            }
            let round = |sent: &&SendFact| sent.deadline == Some(Wall(here));
            let same = earlier.iter().filter(round).count();
            let first = earlier.iter().find(round).map(|sent| sent.at);
            if same >= attempts && !excused {
                self.violate("R34", || format!("attempt {} of a round of {attempts}", same + 1));
            }
            let slept = self.struck & Fault::Sleep.bit() != 0;
            if first.is_some_and(|first| t - first > budget + SLACK) && !(set_back && slept) {
                self.violate("R29", || "a round outlives its budget".into());
            }
            let mut deadlines: Vec<u64> = earlier.iter().filter_map(|sent| sent.deadline).map(|it| it.0).collect();
            deadlines.push(here);
            deadlines.sort_unstable();
            deadlines.dedup();
            if deadlines.len() > presses && !excused {
                self.violate("R29", || format!("{} deadlines for {presses} presses", deadlines.len()));
            }
        }
        let deadline = headers.deadline.map(|it| Wall(it.0.saturating_add_signed(-offset)));
        let due = headers.deadline;
        let sent = SendFact { at: t, deadline, first_sent: headers.first_sent, due, quantity: payload.quantity };
        // A fence of a key that nothing was sent under yet.
        let settled = self.server.is_settled(lineage.subject, &key);
        let blank = KeyFact {
            lineage,
            document,
            sends: Vec::new(),
            settled,
            purged: false,
            released: false,
            wait_until: None,
            handed_over: false,
            unavailable_at: None,
            ended_at: None,
            shown_unrun: 0,
            fenced_shown: false,
        };
        let fact = self.facts.keys.entry(key).or_insert(blank);
        fact.sends.push(sent);
    }

    /// A key leaves for the first time.
    fn check_new_key(&mut self, document: usize, headers: &Headers, there: u64) {
        let Some(it) = self.documents.get(document) else { return };
        let (lineage, behind, reused) = (it.lineage, it.behind > 0, it.key_reused);
        let took_over = self.facts.keys.values().any(|key| key.document == document);
        let Some(entry) = self.catalog.get(lineage.operation) else { return };
        let (retention, fences) = (entry.operation.retention.0, entry.operation.can_fence());
        if reused {
            self.violate("R122", || {
                "a draft leaves though its key carried another payload and nobody began anew".into()
            });
        }
        let Some(fact) = self.facts.lineages.get(&lineage) else { return };
        let clocks = Fault::ClockJump.bit() | Fault::DeviceClock.bit() | Fault::ServerClock.bit();
        let unsure = fact.excused || fact.spoilt || fact.power_lost || self.struck & clocks != 0;
        let overtaken = self.is_overtaken(document);
        if overtaken && took_over && !behind && !unsure {
            self.violate("R23", || "an overtaken document opens a generation without a new beginning".into());
        }
        let aged = headers.first_sent.is_some_and(|sent| there > sent.0 + retention / 2 + SLACK);
        if aged && fences && !unsure && !self.claimed(lineage) && !self.facts.fences.contains(headers.key.as_str()) {
            self.violate("R121", || "an aged reserved key leaves without a fence before it".into());
        }
    }

    /// Another document has opened a generation since this one was opened, began anew, or last pressed in time (R23). The
    /// first generation is everybody's (R1).
    pub(crate) fn is_overtaken(&self, document: usize) -> bool {
        let Some(it) = self.documents.get(document) else { return false };
        let Some(fact) = self.facts.lineages.get(&it.lineage) else { return false };
        let keys = || fact.keys.iter().filter_map(|key| self.facts.keys.get(key));
        let left_by =
            |key: &KeyFact, until| key.sends.first().is_some_and(|sent| sent.at > it.begun && sent.at <= until);
        // A new beginning on top of one that nothing was sent under begins nothing.
        let begins = |begun| begun > it.since && (it.begun == 0 || keys().any(|key| left_by(key, begun)));
        keys()
            .skip(1)
            .filter(|key| self.documents.get(key.document).is_some_and(|other| begins(other.begun)))
            .any(|key| key.document != document && key.sends.first().is_some_and(|sent| sent.at > it.since))
    }

    /// Another request with the key runs: progress, never failure (R124).
    pub(crate) fn check_progress(&mut self, document: usize, before: Option<&State>) {
        let Some(after) = self.documents.get(document).map(|it| it.machine.state()) else { return };
        let failed = matches!(after, State::Refused { .. } | State::Rejected { .. } | State::NotSent { .. });
        if failed && before.is_some_and(State::is_running) {
            self.violate("R124", || format!("in progress became {}", after.name()));
        }
    }

    /// Automatic and asked-for attempts alike keep the server's wait (R50), the floor of an unavailable server (R46, F32)
    /// and the floor of all (R43).
    fn check_waits(&mut self, lineage: Lineage, key: &str, budget: u64) {
        let t = self.t;
        let Some(fact) = self.facts.keys.get(key) else { return };
        let jumped = self.struck & (Fault::ClockJump.bit() | Fault::Sleep.bit()) != 0;
        let lost = self.facts.lineages.get(&lineage).is_some_and(|it| it.excused || it.power_lost || it.spoilt);
        let handed_over = fact.handed_over;
        if lost {
            return;
        }
        let (wait, unavailable, ended) = (fact.wait_until, fact.unavailable_at, fact.ended_at);
        let pressed = self.facts.lineages.get(&lineage).map_or(0, |it| it.last_press);
        let told = |document: usize| self.documents.get(document).is_some_and(|it| it.alive);
        if wait.is_some_and(|(until, document)| t + SLACK < until && told(document)) && !jumped {
            self.violate("R50", || "sent before the server's wait is over".into());
        }
        let automatic = |at: u64| at > pressed && t - at < budget;
        if unavailable.is_some_and(|at| automatic(at) && t - at < 900) && !jumped {
            self.violate("R46", || "an unavailable server is asked again within a second".into());
        }
        if ended.is_some_and(|at| automatic(at) && t - at < 90) && !jumped {
            self.violate("R43", || "an attempt follows at once".into());
        }
        if handed_over && !lost {
            self.violate("R128", || "sent though it was handed over and nobody has decided".into());
        }
    }

    /// What the server says of the time before the next attempt; what a page was told.
    pub(crate) fn hear(&mut self, document: usize, key: &str, answer: &Answer) {
        let t = self.t;
        if self.documents.get(document).is_some_and(|it| it.frozen) {
            return;
        }
        let Some(fact) = self.facts.keys.get_mut(key) else { return };
        let seconds = answer.retry_after.as_deref().and_then(|text| text.parse::<u64>().ok());
        let repeats = matches!(answer.status, 429 | 503);
        fact.wait_until = seconds.filter(|_| repeats).map(|seconds| (t + seconds * 1_000, document));
        fact.unavailable_at = (repeats && seconds.is_none()).then_some(t);
        fact.ended_at = (!matches!(answer.status, 410 | 412)).then_some(t);
    }

    /// The server begins to work: never past the deadline that came with the request (R117).
    pub(crate) fn check_started(&mut self, message: &Message) {
        let now = self.server.wall(self.t);
        if message.deadline.is_some_and(|deadline| now > deadline) {
            self.violate("R117", || "work begins after its deadline".into());
        }
    }

    /// A press was answered as settled: what is shown as done is what was pressed (R6).
    pub(crate) fn check_settled(&mut self, document: usize) {
        let Some(it) = self.documents.get_mut(document) else { return };
        let Some(pressed) = it.pressed.take() else { return };
        let State::Succeeded(success) = it.machine.state() else { return };
        if success.earlier.is_some() {
            return;
        }
        let found = self.facts.effects.iter().find(|it| Some(&it.result_id) == success.result_id.as_ref());
        let asked = found.and_then(|effect| self.facts.wish_quantity(effect.wish));
        if asked.is_some_and(|asked| asked != pressed) {
            self.violate("R6", || format!("{pressed} was pressed and {asked:?} is shown as done"));
        }
    }

    /// One request at a time drives a slot on a device (R36); a frozen document's request is nobody's any more (R70).
    fn check_alone(&mut self, document: usize, lineage: Lineage) {
        let out = self.requests.iter().find(|request| {
            let there = self.documents.get(request.document);
            matches!(request.purpose, Purpose::Command { .. })
                && !request.over
                && !request.aborted
                && there.is_some_and(|it| it.lineage == lineage && it.alive && !it.frozen)
        });
        let other = out.map(|request| request.document);
        let asleep = self.devices.get(lineage.device).is_some_and(|device| device.asleep_until > 0);
        let weak = self.devices.get(lineage.device).is_some_and(|device| device.no_locks);
        // Like a frozen one: its own timer comes after its lease.
        let weak = weak || self.struck & Fault::Throttled.bit() != 0;
        if let Some(other) = other
            && (other == document || !(asleep || weak || self.was_ever_frozen(other) || self.was_ever_frozen(document)))
            && !self
                .facts
                .lineages
                .get(&lineage)
                .is_some_and(|fact| fact.excused || fact.spoilt || fact.clock_set_back || fact.history)
        {
            self.violate("R36", || format!("doc {document} sends while doc {other} has a request out"));
        }
    }

    fn was_ever_frozen(&self, document: usize) -> bool {
        self.documents.get(document).is_some_and(|it| it.frozen_once)
    }

    pub(crate) fn check_inquiry(&mut self, request: usize) {
        let Some(it) = self.requests.get(request) else { return };
        let Some((lineage, told)) = self.documents.get(it.document).map(|it| (it.lineage, it.told_of_change)) else {
            return;
        };
        let user = self.devices.get(lineage.device).and_then(|device| device.user);
        if user != Some(lineage.subject) && told {
            self.violate("R25", || format!("asked for {} while {user:?} is there", lineage.subject));
        }
    }

    /// After an effect may have run.
    pub(crate) fn check_effects(&mut self) {
        let Some(last) = self.facts.effects.last().cloned() else { return };
        let excused = self
            .facts
            .keys
            .get(&last.key)
            .is_some_and(|key| self.facts.lineages.get(&key.lineage).is_some_and(|fact| fact.excused));
        let standing = |wish| self.facts.effects.iter().filter(|it| it.wish == wish && !it.lost).count();
        let twice = standing(last.wish) > 1;
        let same_key = self.facts.effects_of(&last.key).count() > 1;
        let external_lost = last.lost;
        if same_key && !external_lost {
            self.violate("R103", || "two effects under one key".into());
        } else if twice && !excused {
            self.violate("R1", || format!("two effects for wish {}", last.wish));
        }
        let single = self.catalog.get(last.operation).is_some_and(|entry| entry.single);
        let of_object =
            |it: &&crate::facts::EffectFact| it.operation == last.operation && it.object == last.object && !it.lost;
        if single && self.facts.effects.iter().filter(of_object).count() > 1 {
            self.violate("R103", || format!("two effects for {}", last.object));
        }
        let intended = self.facts.keys.get(&last.key).map(|key| key.lineage.subject);
        // A foreign dialect sends no subject: there the cookie alone decides (R123).
        let stated = self.catalog.get(last.operation).is_some_and(|it| it.policy.subject == SubjectRule::Required);
        if stated && intended.is_some_and(|subject| subject != last.subject) {
            self.violate("R123", || format!("done as {} for {intended:?}", last.subject));
        }
        if self.facts.keys.get(&last.key).is_some_and(|key| key.fenced_shown) {
            self.violate("R61", || "an effect under a key that was shown as fenced".into());
        }
    }

    /// Right after a document has read its stores: nothing that may have left is passed over in silence (R20, R76).
    pub(crate) fn check_load(&mut self, document: usize) {
        let Some(it) = self.documents.get(document) else { return };
        if !it.alive || it.frozen || it.told_of_change || it.behind > 0 {
            return;
        }
        let lineage = it.lineage;
        let Some(device) = self.devices.get(lineage.device) else { return };
        let newer = State::Unknown { why: UnknownReason::NewerVersion };
        if device.storage.is_newer(it.machine.slot().hash()) && it.machine.state() != newer {
            let state = it.machine.state();
            return self.violate("R27", || format!("{} over a record of a newer version", state.name()));
        }
        let fact = self.facts.lineages.get(&lineage);
        let excused = fact.is_some_and(|fact| fact.excused || fact.power_lost) || device.storage.is_weak();
        if device.user == Some(lineage.subject)
            && it.machine.state() == State::Idle
            && !self.facts.is_quiet(lineage)
            && !excused
        {
            self.violate("R20", || "a page says idle though bytes have left and nothing is settled".into());
        }
    }

    /// What a tab shows now.
    pub(crate) fn check_view(&mut self, document: usize) {
        let Some(it) = self.documents.get(document) else { return };
        let (lineage, gesture, behind) = (it.lineage, it.gesture, it.behind > 0);
        let Some(device) = self.devices.get(lineage.device) else { return };
        let (state, view) = (it.machine.state(), it.machine.view(it.now(self.t, device)));
        if device.user != Some(lineage.subject) {
            let shows = state != State::Idle || !view.open.is_empty() || !view.remembered.is_empty();
            if shows && device.user.is_some() && it.told_of_change {
                let user = device.user;
                self.violate("R25", || format!("{} is shown to {user:?}", state.name()));
            }
            return;
        }
        self.check_open(lineage, &view);
        self.check_begun(document);
        if let State::Decided { outcome, .. } = &state
            && (*outcome != Ruling::LeftOpen || gesture == Gesture::Decide)
        {
            self.facts.release(lineage);
            self.facts.lineages.entry(lineage).or_default().fresh = true;
        }
        if behind {
            // It is about to read again (R72).
            return;
        }
        match &state {
            State::Succeeded(success) => {
                let anonymous =
                    self.catalog.get(lineage.operation).is_some_and(|it| it.policy.subject == SubjectRule::Anonymous);
                let id = success.result_id.as_deref();
                let found = self.facts.effects.iter().find(|it| Some(it.result_id.as_str()) == id);
                let ours = found.is_some_and(|it| {
                    it.operation == lineage.operation
                        && (it.subject == lineage.subject || anonymous)
                        && it.object == lineage.object
                });
                let compares = self.catalog.get(lineage.operation).is_some_and(|it| !it.operation.expect.is_empty());
                let distorted = compares
                    && success.not_compared.is_empty()
                    && success.earlier.is_none()
                    && found
                        .is_some_and(|it| self.facts.wish_quantity(it.wish).is_some_and(|asked| asked != it.quantity));
                if !ours {
                    self.violate("R57", || format!("shown as done, but {id:?} is no effect of this wish"));
                } else if distorted && success.body.is_some() {
                    self.violate("R126", || "shown as done, but something else was done".into());
                }
            }
            State::Fenced | State::Rejected { .. } => {
                let same = view.last.as_ref().filter(|last| last.state == state.name());
                let reference = same.map(|last| last.reference.clone());
                self.check_not_done(lineage, reference.as_deref(), state.name(), false);
                if matches!(state, State::Fenced)
                    && let Some(reference) = reference
                {
                    self.facts.mark_fenced(lineage, &reference);
                }
            }
            State::Suspended { .. } if view.doubt == Doubt::None => {
                if let Some(reference) = &view.reference {
                    self.facts.mark_unrun(lineage, reference);
                }
            }
            State::Refused { .. } | State::NotSent { .. } => {
                if view.doubt != Doubt::None {
                    self.violate("R21", || format!("{} is shown with a doubt", state.name()));
                }
                self.check_not_done(lineage, view.reference.as_deref(), state.name(), true);
                if let Some(reference) = &view.reference {
                    self.facts.mark_unrun(lineage, reference);
                }
            }
            State::Unknown { why: UnknownReason::NoKey | UnknownReason::NewerVersion } => {}
            State::Unknown { why } => {
                let sent =
                    view.reference.as_deref().and_then(|name| self.facts.key_by_reference(lineage, name)).is_some();
                let excused = self.facts.lineages.get(&lineage).is_some_and(|fact| fact.excused);
                if *why == UnknownReason::DocumentLost {
                    self.check_driver(document, lineage);
                }
                // Of a key from before a failover the server says itself that it cannot tell (R116).
                let told = matches!(why, UnknownReason::Uncertain | UnknownReason::HandedOver)
                    && self.struck & Fault::FailOver.bit() != 0;
                if !sent && !told && !excused && !self.claimed(lineage) {
                    self.violate("R54", || format!("unknown ({}) though nothing was ever sent", why.name()));
                }
                if view.doubt == Doubt::None && *why != UnknownReason::HandedOver {
                    self.violate("R54", || format!("unknown ({}) without a doubt", why.name()));
                }
            }
            State::Decided { outcome, .. } => {
                if gesture != Gesture::Decide && !self.facts.lineages.get(&lineage).is_some_and(|fact| fact.decided) {
                    self.violate("R128", || format!("decided ({}) though nobody did", outcome.name()));
                }
            }
            State::Idle
            | State::Sending { .. }
            | State::Waiting { .. }
            | State::Checking
            | State::Suspended { .. }
            | State::Disputed { .. } => {}
        }
    }

    /// A hand-over has reached the store: from now on nothing is sent (R128).
    pub(crate) fn check_handed_over(&mut self, document: usize) {
        let Some(it) = self.documents.get(document) else { return };
        let Some(device) = self.devices.get(it.lineage.device) else { return };
        if it.machine.state() == (State::Unknown { why: UnknownReason::HandedOver })
            && let Some(reference) = it.machine.view(it.now(self.t, device)).reference
        {
            self.facts.mark_handed_over(it.lineage, &reference);
        }
    }

    /// A document calls another's attempt lost: then that one must not be alive and well (R70).
    fn check_driver(&mut self, document: usize, lineage: Lineage) {
        let Some(device) = self.devices.get(lineage.device) else { return };
        let blind = device.no_locks || device.storage.is_weak() || device.asleep_until > 0;
        let unsure = self.facts.lineages.get(&lineage).is_some_and(|fact| fact.excused || fact.spoilt || fact.history);
        let faults = Fault::Throttled.bit() | Fault::ClockJump.bit() | Fault::Frozen.bit() | Fault::LateHint.bit();
        if blind || unsure || self.struck & faults != 0 {
            return;
        }
        let alive = self.requests.iter().find(|request| {
            let there = self.documents.get(request.document);
            matches!(request.purpose, Purpose::Command { .. })
                && request.document != document
                && !request.over
                && !request.aborted
                && there.is_some_and(|it| it.lineage == lineage && it.alive)
        });
        if let Some(other) = alive.map(|request| request.document) {
            self.violate("R70", || format!("doc {document} calls the attempt of doc {other} lost"));
        }
    }

    /// A claim was written whose request may or may not have left: the document died in between.
    fn claimed(&self, lineage: Lineage) -> bool {
        let frozen = self.documents.iter().any(|it| it.lineage == lineage && it.frozen_once);
        let slept = self.struck & Fault::Sleep.bit() != 0;
        slept
            || frozen
            || self
                .facts
                .lineages
                .get(&lineage)
                .is_some_and(|fact| fact.lost_documents > 0 || fact.uncalled || fact.spoilt)
    }

    /// Left open only by the person's own word (R55).
    fn check_open(&mut self, lineage: Lineage, view: &View) {
        for open in &view.open {
            let asked = self.facts.lineages.get(&lineage).is_some_and(|fact| fact.may_leave_open);
            if !asked {
                return self.violate("R55", || "an intent is left open though nobody asked for it".into());
            }
            self.facts.release_one(lineage, &open.reference);
        }
    }

    fn check_not_done(&mut self, lineage: Lineage, reference: Option<&str>, shown: &str, clones_excused: bool) {
        let Some((key, _)) = reference.and_then(|reference| self.facts.key_by_reference(lineage, reference)) else {
            return;
        };
        if self.facts.lineages.get(&lineage).is_some_and(|fact| fact.excused || fact.power_lost) {
            return;
        }
        let done = self.facts.effects_of(key).any(|effect| !(clones_excused && effect.by_clone));
        if done {
            self.violate("R21", || format!("shown as {shown}, but it was done"));
        }
    }

    /// At the end, with everything healed and every page open again.
    pub(crate) fn check_end(&mut self, document: usize) {
        let Some(it) = self.documents.get(document) else { return };
        let lineage = it.lineage;
        let Some(device) = self.devices.get(lineage.device) else { return };
        let (state, view) = (it.machine.state(), it.machine.view(it.now(self.t, device)));
        let Some(fact) = self.facts.lineages.get(&lineage) else { return };
        if fact.excused || fact.power_lost {
            return;
        }
        let Some(last) = fact.keys.last().cloned() else { return };
        let Some(key) = self.facts.keys.get(&last) else { return };
        let released = key.released;
        if !self.facts.is_quiet(lineage) && !released && state == State::Idle {
            return self.violate("R53", || "an open wish is lost from sight".into());
        }
        let done = self.facts.effects_of(&last).any(|effect| !effect.by_clone);
        let history = self.facts.lineages.get(&lineage).is_some_and(|fact| fact.history);
        if done && !released && !history && state == State::Idle && view.last.is_none() {
            self.violate("R23", || "a finished wish is forgotten".into());
        }
    }

    /// After a last press in a healed world: whatever can be settled is (R53).
    pub(crate) fn check_liveness(&mut self, document: usize) {
        let Some(it) = self.documents.get(document) else { return };
        let lineage = it.lineage;
        let state = it.machine.state();
        let Some(entry) = self.catalog.get(lineage.operation) else { return };
        let own = entry.operation.contract == Some(Contract::Postonce) && entry.operation.can_check();
        let stuck = match &state {
            State::Sending { .. } | State::Waiting { .. } | State::Checking => true,
            State::NotSent { .. } | State::Refused { .. } | State::Idle => own,
            State::Unknown { why } => {
                own && match why {
                    UnknownReason::Expired
                    | UnknownReason::Uncertain
                    | UnknownReason::HandedOver
                    | UnknownReason::KeyReused
                    | UnknownReason::ServerError
                    | UnknownReason::NoKey
                    | UnknownReason::NewerVersion => false,
                    UnknownReason::Deadline
                    | UnknownReason::Attempts
                    | UnknownReason::RetryAfter
                    | UnknownReason::DocumentLost
                    | UnknownReason::Stopped
                    | UnknownReason::Refused => true,
                }
            }
            State::Suspended { .. }
            | State::Succeeded(_)
            | State::Rejected { .. }
            | State::Disputed { .. }
            | State::Fenced
            | State::Decided { .. } => false,
        };
        let aged = self.struck & (Fault::ClockJump.bit() | Fault::Hours.bit()) != 0;
        if stuck && !aged && !self.last_press_answered {
            let shown = format!("{state:?}");
            self.violate("R53", || format!("a press in a healed world leads nowhere: {shown}"));
        }
    }

    /// A new beginning that was asked for is there: the next press is another wish.
    fn check_begun(&mut self, document: usize) {
        let Some(it) = self.documents.get_mut(document) else { return };
        let (lineage, Some(leave_open)) = (it.lineage, it.begins) else { return };
        if it.machine.state() == State::Idle && it.loaded {
            it.begins = None;
            it.since = self.t;
            it.key_reused = false;
            if leave_open || self.facts.is_quiet(lineage) {
                self.facts.lineages.entry(lineage).or_default().fresh = true;
            }
        }
    }

    /// The person asked that the old one be left open, or decided so.
    pub(crate) fn may_leave_open(&mut self, lineage: Lineage) {
        self.facts.lineages.entry(lineage).or_default().may_leave_open = true;
    }
}
