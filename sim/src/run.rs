//! One schedule from its first instant to its end, and the smallest schedule that still breaks the same rule.

use crate::catalog::Entry;
use crate::choices::Choices;
use crate::coverage::Coverage;
use crate::document::Device;
use crate::facts::{Lineage, Time};
use crate::storage::Health;
use crate::world::{Violation, World};

/// Time for pages to come to rest.
const REST: Time = 200_000;

/// What a schedule came to.
#[derive(Clone, Debug)]
pub struct Run {
    /// What broke.
    pub violation: Option<Violation>,
    /// The choices it was made of.
    pub tape: Vec<u32>,
    /// Machine events.
    pub events: usize,
    /// Kinds of fault that struck, as bits.
    pub struck: u64,
    /// Transitions reached.
    pub coverage: Coverage,
    /// What happened, when asked for.
    pub trace: Option<String>,
}

/// Runs one schedule.
#[must_use]
pub fn run(catalog: &[Entry], choices: Choices, traced: bool) -> Run {
    let mut world = World::new(catalog, choices);
    world.trace = traced.then(String::new);
    world.begin();
    world.run_until(Time::MAX);
    world.end();
    Run {
        violation: world.violation,
        tape: world.choices.tape().to_vec(),
        events: world.events,
        struck: world.struck,
        coverage: world.coverage,
        trace: world.trace,
    }
}

impl World<'_> {
    /// Everything heals, every page is opened again, and each open wish must be in sight.
    fn end(&mut self) {
        if self.violation.is_some() {
            return;
        }
        self.heal();
        self.note_hours();
        self.note(|| "everything heals".into());
        for device in 0..self.devices.len() {
            for (document, _, _) in self.alive_on(device) {
                self.close(document);
            }
            self.edit_device(device, |it: &mut Device| {
                it.offline = false;
                it.drive.clear();
                it.turns.clear();
                it.storage.database_health = Health::Sound;
                it.storage.local_health = Health::Sound;
            });
        }
        let lineages: Vec<Lineage> =
            self.facts.lineages.iter().filter(|(_, fact)| fact.presses > 0).map(|(lineage, _)| *lineage).collect();
        for lineage in lineages {
            self.visit(lineage);
        }
    }

    fn visit(&mut self, lineage: Lineage) {
        self.edit_device(lineage.device, |it| {
            it.user = Some(lineage.subject);
            it.cookie = Some(lineage.subject);
        });
        let quantity = self.facts.lineages.get(&lineage).and_then(|fact| fact.wishes.last()).map_or(2, |(_, it)| *it);
        let Some(document) = self.open(lineage, quantity) else { return };
        self.rest(REST);
        self.check_end(document);
        self.last_press_answered = false;
        self.submit(document);
        self.rest(REST);
        self.check_liveness(document);
        self.close(document);
    }
}

/// Tries to make a failing tape shorter and plainer while it still breaks the same rule.
#[must_use]
pub fn shrink(catalog: &[Entry], tape: Vec<u32>, broken: &Violation) -> Vec<u32> {
    let fails = |tape: &[u32]| {
        let run = run(catalog, Choices::replayed(tape.to_vec()), false);
        run.violation.as_ref() == Some(broken)
    };
    let mut best = tape;
    let mut width = best.len() / 2;
    while width >= 1 {
        let mut at = 0;
        while at < best.len() {
            let end = (at + width).min(best.len());
            let mut zeroed = best.clone();
            zeroed[at..end].fill(0);
            let mut cut = best.clone();
            cut.drain(at..end);
            if fails(&cut) {
                best = cut;
            } else if zeroed != best && fails(&zeroed) {
                best = zeroed;
                at += width;
            } else {
                at += width;
            }
        }
        width /= 2;
    }
    best
}
