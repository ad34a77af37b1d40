//! How long to wait before the next attempt: exponential with full jitter, over a floor (R43).

use crate::time::Millis;

/// Upper end of the first wait.
pub const BASE: Millis = Millis(250);
/// No wait is shorter.
pub const FLOOR: Millis = Millis(100);
/// No wait after 429 or 503 without a usable `Retry-After` is shorter: the header may be there and hidden (F30, F32).
pub const FLOOR_UNAVAILABLE: Millis = Millis(1_000);
/// Upper end of any wait; the round's budget is the nearer limit as a rule.
pub const CEILING: Millis = Millis(30_000);
/// Most that is added to a wait the server asked for.
pub const JITTER_MAX: Millis = Millis(250);

/// Doublings after which [`CEILING`] is passed.
const DOUBLINGS_MAX: u8 = 7;

/// The wait before retry number `retry` (1 stands before the second attempt), drawn evenly from zero to the doubled
/// [`BASE`] by `random`, then raised to `floor`.
///
/// ```
/// use postonce_core::backoff;
/// use postonce_core::time::Millis;
/// assert_eq!(backoff::delay(1, u32::MAX, backoff::FLOOR), Millis(250));
/// assert_eq!(backoff::delay(3, u32::MAX, backoff::FLOOR), Millis(1_000));
/// assert_eq!(backoff::delay(3, 0, backoff::FLOOR), backoff::FLOOR);
/// ```
#[must_use]
pub fn delay(retry: u8, random: u32, floor: Millis) -> Millis {
    let doublings = retry.saturating_sub(1).min(DOUBLINGS_MAX);
    let top = Millis(BASE.0 << doublings).min(CEILING);
    draw(top, random).max(floor)
}

/// A wait the server asked for, plus up to a tenth of it and at most [`JITTER_MAX`]: jitter only adds (R50).
#[must_use]
pub fn jittered(at_least: Millis, random: u32) -> Millis {
    let top = Millis(at_least.0 / 10).min(JITTER_MAX);
    at_least.saturating_add(draw(top, random))
}

/// Scales `random` evenly to zero up to and including `top`, which is far below 2^32.
const fn draw(top: Millis, random: u32) -> Millis {
    Millis((random as u64 * (top.0 + 1)) >> 32)
}

#[cfg(test)]
mod tests {
    use super::*;

    const SPREAD: [u32; 6] = [0, 1, 1 << 16, 1 << 31, u32::MAX - 1, u32::MAX];

    #[test]
    fn r43_given_any_retry_and_draw_then_the_wait_is_between_floor_and_ceiling() {
        for retry in 0..=u8::MAX {
            for random in SPREAD {
                for floor in [FLOOR, FLOOR_UNAVAILABLE] {
                    let wait = delay(retry, random, floor);
                    assert!(wait >= floor && wait <= CEILING, "retry {retry}, random {random}: {wait:?}");
                }
            }
        }
    }

    #[test]
    fn r43_given_the_largest_draw_then_the_wait_doubles_up_to_the_ceiling_and_never_wraps() {
        let mut last = Millis::ZERO;
        for retry in 1..=u8::MAX {
            let wait = delay(retry, u32::MAX, FLOOR);
            assert!(wait >= last);
            last = wait;
        }
        assert_eq!(delay(7, u32::MAX, FLOOR), Millis(16_000));
        assert_eq!(last, CEILING);
    }

    #[test]
    fn r43_given_an_even_draw_then_the_waits_are_spread_and_never_bunched() {
        let halves = (0..1_000).filter(|step| delay(5, step * 4_294_967, Millis::ZERO) < Millis(2_000)).count();
        assert!((490..=510).contains(&halves), "{halves}");
    }

    #[test]
    fn f32_given_503_without_a_readable_header_then_never_below_one_second() {
        for random in SPREAD {
            assert!(delay(1, random, FLOOR_UNAVAILABLE) >= Millis(1_000));
        }
    }

    #[test]
    fn r50_given_any_asked_wait_then_jitter_only_adds_and_little() {
        for asked in [0, 1, 99, 2_000, 100_000, u64::MAX - 1, u64::MAX] {
            for random in SPREAD {
                let wait = jittered(Millis(asked), random);
                assert!(wait.0 >= asked);
                assert!(wait.0 - asked <= JITTER_MAX.0.min(asked / 10), "{asked} {random}");
            }
        }
    }
}
