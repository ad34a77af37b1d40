//! The store that a program chooses when it starts.

use async_trait::async_trait;
use postonce_core::time::{Millis, Wall};
use sqlx::{Postgres, Sqlite, Transaction};

use super::{
    Backlog, By, Closing, Conclusion, Decision, Guarded, Held, Letter, NewLetter, Note, OpenRecord, PostgresStore,
    Reach, RecordId, Reservation, Reserved, Scope, Seen, SqliteStore, Store, StoreError, Terminal,
};

/// One of the stores.
#[derive(Clone, Debug)]
pub enum AnyStore {
    /// One file.
    Sqlite(SqliteStore),
    /// One primary.
    Postgres(PostgresStore),
}

/// A transaction of one of the stores.
#[derive(Debug)]
pub enum AnyTx {
    /// Of the file.
    Sqlite(Transaction<'static, Sqlite>),
    /// Of the primary.
    Postgres(Transaction<'static, Postgres>),
}

/// The same call on whichever store it is.
macro_rules! on {
    ($self:ident, $store:ident => $call:expr) => {
        match $self {
            AnyStore::Sqlite($store) => $call.await,
            AnyStore::Postgres($store) => $call.await,
        }
    };
}

impl AnyStore {
    /// Closes every connection; commands that come later are answered `not-started`.
    pub async fn close(&self) {
        on!(self, store => store.close());
    }
}

#[async_trait]
impl Store for AnyStore {
    type Tx = AnyTx;

    fn reach(&self) -> Reach {
        match self {
            Self::Sqlite(store) => store.reach(),
            Self::Postgres(store) => store.reach(),
        }
    }

    async fn look_up(&self, scope: &Scope) -> Result<Seen, StoreError> {
        on!(self, store => store.look_up(scope))
    }

    async fn reserve(&self, reservation: Reservation<'_>) -> Result<Reserved, StoreError> {
        on!(self, store => store.reserve(reservation))
    }

    async fn mark_started(&self, held: &Held) -> Result<Guarded, StoreError> {
        on!(self, store => store.mark_started(held))
    }

    async fn renew(&self, held: &Held, lease: Millis) -> Result<Guarded, StoreError> {
        on!(self, store => store.renew(held, lease))
    }

    async fn begin(&self) -> Result<AnyTx, StoreError> {
        match self {
            Self::Sqlite(store) => store.begin().await.map(AnyTx::Sqlite),
            Self::Postgres(store) => store.begin().await.map(AnyTx::Postgres),
        }
    }

    async fn rollback(&self, tx: AnyTx) -> Result<(), StoreError> {
        match (self, tx) {
            (Self::Sqlite(store), AnyTx::Sqlite(tx)) => store.rollback(tx).await,
            (Self::Postgres(store), AnyTx::Postgres(tx)) => store.rollback(tx).await,
            (Self::Sqlite(_), AnyTx::Postgres(_)) | (Self::Postgres(_), AnyTx::Sqlite(_)) => Err(foreign()),
        }
    }

    async fn settle(&self, tx: AnyTx, held: &Held, terminal: &Terminal) -> Result<Guarded, StoreError> {
        match (self, tx) {
            (Self::Sqlite(store), AnyTx::Sqlite(tx)) => store.settle(tx, held, terminal).await,
            (Self::Postgres(store), AnyTx::Postgres(tx)) => store.settle(tx, held, terminal).await,
            (Self::Sqlite(_), AnyTx::Postgres(_)) | (Self::Postgres(_), AnyTx::Sqlite(_)) => Err(foreign()),
        }
    }

    async fn release(&self, id: RecordId, token: u64, by: By) -> Result<Guarded, StoreError> {
        on!(self, store => store.release(id, token, by))
    }

    async fn doubt(&self, id: RecordId, token: u64, by: By) -> Result<Guarded, StoreError> {
        on!(self, store => store.doubt(id, token, by))
    }

    async fn take_over(
        &self,
        id: RecordId,
        token: u64,
        owner: &str,
        lease: Millis,
    ) -> Result<Option<Held>, StoreError> {
        on!(self, store => store.take_over(id, token, owner, lease))
    }

    async fn fence(&self, scope: &Scope, operation: &str) -> Result<Guarded, StoreError> {
        on!(self, store => store.fence(scope, operation))
    }

    async fn purge(&self, operation: &str, age: Millis) -> Result<u64, StoreError> {
        on!(self, store => store.purge(operation, age))
    }

    async fn raise_floor(&self, at: Wall) -> Result<(), StoreError> {
        on!(self, store => store.raise_floor(at))
    }

    async fn open_records(&self, operation: &str, limit: u32) -> Result<Vec<OpenRecord>, StoreError> {
        on!(self, store => store.open_records(operation, limit))
    }

    async fn conclude(
        &self,
        id: RecordId,
        token: u64,
        conclusion: &Conclusion,
        note: &Note,
    ) -> Result<Guarded, StoreError> {
        on!(self, store => store.conclude(id, token, conclusion, note))
    }

    async fn decisions(&self, id: RecordId) -> Result<Vec<Decision>, StoreError> {
        on!(self, store => store.decisions(id))
    }

    async fn post(tx: &mut AnyTx, letter: &NewLetter<'_>) -> Result<(), StoreError> {
        match tx {
            AnyTx::Sqlite(tx) => SqliteStore::post(tx, letter).await,
            AnyTx::Postgres(tx) => PostgresStore::post(tx, letter).await,
        }
    }

    async fn claim_letters(&self, limit: u32, lease: Millis) -> Result<Vec<Letter>, StoreError> {
        on!(self, store => store.claim_letters(limit, lease))
    }

    async fn close_letter(&self, letter: &Letter, closing: Closing, note: &Note) -> Result<Guarded, StoreError> {
        on!(self, store => store.close_letter(letter, closing, note))
    }

    async fn backlog(&self, operation: &str) -> Result<Backlog, StoreError> {
        on!(self, store => store.backlog(operation))
    }
}

/// A transaction that another store began; dropping it rolled it back.
fn foreign() -> StoreError {
    StoreError::Unavailable(String::from("the transaction belongs to another store"))
}
