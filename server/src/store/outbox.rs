//! Calls to other services that are posted inside an effect's transaction and made after it committed.

use postonce_core::time::Millis;

use super::RecordId;

/// A call to be made once the effect has committed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NewLetter<'a> {
    /// The record whose effect it belongs to.
    pub record: RecordId,
    /// What it is for: says who delivers it.
    pub purpose: &'a str,
    /// The key that the other service gets, at every attempt (R108).
    pub key: &'a str,
    /// What is delivered.
    pub payload: &'a [u8],
}

/// A posted call, claimed by one courier for a while.
#[derive(Clone, PartialEq, Eq)]
pub struct Letter {
    /// Its number.
    pub id: i64,
    /// The record whose effect it belongs to.
    pub record: RecordId,
    /// What it is for.
    pub purpose: String,
    /// The key that the other service gets.
    pub key: String,
    /// What is delivered.
    pub payload: Vec<u8>,
    /// Which attempt this is, from 1.
    pub attempt: u32,
    /// Proof of the claim.
    pub token: u64,
}

impl std::fmt::Debug for Letter {
    /// Leaves payload and key out (R92).
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.debug_struct("Letter").field("id", &self.id).field("purpose", &self.purpose).finish_non_exhaustive()
    }
}

/// How an attempt to deliver ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Closing {
    /// The other service has it.
    Delivered,
    /// The other service refuses it for good: a person is asked.
    Refused,
    /// Again, not before so long from now.
    Again(Millis),
}

impl Closing {
    /// The state it leaves.
    pub(super) const fn state(self) -> &'static str {
        match self {
            Self::Delivered => "delivered",
            Self::Refused => "refused",
            Self::Again(_) => "waiting",
        }
    }

    /// How long until it is due.
    pub(super) const fn wait(self) -> Millis {
        match self {
            Self::Again(wait) => wait,
            Self::Delivered | Self::Refused => Millis(0),
        }
    }
}
