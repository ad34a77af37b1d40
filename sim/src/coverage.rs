//! Which pairs of state and event a run reached, and what became of them.

use std::collections::BTreeSet;

/// A state, an event, and the state after it.
pub type Step = (&'static str, &'static str, &'static str);

/// The transitions that were seen.
#[derive(Clone, Debug, Default)]
pub struct Coverage {
    steps: BTreeSet<Step>,
}

impl Coverage {
    /// One step of one machine.
    pub fn add(&mut self, before: &'static str, event: &'static str, after: &'static str) {
        self.steps.insert((before, event, after));
    }

    /// Takes in what another run reached.
    pub fn merge(&mut self, other: &Self) {
        self.steps.extend(&other.steps);
    }

    /// Every transition seen.
    #[must_use]
    pub const fn steps(&self) -> &BTreeSet<Step> {
        &self.steps
    }

    /// Pairs of state and event.
    #[must_use]
    pub fn pairs(&self) -> BTreeSet<(&'static str, &'static str)> {
        self.steps.iter().map(|(before, event, _)| (*before, *event)).collect()
    }
}
