//! What the module asks of the facade: the page's `fetch` with the application's headers, a form's snapshot, and
//! somebody to tell.

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
    /// A submit of a bound form is about to be answered.
    #[wasm_bindgen(method)]
    pub(crate) fn submitting(this: &Host);
    /// Nothing could be made of the submit of this very call.
    #[wasm_bindgen(method)]
    pub(crate) fn failed(this: &Host, code: &str, item: &str);
    /// A submit begins to be dispatched: what is enabled now belongs to its snapshot.
    #[wasm_bindgen(method)]
    pub(crate) fn entering(this: &Host, form: &JsValue);
    /// `new FormData(form, submitter)` as of the submit, in engines that lack it too.
    #[wasm_bindgen(method, js_name = formData)]
    pub(crate) fn form_data(this: &Host, form: &JsValue, submitter: &JsValue) -> JsValue;
    /// `fetch`, or the application's own; for an attempt (from 1) with its headers read afresh.
    #[wasm_bindgen(method, catch)]
    pub(crate) fn fetch(this: &Host, url: &str, init: &JsValue, attempt: u8) -> Result<JsValue, JsValue>;
}
