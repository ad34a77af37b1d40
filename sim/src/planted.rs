//! Every planted bug, and how many schedules it takes to catch it.

use std::fmt;

use postonce_core::planted::{Bug, plant};

use crate::campaign::{Campaign, Shown};

/// Bugs that so few schedules as `npm test` runs do not reach; each turns a unit test of the core red.
pub const RARE: [&str; 17] = [
    "return-goes-on",
    "suspended-forgets",
    "fence-of-old-key",
    "purged-too-early",
    "in-progress-refused",
    "stale-submits",
    "retention-ignored",
    "key-reused-rejected",
    "lease-not-awaited",
    "uncertain-runs",
    "writer-forgotten",
    "older-copy-trusted",
    "no-store-two-drivers",
    "earlier-forgotten",
    "status-by-key-alone",
    "payload-not-compared",
    "expired-as-new",
];

/// What became of each bug.
#[derive(Debug, Default)]
pub struct Caught {
    rows: Vec<(Bug, Option<(u64, String)>)>,
    within: u64,
}

/// Plants one bug after the other and runs schedules until one breaks a rule.
#[must_use]
pub fn hunt(schedules: u64, threads: usize, only: Option<&str>, frequent: bool) -> Caught {
    let mut caught = Caught { rows: Vec::new(), within: schedules };
    for bug in Bug::ALL {
        let left_out = frequent && RARE.contains(&bug.name());
        if left_out || only.is_some_and(|name| name != bug.name()) {
            continue;
        }
        plant(Some(*bug));
        let campaign = Campaign::run(0, schedules, threads, Shown::Nothing);
        let first = campaign.violations.first();
        caught.rows.push((
            *bug,
            first.map(|(seed, violation)| (*seed + 1, format!("{}: {}", violation.rule, violation.what))),
        ));
    }
    plant(None);
    caught
}

impl Caught {
    /// Bugs that no schedule noticed.
    #[must_use]
    pub fn missed(&self) -> Vec<Bug> {
        self.rows.iter().filter(|(_, found)| found.is_none()).map(|(bug, _)| *bug).collect()
    }
}

impl fmt::Display for Caught {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (bug, found) in &self.rows {
            match found {
                Some((schedules, how)) => {
                    writeln!(f, "{:<26} {:<5} caught at {schedules:>6}  {how}", bug.name(), bug.rule())?;
                }
                None => writeln!(f, "{:<26} {:<5} MISSED in {} schedules", bug.name(), bug.rule(), self.within)?,
            }
        }
        let missed = self.missed().len();
        writeln!(
            f,
            "{} of {} planted bugs caught within {} schedules",
            self.rows.len() - missed,
            self.rows.len(),
            self.within
        )
    }
}
