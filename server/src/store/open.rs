//! What stays open: claims whose owner is gone, and records of which nobody can tell. And how they are settled.

use postonce_core::contract::Record;
use postonce_core::time::{Millis, Wall};

use super::{RecordId, Scope, Terminal};

/// A record that needs settling.
#[derive(Clone, Debug)]
pub struct OpenRecord {
    /// Its number.
    pub id: RecordId,
    /// Whose key.
    pub scope: Scope,
    /// The token that a conclusion has to name.
    pub token: u64,
    /// `in_progress` with its lease over, or `uncertain`.
    pub record: Record,
    /// The object it holds, if its operation says so.
    pub object: Option<String>,
    /// What the operation kept for the comparison, as JSON text.
    pub expected: Option<String>,
    /// A person was asked already.
    pub referred: bool,
    /// The store's clock.
    pub now: Wall,
}

/// How an open record is concluded.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Conclusion {
    /// It ends so, and this answer is replayed from now on.
    Settle(Terminal),
    /// It surely did not happen and no longer can: the key is given back and may be sent again.
    GiveBack,
    /// It stays open, and a person is asked.
    Refer,
}

impl Conclusion {
    /// Its word in the decisions: `applied`, `refused`, `not_applied` or `referred`.
    #[must_use]
    pub const fn word(&self) -> &'static str {
        match self {
            Self::Settle(Terminal::Completed(_)) => "applied",
            Self::Settle(Terminal::Rejected(_)) => "refused",
            Self::GiveBack => "not_applied",
            Self::Refer => "referred",
        }
    }
}

/// Who decides, and why: kept with the decision, so name no key, subject or field value in it (R92).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Note {
    /// The worker or the person.
    pub by: String,
    /// What it rests on.
    pub why: String,
}

/// A conclusion that was recorded.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Decision {
    /// The record's number; the record itself may be gone.
    pub record: RecordId,
    /// The operation's name.
    pub operation: String,
    /// The key's reference, as a person was shown it.
    pub reference: Option<String>,
    /// [`Conclusion::word`].
    pub conclusion: String,
    /// Who and why.
    pub note: Note,
    /// When, by the store's clock.
    pub at: Wall,
}

/// How much of one operation is open.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Backlog {
    /// Claims, held or abandoned.
    pub in_progress: u64,
    /// Records of which nobody can tell.
    pub uncertain: u64,
    /// Age of the oldest claim.
    pub oldest_in_progress: Option<Millis>,
}

/// The key's reference, if it is one.
pub(super) fn reference_of(key: &str) -> Option<String> {
    postonce_core::key::Key::parse(key).ok().map(|key| key.reference())
}
