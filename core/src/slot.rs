//! The slot: one subject, one operation, one object, and at most one live intent (R26).

use alloc::string::String;

use crate::json::{push_decimal, push_hex};

/// Prefix of every name this library uses in storage and for locks. Frozen: it carries no version (R27).
const PREFIX: &str = "postonce:";

/// Bytes of a hash that are kept; as hex twice as many characters.
const HASH_BYTES: usize = 16;

/// Where an intent lives. Only its hash is ever stored: a slot's name gives neither subject nor object away (R88).
///
/// ```
/// use postonce_core::slot::Slot;
/// let slot = Slot::new("user-7", "order.create", "cart-1");
/// assert_eq!(slot.record_name(), String::from("postonce:") + slot.hash());
/// assert_ne!(slot, Slot::new("user-7", "order.create", "cart-2"));
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Slot {
    hash: String,
}

impl Slot {
    /// The slot of these three, each taken byte by byte.
    ///
    /// The hash is of the three in this order, each as its length in bytes (decimal), a colon, its UTF-8 and a comma, so
    /// no two triples share a text. Frozen for ever: another hash would lose every record out there (R27).
    #[must_use]
    pub fn new(subject: &str, operation: &str, object: &str) -> Self {
        let mut joined = String::new();
        for part in [subject, operation, object] {
            push_decimal(&mut joined, part.len() as u64);
            joined.push(':');
            joined.push_str(part);
            joined.push(',');
        }
        Self { hash: hash_hex(joined.as_bytes()) }
    }

    /// 32 lower-case hex digits.
    #[must_use]
    pub fn hash(&self) -> &str {
        &self.hash
    }

    /// Name of the stored record.
    #[must_use]
    pub fn record_name(&self) -> String {
        named("", &self.hash)
    }

    /// Name of the Web Lock held around a claim (R67).
    #[must_use]
    pub fn lock_name(&self) -> String {
        named("", &self.hash)
    }

    /// Name of the Web Lock held while driving (R70).
    #[must_use]
    pub fn drive_lock_name(&self) -> String {
        named("drive:", &self.hash)
    }
}

fn named(kind: &str, hash: &str) -> String {
    let mut name = String::from(PREFIX);
    name.push_str(kind);
    name.push_str(hash);
    name
}

/// The first 16 bytes of the SHA-256 as 32 lower-case hex digits: a name for something that is not to be named.
#[must_use]
pub fn hash_hex(bytes: &[u8]) -> String {
    let mut text = String::new();
    push_hex(&mut text, hmac_sha256::Hash::hash(bytes).get(..HASH_BYTES).unwrap_or_default());
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn r27_given_a_slot_then_its_names_are_frozen() {
        // printf '6:user-7,12:order.create,6:cart-1,' | sha256sum | cut -c1-32
        let slot = Slot::new("user-7", "order.create", "cart-1");
        assert_eq!(slot.hash(), "83679c600c9a231eef77f18fe405d6ae");
        assert_eq!(slot.record_name(), "postonce:83679c600c9a231eef77f18fe405d6ae");
        assert_eq!(slot.lock_name(), "postonce:83679c600c9a231eef77f18fe405d6ae");
        assert_eq!(slot.drive_lock_name(), "postonce:drive:83679c600c9a231eef77f18fe405d6ae");
        // printf '3:\303\251x,0:,0:,' | sha256sum: lengths count bytes.
        assert_eq!(Slot::new("éx", "", "").hash(), "087ad6421c4f1138eeb23dbae10b6121");
    }

    #[test]
    fn r26_given_parts_that_join_alike_then_the_slots_never_collide() {
        let triples = [
            ("a", "b", "c"),
            ("ab", "", "c"),
            ("a", "bc", ""),
            ("", "ab", "c"),
            ("a,1:b", "", "c"),
            ("a", "b,1:c", ""),
            ("A", "b", "c"),
            ("a", "c", "b"),
        ];
        for (at, (s, o, b)) in triples.iter().enumerate() {
            for (s2, o2, b2) in triples.iter().skip(at + 1) {
                assert_ne!(Slot::new(s, o, b), Slot::new(s2, o2, b2), "{s}/{o}/{b} {s2}/{o2}/{b2}");
            }
        }
    }

    #[test]
    fn r67_given_a_lock_name_then_it_never_starts_with_a_hyphen_or_names_the_subject() {
        let slot = Slot::new("-alice@example.com", "-pay", "-x");
        for name in [slot.record_name(), slot.lock_name(), slot.drive_lock_name()] {
            assert!(name.starts_with("postonce:"));
            assert!(!name.contains("alice") && !name.contains("pay"), "{name}");
        }
    }
}
