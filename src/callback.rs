//! Rust closures as JavaScript functions. One signature for all of them, so that its glue is paid for once.

use std::cell::Cell;
use std::rc::Rc;

use wasm_bindgen::JsValue;
use wasm_bindgen::closure::Closure;

/// Something that is used by whichever of several callbacks comes first.
pub(crate) struct First<T>(Rc<Cell<Option<T>>>);

impl<T> First<T> {
    pub(crate) fn new(value: T) -> Self {
        Self(Rc::new(Cell::new(Some(value))))
    }

    /// The value, for the first caller only.
    pub(crate) fn take(&self) -> Option<T> {
        self.0.take()
    }
}

impl<T> Clone for First<T> {
    fn clone(&self) -> Self {
        Self(Rc::clone(&self.0))
    }
}

/// A function that may be called any number of times. Freed when JavaScript no longer reaches it.
pub(crate) fn repeated(act: impl FnMut(JsValue) + 'static) -> JsValue {
    wrapped(Box::new(act))
}

/// A function whose first call acts and frees what it holds; later calls do nothing.
pub(crate) fn once(act: impl FnOnce(JsValue) + 'static) -> JsValue {
    guarded(Box::new(act))
}

// Both apart and of boxes, so that they are compiled once and not for every closure.
fn guarded(act: Box<dyn FnOnce(JsValue)>) -> JsValue {
    let mut act = Some(act);
    repeated(move |argument| {
        if let Some(act) = act.take() {
            act(argument);
        }
    })
}

fn wrapped(act: Box<dyn FnMut(JsValue)>) -> JsValue {
    Closure::wrap_aborting(act).into_js_value()
}
