//! A file's content digest, fed in portions: a whole file need not lie in memory, and a plain-http page can do it too (R16).

use postonce_core::fingerprint::ContentDigest;
use wasm_bindgen::prelude::*;

/// SHA-256 of what it is fed.
#[wasm_bindgen]
#[derive(Default)]
pub struct Digest(ContentDigest);

#[wasm_bindgen]
impl Digest {
    /// Of nothing yet.
    #[wasm_bindgen(constructor)]
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Feeds the next bytes.
    pub fn update(&mut self, bytes: &[u8]) {
        self.0.update(bytes);
    }

    /// The digest of all bytes, as the fingerprint takes it.
    #[must_use]
    pub fn finish(self) -> String {
        self.0.finish()
    }
}
