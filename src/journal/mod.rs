//! Where records are kept: IndexedDB and a copy in `localStorage`, neither trusted to be there (R82).

mod database;
mod local;

use std::cell::Cell;
use std::rc::Rc;

use postonce_core::machine::event::{Durability, StoreFault};
use postonce_core::record::{self, RecordFault, Version};
use postonce_core::slot::Slot;

use database::{Database, Swap};

/// Characters of a slot's hash.
const HASH_DIGITS: usize = 32;

/// Stands before the hash of a slot whose text was moved out of the way (R85).
const QUARANTINE: &str = "quarantine:";

/// The stores of this page. Cloning is cheap and gives the same journal.
///
/// ```no_run
/// use postonce::journal::Journal;
/// use postonce_core::slot::Slot;
/// Journal::open(|journal| {
///     let slot = Slot::new("user-7", "order.create", "cart-1");
///     journal.read(&slot, |stored| drop((stored.database, stored.local)));
/// });
/// ```
#[derive(Clone)]
pub struct Journal(Rc<Inner>);

struct Inner {
    link: Cell<Link>,
}

/// The connection to IndexedDB.
#[derive(Clone, Default)]
enum Link {
    /// Closed by the browser or for another version: opened again at the next use.
    #[default]
    Lost,
    /// It works.
    Open(Database),
    /// It never did; not waited for again.
    Absent,
}

/// The raw texts of one slot, as found: judging them is the core's business.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Stored {
    /// In IndexedDB, of the highest version; empty when an entry has no text.
    pub database: Option<String>,
    /// In `localStorage`.
    pub local: Option<String>,
}

/// How a compare and set ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum PersistReport {
    /// Written; how well it is kept.
    Done(Durability),
    /// Another record than expected is stored, and stays. Its text; empty when it has none (R85).
    Outrun(String),
    /// No store took it.
    Failed(StoreFault),
}

/// One compare and set.
struct Claim {
    slot: Slot,
    text: String,
    version: Version,
    expect: Option<Version>,
}

/// What a stored text is to this version.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Standing {
    Unreadable,
    /// Of a later schema: never overwritten (R27).
    Newer(Version),
    Ours(Version),
}

impl Standing {
    const fn version(self) -> Option<Version> {
        match self {
            Self::Unreadable => None,
            Self::Newer(version) | Self::Ours(version) => Some(version),
        }
    }
}

impl Journal {
    /// Opens what there is. It never fails: without IndexedDB, or when that takes more than two seconds, the journal
    /// goes on with `localStorage`; without either, every persist says so (R82).
    pub fn open(done: impl FnOnce(Self) + 'static) {
        let journal = Self(Rc::new(Inner { link: Cell::default() }));
        journal.clone().with_database(Box::new(move |_| done(journal)));
    }

    /// Whether IndexedDB works, as far as is known now.
    #[must_use]
    pub fn has_database(&self) -> bool {
        matches!(self.link(), Link::Open(_))
    }

    /// Reads both stores. Nothing is written, nothing judged.
    pub fn read(&self, slot: &Slot, done: impl FnOnce(Stored) + 'static) {
        let name = slot.record_name();
        let done = move |rows: Option<Vec<database::Row>>| {
            let rows = rows.unwrap_or_default();
            let texts: Vec<&str> = rows.iter().map(|row| row.text.as_str()).collect();
            let database = highest(&texts).map(|(_, text)| String::from(text));
            done(Stored { database, local: local::text(&name) });
        };
        self.rows(Some(slot.clone()), Box::new(done));
    }

    /// Writes `text` if what is stored is of the version `expect` (`None`: nothing is stored). The higher of both
    /// stores counts (R65). In IndexedDB this is one transaction awaited to its end, strict for a reservation
    /// (`round` 0); then the copy follows (R68, R84). A text that is no record is only replaced, and kept aside, where
    /// the other store has a sound one; alone it counts as another record (R85).
    pub fn persist(
        &self,
        slot: &Slot,
        text: String,
        version: Version,
        expect: Option<Version>,
        done: impl FnOnce(PersistReport) + 'static,
    ) {
        let claim = Rc::new(Claim { slot: slot.clone(), text, version, expect });
        let journal = self.clone();
        self.with_database(Box::new(move |found| {
            let Some(database) = found else { return done(local::swap(&claim)) };
            let swapped = Rc::clone(&claim);
            let report = move |swap| {
                done(match swap {
                    Swap::Done => {
                        // The copy is for a quick start; without it the record is as durable.
                        let _ = local::put_copy(&claim);
                        PersistReport::Done(Durability::Durable)
                    }
                    Swap::Outrun(text) => PersistReport::Outrun(text),
                    Swap::Uncompared => {
                        journal.0.link.set(Link::Lost);
                        local::swap(&claim)
                    }
                    Swap::Unwritten(fault) => match local::put_copy(&claim) {
                        Ok(()) => PersistReport::Done(Durability::Weak),
                        Err(_) => PersistReport::Failed(fault),
                    },
                });
            };
            database::swap(&database, swapped, Box::new(report));
        }));
    }

    /// Moves what cannot be read out of the slot, in both stores, to a name of its own. A sound or newer record stays
    /// (R85, R27). A persist called afterwards finds the slot without it.
    pub fn quarantine(&self, slot: &Slot) {
        local::set_aside(slot);
        let slot = slot.clone();
        self.with_database(Box::new(move |found| {
            if let Some(database) = found {
                database::quarantine(&database, &slot);
            }
        }));
    }

    /// The text under a name of `localStorage`; `None` when there is none or the storage is blocked.
    #[must_use]
    pub fn local_text(&self, name: &str) -> Option<String> {
        local::text(name)
    }

    /// Keeps a text in `localStorage`, as far as that works. Names start with `postonce:`.
    pub fn set_local_text(&self, name: &str, text: &str) {
        let _ = local::put(name, text);
    }

    /// The text of every slot's record, the higher of both stores.
    pub fn pending(&self, done: impl FnOnce(Vec<String>) + 'static) {
        let done = move |rows: Option<Vec<database::Row>>| {
            let mut found = local::records();
            for row in rows.unwrap_or_default() {
                if local::is_hash(&row.slot) {
                    merge(&mut found, row.slot, row.text);
                }
            }
            done(found.into_iter().map(|(_, text)| text).collect());
        };
        self.rows(None, Box::new(done));
    }

    fn link(&self) -> Link {
        let link = self.0.link.take();
        self.0.link.set(link.clone());
        link
    }

    fn with_database(&self, act: Box<dyn FnOnce(Option<Database>)>) {
        match self.link() {
            Link::Open(database) => act(Some(database)),
            Link::Absent => act(None),
            Link::Lost => database::connect(&self.0, act),
        }
    }

    fn rows(&self, slot: Option<Slot>, done: Box<dyn FnOnce(Option<Vec<database::Row>>)>) {
        self.with_database(Box::new(move |found| match found {
            Some(database) => database::rows(&database, slot.as_ref(), done),
            None => done(None),
        }));
    }
}

fn standing(text: &str) -> Standing {
    match record::read(text) {
        Ok(record) => Standing::Ours(record.version),
        Err(RecordFault::Newer(version)) => Standing::Newer(version),
        Err(RecordFault::Corrupt) => Standing::Unreadable,
    }
}

/// The copy that counts: the higher version wins, and any record over what is none (R65, R85).
fn highest<'a>(texts: &[&'a str]) -> Option<(Standing, &'a str)> {
    let mut best: Option<(Standing, &'a str)> = None;
    for text in texts {
        let found = standing(text);
        if best.is_none_or(|(standing, _)| found.version() > standing.version()) {
            best = Some((found, text));
        }
    }
    best
}

/// `Err` with the text that is stored instead of what was expected.
fn compare(texts: &[&str], expect: Option<Version>) -> Result<(), String> {
    match highest(texts) {
        None if expect.is_none() => Ok(()),
        Some((Standing::Ours(version), _)) if expect == Some(version) => Ok(()),
        None => Err(String::new()),
        Some((_, text)) => Err(text.into()),
    }
}

fn merge(found: &mut Vec<(String, String)>, slot: String, text: String) {
    for (known, held) in &mut *found {
        if *known == slot {
            if standing(&text).version() > standing(held).version() {
                *held = text;
            }
            return;
        }
    }
    found.push((slot, text));
}
