//! What must hold for any input: each target takes bytes and fails by panicking, the way libFuzzer reports it.
//!
//! `npm run fuzz` searches with coverage; the tests replay the kept corpus and a fixed number of mutations of it.
//! The targets assert more than the absence of a panic: a second reader agrees, what is written reads back, no wait is
//! shorter than was asked for, nothing is shown as settled that is in doubt.

mod answers;
mod commands;
mod draw;
mod fields;
mod payloads;
mod records;
mod seeds;
mod waits;

pub use draw::Draw;
pub use seeds::seeds;

/// One fuzz target.
#[derive(Clone, Copy, Debug)]
pub struct Target {
    /// Its name, on the command line and in `fuzz/corpus`.
    pub name: &'static str,
    /// Takes any bytes; panics when a property does not hold.
    pub run: fn(&[u8]),
}

/// Every parser of the core, by what it reads.
pub const TARGETS: [Target; 10] = [
    Target { name: "json", run: payloads::json },
    Target { name: "fingerprint", run: payloads::fingerprint },
    Target { name: "form", run: payloads::form },
    Target { name: "record", run: records::record },
    Target { name: "verdict", run: answers::verdict },
    Target { name: "status", run: answers::status },
    Target { name: "retry_after", run: waits::retry_after },
    Target { name: "http_date", run: waits::http_date },
    Target { name: "structured", run: fields::structured },
    Target { name: "options", run: commands::options },
];

/// The target of that name.
#[must_use]
pub fn target(name: &str) -> Option<&'static Target> {
    TARGETS.iter().find(|target| target.name == name)
}

/// Bytes as text; what is no UTF-8 becomes replacement characters, as a browser hands it over.
fn lossy(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}
