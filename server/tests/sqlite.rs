//! The contract over real sockets, on SQLite: what was asked, answered, recorded and done is read from the server's own
//! log, records and effect counter, never inferred from an answer. `postgres.rs` is the same suite on the other store.

#[cfg(test)]
#[path = "contract/mod.rs"]
mod contract;
#[cfg(test)]
#[path = "databases/sqlite.rs"]
mod database;
