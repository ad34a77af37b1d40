//! The server half of the postonce contract, for any axum application.
//!
//! An application implements [`Operation`] for each thing that must happen once, opens a [`Store`], tells who is asking
//! through [`Authenticate`], and mounts [`Contract::routes`]. The library then reads and screens the request, binds the
//! key to its fingerprint, reserves it by one unique insert, runs the effect detached from the connection, and commits
//! the effect's writes together with the answer that every repeat will get.
//!
//! | module | does |
//! | --- | --- |
//! | `command`, `status` | the two routes: command; status check and fence |
//! | `envelope`, `payload` | key, dates and subject; the body and its fingerprint |
//! | `decide`, `run` | the loop around the core's decision; what the owner of a reserve does |
//! | `reply`, `problem`, `cors` | what goes back over the wire |
//! | [`store`] | records: the trait, SQLite and PostgreSQL |
//! | [`demo`] | a shop with faults on demand, a request log and an effect counter, for tests and the fault lab |

mod command;
mod cors;
mod decide;
pub mod demo;
mod envelope;
mod layer;
mod operation;
mod payload;
mod problem;
mod reply;
mod run;
mod status;
pub mod store;

pub use command::REQUEST_BODY_MAX;
pub use cors::Cors;
pub use envelope::{FIRST_SENT_FIELD, KEY_FIELD, SUBJECT_FIELD};
pub use layer::{Contract, Replicas, StoreTooNear};
pub use operation::{Answer, Authenticate, Authenticated, Command, EffectError, Operation, Outcome, TokenRefused};
pub use payload::{FIELDS_MAX, Part, PartValue, Payload, PayloadError};
pub use run::STORED_BODY_MAX;
pub use store::{PostgresOptions, PostgresStore, SqliteOptions, SqliteStore, Store};
