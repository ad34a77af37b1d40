//! `Retry-After` and HTTP-date.

use postonce_core::time::{Millis, Wall};
use postonce_core::{http_date as date, retry_after as wait};

use crate::lossy;

/// What the wall clock shows unless the input says otherwise.
const NOW: Wall = Wall(1_800_000_000_000);

/// A century, in milliseconds: more than a two-digit year may be ahead.
const CENTURY_MS: u64 = 100 * 31_556_952_000;

/// The last second that has four digits of a year.
const YEAR_9999: Wall = Wall(253_402_300_799_000);

/// The instant that the input's first line states in digits, and the rest.
fn clock(text: &str) -> (Wall, &str) {
    let stated = text.split_once('\n').and_then(|(digits, rest)| Some((digits.parse().ok()?, rest)));
    stated.map_or((NOW, text), |(now, rest)| (Wall(now), rest))
}

/// Never a shorter wait than was stated, and none from what is neither digits nor a date (R46 to R49).
pub(crate) fn retry_after(bytes: &[u8]) {
    let text = lossy(bytes);
    let (now, rest) = clock(&text);
    let (value, server) = rest.split_once('\n').map_or((rest, None), |(value, server)| (value, Some(server)));
    let server = server.and_then(|server| date::parse(server, now));
    let found = wait::parse(value, server, now);
    let value = value.trim_matches([' ', '\t']);

    let digits = !value.is_empty() && value.bytes().all(|byte| byte.is_ascii_digit());
    match (digits, date::parse(value, now), found) {
        (true, _, found) => assert_eq!(found, Some(exact(value)), "seconds are taken whole or saturate"),
        (false, Some(until), Some(found)) => {
            let base = server.unwrap_or(now);
            assert!(base.plus(found) >= until, "the wait reaches the stated instant");
            assert!(found == Millis::ZERO || base.plus(found) == until, "and not beyond");
        }
        (false, Some(until), None) => assert_eq!(None, Some(until), "a date gives a wait"),
        // Before 1970 a date is past, and no date is no wait.
        (false, None, found) => assert!(matches!(found, None | Some(Millis::ZERO))),
    }
}

fn exact(digits: &str) -> Millis {
    let seconds = digits.bytes().try_fold(0_u128, |sum, digit| {
        sum.checked_mul(10)?.checked_add(u128::from(digit - b'0')).filter(|sum| *sum <= u128::from(u64::MAX))
    });
    let millis = seconds.map_or(u128::from(u64::MAX), |seconds| seconds.saturating_mul(1_000));
    Millis(u64::try_from(millis).unwrap_or(u64::MAX))
}

/// What is read is written and read again as the same instant; a two-digit year is never a lifetime ahead.
pub(crate) fn http_date(bytes: &[u8]) {
    let text = lossy(bytes);
    let (now, value) = clock(&text);
    if let Some(at) = date::parse(value, now).filter(|at| *at <= YEAR_9999) {
        let written = date::format(at);
        assert_eq!(date::parse(&written, now), Some(at), "{value:?} became {written:?}");
        if value.contains('-') && at > now {
            assert!(at.since(now).0 < CENTURY_MS, "{value:?} is a lifetime ahead");
        }
        for longer in [format!("{value} "), format!(" {value}"), format!("{value}0")] {
            assert_eq!(date::parse(&longer, now), None, "{longer:?}");
        }
    }
    // Any instant with four digits of a year can be written.
    let written = date::format(now);
    let seconds = now.0 / 1_000 * 1_000;
    assert_eq!(date::parse(&written, NOW), Some(Wall(seconds).min(YEAR_9999)), "{written:?}");
}
