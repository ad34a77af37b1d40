//! The decisions for a status check and for a fence.

use super::policy::{Age, Policy};
use super::record::{Claim, Record, RecordState, Recovery, StateName, recovery};
use crate::planted::{self, Bug};
use crate::time::Wall;

/// What to answer to a status check.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StatusDecision<'r> {
    /// The record as it stands.
    Known(&'r Record),
    /// The claim's lease ended: recover it, then decide anew.
    Recover(Recovery, &'r Claim),
    /// No record; one of `not_found`, `expired`, `uncertain`.
    Absent(StateName),
}

/// What to do with a fence.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FenceDecision<'r> {
    /// Write the tombstone, in one insert that loses against any record made meanwhile.
    Tombstone,
    /// The record stands and nothing changes.
    Known(&'r Record),
    /// The claim's lease ended: recover it, then decide anew.
    Recover(Recovery, &'r Claim),
    /// No record and nothing written; one of `expired`, `uncertain`.
    Refused(StateName),
    /// First-sent is so far ahead that the tombstone could be purged before the key expires: nothing written (R116).
    ClockSkew,
}

/// Decides a status check at store time `now`. A read, except that a claim whose lease ended is recovered first (R109).
#[must_use]
pub fn decide_status<'r>(
    record: Option<&'r Record>,
    first_sent: Option<Wall>,
    policy: &Policy,
    now: Wall,
) -> StatusDecision<'r> {
    match record {
        Some(record) => match recovery_due(record, policy, now) {
            Some((due, claim)) => StatusDecision::Recover(due, claim),
            None => StatusDecision::Known(record),
        },
        None => StatusDecision::Absent(match policy.age(first_sent, now) {
            Age::Current | Age::Ahead | Age::Unstated => StateName::NotFound,
            Age::Expired => StateName::Expired,
            Age::BelowFloor => StateName::Uncertain,
        }),
    }
}

/// Decides a fence at store time `now` (R61).
#[must_use]
pub fn decide_fence<'r>(
    record: Option<&'r Record>,
    first_sent: Option<Wall>,
    policy: &Policy,
    now: Wall,
) -> FenceDecision<'r> {
    match record {
        Some(record) if planted::is_on(Bug::FenceOverwrites) && matches!(record.state, RecordState::InProgress(_)) => {
            FenceDecision::Tombstone
        }
        Some(record) => match recovery_due(record, policy, now) {
            Some((due, claim)) => FenceDecision::Recover(due, claim),
            None => FenceDecision::Known(record),
        },
        None => match policy.age(first_sent, now) {
            Age::Current => FenceDecision::Tombstone,
            Age::Ahead => FenceDecision::ClockSkew,
            Age::Expired if planted::is_on(Bug::FenceOfOldKey) => FenceDecision::Tombstone,
            Age::Expired | Age::Unstated => FenceDecision::Refused(StateName::Expired),
            Age::BelowFloor => FenceDecision::Refused(StateName::Uncertain),
        },
    }
}

/// A status check or a fence never runs an effect, so a claim that only a rerun could settle is left to the next command.
fn recovery_due<'r>(record: &'r Record, policy: &Policy, now: Wall) -> Option<(Recovery, &'r Claim)> {
    let RecordState::InProgress(claim) = &record.state else { return None };
    match recovery(claim, policy.recovery, now)? {
        Recovery::Rerun => None,
        due @ (Recovery::Release | Recovery::Doubt) => Some((due, claim)),
    }
}

#[cfg(test)]
#[path = "status_tests.rs"]
mod tests;
