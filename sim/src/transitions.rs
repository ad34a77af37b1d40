//! Every transition that a slot's machine can make, seen from outside: the state before, the event, the state after.
//! `sim/transitions.txt` holds them; a run that makes another one fails, and so does one that reaches too few.

use std::collections::BTreeSet;
use std::fmt::Write as _;

use crate::campaign::{Campaign, Shown};
use crate::coverage::Step;

/// One a line: state before, event, state after.
const TABLE: &str = include_str!("../transitions.txt");

/// The transitions in the table.
#[must_use]
pub fn table() -> BTreeSet<Step> {
    let step = |line: &'static str| {
        let mut words = line.split(' ');
        Some((words.next()?, words.next()?, words.next()?))
    };
    TABLE.lines().filter_map(step).collect()
}

/// Pairs of state and event that can be reached.
#[must_use]
pub fn pairs() -> BTreeSet<(&'static str, &'static str)> {
    table().iter().map(|(before, event, _)| (*before, *event)).collect()
}

/// The table and what so many schedules reach beyond it.
#[must_use]
pub fn reached(schedules: u64, threads: usize) -> String {
    let campaign = Campaign::run(0, schedules, threads, Shown::Progress);
    let mut text = String::new();
    for (before, event, after) in campaign.coverage.steps().union(&table()) {
        let _ = writeln!(text, "{before} {event} {after}");
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn given_the_table_then_it_reads_back_and_no_ended_intent_starts_sending_by_itself() {
        assert!(table().len() > 400);
        for (before, event, after) in table() {
            let ended = matches!(before, "succeeded" | "rejected" | "fenced" | "decided");
            let starts = matches!(after, "sending" | "checking");
            let asked =
                matches!(event, "submit" | "check" | "fence" | "begin_new" | "leave_open" | "record_seen" | "outrun");
            assert!(!(ended && starts) || asked, "{before} on {event} became {after}");
        }
    }
}
