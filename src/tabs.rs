//! Other tabs: locks that keep them apart and hints that make them look again, by way of `js/tabs.js`.

use wasm_bindgen::prelude::*;

use crate::callback::{once, repeated};
use crate::journal::Journal;
use crate::member::{call, get};

/// Name of the channel and prefix of every stored name; frozen (R27).
const CHANNEL: &str = "postonce";
const PREFIX: &str = "postonce:";

// Each takes a text: see `journal`.
#[wasm_bindgen(module = "/src/js/tabs.js")]
extern "C" {
    fn tabs(name: &str) -> JsValue;
    fn lock(tabs: &JsValue, name: &str, wait_ms: u32, run: &JsValue);
    fn drive(tabs: &JsValue, name: &str, run: &JsValue) -> JsValue;
    fn hint(tabs: &JsValue, slot: &str);
    #[wasm_bindgen(js_name = onHint)]
    fn on_hint(tabs: &JsValue, prefix: &str, act: &JsValue);
}

/// What keeps two tabs from driving one intent (R71).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Coordination {
    /// Web Locks.
    Locks,
    /// Only the compare and set of IndexedDB and the lease in the record.
    Database,
    /// Nothing; to be shown.
    None,
}

impl Coordination {
    /// The name used in the public types.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Locks => "locks",
            Self::Database => "database",
            Self::None => "none",
        }
    }
}

/// A lock that is held, or waited for, until this is dropped; empty where there are no locks.
#[must_use = "dropping it gives the lock back"]
pub struct Hold(JsValue);

impl Drop for Hold {
    fn drop(&mut self) {
        if self.0.is_function() {
            call(&self.0, &JsValue::UNDEFINED);
        }
    }
}

/// Whether this document may drive (R70).
pub enum Drive {
    /// No other document does, as long as this is held.
    Granted(Hold),
    /// Another document does.
    Busy,
    /// No locks here: the lease in the record decides alone.
    Unsupported,
}

/// The other tabs of this origin, as this document sees them.
///
/// ```no_run
/// use postonce::tabs::Tabs;
/// use postonce_core::slot::Slot;
/// let tabs = Tabs::new();
/// let slot = Slot::new("user-7", "order.create", "cart-1");
/// tabs.under_slot_lock(&slot.lock_name(), 1_000, |hold| drop(hold), || {});
/// ```
pub struct Tabs(JsValue);

impl Default for Tabs {
    fn default() -> Self {
        Self::new()
    }
}

impl Tabs {
    /// Looks what this browser offers; never fails.
    #[must_use]
    pub fn new() -> Self {
        Self(tabs(CHANNEL))
    }

    /// What keeps tabs apart, as far as is known now (R71).
    #[must_use]
    pub fn coordination(&self, journal: &Journal) -> Coordination {
        if get(&self.0, "locks").is_truthy() {
            Coordination::Locks
        } else if journal.has_database() {
            Coordination::Database
        } else {
            Coordination::None
        }
    }

    /// Runs `work` while no other document holds the lock of that name. After `wait_ms` (from 1) without it `timed_out` runs
    /// instead: nothing is ever stolen (R67, R69). Without locks `work` runs at once: the store's compare and set is
    /// what counts. Exactly one of the two runs, once.
    pub fn under_slot_lock(
        &self,
        name: &str,
        wait_ms: u32,
        work: impl FnOnce(Hold) + 'static,
        timed_out: impl FnOnce() + 'static,
    ) {
        let run = once(move |release| if release.is_null() { timed_out() } else { work(Hold(release)) });
        lock(&self.0, name, wait_ms, &run);
    }

    /// Takes the lock of that name if nobody holds it. Else that is reported, and once more when its turn has come, as
    /// long as what is returned is kept: a driver that dies is followed at once (R70).
    #[must_use = "dropping it ends the wait"]
    pub fn drive(&self, name: &str, report: impl Fn(Drive) + 'static) -> Hold {
        let run = repeated(move |release| {
            report(if release.is_null() {
                Drive::Busy
            } else if release.is_undefined() {
                Drive::Unsupported
            } else {
                Drive::Granted(Hold(release))
            });
        });
        Hold(drive(&self.0, name, &run))
    }

    /// Tells the other tabs that the record of this slot may have changed (R72).
    pub fn hint(&self, slot_hash: &str) {
        hint(&self.0, slot_hash);
    }

    /// Calls `act` with the hash of a slot that another tab may have changed, or with an empty text when it may be any
    /// of them. Only a hint: whoever gets it reads the store (R72). Call it once.
    pub fn on_hint(&self, act: impl Fn(&str) + 'static) {
        on_hint(&self.0, PREFIX, &repeated(move |slot| act(&slot.as_string().unwrap_or_default())));
    }
}
