//! Binds a form: which submits are ours, when a snapshot is taken, and when a repeat joins without one (R94–R97).

use std::cell::{Cell, RefCell};
use std::rc::Rc;

use postonce_core::time::Millis;
use wasm_bindgen::JsCast as _;
use wasm_bindgen::JsValue;
use wasm_bindgen::prelude::*;
use web_sys::{Element, Event, HtmlFormElement};

use crate::callback::repeated;
use crate::driver::Driver;
use crate::member::{get, set_timeout, text};

/// A page that is not touched reserves its key after this long.
const IDLE_RESERVE: Millis = Millis(200);

#[wasm_bindgen]
extern "C" {
    #[wasm_bindgen(js_name = EventTarget)]
    type Target;
    #[wasm_bindgen(method, js_class = "EventTarget", js_name = addEventListener)]
    fn listen(this: &Target, event: &str, act: &JsValue, capture: bool);
    #[wasm_bindgen(method, js_class = "EventTarget", js_name = removeEventListener)]
    fn forget(this: &Target, event: &str, act: &JsValue, capture: bool);
}

/// A bound form; detached by [`Bound::unbind`], its intent goes on (R77).
pub(crate) struct Bound {
    form: HtmlFormElement,
    listeners: Vec<(&'static str, JsValue, bool)>,
}

/// What the last snapshot was taken of.
struct Last {
    submitter: RefCell<JsValue>,
    edited: Cell<bool>,
}

impl Bound {
    /// Listens to the form's `submit`, never to a click (R94).
    pub(crate) fn bind(form: HtmlFormElement, driver: &Driver) -> Self {
        let last = Rc::new(Last { submitter: RefCell::new(JsValue::NULL), edited: Cell::new(true) });
        let mut bound = Self { form, listeners: Vec::new() };

        // What is enabled before the page's own handlers, which may disable controls (R97); the snapshot itself comes
        // after them, since they may also fill fields in or cancel the submit (R99).
        let (form, to) = (bound.form.clone(), driver.clone());
        bound.listen("submit", repeated(move |_| to.host().entering(&form)), true);
        let (form, of, to) = (bound.form.clone(), Rc::clone(&last), driver.clone());
        bound.listen("submit", repeated(move |event| on_submit(&event.unchecked_into(), &form, &of, &to)), false);

        let touched = Rc::new(Cell::new(false));
        for event in ["input", "change", "reset", "focusin", "pointerdown"] {
            let (of, to, touched) = (Rc::clone(&last), driver.clone(), Rc::clone(&touched));
            let edits = !matches!(event, "focusin" | "pointerdown");
            bound.listen(
                event,
                repeated(move |_| {
                    if edits {
                        of.edited.set(true);
                    }
                    if !touched.replace(true) {
                        to.touch();
                    }
                }),
                false,
            );
        }
        let to = driver.clone();
        set_timeout(&repeated(move |_| to.touch()), u32::try_from(IDLE_RESERVE.0).unwrap_or(0));
        bound
    }

    fn listen(&mut self, event: &'static str, act: JsValue, capture: bool) {
        self.form.unchecked_ref::<Target>().listen(event, &act, capture);
        self.listeners.push((event, act, capture));
    }

    /// Takes the listeners away.
    pub(crate) fn unbind(&mut self) {
        for (event, act, capture) in self.listeners.drain(..) {
            self.form.unchecked_ref::<Target>().forget(event, &act, capture);
        }
    }
}

fn on_submit(event: &Event, form: &HtmlFormElement, last: &Last, driver: &Driver) {
    if event.default_prevented() {
        return;
    }
    let submitter = get(event, "submitter");
    if !is_ours(form, &submitter, &driver.url()) {
        return;
    }
    event.prevent_default();
    driver.host().submitting();
    let same = *last.submitter.borrow() == submitter;
    if driver.is_running() && same && !last.edited.get() {
        // Joins the running intent; `formdata` has fired for it already (R95, R96).
        return;
    }
    let data = driver.host().form_data(form, &submitter);
    last.submitter.replace(submitter);
    last.edited.set(false);
    driver.submit_form(&data);
}

/// GET, dialog, other windows and other addresses are the page's own business (R94).
fn is_ours(form: &HtmlFormElement, submitter: &JsValue, url: &str) -> bool {
    let of = |own: &str, overriding: &str| {
        let button: Option<&Element> = submitter.is_object().then(|| submitter.unchecked_ref());
        button.and_then(|button| button.get_attribute(overriding)).or_else(|| form.get_attribute(own))
    };
    let method = of("method", "formmethod").unwrap_or_default();
    let target = of("target", "formtarget").unwrap_or_default();
    // No method stated: the page bound the form, so it means to send it.
    let sends = method.is_empty() || method.eq_ignore_ascii_case("post");
    let here = target.is_empty() || target.eq_ignore_ascii_case("_self");
    let elsewhere = submitter.is_object()
        && submitter.unchecked_ref::<Element>().has_attribute("formaction")
        && !text(submitter, "formAction").is_some_and(|action| action == url || action.ends_with(url));
    sends && here && !elsewhere
}
