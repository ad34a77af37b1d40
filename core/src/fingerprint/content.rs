//! The digest of a file's content, fed in portions (R16).

use alloc::string::String;

use super::Field;
use crate::json::push_hex;

/// SHA-256 of a file's bytes.
///
/// ```
/// use postonce_core::fingerprint::{ContentDigest, Field};
/// let mut digest = ContentDigest::default();
/// digest.update(b"ab");
/// digest.update(b"c");
/// let text = digest.finish();
/// assert!(text.starts_with("ba7816bf"));
/// assert!(matches!(Field::file("a.txt", 3, &text), Some(Field::File { size: 3, .. })));
/// assert!(Field::file("a.txt", 3, "ba78").is_none());
/// ```
#[derive(Default)]
pub struct ContentDigest(hmac_sha256::Hash);

impl ContentDigest {
    /// Feeds the next bytes.
    pub fn update(&mut self, bytes: &[u8]) {
        self.0.update(bytes);
    }

    /// The digest of everything that was fed, as 64 lower-case hex digits.
    #[must_use]
    pub fn finish(self) -> String {
        let mut text = String::new();
        push_hex(&mut text, &self.0.finalize());
        text
    }
}

impl core::fmt::Debug for ContentDigest {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.write_str("ContentDigest")
    }
}

impl Field {
    /// A file by its declared name, its size and its [`ContentDigest`]; `None` when that is none.
    #[must_use]
    pub fn file(name: &str, size: u64, digest: &str) -> Option<Self> {
        let mut sha256 = [0; 32];
        let (digits, rest) = digest.as_bytes().as_chunks::<2>();
        if !rest.is_empty() || digits.len() != sha256.len() {
            return None;
        }
        for (byte, [high, low]) in sha256.iter_mut().zip(digits) {
            let digit = |at: &u8| (*at as char).to_digit(16);
            *byte = (digit(high)? << 4 | digit(low)?) as u8;
        }
        Some(Self::File { name: name.into(), size, sha256 })
    }
}
