//! Promises, followed by callbacks: a future would be paid for in bytes.

use wasm_bindgen::JsCast as _;
use wasm_bindgen::prelude::*;

use crate::callback::{First, once};

#[wasm_bindgen]
extern "C" {
    type Promise;
    #[wasm_bindgen(method, catch)]
    fn then(this: &Promise, fulfilled: &JsValue, rejected: &JsValue) -> Result<JsValue, JsValue>;
}

type Settled = Result<JsValue, JsValue>;
type Done = First<Box<dyn FnOnce(Settled)>>;

/// Calls back once with what the promise becomes. Something that is no promise counts as rejected.
pub(crate) fn follow(promise: &JsValue, done: impl FnOnce(Settled) + 'static) {
    let done: Done = First::new(Box::new(done));
    let fulfilled = settle(&done, Ok);
    let rejected = settle(&done, Err);
    if let Err(thrown) = promise.unchecked_ref::<Promise>().then(&fulfilled, &rejected)
        && let Some(done) = done.take()
    {
        done(Err(thrown));
    }
}

fn settle(done: &Done, wrap: fn(JsValue) -> Settled) -> JsValue {
    let done = done.clone();
    once(move |value| {
        if let Some(done) = done.take() {
            done(wrap(value));
        }
    })
}
