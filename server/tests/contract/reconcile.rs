//! What stays open is settled by looking, or by a person, and never by guessing (R109, R110).

use std::sync::{Arc, Mutex};
use std::time::Duration;

use async_trait::async_trait;
use postonce_core::contract::{Phase, Policy, Record, RecordState, RecoveryClass, StoredBody};
use postonce_core::time::Millis;
use postonce_server::demo::DemoDatabase;
use postonce_server::reconcile::{Case, Finding, Pass, Reconcile, Reconciler, Ruling, RulingError};
use postonce_server::store::{AnyStore, Guarded, Held, RecordId, Reservation, Reserved, Scope, Terminal};
use postonce_server::{Answer, Authenticated, Contract, PostgresStore, Replicas, Rules, SqliteStore, Store};
use serde_json::{Value, json};

use super::shop::{key, unique_name};
use crate::database::Database;

const LEASE: Millis = Millis(80);

/// What a look finds, and what it was asked.
#[derive(Clone)]
struct Method {
    finding: Arc<Mutex<Finding>>,
    asked: Arc<Mutex<Vec<Case>>>,
}

#[async_trait]
impl Reconcile for Method {
    async fn look(&self, case: &Case) -> Finding {
        self.asked.lock().unwrap().push(case.clone());
        self.finding.lock().unwrap().clone()
    }
}

/// A store, one operation that pays elsewhere, and its reconciler.
struct Desk {
    _database: Database,
    store: Arc<AnyStore>,
    reconciler: Reconciler<AnyStore>,
    method: Method,
}

/// The database's records, without a shop.
pub(super) async fn open(database: &Database) -> Arc<AnyStore> {
    Arc::new(match database.options() {
        DemoDatabase::Sqlite(options) => AnyStore::Sqlite(SqliteStore::open(&options).await.unwrap()),
        DemoDatabase::Postgres(options) => AnyStore::Postgres(PostgresStore::open(&options).await.unwrap()),
    })
}

fn paid() -> Finding {
    let answer = Answer::json(201, &json!({ "id": "pay_1" }));
    Finding::Applied { answer, values: json!({ "amount": 100, "currency": "EUR" }) }
}

impl Desk {
    async fn new(recovery: RecoveryClass, finding: Finding) -> Self {
        let database = Database::new(&unique_name()).await;
        let store = open(&database).await;
        let contract = Contract::new(Arc::clone(&store), |_: &_| None::<Authenticated>, "desk", Replicas::OneMachine);
        let rules = Rules::new("pay").policy(Policy { recovery, lease: LEASE, ..Policy::default() }).result_id("/id");
        let method = Method { finding: Arc::new(Mutex::new(finding)), asked: Arc::default() };
        let reconciler = contract.unwrap().reconciler(Arc::new(rules), method.clone());
        Self { _database: database, store, reconciler, method }
    }

    fn find(&self, finding: Finding) {
        *self.method.finding.lock().unwrap() = finding;
    }

    fn asked(&self) -> usize {
        self.method.asked.lock().unwrap().len()
    }

    /// A claim whose effect has begun and whose owner says no more.
    async fn begun(&self, n: u32) -> Held {
        let held = self.reserved(n).await;
        assert_eq!(self.store.mark_started(&held).await.unwrap(), Guarded::Done);
        held
    }

    async fn reserved(&self, n: u32) -> Held {
        let reservation = Reservation {
            scope: &scope(n),
            operation: "pay",
            fingerprint: "1:00",
            object: Some("cart-1").filter(|_| n == 1),
            expected: Some(r#"{"amount":100,"currency":"EUR"}"#),
            owner: "gone",
            lease: LEASE,
            deadline: None,
        };
        match self.store.reserve(reservation).await.unwrap() {
            Reserved::Won(held) => held,
            other @ (Reserved::Lost | Reserved::DeadlinePassed { .. } | Reserved::ObjectTaken(_)) => {
                panic!("{other:?}")
            }
        }
    }

    async fn record(&self, n: u32) -> Option<Record> {
        self.store.look_up(&scope(n)).await.unwrap().record.map(|(_, record)| record)
    }

    async fn state(&self, n: u32) -> &'static str {
        self.record(n).await.map_or("none", |record| record.state.name().as_str())
    }

    /// The situation under test: the owner's lease is over.
    async fn outlive_the_lease(&self) {
        tokio::time::sleep(Duration::from_millis(LEASE.0 + 40)).await;
    }

    async fn conclusions(&self, id: RecordId) -> Vec<(String, String)> {
        let decisions = self.store.decisions(id).await.unwrap();
        decisions.into_iter().map(|decision| (decision.conclusion, decision.note.by)).collect()
    }
}

fn scope(n: u32) -> Scope {
    Scope { tenant: String::from("t"), subject: String::from("ann"), key: key(n) }
}

#[tokio::test]
async fn r109_given_an_owner_that_lives_then_its_record_is_never_looked_at() {
    let desk = Desk::new(RecoveryClass::None, paid()).await;
    desk.begun(1).await;
    assert_eq!(desk.reconciler.pass().await.unwrap(), Pass::default());
    assert_eq!((desk.asked(), desk.state(1).await), (0, "in_progress"));
}

#[tokio::test]
async fn r109_given_a_claim_that_never_began_and_a_dead_owner_then_the_key_is_given_back_without_a_look() {
    let desk = Desk::new(RecoveryClass::None, paid()).await;
    desk.reserved(1).await;
    desk.outlive_the_lease().await;
    assert_eq!(desk.reconciler.pass().await.unwrap(), Pass { not_applied: 1, ..Pass::default() });
    assert_eq!((desk.asked(), desk.state(1).await), (0, "none"));
}

#[tokio::test]
async fn r109_given_a_dead_owner_and_an_effect_that_is_found_then_its_answer_is_replayed_from_now_on() {
    let desk = Desk::new(RecoveryClass::None, paid()).await;
    let held = desk.begun(1).await;
    desk.outlive_the_lease().await;
    assert_eq!(desk.reconciler.pass().await.unwrap(), Pass { applied: 1, ..Pass::default() });
    let Some(Record { state: RecordState::Completed(stored), .. }) = desk.record(1).await else { panic!("not done") };
    assert_eq!((stored.status, stored.result_id.as_deref()), (201, Some("pay_1")));
    assert_eq!(stored.body, StoredBody::Kept(br#"{"id":"pay_1"}"#.to_vec()));
    let case = desk.method.asked.lock().unwrap().pop().unwrap();
    assert_eq!((case.object.as_deref(), case.subject.as_str()), (Some("cart-1"), "ann"));
    assert_eq!(case.expected, Some(json!({ "amount": 100, "currency": "EUR" })));
    assert!(!format!("{case:?}").contains(&key(1)), "R92: no key in what may be logged");
    assert_eq!(desk.conclusions(held.id).await, [(String::from("applied"), String::from("reconciler desk"))]);
}

#[tokio::test]
async fn r110_given_a_record_that_was_taken_over_then_its_old_owner_never_writes_again() {
    let desk = Desk::new(RecoveryClass::None, paid()).await;
    let held = desk.begun(1).await;
    desk.outlive_the_lease().await;
    desk.reconciler.pass().await.unwrap();
    let RecordState::Completed(stored) = desk.record(1).await.unwrap().state else { panic!("not done") };
    let late = Terminal::Rejected(stored.clone());
    let tx = desk.store.begin().await.unwrap();
    assert_eq!(desk.store.settle(tx, &held, &late).await.unwrap(), Guarded::Stale);
    assert_eq!(desk.store.renew(&held, LEASE).await.unwrap(), Guarded::Stale);
    assert_eq!(desk.record(1).await.unwrap().state, RecordState::Completed(stored));
}

#[tokio::test]
async fn r109_given_values_that_differ_from_what_was_asked_then_a_person_is_asked_and_nothing_is_called_done() {
    let other = Finding::Applied { answer: Answer::json(201, &json!({})), values: json!({ "amount": 1_000 }) };
    let desk = Desk::new(RecoveryClass::None, other).await;
    let held = desk.begun(1).await;
    desk.outlive_the_lease().await;
    assert_eq!(desk.reconciler.pass().await.unwrap(), Pass { referred: 1, ..Pass::default() });
    assert_eq!(desk.state(1).await, "uncertain");
    let [decision] = &desk.store.decisions(held.id).await.unwrap()[..] else { panic!("one decision") };
    assert_eq!(decision.note.why, "what stands there differs from what was asked in amount, currency");
    assert!(!decision.note.why.contains("100"), "R92: names, never values");
    assert_eq!(decision.reference.as_deref().map(str::len), Some(10));
}

#[tokio::test]
async fn r109_given_an_effect_that_surely_did_not_happen_then_the_key_may_be_sent_again_and_its_object_is_free() {
    let desk = Desk::new(RecoveryClass::None, Finding::NotApplied).await;
    let held = desk.begun(1).await;
    desk.outlive_the_lease().await;
    assert_eq!(desk.reconciler.pass().await.unwrap(), Pass { not_applied: 1, ..Pass::default() });
    assert_eq!(desk.state(1).await, "none");
    let again = desk.reserved(1).await;
    assert!(again.id > held.id && again.token > held.token, "never the same number or token again");
    assert_eq!(desk.conclusions(held.id).await, [(String::from("not_applied"), String::from("reconciler desk"))]);
}

#[tokio::test]
async fn r109_given_nobody_can_tell_then_it_is_uncertain_referred_once_and_settled_by_a_later_look() {
    let desk = Desk::new(RecoveryClass::None, Finding::Unclear(String::from("the bank does not answer"))).await;
    let held = desk.begun(1).await;
    desk.outlive_the_lease().await;
    assert_eq!(desk.reconciler.pass().await.unwrap(), Pass { referred: 1, ..Pass::default() });
    for _ in 0..3 {
        assert_eq!(desk.reconciler.pass().await.unwrap(), Pass { left: 1, ..Pass::default() });
    }
    assert_eq!((desk.state(1).await, desk.reconciler.queue().await.unwrap().len()), ("uncertain", 1));
    desk.find(paid());
    assert_eq!(desk.reconciler.pass().await.unwrap(), Pass { applied: 1, ..Pass::default() });
    assert_eq!((desk.state(1).await, desk.reconciler.queue().await.unwrap().len()), ("completed", 0));
    let words: Vec<String> = desk.conclusions(held.id).await.into_iter().map(|(word, _)| word).collect();
    assert_eq!(words, ["referred", "applied"]);
}

#[tokio::test]
async fn r109_given_a_downstream_that_honours_our_key_and_no_finding_then_the_claim_is_left_for_the_next_command() {
    let recovery = RecoveryClass::DownstreamIdempotent { retained: Millis(60_000) };
    let desk = Desk::new(recovery, Finding::Unclear(String::from("not there yet"))).await;
    desk.begun(1).await;
    desk.outlive_the_lease().await;
    assert_eq!(desk.reconciler.pass().await.unwrap(), Pass { left: 1, ..Pass::default() });
    let RecordState::InProgress(claim) = desk.record(1).await.unwrap().state else { panic!("not in progress") };
    assert!(matches!(claim.phase, Phase::Started { .. }));
    let now = desk.store.look_up(&scope(1)).await.unwrap().now;
    assert!(claim.lease_until <= now, "the next command need not wait");
    desk.find(paid());
    assert_eq!(desk.reconciler.pass().await.unwrap(), Pass { applied: 1, ..Pass::default() });
}

#[tokio::test]
async fn r108_given_a_case_then_its_downstream_key_is_the_effects_own() {
    let desk = Desk::new(RecoveryClass::None, Finding::NotApplied).await;
    desk.begun(1).await;
    desk.begun(2).await;
    desk.outlive_the_lease().await;
    desk.reconciler.pass().await.unwrap();
    let asked = desk.method.asked.lock().unwrap().clone();
    let keys: Vec<String> = asked.iter().map(|case| case.downstream_key("charge")).collect();
    let [first, second] = &keys[..] else { panic!("two looks") };
    assert_eq!((first.len(), first == second), (32, false));
    assert_ne!(*first, asked[0].downstream_key("refund"));
}

#[tokio::test]
async fn r128_given_a_persons_ruling_then_it_ends_the_record_and_names_who_and_why() {
    let desk = Desk::new(RecoveryClass::None, Finding::Unclear(String::from("unclear"))).await;
    let held = desk.begun(1).await;
    desk.outlive_the_lease().await;
    desk.reconciler.pass().await.unwrap();
    let ruled = |ruling| desk.reconciler.rule(held.id, ruling, "kim", "seen in the bank's list");
    assert_eq!(
        desk.reconciler.rule(held.id, Ruling::NotApplied, " ", "x").await,
        Err(RulingError::Missing("by")),
        "a decision without a name is none"
    );
    assert_eq!(desk.reconciler.rule(held.id, Ruling::NotApplied, "kim", "").await, Err(RulingError::Missing("why")));
    let wrong = Ruling::Applied(Answer::json(402, &Value::Null));
    assert_eq!(ruled(wrong).await, Err(RulingError::Status(402)));
    assert_eq!(desk.state(1).await, "uncertain", "nothing of that changed anything");
    ruled(Ruling::Applied(Answer::json(201, &json!({ "id": "pay_7" })))).await.unwrap();
    assert_eq!(desk.state(1).await, "completed");
    assert_eq!(ruled(Ruling::NotApplied).await, Err(RulingError::NotOpen(held.id)), "settled is settled");
    let last = desk.store.decisions(held.id).await.unwrap().pop().unwrap();
    assert_eq!(
        (last.conclusion.as_str(), last.note.by.as_str(), last.note.why.as_str()),
        ("applied", "kim", "seen in the bank's list")
    );
}

#[tokio::test]
async fn r109_given_a_living_owner_then_no_person_rules_over_its_head() {
    let desk = Desk::new(RecoveryClass::None, paid()).await;
    let held = desk.begun(1).await;
    let ruled = desk.reconciler.rule(held.id, Ruling::NotApplied, "kim", "impatient").await;
    assert_eq!(ruled, Err(RulingError::NotOpen(held.id)));
    assert_eq!(desk.state(1).await, "in_progress");
}

#[tokio::test]
async fn r109_given_eight_reconcilers_at_once_then_each_record_is_concluded_once() {
    let desk = Arc::new(Desk::new(RecoveryClass::None, paid()).await);
    let mut ids = Vec::new();
    for n in 2..12 {
        ids.push(desk.begun(n).await.id);
    }
    desk.outlive_the_lease().await;
    let passes: Vec<_> = (0..8)
        .map(|_| {
            let desk = Arc::clone(&desk);
            tokio::spawn(async move { desk.reconciler.pass().await.unwrap() })
        })
        .collect();
    let mut applied = 0;
    for pass in passes {
        applied += pass.await.unwrap().applied;
    }
    assert_eq!(applied, 10);
    for id in ids {
        assert_eq!(desk.conclusions(id).await.len(), 1);
    }
}

#[tokio::test]
async fn r118_given_open_records_then_the_backlog_counts_them_and_ages_the_oldest() {
    let desk = Desk::new(RecoveryClass::None, Finding::Unclear(String::from("unclear"))).await;
    assert_eq!(desk.store.backlog("pay").await.unwrap().oldest_in_progress, None);
    desk.begun(1).await;
    desk.outlive_the_lease().await;
    let backlog = desk.store.backlog("pay").await.unwrap();
    assert_eq!((backlog.in_progress, backlog.uncertain), (1, 0));
    assert!(backlog.oldest_in_progress.unwrap() >= LEASE);
    desk.reconciler.pass().await.unwrap();
    let backlog = desk.store.backlog("pay").await.unwrap();
    assert_eq!((backlog.in_progress, backlog.uncertain), (0, 1));
    assert_eq!(desk.store.backlog("other").await.unwrap().uncertain, 0);
}
