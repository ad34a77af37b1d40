//! The command line of the simulator.
#![allow(clippy::print_stdout, clippy::print_stderr, reason = "a command line prints")]

use std::process::ExitCode;

use postonce_sim::campaign::{Campaign, Limits, Shown};
use postonce_sim::catalog::catalog;
use postonce_sim::choices::Choices;
use postonce_sim::run::{run, shrink};
use postonce_sim::{planted, transitions};

const USAGE: &str = "usage:
  postonce-sim run [--schedules N] [--seed S] [--threads T] [--all] [--check]   many schedules; --check holds them to the limits
  postonce-sim show SEED                                                one schedule, shrunk if it breaks a rule
  postonce-sim planted [--schedules N] [--frequent] [NAME]              each planted bug, and the schedules to catch it
  postonce-sim transitions [--schedules N]                              the transitions that are reached, as a table";

/// Schedules of a run unless told otherwise.
const SCHEDULES: u64 = 200_000;
/// Schedules within which a planted bug has to be caught.
const PLANTED_SCHEDULES: u64 = 40_000;

fn main() -> ExitCode {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let words: Vec<&str> = args.iter().map(String::as_str).collect();
    match words.split_first() {
        Some((&"run", rest)) => many(rest),
        Some((&"show", rest)) => one(rest),
        Some((&"planted", rest)) => bugs(rest),
        Some((&"transitions", rest)) => {
            let Some(schedules) = number(rest, "--schedules", SCHEDULES) else { return usage() };
            print!("{}", transitions::reached(schedules, threads(rest)));
            ExitCode::SUCCESS
        }
        _ => usage(),
    }
}

fn usage() -> ExitCode {
    eprintln!("{USAGE}");
    ExitCode::from(64)
}

/// The number behind that option; `None` when it is no number.
fn number(words: &[&str], option: &str, otherwise: u64) -> Option<u64> {
    match words.iter().position(|word| *word == option) {
        None => Some(otherwise),
        Some(at) => words.get(at + 1)?.replace('_', "").parse().ok(),
    }
}

fn threads(words: &[&str]) -> usize {
    let cores = std::thread::available_parallelism().map_or(1, std::num::NonZero::get);
    number(words, "--threads", 0).and_then(|it| usize::try_from(it).ok()).filter(|it| *it > 0).unwrap_or(cores)
}

fn many(words: &[&str]) -> ExitCode {
    let (Some(schedules), Some(seed)) = (number(words, "--schedules", SCHEDULES), number(words, "--seed", 0)) else {
        return usage();
    };
    let shown = if words.contains(&"--all") { Shown::All } else { Shown::Progress };
    let campaign = Campaign::run(seed, schedules, threads(words), shown);
    print!("{campaign}");
    if shown == Shown::All {
        for (kind, (times, seed)) in campaign.kinds() {
            println!("{times:>6} x {kind} (seed {seed})");
        }
    }
    if let Some((seed, violation)) = campaign.violations.first() {
        println!("seed {seed} breaks {}: {}", violation.rule, violation.what);
        println!("`npm run sim -- show {seed}` prints it, made as small as it gets");
        return ExitCode::FAILURE;
    }
    if !words.contains(&"--check") {
        return ExitCode::SUCCESS;
    }
    let faults = Limits::default().broken_by(&campaign);
    for fault in &faults {
        eprintln!("{fault}");
    }
    if faults.is_empty() { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

fn one(words: &[&str]) -> ExitCode {
    let Some(seed) = words.first().and_then(|word| word.parse().ok()) else { return usage() };
    let catalog = catalog();
    let found = run(&catalog, Choices::seeded(seed), false);
    let (choices, code) = match &found.violation {
        None => (Choices::seeded(seed), ExitCode::SUCCESS),
        Some(violation) => {
            let tape = shrink(&catalog, found.tape.clone(), violation);
            println!("seed {seed}, {} of {} choices left", tape.len(), found.tape.len());
            (Choices::replayed(tape), ExitCode::FAILURE)
        }
    };
    println!("{}", run(&catalog, choices, true).trace.unwrap_or_default());
    code
}

fn bugs(words: &[&str]) -> ExitCode {
    let Some(schedules) = number(words, "--schedules", PLANTED_SCHEDULES) else { return usage() };
    let only = words.iter().find(|word| !word.starts_with("--") && word.replace('_', "").parse::<u64>().is_err());
    let caught = planted::hunt(schedules, threads(words), only.copied(), words.contains(&"--frequent"));
    print!("{caught}");
    if caught.missed().is_empty() { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}
