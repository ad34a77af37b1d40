//! HTTP-date (RFC 9110, section 5.6.7): all three forms are read, the preferred one is written.
//!
//! ```
//! use postonce_core::http_date;
//! use postonce_core::time::Wall;
//! let at = http_date::parse("Sun, 06 Nov 1994 08:49:37 GMT", Wall(0));
//! assert_eq!(at, Some(Wall(784_111_777_000)));
//! assert_eq!(http_date::format(Wall(784_111_777_000)), "Sun, 06 Nov 1994 08:49:37 GMT");
//! ```

use alloc::string::String;

use crate::time::Wall;

const MONTHS: &[u8; 36] = b"JanFebMarAprMayJunJulAugSepOctNovDec";
const DAYS: [&str; 7] = ["Sunday", "Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday"];

const SECONDS_A_DAY: i64 = 86_400;
/// A year of the Gregorian calendar on average.
const SECONDS_A_YEAR: i64 = 31_556_952;
/// How far ahead a two-digit year may lie before it is read as a past one.
const AHEAD_MAX: i64 = 50 * SECONDS_A_YEAR;

/// Last instant that [`format`] can write with four digits: the end of the year 9999.
const WALL_MAX: u64 = 253_402_300_799_999;

/// Reads an HTTP-date in any of its three forms; `now` only decides the century of a two-digit year.
///
/// `None` for anything else, and for an instant before 1970. The day's name has to be one, but need not fit the date.
/// The leap second `23:59:60` is the second after `23:59:59`.
#[must_use]
pub fn parse(text: &str, now: Wall) -> Option<Wall> {
    let seconds = u64::try_from(seconds(text, now)?).ok()?;
    Some(Wall(seconds.saturating_mul(1_000)))
}

/// Seconds since the epoch, negative before it.
pub(crate) fn seconds(text: &str, now: Wall) -> Option<i64> {
    let mut text = Reader { rest: text.as_bytes() };
    let long = text.day_name()?;
    if text.literal(b" ").is_some() {
        return text.asctime();
    }
    text.literal(b", ")?;
    let day = text.digits(2)?;
    // Only the short form of the day's name opens an IMF-fixdate, only the long one an RFC 850 date.
    let (separator, short_year): (&[u8], bool) = if long { (b"-", true) } else { (b" ", false) };
    text.literal(separator)?;
    let month = text.month()?;
    text.literal(separator)?;
    let year = text.digits(if short_year { 2 } else { 4 })?;
    text.literal(b" ")?;
    let time = text.time()?;
    text.literal(b" GMT")?;
    text.end()?;
    let year = if short_year { full_year(year, month, day, time, now) } else { year };
    instant(year, month, day, time)
}

/// Writes an IMF-fixdate, the form a sender must use; the milliseconds are dropped.
#[must_use]
pub fn format(at: Wall) -> String {
    let total = at.0.min(WALL_MAX) / 1_000;
    let (days, time) = (total / 86_400, total % 86_400);
    let (year, month, day) = civil(days);
    let weekday = DAYS.get(((days + 4) % 7) as usize).and_then(|name| name.get(..3)).unwrap_or_default();
    let start = (month as usize).saturating_sub(1) * 3;
    let mut out = String::with_capacity(29);
    out.push_str(weekday);
    out.push_str(", ");
    push_digits(&mut out, day, 2);
    out.push(' ');
    for letter in MONTHS.get(start..start + 3).unwrap_or_default() {
        out.push(char::from(*letter));
    }
    out.push(' ');
    push_digits(&mut out, year, 4);
    for (mark, value) in [(' ', time / 3_600), (':', time / 60 % 60), (':', time % 60)] {
        out.push(mark);
        push_digits(&mut out, value, 2);
    }
    out.push_str(" GMT");
    out
}

fn push_digits(out: &mut String, value: u64, width: u32) {
    for place in (0..width).rev() {
        out.push(char::from(b'0' + (value / 10u64.pow(place) % 10) as u8));
    }
}

/// The latest year with these last two digits whose instant is at most fifty years ahead of `now`.
fn full_year(short: i64, month: i64, day: i64, time: i64, now: Wall) -> i64 {
    let now = (now.0 / 1_000) as i64;
    let mut year = (1970 + now / SECONDS_A_YEAR) / 100 * 100 + 100 + short;
    // Twice at most: the first guess lies less than two centuries ahead.
    while days(year, month, day) * SECONDS_A_DAY + time > now.saturating_add(AHEAD_MAX) {
        year -= 100;
    }
    year
}

fn instant(year: i64, month: i64, day: i64, time: i64) -> Option<i64> {
    let leap = year % 4 == 0 && (year % 100 != 0 || year % 400 == 0);
    let length = match month {
        2 if leap => 29,
        2 => 28,
        4 | 6 | 9 | 11 => 30,
        _ => 31,
    };
    (day >= 1 && day <= length).then(|| days(year, month, day) * SECONDS_A_DAY + time)
}

/// Days from 1970-01-01 to a date of the proleptic Gregorian calendar; years start in March so that the leap day is last.
const fn days(year: i64, month: i64, day: i64) -> i64 {
    let (year, month) = if month > 2 { (year, month - 3) } else { (year - 1, month + 9) };
    let leaps = year.div_euclid(4) - year.div_euclid(100) + year.div_euclid(400);
    year * 365 + leaps + (month * 153 + 2) / 5 + day - 1 - 719_468
}

/// Year, month and day of a number of days since the epoch.
const fn civil(days: u64) -> (u64, u64, u64) {
    let days = days + 719_468;
    let (era, of_era) = (days / 146_097, days % 146_097);
    let year = (of_era - of_era / 1_460 + of_era / 36_524 - of_era / 146_096) / 365;
    let of_year = of_era - (365 * year + year / 4 - year / 100);
    let month = (5 * of_year + 2) / 153;
    let day = of_year - (153 * month + 2) / 5 + 1;
    let (month, carry) = if month < 10 { (month + 3, 0) } else { (month - 9, 1) };
    (era * 400 + year + carry, month, day)
}

/// What is left of the text.
struct Reader<'a> {
    rest: &'a [u8],
}

impl Reader<'_> {
    fn literal(&mut self, text: &[u8]) -> Option<()> {
        self.rest = self.rest.strip_prefix(text)?;
        Some(())
    }

    const fn end(&self) -> Option<()> {
        if self.rest.is_empty() { Some(()) } else { None }
    }

    /// Exactly `count` digits.
    fn digits(&mut self, count: u8) -> Option<i64> {
        let mut value = 0;
        for _ in 0..count {
            let (digit, rest) = self.rest.split_first()?;
            if !digit.is_ascii_digit() {
                return None;
            }
            value = value * 10 + i64::from(digit - b'0');
            self.rest = rest;
        }
        Some(value)
    }

    /// Whether a day's full name stands here; its first three letters count as the short one.
    fn day_name(&mut self) -> Option<bool> {
        for name in DAYS {
            let short = name.as_bytes().get(..3)?;
            if let Some(rest) = self.rest.strip_prefix(name.as_bytes()) {
                self.rest = rest;
                return Some(true);
            }
            if let Some(rest) = self.rest.strip_prefix(short) {
                self.rest = rest;
                return Some(false);
            }
        }
        None
    }

    fn month(&mut self) -> Option<i64> {
        for (number, name) in (1..).zip(MONTHS.chunks_exact(3)) {
            if let Some(rest) = self.rest.strip_prefix(name) {
                self.rest = rest;
                return Some(number);
            }
        }
        None
    }

    /// Seconds into the day.
    fn time(&mut self) -> Option<i64> {
        let hour = self.digits(2)?;
        self.literal(b":")?;
        let minute = self.digits(2)?;
        self.literal(b":")?;
        let second = self.digits(2)?;
        let leap = hour == 23 && minute == 59 && second == 60;
        let sound = hour < 24 && minute < 60 && (second < 60 || leap);
        sound.then_some(hour * 3_600 + minute * 60 + second)
    }

    /// What follows `Sun `: `Nov  6 08:49:37 1994`.
    fn asctime(&mut self) -> Option<i64> {
        let month = self.month()?;
        self.literal(b" ")?;
        let width = if self.literal(b" ").is_some() { 1 } else { 2 };
        let day = self.digits(width)?;
        self.literal(b" ")?;
        let time = self.time()?;
        self.literal(b" ")?;
        let year = self.digits(4)?;
        self.end()?;
        instant(year, month, day, time)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const NOW: Wall = Wall(1_800_000_000_000);

    #[test]
    fn r46_given_any_day_until_2100_then_what_is_written_reads_back_to_the_second() {
        for day in 0..47_482 {
            let at = Wall((day * 86_400 + day * 7_919 % 86_400) * 1_000);
            assert_eq!(parse(&format(at), NOW), Some(at), "{}", format(at));
        }
    }

    #[test]
    fn r46_given_the_last_writable_instant_then_the_text_keeps_four_year_digits() {
        assert_eq!(format(Wall(u64::MAX)), "Fri, 31 Dec 9999 23:59:59 GMT");
        assert_eq!(format(Wall(999)), "Thu, 01 Jan 1970 00:00:00 GMT");
    }

    #[test]
    fn r46_given_a_two_digit_year_then_never_more_than_fifty_years_ahead() {
        for short in 0..100_u64 {
            let mut text = String::from("Monday, 01-Mar-");
            push_digits(&mut text, short, 2);
            text.push_str(" 00:00:00 GMT");
            for year in [1970, 1999, 2027, 2050, 2099, 2100] {
                let now = days(year, 6, 15) * SECONDS_A_DAY;
                let read = seconds(&text, Wall(now as u64 * 1_000)).unwrap();
                assert!(read <= now + AHEAD_MAX && read > now - AHEAD_MAX - SECONDS_A_YEAR, "{text} in {year}");
            }
        }
    }

    #[test]
    fn r46_given_a_two_digit_year_exactly_fifty_years_ahead_then_it_is_ahead_and_one_second_more_is_past() {
        let noon = days(2076, 1, 1) * SECONDS_A_DAY + 12 * 3_600;
        let now = |seconds: i64| Wall(seconds as u64 * 1_000);
        let text = "Wednesday, 01-Jan-76 12:00:00 GMT";
        assert_eq!(seconds(text, now(noon - AHEAD_MAX)), Some(noon));
        let past = days(1976, 1, 1) * SECONDS_A_DAY + 12 * 3_600;
        assert_eq!(seconds(text, now(noon - AHEAD_MAX - 1)), Some(past));
    }

    #[test]
    fn r47_given_an_instant_before_the_epoch_then_it_is_past_and_never_wraps() {
        let text = "Wed, 31 Dec 1969 23:59:59 GMT";
        assert_eq!((seconds(text, NOW), parse(text, NOW)), (Some(-1), None));
        assert!(seconds("Sat, 01 Jan 0000 00:00:00 GMT", NOW).unwrap() < 0);
    }

    #[test]
    fn r46_given_every_prefix_and_every_foreign_byte_then_never_a_date() {
        for text in ["Sun, 06 Nov 1994 08:49:37 GMT", "Sunday, 06-Nov-94 08:49:37 GMT", "Sun Nov  6 08:49:37 1994"] {
            assert_eq!(parse(text, NOW), Some(Wall(784_111_777_000)));
            for end in 0..text.len() {
                assert_eq!(parse(&text[..end], NOW), None, "{}", &text[..end]);
            }
            for at in 0..text.len() {
                let mut foreign = String::from(&text[..at]);
                foreign.push('?');
                foreign.push_str(&text[at + 1..]);
                assert_eq!(parse(&foreign, NOW), None, "{foreign}");
            }
        }
    }

    #[test]
    fn r46_given_the_clock_at_its_largest_value_then_a_two_digit_year_never_panics() {
        assert!(parse("Sunday, 06-Nov-94 08:49:37 GMT", Wall(u64::MAX)).is_some());
    }
}
