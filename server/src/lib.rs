//! The server half of the postonce contract, for any axum application.
//!
//! An application opens a [`Store`], tells who is asking through [`Authenticate`], and puts [`Contract::layer`] in front
//! of its handlers. The library then reads and screens the request, binds the key to its fingerprint, reserves it by one
//! unique insert, runs the handler detached from the connection, and commits what it wrote together with the answer that
//! every repeat will get. `server/examples/shop.rs` is a whole service. An effect that is no handler implements
//! [`Operation`] and is mounted by [`Contract::routes`].
//!
//! | module | does |
//! | --- | --- |
//! | `once`, `rules` | the contract as a `tower` layer, the handler's transaction |
//! | `visitor` | guests as subjects: a secret in a cookie that no script reads |
//! | `command`, `status` | the two routes: command; status check and fence |
//! | `envelope`, `payload` | key, dates and subject; the body and its fingerprint |
//! | `decide`, `run` | the loop around the core's decision; what the owner of a reserve does |
//! | [`reconcile`] | what stays open: a look by the operation's method, a queue for a person, recorded decisions |
//! | [`outbox`] | calls to other services, posted in the effect's transaction and delivered under one downstream key |
//! | [`metrics`] | counters and gauges, without a key, a subject or a field in them |
//! | `reply`, `problem`, `cors` | what goes back over the wire |
//! | [`store`] | records: the trait, SQLite and PostgreSQL |
//! | [`demo`] | a shop with faults on demand, a request log and an effect counter, for tests and the fault lab |

mod command;
mod cors;
mod decide;
pub mod demo;
mod envelope;
mod layer;
pub mod metrics;
mod once;
mod operation;
pub mod outbox;
mod payload;
mod problem;
pub mod reconcile;
mod reply;
mod rules;
mod run;
mod status;
pub mod store;
mod visitor;

pub use command::REQUEST_BODY_MAX;
pub use cors::Cors;
pub use envelope::{FIRST_SENT_FIELD, KEY_FIELD, SUBJECT_FIELD};
pub use layer::{Contract, Replicas, StoreTooNear};
pub use once::{ANSWER_BODY_MAX, Effect, EffectTx, NotBehindLayer, Once, OnceLayer};
pub use operation::{Answer, Authenticate, Authenticated, Command, EffectError, Operation, Outcome, TokenRefused};
pub use payload::{FIELDS_MAX, Part, PartValue, Payload, PayloadError};
pub use rules::Rules;
pub use run::STORED_BODY_MAX;
pub use store::{PostgresOptions, PostgresStore, SqliteOptions, SqliteStore, Store};
pub use visitor::{VISITOR_SECRET_BYTES, Visitor, Visitors};
