//! `Retry-After`: a number of seconds or an HTTP-date, and nothing that merely looks like one (R46, R47).

use crate::http_date;
use crate::time::{Millis, Wall};

/// How long the server asks to wait, or `None` when the value says nothing usable.
///
/// `value` is the header, `date` the same response's `Date` where it is readable, `now` the wall clock that stands in for
/// it. Seconds saturate; a past date is [`Millis::ZERO`], and the caller applies its floor. Signs, fractions, units,
/// lists and words count as absent.
///
/// ```
/// use postonce_core::retry_after;
/// use postonce_core::time::{Millis, Wall};
/// assert_eq!(retry_after::parse("120", None, Wall(0)), Some(Millis(120_000)));
/// assert_eq!(retry_after::parse("-3", None, Wall(0)), None);
/// ```
#[must_use]
pub fn parse(value: &str, date: Option<Wall>, now: Wall) -> Option<Millis> {
    let value = value.trim_matches([' ', '\t']);
    if value.as_bytes().first()?.is_ascii_digit() {
        return seconds(value);
    }
    let until = http_date::seconds(value, now)?;
    // Before the epoch is past by every clock.
    let until = Wall(u64::try_from(until).unwrap_or(0).saturating_mul(1_000));
    Some(until.since(date.unwrap_or(now)))
}

fn seconds(value: &str) -> Option<Millis> {
    let mut total: u64 = 0;
    for digit in value.bytes() {
        if !digit.is_ascii_digit() {
            return None;
        }
        total = total.saturating_mul(10).saturating_add(u64::from(digit - b'0'));
    }
    Some(Millis(total.saturating_mul(1_000)))
}

#[cfg(test)]
mod tests {
    use super::*;

    const NOW: Wall = Wall(1_800_000_000_000);

    #[test]
    fn f30_given_number_like_junk_then_every_value_counts_as_absent() {
        for junk in ["-3", "1.5", "+3", "1000abc", "0x10", "", "120, 120", " ", "soon", "1e3", "\u{661}", "1\u{a0}"] {
            assert_eq!(parse(junk, None, NOW), None, "{junk:?}");
        }
    }

    #[test]
    fn r49_given_any_run_of_digits_then_a_longer_one_never_means_a_shorter_wait() {
        let digits = "9".repeat(60);
        let mut last = Millis::ZERO;
        for end in 1..=digits.len() {
            let wait = parse(&digits[..end], None, NOW).unwrap();
            assert!(wait >= last, "{end} digits");
            last = wait;
        }
        assert_eq!(last, Millis(u64::MAX));
    }

    #[test]
    fn r47_given_a_wall_clock_two_hours_wrong_then_the_response_date_decides() {
        let date = http_date::parse("Fri, 15 Jan 2027 08:00:00 GMT", NOW);
        for now in [NOW.plus(Millis(7_200_000)), NOW.minus(Millis(7_200_000))] {
            assert_eq!(parse("Fri, 15 Jan 2027 08:00:04 GMT", date, now), Some(Millis(4_000)));
        }
    }
}
