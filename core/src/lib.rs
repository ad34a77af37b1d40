//! The pure core of postonce: it decides for the browser, the server and the simulator alike.
//!
//! Nothing here reads a clock, draws a random number or does I/O. Time ([`time::Now`]) and random bytes
//! come in as arguments; what has to happen goes out as data.
#![no_std]

extern crate alloc;

pub mod backoff;
pub mod budget;
pub mod contract;
pub mod fingerprint;
pub mod http_date;
pub mod json;
pub mod key;
pub mod machine;
pub mod operation;
pub mod planted;
pub mod reconcile;
pub mod record;
pub mod retry_after;
pub mod slot;
pub mod structured;
pub mod time;
pub mod verdict;
