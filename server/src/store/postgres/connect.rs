//! Connections: to the primary only, with commits that survive it, and aware of a server that was replaced.

use std::str::FromStr;
use std::time::Duration;

use sqlx::postgres::{PgConnectOptions, PgPoolOptions};
use sqlx::{Connection, PgConnection, PgPool};

use super::failure::unavailable;
use crate::store::StoreError;

const SCHEMA: &str = include_str!("schema.sql");
/// Taken while the schema is written, so that replicas which start together do not make it twice. Any number will do.
const SCHEMA_LOCK: i64 = 0x706f_7374_6f6e_6365;
/// The cluster and its timeline: a promoted standby goes on under the next one, a copy elsewhere has another cluster.
macro_rules! timeline {
    () => {
        "(SELECT system_identifier FROM pg_control_system()) || '/' || left(pg_walfile_name(pg_current_wal_lsn()), 8)"
    };
}

/// What a promoted standby or a restored copy may lack.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Failover {
    /// The last commits, as with asynchronous replication: keys from before it become `uncertain` (R116).
    MayLoseCommits,
    /// Nothing: every commit waits for the standby that would be promoted.
    LosesNothing,
}

/// Where the database is and how it is used.
#[derive(Clone, Debug)]
pub struct PostgresOptions {
    /// `postgres://user@host:port/database`, with libpq's parameters behind a `?`.
    pub url: String,
    /// Connections for effects and, besides, as many for everything else: effects never starve a look-up or a renewal.
    pub connections: u32,
    /// How long a command waits for a connection or a lock before it is answered `not-started`.
    pub wait: Duration,
    /// What a failover does to commits.
    pub failover: Failover,
}

impl PostgresOptions {
    /// Default number of connections for effects.
    pub const CONNECTIONS: u32 = 8;
    /// Default wait.
    pub const WAIT: Duration = Duration::from_secs(5);

    /// The database at `url` with the defaults; a failover is taken to lose commits.
    #[must_use]
    pub fn at(url: impl Into<String>) -> Self {
        Self { url: url.into(), connections: Self::CONNECTIONS, wait: Self::WAIT, failover: Failover::MayLoseCommits }
    }
}

/// Brings the schema up and opens a pool for statements and one for effects.
pub(super) async fn pools(options: &PostgresOptions) -> Result<(PgPool, PgPool), StoreError> {
    let connect = PgConnectOptions::from_str(&options.url).map_err(|error| unavailable(&error))?;
    write_schema(&connect).await.map_err(|error| unavailable(&error))?;
    let (wait, failover) = (options.wait, options.failover);
    let pool = || {
        PgPoolOptions::new()
            .max_connections(options.connections)
            .acquire_timeout(wait)
            .after_connect(move |connection, _| Box::pin(prepare(connection, wait, failover)))
            .connect_with(connect.clone())
    };
    let statements = pool().await.map_err(|error| unavailable(&error))?;
    let effects = pool().await.map_err(|error| unavailable(&error))?;
    Ok((statements, effects))
}

async fn write_schema(connect: &PgConnectOptions) -> Result<(), sqlx::Error> {
    let mut connection = PgConnection::connect_with(connect).await?;
    let mut tx = connection.begin().await?;
    sqlx::query("SELECT pg_advisory_xact_lock($1)").bind(SCHEMA_LOCK).execute(&mut *tx).await?;
    sqlx::raw_sql("SET LOCAL client_min_messages = warning").execute(&mut *tx).await?;
    sqlx::raw_sql(SCHEMA).execute(&mut *tx).await?;
    tx.commit().await?;
    connection.close().await
}

/// Makes one new connection fit for records, or refuses it.
async fn prepare(connection: &mut PgConnection, wait: Duration, failover: Failover) -> Result<(), sqlx::Error> {
    let standby: bool = sqlx::query_scalar("SELECT pg_is_in_recovery()").fetch_one(&mut *connection).await?;
    if standby {
        return Err(sqlx::Error::Configuration("this server is a standby; records live on the primary only".into()));
    }
    sqlx::query(
        "SELECT set_config('lock_timeout', $1, false), CASE WHEN current_setting('synchronous_commit') IN ('off', \
         'local') THEN set_config('synchronous_commit', 'on', false) END",
    )
    .bind(wait.as_millis().to_string())
    .execute(&mut *connection)
    .await?;
    notice_failover(connection, failover).await
}

/// After a failover every connection is a new one, so none gets past here before the floor is raised (R116).
async fn notice_failover(connection: &mut PgConnection, failover: Failover) -> Result<(), sqlx::Error> {
    let known: Option<bool> = sqlx::query_scalar(concat!("SELECT timeline = ", timeline!(), " FROM postonce_floor"))
        .fetch_optional(&mut *connection)
        .await?;
    if known == Some(true) {
        return Ok(());
    }
    sqlx::query(concat!(
        "INSERT INTO postonce_floor AS kept (one, timeline) VALUES (1, ",
        timeline!(),
        ") ON CONFLICT (one) DO UPDATE SET timeline = excluded.timeline, floor_ms = CASE WHEN $1 THEN \
         greatest(kept.floor_ms, (extract(epoch FROM clock_timestamp()) * 1000)::bigint) ELSE kept.floor_ms END \
         WHERE kept.timeline <> excluded.timeline"
    ))
    .bind(failover == Failover::MayLoseCommits)
    .execute(connection)
    .await
    .map(drop)
}
