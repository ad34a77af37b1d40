//! A stored record and its states. `in_progress` becomes `completed`, `rejected` or `uncertain`; `uncertain` may still
//! be settled by its owner or a person; `fenced` is a tombstone that never changes.

use alloc::string::String;
use alloc::vec::Vec;

use super::policy::RecoveryClass;
use crate::planted::{self, Bug};
use crate::time::Wall;

/// One key's record as the store holds it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Record {
    /// Name of the operation the key was first used for.
    pub operation: String,
    /// Digest text with its version; `None` only in a tombstone that never saw a payload (R104).
    pub fingerprint: Option<String>,
    /// When the record was made, by the store's clock.
    pub first_seen: Wall,
    /// When it last changed, by the store's clock.
    pub changed: Wall,
    /// Where it stands.
    pub state: RecordState,
}

/// Where a record stands.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum RecordState {
    /// Somebody holds the claim.
    InProgress(Claim),
    /// The effect happened and this is its answer.
    Completed(Stored),
    /// The domain refused; the effect did not happen and this is its answer.
    Rejected(Stored),
    /// Nobody can tell; a person or the owner may still settle it.
    Uncertain,
    /// Void for ever.
    Fenced,
}

/// Time-limited ownership of a record.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Claim {
    /// Who holds it, for a person reading the store.
    pub owner: String,
    /// Fencing token from one rising sequence: a write with an older one is refused (R110).
    pub token: u64,
    /// Whether the effect may have begun.
    pub phase: Phase,
    /// First instant at which the claim no longer holds.
    pub lease_until: Wall,
}

/// How far the owner of a claim had come.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Phase {
    /// Reserved, the effect has surely not begun.
    Reserved,
    /// `started` was committed: the effect may have begun.
    Started {
        /// When, by the store's clock.
        at: Wall,
    },
}

/// A terminal answer as it is kept for replays.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Stored {
    /// HTTP status of the first answer.
    pub status: u16,
    /// Its content type.
    pub content_type: String,
    /// Its `Location`, if it had one.
    pub location: Option<String>,
    /// The id of what was made, if the operation names one.
    pub result_id: Option<String>,
    /// Its body.
    pub body: StoredBody,
}

/// The body of a terminal answer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum StoredBody {
    /// Byte for byte what was answered first.
    Kept(Vec<u8>),
    /// Larger than the cap or past its own retention; the result id remains (R115).
    Unavailable,
}

/// The states a status answer can name, records or not.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum StateName {
    /// A claim is held.
    InProgress,
    /// Done.
    Completed,
    /// Refused by the domain.
    Rejected,
    /// Nobody can tell.
    Uncertain,
    /// Void for ever.
    Fenced,
    /// No record, and the key is older than the retention.
    Expired,
    /// No record now; a late copy can still arrive (R59).
    NotFound,
}

impl StateName {
    /// Every name, records first.
    pub const ALL: [Self; 7] = [
        Self::InProgress,
        Self::Completed,
        Self::Rejected,
        Self::Uncertain,
        Self::Fenced,
        Self::Expired,
        Self::NotFound,
    ];

    /// The snake_case name on the wire and in the store.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::InProgress => "in_progress",
            Self::Completed => "completed",
            Self::Rejected => "rejected",
            Self::Uncertain => "uncertain",
            Self::Fenced => "fenced",
            Self::Expired => "expired",
            Self::NotFound => "not_found",
        }
    }

    /// Reads a wire name; `None` for any other text.
    #[must_use]
    pub fn parse(text: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|name| name.as_str() == text)
    }
}

impl RecordState {
    /// The state's wire name.
    #[must_use]
    pub const fn name(&self) -> StateName {
        match self {
            Self::InProgress(_) => StateName::InProgress,
            Self::Completed(_) => StateName::Completed,
            Self::Rejected(_) => StateName::Rejected,
            Self::Uncertain => StateName::Uncertain,
            Self::Fenced => StateName::Fenced,
        }
    }

    /// Whether `next` may follow this state in the life of one record. A terminal state and a tombstone are final;
    /// `uncertain` waits for its owner or a person and never expires by itself (R116).
    #[must_use]
    pub const fn may_become(&self, next: StateName) -> bool {
        match self {
            Self::InProgress(_) => matches!(next, StateName::Completed | StateName::Rejected | StateName::Uncertain),
            Self::Uncertain => matches!(next, StateName::Completed | StateName::Rejected),
            Self::Completed(_) | Self::Rejected(_) | Self::Fenced => false,
        }
    }
}

/// What is done to a claim whose lease has ended (R109). Each is one guarded statement in the store: it names the
/// token it saw, so a live owner that renewed in between wins.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Recovery {
    /// The effect surely did not happen: give the key back; the next command runs it.
    Release,
    /// Take the claim over and ask the downstream service again with the same downstream key.
    Rerun,
    /// Make the record `uncertain`.
    Doubt,
}

/// What recovery a claim is due at `now`; `None` while its lease holds.
#[must_use]
pub fn recovery(claim: &Claim, class: RecoveryClass, now: Wall) -> Option<Recovery> {
    if now < claim.lease_until && !planted::is_on(Bug::LeaseNotAwaited) {
        return None;
    }
    if planted::is_on(Bug::StartedReleased) {
        return Some(Recovery::Release);
    }
    Some(match (claim.phase, class) {
        (
            Phase::Reserved,
            RecoveryClass::Transactional | RecoveryClass::DownstreamIdempotent { .. } | RecoveryClass::None,
        )
        | (Phase::Started { .. }, RecoveryClass::Transactional) => Recovery::Release,
        (Phase::Started { at }, RecoveryClass::DownstreamIdempotent { retained }) if now.since(at) < retained => {
            Recovery::Rerun
        }
        (Phase::Started { .. }, RecoveryClass::DownstreamIdempotent { .. } | RecoveryClass::None) => Recovery::Doubt,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn r118_given_every_state_then_its_name_is_the_contracts_and_reads_back() {
        let names = ["in_progress", "completed", "rejected", "uncertain", "fenced", "expired", "not_found"];
        assert_eq!(StateName::ALL.map(StateName::as_str), names);
        for state in StateName::ALL {
            assert_eq!(StateName::parse(state.as_str()), Some(state));
        }
        for foreign in ["", "Fenced", "fenced ", "done"] {
            assert_eq!(StateName::parse(foreign), None, "{foreign}");
        }
    }
}
