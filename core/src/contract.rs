//! What a server decides about one keyed request, as pure functions: record and request in, decision out.
//!
//! The order is fixed (R102): [`screen`] looks at key and subject before anything is read; the caller then looks the
//! record up and asks [`decide_command`], [`decide_status`] or [`decide_fence`]. With a record its fingerprint is
//! compared first (R104), then its state counts; without one come authority, age (R116) and deadline (R117), and only
//! then may the caller reserve. The reserve itself, and everything that writes, belongs to the store.
//!
//! ```
//! use postonce_core::contract::{Authority, CommandRequest, Decision, Policy, decide_command};
//! use postonce_core::time::Wall;
//!
//! let now = Wall(1_769_817_600_000);
//! let request = CommandRequest {
//!     fingerprint: "1:ab",
//!     first_sent: Some(now),
//!     deadline: Some(Wall(now.0 + 8_000)),
//!     authority: Authority::Granted,
//! };
//! assert_eq!(decide_command(None, &request, &Policy::default(), now), Decision::Execute);
//! ```

mod command;
mod policy;
mod problem;
mod record;
mod status;

pub use command::{Authority, CommandRequest, Decision, KeyLine, SubjectTag, decide_command, screen};
pub use policy::{Policy, RecoveryClass, RetentionRule, SubjectRule};
pub use problem::{PROBLEM_PREFIX, Problem};
pub use record::{Claim, Phase, Record, RecordState, Recovery, StateName, Stored, StoredBody, recovery};
pub use status::{FenceDecision, StatusDecision, decide_fence, decide_status};
