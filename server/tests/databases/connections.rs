//! What only a database behind a network can do to a store.

use std::sync::Arc;
use std::time::Duration;

use postonce_core::contract::Policy;
use postonce_core::time::Millis;
use postonce_server::demo::DemoDatabase;
use postonce_server::store::{Failover, PostgresStore, Reservation, Reserved, Scope, Store};
use serde_json::json;
use tokio::task::JoinSet;

use crate::contract::shop::{Ask, Ended, Shop, Told, date_in, key, order, start, unique_name};
use crate::database::Database;

fn whole(ended: Ended) -> Told {
    match ended {
        Ended::Told(told) => told,
        other @ (Ended::Short(_) | Ended::Silence) => panic!("{other:?}"),
    }
}

#[tokio::test]
async fn r103_given_serializable_sessions_then_64_parallel_copies_still_run_once() {
    let database = Database::new(&unique_name()).await;
    let options = database.postgres("-c default_transaction_isolation=serializable");
    let shop = Arc::new(Shop::on(database, DemoDatabase::Postgres(options), Policy::default()).await);
    let mut copies = JoinSet::new();
    for n in 0..64 {
        let shop = Arc::clone(&shop);
        copies.spawn(async move { whole(shop.send(&Ask::order(&key(n % 4), &order("A1", "2"))).await).status });
    }
    let told = copies.join_all().await;
    // A transaction that lost to another and could not be repeated may say that it does not know; it never runs twice.
    assert!(told.iter().all(|status| matches!(status, 201 | 409 | 500 | 503)), "{told:?}");
    assert_eq!(shop.read("/_demo/effects").await["by_key"], json!({ key(0): 1, key(1): 1, key(2): 1, key(3): 1 }));
}

#[tokio::test]
async fn r108_given_connections_cut_while_claims_are_made_then_no_claim_is_lost_to_its_own_maker() {
    let database = Database::new(&unique_name()).await;
    let store = Arc::new(PostgresStore::open(&database.postgres("")).await.unwrap());
    let cutting = async {
        let mut cut = 0;
        for _ in 0..10 {
            cut += database.cut_connections().await;
            tokio::time::sleep(Duration::from_millis(15)).await;
        }
        cut
    };
    let mut claims = JoinSet::new();
    for n in 0..200 {
        let store = Arc::clone(&store);
        claims.spawn(async move {
            let scope = Scope { tenant: String::from("t"), subject: String::from("s"), key: key(n) };
            let reservation = Reservation {
                scope: &scope,
                operation: "order.create",
                fingerprint: "1:x",
                object: None,
                expected: None,
                owner: "me",
                lease: Millis(60_000),
                deadline: None,
            };
            let reserved = store.reserve(reservation).await;
            let found = store.look_up(&scope).await;
            (reserved, found)
        });
    }
    let (claims, cut) = tokio::join!(claims.join_all(), cutting);
    assert!(cut > 0, "no connection was cut");
    for (reserved, found) in claims {
        let record = found.unwrap().record;
        match reserved {
            // Nobody else wants these keys: whoever made the record must have been told that it is theirs.
            Ok(Reserved::Won(held)) => assert_eq!(record.map(|(id, _)| id), Some(held.id)),
            Ok(other) => panic!("{other:?}"),
            // Too many cuts in a row; the lease ends an orphan.
            Err(_) => {}
        }
    }
}

#[tokio::test]
async fn r108_given_a_connection_cut_inside_the_effect_then_nothing_of_it_stands_and_the_repeat_runs_it() {
    let shop = Shop::open().await;
    shop.database
        .run(
            "CREATE FUNCTION cut_once() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN \
         IF new.note = 'cut' THEN PERFORM pg_terminate_backend(pg_backend_pid()); END IF; RETURN new; END $$; \
         CREATE TRIGGER cut AFTER INSERT ON demo_orders FOR EACH ROW EXECUTE FUNCTION cut_once()",
        )
        .await;
    let ask = Ask::order(&key(1), r#"{"sku":"A1","quantity":"2","note":"cut"}"#);
    let told = whole(shop.send(&ask).await);
    assert_eq!(told.status, 503, "{}", told.text());
    assert!(told.header("idempotent-replayed").is_none());
    assert_eq!(shop.effects().await, 0);

    shop.database.run("DROP TRIGGER cut ON demo_orders").await;
    assert_eq!(whole(shop.send(&ask).await).status, 201);
    assert_eq!(shop.effects().await, 1);
}

#[tokio::test]
async fn r108_given_a_commit_whose_answer_is_lost_then_the_record_on_the_primary_speaks() {
    let shop = Shop::open().await;
    // A deferred trigger runs inside COMMIT; the cut takes the transaction with it.
    shop.database
        .run(
            "CREATE FUNCTION cut_commit() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN \
         IF new.note = 'cut' THEN PERFORM pg_terminate_backend(pg_backend_pid()); END IF; RETURN NULL; END $$; \
         CREATE CONSTRAINT TRIGGER cut AFTER INSERT ON demo_orders DEFERRABLE INITIALLY DEFERRED \
         FOR EACH ROW EXECUTE FUNCTION cut_commit()",
        )
        .await;
    let ask = Ask::order(&key(1), r#"{"sku":"A1","quantity":"2","note":"cut"}"#);
    let told = whole(shop.send(&ask).await);
    assert_eq!(told.status, 500, "{}", told.text());
    assert!(told.header("idempotent-replayed").is_none());
    assert_eq!(shop.records().await[0]["state"], "released");
    assert_eq!(shop.effects().await, 0);

    shop.database.run("DROP TRIGGER cut ON demo_orders").await;
    assert_eq!(whole(shop.send(&ask).await).status, 201);
    assert_eq!(shop.effects().await, 1);
}

#[tokio::test]
async fn r103_given_two_replicas_on_one_primary_then_a_repeat_on_the_other_replays() {
    let shop = Shop::open().await;
    let other = start(shop.database.options(), Policy::default()).await;
    let ask = Ask::order(&key(1), &order("A1", "2"));
    let first = whole(shop.send(&ask).await);
    let second = whole(Shop::send_to(other.address(), &ask).await);
    assert_eq!((first.status, second.status, &first.body), (201, 201, &second.body));
    assert_eq!(second.header("idempotent-replayed"), Some("true"));
    assert_eq!(shop.effects().await, 1);
}

#[tokio::test]
async fn r116_given_another_timeline_then_keys_from_before_it_are_uncertain_and_never_run() {
    let shop = Shop::open().await;
    shop.told(&Ask::order(&key(1), &order("A1", "2"))).await;
    // The server that answers next is not the one whose commits these records saw.
    shop.database.run("UPDATE postonce_floor SET timeline = 'another'").await;
    let shop = shop.reopened().await;

    let old = Ask::order(&key(2), &order("A1", "2")).with("Idempotency-First-Sent", &date_in(-60));
    assert_eq!(shop.told(&old).await.problem().as_deref(), Some("uncertain"));
    let kept = shop.told(&Ask::order(&key(1), &order("A1", "2"))).await;
    assert_eq!((kept.status, kept.header("idempotent-replayed")), (201, Some("true")));
    let young = Ask::order(&key(3), &order("A1", "2")).with("Idempotency-First-Sent", &date_in(5));
    assert_eq!(shop.told(&young).await.status, 201);
    assert_eq!(shop.effects().await, 2);
}

#[tokio::test]
async fn r116_given_another_timeline_that_lost_nothing_then_no_key_is_uncertain() {
    let database = Database::new(&unique_name()).await;
    let lossless = || {
        let mut options = database.postgres("");
        options.failover = Failover::LosesNothing;
        options
    };
    drop(PostgresStore::open(&lossless()).await.unwrap());
    database.run("UPDATE postonce_floor SET timeline = 'another'").await;
    let store = PostgresStore::open(&lossless()).await.unwrap();
    let scope = Scope { tenant: String::from("t"), subject: String::from("s"), key: key(1) };
    assert_eq!(store.look_up(&scope).await.unwrap().floor, None);
}
