//! A small generator and the mutations that the tests make with it, the same in every run.

/// Marsaglia's xorshift over 64 bits. The same seed gives the same draws for ever.
#[derive(Clone, Debug)]
pub struct Draw(u64);

/// Longest input that a mutation grows to, in bytes.
const INPUT_BYTES_MAX: usize = 4_096;

/// What parsers look for: a mutation that inserts one gets further than a random byte.
const WORDS: [&str; 36] = [
    "\"",
    "\\",
    "{",
    "}",
    "[",
    "]",
    ",",
    ":",
    "null",
    "true",
    "0",
    "-1",
    "1e5",
    "\\ud800",
    "\\u0000",
    "\r\n",
    "\r",
    ";a=1",
    "@1800000000",
    " GMT",
    "Fri, ",
    "-",
    "+",
    "~0",
    "9223372036854775808",
    "18446744073709551616",
    "4294967296",
    "\"doubt\":{\"first_attempt\":1,\"cause\":\"transport\"}",
    "\"schema\":2",
    "\"phase\":\"reserved\"",
    "idempotent-replayed: true\n",
    "retry-after: 3\n",
    "urn:postonce:problem:fenced",
    "\u{1e}",
    "\u{feff}",
    "é",
];

impl Draw {
    /// A generator; any seed will do.
    #[must_use]
    pub const fn new(seed: u64) -> Self {
        Self(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1)
    }

    /// The next 64 bits.
    pub const fn bits(&mut self) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0
    }

    /// A number below `end`, or 0 when `end` is 0.
    pub fn below(&mut self, end: usize) -> usize {
        let end = u64::try_from(end).unwrap_or(u64::MAX).max(1);
        usize::try_from((self.bits() >> 11) % end).unwrap_or_default()
    }

    /// One to four changes to an input; `other` is what a splice takes from.
    #[must_use]
    pub fn mutate(&mut self, input: &[u8], other: &[u8]) -> Vec<u8> {
        let mut bytes = input.to_vec();
        for _ in 0..=self.below(4) {
            self.change(&mut bytes, other);
        }
        bytes.truncate(INPUT_BYTES_MAX);
        bytes
    }

    fn change(&mut self, bytes: &mut Vec<u8>, other: &[u8]) {
        let at = self.below(bytes.len() + 1);
        match self.below(7) {
            0 => {
                let flip = 1 << self.below(8);
                if let Some(byte) = bytes.get_mut(at) {
                    *byte ^= flip;
                }
            }
            1 => bytes.truncate(at),
            2 => {
                let end = (at + 1 + self.below(8)).min(bytes.len());
                bytes.drain(at.min(end)..end);
            }
            3 | 4 => {
                let word = WORDS.get(self.below(WORDS.len())).copied().unwrap_or_default();
                bytes.splice(at..at, word.bytes());
            }
            5 => {
                let from = self.below(other.len() + 1);
                let tail = other.get(from..).unwrap_or_default();
                bytes.truncate(at);
                bytes.extend_from_slice(tail);
            }
            _ => {
                let end = (at + 1 + self.below(24)).min(bytes.len());
                let copy = bytes.get(at..end).unwrap_or_default().to_vec();
                let to = self.below(bytes.len() + 1);
                bytes.splice(to..to, copy);
            }
        }
    }
}
