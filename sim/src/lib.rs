//! A whole world around the core: tabs, people, network, server, stores and clocks in one deterministic loop.
//!
//! One seed gives one run, always the same. After every step the invariants are looked at; they read what happened (the
//! log of effects, the bytes that left, what each tab shows), never what the core believes. A run that breaks one prints a
//! trace, and its tape of choices is made as small as it gets.
//!
//! ```
//! use postonce_sim::catalog::catalog;
//! use postonce_sim::choices::Choices;
//! use postonce_sim::run::run;
//! let run = run(&catalog(), Choices::seeded(1), false);
//! assert_eq!(run.violation, None);
//! ```

pub mod answers;
mod browser;
pub mod campaign;
pub mod catalog;
pub mod choices;
pub mod coverage;
pub mod document;
pub mod facts;
pub mod faults;
mod invariants;
mod network;
mod person;
pub mod planted;
pub mod run;
pub mod server;
pub mod storage;
pub mod transitions;
pub mod world;
