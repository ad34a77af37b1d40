//! Other tabs: locks that keep them apart and hints that make them look again.

use std::cell::Cell;
use std::rc::Rc;

use wasm_bindgen::JsCast as _;
use wasm_bindgen::prelude::*;

use crate::callback::{First, answering, once, repeated};
use crate::journal::Journal;
use crate::member::{get, is_named, object, set, set_timeout, text};

/// Name of the channel and, with a colon, prefix of every stored name; frozen (R27).
const NAME: &str = "postonce";

// Whatever is missing in this browser throws when named; inside a caught call that is an answer like any other.
#[wasm_bindgen]
extern "C" {
    #[wasm_bindgen(catch, js_namespace = ["navigator", "locks"], js_name = valueOf)]
    fn probe_locks() -> Result<JsValue, JsValue>;
    #[wasm_bindgen(catch, js_namespace = ["navigator", "locks"], js_name = request)]
    fn request_lock(name: &str, options: &JsValue, granted: &JsValue) -> Result<Promise, JsValue>;
    #[wasm_bindgen(js_name = addEventListener)]
    fn listen(event: &str, act: &JsValue);

    #[wasm_bindgen(js_name = AbortController)]
    type AbortController;
    #[wasm_bindgen(constructor, catch)]
    fn new() -> Result<AbortController, JsValue>;
    #[wasm_bindgen(method)]
    fn abort(this: &AbortController);

    type Promise;
    #[wasm_bindgen(constructor)]
    fn new(executor: &JsValue) -> Promise;
    #[wasm_bindgen(method, js_name = catch)]
    fn on_rejected(this: &Promise, act: &JsValue) -> Promise;

    type Function;
    #[wasm_bindgen(method)]
    fn call(this: &Function, receiver: &JsValue);

    #[wasm_bindgen(js_name = BroadcastChannel)]
    type Channel;
    #[wasm_bindgen(constructor, catch, js_class = "BroadcastChannel")]
    fn new(name: &str) -> Result<Channel, JsValue>;
    #[wasm_bindgen(method, catch, js_name = postMessage)]
    fn post(this: &Channel, hint: &JsValue) -> Result<(), JsValue>;
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

/// A lock that is held until this is dropped; empty where there are no locks.
#[must_use = "dropping it gives the lock back"]
pub struct Hold {
    release: Option<Function>,
}

impl Drop for Hold {
    fn drop(&mut self) {
        if let Some(release) = &self.release {
            release.call(&JsValue::UNDEFINED);
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
pub struct Tabs {
    channel: Option<Channel>,
    /// Falls when a request is refused for another reason than time: an opaque origin has locks it may not use.
    locks_work: Rc<Cell<bool>>,
}

impl Default for Tabs {
    fn default() -> Self {
        Self::new()
    }
}

impl Tabs {
    /// Looks what this browser offers; never fails.
    #[must_use]
    pub fn new() -> Self {
        let locks_work = probe_locks().is_ok_and(|locks| locks.is_object());
        Self { channel: Channel::new(NAME).ok(), locks_work: Rc::new(Cell::new(locks_work)) }
    }

    /// What keeps tabs apart, as far as is known now (R71).
    #[must_use]
    pub fn coordination(&self, journal: &Journal) -> Coordination {
        if self.locks_work.get() {
            Coordination::Locks
        } else if journal.has_database() {
            Coordination::Database
        } else {
            Coordination::None
        }
    }

    /// Runs `work` while no other document holds the lock of that name. After `wait_ms` without it `timed_out` runs
    /// instead: nothing is ever stolen (R67, R69). Without locks `work` runs at once: the store's compare and set is
    /// what counts. Exactly one of the two runs, once.
    pub fn under_slot_lock(
        &self,
        name: &str,
        wait_ms: u32,
        work: impl FnOnce(Hold) + 'static,
        timed_out: impl FnOnce() + 'static,
    ) {
        let work: Box<dyn FnOnce(Hold)> = Box::new(work);
        let next = First::new((work, timed_out));
        let granted = {
            let next = next.clone();
            move |_| next.take().map_or(JsValue::UNDEFINED, |(work, _)| holding(work))
        };
        let failed = {
            let next = next.clone();
            move |fault| match (next.take(), fault) {
                (Some((_, timed_out)), LockFault::Aborted) => timed_out(),
                (Some((work, _)), LockFault::Unusable) => work(Hold { release: None }),
                (None, LockFault::Aborted | LockFault::Unusable) => {}
            }
        };
        let options = object();
        if let Ok(controller) = AbortController::new() {
            set(&options, "signal", &get(&controller, "signal"));
            // Of no effect once the lock is granted.
            set_timeout(&once(move |_| controller.abort()), wait_ms);
        }
        self.request(name, &options, granted, failed);
    }

    /// Takes the lock of that name if nobody holds it; waits for nobody (R70).
    pub fn try_drive(&self, name: &str, done: impl FnOnce(Drive) + 'static) {
        let done: First<Box<dyn FnOnce(Drive)>> = First::new(Box::new(done));
        let granted = {
            let done = done.clone();
            move |lock: JsValue| {
                let Some(done) = done.take() else { return JsValue::UNDEFINED };
                if lock.is_falsy() {
                    done(Drive::Busy);
                    return JsValue::UNDEFINED;
                }
                holding(Box::new(move |hold| done(Drive::Granted(hold))))
            }
        };
        let failed = move |_| {
            if let Some(done) = done.take() {
                done(Drive::Unsupported);
            }
        };
        let options = object();
        set(&options, "ifAvailable", &true.into());
        self.request(name, &options, granted, failed);
    }

    /// Tells the other tabs that the record of this slot may have changed (R72).
    pub fn hint(&self, slot_hash: &str) {
        if let Some(channel) = &self.channel {
            let hint = object();
            set(&hint, "slot", &slot_hash.into());
            // Other tabs look again when they are shown; a lost hint is only slower.
            let _ = channel.post(&hint);
        }
    }

    /// Calls `act` with the hash of a slot that another tab may have changed, or with an empty text when it may be any
    /// of them. Only a hint: whoever gets it reads the store (R72). Call it once.
    pub fn on_hint(&self, act: impl Fn(&str) + 'static) {
        let act = Rc::new(act);
        if let Some(channel) = &self.channel {
            let act = Rc::clone(&act);
            let on_message = repeated(move |event| {
                if let Some(slot) = text(&get(&event, "data"), "slot") {
                    act(&slot);
                }
            });
            set(channel, "onmessage", &on_message);
        }
        let on_storage = repeated(move |event| match text(&event, "key") {
            // The whole storage was cleared.
            None => act(""),
            Some(key) => {
                if let Some(slot) = key.strip_prefix(NAME).and_then(|rest| rest.strip_prefix(':')) {
                    act(slot);
                }
            }
        });
        listen("storage", &on_storage);
    }

    fn request(
        &self,
        name: &str,
        options: &JsValue,
        granted: impl FnMut(JsValue) -> JsValue + 'static,
        failed: impl FnOnce(LockFault) + 'static,
    ) {
        match request_lock(name, options, &answering(granted)) {
            Err(_) => {
                self.locks_work.set(false);
                failed(LockFault::Unusable);
            }
            Ok(promise) => {
                let locks_work = Rc::clone(&self.locks_work);
                let _ = promise.on_rejected(&once(move |thrown| {
                    if is_named(&thrown, "AbortError") {
                        failed(LockFault::Aborted);
                    } else {
                        locks_work.set(false);
                        failed(LockFault::Unusable);
                    }
                }));
            }
        }
    }
}

/// Why a lock was not granted.
enum LockFault {
    /// The wait was ended.
    Aborted,
    /// Locks cannot be used here.
    Unusable,
}

/// The lock stays held until the promise returned here is resolved, which the hold does.
fn holding(work: Box<dyn FnOnce(Hold)>) -> JsValue {
    let released = First::new(JsValue::UNDEFINED);
    let kept = released.clone();
    let promise = Promise::new(&once(move |resolve| kept.put(resolve)));
    work(Hold { release: released.take().map(JsValue::unchecked_into) });
    promise.into()
}
