//! The demo's own tables, beside the records in the same file.

use super::Tables;
use crate::store::{SqliteStore, StoreError};

const SCHEMA: &str = include_str!("tables.sql");
const RESET: &str = "DELETE FROM demo_orders; DELETE FROM postonce_records; DELETE FROM demo_history;";

pub(super) async fn create(store: &SqliteStore) -> Tables {
    run(store, SCHEMA).await
}

/// Forgets every order and record. Triggers log the records' deletion, so their history goes last.
pub(super) async fn reset(store: &SqliteStore) -> Tables {
    run(store, RESET).await
}

/// An outage: every statement on the records fails, while the effect's own tables are there (R114).
pub(super) async fn store_away(store: &SqliteStore) -> Tables {
    run(store, "ALTER TABLE postonce_records RENAME TO postonce_records_away").await
}

/// The end of the outage.
pub(super) async fn store_back(store: &SqliteStore) -> Tables {
    run(store, "ALTER TABLE postonce_records_away RENAME TO postonce_records").await
}

async fn run(store: &SqliteStore, sql: &'static str) -> Tables {
    match sqlx::raw_sql(sql).execute(store.writer()).await {
        Ok(_done) => Ok(()),
        Err(error) => Err(StoreError::Unavailable(error.to_string())),
    }
}
