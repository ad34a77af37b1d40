//! What holds of a round's budget for any clocks at all (R29 to R35, R48). The seed is fixed unless
//! `PROPTEST_RNG_SEED` or `PROPTEST_CASES` say otherwise.

use postonce_core::budget::{Round, default_cap, minimum_attempt};
use postonce_core::time::{Millis, Mono, Now, Wall};
use proptest::prelude::*;
use proptest::test_runner::RngSeed;

fn config() -> ProptestConfig {
    let seed = std::env::var_os("PROPTEST_RNG_SEED").map_or(RngSeed::Fixed(1), |_| ProptestConfig::default().rng_seed);
    ProptestConfig { rng_seed: seed, failure_persistence: None, ..ProptestConfig::default() }
}

const START: Now = Now { mono: Mono(5_000), wall: Wall(1_800_000_000_000) };

fn budget() -> impl Strategy<Value = Millis> {
    prop_oneof![1..=600_000_u64, 1..=3_u64].prop_map(Millis)
}

/// A duration: mostly of the size that matters, sometimes any.
fn some_time() -> impl Strategy<Value = u64> {
    prop_oneof![4 => 0..700_000_u64, 1 => any::<u64>()]
}

/// A wall clock that goes anywhere.
fn any_wall() -> impl Strategy<Value = Wall> {
    prop_oneof![
        (0..700_000_u64).prop_map(|after| START.wall.plus(Millis(after))),
        (0..700_000_u64).prop_map(|before| START.wall.minus(Millis(before))),
        any::<u64>().prop_map(Wall),
    ]
}

fn any_now() -> impl Strategy<Value = Now> {
    (some_time(), any_wall()).prop_map(|(mono, wall)| Now { mono: START.mono.plus(Millis(mono)), wall })
}

/// Instants of one document: the monotonic clock goes on, the wall clock jumps.
fn walk() -> impl Strategy<Value = Vec<Now>> {
    prop::collection::vec((0..90_000_u64, any_wall()), 1..20).prop_map(|steps| {
        let mut mono = START.mono;
        let go = |(pause, wall)| {
            mono = mono.plus(Millis(pause));
            Now { mono, wall }
        };
        steps.into_iter().map(go).collect()
    })
}

proptest! {
    #![proptest_config(config())]

    #[test]
    fn r29_given_any_instant_then_what_is_used_and_what_is_left_make_the_budget_and_never_more(
        budget in budget(), carried in some_time(), now in any_now()
    ) {
        let round = Round { carried: Millis(carried), ..Round::start(START, budget) };
        let (used, left) = (round.elapsed(now), round.remaining(now));
        prop_assert!(left <= budget);
        prop_assert_eq!(left, budget.saturating_sub(used));
        prop_assert_eq!(round.is_over(now), left == Millis::ZERO);
        prop_assert!(used >= Millis(carried) && used >= now.mono.since(START.mono) && used >= now.wall.since(START.wall));
    }

    #[test]
    fn r31_given_any_walk_of_the_clocks_then_observed_time_left_never_grows(budget in budget(), walk in walk()) {
        let mut round = Round::start(START, budget);
        let mut left = budget;
        for now in walk {
            round.observe(now);
            prop_assert!(round.remaining(now) <= left);
            prop_assert!(round.remaining(now) <= budget.saturating_sub(now.mono.since(START.mono)), "a backward clock");
            prop_assert_eq!(round.deadline(), START.wall.plus(budget), "R29");
            left = round.remaining(now);
        }
    }

    #[test]
    fn r31_given_a_wall_clock_set_back_then_never_more_is_left_than_without(
        budget in budget(), pause in some_time(), back in some_time()
    ) {
        let round = Round::start(START, budget);
        let steady = Now { mono: START.mono.plus(Millis(pause)), wall: START.wall.plus(Millis(pause)) };
        let set_back = Now { wall: steady.wall.minus(Millis(back)), ..steady };
        prop_assert_eq!(round.remaining(set_back), round.remaining(steady));
    }

    #[test]
    fn r35_given_any_instant_then_an_attempt_ends_with_the_round_and_begins_only_with_enough_left(
        budget in budget(), now in any_now(), cap in some_time(), minimum in some_time()
    ) {
        let (round, cap, minimum) = (Round::start(START, budget), Millis(cap), Millis(minimum));
        let left = round.remaining(now);
        match round.attempt_cap(now, cap, minimum) {
            Some(given) => {
                prop_assert!(left > Millis::ZERO && left >= minimum, "R33");
                prop_assert_eq!(given, cap.min(left));
            }
            None => prop_assert!(left == Millis::ZERO || left < minimum),
        }
    }

    #[test]
    fn r48_given_a_wait_that_fits_then_an_attempt_can_begin_after_it_and_else_never(
        budget in budget(), pause in 0..700_000_u64, delay in some_time(), minimum in 1..2_000_u64
    ) {
        let (round, delay, minimum) = (Round::start(START, budget), Millis(delay), Millis(minimum));
        let at = |ms: Millis| Now { mono: START.mono.plus(ms), wall: START.wall.plus(ms) };
        let later = at(Millis(pause).saturating_add(delay));
        let begins = round.attempt_cap(later, budget, minimum).is_some();
        prop_assert_eq!(round.fits(at(Millis(pause)), delay, minimum), begins);
    }

    #[test]
    fn r29_given_any_reloads_at_any_instants_then_the_deadline_is_never_later_and_nothing_is_given_back(
        budget in budget(), reloads in prop::collection::vec((0..30_000_u64, any_wall()), 1..12)
    ) {
        let mut round = Round::start(START, budget);
        let mut now = START;
        for (pause, wall) in reloads {
            // The old document counts a while more and writes what it has counted; the new one has a clock of its own.
            let last = Now { mono: now.mono.plus(Millis(pause)), wall: now.wall.plus(Millis(pause)) };
            let (written, left) = (round.elapsed(last), round.remaining(last));
            now = Now { mono: Mono(0), wall };
            round = Round::resume(now, budget, START.wall, written);
            prop_assert!(round.remaining(now) <= left);
            prop_assert!(round.deadline() <= START.wall.plus(budget).max(wall));
            prop_assert!(wall >= START.wall || round.is_over(now), "F28: a clock before the start is no clock");
        }
    }

    #[test]
    fn r33_given_any_budget_then_its_first_attempt_may_begin_and_one_hang_leaves_time_for_another(budget in budget()) {
        let round = Round::start(START, budget);
        let minimum = minimum_attempt(budget);
        prop_assert!(minimum >= Millis(1) && minimum <= Millis(500));
        for attempts in 1..=10 {
            let cap = default_cap(budget, attempts);
            prop_assert!(cap >= Millis(1) && cap <= budget);
            prop_assert!(round.attempt_cap(START, cap, minimum).is_some());
            if attempts > 1 && budget >= Millis(2) {
                prop_assert!(cap.0 <= budget.0 / 2, "one hang never eats the budget");
            }
        }
    }
}
