//! The page's clocks, read at the moment they are asked; tests replace them.

use postonce_core::time::{Mono, Now, Wall};
use wasm_bindgen::prelude::*;

#[wasm_bindgen]
extern "C" {
    #[wasm_bindgen(js_namespace = performance, js_name = now)]
    fn performance_now() -> f64;
    #[wasm_bindgen(js_namespace = Date, js_name = now)]
    fn date_now() -> f64;
}

/// Both clocks, taken together. Fractions of a millisecond are dropped.
#[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss)] // a float cast saturates
pub(crate) fn now() -> Now {
    Now { mono: Mono(performance_now() as u64), wall: Wall(date_now() as u64) }
}
