//! A device's two stores: IndexedDB with its transactions, and `localStorage`, whose last seconds a kill takes away
//! (R121). Each keeps what it held before, so that a crash can go back to it.

use std::collections::BTreeMap;

use postonce_core::machine::event::{Durability, StoreFault};
use postonce_core::record::{self, RecordFault, Version};

use crate::facts::Time;

/// What a kill may take from `localStorage`, in milliseconds (measured, R121).
pub const LOCAL_TAIL: Time = 6_000;

/// What a power loss may take from relaxed transactions.
pub const RELAXED_TAIL: Time = 3_000;

#[derive(Clone, Debug, Default)]
struct Row {
    text: Option<String>,
    /// What was held before, each with the time at which that ended; `true`: a power loss cannot undo the write.
    before: Vec<(Time, bool, Option<String>)>,
}

impl Row {
    fn set(&mut self, t: Time, strict: bool, text: Option<String>) {
        let old = std::mem::replace(&mut self.text, text);
        self.before.push((t, strict, old));
    }

    fn undo(&mut self, since: Time, also_strict: bool) {
        while let Some((at, strict, _)) = self.before.last() {
            if *at < since || (*strict && !also_strict) {
                break;
            }
            if let Some((_, _, text)) = self.before.pop() {
                self.text = text;
            }
        }
    }
}

/// How a store refuses.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Health {
    /// It works.
    #[default]
    Sound,
    /// It takes nothing more.
    Full,
    /// It is not there.
    Absent,
}

/// Both stores of one device.
#[derive(Clone, Debug, Default)]
pub struct Storage {
    database: BTreeMap<String, Row>,
    local: BTreeMap<String, Row>,
    /// Of IndexedDB.
    pub database_health: Health,
    /// Of `localStorage`.
    pub local_health: Health,
    /// What documents keep of the server's clock.
    pub clock_offset: Option<i64>,
}

/// One compare and set.
#[derive(Clone, Debug)]
pub struct Write {
    /// The record.
    pub text: String,
    /// Its version.
    pub version: Version,
    /// What must be stored for it.
    pub expect: Option<Version>,
    /// What cannot be read counts as nothing (R85).
    pub aside: bool,
}

/// How a persist ended.
#[derive(Clone, Debug)]
pub enum Persisted {
    /// Taken.
    Done(Durability),
    /// Something else is stored.
    Outrun(String),
    /// Not taken.
    Failed(StoreFault),
}

impl Storage {
    /// Both texts, as a document reads them.
    #[must_use]
    pub fn read(&self, slot: &str) -> (Option<String>, Option<String>) {
        let readable = |health: Health, row: Option<&Row>| match health {
            Health::Sound | Health::Full => row.and_then(|row| row.text.clone()),
            Health::Absent => None,
        };
        (readable(self.database_health, self.database.get(slot)), readable(self.local_health, self.local.get(slot)))
    }

    /// One compare and set, as `src/js/journal.js` does it.
    pub fn persist(&mut self, t: Time, slot: &str, write: &Write) -> Persisted {
        let Write { text, version, expect, aside } = write;
        let (database, local) = self.read(slot);
        if let Some(rival) = rival([database.as_deref(), local.as_deref()], *expect, *aside) {
            return Persisted::Outrun(rival);
        }
        let into_database = self.database_health == Health::Sound;
        if into_database {
            let strict = expect.is_none_or(|known| known.generation != version.generation);
            self.database.entry(slot.into()).or_default().set(t, strict, Some(text.clone()));
        }
        match (into_database, self.local_health) {
            (taken, Health::Sound) => {
                self.local.entry(slot.into()).or_default().set(t, false, Some(text.clone()));
                Persisted::Done(if taken { Durability::Durable } else { Durability::Weak })
            }
            (true, Health::Full | Health::Absent) => Persisted::Done(Durability::Durable),
            (false, Health::Full) => Persisted::Failed(StoreFault::Quota),
            (false, Health::Absent) => Persisted::Failed(StoreFault::Unavailable),
        }
    }

    /// The browser is killed: `localStorage` loses its tail, IndexedDB nothing.
    pub fn kill(&mut self, t: Time, tail: Time) {
        for row in self.local.values_mut() {
            row.undo(t.saturating_sub(tail), true);
        }
    }

    /// The power goes: relaxed transactions lose their tail too.
    pub fn lose_power(&mut self, t: Time, tail: Time) {
        self.kill(t, LOCAL_TAIL);
        for row in self.database.values_mut() {
            row.undo(t.saturating_sub(tail), false);
        }
    }

    /// The browser or a cleaner throws everything away (R86).
    pub fn evict(&mut self) {
        self.database.clear();
        self.local.clear();
    }

    /// Another script, or a bad disk, spoils what is stored; `both` stores or the local copy only.
    pub fn spoil(&mut self, t: Time, both: bool, spoilt: impl Fn(&str) -> String) {
        let rows = self.local.values_mut().chain(self.database.values_mut().filter(|_| both));
        for row in rows {
            if let Some(text) = row.text.clone() {
                row.set(t, true, Some(spoilt(&text)));
            }
        }
    }

    /// Whether a record of a newer version is held there (R27).
    #[must_use]
    pub fn is_newer(&self, slot: &str) -> bool {
        let (database, local) = self.read(slot);
        [database, local].iter().flatten().any(|text| matches!(record::read(text), Err(RecordFault::Newer(_))))
    }

    /// Whether anything outlives its document.
    #[must_use]
    pub fn keeps_anything(&self) -> bool {
        self.database_health == Health::Sound || self.local_health == Health::Sound
    }

    /// Whether a kill may take a claim away (R121).
    #[must_use]
    pub fn is_weak(&self) -> bool {
        self.database_health != Health::Sound
    }
}

/// The text that stands in the way of a write on top of `expect`; the higher of both stores counts (R65).
fn rival(texts: [Option<&str>; 2], expect: Option<Version>, aside: bool) -> Option<String> {
    let mut highest: Option<(Option<Version>, bool, &str)> = None;
    for text in texts.into_iter().flatten() {
        let (version, ours) = match record::read(text) {
            Ok(found) => (Some(found.version), true),
            Err(RecordFault::Newer(version)) => (Some(version), false),
            Err(RecordFault::Corrupt) if aside => continue,
            Err(RecordFault::Corrupt) => (None, false),
        };
        if highest.is_none_or(|(best, _, _)| version > best) {
            highest = Some((version, ours, text));
        }
    }
    match highest {
        Some((version, ours, text)) => (!ours || version != expect).then(|| text.into()),
        None => expect.is_some().then(String::new),
    }
}
