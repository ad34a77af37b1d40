//! A call to another service commits with its effect, reaches it at least once, and always under one key (R108).

use std::sync::{Arc, Mutex};
use std::time::Duration;

use async_trait::async_trait;
use postonce_core::contract::{Stored, StoredBody};
use postonce_core::time::Millis;
use postonce_server::outbox::{Courier, Deliver, Delivery, Round};
use postonce_server::store::{
    AnyStore, By, Closing, Guarded, Held, Letter, NewLetter, Note, Reservation, Reserved, Scope, Terminal,
};
use postonce_server::{Authenticated, Contract, Replicas, Store};

use super::reconcile::open;
use super::shop::{key, unique_name};
use crate::database::Database;

const LEASE: Millis = Millis(80);

/// Another service: what it was told, and what it says to it.
#[derive(Clone, Default)]
struct Service {
    told: Arc<Mutex<Vec<Letter>>>,
    says: Arc<Mutex<Vec<Delivery>>>,
}

#[async_trait]
impl Deliver for Service {
    async fn deliver(&self, letter: &Letter) -> Delivery {
        self.told.lock().unwrap().push(letter.clone());
        self.says.lock().unwrap().pop().unwrap_or(Delivery::Delivered)
    }
}

struct Desk {
    _database: Database,
    store: Arc<AnyStore>,
    service: Service,
    courier: Courier<AnyStore>,
}

impl Desk {
    async fn new() -> Self {
        let database = Database::new(&unique_name()).await;
        let store = open(&database).await;
        let contract = Contract::new(Arc::clone(&store), |_: &_| None::<Authenticated>, "desk", Replicas::OneMachine);
        let service = Service::default();
        let courier = contract.unwrap().courier(service.clone(), LEASE);
        Self { _database: database, store, service, courier }
    }

    async fn reserved(&self, n: u32) -> Held {
        let scope = Scope { tenant: String::from("t"), subject: String::from("ann"), key: key(n) };
        let reservation = Reservation {
            scope: &scope,
            operation: "pay",
            fingerprint: "1:00",
            object: None,
            expected: None,
            owner: "desk",
            lease: Millis(60_000),
            deadline: None,
        };
        match self.store.reserve(reservation).await.unwrap() {
            Reserved::Won(held) => held,
            other @ (Reserved::Lost | Reserved::DeadlinePassed { .. } | Reserved::ObjectTaken(_)) => {
                panic!("{other:?}")
            }
        }
    }

    /// An effect that posts a letter and commits.
    async fn effect(&self, n: u32) -> Held {
        let held = self.reserved(n).await;
        let mut tx = self.store.begin().await.unwrap();
        AnyStore::post(&mut tx, &letter(&held, &key(n))).await.unwrap();
        assert_eq!(self.store.settle(tx, &held, &done()).await.unwrap(), Guarded::Done);
        held
    }

    fn says(&self, delivery: Delivery) {
        self.service.says.lock().unwrap().push(delivery);
    }

    fn told(&self) -> Vec<Letter> {
        self.service.told.lock().unwrap().clone()
    }
}

fn letter<'a>(held: &Held, key: &'a str) -> NewLetter<'a> {
    NewLetter { record: held.id, purpose: "charge", key, payload: b"100 EUR" }
}

fn done() -> Terminal {
    let body = StoredBody::Kept(b"{}".to_vec());
    let content_type = String::from("application/json");
    Terminal::Completed(Stored { status: 201, content_type, location: None, result_id: None, body })
}

#[tokio::test]
async fn r108_given_an_effect_that_commits_then_its_letter_is_delivered_once_and_not_again() {
    let desk = Desk::new().await;
    let held = desk.effect(1).await;
    assert_eq!(desk.courier.pass().await.unwrap(), Round { delivered: 1, ..Round::default() });
    assert_eq!(desk.courier.pass().await.unwrap(), Round::default());
    let [letter] = &desk.told()[..] else { panic!("one delivery") };
    assert_eq!((letter.record, letter.purpose.as_str(), letter.attempt), (held.id, "charge", 1));
    assert_eq!(letter.payload, b"100 EUR");
    assert!(!format!("{letter:?}").contains("100"), "R92: no payload in what may be logged");
}

#[tokio::test]
async fn r108_given_an_effect_that_is_rolled_back_overtaken_or_lost_then_its_letter_never_leaves() {
    let desk = Desk::new().await;
    let held = desk.reserved(1).await;
    let mut tx = desk.store.begin().await.unwrap();
    AnyStore::post(&mut tx, &letter(&held, &key(1))).await.unwrap();
    desk.store.rollback(tx).await.unwrap();
    let mut tx = desk.store.begin().await.unwrap();
    AnyStore::post(&mut tx, &letter(&held, &key(1))).await.unwrap();
    drop(tx);
    assert_eq!(desk.store.release(held.id, held.token, By::Owner).await.unwrap(), Guarded::Done);
    let mut tx = desk.store.begin().await.unwrap();
    AnyStore::post(&mut tx, &letter(&held, &key(1))).await.unwrap();
    assert_eq!(desk.store.settle(tx, &held, &done()).await.unwrap(), Guarded::Stale);
    assert_eq!(desk.courier.pass().await.unwrap(), Round::default());
    assert!(desk.told().is_empty());
}

#[tokio::test]
async fn r108_given_a_courier_that_dies_after_a_delivery_then_the_next_delivers_under_the_very_same_key() {
    let desk = Desk::new().await;
    desk.effect(1).await;
    // It claims, delivers, and dies before it notes.
    let [mut first] = desk.store.claim_letters(8, LEASE).await.unwrap().try_into().unwrap();
    assert!(desk.store.claim_letters(8, LEASE).await.unwrap().is_empty(), "nobody else has it meanwhile");
    tokio::time::sleep(Duration::from_millis(LEASE.0 + 40)).await;
    assert_eq!(desk.courier.pass().await.unwrap(), Round { delivered: 1, ..Round::default() });
    let [second] = &desk.told()[..] else { panic!("one delivery") };
    assert_eq!((second.key.as_str(), second.attempt), (first.key.as_str(), 2));
    let note = Note { by: String::from("late"), why: String::new() };
    let late = desk.store.close_letter(&first, Closing::Again(Millis(0)), &note).await.unwrap();
    assert_eq!(late, Guarded::Stale, "R110: its claim is over");
    first.token = second.token;
    assert_eq!(
        desk.store.close_letter(&first, Closing::Refused, &note).await.unwrap(),
        Guarded::Stale,
        "delivered stays so"
    );
}

#[tokio::test]
async fn r108_given_a_service_that_may_have_it_or_not_then_it_is_told_again_later_and_never_given_up() {
    let desk = Desk::new().await;
    desk.effect(1).await;
    desk.says(Delivery::Unknown);
    assert_eq!(desk.courier.pass().await.unwrap(), Round { again: 1, ..Round::default() });
    assert_eq!(desk.courier.pass().await.unwrap(), Round::default(), "not at once");
    tokio::time::sleep(Duration::from_millis(1_050)).await; // the situation under test: its pause is over
    assert_eq!(desk.courier.pass().await.unwrap(), Round { delivered: 1, ..Round::default() });
    let keys: Vec<String> = desk.told().into_iter().map(|letter| letter.key).collect();
    assert_eq!(keys, [key(1), key(1)]);
}

#[tokio::test]
async fn r108_given_a_service_that_refuses_for_good_then_a_person_is_asked_and_it_is_not_sent_again() {
    let desk = Desk::new().await;
    let held = desk.effect(1).await;
    desk.says(Delivery::Refused(String::from("the account is closed")));
    assert_eq!(desk.courier.pass().await.unwrap(), Round { refused: 1, ..Round::default() });
    assert_eq!(desk.courier.pass().await.unwrap(), Round::default());
    let [decision] = &desk.store.decisions(held.id).await.unwrap()[..] else { panic!("one decision") };
    let Note { by, why } = &decision.note;
    assert_eq!(
        (decision.conclusion.as_str(), by.as_str(), why.as_str()),
        ("referred", "courier desk", "the account is closed")
    );
}

#[tokio::test]
async fn r108_given_the_same_letter_posted_twice_then_there_is_one() {
    let desk = Desk::new().await;
    let held = desk.reserved(1).await;
    let mut tx = desk.store.begin().await.unwrap();
    for _ in 0..2 {
        AnyStore::post(&mut tx, &letter(&held, &key(1))).await.unwrap();
    }
    assert_eq!(desk.store.settle(tx, &held, &done()).await.unwrap(), Guarded::Done);
    assert_eq!(desk.courier.pass().await.unwrap(), Round { delivered: 1, ..Round::default() });
    assert_eq!(desk.told().len(), 1);
}

#[tokio::test]
async fn r108_given_six_couriers_at_once_then_each_letter_is_delivered_by_one() {
    let desk = Arc::new(Desk::new().await);
    for n in 1..=20 {
        desk.effect(n).await;
    }
    let rounds: Vec<_> = (0..6)
        .map(|_| {
            let desk = Arc::clone(&desk);
            tokio::spawn(async move { desk.courier.pass().await.unwrap() })
        })
        .collect();
    let mut delivered = 0;
    for round in rounds {
        delivered += round.await.unwrap().delivered;
    }
    assert_eq!((delivered, desk.told().len()), (20, 20));
}
