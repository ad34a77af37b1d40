//! What people do: sensible things, hasty things, and things at the worst moment.

use postonce_core::contract::SubjectRule;
use postonce_core::machine::event::{Event, Target, Wish};
use postonce_core::machine::state::{Ruling, State, UnknownReason};
use postonce_core::time::Millis;

use crate::catalog::canonical;
use crate::document::{Device, Gesture};
use crate::facts::{Lineage, Time};
use crate::faults::Fault;
use crate::server::{DECLINED_QUANTITY, Payload};
use crate::storage::{Health, LOCAL_TAIL, RELAXED_TAIL};
use crate::world::{Due, World};

const HOUR: Time = 60 * 60 * 1_000;

/// Who there is.
const PEOPLE: [&str; 2] = ["ann", "bob"];
/// What wishes are about.
const OBJECTS: [&str; 2] = ["cart-1", "cart-2"];
/// What a form may hold.
const QUANTITIES: [u8; 3] = [2, 3, DECLINED_QUANTITY];

/// One thing that a person may do with a tab.
#[derive(Clone, Copy)]
enum Deed {
    Submit,
    Edit,
    Touch,
    Check,
    Resend,
    Fence,
    Begin,
    LeaveOpen,
    Stop,
    HandOver,
    Decide,
    CheckOpen,
    FenceOpen,
    OpenTab,
    Show,
    Rush,
}

/// In order of plainness; the more often one stands here, the likelier it is.
const DEEDS: [Deed; 28] = [
    Deed::Submit,
    Deed::Submit,
    Deed::Submit,
    Deed::Submit,
    Deed::Submit,
    Deed::Submit,
    Deed::Touch,
    Deed::Edit,
    Deed::Edit,
    Deed::Check,
    Deed::Check,
    Deed::Resend,
    Deed::Resend,
    Deed::Fence,
    Deed::Fence,
    Deed::Begin,
    Deed::Begin,
    Deed::LeaveOpen,
    Deed::LeaveOpen,
    Deed::Stop,
    Deed::HandOver,
    Deed::Decide,
    Deed::CheckOpen,
    Deed::FenceOpen,
    Deed::OpenTab,
    Deed::Show,
    Deed::Rush,
    Deed::Rush,
];

impl World<'_> {
    /// Sets the scene and plans the first deed.
    pub(crate) fn begin(&mut self) {
        let devices = if self.strikes(Fault::SecondDevice) { 2 } else { 1 };
        for _ in 0..devices {
            let mut device = Device { user: Some("ann"), cookie: Some("ann"), ..Device::default() };
            if self.strikes(Fault::DeviceClock) {
                device.clock = self.skew();
            }
            device.no_locks = self.strikes(Fault::NoLocks);
            if self.strikes(Fault::DatabaseAbsent) {
                device.storage.database_health = Health::Absent;
            }
            if self.strikes(Fault::StorageAbsent) {
                device.storage.database_health = Health::Absent;
                device.storage.local_health = Health::Absent;
            }
            self.devices.push(device);
        }
        if self.strikes(Fault::ServerClock) {
            self.server.clock = self.skew();
        }
        let operation = self.choices.below(u32::try_from(self.catalog.len()).unwrap_or(1)) as usize;
        for device in 0..devices {
            let lineage = Lineage { device, operation, subject: "ann", object: "cart-1" };
            let _ = self.open(lineage, 2);
        }
        self.acts_left = 2 + self.choices.below(14);
        let delay = self.choices.between(100, 400);
        self.after(delay, Due::Act);
    }

    /// Seconds or days, either way.
    fn skew(&mut self) -> i64 {
        let size = self.choices.pick(&[3_000, 40_000, 10 * 60_000, 48 * 3_600_000]).unwrap_or(0);
        if self.choices.odd(500) { -size } else { size }
    }

    pub(crate) fn act(&mut self) {
        if self.acts_left == 0 {
            return;
        }
        self.acts_left -= 1;
        self.note_hours();
        let pause = match self.choices.below(12) {
            0..=1 => self.choices.between(700, 3_000),
            2 => 0,
            3 => self.choices.between(10, 60),
            4..=5 => self.choices.between(60, 700),
            6..=8 => self.choices.between(3_000, 12_000),
            _ => self.choices.between(12_000, 70_000),
        };
        let pause = if self.strikes(Fault::Hours) { self.hours() } else { pause };
        self.disturb();
        if let Some(document) = self.some_document() {
            let deed = self.choices.pick(&DEEDS).unwrap_or(Deed::Submit);
            self.carry_out(document, deed);
        }
        self.after(pause, Due::Act);
    }

    /// Wishes from before a long pause are history.
    pub(crate) fn note_hours(&mut self) {
        if std::mem::take(&mut self.hours_passed) {
            for device in 0..self.devices.len() {
                self.facts.each_of_device(device, |fact| {
                    fact.history = true;
                    fact.aged = true;
                });
            }
        }
    }

    fn hours(&mut self) -> Time {
        let hours = self.choices.pick(&[13, 25, 23, 49, 6]).unwrap_or(13);
        self.hours_passed = true;
        hours * HOUR + self.choices.between(0, 600_000)
    }

    /// A tab that runs; where none does, one is opened.
    fn some_document(&mut self) -> Option<usize> {
        let running: Vec<usize> = self
            .documents
            .iter()
            .enumerate()
            .filter(|(_, it)| it.alive && !it.frozen && !it.told_of_change)
            .filter(|(_, it)| {
                self.devices
                    .get(it.lineage.device)
                    .is_some_and(|device| device.user == Some(it.lineage.subject) && device.asleep_until <= self.t)
            })
            .map(|(index, _)| index)
            .collect();
        match self.choices.pick(&running) {
            Some(document) => Some(document),
            None => self.reopen(),
        }
    }

    /// Whoever uses a device opens the page again.
    fn reopen(&mut self) -> Option<usize> {
        let devices = u32::try_from(self.devices.len()).unwrap_or(1);
        let device = self.choices.below(devices) as usize;
        let awake = self.devices.get(device).filter(|it| it.asleep_until <= self.t)?;
        let subject = awake.user?;
        let operation = self.documents.first()?.lineage.operation;
        self.open(Lineage { device, operation, subject, object: "cart-1" }, 2)
    }

    fn carry_out(&mut self, document: usize, deed: Deed) {
        match deed {
            Deed::Submit => self.submit(document),
            Deed::Edit => {
                let quantity = self.choices.pick(&QUANTITIES).unwrap_or(2);
                if let Some(it) = self.documents.get_mut(document) {
                    it.quantity = quantity;
                }
            }
            Deed::Touch => {
                let entropy = self.entropy();
                self.gesture(document, Gesture::Other, Event::Touched(entropy));
            }
            Deed::Check => self.gesture(document, Gesture::Other, Event::Check(Target::Current)),
            Deed::Fence => self.gesture(document, Gesture::Other, Event::Fence(Target::Current)),
            Deed::Resend => self.resend(document),
            Deed::Begin => self.begin_new(document, false),
            Deed::LeaveOpen => self.begin_new(document, true),
            Deed::Stop => self.gesture(document, Gesture::Other, Event::Stop),
            Deed::HandOver => self.gesture(document, Gesture::Other, Event::HandOver),
            Deed::Decide => {
                let outcome = self.choices.pick(&[Ruling::Applied, Ruling::NotApplied, Ruling::LeftOpen]);
                let Some(outcome) = outcome else { return };
                let Some(lineage) = self.documents.get(document).map(|it| it.lineage) else { return };
                self.facts.lineages.entry(lineage).or_default().decided = true;
                if outcome == Ruling::LeftOpen {
                    self.may_leave_open(lineage);
                }
                self.gesture(document, Gesture::Decide, Event::Decide { outcome, by: "desk".into() });
            }
            Deed::CheckOpen => {
                if let Some(reference) = self.open_reference(document) {
                    self.gesture(document, Gesture::Other, Event::Check(Target::Open(reference)));
                }
            }
            Deed::FenceOpen => {
                if let Some(reference) = self.open_reference(document) {
                    self.gesture(document, Gesture::Other, Event::Fence(Target::Open(reference)));
                }
            }
            Deed::OpenTab => {
                let Some(lineage) = self.documents.get(document).map(|it| it.lineage) else { return };
                let object = self.choices.pick(&[lineage.object, OBJECTS[1], OBJECTS[0]]).unwrap_or(lineage.object);
                let quantity = self.documents.get(document).map_or(2, |it| it.quantity);
                let _ = self.open(Lineage { object, ..lineage }, quantity);
            }
            Deed::Show => self.feed(document, Event::Shown),
            Deed::Rush => {
                let Some(lineage) = self.documents.get(document).map(|it| it.lineage) else { return };
                for (other, beside, _) in self.alive_on(lineage.device) {
                    let runs = self.documents.get(other).is_some_and(|it| !it.frozen && !it.told_of_change);
                    if beside == lineage && runs {
                        self.submit(other);
                    }
                }
            }
        }
    }

    fn gesture(&mut self, document: usize, gesture: Gesture, event: Event) {
        if let Some(it) = self.documents.get_mut(document) {
            it.gesture = gesture;
            it.returned &= matches!(event, Event::Touched(_));
        }
        self.feed(document, event);
    }

    fn open_reference(&mut self, document: usize) -> Option<String> {
        let it = self.documents.get(document)?;
        let now = it.now(self.t, self.devices.get(it.lineage.device)?);
        it.machine.view(now).open.first().map(|open| open.reference.clone())
    }

    fn wish(&mut self, document: usize) -> Option<(Wish, Payload)> {
        let it = self.documents.get(document)?;
        let (lineage, quantity) = (it.lineage, it.quantity);
        let name = &self.catalog.get(lineage.operation)?.operation.name;
        let canonical = canonical(name, quantity)?;
        let wish = self.facts.press(lineage, quantity, self.t);
        let texts = vec![(String::from("quantity"), quantity.to_string())];
        Some((Wish { canonical, remembered: texts.clone(), expected: texts }, Payload { wish, quantity }))
    }

    pub(crate) fn submit(&mut self, document: usize) {
        let Some((wish, payload)) = self.wish(document) else { return };
        let entropy = self.entropy();
        self.note(|| format!("doc {document}: submit of wish {} with {}", payload.wish, payload.quantity));
        let sent_before = self.facts.keys.values().any(|key| key.document == document);
        let (t, overtaken) = (self.t, sent_before && self.is_overtaken(document));
        if let Some(it) = self.documents.get_mut(document) {
            it.since = if overtaken { it.since } else { t };
            it.offered = Some(payload);
            it.pressed = Some(payload.quantity);
        }
        self.gesture(document, Gesture::Other, Event::Submit(wish, entropy));
    }

    fn resend(&mut self, document: usize) {
        let Some((wish, payload)) = self.wish(document) else { return };
        if let Some(it) = self.documents.get_mut(document) {
            it.offered = Some(payload);
        }
        self.gesture(document, Gesture::Other, Event::Resend(Some(wish)));
    }

    fn begin_new(&mut self, document: usize, leave_open: bool) {
        let Some(lineage) = self.documents.get(document).map(|it| it.lineage) else { return };
        let no_key = State::Unknown { why: UnknownReason::NoKey };
        if leave_open && self.documents.get(document).is_some_and(|it| it.machine.state() == no_key) {
            // Told that its key is lost, the person goes on.
            self.facts.release(lineage);
            self.facts.lineages.entry(lineage).or_default().fresh = true;
        }
        if leave_open {
            self.may_leave_open(lineage);
        }
        let entropy = self.entropy();
        let Some(it) = self.documents.get_mut(document) else { return };
        let (before, declines) = (it.begins.replace(leave_open), it.declines);
        self.gesture(document, Gesture::Other, Event::BeginNew { leave_open, entropy });
        if let Some(it) = self.documents.get_mut(document).filter(|it| it.declines > declines) {
            // Turned down at once; an earlier one may still be on its way.
            it.begins = before;
        } else if let Some(it) = self.documents.get_mut(document) {
            // By its own word a document takes the slot over (R23).
            it.since = self.t;
            it.begun = self.t;
        }
    }

    // --- what happens to pages, devices and the server at the same time ---------------------------------------------

    fn disturb(&mut self) {
        let documents = u32::try_from(self.documents.len()).unwrap_or(1);
        let document = self.choices.below(documents) as usize;
        let Some((lineage, quantity)) = self.documents.get(document).map(|it| (it.lineage, it.quantity)) else {
            return;
        };
        self.disturb_page(document, lineage, quantity);
        self.disturb_device(lineage.device);
        self.disturb_server();
    }

    fn disturb_page(&mut self, document: usize, lineage: Lineage, quantity: u8) {
        let alive = self.documents.get(document).is_some_and(|it| it.alive);
        if alive && self.strikes(Fault::Reload) {
            self.close(document);
            let _ = self.open(lineage, quantity);
        } else if alive && self.strikes(Fault::Close) {
            self.close(document);
        } else if alive && self.strikes(Fault::Frozen) {
            let kept_for_back = self.choices.odd(400);
            if kept_for_back || self.choices.odd(700) {
                self.release_drive(document);
            }
            if let Some(it) = self.documents.get_mut(document) {
                it.frozen = true;
                it.frozen_once = true;
                it.kept_for_back = kept_for_back;
            }
            self.note(|| format!("doc {document} freezes"));
            let most = if kept_for_back && self.choices.odd(700) { 4_000 } else { 90_000 };
            let delay = self.choices.between(500, most);
            self.after(delay, Due::Thaw { document });
        }
    }

    fn disturb_device(&mut self, device: usize) {
        let t = self.t;
        if self.devices.get(device).is_some_and(|it| it.asleep_until > t) {
            return;
        }
        let kill = self.strikes(Fault::Kill);
        let power = self.strikes(Fault::PowerLoss);
        if kill || power {
            self.kill(device, power);
        }
        if self.strikes(Fault::Evicted) {
            self.note(|| format!("device {device}: everything stored is thrown away"));
            self.edit_device(device, |it| it.storage.evict());
            self.facts.each_of_device(device, |fact| fact.excused = true);
        }
        if self.strikes(Fault::Corrupted) {
            let both = self.choices.odd(500);
            self.note(|| format!("device {device}: stored texts are spoilt, both: {both}"));
            self.edit_device(device, |it| it.storage.spoil(t, both, |text| text.chars().skip(1).collect()));
            for (_, lineage, _) in self.alive_on(device) {
                self.facts.lineages.entry(lineage).or_default().spoilt = true;
            }
            self.facts.each_of_device(device, |fact| fact.spoilt = true);
        }
        if self.strikes(Fault::Newer) {
            self.note(|| format!("device {device}: a newer version wrote"));
            let newer = |text: &str| text.replace("\"schema\":1", "\"schema\":2");
            self.edit_device(device, |it| it.storage.spoil(t, true, newer));
            self.facts.each_of_device(device, |fact| fact.excused = true);
        }
        if self.strikes(Fault::QuotaFull) {
            let full = self.devices.get(device).is_some_and(|it| it.storage.local_health == Health::Sound);
            let health = if full { Health::Full } else { Health::Sound };
            self.note(|| format!("device {device}: quota {health:?}"));
            self.edit_device(device, |it| {
                if it.storage.local_health != Health::Absent {
                    it.storage.local_health = health;
                    it.storage.database_health = health;
                }
            });
            for (_, lineage, _) in self.alive_on(device) {
                self.facts.lineages.entry(lineage).or_default().excused = true;
            }
            self.facts.each_of_device(device, |fact| fact.excused = true);
        }
        if self.strikes(Fault::ClockJump) {
            let by = self.skew();
            self.note(|| format!("device {device}: clock jumps by {by}"));
            self.edit_device(device, |it| it.clock += by);
            self.facts.each_of_device(device, |fact| {
                fact.clock_set_back |= by < 0;
                fact.history = true;
                fact.aged = true;
            });
        }
        if self.strikes(Fault::Sleep) {
            let nap = self.choices.between(1_000, 120_000);
            let stands = self.choices.odd(500);
            self.note(|| format!("device {device}: sleeps {nap}, monotonic clock stands: {stands}"));
            self.edit_device(device, |it| {
                it.asleep_until = t + nap;
                it.mono_lost += if stands { nap } else { 0 };
            });
        }
        if self.strikes(Fault::Offline) {
            let offline = !self.devices.get(device).is_some_and(|it| it.offline);
            self.note(|| format!("device {device}: offline {offline}"));
            self.edit_device(device, |it| it.offline = offline);
            self.tell_all(device, |_| Event::Online(!offline));
        }
        self.disturb_session(device);
    }

    fn disturb_session(&mut self, device: usize) {
        if self.strikes(Fault::SignedOut) {
            let out = self.devices.get(device).is_some_and(|it| it.cookie.is_some());
            let other =
                PEOPLE.into_iter().find(|person| self.devices.get(device).and_then(|it| it.user) != Some(*person));
            // A foreign dialect says nothing of the subject: there another's cookie is another's wish.
            let stated = self.documents.first().and_then(|it| self.catalog.get(it.lineage.operation));
            let stated = stated.is_some_and(|entry| entry.policy.subject == SubjectRule::Required);
            let next = self.choices.pick(&[None, other.filter(|_| stated)]).flatten();
            self.note(|| format!("device {device}: session {}", if out { "changes unnoticed" } else { "is back" }));
            self.edit_device(device, |it| it.cookie = if out { next } else { it.user });
        }
        if self.strikes(Fault::OtherPerson) {
            let user = self.devices.get(device).and_then(|it| it.user);
            let next = self.choices.pick(&[None, PEOPLE.into_iter().find(|person| Some(*person) != user)]).flatten();
            self.note(|| format!("device {device}: {user:?} goes, {next:?} comes"));
            self.edit_device(device, |it| {
                it.user = next;
                it.cookie = next;
            });
            self.tell_all(device, |subject| if Some(subject) == next { Event::Shown } else { Event::SubjectChanged });
            if next.is_none() {
                let back = self.choices.pick(&PEOPLE);
                self.edit_device(device, |it| {
                    it.user = back;
                    it.cookie = back;
                });
            }
        }
    }

    fn disturb_server(&mut self) {
        let t = self.t;
        if self.strikes(Fault::ServerCrash) {
            let down = self.choices.between(500, 40_000);
            self.note(|| format!("server: crashes, back in {down}"));
            self.server.crash(t, Millis(down));
        }
        if self.strikes(Fault::StoreOutage) {
            let away = self.choices.between(500, 20_000);
            self.note(|| format!("server: store away for {away}"));
            self.server.outage_until = t + away;
        }
        if self.strikes(Fault::FailOver) {
            let loses = self.choices.between(1, 3_000);
            self.note(|| format!("server: fails over, losing {loses}"));
            self.server.fail_over(t, Millis(loses), self.catalog, &mut self.facts);
        }
        if self.strikes(Fault::Purge) {
            self.note(|| "server: purges".into());
            self.server.purge(t, self.catalog, &mut self.facts);
        }
    }

    /// The browser, or the whole machine, is gone at once.
    fn kill(&mut self, device: usize, power: bool) {
        let t = self.t;
        let tail = if power { self.choices.between(0, RELAXED_TAIL) } else { self.choices.between(0, LOCAL_TAIL) };
        self.note(|| format!("device {device}: killed, power loss: {power}"));
        let weak = self.devices.get(device).is_some_and(|it| it.storage.is_weak());
        self.edit_device(device, |it| {
            if power {
                it.storage.lose_power(t, tail);
            } else {
                it.storage.kill(t, tail);
            }
            it.drive.clear();
            it.turns.clear();
        });
        self.facts.each_of_device(device, |fact| fact.power_lost |= power);
        if weak {
            // Visible as not durable before the send (R121).
            self.facts.each_of_device(device, |fact| fact.excused = true);
        }
        let gone: Vec<(usize, Lineage, u8)> = self.alive_on(device);
        for (document, _, _) in &gone {
            self.close(*document);
        }
        if let Some((_, lineage, quantity)) = gone.first() {
            let _ = self.open(*lineage, *quantity);
        }
    }

    pub(crate) fn alive_on(&self, device: usize) -> Vec<(usize, Lineage, u8)> {
        let there = self.documents.iter().enumerate().filter(|(_, it)| it.alive && it.lineage.device == device);
        there.map(|(index, it)| (index, it.lineage, it.quantity)).collect()
    }

    pub(crate) fn edit_device(&mut self, device: usize, edit: impl FnOnce(&mut Device)) {
        if let Some(it) = self.devices.get_mut(device) {
            edit(it);
        }
    }

    fn tell_all(&mut self, device: usize, event: impl Fn(&'static str) -> Event) {
        for (document, lineage, _) in self.alive_on(device) {
            self.feed(document, event(lineage.subject));
        }
    }
}
