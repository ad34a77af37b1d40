//! The idempotency key: the identity of one wish, the same on every attempt (R3, R4).

use alloc::string::{String, ToString};
use core::fmt;

use crate::json::push_hex;

/// Shortest key taken from anywhere, in characters (R9).
pub const KEY_CHARS_MIN: usize = 22;

/// Longest key taken from anywhere, in characters (R9).
pub const KEY_CHARS_MAX: usize = 255;

/// Characters of a reference.
pub const REFERENCE_CHARS: usize = 10;

/// An idempotency key. Its `Debug` shows the [`reference`](Self::reference) only (R92).
///
/// ```
/// use postonce_core::key::Key;
/// let key = Key::from_random([0xab; 16]);
/// assert_eq!(key.as_str(), "abababababababababababababababab");
/// assert_eq!(Key::parse(key.as_str()), Ok(key.clone()));
/// assert_eq!(key.reference().len(), 10);
/// ```
#[derive(Clone, PartialEq, Eq)]
pub struct Key(String);

/// Why a text is no key (R9).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum KeyError {
    /// Fewer than [`KEY_CHARS_MIN`] characters.
    TooShort,
    /// More than [`KEY_CHARS_MAX`] characters.
    TooLong,
    /// A character outside `A-Z a-z 0-9 _ -`.
    Character,
}

impl Key {
    /// A key of 128 random bits as 32 lower-case hex digits. The bytes must come from the host's cryptographic
    /// source; where there is none, no key is made (R3).
    #[must_use]
    pub fn from_random(bytes: [u8; 16]) -> Self {
        let mut text = String::new();
        push_hex(&mut text, &bytes);
        Self(text)
    }

    /// Takes a key that someone else made: `[A-Za-z0-9_-]{22,255}`, compared byte by byte ever after.
    ///
    /// # Errors
    /// [`KeyError`]: of another length, or with another character (R9).
    pub fn parse(text: &str) -> Result<Self, KeyError> {
        if !text.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_' || byte == b'-') {
            Err(KeyError::Character)
        } else if text.len() < KEY_CHARS_MIN {
            Err(KeyError::TooShort)
        } else if text.len() > KEY_CHARS_MAX {
            Err(KeyError::TooLong)
        } else {
            Ok(Self(text.to_string()))
        }
    }

    /// The key itself: for the header, the record and the hash, never for a log (R92).
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// What a person reads out and a log may show: the first 10 characters of the base32 (RFC 4648) of the SHA-256 of
    /// `ref`, a line feed and the key. Client and server get the same (R128), and nobody gets the key back from it.
    #[must_use]
    pub fn reference(&self) -> String {
        let mut hash = hmac_sha256::Hash::new();
        hash.update(b"ref\n".as_slice());
        hash.update(self.0.as_bytes());
        let mut text = String::new();
        // Five bits at a time from a window that never holds more than 12.
        let mut bits: u32 = 0;
        let mut held: u32 = 0;
        for byte in hash.finalize() {
            bits = (bits << 8 | u32::from(byte)) & 0xfff;
            held += 8;
            while held >= 5 && text.len() < REFERENCE_CHARS {
                held -= 5;
                text.push(base32(bits >> held & 31));
            }
            if text.len() >= REFERENCE_CHARS {
                break;
            }
        }
        text
    }
}

fn base32(five_bits: u32) -> char {
    let n = u8::try_from(five_bits).unwrap_or(0);
    char::from(if n < 26 { b'A' + n } else { b'2' - 26 + n })
}

impl fmt::Debug for Key {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Key(ref ")?;
        f.write_str(&self.reference())?;
        f.write_str(")")
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::format;

    #[test]
    fn r3_given_16_random_bytes_then_all_128_bits_are_in_the_key() {
        let bytes = [0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 0xf0, 0xab, 0xcd, 0xef, 0xff];
        assert_eq!(Key::from_random(bytes).as_str(), "000102030405060708090af0abcdefff");
    }

    #[test]
    fn r9_given_a_foreign_key_then_only_the_length_and_alphabet_of_the_contract_pass() {
        assert_eq!(Key::parse(&"a".repeat(21)), Err(KeyError::TooShort));
        assert!(Key::parse(&"a".repeat(22)).is_ok());
        assert!(Key::parse(&"Z9_-".repeat(63)).is_ok());
        assert!(Key::parse(&"a".repeat(255)).is_ok());
        assert_eq!(Key::parse(&"a".repeat(256)), Err(KeyError::TooLong));
        assert_eq!(Key::parse(""), Err(KeyError::TooShort));
        for character in [" ", "\"", "+", "/", "=", ".", ",", "é", "\n", "\0"] {
            assert_eq!(Key::parse(&("a".repeat(30) + character)), Err(KeyError::Character), "{character:?}");
        }
    }

    #[test]
    fn r103_given_keys_that_differ_in_case_then_they_are_two_keys() {
        assert_ne!(Key::parse(&"a".repeat(22)), Key::parse(&"A".repeat(22)));
    }

    #[test]
    fn r128_given_a_key_then_the_reference_is_what_every_other_side_computes() {
        // printf 'ref\n00000000000000000000000000000000' | openssl dgst -sha256 -binary | base32
        assert_eq!(Key::from_random([0; 16]).reference(), "O36EYVUXYR");
        assert_eq!(Key::parse("AAAAAAAAAAAAAAAAAAAAA_-z").map(|key| key.reference()), Ok("GNZALNDL3I".to_string()));
    }

    #[test]
    fn r92_given_a_key_when_it_is_debug_printed_then_the_key_never_shows() {
        let key = Key::from_random([0x5a; 16]);
        let shown = format!("{key:?}");
        assert!(!shown.contains("5a5a"), "{shown}");
        assert_eq!(shown, format!("Key(ref {})", key.reference()));
    }
}
