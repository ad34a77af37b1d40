//! The journal against the real stores of a browser.
#![cfg(target_arch = "wasm32")]

mod eventually;

use std::cell::Cell;
use std::rc::Rc;

use eventually::{called_back, eventually};
use postonce::journal::{Journal, PersistReport, Stored};
use postonce_core::key::Key;
use postonce_core::machine::event::{Durability, StoreFault};
use postonce_core::record::{Current, Ending, Record, Tombstone, Version};
use postonce_core::slot::Slot;
use postonce_core::time::{Millis, Wall};
use wasm_bindgen::prelude::*;
use wasm_bindgen_test::{wasm_bindgen_test, wasm_bindgen_test_configure};

wasm_bindgen_test_configure!(run_in_browser);

#[wasm_bindgen(inline_js = r#"
const opened = (act) => {
  const request = indexedDB.open("postonce", 1);
  request.onsuccess = () => act(request.result, request.result.transaction("intents", "readwrite").objectStore("intents"));
};
export function put_entry(slot, generation, text, done) {
  opened((database, store) => {
    store.put({ slot, generation, round: 1, rev: 1, text });
    store.transaction.oncomplete = () => { database.close(); done(); };
  });
}
export function entries_of(slot, done) {
  opened((database, store) => {
    const request = store.getAll(IDBKeyRange.bound([slot], [slot, []]));
    request.onsuccess = () => { database.close(); done(request.result.map((e) => `${e.generation}:${e.text}`).join("\n")); };
  });
}
export function delete_database(done) {
  const request = indexedDB.deleteDatabase("postonce");
  request.onsuccess = () => done("deleted");
  request.onblocked = () => done("blocked");
}
export const local_text = (name) => localStorage.getItem(name) ?? "(none)";
export const set_local_text = (name, text) => localStorage.setItem(name, text);
const kept = {};
export function replace(name, how) {
  kept[name] = Object.getOwnPropertyDescriptor(window, name);
  const hows = {
    throwing: { configurable: true, get() { throw new DOMException("blocked", "SecurityError"); } },
    hanging: { configurable: true, value: { open: () => ({}) } },
  };
  Object.defineProperty(window, name, hows[how]);
}
export const restore = (name) => Object.defineProperty(window, name, kept[name]);
const setItem = Storage.prototype.setItem;
export function full_until_removed(name) {
  Storage.prototype.setItem = function (key, text) {
    if (this.getItem(name) !== null) throw new DOMException("full", "QuotaExceededError");
    setItem.call(this, key, text);
  };
}
export function forgetful() { Storage.prototype.setItem = () => {}; }
export function restore_set_item() { Storage.prototype.setItem = setItem; }
export const millis = () => performance.now();
"#)]
extern "C" {
    fn put_entry(slot: &str, generation: u32, text: &str, done: &JsValue);
    fn entries_of(slot: &str, done: &JsValue);
    fn delete_database(done: &JsValue);
    fn local_text(name: &str) -> String;
    fn set_local_text(name: &str, text: &str);
    fn replace(name: &str, how: &str);
    fn restore(name: &str);
    fn full_until_removed(name: &str);
    fn forgetful();
    fn restore_set_item();
    fn millis() -> f64;
}

const HOUR_MS: u64 = 3_600_000;
const NONE: &str = "(none)";
const DURABLE: PersistReport = PersistReport::Done(Durability::Durable);
const WEAK: PersistReport = PersistReport::Done(Durability::Weak);

fn slot(name: &str) -> Slot {
    Slot::new("user-7", "order.create", name)
}

fn version(generation: u32, round: u32, rev: u32) -> Version {
    Version { generation, round, rev, writer: 0 }
}

/// A record with a key in use; `mark` makes the text one of a kind.
fn live(version: Version, mark: &str) -> String {
    let key = Key::from_random([7; 16]);
    let mut current = Current::reserved(key, Wall(1), Wall(1), Millis(8_000));
    current.driver = mark.into();
    Record { version, current: Some(current), ..Record::default() }.write()
}

fn finished(at: Wall) -> String {
    let last = Tombstone { key: Key::from_random([7; 16]), digest: None, ending: Ending::Fenced, at };
    Record { version: version(1, 1, 1), last: Some(last), ..Record::default() }.write()
}

async fn open() -> Journal {
    eventually(Journal::open).await
}

async fn persist(journal: &Journal, slot: &Slot, text: &str, new: Version, expect: Option<Version>) -> PersistReport {
    eventually(|done| journal.persist(slot, text.into(), new, expect, false, done)).await
}

/// The person was told and goes on: what cannot be read is moved aside.
async fn persist_aside(journal: &Journal, slot: &Slot, text: &str, new: Version) -> PersistReport {
    eventually(|done| journal.persist(slot, text.into(), new, None, true, done)).await
}

async fn read(journal: &Journal, slot: &Slot) -> Stored {
    eventually(|done| journal.read(slot, done)).await
}

async fn entries(slot: &str) -> String {
    called_back(|done| entries_of(slot, done)).await.as_string().expect("a text")
}

fn both(text: &str) -> Stored {
    Stored { database: Some(text.into()), local: Some(text.into()) }
}

#[wasm_bindgen_test]
async fn r65_given_a_persist_then_a_fresh_journal_reads_it_from_both_stores() {
    let slot = slot("fresh");
    let text = live(version(1, 0, 1), "a");
    assert_eq!(read(&open().await, &slot).await, Stored::default());
    assert_eq!(persist(&open().await, &slot, &text, version(1, 0, 1), None).await, DURABLE);
    assert_eq!(read(&open().await, &slot).await, both(&text));
}

#[wasm_bindgen_test]
async fn r68_given_a_stale_expectation_then_it_is_outrun_and_the_stored_text_stays() {
    let (journal, slot) = (open().await, slot("stale"));
    let text = live(version(1, 1, 2), "a");
    assert_eq!(persist(&journal, &slot, &text, version(1, 1, 2), None).await, DURABLE);
    for expect in [None, Some(version(1, 1, 1)), Some(version(1, 1, 3)), Some(version(2, 1, 2))] {
        let report = persist(&journal, &slot, &live(version(3, 1, 9), "b"), version(3, 1, 9), expect).await;
        assert_eq!(report, PersistReport::Outrun(text.clone()));
    }
    assert_eq!(read(&journal, &slot).await, both(&text), "a stale writer must never change what is stored");
}

#[wasm_bindgen_test]
async fn r68_given_two_interleaved_claims_then_exactly_one_wins_and_both_know_it() {
    let slot = slot("interleaved");
    let (one, other) = (open().await, open().await);
    let (first, second) = (live(version(1, 1, 1), "first"), live(version(1, 1, 1), "second"));
    let reported = Rc::new(Cell::new(None));
    let report = Rc::clone(&reported);
    one.persist(&slot, first.clone(), version(1, 1, 1), None, false, move |ended| report.set(Some(ended)));
    let loser = persist(&other, &slot, &second, version(1, 1, 1), None).await;
    assert_eq!(reported.take(), Some(DURABLE));
    assert_eq!(loser, PersistReport::Outrun(first.clone()), "never two winners");
    assert_eq!(read(&one, &slot).await, both(&first));
}

#[wasm_bindgen_test]
async fn r68_given_a_risen_generation_then_the_lower_entry_goes_in_the_same_transaction() {
    let (journal, slot) = (open().await, slot("generation"));
    let (old, new) = (live(version(1, 1, 1), "old"), live(version(2, 0, 1), "new"));
    persist(&journal, &slot, &old, version(1, 1, 1), None).await;
    assert_eq!(persist(&journal, &slot, &new, version(2, 0, 1), Some(version(1, 1, 1))).await, DURABLE);
    assert_eq!(entries(slot.hash()).await, String::from("2:") + &new, "never two generations");
}

#[wasm_bindgen_test]
async fn r85_given_an_entry_that_is_no_record_then_it_is_never_overwritten_but_moved_when_asked() {
    let (journal, slot) = (open().await, slot("corrupt"));
    called_back(|done| put_entry(slot.hash(), 1, "{\"schema\":1", done)).await;
    let text = live(version(1, 0, 1), "a");
    let report = persist(&journal, &slot, &text, version(1, 0, 1), None).await;
    assert_eq!(report, PersistReport::Outrun("{\"schema\":1".into()));
    assert_eq!(entries(slot.hash()).await, "1:{\"schema\":1", "never overwritten unasked");

    assert_eq!(persist_aside(&journal, &slot, &text, version(1, 0, 1)).await, DURABLE);
    assert_eq!(read(&journal, &slot).await, both(&text));
    let aside = String::from("quarantine:") + slot.hash();
    assert_eq!(entries(&aside).await, "1:{\"schema\":1", "kept where it can be looked at");
}

#[wasm_bindgen_test]
async fn r85_given_a_local_text_that_is_no_record_then_it_is_never_overwritten_but_moved_when_asked() {
    let (journal, slot) = (open().await, slot("corrupt-local"));
    set_local_text(&slot.record_name(), "hello");
    let text = live(version(1, 0, 1), "a");
    let report = persist(&journal, &slot, &text, version(1, 0, 1), None).await;
    assert_eq!(report, PersistReport::Outrun("hello".into()));
    assert_eq!(read(&journal, &slot).await, Stored { database: None, local: Some("hello".into()) });

    assert_eq!(persist_aside(&journal, &slot, &text, version(1, 0, 1)).await, DURABLE);
    assert_eq!(local_text(&(String::from("postonce:quarantine:") + slot.hash())), "hello");
}

#[wasm_bindgen_test]
async fn r85_given_one_spoilt_copy_then_the_sound_one_counts_and_the_spoilt_one_is_kept_aside() {
    let (journal, slot) = (open().await, slot("spoilt-copy"));
    let (old, new) = (live(version(1, 1, 1), "old"), live(version(1, 1, 2), "new"));
    persist(&journal, &slot, &old, version(1, 1, 1), None).await;
    set_local_text(&slot.record_name(), "spoilt");
    assert_eq!(persist(&journal, &slot, &new, version(1, 1, 2), Some(version(1, 1, 1))).await, DURABLE);
    assert_eq!(read(&journal, &slot).await, both(&new));
    assert_eq!(local_text(&(String::from("postonce:quarantine:") + slot.hash())), "spoilt");
}

#[wasm_bindgen_test]
async fn r85_given_a_write_that_moves_aside_then_a_sound_copy_is_never_moved_or_overwritten() {
    let (journal, slot) = (open().await, slot("sound"));
    let text = live(version(1, 1, 1), "a");
    persist(&journal, &slot, &text, version(1, 1, 1), None).await;
    let report = persist_aside(&journal, &slot, &live(version(1, 0, 1), "b"), version(1, 0, 1)).await;
    assert_eq!(report, PersistReport::Outrun(text.clone()));
    assert_eq!(read(&journal, &slot).await, both(&text));
}

#[wasm_bindgen_test]
async fn r68_given_two_writers_that_counted_to_the_same_version_then_one_never_passes_for_the_other() {
    let (journal, slot) = (open().await, slot("two-writers"));
    let by = |writer| Version { writer, ..version(1, 1, 1) };
    let theirs = live(by(7), "theirs");
    persist(&journal, &slot, &theirs, by(7), None).await;
    let next = Version { rev: 2, ..by(9) };
    let report = persist(&journal, &slot, &live(next, "ours"), next, Some(by(9))).await;
    assert_eq!(report, PersistReport::Outrun(theirs.clone()));
    assert_eq!(read(&journal, &slot).await, both(&theirs));
}

#[wasm_bindgen_test]
async fn r27_given_a_record_of_a_newer_schema_then_it_is_never_overwritten_or_moved() {
    let (journal, slot) = (open().await, slot("newer"));
    let newer = "{\"schema\":99,\"generation\":1,\"round\":1,\"rev\":1}";
    called_back(|done| put_entry(slot.hash(), 1, newer, done)).await;
    let aside = persist_aside(&journal, &slot, &live(version(1, 1, 2), "old"), version(1, 1, 2)).await;
    assert_eq!(aside, PersistReport::Outrun(newer.into()));
    for expect in [None, Some(version(1, 1, 1))] {
        let report = persist(&journal, &slot, &live(version(1, 1, 2), "old"), version(1, 1, 2), expect).await;
        assert_eq!(report, PersistReport::Outrun(newer.into()));
    }
    assert_eq!(entries(slot.hash()).await, String::from("1:") + newer);
}

#[wasm_bindgen_test]
async fn r27_given_a_deleted_database_then_the_journal_never_blocks_it_and_the_local_copy_still_counts() {
    let (journal, slot) = (open().await, slot("deleted"));
    let (old, new) = (live(version(1, 1, 1), "old"), live(version(1, 1, 2), "new"));
    persist(&journal, &slot, &old, version(1, 1, 1), None).await;
    assert_eq!(called_back(delete_database).await.as_string().as_deref(), Some("deleted"));

    let report = persist(&journal, &slot, &new, version(1, 1, 2), None).await;
    assert_eq!(report, PersistReport::Outrun(old), "a cleared store is never taken for an empty slot");
    assert_eq!(persist(&journal, &slot, &new, version(1, 1, 2), Some(version(1, 1, 1))).await, DURABLE);
    assert_eq!(read(&journal, &slot).await, both(&new));
}

#[wasm_bindgen_test]
async fn r82_given_a_throwing_local_storage_then_nothing_throws_and_the_record_is_durable() {
    let slot = slot("no-local");
    let text = live(version(1, 1, 1), "a");
    replace("localStorage", "throwing");
    let journal = open().await;
    let report = persist(&journal, &slot, &text, version(1, 1, 1), None).await;
    let stored = read(&journal, &slot).await;
    journal.set_local_text("postonce:x", "1");
    let other = journal.local_text("postonce:x");
    restore("localStorage");
    assert_eq!(report, DURABLE);
    assert_eq!(stored, Stored { database: Some(text), local: None });
    assert_eq!(other, None);
}

#[wasm_bindgen_test]
async fn r82_given_a_throwing_database_then_local_storage_compares_and_the_record_is_called_weak() {
    let slot = slot("no-database");
    let text = live(version(1, 1, 1), "a");
    replace("indexedDB", "throwing");
    let journal = open().await;
    let first = persist(&journal, &slot, &text, version(1, 1, 1), None).await;
    let second = persist(&journal, &slot, &live(version(1, 1, 2), "b"), version(1, 1, 2), None).await;
    let stored = read(&journal, &slot).await;
    let works = journal.has_database();
    restore("indexedDB");
    assert_eq!(first, WEAK, "never called durable");
    assert_eq!(second, PersistReport::Outrun(text.clone()));
    assert_eq!(stored, Stored { database: None, local: Some(text) });
    assert!(!works);
}

#[wasm_bindgen_test]
async fn r82_given_no_store_at_all_then_every_persist_says_so() {
    let slot = slot("no-store");
    replace("indexedDB", "throwing");
    replace("localStorage", "throwing");
    let journal = open().await;
    let report = persist(&journal, &slot, &live(version(1, 1, 1), "a"), version(1, 1, 1), None).await;
    let pending = eventually(|done| journal.records(done)).await;
    restore("localStorage");
    restore("indexedDB");
    assert_eq!(report, PersistReport::Failed(StoreFault::Unavailable));
    assert!(pending.is_empty());
}

#[wasm_bindgen_test]
async fn r69_given_a_database_that_never_opens_then_the_journal_goes_on_without_it() {
    let began = millis();
    replace("indexedDB", "hanging");
    let journal = open().await;
    restore("indexedDB");
    assert!(!journal.has_database());
    let report = persist(&journal, &slot("hanging"), &live(version(1, 1, 1), "a"), version(1, 1, 1), None).await;
    assert_eq!(report, WEAK);
    assert!(millis() - began < 4_000.0, "never hangs");
}

#[wasm_bindgen_test]
async fn r83_given_a_full_quota_then_only_own_spent_records_make_room() {
    let (journal, slot) = (open().await, slot("full"));
    let text = live(version(1, 1, 1), "a");
    let spent = self::slot("spent").record_name();
    let just_done = self::slot("just-done").record_name();
    let living = self::slot("living").record_name();
    let foreign = "somebody-elses";
    set_local_text(&spent, &finished(Wall(1)));
    set_local_text(&just_done, &finished(Wall(u64::from(u32::MAX) * HOUR_MS)));
    set_local_text(&living, &text);
    set_local_text(foreign, &finished(Wall(1)));
    full_until_removed(&spent);
    let report = persist(&journal, &slot, &text, version(1, 1, 1), None).await;
    restore_set_item();
    assert_eq!(report, DURABLE);
    assert_eq!(local_text(&slot.record_name()), text);
    assert_eq!(local_text(&spent), NONE);
    for kept in [&just_done, &living, foreign] {
        assert_ne!(local_text(kept), NONE, "never anything but spent records of ours");
    }
}

#[wasm_bindgen_test]
async fn r83_given_a_quota_that_stays_full_then_the_fault_is_named() {
    let (slot, foreign) = (slot("still-full"), "somebody-elses-too");
    set_local_text(foreign, "x");
    replace("indexedDB", "throwing");
    let journal = open().await;
    full_until_removed(foreign);
    let report = persist(&journal, &slot, &live(version(1, 1, 1), "a"), version(1, 1, 1), None).await;
    restore_set_item();
    restore("indexedDB");
    assert_eq!(report, PersistReport::Failed(StoreFault::Quota));
    assert_eq!(local_text(foreign), "x", "never a foreign key");
}

#[wasm_bindgen_test]
async fn r84_given_a_store_that_forgets_then_a_persist_is_never_called_done() {
    let slot = slot("forgetful");
    replace("indexedDB", "throwing");
    let journal = open().await;
    forgetful();
    let report = persist(&journal, &slot, &live(version(1, 1, 1), "a"), version(1, 1, 1), None).await;
    restore_set_item();
    restore("indexedDB");
    assert_eq!(report, PersistReport::Failed(StoreFault::Mismatch));
}

#[wasm_bindgen_test]
async fn r65_given_a_higher_local_copy_then_it_counts_and_pending_lists_the_slot_once() {
    let (journal, slot) = (open().await, slot("higher-local"));
    let (low, high) = (live(version(1, 1, 1), "low"), live(version(1, 2, 1), "high"));
    persist(&journal, &slot, &low, version(1, 1, 1), None).await;
    set_local_text(&slot.record_name(), &high);
    let report = persist(&journal, &slot, &low, version(1, 1, 2), Some(version(1, 1, 1))).await;
    assert_eq!(report, PersistReport::Outrun(high.clone()), "the lower copy never decides");
    let pending = eventually(|done| journal.records(done)).await;
    assert_eq!(pending.iter().filter(|(_, text)| *text == high).count(), 1);
    assert!(!pending.iter().any(|(_, text)| *text == low));
}
