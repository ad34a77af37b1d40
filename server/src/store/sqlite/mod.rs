//! Records in SQLite: write-ahead log, `synchronous=FULL`, every write in `BEGIN IMMEDIATE`.
//!
//! One connection writes and a few read. SQLite has one writer anyway; queueing for it in this process is fair, where
//! its own busy loop is not. An effect holds the write lock from its first to its last statement, so effects on this
//! store should be short: a long one makes every other command wait, and in the end answer `not-started`.

use std::path::PathBuf;
use std::time::Duration;

use async_trait::async_trait;
use postonce_core::contract::StateName;
use postonce_core::time::{Millis, Wall};
use sqlx::query::Query;
use sqlx::sqlite::{
    SqliteArguments, SqliteConnectOptions, SqliteJournalMode, SqlitePoolOptions, SqliteRow, SqliteSynchronous,
};
use sqlx::{Database, Row, Sqlite, SqlitePool, Transaction, TransactionManager};

use super::columns::{body_column, from_ms, read_columns, to_ms};
use super::{
    Backlog, By, Closing, Conclusion, Decision, Guarded, Held, Holder, Letter, NewLetter, Note, OpenRecord, Reach,
    RecordId, Reservation, Reserved, Scope, Seen, Store, StoreError, Terminal,
};

/// How many connections read at the same time.
const READERS: u32 = 4;

const SCHEMA: &str = include_str!("schema.sql");

/// The store's clock in milliseconds; the same instant throughout one statement.
macro_rules! now_ms {
    () => {
        "CAST(ROUND(unixepoch('subsec') * 1000) AS INTEGER)"
    };
}

mod open;
mod outbox;

/// Where the database is and how long it may keep a command waiting.
#[derive(Clone, Debug)]
pub struct SqliteOptions {
    /// The database file; made if missing.
    pub path: PathBuf,
    /// How long a statement waits for the write lock before the command is answered `not-started`.
    pub busy_timeout: Duration,
    /// Who else opens the same file: [`Reach::Machine`], or [`Reach::Process`] for one that nobody else will find.
    pub reach: Reach,
}

impl SqliteOptions {
    /// Default wait for the write lock.
    pub const BUSY_TIMEOUT: Duration = Duration::from_secs(5);

    /// The database at `path` with the default waits.
    #[must_use]
    pub fn at(path: impl Into<PathBuf>) -> Self {
        Self { path: path.into(), busy_timeout: Self::BUSY_TIMEOUT, reach: Reach::Machine }
    }
}

/// A [`Store`] in one SQLite file.
#[derive(Clone, Debug)]
pub struct SqliteStore {
    writer: SqlitePool,
    readers: SqlitePool,
    reach: Reach,
}

impl SqliteStore {
    /// Opens the file and brings its schema up.
    ///
    /// # Errors
    /// [`StoreError::Unavailable`] when the file cannot be opened or the schema cannot be written.
    pub async fn open(options: &SqliteOptions) -> Result<Self, StoreError> {
        let connect = SqliteConnectOptions::new()
            .filename(&options.path)
            .create_if_missing(true)
            .journal_mode(SqliteJournalMode::Wal)
            .synchronous(SqliteSynchronous::Full)
            .busy_timeout(options.busy_timeout);
        let pool = |size: u32| {
            SqlitePoolOptions::new()
                .max_connections(size)
                .min_connections(1)
                .idle_timeout(None)
                .max_lifetime(None)
                .acquire_timeout(options.busy_timeout)
                // An application's own task that is cut off while it begins can leave its transaction open behind it, and
                // the one writer would refuse every later one: such a connection is closed, which rolls it back.
                .before_acquire(|connection, _| {
                    let depth = <Sqlite as Database>::TransactionManager::get_transaction_depth(connection);
                    Box::pin(std::future::ready(Ok(depth == 0)))
                })
        };
        let writer = pool(1).connect_with(connect.clone()).await.map_err(|error| unavailable(&error))?;
        sqlx::raw_sql(SCHEMA).execute(&writer).await.map_err(|error| unavailable(&error))?;
        let readers = pool(READERS).connect_with(connect).await.map_err(|error| unavailable(&error))?;
        Ok(Self { writer, readers, reach: options.reach.min(Reach::Machine) })
    }

    /// The connection that writes, for tables of the application in the same file.
    #[must_use]
    pub fn writer(&self) -> &SqlitePool {
        &self.writer
    }

    /// The connections that read.
    #[must_use]
    pub fn readers(&self) -> &SqlitePool {
        &self.readers
    }

    /// Closes every connection; commands that come later are answered `not-started`.
    pub async fn close(&self) {
        self.writer.close().await;
        self.readers.close().await;
    }

    async fn immediate(&self) -> Result<Transaction<'static, Sqlite>, StoreError> {
        self.writer.begin_with("BEGIN IMMEDIATE").await.map_err(|error| unavailable(&error))
    }

    /// One guarded statement in its own transaction: `Done` when it changed its one row.
    async fn guarded<'q>(&self, statement: Query<'q, Sqlite, SqliteArguments<'q>>) -> Result<Guarded, StoreError> {
        let mut tx = self.immediate().await?;
        let done = statement.execute(&mut *tx).await.map_err(|error| unavailable(&error))?;
        commit(tx).await?;
        Ok(guard(done.rows_affected()))
    }
}

#[async_trait]
impl Store for SqliteStore {
    type Tx = Transaction<'static, Sqlite>;

    fn reach(&self) -> Reach {
        self.reach
    }

    async fn look_up(&self, scope: &Scope) -> Result<Seen, StoreError> {
        // One statement answers both, so that record and time belong together.
        let row = sqlx::query(concat!(
            "SELECT ",
            now_ms!(),
            " AS now_ms, (SELECT floor_ms FROM postonce_floor) AS floor_ms, r.* FROM (SELECT 1) \
             LEFT JOIN postonce_records AS r ON r.tenant = ?1 AND r.subject = ?2 AND r.key = ?3"
        ))
        .bind(&scope.tenant)
        .bind(&scope.subject)
        .bind(&scope.key)
        .fetch_one(&self.readers)
        .await
        .map_err(|error| unavailable(&error))?;
        read_columns!(&row)?.seen()
    }

    async fn reserve(&self, reservation: Reservation<'_>) -> Result<Reserved, StoreError> {
        let mut tx = self.immediate().await?;
        let token = next_token(&mut tx).await?;
        let inserted = sqlx::query(concat!(
            "INSERT INTO postonce_records (tenant, subject, key, operation, fingerprint, object, state, owner, token, \
             lease_until_ms, first_seen_ms, changed_ms, expected) \
             SELECT ?1, ?2, ?3, ?4, ?5, ?6, 'in_progress', ?7, ?8, now.ms + ?9, now.ms, now.ms, ?11 FROM (SELECT ",
            now_ms!(),
            " AS ms) AS now WHERE ?10 IS NULL OR now.ms <= ?10 ON CONFLICT DO NOTHING RETURNING id, first_seen_ms"
        ))
        .bind(&reservation.scope.tenant)
        .bind(&reservation.scope.subject)
        .bind(&reservation.scope.key)
        .bind(reservation.operation)
        .bind(reservation.fingerprint)
        .bind(reservation.object)
        .bind(reservation.owner)
        .bind(token)
        .bind(to_ms(reservation.lease.0))
        .bind(reservation.deadline.map(|deadline| to_ms(deadline.0)))
        .bind(reservation.expected.map(str::as_bytes))
        .fetch_optional(&mut *tx)
        .await
        .map_err(|error| unavailable(&error))?;
        if let Some(row) = inserted {
            let held = Held {
                id: RecordId(row.try_get("id").map_err(|error| corrupt(&error))?),
                token: from_ms(token),
                first_seen: first_seen(&row)?,
            };
            commit(tx).await?;
            return Ok(Reserved::Won(held));
        }
        let reason = why_not_reserved(&mut tx, &reservation).await;
        self.rollback(tx).await?;
        reason
    }

    async fn mark_started(&self, held: &Held) -> Result<Guarded, StoreError> {
        self.guarded(
            sqlx::query(concat!(
                "UPDATE postonce_records SET started_ms = ",
                now_ms!(),
                ", changed_ms = ",
                now_ms!(),
                " WHERE id = ?1 AND token = ?2 AND state = 'in_progress'"
            ))
            .bind(held.id.0)
            .bind(to_ms(held.token)),
        )
        .await
    }

    async fn renew(&self, held: &Held, lease: Millis) -> Result<Guarded, StoreError> {
        self.guarded(
            sqlx::query(concat!(
                "UPDATE postonce_records SET lease_until_ms = ",
                now_ms!(),
                " + ?3 WHERE id = ?1 AND token = ?2 AND state = 'in_progress'"
            ))
            .bind(held.id.0)
            .bind(to_ms(held.token))
            .bind(to_ms(lease.0)),
        )
        .await
    }

    async fn begin(&self) -> Result<Self::Tx, StoreError> {
        self.immediate().await
    }

    async fn rollback(&self, tx: Self::Tx) -> Result<(), StoreError> {
        tx.rollback().await.map_err(|error| unavailable(&error))
    }

    async fn settle(&self, mut tx: Self::Tx, held: &Held, terminal: &Terminal) -> Result<Guarded, StoreError> {
        match write_terminal(&mut tx, held.id, held.token, terminal).await? {
            Guarded::Done => commit(tx).await.map(|()| Guarded::Done),
            Guarded::Stale => self.rollback(tx).await.map(|()| Guarded::Stale),
        }
    }

    async fn release(&self, id: RecordId, token: u64, by: By) -> Result<Guarded, StoreError> {
        self.guarded(
            sqlx::query(concat!(
                "DELETE FROM postonce_records WHERE id = ?1 AND token = ?2 AND state = 'in_progress' \
                 AND (?3 OR lease_until_ms <= ",
                now_ms!(),
                ")"
            ))
            .bind(id.0)
            .bind(to_ms(token))
            .bind(by == By::Owner),
        )
        .await
    }

    async fn doubt(&self, id: RecordId, token: u64, by: By) -> Result<Guarded, StoreError> {
        self.guarded(
            sqlx::query(concat!(
                "UPDATE postonce_records SET state = 'uncertain', lease_until_ms = NULL, changed_ms = ",
                now_ms!(),
                " WHERE id = ?1 AND token = ?2 AND state = 'in_progress' AND (?3 OR lease_until_ms <= ",
                now_ms!(),
                ")"
            ))
            .bind(id.0)
            .bind(to_ms(token))
            .bind(by == By::Owner),
        )
        .await
    }

    async fn take_over(
        &self,
        id: RecordId,
        token: u64,
        owner: &str,
        lease: Millis,
    ) -> Result<Option<Held>, StoreError> {
        let mut tx = self.immediate().await?;
        let raised = next_token(&mut tx).await?;
        let row = sqlx::query(concat!(
            "UPDATE postonce_records SET token = ?3, owner = ?4, lease_until_ms = ",
            now_ms!(),
            " + ?5 WHERE id = ?1 AND token = ?2 AND state = 'in_progress' AND lease_until_ms <= ",
            now_ms!(),
            " RETURNING first_seen_ms"
        ))
        .bind(id.0)
        .bind(to_ms(token))
        .bind(raised)
        .bind(owner)
        .bind(to_ms(lease.0))
        .fetch_optional(&mut *tx)
        .await
        .map_err(|error| unavailable(&error))?;
        let held = match row {
            Some(row) => Some(Held { id, token: from_ms(raised), first_seen: first_seen(&row)? }),
            None => None,
        };
        commit(tx).await?;
        Ok(held)
    }

    async fn fence(&self, scope: &Scope, operation: &str) -> Result<Guarded, StoreError> {
        self.guarded(
            sqlx::query(concat!(
                "INSERT INTO postonce_records (tenant, subject, key, operation, state, token, first_seen_ms, \
                 changed_ms) SELECT ?1, ?2, ?3, ?4, 'fenced', 0, now.ms, now.ms FROM (SELECT ",
                now_ms!(),
                " AS ms) AS now WHERE TRUE ON CONFLICT DO NOTHING"
            ))
            .bind(&scope.tenant)
            .bind(&scope.subject)
            .bind(&scope.key)
            .bind(operation),
        )
        .await
    }

    async fn purge(&self, operation: &str, age: Millis) -> Result<u64, StoreError> {
        let mut tx = self.immediate().await?;
        let done = sqlx::query(concat!(
            "DELETE FROM postonce_records WHERE operation = ?1 AND state IN ('completed', 'rejected', 'fenced') \
             AND changed_ms < ",
            now_ms!(),
            " - ?2"
        ))
        .bind(operation)
        .bind(to_ms(age.0))
        .execute(&mut *tx)
        .await
        .map_err(|error| unavailable(&error))?;
        commit(tx).await?;
        Ok(done.rows_affected())
    }

    async fn raise_floor(&self, at: Wall) -> Result<(), StoreError> {
        let raise = sqlx::query(
            "INSERT INTO postonce_floor (one, floor_ms) VALUES (1, ?1) \
             ON CONFLICT (one) DO UPDATE SET floor_ms = max(floor_ms, excluded.floor_ms)",
        );
        self.guarded(raise.bind(to_ms(at.0))).await.map(drop)
    }

    async fn open_records(&self, operation: &str, limit: u32) -> Result<Vec<OpenRecord>, StoreError> {
        self.find_open(operation, limit).await
    }

    async fn conclude(
        &self,
        id: RecordId,
        token: u64,
        conclusion: &Conclusion,
        note: &Note,
    ) -> Result<Guarded, StoreError> {
        self.settle_open(id, token, conclusion, note).await
    }

    async fn decisions(&self, id: RecordId) -> Result<Vec<Decision>, StoreError> {
        self.read_decisions(id).await
    }

    async fn backlog(&self, operation: &str) -> Result<Backlog, StoreError> {
        self.count_open(operation).await
    }

    async fn post(tx: &mut Self::Tx, letter: &NewLetter<'_>) -> Result<(), StoreError> {
        outbox::post(tx, letter).await
    }

    async fn claim_letters(&self, limit: u32, lease: Millis) -> Result<Vec<Letter>, StoreError> {
        self.claim_due(limit, lease).await
    }

    async fn close_letter(&self, letter: &Letter, closing: Closing, note: &Note) -> Result<Guarded, StoreError> {
        self.close_claimed(letter, closing, note).await
    }
}

/// Writes the terminal answer into the record while the token is current.
async fn write_terminal(
    tx: &mut Transaction<'static, Sqlite>,
    id: RecordId,
    token: u64,
    terminal: &Terminal,
) -> Result<Guarded, StoreError> {
    let (state, stored) = match terminal {
        Terminal::Completed(stored) => (StateName::Completed, stored),
        Terminal::Rejected(stored) => (StateName::Rejected, stored),
    };
    let done = sqlx::query(concat!(
        "UPDATE postonce_records SET state = ?3, status = ?4, content_type = ?5, location = ?6, result_id = ?7, \
         body = ?8, owner = NULL, lease_until_ms = NULL, changed_ms = ",
        now_ms!(),
        " WHERE id = ?1 AND token = ?2 AND state IN ('in_progress', 'uncertain')"
    ))
    .bind(id.0)
    .bind(to_ms(token))
    .bind(state.as_str())
    .bind(i64::from(stored.status))
    .bind(&stored.content_type)
    .bind(&stored.location)
    .bind(&stored.result_id)
    .bind(body_column(&stored.body))
    .execute(&mut **tx)
    .await
    .map_err(|error| unavailable(&error))?;
    Ok(guard(done.rows_affected()))
}

fn first_seen(row: &SqliteRow) -> Result<Wall, StoreError> {
    row.try_get::<i64, _>("first_seen_ms").map(|ms| Wall(from_ms(ms))).map_err(|error| corrupt(&error))
}

/// The next token of the one rising sequence; a released record's token never comes again.
async fn next_token(tx: &mut Transaction<'static, Sqlite>) -> Result<i64, StoreError> {
    sqlx::query_scalar("UPDATE postonce_tokens SET value = value + 1 RETURNING value")
        .fetch_one(&mut **tx)
        .await
        .map_err(|error| unavailable(&error))
}

/// Tells the three reasons apart for which the reserving insert wrote nothing, inside its own transaction.
async fn why_not_reserved(
    tx: &mut Transaction<'static, Sqlite>,
    reservation: &Reservation<'_>,
) -> Result<Reserved, StoreError> {
    let same_key = sqlx::query("SELECT 1 FROM postonce_records WHERE tenant = ?1 AND subject = ?2 AND key = ?3")
        .bind(&reservation.scope.tenant)
        .bind(&reservation.scope.subject)
        .bind(&reservation.scope.key)
        .fetch_optional(&mut **tx)
        .await
        .map_err(|error| unavailable(&error))?;
    if same_key.is_some() {
        return Ok(Reserved::Lost);
    }
    let holder = sqlx::query(concat!(
        "SELECT ",
        now_ms!(),
        " AS now_ms, NULL AS floor_ms, r.* FROM postonce_records AS r WHERE r.tenant = ?1 AND r.operation = ?2 \
         AND r.object = ?3 AND r.state IN ('in_progress', 'completed', 'uncertain')"
    ))
    .bind(&reservation.scope.tenant)
    .bind(reservation.operation)
    .bind(reservation.object)
    .fetch_optional(&mut **tx)
    .await
    .map_err(|error| unavailable(&error))?;
    if let Some(row) = holder {
        let key = row.try_get("key").map_err(|error| corrupt(&error))?;
        let seen = read_columns!(&row)?.seen()?;
        if let Some((id, record)) = seen.record {
            return Ok(Reserved::ObjectTaken(Holder { key, id, record, now: seen.now }));
        }
    }
    let now: i64 = sqlx::query_scalar(concat!("SELECT ", now_ms!()))
        .fetch_one(&mut **tx)
        .await
        .map_err(|error| unavailable(&error))?;
    Ok(Reserved::DeadlinePassed { now: Wall(from_ms(now)) })
}

async fn commit(tx: Transaction<'static, Sqlite>) -> Result<(), StoreError> {
    tx.commit().await.map_err(|error| StoreError::CommitUnknown(error.to_string()))
}

const fn guard(rows: u64) -> Guarded {
    if rows == 0 { Guarded::Stale } else { Guarded::Done }
}

fn unavailable(error: &sqlx::Error) -> StoreError {
    StoreError::Unavailable(error.to_string())
}

fn corrupt(error: &sqlx::Error) -> StoreError {
    StoreError::Corrupt(error.to_string())
}
