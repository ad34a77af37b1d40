//! One round's budget: a deadline fixed at its start, and what is left by whichever clock ran further (R29-R35).

use crate::time::{Millis, Now, Wall};

/// Budget of a round unless the operation says otherwise.
pub const BUDGET_DEFAULT: Millis = Millis(8_000);
/// Largest budget an operation may ask for: ten minutes. A person does not wait longer in front of a form.
pub const BUDGET_MAX: Millis = Millis(10 * 60 * 1_000);
/// Attempts of a round unless the operation says otherwise.
pub const ATTEMPTS_DEFAULT: u8 = 3;
/// Most attempts an operation may ask for.
pub const ATTEMPTS_MAX: u8 = 10;
/// With less than this left no attempt begins (R33); small budgets have a smaller one, see [`minimum_attempt`].
pub const ATTEMPT_MINIMUM: Millis = Millis(500);
/// How long past its cap an aborted attempt may take to say so.
pub const GRACE: Millis = Millis(1_000);
/// Time for one status check with all its polls.
pub const STATUS_BUDGET: Millis = Millis(3_000);
/// Polls of one status check.
pub const STATUS_POLLS_MAX: u8 = 4;
/// How long a finished intent is remembered to recognise a double submit of it (R23).
pub const ECHO_WINDOW: Millis = Millis(24 * 60 * 60 * 1_000);
/// How long the server remembers a key unless the operation says otherwise (R28).
pub const RETENTION: Millis = Millis(24 * 60 * 60 * 1_000);
/// Longest retention an operation may state: ten years.
pub const RETENTION_MAX: Millis = Millis(3_653 * 24 * 60 * 60 * 1_000);
/// How far two clocks may differ.
pub const SKEW: Millis = Millis(5 * 60 * 1_000);
/// Least time between two status checks that nobody asked for.
pub const CHECK_SPACING: Millis = Millis(5_000);
/// Least time between two checks or fences by gesture while the server asked to wait (R50).
pub const GESTURE_SPACING: Millis = Millis(10_000);
/// Longest delay a host timer can hold: it counts in a signed 32-bit integer and fires at once beyond (R49).
pub const TIMER_MAX: Millis = Millis(0x7fff_ffff);

/// The least time worth an attempt, for a round of `budget`: [`ATTEMPT_MINIMUM`], or half of a budget below twice that, so
/// that a small budget still has room for one after the record is written.
#[must_use]
pub const fn minimum_attempt(budget: Millis) -> Millis {
    at_least_one(smaller(ATTEMPT_MINIMUM, Millis(budget.0 / 2)))
}

/// An attempt's own limit unless the operation gives one: half the budget, all of it when there is only one attempt (R35).
#[must_use]
pub const fn default_cap(budget: Millis, attempts: u8) -> Millis {
    if attempts <= 1 { budget } else { at_least_one(Millis(budget.0 / 2)) }
}

/// One round: a submit or an explicit resend, with all its attempts, waits and body reads (R30).
///
/// ```
/// use postonce_core::budget::Round;
/// use postonce_core::time::{Millis, Mono, Now, Wall};
/// let round = Round::start(Now { mono: Mono(10), wall: Wall(1_000) }, Millis(8_000));
/// // The wall clock went back an hour; the monotonic one still counts (R31).
/// let later = Now { mono: Mono(3_010), wall: Wall(0) };
/// assert_eq!(round.remaining(later), Millis(5_000));
/// assert_eq!(round.deadline(), Wall(9_000));
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Round {
    /// When this document took the round up.
    pub started: Now,
    /// What the round may take in all.
    pub budget: Millis,
    /// What earlier documents already used of it.
    pub carried: Millis,
    /// The largest elapsed time that [`Round::observe`] has seen; zero without one.
    pub seen: Millis,
}

impl Round {
    /// A round that begins now (R29).
    #[must_use]
    pub const fn start(now: Now, budget: Millis) -> Self {
        Self { started: now, budget, carried: Millis::ZERO, seen: Millis::ZERO }
    }

    /// A round found in a record: `created` is when it began by the wall clock, `elapsed_persisted` what its last writer had
    /// counted. The larger counts; a clock that stands before `created` has been set back, and nothing is left (F28).
    #[must_use]
    pub const fn resume(now: Now, budget: Millis, created: Wall, elapsed_persisted: Millis) -> Self {
        let by_wall = if now.wall.0 < created.0 { budget } else { now.wall.since(created) };
        Self { started: now, budget, carried: larger(by_wall, elapsed_persisted), seen: Millis::ZERO }
    }

    /// Keeps what has been counted by `now`, so that a clock that jumps ahead and back gives no time back (R31). The deadline
    /// stays.
    pub fn observe(&mut self, now: Now) {
        self.seen = self.elapsed(now);
    }

    /// Time used, in all documents together.
    #[must_use]
    pub fn elapsed(&self, now: Now) -> Millis {
        larger(self.seen, self.carried.saturating_add(now.elapsed_since(self.started)))
    }

    /// Time left, never above the budget.
    #[must_use]
    pub fn remaining(&self, now: Now) -> Millis {
        self.budget.saturating_sub(self.elapsed(now))
    }

    /// Whether nothing is left.
    #[must_use]
    pub fn is_over(&self, now: Now) -> bool {
        self.remaining(now).0 == 0
    }

    /// The instant the round ends by the wall clock, as it goes into records and headers. It never moves.
    #[must_use]
    pub const fn deadline(&self) -> Wall {
        self.started.wall.plus(self.budget).minus(self.carried)
    }

    /// How long an attempt that starts now may take: `cap` or what is left (R35). `None` when less than `minimum` is left,
    /// or nothing (R33).
    #[must_use]
    pub fn attempt_cap(&self, now: Now, cap: Millis, minimum: Millis) -> Option<Millis> {
        let left = self.remaining(now);
        if left.0 == 0 || left.0 < minimum.0 { None } else { Some(smaller(cap, left)) }
    }

    /// Whether an attempt can still begin after waiting `delay` from now (R48).
    #[must_use]
    pub fn fits(&self, now: Now, delay: Millis, minimum: Millis) -> bool {
        self.remaining(now).0 >= delay.saturating_add(at_least_one(minimum)).0
    }
}

const fn smaller(one: Millis, other: Millis) -> Millis {
    if one.0 < other.0 { one } else { other }
}

const fn larger(one: Millis, other: Millis) -> Millis {
    if one.0 > other.0 { one } else { other }
}

const fn at_least_one(time: Millis) -> Millis {
    larger(time, Millis(1))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::time::Mono;

    const START: Now = Now { mono: Mono(500), wall: Wall(1_800_000_000_000) };
    const BUDGET: Millis = Millis(8_000);

    /// A small fixed generator, so that a failure names its seed.
    struct Draw(u64);

    impl Draw {
        fn next(&mut self) -> u64 {
            self.0 ^= self.0 << 13;
            self.0 ^= self.0 >> 7;
            self.0 ^= self.0 << 17;
            self.0
        }
    }

    fn after(mono: u64, wall: u64) -> Now {
        Now { mono: START.mono.plus(Millis(mono)), wall: START.wall.plus(Millis(wall)) }
    }

    /// Walks non-decreasing monotonic time under a wall clock that goes anywhere.
    fn walk(seed: u64, mut look: impl FnMut(u64, Now)) {
        let mut draw = Draw(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1);
        let mut passed = 0;
        for _ in 0..60 {
            passed += draw.next() % 400;
            let wall = match draw.next() % 4 {
                0 => draw.next(),
                1 => START.wall.0.saturating_sub(draw.next() % 10_000_000),
                2 => START.wall.0 + draw.next() % 9_000,
                _ => START.wall.0 + passed,
            };
            look(passed, Now { mono: START.mono.plus(Millis(passed)), wall: Wall(wall) });
        }
    }

    #[test]
    fn r31_given_any_wall_clock_then_observed_time_left_never_grows() {
        for seed in 1..2_000 {
            let mut round = Round::start(START, BUDGET);
            let mut left = BUDGET;
            walk(seed, |_, now| {
                round.observe(now);
                assert!(round.remaining(now) <= left, "seed {seed}");
                left = round.remaining(now);
            });
        }
    }

    #[test]
    fn r31_given_any_wall_clock_then_time_left_is_never_above_what_the_monotonic_clock_leaves() {
        for seed in 1..2_000 {
            let round = Round::start(START, BUDGET);
            walk(seed, |passed, now| {
                let bound = BUDGET.saturating_sub(Millis(passed));
                assert!(round.remaining(now) <= bound, "seed {seed}");
                assert!(round.attempt_cap(now, BUDGET, Millis(1)).is_none_or(|cap| cap <= bound), "seed {seed}");
            });
        }
    }

    #[test]
    fn r29_given_any_wall_clock_then_the_deadline_never_moves() {
        for seed in 1..500 {
            let mut round = Round::start(START, BUDGET);
            walk(seed, |_, now| {
                round.observe(now);
                assert_eq!(round.deadline(), START.wall.plus(BUDGET), "seed {seed}");
            });
        }
    }

    #[test]
    fn r29_given_a_reload_at_any_moment_then_the_deadline_is_never_later() {
        for seed in 1..500 {
            let round = Round::start(START, BUDGET);
            walk(seed, |_, now| {
                let taken = Round::resume(now, BUDGET, START.wall, round.elapsed(now));
                let limit = if now.wall < START.wall { now.wall } else { round.deadline() };
                assert!(taken.deadline() <= limit, "seed {seed}");
                assert!(taken.remaining(now) <= round.remaining(now), "seed {seed}");
            });
        }
    }

    #[test]
    fn r29_given_a_reload_under_a_steady_clock_then_the_deadline_is_the_same() {
        let round = Round::resume(after(0, 3_000), BUDGET, START.wall, Millis(2_500));
        assert_eq!((round.deadline(), round.remaining(after(0, 3_000))), (START.wall.plus(BUDGET), Millis(5_000)));
    }

    #[test]
    fn f28_given_a_clock_set_back_two_hours_and_a_reload_then_nothing_is_left() {
        let now = Now { mono: Mono(0), wall: START.wall.minus(Millis(7_200_000)) };
        let round = Round::resume(now, Millis(10_000), START.wall, Millis(1_000));
        assert!(round.is_over(now));
        assert_eq!(round.remaining(now), Millis::ZERO);
        assert_eq!(round.attempt_cap(now, BUDGET, Millis(1)), None);
    }

    #[test]
    fn f28_given_a_sleep_or_a_jump_ahead_then_it_counts_and_no_attempt_begins() {
        let round = Round::start(START, Millis(10_000));
        for now in [after(61_000, 61_000), after(1_000, 61_000), after(1_000, 301_000)] {
            assert!(round.is_over(now));
            assert_eq!(round.attempt_cap(now, BUDGET, Millis(1)), None);
        }
    }

    #[test]
    fn r33_given_less_than_the_minimum_left_then_no_attempt_begins() {
        let round = Round::start(START, BUDGET);
        assert_eq!(round.attempt_cap(after(7_500, 0), Millis(4_000), ATTEMPT_MINIMUM), Some(Millis(500)));
        assert_eq!(round.attempt_cap(after(7_501, 0), Millis(4_000), ATTEMPT_MINIMUM), None);
        assert_eq!(round.attempt_cap(after(8_000, 0), Millis(4_000), Millis::ZERO), None);
    }

    #[test]
    fn r33_given_a_small_budget_then_its_first_attempt_still_begins_after_the_record_is_written() {
        for budget in [Millis(1), Millis(2), Millis(300), Millis(500), Millis(900)] {
            let round = Round::start(START, budget);
            let now = after(budget.0 / 4, 0);
            assert!(round.attempt_cap(now, default_cap(budget, 1), minimum_attempt(budget)).is_some(), "{budget:?}");
            assert!(minimum_attempt(budget) <= ATTEMPT_MINIMUM);
        }
        assert_eq!(minimum_attempt(BUDGET), ATTEMPT_MINIMUM);
    }

    #[test]
    fn r35_given_several_attempts_then_one_hang_never_eats_the_whole_budget() {
        assert_eq!(default_cap(BUDGET, 3), Millis(4_000));
        assert_eq!(default_cap(BUDGET, 1), BUDGET);
        let round = Round::start(START, BUDGET);
        assert_eq!(round.attempt_cap(after(6_000, 0), Millis(4_000), ATTEMPT_MINIMUM), Some(Millis(2_000)));
    }

    #[test]
    fn r48_given_a_wait_that_leaves_no_attempt_then_it_does_not_fit() {
        let round = Round::start(START, BUDGET);
        assert!(round.fits(after(1_000, 0), Millis(6_500), ATTEMPT_MINIMUM));
        assert!(!round.fits(after(1_000, 0), Millis(6_501), ATTEMPT_MINIMUM));
        assert!(!round.fits(after(1_000, 0), Millis(u64::MAX), ATTEMPT_MINIMUM));
        assert!(!round.fits(after(8_000, 0), Millis::ZERO, Millis::ZERO));
    }

    #[test]
    fn r29_given_the_limits_then_they_are_the_published_ones() {
        assert_eq!((BUDGET_DEFAULT, BUDGET_MAX), (Millis(8_000), Millis(600_000)));
        assert_eq!((ECHO_WINDOW, RETENTION), (Millis(86_400_000), Millis(86_400_000)));
        assert_eq!((RETENTION_MAX, SKEW), (Millis(315_619_200_000), Millis(300_000)));
        assert_eq!(TIMER_MAX, Millis(2_147_483_647));
    }

    #[test]
    fn f28_given_a_reload_at_the_very_instant_of_the_start_then_the_whole_budget_is_left() {
        let round = Round::resume(START, BUDGET, START.wall, Millis::ZERO);
        assert_eq!((round.remaining(START), round.deadline()), (BUDGET, START.wall.plus(BUDGET)));
    }
}
