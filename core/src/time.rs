//! Instants and durations, in milliseconds, as types: a wall instant never meets a monotonic one by accident.

use crate::planted::{self, Bug};

/// A duration in whole milliseconds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Millis(pub u64);

/// A wall-clock instant: milliseconds since the Unix epoch. It may jump either way between two readings.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Wall(pub u64);

/// A monotonic instant: milliseconds since an origin of the host's choosing (a page's own load, say). Never persisted.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Mono(pub u64);

/// One reading of both clocks, taken together by the host and passed to every decision.
///
/// ```
/// use postonce_core::time::{Millis, Mono, Now, Wall};
/// let start = Now { mono: Mono(0), wall: Wall(1_000) };
/// let later = Now { mono: Mono(50), wall: Wall(900) };
/// // R31: the wall clock went backwards, the monotonic one did not; the larger counts.
/// assert_eq!(later.elapsed_since(start), Millis(50));
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Now {
    /// The monotonic reading.
    pub mono: Mono,
    /// The wall reading.
    pub wall: Wall,
}

impl Millis {
    /// No time at all.
    pub const ZERO: Self = Self(0);

    /// `self - other`, never below zero.
    #[must_use]
    pub const fn saturating_sub(self, other: Self) -> Self {
        Self(self.0.saturating_sub(other.0))
    }

    /// `self + other`, clamped at the largest value.
    #[must_use]
    pub const fn saturating_add(self, other: Self) -> Self {
        Self(self.0.saturating_add(other.0))
    }
}

impl Wall {
    /// The instant `by` later, clamped at the largest value.
    #[must_use]
    pub const fn plus(self, by: Millis) -> Self {
        Self(self.0.saturating_add(by.0))
    }

    /// The instant `by` earlier, clamped at the epoch.
    #[must_use]
    pub const fn minus(self, by: Millis) -> Self {
        Self(self.0.saturating_sub(by.0))
    }

    /// Time from `earlier` to `self`; zero when `self` is the earlier one.
    #[must_use]
    pub const fn since(self, earlier: Self) -> Millis {
        Millis(self.0.saturating_sub(earlier.0))
    }
}

impl Mono {
    /// The instant `by` later, clamped at the largest value.
    #[must_use]
    pub const fn plus(self, by: Millis) -> Self {
        Self(self.0.saturating_add(by.0))
    }

    /// Time from `earlier` to `self`; zero when `self` is the earlier one.
    #[must_use]
    pub const fn since(self, earlier: Self) -> Millis {
        Millis(self.0.saturating_sub(earlier.0))
    }
}

impl Now {
    /// Time passed since `start`: the larger of what the two clocks say (R31), never negative.
    #[must_use]
    pub fn elapsed_since(self, start: Self) -> Millis {
        let wall = self.wall.since(start.wall);
        let mono = self.mono.since(start.mono);
        if planted::is_on(Bug::WallClockOnly) {
            return wall;
        }
        if planted::is_on(Bug::MonotonicOnly) {
            return mono;
        }
        if wall.0 > mono.0 { wall } else { mono }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn r31_given_a_forward_jump_of_the_wall_then_the_jump_counts() {
        let start = Now { mono: Mono(10), wall: Wall(1_000) };
        let later = Now { mono: Mono(20), wall: Wall(301_000) };
        assert_eq!(later.elapsed_since(start), Millis(300_000));
    }

    #[test]
    fn r31_given_both_clocks_behind_then_elapsed_is_zero_never_negative() {
        let start = Now { mono: Mono(10), wall: Wall(1_000) };
        let earlier = Now { mono: Mono(5), wall: Wall(0) };
        assert_eq!(earlier.elapsed_since(start), Millis::ZERO);
    }
}
