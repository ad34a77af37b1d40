//! The published numbers of one operation on the server: retention, skew, lease, and what recovery may do.

use crate::planted::{self, Bug};
use crate::time::{Millis, Wall};

/// What a server promises for one operation. All durations are milliseconds on the store's clock.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Policy {
    /// How long a settled record is promised to answer (R116).
    pub retention: Millis,
    /// How far client and store clocks may lie apart.
    pub skew: Millis,
    /// How long a claim lives unless its owner renews it (R109).
    pub lease: Millis,
    /// What `Retry-After` says beside `in-progress` (R105).
    pub retry_after: Millis,
    /// What may happen to a started record whose lease ended (R109).
    pub recovery: RecoveryClass,
    /// Whether this operation's records are ever purged (R116).
    pub records: RetentionRule,
    /// Whether the intended subject must travel with the request (R123).
    pub subject: SubjectRule,
    /// Keys first sent before this instant may have lost their record in a failover (R116); `None` is the normal case.
    /// Set it to the failover plus [`skew`](Self::skew): a client whose clock is ahead dates its keys that much too late.
    pub floor: Option<Wall>,
}

/// How an effect can be taken up again after its owner died.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RecoveryClass {
    /// Effect and terminal record commit together: no terminal record means no effect.
    Transactional,
    /// A downstream service honours a key of ours for `retained`; within it the effect may be asked for again.
    DownstreamIdempotent {
        /// How long the downstream service remembers the key, counted from the start of the effect.
        retained: Millis,
    },
    /// Nothing is known: a started effect whose owner died is uncertain.
    None,
}

/// Whether a missing record may be a purged one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RetentionRule {
    /// Records go after the retention: an old key without a record is `expired`.
    Purged,
    /// Records stay for ever: no record means never seen, first-sent is optional.
    NeverPurged,
}

/// Whether the subject tag is mandatory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SubjectRule {
    /// The tag must be there and equal the authenticated subject.
    Required,
    /// The operation has no subject of its own: a missing tag passes, one that is there must still match.
    Anonymous,
}

impl Policy {
    /// Default retention: one day.
    pub const RETENTION: Millis = Millis(24 * 60 * 60 * 1_000);
    /// Default skew: five minutes.
    pub const SKEW: Millis = Millis(5 * 60 * 1_000);
    /// Default lease: thirty seconds.
    pub const LEASE: Millis = Millis(30_000);
    /// Default wait beside `in-progress`: one second.
    pub const RETRY_AFTER: Millis = Millis(1_000);

    /// When a record last changed at `changed` may be purged, and not a moment earlier: retention plus twice the skew
    /// (R116), so that a key the store still admits can never have lost its record or tombstone.
    #[must_use]
    pub fn purge_from(&self, changed: Wall) -> Wall {
        if planted::is_on(Bug::PurgedTooEarly) {
            return changed.plus(Millis(self.retention.0 / 2));
        }
        changed.plus(self.retention).plus(self.skew).plus(self.skew)
    }

    /// Age of a key that has no record.
    #[must_use]
    pub(super) fn age(&self, first_sent: Option<Wall>, now: Wall) -> Age {
        match (self.records, first_sent) {
            (RetentionRule::Purged, None) => Age::Unstated,
            (RetentionRule::NeverPurged, None) if self.floor.is_some() => Age::BelowFloor,
            (RetentionRule::NeverPurged, None) => Age::Current,
            (rule, Some(sent)) => {
                if sent > now.plus(self.skew) {
                    Age::Ahead
                } else if rule == RetentionRule::Purged
                    && !planted::is_on(Bug::ExpiredAsNew)
                    && now.since(sent) > self.retention.saturating_add(self.skew)
                {
                    Age::Expired
                } else if self.floor.is_some_and(|floor| sent < floor) && !planted::is_on(Bug::FloorIgnored) {
                    Age::BelowFloor
                } else {
                    Age::Current
                }
            }
        }
    }
}

impl Default for Policy {
    fn default() -> Self {
        Self {
            retention: Self::RETENTION,
            skew: Self::SKEW,
            lease: Self::LEASE,
            retry_after: Self::RETRY_AFTER,
            recovery: RecoveryClass::Transactional,
            records: RetentionRule::Purged,
            subject: SubjectRule::Required,
            floor: None,
        }
    }
}

/// What first-sent says about a key without a record.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Age {
    /// Young enough that its record cannot have been purged.
    Current,
    /// Older than retention and skew.
    Expired,
    /// Further ahead than the skew.
    Ahead,
    /// Before the floor: its record may have been lost.
    BelowFloor,
    /// Nothing was said and records are purged.
    Unstated,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn r116_given_the_defaults_then_they_are_the_published_numbers() {
        let policy = Policy::default();
        assert_eq!((policy.retention, policy.skew), (Millis(86_400_000), Millis(300_000)));
        assert_eq!((policy.lease, policy.retry_after), (Millis(30_000), Millis(1_000)));
    }
}
