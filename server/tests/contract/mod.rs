//! One suite for every store: each test binary brings a `database` module that says where a shop keeps its records.

mod faults;
mod outbox;
mod readiness;
mod reconcile;
mod recovery;
mod refusals;
pub(crate) mod shop;
mod status;
