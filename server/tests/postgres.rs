//! The contract over real sockets, on PostgreSQL: the same suite as `sqlite.rs`, and what only this store can meet.

#[cfg(test)]
#[path = "databases/connections.rs"]
mod connections;
#[cfg(test)]
#[path = "contract/mod.rs"]
mod contract;
#[cfg(test)]
#[path = "databases/postgres.rs"]
mod database;
