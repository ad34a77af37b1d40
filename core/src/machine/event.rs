//! What can happen to a slot. Time and random bytes come in here, never from the machine itself.

use alloc::string::String;
use alloc::vec::Vec;

use super::state::Ruling;
use crate::fingerprint::Canonical;
use crate::verdict::Answer;

/// Names one persist or inquiry, so that a late report of an older one is told apart.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Ticket(pub u32);

/// Sixteen bytes of a CSPRNG (R3), drawn by the host for this event. Only a key that is really minted uses them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Entropy(pub [u8; 16]);

/// What the person wants done, taken once from the form at submit (R44).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Wish {
    /// Canonical bytes of the significant fields.
    pub canonical: Canonical,
    /// The fields that the operation may remember, as text (R88).
    pub remembered: Vec<(String, String)>,
    /// The significant fields that `expect` compares with a result (R126); kept in memory only.
    pub expected: Vec<(String, String)>,
}

/// Why a store did not take or give a record.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StoreFault {
    /// No store works at all (blocked, absent, private mode).
    Unavailable,
    /// The quota is full.
    Quota,
    /// What was read back differs from what was written (R84).
    Mismatch,
}

/// How well the page's writes are kept.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Durability {
    /// IndexedDB took it: it survives a killed browser (R121).
    Durable,
    /// Only `localStorage` took it: the last seconds may be lost in a kill.
    Weak,
    /// Memory only.
    #[default]
    None,
}

/// Which intent a person's word is about.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Target {
    /// The slot's current one.
    Current,
    /// One left open earlier, by its reference (R55).
    Open(String),
}

/// Everything that can happen.
#[derive(Clone, Debug)]
pub enum Event {
    /// The stores were read at load: raw texts, one for each store that had something.
    Loaded {
        /// Text of the highest generation in IndexedDB.
        database: Option<String>,
        /// Text in `localStorage`.
        local: Option<String>,
    },
    /// First touch of the form, or idle time: a key may be reserved (R1).
    Touched(Entropy),
    /// The person submits.
    Submit(Wish, Entropy),
    /// The persist with that ticket is complete.
    Persisted(Ticket, Durability),
    /// The persist with that ticket found another record than expected; this is its text.
    Outrun(Ticket, String),
    /// A submit whose file could not be read: nothing of it can be sent (R17).
    Unreadable,
    /// The persist with that ticket failed.
    PersistFailed(Ticket, StoreFault),
    /// A hint made the shell read the store again (R72).
    RecordSeen {
        /// The database's text.
        database: Option<String>,
        /// The copy in `localStorage`.
        local: Option<String>,
    },
    /// The attempt was answered, body read.
    Answered {
        /// Which attempt of the current round.
        attempt: u8,
        /// What was seen.
        answer: Answer,
    },
    /// `fetch` rejected, or was aborted, after it was called.
    TransportFailed {
        /// Which attempt.
        attempt: u8,
    },
    /// `fetch` threw before it sent anything.
    NotCalled {
        /// Which attempt.
        attempt: u8,
    },
    /// The status check or fence with that ticket was answered.
    Inquired(Ticket, Answer),
    /// The status check or fence with that ticket failed.
    InquiryFailed(Ticket),
    /// The wake-up of [`super::Machine::next_wake`], or any spurious one.
    Timer,
    /// The person asks for a status check.
    Check(Target),
    /// The person asks for a same-key resend: the next round (R55). The wish is what the form holds, where this
    /// document no longer holds the one that was sent.
    Resend(Option<Wish>),
    /// The person wants certainty (R61).
    Fence(Target),
    /// The person explicitly wants a new one (R55).
    BeginNew {
        /// Told that both may happen, the person goes on all the same.
        leave_open: bool,
        /// For the new key.
        entropy: Entropy,
    },
    /// The person stops waiting (R22).
    Stop,
    /// The person hands it to somebody (R128).
    HandOver,
    /// A person ends it (R128).
    Decide {
        /// The verdict.
        outcome: Ruling,
        /// Who decided.
        by: String,
    },
    /// `navigator.onLine` or its events.
    Online(bool),
    /// The page is shown again or visible (R63).
    Shown,
    /// The document is back from the back/forward cache; what was out may have been cut there (R75).
    Returned,
    /// The drive lock was granted: no other document drives (R70).
    DriveGranted,
    /// Another document holds the drive lock.
    DriveBusy,
    /// There are no locks here (R71).
    DriveUnsupported,
    /// Another subject is there now, or nobody (R25, R93).
    SubjectChanged,
}
