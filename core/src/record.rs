//! The stored form of a slot: what a refresh, a second tab or a restarted browser finds again.
//!
//! Names never carry a version (R27), only the value does ([`SCHEMA`]). Readers accept every older schema, treat a
//! newer one as live and read-only, and report anything else as corrupt; nothing is parsed loosely (R85).

mod read;
mod write;

pub use read::{RecordFault, read};

use alloc::string::String;
use alloc::vec::Vec;

use crate::fingerprint::Digest;
use crate::key::Key;
use crate::machine::state::{Cause, DisputeReason, Doubt, NotSentReason, Ruling, SuspendReason, UnknownReason};
use crate::slot::hash_hex;
use crate::time::{Millis, Wall};

/// Schema of the values written by this version.
pub const SCHEMA: u64 = 1;

/// A longer stored text is not ours (R85).
pub const TEXT_BYTES_MAX: usize = 64 * 1024;

/// Intents left open in one slot; beginning another with the list full is declined.
pub const OPEN_MAX: usize = 16;

/// Orders copies of a record: the higher one wins, whichever store holds it (R65).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Version {
    /// Rises with every new key of the slot.
    pub generation: u32,
    /// Rises with every submit or explicit resend under one key.
    pub round: u32,
    /// Rises with every write.
    pub rev: u32,
    /// Who wrote: two documents that count on from the same copy reach the same three numbers, and a compare and set must
    /// not take one's record for the other's (R68). Zero where an older version wrote.
    pub writer: u32,
}

/// Where the current intent stands, as stored. `Sending` is the write-ahead mark: whoever finds it is in doubt (R19).
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Phase {
    /// The key is reserved, bound to no payload yet.
    #[default]
    Reserved,
    /// An attempt is about to start or out.
    Sending,
    /// Between attempts, or held before the first one.
    Waiting,
    /// Waiting for the same subject to sign in (R62).
    Suspended(SuspendReason),
    /// This request surely ran nothing; the key stays.
    Refused {
        /// HTTP status.
        status: u16,
        /// Problem type.
        kind: String,
    },
    /// `fetch` was never called.
    NotSent(NotSentReason),
    /// May or may not have happened.
    Unknown(UnknownReason),
    /// Answers contradict.
    Disputed(DisputeReason),
}

/// The key that is in use.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Current {
    /// The idempotency key.
    pub key: Key,
    /// Fingerprint of the payload the key is bound to; `None` while only reserved.
    pub digest: Option<Digest>,
    /// When the key was reserved, by this device's clock.
    pub reserved_at: Wall,
    /// The same instant in the server's time as far as known: `Idempotency-First-Sent` (R121).
    pub first_sent: Wall,
    /// Where it stands.
    pub phase: Phase,
    /// Whether it may have happened.
    pub doubt: Doubt,
    /// Attempts claimed in this round (R34).
    pub attempts: u8,
    /// When the round started, by this device's clock.
    pub round_started: Wall,
    /// The round's budget.
    pub budget: Millis,
    /// What of it was spent at the last write.
    pub elapsed: Millis,
    /// No automatic request before (R50).
    pub not_before: Option<Wall>,
    /// The document that drives, and until when nobody else may (R70).
    pub driver: String,
    /// End of the driver's lease.
    pub lease_until: Wall,
    /// The last status check (R53).
    pub checked_at: Wall,
    /// Remembered fields (R88).
    pub remembered: Vec<(String, String)>,
    /// Whose those are: [`owner_of`] the subject. Empty in records of versions that did not say.
    pub owner: String,
}

/// How an intent ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Ending {
    /// Confirmed.
    Succeeded {
        /// The result's id.
        result_id: Option<String>,
        /// An earlier submission did it (R122).
        earlier: Option<Wall>,
    },
    /// Surely not applied and on record.
    Rejected {
        /// HTTP status.
        status: u16,
        /// Problem type.
        kind: String,
    },
    /// Void for ever.
    Fenced,
    /// A person ended it.
    Decided {
        /// The verdict.
        outcome: Ruling,
        /// Who decided.
        by: String,
    },
}

impl Ending {
    /// Whether both cannot be true of one key: done and not done, or two results (R66). A person's ruling is no answer.
    #[must_use]
    pub fn contradicts(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::Succeeded { result_id: Some(a), .. }, Self::Succeeded { result_id: Some(b), .. }) => a != b,
            (Self::Succeeded { .. }, Self::Rejected { .. } | Self::Fenced)
            | (Self::Rejected { .. } | Self::Fenced, Self::Succeeded { .. }) => true,
            (
                Self::Succeeded { .. } | Self::Rejected { .. } | Self::Fenced | Self::Decided { .. },
                Self::Succeeded { .. } | Self::Rejected { .. } | Self::Fenced | Self::Decided { .. },
            ) => false,
        }
    }
}

/// What stays of a finished intent for the echo window (R23).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Tombstone {
    /// The retired key: recomputes the digest of a resubmit.
    pub key: Key,
    /// Fingerprint it was bound to; `None` when it never was, or when another payload holds the key (R122).
    pub digest: Option<Digest>,
    /// How it ended.
    pub ending: Ending,
    /// When, by this device's clock.
    pub at: Wall,
}

/// Where an intent left open by choice stands (R55).
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum OpenEnding {
    /// Still open.
    Unknown,
    /// Settled since.
    Settled(Ending),
    /// The server's fingerprint differs from ours (R57).
    Disputed,
}

/// An intent left open by the person's explicit choice: visible, checkable, fenceable, no longer blocking (R55).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LeftOpen {
    /// Its key.
    pub key: Key,
    /// Its fingerprint.
    pub digest: Option<Digest>,
    /// Its `Idempotency-First-Sent`.
    pub first_sent: Wall,
    /// When its key was reserved, by this device's clock.
    pub reserved_at: Wall,
    /// When it was left, by this device's clock.
    pub left_at: Wall,
    /// Where it stands.
    pub ending: OpenEnding,
}

/// Everything stored for a slot.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Record {
    /// Orders copies.
    pub version: Version,
    /// The key in use, if any.
    pub current: Option<Current>,
    /// What the last finished intent left behind.
    pub last: Option<Tombstone>,
    /// Left open by choice.
    pub open: Vec<LeftOpen>,
}

impl Current {
    /// A freshly reserved key.
    #[must_use]
    pub const fn reserved(key: Key, at: Wall, first_sent: Wall, budget: Millis) -> Self {
        Self {
            key,
            digest: None,
            reserved_at: at,
            first_sent,
            phase: Phase::Reserved,
            doubt: Doubt::None,
            attempts: 0,
            round_started: at,
            budget,
            elapsed: Millis::ZERO,
            not_before: None,
            driver: String::new(),
            lease_until: Wall(0),
            checked_at: Wall(0),
            remembered: Vec::new(),
            owner: String::new(),
        }
    }

    /// Whether a later document must treat it as possibly applied (R20, R121).
    #[must_use]
    pub const fn is_open(&self) -> bool {
        match self.phase {
            Phase::Reserved | Phase::Refused { .. } | Phase::NotSent(_) => matches!(self.doubt, Doubt::Possible { .. }),
            Phase::Sending | Phase::Waiting | Phase::Suspended(_) | Phase::Unknown(_) | Phase::Disputed(_) => true,
        }
    }

    /// Sets the doubt unless an earlier attempt already left one: the first cause stays (R21).
    pub const fn raise_doubt(&mut self, cause: Cause) {
        if matches!(self.doubt, Doubt::None) {
            let first_attempt = if self.attempts == 0 { 1 } else { self.attempts };
            self.doubt = Doubt::Possible { first_attempt, cause };
        }
    }
}

/// What a record says of its subject: enough to know one's own, and no name (R88, R93).
#[must_use]
pub fn owner_of(subject: &str) -> String {
    hash_hex(["owner:", subject].concat().as_bytes())
}

impl Record {
    /// Drops every remembered field value (R93).
    pub fn erase_remembered(&mut self) {
        if let Some(current) = &mut self.current {
            current.remembered.clear();
            current.owner.clear();
        }
    }

    /// Drops remembered values that are somebody else's than `owner`'s, as the next version; answers whether there were
    /// any. Not while a document drives the intent: that one would be outrun (R93).
    #[must_use]
    pub fn erase_unless(&mut self, owner: &str, now: Wall, writer: u32) -> bool {
        let Some(current) = &self.current else { return false };
        if current.remembered.is_empty() || current.owner == owner || current.lease_until > now {
            return false;
        }
        self.erase_remembered();
        self.version.rev = self.version.rev.saturating_add(1);
        self.version.writer = writer;
        true
    }

    /// The higher of two copies; of equals the first (R65).
    #[must_use]
    pub fn newer(self, other: Self) -> Self {
        if other.version > self.version { other } else { self }
    }
}

#[cfg(test)]
mod tests;
