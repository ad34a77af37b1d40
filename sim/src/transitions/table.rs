//! The transitions, in order.

use crate::coverage::Step;

/// State before, event, state after.
#[rustfmt::skip]
pub const TABLE: &[Step] = &[
];
