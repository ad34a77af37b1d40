//! Where every accident of a run comes from: a tape of numbers, drawn from a seed or played back. Zero always stands for
//! the plainest choice, so a shorter tape with smaller numbers is a simpler run: that is what shrinking looks for.

/// Draws from a seed and writes the tape, or plays one back; past its end everything is plain.
#[derive(Clone, Debug)]
pub struct Choices {
    tape: Vec<u32>,
    at: usize,
    source: Option<fastrand::Rng>,
}

/// A chance is stated in thousandths.
const WHOLE: u32 = 1_000;

impl Choices {
    /// A run of its own for each seed.
    #[must_use]
    pub fn seeded(seed: u64) -> Self {
        Self { tape: Vec::new(), at: 0, source: Some(fastrand::Rng::with_seed(seed)) }
    }

    /// The run that wrote that tape, or one near it.
    #[must_use]
    pub const fn replayed(tape: Vec<u32>) -> Self {
        Self { tape, at: 0, source: None }
    }

    /// What was drawn so far.
    #[must_use]
    pub fn tape(&self) -> &[u32] {
        self.tape.get(..self.at).unwrap_or_default()
    }

    /// A number below `end`; 0 when there is nothing to choose.
    pub fn below(&mut self, end: u32) -> u32 {
        if end <= 1 {
            return 0;
        }
        let drawn = match &mut self.source {
            Some(rng) => {
                let drawn = rng.u32(..end);
                self.tape.push(drawn);
                drawn
            }
            None => self.tape.get(self.at).map_or(0, |drawn| drawn % end),
        };
        self.at += 1;
        drawn
    }

    /// True in so many of a thousand draws; a plain run never has it.
    pub fn odd(&mut self, of_thousand: u32) -> bool {
        self.below(WHOLE) >= WHOLE - of_thousand.min(WHOLE)
    }

    /// One of these; the first is the plainest.
    pub fn pick<T: Copy>(&mut self, from: &[T]) -> Option<T> {
        let at = self.below(u32::try_from(from.len()).unwrap_or(u32::MAX));
        from.get(at as usize).copied()
    }

    /// A number from `from` to below `end`; `from` is the plainest.
    pub fn between(&mut self, from: u64, end: u64) -> u64 {
        from + u64::from(self.below(u32::try_from(end.saturating_sub(from)).unwrap_or(u32::MAX)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn given_a_tape_then_it_plays_back_what_was_drawn() {
        let mut drawn = Choices::seeded(7);
        let first: Vec<u32> = (2..40).map(|end| drawn.below(end)).collect();
        let mut again = Choices::replayed(drawn.tape().to_vec());
        assert_eq!((2..40).map(|end| again.below(end)).collect::<Vec<_>>(), first);
        assert_eq!((again.below(9), again.odd(999)), (0, false), "past its end everything is plain");
    }
}
