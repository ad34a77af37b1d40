//! Callbacks as futures, for tests.

use std::cell::Cell;
use std::future::poll_fn;
use std::rc::Rc;
use std::task::{Poll, Waker};

use wasm_bindgen::JsValue;
use wasm_bindgen::closure::Closure;

/// Waits for what `start` passes to the callback it is given.
pub(crate) async fn eventually<T: 'static>(start: impl FnOnce(Box<dyn FnOnce(T)>)) -> T {
    let arrived: Rc<Cell<Option<T>>> = Rc::default();
    let waiting: Rc<Cell<Option<Waker>>> = Rc::default();
    let (put, wake) = (Rc::clone(&arrived), Rc::clone(&waiting));
    start(Box::new(move |value| {
        put.set(Some(value));
        if let Some(waker) = wake.take() {
            waker.wake();
        }
    }));
    poll_fn(move |context| {
        waiting.set(Some(context.waker().clone()));
        arrived.take().map_or(Poll::Pending, Poll::Ready)
    })
    .await
}

/// Waits for what JavaScript calls the given function with.
pub(crate) async fn called_back(start: impl FnOnce(&JsValue)) -> JsValue {
    eventually(|done| start(&Closure::once_into_js(move |value: JsValue| done(value)))).await
}
