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

    /// Another value, for whoever comes next.
    pub(crate) fn put(&self, value: T) {
        self.0.set(Some(value));
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
pub(crate) fn repeated(mut act: impl FnMut(JsValue) + 'static) -> JsValue {
    answering(move |argument| {
        act(argument);
        JsValue::UNDEFINED
    })
}

/// A function whose first call acts and frees what it holds; later calls do nothing.
pub(crate) fn once(act: impl FnOnce(JsValue) + 'static) -> JsValue {
    let mut act = Some(act);
    repeated(move |argument| {
        if let Some(act) = act.take() {
            act(argument);
        }
    })
}

/// A function that answers its caller.
pub(crate) fn answering(act: impl FnMut(JsValue) -> JsValue + 'static) -> JsValue {
    let boxed: Box<dyn FnMut(JsValue) -> JsValue> = Box::new(act);
    Closure::wrap_aborting(boxed).into_js_value()
}
