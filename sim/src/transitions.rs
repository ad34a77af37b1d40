//! Every transition that a slot's machine can make, seen from outside: the state before, the event, the state after.

use std::collections::BTreeSet;
use std::fmt::Write as _;

use crate::campaign::{Campaign, Shown};
use crate::coverage::Step;

mod table;

pub use table::TABLE;

/// Pairs of state and event that can be reached.
#[must_use]
pub fn pairs() -> BTreeSet<(&'static str, &'static str)> {
    TABLE.iter().map(|(before, event, _)| (*before, *event)).collect()
}

/// The transitions that so many schedules reach, as the source of the table.
#[must_use]
pub fn reached(schedules: u64, threads: usize) -> String {
    let campaign = Campaign::run(0, schedules, threads, Shown::Progress);
    let mut text = String::from(
        "//! The transitions, in order. `npm run sim -- transitions --schedules 10_000_000` writes this file.\n\nuse crate::coverage::Step;\n\n/// State before, event, state after.\n#[rustfmt::skip]\npub const TABLE: &[Step] = &[\n",
    );
    let known: BTreeSet<Step> = TABLE.iter().copied().collect();
    for (before, event, after) in campaign.coverage.steps().union(&known) {
        let _ = writeln!(text, "    (\"{before}\", \"{event}\", \"{after}\"),");
    }
    text.push_str("];\n");
    text
}
