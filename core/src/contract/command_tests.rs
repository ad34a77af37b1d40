use alloc::string::String;
use alloc::vec::Vec;

use super::*;
use crate::contract::{Phase, RecoveryClass, RetentionRule, StateName, StoredBody};

const NOW: Wall = Wall(1_769_817_600_000);
const MINE: &str = "1:mine";

fn request() -> CommandRequest<'static> {
    CommandRequest {
        fingerprint: MINE,
        first_sent: Some(NOW),
        deadline: Some(NOW.plus(Millis(8_000))),
        authority: Authority::Granted,
    }
}

fn stored() -> Stored {
    Stored {
        status: 201,
        content_type: String::from("application/json"),
        location: None,
        result_id: Some(String::from("ord_1")),
        body: StoredBody::Kept(Vec::from(*b"{}")),
    }
}

fn record(state: RecordState) -> Record {
    Record {
        operation: String::from("order.create"),
        fingerprint: Some(String::from(MINE)),
        first_seen: NOW,
        changed: NOW,
        state,
    }
}

fn claim(phase: Phase, lease_until: Wall) -> Claim {
    Claim { owner: String::from("w1"), token: 7, phase, lease_until }
}

fn in_progress(phase: Phase, lease_until: Wall) -> Record {
    record(RecordState::InProgress(claim(phase, lease_until)))
}

fn every_bound_state() -> Vec<RecordState> {
    Vec::from([
        RecordState::InProgress(claim(Phase::Reserved, NOW.plus(Millis(1)))),
        RecordState::InProgress(claim(Phase::Started { at: NOW }, NOW.minus(Millis(1)))),
        RecordState::Completed(stored()),
        RecordState::Rejected(stored()),
        RecordState::Uncertain,
    ])
}

#[test]
fn r104_given_another_payload_then_422_before_any_state_and_never_a_replay() {
    let other = CommandRequest { fingerprint: "1:other", ..request() };
    for state in every_bound_state() {
        let record = record(state);
        assert_eq!(decide_command(Some(&record), &other, &Policy::default(), NOW), Decision::KeyReused);
    }
}

#[test]
fn r104_given_a_tombstone_without_fingerprint_then_fenced_and_never_key_reused() {
    let tombstone = Record { fingerprint: None, ..record(RecordState::Fenced) };
    assert_eq!(decide_command(Some(&tombstone), &request(), &Policy::default(), NOW), Decision::Fenced);
}

#[test]
fn r113_given_a_terminal_record_then_it_replays_whatever_age_deadline_or_authority_say() {
    let late = CommandRequest { first_sent: None, deadline: Some(Wall(0)), authority: Authority::Refused, ..request() };
    for state in [RecordState::Completed(stored()), RecordState::Rejected(stored())] {
        let record = record(state);
        let expected = stored();
        assert_eq!(decide_command(Some(&record), &late, &Policy::default(), NOW), Decision::Replay(&expected));
    }
}

#[test]
fn r105_given_a_live_claim_then_in_progress_and_never_execute() {
    let record = in_progress(Phase::Started { at: NOW }, NOW.plus(Millis(1)));
    let decision = decide_command(Some(&record), &request(), &Policy::default(), NOW);
    assert_eq!(decision, Decision::InProgress { retry_after: Policy::RETRY_AFTER });
}

#[test]
fn r109_given_an_ended_lease_then_the_class_decides_and_never_a_blind_execute() {
    let minute = Millis(60_000);
    let started = Phase::Started { at: NOW.minus(Millis(40_000)) };
    let cases = [
        (Phase::Reserved, RecoveryClass::None, Recovery::Release),
        (started, RecoveryClass::Transactional, Recovery::Release),
        (started, RecoveryClass::DownstreamIdempotent { retained: minute }, Recovery::Rerun),
        (started, RecoveryClass::DownstreamIdempotent { retained: Millis(40_000) }, Recovery::Doubt),
        (started, RecoveryClass::None, Recovery::Doubt),
    ];
    for (phase, class, expected) in cases {
        let record = in_progress(phase, NOW);
        let policy = Policy { recovery: class, ..Policy::default() };
        let decision = decide_command(Some(&record), &request(), &policy, NOW);
        assert!(matches!(decision, Decision::Recover(due, _) if due == expected), "{class:?} {phase:?}: {decision:?}");
    }
}

#[test]
fn r116_given_no_record_then_age_is_judged_at_its_exact_edges() {
    let policy = Policy::default();
    let oldest = NOW.minus(policy.retention).minus(policy.skew);
    let furthest = NOW.plus(policy.skew);
    let at = |sent: Wall| {
        let request = CommandRequest { first_sent: Some(sent), ..request() };
        decide_command(None, &request, &policy, NOW)
    };
    assert_eq!(at(oldest), Decision::Execute);
    assert_eq!(at(oldest.minus(Millis(1))), Decision::Expired);
    assert_eq!(at(furthest), Decision::Execute);
    assert_eq!(at(furthest.plus(Millis(1))), Decision::ClockSkew);
    assert_eq!(at(Wall(0)), Decision::Expired);
    assert_eq!(at(Wall(u64::MAX)), Decision::ClockSkew);
}

#[test]
fn r116_given_no_first_sent_then_400_unless_records_are_never_purged() {
    let silent = CommandRequest { first_sent: None, ..request() };
    assert_eq!(decide_command(None, &silent, &Policy::default(), NOW), Decision::FirstSentMissing);
    let forever = Policy { records: RetentionRule::NeverPurged, ..Policy::default() };
    assert_eq!(decide_command(None, &silent, &forever, NOW), Decision::Execute);
}

#[test]
fn r116_given_a_floor_then_an_older_key_without_record_is_uncertain_and_never_executes() {
    for records in [RetentionRule::Purged, RetentionRule::NeverPurged] {
        let policy = Policy { floor: Some(NOW), records, ..Policy::default() };
        let older = CommandRequest { first_sent: Some(NOW.minus(Millis(1))), ..request() };
        assert_eq!(decide_command(None, &older, &policy, NOW), Decision::Uncertain);
        assert_eq!(decide_command(None, &request(), &policy, NOW), Decision::Execute);
    }
    let policy = Policy { floor: Some(NOW), records: RetentionRule::NeverPurged, ..Policy::default() };
    let silent = CommandRequest { first_sent: None, ..request() };
    assert_eq!(decide_command(None, &silent, &policy, NOW), Decision::Uncertain);
}

#[test]
fn r116_given_a_purge_date_then_a_key_the_store_admits_never_outlives_its_record() {
    let policy = Policy::default();
    let newest_sent = NOW.plus(policy.skew);
    let purged = policy.purge_from(NOW);
    let request = CommandRequest { first_sent: Some(newest_sent), deadline: None, ..request() };
    let after = purged.plus(Millis(1));
    assert_eq!(decide_command(None, &request, &policy, after), Decision::Expired);
}

#[test]
fn r117_given_no_record_then_the_deadline_counts_at_its_exact_edge() {
    let at = |deadline: Option<Wall>| {
        let request = CommandRequest { deadline, ..request() };
        decide_command(None, &request, &Policy::default(), NOW)
    };
    assert_eq!(at(Some(NOW)), Decision::Execute);
    assert_eq!(at(Some(NOW.minus(Millis(1)))), Decision::DeadlinePassed);
    assert_eq!(at(None), Decision::Execute);
}

#[test]
fn r102_given_no_record_then_authority_comes_before_age_and_age_before_deadline() {
    let worst = CommandRequest {
        first_sent: Some(Wall(0)),
        deadline: Some(Wall(0)),
        authority: Authority::Refused,
        ..request()
    };
    assert_eq!(decide_command(None, &worst, &Policy::default(), NOW), Decision::NotAuthorised);
    let allowed = CommandRequest { authority: Authority::Granted, ..worst };
    assert_eq!(decide_command(None, &allowed, &Policy::default(), NOW), Decision::Expired);
}

#[test]
fn r123_given_another_subject_then_403_and_a_missing_tag_passes_only_where_anonymous() {
    let screened = |subject, rule| screen(KeyLine::Sound, subject, rule);
    assert_eq!(screened(SubjectTag::Different, SubjectRule::Required), Err(Problem::WrongSubject));
    assert_eq!(screened(SubjectTag::Different, SubjectRule::Anonymous), Err(Problem::WrongSubject));
    assert_eq!(screened(SubjectTag::Absent, SubjectRule::Required), Err(Problem::SubjectMissing));
    assert_eq!(screened(SubjectTag::Absent, SubjectRule::Anonymous), Ok(()));
    assert_eq!(screened(SubjectTag::Same, SubjectRule::Required), Ok(()));
}

#[test]
fn r102_given_a_bad_key_then_400_before_the_subject_is_compared() {
    assert_eq!(screen(KeyLine::Missing, SubjectTag::Different, SubjectRule::Required), Err(Problem::KeyMissing));
    assert_eq!(screen(KeyLine::Invalid, SubjectTag::Different, SubjectRule::Required), Err(Problem::KeyInvalid));
}

#[test]
fn r116_given_a_settled_or_fenced_record_then_it_never_becomes_anything_else() {
    for state in [RecordState::Completed(stored()), RecordState::Rejected(stored()), RecordState::Fenced] {
        for next in StateName::ALL {
            assert!(!state.may_become(next), "{state:?} -> {next:?}");
        }
    }
    assert!(RecordState::Uncertain.may_become(StateName::Completed));
    assert!(!RecordState::Uncertain.may_become(StateName::InProgress));
    let held = RecordState::InProgress(claim(Phase::Reserved, NOW));
    assert!(!held.may_become(StateName::Fenced));
}

#[test]
fn r60_given_an_uncertain_record_then_409_uncertain_and_the_effect_never_runs_again() {
    for authority in [Authority::Granted, Authority::Refused] {
        let request = CommandRequest { authority, deadline: Some(NOW.minus(Millis(1))), ..request() };
        let policy = Policy::default();
        let record = record(RecordState::Uncertain);
        assert_eq!(decide_command(Some(&record), &request, &policy, NOW), Decision::Uncertain);
    }
    let record = record(RecordState::Uncertain);
    let late = NOW.plus(Millis(365 * 24 * 60 * 60 * 1_000));
    for policy in [Policy::default(), Policy { recovery: RecoveryClass::None, ..Policy::default() }] {
        assert_eq!(decide_command(Some(&record), &request(), &policy, late), Decision::Uncertain, "however old");
    }
}
