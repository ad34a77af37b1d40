//! The browser module of postonce: the shell around the pure core. It performs what the machine decides and reports
//! what happened; it decides nothing itself. The facade in `js/` is the only caller.

mod callback;
mod clock;
mod digest;
mod driver;
mod fetch;
pub mod host;
pub mod journal;
mod member;
mod page;
mod payload;
mod promise;
pub mod tabs;

use postonce_core::json;
use postonce_core::machine::event::{Event, Target};
use postonce_core::machine::state::Ruling;
use postonce_core::operation::Operation;
use wasm_bindgen::prelude::*;

#[cfg(target_arch = "wasm32")]
use lol_alloc::{FreeListAllocator, LockedAllocator};

use crate::driver::Driver;
use crate::host::Host;

/// Small, and it frees: blocks are merged, so that a page that submits all day stays where it is.
#[cfg(target_arch = "wasm32")]
#[global_allocator]
static ALLOCATOR: LockedAllocator<FreeListAllocator> = LockedAllocator::new(FreeListAllocator::new());

/// One slot in this page.
#[wasm_bindgen]
pub struct Slot(Driver);

fn target(reference: Option<String>) -> Target {
    reference.map_or(Target::Current, Target::Open)
}

#[wasm_bindgen]
impl Slot {
    /// Starts the slot. `options` are the JSON of what the facade has checked.
    #[wasm_bindgen(constructor)]
    #[must_use]
    pub fn new(options: &str, subject: String, object: String, host: Host, base: JsValue) -> Self {
        let options = json::parse(options).unwrap_or(json::Value::Null);
        Self(Driver::start(Operation::from_checked(&options), subject, object, host, base))
    }

    /// First touch of a form, or idle time: a key may be reserved (R1).
    pub fn touch(&self) {
        self.0.touch();
    }

    /// A key that the server wrote into the page (R8).
    pub fn offer_page_key(&self, text: &str) {
        self.0.offer_page_key(text);
    }

    /// The key in use and its first-sent date, with a blank between, as a native POST carries them; nothing while there is
    /// none (R100).
    #[must_use]
    pub fn native_key(&self) -> Option<String> {
        self.0.native_key()
    }

    /// Submits a form's snapshot: its pairs, and the bytes to send unless they are the pairs as JSON (R14).
    pub fn submit_form(&self, pairs: &JsValue, body: JsValue) {
        self.0.submit_form(pairs, body);
    }

    /// A submit whose file could not be read (R17).
    pub fn unreadable(&self) {
        self.0.dispatch(Event::Unreadable);
    }

    /// Submits a payload without a form.
    pub fn submit_json(&self, text: &str) {
        self.0.submit_json(text);
    }

    /// Status check (R56).
    pub fn check(&self, reference: Option<String>) {
        self.0.dispatch(Event::Check(target(reference)));
    }

    /// Same-key resend (R55); with what the form holds now, in case this document did not send the wish itself.
    pub fn resend(&self, pairs: &JsValue, body: JsValue) {
        self.0.resend(pairs, body);
    }

    /// Fence (R61).
    pub fn fence(&self, reference: Option<String>) {
        self.0.dispatch(Event::Fence(target(reference)));
    }

    /// Begin new (R55).
    pub fn begin_new(&self, leave_open: bool) {
        self.0.begin_new(leave_open);
    }

    /// Stop (R22).
    pub fn stop(&self) {
        self.0.dispatch(Event::Stop);
    }

    /// Hand over (R128).
    pub fn hand_over(&self) {
        self.0.dispatch(Event::HandOver);
    }

    /// A person's decision (R128). `false` when the outcome is none of the known words.
    #[must_use]
    pub fn decide(&self, outcome: &str, by: String) -> bool {
        let ruling = Ruling::from_name(outcome);
        let known = ruling.is_some();
        if let Some(outcome) = ruling {
            self.0.dispatch(Event::Decide { outcome, by });
        }
        known
    }

    /// Somebody else is there now (R25, R93).
    pub fn change_subject(&self) {
        self.0.dispatch(Event::SubjectChanged);
    }
}

/// That subject is there now; empty after a logout (R93).
#[wasm_bindgen]
pub fn enter(subject: &str) {
    page::enter(subject);
}

/// Reads the open records of this origin for `pending()`: their texts, one for each slot.
#[wasm_bindgen]
pub fn pending(done: JsValue) {
    page::pending(done);
}
