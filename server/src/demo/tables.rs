//! The demo's own tables beside the records, in whichever database holds those. Rows come back as JSON texts, which both
//! databases can write and neither needs a row type for.

use serde_json::Value;

use crate::operation::EffectError;
use crate::store::{AnyStore, AnyTx, StoreError};

const SCHEMA_SQLITE: &str = include_str!("tables/sqlite.sql");
const SCHEMA_POSTGRES: &str = include_str!("tables/postgres.sql");
/// Replicas that start together must not make the tables twice. Any number will do that no other schema uses.
const LOCK_POSTGRES: &str = "SELECT pg_advisory_xact_lock(7011387404881094501);";
/// Triggers log the records' deletion, so their history goes last.
const RESET: &str = "DELETE FROM demo_orders; DELETE FROM postonce_records; DELETE FROM demo_history; \
                     DELETE FROM postonce_decisions; DELETE FROM postonce_outbox;";

/// An order about to be placed.
pub(super) struct NewOrder<'a> {
    pub(super) operation: &'a str,
    pub(super) key: &'a str,
    pub(super) subject: &'a str,
    pub(super) sku: &'a str,
    pub(super) quantity: i64,
    pub(super) note: Option<&'a str>,
    pub(super) total: i64,
}

/// A query of the demo in both dialects; each row is one JSON text.
pub(super) struct Rows {
    sqlite: &'static str,
    postgres: &'static str,
}

/// Every step of every record, oldest first.
pub(super) const HISTORY: Rows = Rows {
    sqlite: "SELECT json_object('subject', subject, 'key', key, 'step', step) FROM demo_history ORDER BY n",
    postgres: "SELECT json_build_object('subject', subject, 'key', key, 'step', step)::text FROM demo_history \
               ORDER BY n",
};

/// Every record, oldest first.
pub(super) const RECORDS: Rows = Rows {
    sqlite: "SELECT json_object('id', id, 'key', key, 'subject', subject, 'operation', operation, 'state', state, \
             'fingerprint', fingerprint, 'token', token, 'owner', owner, 'started_at', started_ms, 'lease_until', \
             lease_until_ms, 'first_seen', first_seen_ms, 'changed_at', changed_ms, 'status', status, 'result_id', \
             result_id) FROM postonce_records ORDER BY id",
    postgres: "SELECT json_build_object('id', id, 'key', key, 'subject', subject, 'operation', operation, 'state', \
               state, 'fingerprint', fingerprint, 'token', token, 'owner', owner, 'started_at', started_ms, \
               'lease_until', lease_until_ms, 'first_seen', first_seen_ms, 'changed_at', changed_ms, 'status', status, \
               'result_id', convert_from(result_id, 'UTF8'))::text FROM postonce_records ORDER BY id",
};

/// Every order, oldest first; with a number, only that one.
pub(super) const ORDERS: Rows = Rows {
    sqlite: "SELECT json_object('id', id, 'operation', operation, 'key', key, 'subject', subject, 'sku', sku, \
             'quantity', quantity, 'note', note, 'total', total, 'at', placed_ms) FROM demo_orders \
             WHERE $1 IS NULL OR id = $1 ORDER BY id",
    postgres: "SELECT json_build_object('id', id, 'operation', operation, 'key', key, 'subject', subject, 'sku', sku, \
               'quantity', quantity, 'note', note, 'total', total, 'at', placed_ms)::text FROM demo_orders \
               WHERE $1 IS NULL OR id = $1 ORDER BY id",
};

/// Makes the tables.
pub(super) async fn create(store: &AnyStore) -> Result<(), StoreError> {
    match store {
        AnyStore::Sqlite(_) => run(store, SCHEMA_SQLITE).await,
        AnyStore::Postgres(_) => run(store, &format!("BEGIN; {LOCK_POSTGRES} {SCHEMA_POSTGRES} COMMIT;")).await,
    }
}

/// Forgets every order and record.
pub(super) async fn reset(store: &AnyStore) -> Result<(), StoreError> {
    run(store, RESET).await
}

/// All rows of a query; `number` is its only parameter, if it has one.
pub(super) async fn read(store: &AnyStore, rows: &Rows, number: Option<Option<i64>>) -> Result<Vec<Value>, StoreError> {
    let texts: Result<Vec<String>, sqlx::Error> = match store {
        AnyStore::Sqlite(store) => {
            let query = sqlx::query_scalar(rows.sqlite);
            match number {
                Some(number) => query.bind(number).fetch_all(store.readers()).await,
                None => query.fetch_all(store.readers()).await,
            }
        }
        AnyStore::Postgres(store) => {
            let query = sqlx::query_scalar(rows.postgres);
            match number {
                Some(number) => query.bind(number).fetch_all(store.statements()).await,
                None => query.fetch_all(store.statements()).await,
            }
        }
    };
    let texts = texts.map_err(|error| StoreError::Unavailable(error.to_string()))?;
    let values: Result<Vec<Value>, _> = texts.iter().map(|text| serde_json::from_str(text)).collect();
    values.map_err(|error| StoreError::Corrupt(error.to_string()))
}

/// Places an order inside the effect's transaction and answers its number.
pub(super) async fn place(tx: &mut AnyTx, order: &NewOrder<'_>) -> Result<i64, EffectError> {
    /// The same statement, but for the clock, and the same values on both.
    macro_rules! insert {
        ($clock:literal) => {
            sqlx::query_scalar(concat!(
                "INSERT INTO demo_orders (operation, key, subject, sku, quantity, note, total, placed_ms) \
                 VALUES ($1, $2, $3, $4, $5, $6, $7, ",
                $clock,
                ") RETURNING id"
            ))
            .bind(order.operation)
            .bind(order.key)
            .bind(order.subject)
            .bind(order.sku)
            .bind(order.quantity)
            .bind(order.note)
            .bind(order.total)
        };
    }
    let placed: Result<i64, sqlx::Error> = match tx {
        AnyTx::Sqlite(tx) => insert!("CAST(ROUND(unixepoch('subsec') * 1000) AS INTEGER)").fetch_one(&mut **tx).await,
        AnyTx::Postgres(tx) => {
            insert!("(extract(epoch FROM clock_timestamp()) * 1000)::bigint").fetch_one(&mut **tx).await
        }
    };
    placed.map_err(|error| EffectError::NotApplied(error.to_string()))
}

async fn run(store: &AnyStore, sql: &str) -> Result<(), StoreError> {
    let done = match store {
        AnyStore::Sqlite(store) => sqlx::raw_sql(sql).execute(store.writer()).await.map(drop),
        AnyStore::Postgres(store) => sqlx::raw_sql(sql).execute(store.statements()).await.map(drop),
    };
    done.map_err(|error| StoreError::Unavailable(error.to_string()))
}

/// An outage: every statement on the records fails, while the effect's own tables are there (R114).
pub(super) async fn store_away(store: &AnyStore) -> Result<(), StoreError> {
    run(store, "ALTER TABLE postonce_records RENAME TO postonce_records_away").await
}

/// The end of the outage.
pub(super) async fn store_back(store: &AnyStore) -> Result<(), StoreError> {
    run(store, "ALTER TABLE postonce_records_away RENAME TO postonce_records").await
}
