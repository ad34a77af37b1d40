//! What the shell has to do, in this order. Each effect is performed once; its report comes back as an event.

use alloc::string::String;
use alloc::vec::Vec;

use super::event::Ticket;
use crate::key::Key;
use crate::record::Version;
use crate::time::{Millis, Wall};

/// The headers of one request, before the shell quotes them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Headers {
    /// `Idempotency-Key`.
    pub key: Key,
    /// `Idempotency-First-Sent`, in the server's time as far as known; `None` in dialects without it.
    pub first_sent: Option<Wall>,
    /// `Idempotency-Deadline`, commands only, likewise.
    pub deadline: Option<Wall>,
    /// `X-Client-Attempt`, commands only.
    pub attempt: Option<u8>,
}

/// What a submit is answered with at once.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Reply {
    /// The state is settled; the snapshot tells which.
    Settled,
    /// Other fields than the live intent's, or a stale document: nothing was sent (R6, R23).
    Conflict {
        /// What is in conflict.
        why: ConflictReason,
        /// The live intent's remembered fields.
        live: Vec<(String, String)>,
        /// The refused submit's remembered fields.
        offered: Vec<(String, String)>,
    },
    /// The same wish was done before this document was loaded (R23).
    AlreadyDone,
    /// Nothing was sent; the state says why.
    Held,
}

/// Why a submit conflicts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ConflictReason {
    /// The significant fields differ.
    Fields,
    /// The document is older than the slot's generation.
    Stale,
    /// The key is bound to another payload at the server (R122).
    KeyReused,
}

impl ConflictReason {
    /// The name used in the public types.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Fields => "fields",
            Self::Stale => "stale",
            Self::KeyReused => "key_reused",
        }
    }
}

/// One thing to do.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Effect {
    /// Compare and set the record: under the slot lock, in one IndexedDB transaction awaited to `complete`, then
    /// `localStorage`, read back (R67, R68). Reported by `Persisted`, `Outrun` or `PersistFailed`.
    Persist {
        /// For the report.
        ticket: Ticket,
        /// The record's text.
        text: String,
        /// Its version.
        version: Version,
        /// What must be stored now for the write to happen; `None`: nothing.
        expect: Option<Version>,
        /// A text that cannot be read counts as nothing: in the same transaction it is moved out of the way, to where it
        /// can still be looked at (R85).
        aside: bool,
    },
    /// Call `fetch` with the snapshot's bytes and these headers; abort after `cap`.
    Send {
        /// The headers.
        headers: Headers,
        /// Attempt of this round, from 1.
        attempt: u8,
        /// The whole attempt, body read included, ends after this.
        cap: Millis,
    },
    /// Abort the attempt that is out, if any.
    Abort,
    /// Ask the status route.
    Check {
        /// For the report.
        ticket: Ticket,
        /// The headers.
        headers: Headers,
        /// The whole inquiry ends after this.
        cap: Millis,
    },
    /// Ask the fence route.
    Fence {
        /// For the report.
        ticket: Ticket,
        /// The headers.
        headers: Headers,
        /// The whole inquiry ends after this.
        cap: Millis,
    },
    /// Try for the drive lock; reported by `DriveGranted` or `DriveBusy` (R70).
    Drive,
    /// Give the drive lock back, or the wait for it up, once every write before this has landed: whoever is next reads them.
    Release,
    /// Take the snapshot as this intent's payload (`true`), or drop the one held (`false`).
    Keep(bool),
    /// The snapshot changed: tell the subscribers and the other tabs.
    Announce,
    /// Answer the submit that caused this very step.
    Reply(Reply),
    /// Answer every submit still waiting.
    ReplyAll(Reply),
    /// A person's word could not be followed.
    Decline(Declined),
}

/// Why a check, resend, fence or new beginning did not happen (R55). Nothing changed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Declined {
    /// An open outcome stands in the way of a new beginning; `leaveOpen` is the person's choice.
    OpenUnknown,
    /// Not in this state.
    NotNow,
    /// The operation declares no route or contract for it.
    NotOffered,
    /// The server asked to wait; gestures are spaced (R50).
    TooSoon,
    /// The key is nearly as old as the server's memory (R28).
    TooOld,
    /// The form no longer holds what was sent (R64).
    OtherFields,
    /// No such open intent.
    NoSuch,
}

impl Declined {
    /// The error code of the public face.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::OpenUnknown => "open_unknown",
            Self::NotNow => "not_now",
            Self::NotOffered => "not_offered",
            Self::TooSoon => "too_soon",
            Self::TooOld => "too_old",
            Self::OtherFields => "other_fields",
            Self::NoSuch => "no_such",
        }
    }
}

/// The effects of one step, in order.
pub type Effects = Vec<Effect>;

/// Why the machine wants to be woken.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WakeReason {
    /// The attempt's cap or the round's deadline.
    AttemptEnds,
    /// The wait is over.
    WaitEnds,
    /// The next poll of the status, or the end of the inquiry.
    Poll,
    /// Another driver's lease ends.
    LeaseEnds,
}
