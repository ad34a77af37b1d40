//! Where records are kept: IndexedDB and a copy in `localStorage`, neither trusted to be there (R82). `js/journal.js`
//! handles the stores; what a stored text is worth is judged here.

use postonce_core::budget::ECHO_WINDOW;
use postonce_core::json::push_decimal;
use postonce_core::machine::event::{Durability, StoreFault};
use postonce_core::record::{self, Record, RecordFault, Version};
use postonce_core::slot::Slot;
use wasm_bindgen::prelude::*;

use crate::callback::{once, repeated};
use crate::clock::now;
use crate::member::{get, items, set_text, text};

/// Name of the database; frozen for ever (R27).
const DATABASE: &str = "postonce";

// Each that the module uses takes a text. One that took objects alone would be imported without glue, by way of the
// module's namespace: then a bundler has to keep all of its exports and their names.
#[wasm_bindgen(module = "/src/js/journal.js")]
extern "C" {
    fn open(name: &str, judge: &JsValue) -> JsValue;
    fn opened(journal: &JsValue, done: &JsValue);
    fn read(journal: &JsValue, hash: &str, done: &JsValue);
    fn persist(journal: &JsValue, hash: &str, text: &str, version: &str, expect: &str, aside: bool, done: &JsValue);
    #[wasm_bindgen(js_name = localText)]
    fn local_text(name: &str) -> JsValue;
    #[wasm_bindgen(js_name = putLocal)]
    fn put_local(name: &str, text: &str);
}

/// In place of a slot's hash: every slot.
const ALL: &str = "";

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
pub struct Journal(JsValue);

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

impl Default for Journal {
    fn default() -> Self {
        Self::new()
    }
}

impl Journal {
    /// Begins to open what there is; whatever is asked of the journal waits for that. It never fails: without IndexedDB,
    /// or when that takes more than two seconds, the journal goes on with `localStorage`; without either, every persist
    /// says so (R82).
    #[must_use]
    pub fn new() -> Self {
        Self(open(DATABASE, &repeated(|question| judge(&question))))
    }

    /// A new journal, once it is open or known to go on without IndexedDB.
    pub fn open(done: impl FnOnce(Self) + 'static) {
        opened(&Self::new().0, &once(move |journal| done(Self(journal))));
    }

    /// Whether IndexedDB works, as far as is known now.
    #[must_use]
    pub fn has_database(&self) -> bool {
        get(&self.0, "database").is_object()
    }

    /// Reads both stores. Nothing is written, nothing judged.
    pub fn read(&self, slot: &Slot, done: impl FnOnce(Stored) + 'static) {
        let done = once(move |found| {
            let copy = |at| get(&found, at).as_string();
            done(Stored { database: copy("0"), local: copy("1") });
        });
        read(&self.0, slot.hash(), &done);
    }

    /// Writes `text` if what is stored is of the version `expect` (`None`: nothing is stored). The higher of both
    /// stores counts (R65). In IndexedDB this is one transaction awaited to its end, strict for a key that is
    /// not stored yet; then the copy follows (R68, R84). A text that is no record is only replaced, and kept aside, where
    /// the other store has a sound one; alone it counts as another record, except with `aside` (R85).
    #[allow(clippy::needless_pass_by_value, reason = "the text is of no more use to whoever persists it")]
    pub fn persist(
        &self,
        slot: &Slot,
        text: String,
        version: Version,
        expect: Option<Version>,
        aside: bool,
        done: impl FnOnce(PersistReport) + 'static,
    ) {
        let expect = expect.map(ordered).unwrap_or_default();
        let done = once(move |report| done(reported(&report)));
        persist(&self.0, slot.hash(), &text, &ordered(version), &expect, aside, &done);
    }

    /// The text under a name of `localStorage`; `None` when there is none or the storage is blocked.
    #[must_use]
    pub fn local_text(&self, name: &str) -> Option<String> {
        local_text(name).as_string()
    }

    /// Keeps a text in `localStorage`, as far as that works. Names start with `postonce:`.
    pub fn set_local_text(&self, name: &str, text: &str) {
        put_local(name, text);
    }

    /// Of every slot its hash and the text of its record, the higher of both stores.
    pub fn records(&self, done: impl FnOnce(Vec<(String, String)>) + 'static) {
        let done = once(move |found| {
            let mut records = Vec::new();
            for record in items(&found) {
                if let (Some(hash), Some(text)) = (get(&record, "0").as_string(), get(&record, "1").as_string()) {
                    records.push((hash, text));
                }
            }
            done(records);
        });
        read(&self.0, ALL, &done);
    }

    /// Writes `text` for the slot of that hash if what is stored is of the version `expect` still. Nobody hears how it went.
    pub(crate) fn replace(&self, hash: &str, text: &str, version: Version, expect: Version) {
        persist(&self.0, hash, text, &ordered(version), &ordered(expect), false, &once(|_| {}));
    }
}

/// The numbers are those of `js/journal.js`.
fn reported(report: &JsValue) -> PersistReport {
    const DURABLE: u32 = 0;
    const WEAK: u32 = 1;
    const QUOTA: u32 = 3;
    const MISMATCH: u32 = 4;
    if let Some(text) = report.as_string() {
        return PersistReport::Outrun(text);
    }
    match report.as_f64().map(|code| code as u32) {
        Some(DURABLE) => PersistReport::Done(Durability::Durable),
        Some(WEAK) => PersistReport::Done(Durability::Weak),
        Some(QUOTA) => PersistReport::Failed(StoreFault::Quota),
        Some(MISMATCH) => PersistReport::Failed(StoreFault::Mismatch),
        _ => PersistReport::Failed(StoreFault::Unavailable),
    }
}

/// What a stored text is to this version: see `Question` in `js/journal.js`. A text that cannot be read has no version;
/// one of a later schema is never overwritten (R27); one that is spent may make room (R83).
fn judge(question: &JsValue) {
    let (version, mark) = match record::read(&text(question, "text").unwrap_or_default()) {
        Ok(record) => (record.version, if is_spent(&record) { "-" } else { "" }),
        Err(RecordFault::Newer(version)) => (version, "+"),
        Err(RecordFault::Corrupt) => return,
    };
    set_text(question, "version", &(ordered(version) + mark));
}

/// Finished, nothing left open, and past the echo window: nobody will ask for it (R87).
fn is_spent(record: &Record) -> bool {
    record.current.is_none()
        && record.open.is_empty()
        && record.last.as_ref().is_none_or(|last| now().wall.since(last.at) >= ECHO_WINDOW)
}

/// Texts of versions compare as the versions do: each number is written with as many digits.
fn ordered(version: Version) -> String {
    const ELEVEN_DIGITS: u64 = 10_000_000_000;
    let mut text = String::new();
    for number in [version.generation, version.round, version.rev, version.writer] {
        push_decimal(&mut text, ELEVEN_DIGITS + u64::from(number));
    }
    text
}
