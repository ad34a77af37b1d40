//! `localStorage`: the copy that is readable at once, and the only one where IndexedDB is missing.

use postonce_core::budget::ECHO_WINDOW;
use postonce_core::machine::event::{Durability, StoreFault};
use postonce_core::record::{self, Record};
use postonce_core::slot::Slot;
use postonce_core::time::Wall;
use wasm_bindgen::prelude::*;

use super::{Claim, HASH_DIGITS, PersistReport, QUARANTINE, Standing, compare, standing};
use crate::member::is_named;

/// Prefix of every name of ours; frozen (R27).
const PREFIX: &str = "postonce:";

// The getter of `localStorage` may throw as well: inside these calls that is caught like the rest (R82).
#[wasm_bindgen]
extern "C" {
    #[wasm_bindgen(catch, js_namespace = localStorage, js_name = getItem)]
    fn get_item(name: &str) -> Result<Option<String>, JsValue>;
    #[wasm_bindgen(catch, js_namespace = localStorage, js_name = setItem)]
    fn set_item(name: &str, text: &str) -> Result<(), JsValue>;
    #[wasm_bindgen(catch, js_namespace = localStorage, js_name = removeItem)]
    fn remove_item(name: &str) -> Result<(), JsValue>;
    #[wasm_bindgen(catch, js_namespace = localStorage, js_name = key)]
    fn name_at(index: u32) -> Result<Option<String>, JsValue>;
    #[wasm_bindgen(js_namespace = Date, js_name = now)]
    fn epoch_millis() -> f64;
}

/// The text under that name; `None` when there is none or the storage is blocked.
pub(super) fn text(name: &str) -> Option<String> {
    get_item(name).ok().flatten()
}

/// Writes, reads back and compares (R84). With the quota full, own finished records make room, once (R83).
pub(super) fn put(name: &str, text: &str) -> Result<(), StoreFault> {
    let mut written = set_item(name, text);
    if written.as_ref().is_err_and(is_quota) {
        prune();
        written = set_item(name, text);
    }
    match written {
        Err(thrown) if is_quota(&thrown) => Err(StoreFault::Quota),
        Err(_) => Err(StoreFault::Unavailable),
        Ok(()) if self::text(name).as_deref() == Some(text) => Ok(()),
        Ok(()) => Err(StoreFault::Mismatch),
    }
}

/// Compare and set with nothing but `localStorage`: other tabs are kept out by the slot lock alone (R67).
pub(super) fn swap(claim: &Claim) -> PersistReport {
    let stored = text(&claim.slot.record_name());
    match compare(stored.as_deref().as_slice(), claim.expect) {
        Err(outrun) => PersistReport::Outrun(outrun),
        Ok(()) => match put_copy(claim) {
            Ok(()) => PersistReport::Done(Durability::Weak),
            Err(fault) => PersistReport::Failed(fault),
        },
    }
}

/// Writes the copy, unless a newer one is there already: without locks a slower tab may come last (R65).
pub(super) fn put_copy(claim: &Claim) -> Result<(), StoreFault> {
    set_aside(&claim.slot);
    let name = claim.slot.record_name();
    match text(&name).as_deref().map(standing) {
        Some(Standing::Unreadable | Standing::Newer(_)) => Err(StoreFault::Mismatch),
        Some(Standing::Ours(version)) if version > claim.version => Ok(()),
        Some(Standing::Ours(_)) | None => put(&name, &claim.text),
    }
}

/// Moves a text that is not a record to another name, where it can still be looked at (R85).
pub(super) fn set_aside(slot: &Slot) {
    let name = slot.record_name();
    let Some(text) = text(&name) else { return };
    if standing(&text) == Standing::Unreadable && remove_item(&name).is_ok() {
        let aside = String::from(PREFIX) + QUARANTINE + slot.hash();
        // With the quota full, the room just freed may be short by the longer name: rather back than lost.
        if set_item(&aside, &text).is_err() {
            let _ = set_item(&name, &text);
        }
    }
}

/// Every record: the hash of its slot and its text.
pub(super) fn records() -> Vec<(String, String)> {
    let mut found = Vec::new();
    let mut index = 0;
    while let Ok(Some(name)) = name_at(index) {
        index += 1;
        if let Some(hash) = name.strip_prefix(PREFIX)
            && is_hash(hash)
            && let Some(text) = text(&name)
        {
            found.push((hash.into(), text));
        }
    }
    found
}

pub(super) fn is_hash(name: &str) -> bool {
    name.len() == HASH_DIGITS && name.bytes().all(|byte| byte.is_ascii_hexdigit())
}

fn is_quota(thrown: &JsValue) -> bool {
    is_named(thrown, "QuotaExceededError")
}

fn prune() {
    let now = Wall(epoch_millis() as u64);
    for (hash, text) in records() {
        if record::read(&text).is_ok_and(|record| is_spent(&record, now)) {
            let _ = remove_item(&(String::from(PREFIX) + &hash));
        }
    }
}

/// Finished, nothing left open, and past the echo window: nobody will ask for it (R87).
fn is_spent(record: &Record, now: Wall) -> bool {
    record.current.is_none()
        && record.open.is_empty()
        && record.last.as_ref().is_none_or(|last| now.since(last.at) >= ECHO_WINDOW)
}
