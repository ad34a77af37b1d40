//! Round trips and faults of the stored form.

use alloc::string::String;
use alloc::vec;
use alloc::vec::Vec;

use super::*;

fn key(byte: u8) -> Key {
    Key::from_random([byte; 16])
}

fn full() -> Record {
    Record {
        version: Version { generation: 3, round: 2, rev: 9, writer: 7 },
        current: Some(Current {
            digest: Digest::parse(&["1:", &"ab".repeat(32)].concat()),
            phase: Phase::Unknown(UnknownReason::Deadline),
            doubt: Doubt::Possible { first_attempt: 2, cause: Cause::Status(502) },
            attempts: 3,
            elapsed: Millis(8_000),
            not_before: Some(Wall(99)),
            driver: "doc \"1\"".into(),
            lease_until: Wall(5_000),
            checked_at: Wall(7),
            remembered: vec![("sku".into(), "A1\n\u{1F600}".into())],
            owner: owner_of("user-7"),
            ..Current::reserved(key(7), Wall(1_000), Wall(2_000), Millis(8_000))
        }),
        last: Some(Tombstone {
            key: key(6),
            digest: None,
            ending: Ending::Succeeded { result_id: Some("ord_1".into()), earlier: Some(Wall(4)) },
            at: Wall(900),
        }),
        open: vec![LeftOpen {
            key: key(5),
            digest: None,
            first_sent: Wall(1),
            reserved_at: Wall(2),
            left_at: Wall(3),
            ending: OpenEnding::Settled(Ending::Decided { outcome: Ruling::Applied, by: "Ann".into() }),
        }],
    }
}

fn phases() -> Vec<Phase> {
    vec![
        Phase::Reserved,
        Phase::Sending,
        Phase::Waiting,
        Phase::Suspended(SuspendReason::WrongSubject),
        Phase::Refused { status: 413, kind: "urn:x".into() },
        Phase::NotSent(NotSentReason::Offline),
        Phase::Unknown(UnknownReason::NoKey),
        Phase::Disputed(DisputeReason::Value),
    ]
}

#[test]
fn r27_given_every_phase_when_written_and_read_then_it_is_the_same_record() {
    for phase in phases() {
        let mut record = full();
        let current = record.current.as_mut().unwrap();
        if matches!(phase, Phase::Reserved | Phase::Refused { .. } | Phase::NotSent(_)) {
            current.doubt = Doubt::None;
        }
        current.phase = phase;
        assert_eq!(read(&record.write()), Ok(record));
    }
}

#[test]
fn r21_given_a_phase_that_says_nothing_ran_beside_a_doubt_then_the_doubt_counts() {
    for phase in
        [Phase::Reserved, Phase::Refused { status: 400, kind: "".into() }, Phase::NotSent(NotSentReason::Offline)]
    {
        let mut record = full();
        record.current.as_mut().unwrap().phase = phase;
        let current = read(&record.write()).unwrap().current.unwrap();
        assert_eq!(current.phase, Phase::Unknown(UnknownReason::DocumentLost));
        assert_eq!(current.doubt, record.current.unwrap().doubt);
    }
}

#[test]
fn r85_given_any_truncation_then_it_is_corrupt_and_never_a_record() {
    let text = full().write();
    for end in (0..text.len()).filter(|end| text.is_char_boundary(*end)) {
        assert_eq!(read(&text[..end]), Err(RecordFault::Corrupt), "cut at {end}");
    }
}

#[test]
fn r85_given_foreign_or_oversized_text_then_it_is_corrupt() {
    for foreign in ["", "null", "[]", "7", "{}", "{\"schema\":0}", "{\"schema\":\"1\"}", "not json"] {
        assert_eq!(read(foreign), Err(RecordFault::Corrupt), "{foreign}");
    }
    let padded: String = [full().write(), " ".repeat(TEXT_BYTES_MAX)].concat();
    assert_eq!(read(&padded), Err(RecordFault::Corrupt));
}

#[test]
fn r85_given_a_member_of_another_type_or_an_unknown_phase_then_it_is_corrupt() {
    let text = full().write();
    for (from, to) in
        [("\"attempts\":3", "\"attempts\":\"3\""), ("\"unknown\"", "\"lost\""), ("\"rev\":9", "\"rev\":-9")]
    {
        assert!(text.contains(from), "{from}");
        assert_eq!(read(&text.replace(from, to)), Err(RecordFault::Corrupt), "{to}");
    }
}

#[test]
fn r27_given_a_newer_schema_then_it_is_newer_whatever_its_members_and_never_corrupt() {
    let text = r#"{"schema":2,"generation":4,"round":1,"rev":2,"current":{"phase":"teleported"}}"#;
    assert_eq!(read(text), Err(RecordFault::Newer(Version { generation: 4, round: 1, rev: 2, writer: 0 })));
}

#[test]
fn r65_given_two_copies_then_generation_round_and_rev_decide_in_this_order() {
    let at =
        |generation, round, rev| Record { version: Version { generation, round, rev, writer: 0 }, ..Record::default() };
    assert_eq!(at(1, 9, 9).newer(at(2, 0, 0)), at(2, 0, 0));
    assert_eq!(at(1, 2, 0).newer(at(1, 1, 9)), at(1, 2, 0));
    assert_eq!(at(1, 1, 2).newer(at(1, 1, 3)), at(1, 1, 3));
}

#[test]
fn r93_given_erase_then_no_remembered_value_is_written() {
    let mut record = full();
    record.erase_remembered();
    assert!(!record.write().contains("A1"));
}

#[test]
fn r93_given_a_record_of_somebody_else_then_it_is_erased_once_nobody_drives_it_and_ones_own_never() {
    let record = full();
    let lease_over = Wall(5_000);
    let mut erased = record.clone();
    assert!(!erased.erase_unless(&owner_of("user-7"), lease_over, 9), "one's own");
    assert!(!erased.erase_unless(&owner_of("user-8"), Wall(4_999), 9), "a document drives it");
    assert_eq!(erased, record);
    assert!(erased.erase_unless(&owner_of("user-8"), lease_over, 9));
    assert!(!erased.write().contains("A1") && !erased.write().contains("owner"));
    assert!(erased.version > record.version && erased.version.writer == 9);
    assert_eq!(read(&erased.write()).unwrap(), erased);
    assert!(!erased.erase_unless(&owner_of("user-8"), lease_over, 9), "there is nothing left to erase");
    let mut unsaid = record;
    unsaid.current.as_mut().unwrap().owner.clear();
    assert!(unsaid.erase_unless(&owner_of("user-7"), lease_over, 9), "whose it is nobody knows");
}

#[test]
fn r88_given_a_written_record_then_it_names_no_subject() {
    let record = full();
    assert!(!record.write().contains("user-7"));
    assert_ne!(owner_of("user-7"), owner_of("user-8"));
}
