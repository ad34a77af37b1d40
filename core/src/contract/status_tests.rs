use alloc::string::String;

use super::*;
use crate::contract::{Phase, RecoveryClass, RetentionRule};
use crate::time::Millis;

const NOW: Wall = Wall(1_769_817_600_000);

fn held(phase: Phase, lease_until: Wall) -> Record {
    Record {
        operation: String::from("order.create"),
        fingerprint: Some(String::from("1:mine")),
        first_seen: NOW,
        changed: NOW,
        state: RecordState::InProgress(Claim { owner: String::from("w1"), token: 7, phase, lease_until }),
    }
}

#[test]
fn r59_given_no_record_then_not_found_and_never_fenced() {
    let policy = Policy::default();
    for sent in [Some(NOW), None, Some(Wall(u64::MAX))] {
        assert_eq!(decide_status(None, sent, &policy, NOW), StatusDecision::Absent(StateName::NotFound));
    }
    assert_eq!(decide_status(None, Some(Wall(0)), &policy, NOW), StatusDecision::Absent(StateName::Expired));
}

#[test]
fn r61_given_a_fence_without_record_then_only_a_young_key_gets_a_tombstone() {
    let policy = Policy::default();
    let oldest = NOW.minus(policy.retention).minus(policy.skew);
    assert_eq!(decide_fence(None, Some(NOW), &policy, NOW), FenceDecision::Tombstone);
    assert_eq!(decide_fence(None, Some(oldest), &policy, NOW), FenceDecision::Tombstone);
    let refused = FenceDecision::Refused(StateName::Expired);
    assert_eq!(decide_fence(None, Some(oldest.minus(Millis(1))), &policy, NOW), refused);
    assert_eq!(decide_fence(None, None, &policy, NOW), refused);
}

#[test]
fn r116_given_a_fence_for_a_key_from_the_future_then_nothing_is_written() {
    let policy = Policy::default();
    let ahead = NOW.plus(policy.skew).plus(Millis(1));
    assert_eq!(decide_fence(None, Some(ahead), &policy, NOW), FenceDecision::ClockSkew);
}

#[test]
fn r116_given_a_floor_then_status_and_fence_say_uncertain_and_never_write_a_tombstone() {
    let policy = Policy { floor: Some(NOW), ..Policy::default() };
    let older = Some(NOW.minus(Millis(1)));
    assert_eq!(decide_status(None, older, &policy, NOW), StatusDecision::Absent(StateName::Uncertain));
    assert_eq!(decide_fence(None, older, &policy, NOW), FenceDecision::Refused(StateName::Uncertain));
}

#[test]
fn r61_given_a_live_claim_then_a_fence_answers_its_state_and_changes_nothing() {
    let record = held(Phase::Started { at: NOW }, NOW.plus(Millis(1)));
    assert_eq!(decide_fence(Some(&record), Some(NOW), &Policy::default(), NOW), FenceDecision::Known(&record));
    assert_eq!(decide_status(Some(&record), Some(NOW), &Policy::default(), NOW), StatusDecision::Known(&record));
}

#[test]
fn r109_given_an_ended_lease_then_status_and_fence_recover_first_but_never_rerun() {
    let record = held(Phase::Started { at: NOW }, NOW);
    let transactional = Policy::default();
    assert!(matches!(
        decide_status(Some(&record), Some(NOW), &transactional, NOW),
        StatusDecision::Recover(Recovery::Release, _)
    ));
    let none = Policy { recovery: RecoveryClass::None, ..Policy::default() };
    assert!(matches!(decide_fence(Some(&record), Some(NOW), &none, NOW), FenceDecision::Recover(Recovery::Doubt, _)));
    let downstream =
        Policy { recovery: RecoveryClass::DownstreamIdempotent { retained: Millis(1) }, ..Policy::default() };
    assert_eq!(decide_status(Some(&record), Some(NOW), &downstream, NOW), StatusDecision::Known(&record));
    assert_eq!(decide_fence(Some(&record), Some(NOW), &downstream, NOW), FenceDecision::Known(&record));
}

#[test]
fn r116_given_records_that_are_never_purged_then_no_age_expires() {
    let policy = Policy { records: RetentionRule::NeverPurged, ..Policy::default() };
    assert_eq!(decide_status(None, Some(Wall(0)), &policy, NOW), StatusDecision::Absent(StateName::NotFound));
    assert_eq!(decide_fence(None, Some(Wall(0)), &policy, NOW), FenceDecision::Tombstone);
}
