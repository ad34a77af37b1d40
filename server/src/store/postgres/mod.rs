//! Records in PostgreSQL: every guarded write is one statement, and an effect's transaction is the database's own.
//!
//! The unique index decides a race: `INSERT … ON CONFLICT DO NOTHING` waits for a rival that has not committed yet and
//! loses to one that has. The token comes from its sequence before the claim is made, so that a claim whose answer was
//! lost with its connection is recognised, and not waited for until its lease ends (R108).
//!
//! A TLS connection needs one of `sqlx`'s `tls-*` features, which an application switches on in its own manifest.

mod connect;
mod failure;

use async_trait::async_trait;
use postonce_core::contract::StateName;
use postonce_core::time::{Millis, Wall};
use sqlx::postgres::{PgArguments, PgRow};
use sqlx::query::Query;
use sqlx::{PgPool, Postgres, Row, Transaction};

use super::columns::{body_column, from_ms, read_columns, to_ms};
use super::{
    Backlog, By, Closing, Conclusion, Decision, Guarded, Held, Holder, Letter, NewLetter, Note, OpenRecord, Reach,
    RecordId, Reservation, Reserved, Scope, Seen, Store, StoreError, Terminal,
};
pub use connect::{Failover, PostgresOptions};
use failure::{Fate, corrupt, fate, unavailable, unwritten};

/// How often a statement is sent before the database's refusal to keep it counts.
const ATTEMPTS_MAX: u32 = 6;

/// A row `clock.ms`: the store's clock, read once for the whole statement.
macro_rules! clock {
    () => {
        "(SELECT (extract(epoch FROM clock_timestamp()) * 1000)::bigint AS ms OFFSET 0) AS clock"
    };
}

mod open;
mod outbox;

type Statement<'q> = Query<'q, Postgres, PgArguments>;

/// A [`Store`] in one PostgreSQL database.
#[derive(Clone, Debug)]
pub struct PostgresStore {
    statements: PgPool,
    effects: PgPool,
}

impl PostgresStore {
    /// Connects to the primary and brings its schema up.
    ///
    /// # Errors
    /// [`StoreError::Unavailable`] when the address makes no sense, the server cannot be reached or is a standby, or the
    /// schema cannot be written.
    pub async fn open(options: &PostgresOptions) -> Result<Self, StoreError> {
        let (statements, effects) = connect::pools(options).await?;
        Ok(Self { statements, effects })
    }

    /// The connections that everything but effects goes over, for tables of the application in the same database.
    #[must_use]
    pub fn statements(&self) -> &PgPool {
        &self.statements
    }

    /// Closes every connection; commands that come later are answered `not-started`.
    pub async fn close(&self) {
        self.statements.close().await;
        self.effects.close().await;
    }

    /// Sends one statement, again where the database undid it or the connection was cut. Every statement that comes here
    /// may be repeated: it names a token that its first run either kept or raised, or it is a plain read.
    async fn row<'q>(&self, statement: impl Fn() -> Statement<'q> + Send) -> Result<Option<PgRow>, sqlx::Error> {
        for _ in 1..ATTEMPTS_MAX {
            let mut connection = self.statements.acquire().await?;
            match statement().fetch_optional(&mut *connection).await {
                Ok(row) => return Ok(row),
                Err(error) => match fate(&error) {
                    Fate::Undone | Fate::Cut => {}
                    Fate::Refused => return Err(error),
                },
            }
        }
        let mut connection = self.statements.acquire().await?;
        statement().fetch_optional(&mut *connection).await
    }

    /// One guarded statement that returns its row: `Done` when it changed it.
    async fn guarded<'q>(&self, statement: impl Fn() -> Statement<'q> + Send) -> Result<Guarded, StoreError> {
        let row = self.row(statement).await.map_err(|error| unwritten(&error))?;
        Ok(if row.is_some() { Guarded::Done } else { Guarded::Stale })
    }

    async fn next_token(&self) -> Result<i64, StoreError> {
        let row = self.row(|| sqlx::query("SELECT nextval('postonce_tokens')")).await;
        let row = row.map_err(|error| unavailable(&error))?.ok_or_else(nothing)?;
        row.try_get(0).map_err(|error| corrupt(&error))
    }

    /// Why the reserving insert wrote nothing. A record that carries our own token is our claim: its answer was lost.
    async fn why_not_reserved(&self, reservation: &Reservation<'_>, token: i64) -> Result<Reserved, StoreError> {
        let scope = reservation.scope;
        let mine = self
            .row(|| {
                sqlx::query(concat!(
                    "SELECT clock.ms AS now_ms, r.id, r.token, r.first_seen_ms FROM ",
                    clock!(),
                    " LEFT JOIN postonce_records AS r ON r.tenant = $1 AND r.subject = $2 AND r.key = $3"
                ))
                .bind(&scope.tenant)
                .bind(&scope.subject)
                .bind(&scope.key)
            })
            .await
            .map_err(|error| unavailable(&error))?
            .ok_or_else(nothing)?;
        let found: Option<i64> = mine.try_get("token").map_err(|error| corrupt(&error))?;
        match found {
            Some(kept) if kept == token => return Ok(Reserved::Won(held(&mine, token)?)),
            Some(_) => return Ok(Reserved::Lost),
            None => {}
        }
        let now = wall(&mine, "now_ms")?;
        if reservation.deadline.is_some_and(|deadline| now > deadline) {
            return Ok(Reserved::DeadlinePassed { now });
        }
        // What neither holds the key nor the object any more is gone: look again.
        Ok(self.holder(reservation).await?.map_or(Reserved::Lost, Reserved::ObjectTaken))
    }

    async fn holder(&self, reservation: &Reservation<'_>) -> Result<Option<Holder>, StoreError> {
        let Some(object) = reservation.object else { return Ok(None) };
        let row = self
            .row(|| {
                sqlx::query(concat!(
                    "SELECT clock.ms AS now_ms, NULL::bigint AS floor_ms, r.* FROM ",
                    clock!(),
                    ", postonce_records AS r WHERE r.tenant = $1 AND r.operation = $2 AND r.object = $3 \
                     AND r.state IN ('in_progress', 'completed', 'uncertain')"
                ))
                .bind(&reservation.scope.tenant)
                .bind(reservation.operation)
                .bind(object.as_bytes())
            })
            .await
            .map_err(|error| unavailable(&error))?;
        let Some(row) = row else { return Ok(None) };
        let key = row.try_get("key").map_err(|error| corrupt(&error))?;
        let seen = read_columns!(&row)?.seen()?;
        Ok(seen.record.map(|(id, record)| Holder { key, id, record, now: seen.now }))
    }
}

#[async_trait]
impl Store for PostgresStore {
    type Tx = Transaction<'static, Postgres>;

    fn reach(&self) -> Reach {
        Reach::Fleet
    }

    async fn look_up(&self, scope: &Scope) -> Result<Seen, StoreError> {
        let row = self
            .row(|| {
                sqlx::query(concat!(
                    "SELECT clock.ms AS now_ms, (SELECT floor_ms FROM postonce_floor) AS floor_ms, r.* FROM ",
                    clock!(),
                    " LEFT JOIN postonce_records AS r ON r.tenant = $1 AND r.subject = $2 AND r.key = $3"
                ))
                .bind(&scope.tenant)
                .bind(&scope.subject)
                .bind(&scope.key)
            })
            .await
            .map_err(|error| unavailable(&error))?
            .ok_or_else(nothing)?;
        read_columns!(&row)?.seen()
    }

    async fn reserve(&self, reservation: Reservation<'_>) -> Result<Reserved, StoreError> {
        let token = self.next_token().await?;
        let scope = reservation.scope;
        let row = self
            .row(|| {
                sqlx::query(concat!(
                    "INSERT INTO postonce_records (tenant, subject, key, operation, fingerprint, object, state, owner, \
                     token, lease_until_ms, first_seen_ms, changed_ms, expected) SELECT $1, $2, $3, $4, $5, $6, 'in_progress', \
                     $7, $8, clock.ms + $9, clock.ms, clock.ms, $11 FROM ",
                    clock!(),
                    " WHERE $10 IS NULL OR clock.ms <= $10 ON CONFLICT DO NOTHING RETURNING id, first_seen_ms"
                ))
                .bind(&scope.tenant)
                .bind(&scope.subject)
                .bind(&scope.key)
                .bind(reservation.operation)
                .bind(reservation.fingerprint)
                .bind(reservation.object.map(str::as_bytes))
                .bind(reservation.owner)
                .bind(token)
                .bind(to_ms(reservation.lease.0))
                .bind(reservation.deadline.map(|deadline| to_ms(deadline.0)))
                .bind(reservation.expected.map(str::as_bytes))
            })
            .await
            .map_err(|error| unwritten(&error))?;
        match row {
            Some(row) => Ok(Reserved::Won(held(&row, token)?)),
            None => self.why_not_reserved(&reservation, token).await,
        }
    }

    async fn mark_started(&self, held: &Held) -> Result<Guarded, StoreError> {
        self.guarded(|| {
            sqlx::query(concat!(
                "UPDATE postonce_records AS r SET started_ms = clock.ms, changed_ms = clock.ms FROM ",
                clock!(),
                " WHERE r.id = $1 AND r.token = $2 AND r.state = 'in_progress' RETURNING r.id"
            ))
            .bind(held.id.0)
            .bind(to_ms(held.token))
        })
        .await
    }

    async fn renew(&self, held: &Held, lease: Millis) -> Result<Guarded, StoreError> {
        self.guarded(|| {
            sqlx::query(concat!(
                "UPDATE postonce_records AS r SET lease_until_ms = clock.ms + $3 FROM ",
                clock!(),
                " WHERE r.id = $1 AND r.token = $2 AND r.state = 'in_progress' RETURNING r.id"
            ))
            .bind(held.id.0)
            .bind(to_ms(held.token))
            .bind(to_ms(lease.0))
        })
        .await
    }

    async fn begin(&self) -> Result<Self::Tx, StoreError> {
        self.effects.begin().await.map_err(|error| unavailable(&error))
    }

    async fn rollback(&self, tx: Self::Tx) -> Result<(), StoreError> {
        tx.rollback().await.map_err(|error| unavailable(&error))
    }

    async fn settle(&self, mut tx: Self::Tx, held: &Held, terminal: &Terminal) -> Result<Guarded, StoreError> {
        let (state, stored) = match terminal {
            Terminal::Completed(stored) => (StateName::Completed, stored),
            Terminal::Rejected(stored) => (StateName::Rejected, stored),
        };
        let done = sqlx::query(concat!(
            "UPDATE postonce_records AS r SET state = $3, status = $4, content_type = $5, location = $6, result_id = $7, \
             body = $8, owner = NULL, lease_until_ms = NULL, changed_ms = clock.ms FROM ",
            clock!(),
            " WHERE r.id = $1 AND r.token = $2 AND r.state IN ('in_progress', 'uncertain')"
        ))
        .bind(held.id.0)
        .bind(to_ms(held.token))
        .bind(state.as_str())
        .bind(i64::from(stored.status))
        .bind(&stored.content_type)
        .bind(&stored.location)
        .bind(stored.result_id.as_deref().map(str::as_bytes))
        .bind(body_column(&stored.body))
        .execute(&mut *tx)
        .await
        .map_err(|error| unavailable(&error))?;
        if done.rows_affected() == 0 {
            return self.rollback(tx).await.map(|()| Guarded::Stale);
        }
        tx.commit().await.map(|()| Guarded::Done).map_err(|error| StoreError::CommitUnknown(error.to_string()))
    }

    async fn release(&self, id: RecordId, token: u64, by: By) -> Result<Guarded, StoreError> {
        self.guarded(|| {
            sqlx::query(concat!(
                "DELETE FROM postonce_records AS r USING ",
                clock!(),
                " WHERE r.id = $1 AND r.token = $2 AND r.state = 'in_progress' AND ($3 OR r.lease_until_ms <= clock.ms) \
                 RETURNING r.id"
            ))
            .bind(id.0)
            .bind(to_ms(token))
            .bind(by == By::Owner)
        })
        .await
    }

    async fn doubt(&self, id: RecordId, token: u64, by: By) -> Result<Guarded, StoreError> {
        self.guarded(|| {
            sqlx::query(concat!(
                "UPDATE postonce_records AS r SET state = 'uncertain', lease_until_ms = NULL, changed_ms = clock.ms FROM ",
                clock!(),
                " WHERE r.id = $1 AND r.token = $2 AND r.state = 'in_progress' AND ($3 OR r.lease_until_ms <= clock.ms) \
                 RETURNING r.id"
            ))
            .bind(id.0)
            .bind(to_ms(token))
            .bind(by == By::Owner)
        })
        .await
    }

    async fn take_over(
        &self,
        id: RecordId,
        token: u64,
        owner: &str,
        lease: Millis,
    ) -> Result<Option<Held>, StoreError> {
        let raised = self.next_token().await?;
        // A repeat after a lost answer finds the token raised by its own first run, and only renews it.
        let row = self
            .row(|| {
                sqlx::query(concat!(
                    "UPDATE postonce_records AS r SET token = $3, owner = $4, lease_until_ms = clock.ms + $5 FROM ",
                    clock!(),
                    " WHERE r.id = $1 AND r.state = 'in_progress' AND (r.token = $3 OR (r.token = $2 \
                     AND r.lease_until_ms <= clock.ms)) RETURNING r.id, r.first_seen_ms"
                ))
                .bind(id.0)
                .bind(to_ms(token))
                .bind(raised)
                .bind(owner)
                .bind(to_ms(lease.0))
            })
            .await
            .map_err(|error| unwritten(&error))?;
        row.map(|row| held(&row, raised)).transpose()
    }

    async fn fence(&self, scope: &Scope, operation: &str) -> Result<Guarded, StoreError> {
        self.guarded(|| {
            sqlx::query(concat!(
                "INSERT INTO postonce_records (tenant, subject, key, operation, state, token, first_seen_ms, changed_ms) \
                 SELECT $1, $2, $3, $4, 'fenced', 0, clock.ms, clock.ms FROM ",
                clock!(),
                " ON CONFLICT DO NOTHING RETURNING id"
            ))
            .bind(&scope.tenant)
            .bind(&scope.subject)
            .bind(&scope.key)
            .bind(operation)
        })
        .await
    }

    async fn purge(&self, operation: &str, age: Millis) -> Result<u64, StoreError> {
        let row = self
            .row(|| {
                sqlx::query(concat!(
                    "WITH gone AS (DELETE FROM postonce_records AS r USING ",
                    clock!(),
                    " WHERE r.operation = $1 AND r.state IN ('completed', 'rejected', 'fenced') \
                     AND r.changed_ms < clock.ms - $2 RETURNING 1) SELECT count(*) FROM gone"
                ))
                .bind(operation)
                .bind(to_ms(age.0))
            })
            .await
            .map_err(|error| unwritten(&error))?
            .ok_or_else(nothing)?;
        row.try_get::<i64, _>(0).map(from_ms).map_err(|error| corrupt(&error))
    }

    async fn raise_floor(&self, at: Wall) -> Result<(), StoreError> {
        let raise = || {
            sqlx::query("UPDATE postonce_floor SET floor_ms = greatest(floor_ms, $1) RETURNING one").bind(to_ms(at.0))
        };
        match self.guarded(raise).await? {
            Guarded::Done => Ok(()),
            Guarded::Stale => Err(StoreError::Corrupt(String::from("the row of postonce_floor is missing"))),
        }
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

fn held(row: &PgRow, token: i64) -> Result<Held, StoreError> {
    let id = row.try_get("id").map_err(|error| corrupt(&error))?;
    Ok(Held { id: RecordId(id), token: from_ms(token), first_seen: wall(row, "first_seen_ms")? })
}

fn wall(row: &PgRow, column: &str) -> Result<Wall, StoreError> {
    row.try_get::<i64, _>(column).map(|ms| Wall(from_ms(ms))).map_err(|error| corrupt(&error))
}

/// A statement that always answers a row answered none.
fn nothing() -> StoreError {
    StoreError::Corrupt(String::from("a statement answered no row"))
}
