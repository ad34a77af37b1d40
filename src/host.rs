//! What the module asks of the facade: the page's `fetch` with the application's headers, and somebody to tell.

use wasm_bindgen::JsValue;
use wasm_bindgen::prelude::*;

#[wasm_bindgen]
extern "C" {
    /// One slot's listener in the facade.
    #[derive(Clone)]
    pub type Host;

    /// The snapshot changed: its text (`Machine::snapshot`).
    #[wasm_bindgen(method)]
    pub(crate) fn changed(this: &Host, snapshot: &str);
    /// An answer to the submit of this very call (`all` false) or to every waiting one; `detail` is JSON or empty.
    #[wasm_bindgen(method)]
    pub(crate) fn reply(this: &Host, all: bool, kind: &str, detail: &str);
    /// A gesture was declined.
    #[wasm_bindgen(method)]
    pub(crate) fn declined(this: &Host, code: &str);
    /// Nothing could be made of the submit of this very call.
    #[wasm_bindgen(method)]
    pub(crate) fn failed(this: &Host, code: &str, item: &str);
    /// `fetch`, or the application's own; for an attempt (from 1) with its headers read afresh.
    #[wasm_bindgen(method, catch)]
    pub(crate) fn fetch(this: &Host, url: &str, init: &JsValue, attempt: u8) -> Result<JsValue, JsValue>;
}
