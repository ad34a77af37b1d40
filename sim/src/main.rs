//! The command line of the simulator.
#![allow(clippy::print_stdout, reason = "a command line prints")]

use postonce_sim::catalog::catalog;
use postonce_sim::choices::Choices;
use postonce_sim::run::{run, shrink};

fn main() {
    let mut args = std::env::args().skip(1);
    let first: u64 = args.next().and_then(|it| it.parse().ok()).unwrap_or(0);
    let count: u64 = args.next().and_then(|it| it.parse().ok()).unwrap_or(1_000);
    let catalog = catalog();
    let mut events = 0;
    let start = std::time::Instant::now();
    let mut kinds: std::collections::BTreeMap<String, (usize, u64)> = std::collections::BTreeMap::new();
    let mut cover = postonce_sim::coverage::Coverage::default();
    for seed in first..first + count {
        let result = run(&catalog, Choices::seeded(seed), false);
        events += result.events;
        cover.merge(&result.coverage);
        if let Some(violation) = result.violation {
            let entry = kinds.entry(format!("{} {}", violation.rule, violation.what)).or_insert((0, seed));
            entry.0 += 1;
            if count == 1 {
                let tape = shrink(&catalog, result.tape, &violation);
                let shown = run(&catalog, Choices::replayed(tape.clone()), true);
                println!("{}", shown.trace.unwrap_or_default());
                println!("tape of {}", tape.len());
            }
        }
    }
    println!("{count} schedules, {events} events, {:?}, {} pairs", start.elapsed(), cover.pairs().len());
    for (kind, (times, seed)) in kinds {
        println!("{times:>6} x {kind} (seed {seed})");
    }
}
