//! Where records live. A store owns the clock that judges lease, age and deadline, and hands out a transaction that
//! carries the effect's own writes, so that effect and terminal record commit together (R108).
//!
//! Every write after the reserve names the token it was given; one that is no longer current changes nothing (R110).
//! An implementation must read and write the primary only, compare keys byte by byte, and make a commit durable on
//! what would be the next primary (R103). It repeats what a serialisation failure, a deadlock or a cut connection
//! undid where repeating is safe, and says [`StoreError::CommitUnknown`] where nobody can tell (R108).
//!
//! `server/tests/contract` is the suite that every store has to pass; it is compiled once for each of them.

mod any;
mod columns;
mod open;
mod outbox;
mod postgres;
mod sqlite;

use async_trait::async_trait;
use postonce_core::contract::{Record, Stored};
use postonce_core::time::{Millis, Wall};

pub use any::{AnyStore, AnyTx};
pub use open::{Backlog, Conclusion, Decision, Note, OpenRecord};
pub use outbox::{Closing, Letter, NewLetter};
pub use postgres::{Failover, PostgresOptions, PostgresStore};
pub use sqlite::{SqliteOptions, SqliteStore};

/// The namespace of one key: the same key under another tenant or subject is another record (R89).
#[derive(Clone, PartialEq, Eq, Hash)]
pub struct Scope {
    /// The tenant; a constant where there is only one.
    pub tenant: String,
    /// The authenticated subject.
    pub subject: String,
    /// The key's bytes.
    pub key: String,
}

impl std::fmt::Debug for Scope {
    /// Leaves the key and the subject out: both may end up in a log (R92).
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.debug_struct("Scope").field("tenant", &self.tenant).finish_non_exhaustive()
    }
}

/// What a look-up found, and the store's time at which it looked.
#[derive(Clone, Debug)]
pub struct Seen {
    /// The record and its number, if there is one.
    pub record: Option<(RecordId, Record)>,
    /// The store's clock.
    pub now: Wall,
    /// Keys first sent before this instant may have lost their record (R116); `None` while nothing was ever lost.
    pub floor: Option<Wall>,
}

/// How far a store reaches: which processes find the records that this one writes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Reach {
    /// This process only.
    Process,
    /// Every process of this machine that was given the same file.
    Machine,
    /// Every replica that was given the same primary.
    Fleet,
}

/// A record's number inside its store; the root of a downstream idempotency key (R108).
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct RecordId(pub i64);

/// Proof of ownership of a record, good until somebody raises its token.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Held {
    /// The record.
    pub id: RecordId,
    /// The fencing token.
    pub token: u64,
    /// When the record was made.
    pub first_seen: Wall,
}

/// A claim to be made.
#[derive(Clone, Debug)]
pub struct Reservation<'a> {
    /// Whose key.
    pub scope: &'a Scope,
    /// The operation's name.
    pub operation: &'a str,
    /// Digest text of the payload.
    pub fingerprint: &'a str,
    /// The object only one live key may hold, if the operation says so (R103).
    pub object: Option<&'a str>,
    /// What a reconciliation will compare, as JSON text, if the operation says so (R109).
    pub expected: Option<&'a str>,
    /// Name of the claiming process, for a person reading the store.
    pub owner: &'a str,
    /// How long the claim lives unless renewed.
    pub lease: Millis,
    /// Looked at again inside the inserting statement (R117).
    pub deadline: Option<Wall>,
}

/// What became of a reservation.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Reserved {
    /// The insert won; the caller owns the record.
    Won(Held),
    /// A record for this key exists by now: look again.
    Lost,
    /// The deadline had passed when the statement ran; nothing was written.
    DeadlinePassed {
        /// The store's clock in that statement.
        now: Wall,
    },
    /// Another key holds the object.
    ObjectTaken(Holder),
}

/// The key that holds a single-use object.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Holder {
    /// The key.
    pub key: String,
    /// Its record's number.
    pub id: RecordId,
    /// Its record; a claim whose lease is over holds the object only until somebody recovers it (R109).
    pub record: Record,
    /// The store's clock when it was read.
    pub now: Wall,
}

/// Whether a write that names a token took place.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[must_use]
pub enum Guarded {
    /// It did.
    Done,
    /// The token is no longer the record's: nothing changed (R110).
    Stale,
}

/// On whose behalf a claim is given up.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum By {
    /// Its owner: the token is proof enough.
    Owner,
    /// Somebody who found it abandoned: the lease must still be over when the statement runs, for a live owner may have
    /// renewed it since the look-up (R109).
    Finder,
}

/// How a record ends.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Terminal {
    /// The effect happened.
    Completed(Stored),
    /// The domain refused.
    Rejected(Stored),
}

/// The store could not be asked or did not answer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum StoreError {
    /// Nothing was written.
    Unavailable(String),
    /// A commit was asked for and its fate is not known (R108).
    CommitUnknown(String),
    /// A row that no version of this code wrote.
    Corrupt(String),
}

impl std::fmt::Display for StoreError {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Unavailable(why) => write!(formatter, "the store is unavailable: {why}"),
            Self::CommitUnknown(why) => write!(formatter, "the fate of a commit is unknown: {why}"),
            Self::Corrupt(why) => write!(formatter, "a record cannot be read: {why}"),
        }
    }
}

impl std::error::Error for StoreError {}

/// A home for records. `Tx` is the database's own transaction type, so that an effect can write its rows through it.
#[async_trait]
pub trait Store: Send + Sync + 'static {
    /// A transaction on the primary that can be moved between tasks; dropped without [`Store::settle`] it rolls back.
    type Tx: Send + 'static;

    /// Which processes share these records. What reaches no further than it is run is refused at start-up (R103).
    fn reach(&self) -> Reach;

    /// Reads the record of `scope`, without side effect.
    async fn look_up(&self, scope: &Scope) -> Result<Seen, StoreError>;

    /// Makes a claim by one unique insert (R103). Durable before it returns [`Reserved::Won`].
    async fn reserve(&self, reservation: Reservation<'_>) -> Result<Reserved, StoreError>;

    /// Commits that the effect is about to begin (R109).
    async fn mark_started(&self, held: &Held) -> Result<Guarded, StoreError>;

    /// Extends the claim to `lease` from now.
    async fn renew(&self, held: &Held, lease: Millis) -> Result<Guarded, StoreError>;

    /// Opens the transaction that the effect writes through.
    async fn begin(&self) -> Result<Self::Tx, StoreError>;

    /// Undoes the effect's writes.
    async fn rollback(&self, tx: Self::Tx) -> Result<(), StoreError>;

    /// Writes the terminal record into `tx` and commits both; on a stale token rolls the whole of it back (R110).
    async fn settle(&self, tx: Self::Tx, held: &Held, terminal: &Terminal) -> Result<Guarded, StoreError>;

    /// Gives the key back: the record is gone, whoever held `token` can write nothing any more.
    async fn release(&self, id: RecordId, token: u64, by: By) -> Result<Guarded, StoreError>;

    /// Makes the record `uncertain`; its owner may still settle it.
    async fn doubt(&self, id: RecordId, token: u64, by: By) -> Result<Guarded, StoreError>;

    /// Raises the token of a claim whose lease has ended and takes it over; `None` when it changed hands or was renewed.
    async fn take_over(&self, id: RecordId, token: u64, owner: &str, lease: Millis)
    -> Result<Option<Held>, StoreError>;

    /// Writes a tombstone unless a record exists (R61); `Stale` when one does.
    async fn fence(&self, scope: &Scope, operation: &str) -> Result<Guarded, StoreError>;

    /// Removes settled records and tombstones of `operation` last changed more than `age` ago. Claims and uncertain
    /// records are never removed by age (R116). Answers how many went.
    async fn purge(&self, operation: &str, age: Millis) -> Result<u64, StoreError>;

    /// Says that records of keys first sent before `at` may be lost, as after a failover or a restored backup: without a
    /// record such a key is `uncertain` from now on and never runs (R116). A floor never sinks.
    async fn raise_floor(&self, at: Wall) -> Result<(), StoreError>;

    /// Records of `operation` that need settling: claims whose lease is over and uncertain ones, at most `limit`. Those that
    /// no person was asked about come first, then the longest untouched.
    async fn open_records(&self, operation: &str, limit: u32) -> Result<Vec<OpenRecord>, StoreError>;

    /// Concludes an open record and records who did and why, in one transaction. `token` is that of an uncertain record,
    /// or of a claim that the caller took over; a stale one changes nothing, and so does a second [`Conclusion::Refer`]
    /// (R109, R110).
    async fn conclude(
        &self,
        id: RecordId,
        token: u64,
        conclusion: &Conclusion,
        note: &Note,
    ) -> Result<Guarded, StoreError>;

    /// What was decided about a record, oldest first.
    async fn decisions(&self, id: RecordId) -> Result<Vec<Decision>, StoreError>;

    /// How much of `operation` is open.
    async fn backlog(&self, operation: &str) -> Result<Backlog, StoreError>;

    /// Posts a call inside the effect's transaction; a second one under the same key changes nothing.
    async fn post(tx: &mut Self::Tx, letter: &NewLetter<'_>) -> Result<(), StoreError>;

    /// Claims at most `limit` calls that are due, the longest due first. Nobody else is given them before `lease` is over.
    async fn claim_letters(&self, limit: u32, lease: Millis) -> Result<Vec<Letter>, StoreError>;

    /// Notes how the attempt ended; `Stale` when the claim was over and somebody else's by then. A refusal is recorded
    /// among the decisions of its record as `referred`, by `note`.
    async fn close_letter(&self, letter: &Letter, closing: Closing, note: &Note) -> Result<Guarded, StoreError>;
}
