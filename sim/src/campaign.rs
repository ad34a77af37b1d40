//! Many schedules: how many, how fast, what they reached, and whether anything broke.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::io::{IsTerminal as _, Write as _};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use crate::catalog::catalog;
use crate::choices::Choices;
use crate::coverage::Coverage;
use crate::faults::Fault;
use crate::run::run;
use crate::transitions;
use crate::world::Violation;

/// Schedules that one thread takes at a time.
const CHUNK: u64 = 256;

/// What of a campaign is shown while it runs, and whether it goes on after a rule was broken.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Shown {
    /// No progress; ends soon after the first violation.
    Nothing,
    /// Progress; ends soon after the first violation.
    Progress,
    /// Progress; goes on to the end and counts violations by kind.
    All,
}

/// The outcome of many schedules.
#[derive(Debug, Default)]
pub struct Campaign {
    /// Schedules run.
    pub schedules: u64,
    /// Machine events in all of them.
    pub events: u64,
    /// Seeds that broke a rule, in order.
    pub violations: Vec<(u64, Violation)>,
    /// In how many schedules each kind of fault struck, in the order of [`Fault::ALL`].
    pub struck: Vec<u64>,
    /// Transitions reached.
    pub coverage: Coverage,
    /// How long it took.
    pub took: Duration,
}

impl Campaign {
    /// Runs `schedules` of them from `seed` on. Stops soon after the first that breaks a rule.
    #[must_use]
    pub fn run(seed: u64, schedules: u64, threads: usize, shown: Shown) -> Self {
        let (next, done, broken) = (AtomicU64::new(0), AtomicU64::new(0), AtomicBool::new(false));
        let started = Instant::now();
        let work = || {
            let catalog = catalog();
            let mut part = Self { struck: vec![0; Fault::ALL.len()], ..Self::default() };
            loop {
                let from = next.fetch_add(CHUNK, Ordering::Relaxed);
                if from >= schedules || broken.load(Ordering::Relaxed) {
                    return part;
                }
                let end = (from + CHUNK).min(schedules);
                for seed in seed + from..seed + end {
                    let run = run(&catalog, Choices::seeded(seed), false);
                    part.schedules += 1;
                    part.events += run.events as u64;
                    part.coverage.merge(&run.coverage);
                    for (count, fault) in part.struck.iter_mut().zip(Fault::ALL) {
                        *count += u64::from(run.struck & fault.bit() != 0);
                    }
                    if let Some(violation) = run.violation {
                        part.violations.push((seed, violation));
                        broken.store(shown != Shown::All, Ordering::Relaxed);
                    }
                }
                let so_far = done.fetch_add(end - from, Ordering::Relaxed) + end - from;
                if shown != Shown::Nothing {
                    progress(so_far, schedules, started.elapsed());
                }
            }
        };
        let mut whole = Self { struck: vec![0; Fault::ALL.len()], ..Self::default() };
        thread::scope(|scope| {
            let running: Vec<_> = (0..threads.max(1)).map(|_| scope.spawn(work)).collect();
            for thread in running {
                if let Ok(part) = thread.join() {
                    whole.add(&part);
                } else {
                    let what = "the simulator itself failed".into();
                    whole.violations.push((seed, Violation { rule: "none", what }));
                }
            }
        });
        whole.violations.sort_by_key(|(seed, _)| *seed);
        whole.took = started.elapsed();
        if shown != Shown::Nothing && std::io::stderr().is_terminal() {
            eprint!("\r\x1b[K");
        }
        whole
    }

    fn add(&mut self, part: &Self) {
        self.schedules += part.schedules;
        self.events += part.events;
        self.violations.extend(part.violations.iter().cloned());
        self.coverage.merge(&part.coverage);
        for (count, more) in self.struck.iter_mut().zip(&part.struck) {
            *count += more;
        }
    }

    /// Violations by kind: how often, and the first seed.
    #[must_use]
    pub fn kinds(&self) -> BTreeMap<String, (usize, u64)> {
        let mut kinds = BTreeMap::new();
        for (seed, violation) in &self.violations {
            let entry = kinds.entry(format!("{} {}", violation.rule, violation.what)).or_insert((0, *seed));
            entry.0 += 1;
        }
        kinds
    }

    /// Events of a mean schedule.
    #[must_use]
    pub fn mean_events(&self) -> f64 {
        self.events as f64 / self.schedules.max(1) as f64
    }

    /// The share of reachable pairs of state and event that were reached, and how many there are.
    #[must_use]
    pub fn reached(&self) -> (usize, usize) {
        let reachable = transitions::pairs();
        let pairs: BTreeSet<_> = self.coverage.pairs().into_iter().filter(|pair| reachable.contains(pair)).collect();
        (pairs.len(), reachable.len())
    }
}

fn progress(done: u64, of: u64, took: Duration) {
    if !std::io::stderr().is_terminal() {
        return;
    }
    const WIDTH: u64 = 30;
    let full = done * WIDTH / of.max(1);
    let bar: String = (0..WIDTH).map(|at| if at < full { '#' } else { '.' }).collect();
    let rate = done as f64 / took.as_secs_f64().max(0.001);
    eprint!("\r[{bar}] {done} of {of} schedules, {rate:.0}/s");
    let _ = std::io::stderr().flush();
}

impl fmt::Display for Campaign {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let seconds = self.took.as_secs_f64().max(0.001);
        let (reached, reachable) = self.reached();
        let share = 100.0 * reached as f64 / reachable.max(1) as f64;
        writeln!(
            f,
            "{} schedules in {seconds:.1} s ({:.0}/s), {} events, {:.1} a schedule",
            self.schedules,
            self.schedules as f64 / seconds,
            self.events,
            self.mean_events()
        )?;
        writeln!(f, "{reached} of {reachable} reachable pairs of state and event ({share:.1} %)")?;
        let rarest = self.struck.iter().zip(Fault::ALL).min_by_key(|(count, _)| **count);
        if let Some((count, fault)) = rarest {
            let share = 100.0 * *count as f64 / self.schedules.max(1) as f64;
            writeln!(f, "rarest fault: {fault:?} in {share:.2} % of schedules")?;
        }
        writeln!(f, "{} violations", self.violations.len())
    }
}

/// What a campaign must reach to count as a proof of anything.
#[derive(Clone, Copy, Debug)]
pub struct Limits {
    /// Share of reachable pairs, in percent.
    pub pairs: f64,
    /// Share of schedules in which each kind of fault occurs, in percent.
    pub faults: f64,
    /// Events of a mean schedule.
    pub events: f64,
}

impl Default for Limits {
    fn default() -> Self {
        Self { pairs: 95.0, faults: 1.0, events: 20.0 }
    }
}

impl Limits {
    /// Every limit that the campaign misses, in words.
    #[must_use]
    pub fn broken_by(&self, campaign: &Campaign) -> Vec<String> {
        let mut missed = Vec::new();
        let (reached, reachable) = campaign.reached();
        let share = 100.0 * reached as f64 / reachable.max(1) as f64;
        if share < self.pairs {
            missed.push(format!("only {share:.1} % of reachable pairs, {} are asked for", self.pairs));
        }
        for (count, fault) in campaign.struck.iter().zip(Fault::ALL) {
            let share = 100.0 * *count as f64 / campaign.schedules.max(1) as f64;
            if share < self.faults {
                missed.push(format!("{fault:?} in {share:.2} % of schedules, {} are asked for", self.faults));
            }
        }
        if campaign.mean_events() < self.events {
            missed.push(format!("{:.1} events a schedule, {} are asked for", campaign.mean_events(), self.events));
        }
        let table = transitions::table();
        for step in campaign.coverage.steps() {
            if !table.contains(step) {
                missed.push(format!("{} on {} became {}: not in the table of transitions", step.0, step.1, step.2));
            }
        }
        missed
    }
}
