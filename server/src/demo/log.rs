//! The request log of the demo: what arrived, what was done to it, what was answered. It shows keys in the clear, which
//! nothing outside a demo may do (R92); tests count them.

use std::sync::Mutex;

use serde::Serialize;

/// Requests kept; the oldest go first.
const ENTRIES_MAX: usize = 10_000;

/// One request.
#[derive(Clone, Debug, Default, Serialize)]
pub(crate) struct Entry {
    /// Counts from 1 since the last reset.
    pub(crate) n: u64,
    pub(crate) method: String,
    pub(crate) path: String,
    pub(crate) operation: String,
    /// The key itself, without quotes; `None` when there was none or it was malformed.
    pub(crate) key: Option<String>,
    /// What a log outside a demo would show instead.
    pub(crate) key_ref: Option<String>,
    /// The key header as it came.
    pub(crate) key_header: Option<String>,
    pub(crate) attempt: Option<u32>,
    pub(crate) content_type: Option<String>,
    /// Milliseconds since the Unix epoch.
    pub(crate) received_at: u64,
    pub(crate) first_sent: Option<String>,
    pub(crate) deadline: Option<String>,
    pub(crate) subject: Option<String>,
    /// SHA-256 of the body in hex: equal bytes, equal digest.
    pub(crate) body_sha256: Option<String>,
    pub(crate) fault: Option<String>,
    /// How it ended; `null` while it runs.
    pub(crate) status: Option<Answered>,
    /// When it ended, in milliseconds since the Unix epoch.
    pub(crate) answered_at: Option<u64>,
    /// The replay marker of the answer, where it carried one.
    pub(crate) replayed: Option<bool>,
}

/// How a request ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(untagged)]
pub(crate) enum Answered {
    /// With this status.
    Status(u16),
    /// Without one.
    Silence(Silence),
}

/// Why there was no status.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum Silence {
    /// The demo closed the connection.
    Dropped,
    /// The client did.
    ClientLeft,
}

/// The log.
#[derive(Debug, Default)]
pub(crate) struct Log(Mutex<State>);

#[derive(Debug, Default)]
struct State {
    entries: Vec<Entry>,
    last: u64,
}

impl Log {
    /// Adds a request and answers its number.
    pub(crate) fn add(&self, mut entry: Entry) -> u64 {
        let mut state = self.lock();
        state.last += 1;
        entry.n = state.last;
        if state.entries.len() >= ENTRIES_MAX {
            state.entries.remove(0);
        }
        state.entries.push(entry);
        state.last
    }

    /// Changes request `n`, if it is still there.
    pub(crate) fn update(&self, n: u64, change: impl FnOnce(&mut Entry)) {
        if let Some(entry) = self.lock().entries.iter_mut().rev().find(|entry| entry.n == n) {
            change(entry);
        }
    }

    /// Everything, oldest first.
    pub(crate) fn entries(&self) -> Vec<Entry> {
        self.lock().entries.clone()
    }

    /// Forgets everything.
    pub(crate) fn clear(&self) {
        *self.lock() = State::default();
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, State> {
        // A log half written is still a log.
        self.0.lock().unwrap_or_else(std::sync::PoisonError::into_inner)
    }
}
