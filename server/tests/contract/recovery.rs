//! Owners that die, stall, panic or cannot tell, and records that outlive them.

use std::sync::Arc;
use std::time::Duration;

use postonce_core::contract::{Policy, RecoveryClass, Stored, StoredBody};
use postonce_core::time::{Millis, Wall};
use postonce_server::store::{AnyTx, By, Guarded, Held, Reservation, Reserved, Scope, Terminal};
use postonce_server::{STORED_BODY_MAX, Store};
use serde_json::json;
use tokio::task::JoinSet;

use super::shop::{Ask, Ended, SUBJECT, Shop, date_in, key, now_ms, order};

fn scope(n: u32) -> Scope {
    Scope { tenant: String::from("demo"), subject: String::from(SUBJECT), key: key(n) }
}

/// The fingerprint the shop gives this order, learnt from a shop of its own.
async fn fingerprint(n: u32) -> String {
    let shop = Shop::open().await;
    shop.told(&Ask::order(&key(n), &order("A1", "2"))).await;
    shop.records().await[0]["fingerprint"].as_str().unwrap().to_owned()
}

/// Claims a key for an owner that will never be heard of again.
async fn claim(shop: &Shop, n: u32, lease: Millis, object: Option<&str>) -> Reserved {
    let reservation = Reservation {
        scope: &scope(n),
        operation: "order.create",
        fingerprint: "1:of-nobody",
        object,
        expected: None,
        owner: "dead",
        lease,
        deadline: None,
    };
    shop.running.store().reserve(reservation).await.unwrap()
}

/// A claim on the key of an order that somebody is about to send again.
async fn abandoned(shop: &Shop, n: u32, lease: Millis) -> Held {
    let fingerprint = fingerprint(n).await;
    let reservation = Reservation {
        scope: &scope(n),
        operation: "order.create",
        fingerprint: &fingerprint,
        object: None,
        expected: None,
        owner: "dead",
        lease,
        deadline: None,
    };
    let reserved = shop.running.store().reserve(reservation).await.unwrap();
    let Reserved::Won(held) = reserved else { panic!("{reserved:?}") };
    held
}

fn stored() -> Stored {
    Stored {
        status: 201,
        content_type: String::from("application/json"),
        location: None,
        result_id: None,
        body: StoredBody::Kept(b"{}".to_vec()),
    }
}

const LEASE: Millis = Millis(200);

async fn lease_over() {
    tokio::time::sleep(Duration::from_millis(LEASE.0 + 50)).await;
}

#[tokio::test]
async fn r109_given_a_dead_owner_then_409_while_the_lease_holds_and_the_next_post_runs_it() {
    let shop = Shop::open().await;
    let held = abandoned(&shop, 1, Millis(3_000)).await;
    let ask = Ask::order(&key(1), &order("A1", "2"));
    assert_eq!(shop.told(&ask).await.problem().as_deref(), Some("in-progress"));
    assert_eq!(shop.effects().await, 0);

    let store = shop.running.store();
    assert_eq!(store.renew(&held, LEASE).await.unwrap(), Guarded::Done);
    lease_over().await;
    let told = shop.told(&ask).await;
    assert_eq!((told.status, told.header("idempotent-replayed")), (201, Some("false")));
    assert_eq!(shop.effects().await, 1);

    // R110: the dead owner comes back with its old token, and changes nothing.
    let before = shop.records().await;
    let tx = store.begin().await.unwrap();
    assert_eq!(store.settle(tx, &held, &Terminal::Completed(stored())).await.unwrap(), Guarded::Stale);
    assert_eq!(store.release(held.id, held.token, By::Owner).await.unwrap(), Guarded::Stale);
    assert_eq!(store.mark_started(&held).await.unwrap(), Guarded::Stale);
    assert_eq!(shop.records().await, before);
}

#[tokio::test]
async fn r109_given_an_abandoned_claim_then_status_recovers_it_and_a_fence_then_voids_it() {
    let shop = Shop::open().await;
    abandoned(&shop, 1, LEASE).await;
    lease_over().await;
    assert_eq!(shop.told(&Ask::status(&key(1))).await.json()["state"], "not_found");
    assert_eq!(shop.records().await[0]["history"], json!(["in_progress", "released"]));

    abandoned(&shop, 2, LEASE).await;
    lease_over().await;
    assert_eq!(shop.told(&Ask::fence(&key(2))).await.json()["state"], "fenced");
    let late = shop.told(&Ask::order(&key(2), &order("A1", "2"))).await;
    assert_eq!(late.problem().as_deref(), Some("fenced"));
    assert_eq!(shop.effects().await, 0);
}

#[tokio::test]
async fn r109_given_a_started_effect_without_recovery_then_it_becomes_uncertain_and_never_runs_again() {
    let shop = Shop::with(Policy { recovery: RecoveryClass::None, ..Policy::default() }).await;
    let held = abandoned(&shop, 1, LEASE).await;
    let store = shop.running.store();
    assert_eq!(store.mark_started(&held).await.unwrap(), Guarded::Done);
    lease_over().await;
    let told = shop.told(&Ask::order(&key(1), &order("A1", "2"))).await;
    assert_eq!((told.status, told.problem().as_deref()), (409, Some("uncertain")));
    assert_eq!(told.json()["reference"].as_str().unwrap().len(), 10);
    let status = shop.told(&Ask::status(&key(1))).await.json();
    assert_eq!((&status["state"], &status["reference"]), (&json!("uncertain"), &told.json()["reference"]));
    assert_eq!(shop.told(&Ask::fence(&key(1))).await.json()["state"], "uncertain");
    assert_eq!(shop.effects().await, 0);

    // Its owner may still settle it.
    let tx = store.begin().await.unwrap();
    assert_eq!(store.settle(tx, &held, &Terminal::Completed(stored())).await.unwrap(), Guarded::Done);
    assert_eq!(shop.told(&Ask::status(&key(1))).await.json()["state"], "completed");
}

#[tokio::test]
async fn r109_given_a_started_effect_downstream_then_the_next_post_takes_it_over_with_a_higher_token() {
    let recovery = RecoveryClass::DownstreamIdempotent { retained: Millis(60_000) };
    let shop = Shop::with(Policy { recovery, ..Policy::default() }).await;
    let held = abandoned(&shop, 1, LEASE).await;
    let store = shop.running.store();
    assert_eq!(store.mark_started(&held).await.unwrap(), Guarded::Done);
    lease_over().await;
    assert_eq!(shop.told(&Ask::status(&key(1))).await.json()["state"], "in_progress");
    assert_eq!(shop.told(&Ask::order(&key(1), &order("A1", "2"))).await.status, 201);
    let record = &shop.records().await[0];
    assert!(record["token"].as_u64().unwrap() > held.token);
    assert_eq!(record["id"], held.id.0);
    assert_eq!(store.renew(&held, LEASE).await.unwrap(), Guarded::Stale);
    assert_eq!(shop.effects().await, 1);
}

#[tokio::test]
async fn r109_given_an_owner_that_renewed_then_a_finder_with_an_old_look_never_takes_its_claim() {
    let shop = Shop::open().await;
    let held = abandoned(&shop, 1, Millis(1)).await;
    let store = shop.running.store();
    tokio::time::sleep(Duration::from_millis(20)).await;
    assert_eq!(store.renew(&held, Millis(60_000)).await.unwrap(), Guarded::Done);
    assert_eq!(store.release(held.id, held.token, By::Finder).await.unwrap(), Guarded::Stale);
    assert_eq!(store.doubt(held.id, held.token, By::Finder).await.unwrap(), Guarded::Stale);
    assert_eq!(store.take_over(held.id, held.token, "finder", LEASE).await.unwrap(), None);
    assert_eq!(shop.records().await[0]["state"], "in_progress");
}

#[tokio::test]
async fn r109_given_an_effect_longer_than_its_lease_then_a_live_owner_keeps_its_claim() {
    let shop = Arc::new(Shop::with(Policy { lease: LEASE, ..Policy::default() }).await);
    shop.faults(json!([{ "fault": "delay-effect", "ms": 900 }])).await;
    let first = tokio::spawn({
        let shop = Arc::clone(&shop);
        async move { shop.told(&Ask::order(&key(1), &order("A1", "2"))).await }
    });
    shop.until_record(|record| record["state"] == "in_progress").await;
    tokio::time::sleep(Duration::from_millis(500)).await;
    let second = shop.told(&Ask::order(&key(1), &order("A1", "2"))).await;
    assert_eq!(second.problem().as_deref(), Some("in-progress"));
    assert_eq!(first.await.unwrap().status, 201);
    assert_eq!(shop.effects().await, 1);
    assert_eq!(shop.records().await[0]["history"], json!(["in_progress", "completed"]));
}

#[tokio::test]
async fn r110_given_a_stale_token_then_the_effects_own_writes_roll_back_with_it() {
    let shop = Shop::open().await;
    let held = abandoned(&shop, 1, LEASE).await;
    lease_over().await;
    let store = shop.running.store();
    assert_eq!(store.release(held.id, held.token, By::Finder).await.unwrap(), Guarded::Done);
    let mut tx = store.begin().await.unwrap();
    let row = "INSERT INTO demo_orders (operation, key, subject, sku, quantity, total, placed_ms) \
               VALUES ('order.create', 'x', 'x', 'A1', 1, 1, 1)";
    match &mut tx {
        AnyTx::Sqlite(tx) => drop(sqlx::raw_sql(row).execute(&mut **tx).await.unwrap()),
        AnyTx::Postgres(tx) => drop(sqlx::raw_sql(row).execute(&mut **tx).await.unwrap()),
    }
    assert_eq!(store.settle(tx, &held, &Terminal::Completed(stored())).await.unwrap(), Guarded::Stale);
    assert_eq!(shop.effects().await, 0);
}

#[tokio::test]
async fn r111_given_an_effect_that_fails_or_panics_then_its_writes_are_gone_and_the_key_is_free() {
    for (n, (sku, status, problem)) in
        (1..).zip([("PANIC", 500, None), ("BROKEN", 500, None), ("NOT-APPLIED", 503, Some("not-started"))])
    {
        let shop = Shop::open().await;
        let ask = Ask::order(&key(n), &order(sku, "2"));
        for _ in 0..2 {
            let told = shop.told(&ask).await;
            assert_eq!((told.status, told.problem().as_deref()), (status, problem), "{sku}");
            assert!(told.header("idempotent-replayed").is_none(), "{sku}");
        }
        assert_eq!(shop.effects().await, 0, "{sku}");
        assert_eq!(shop.told(&Ask::status(&key(n))).await.json()["state"], "not_found", "{sku}");
    }
}

#[tokio::test]
async fn r111_given_an_effect_that_cannot_tell_then_uncertain_and_never_a_second_run() {
    let shop = Shop::open().await;
    let ask = Ask::order(&key(1), &order("DOUBT", "2"));
    for _ in 0..3 {
        let told = shop.told(&ask).await;
        assert_eq!((told.status, told.problem().as_deref()), (409, Some("uncertain")));
    }
    assert_eq!(shop.records().await[0]["history"], json!(["in_progress", "uncertain"]));
    assert_eq!(shop.told(&Ask::fence(&key(1))).await.json()["state"], "uncertain");
}

#[tokio::test]
async fn r115_given_a_body_over_the_cap_then_the_replay_names_the_result_and_never_runs_again() {
    let shop = Shop::open().await;
    let ask = Ask::order(&key(1), &order("HUGE", "2"));
    let first = shop.told(&ask).await;
    let again = shop.told(&ask).await;
    assert!(first.body.len() > STORED_BODY_MAX);
    assert_eq!((again.status, again.header("idempotent-replayed")), (201, Some("true")));
    assert_eq!(again.json(), json!({ "result_id": first.json()["id"], "result_unavailable": true }));
    let status = shop.told(&Ask::status(&key(1))).await.json();
    assert_eq!(status["response"]["result_unavailable"], true);
    assert_eq!(status["response"]["result_id"], first.json()["id"]);
    assert_eq!(shop.effects().await, 1);
}

#[tokio::test]
async fn r116_given_a_purge_then_only_settled_records_past_their_time_go() {
    let shop = Shop::open().await;
    shop.told(&Ask::order(&key(1), &order("A1", "2"))).await;
    shop.told(&Ask::order(&key(2), &order("DOUBT", "2"))).await;
    shop.told(&Ask::fence(&key(3))).await;
    abandoned(&shop, 4, LEASE).await;
    let store = shop.running.store();
    assert_eq!(store.purge("order.create", Millis(60_000)).await.unwrap(), 0);
    tokio::time::sleep(Duration::from_millis(20)).await;
    assert_eq!(store.purge("order.draft", Millis(1)).await.unwrap(), 0);
    assert_eq!(store.purge("order.create", Millis(1)).await.unwrap(), 2);
    let left: Vec<_> = shop
        .records()
        .await
        .iter()
        .filter(|record| record["state"] != "released")
        .map(|record| record["state"].clone())
        .collect();
    assert_eq!(left, ["uncertain", "in_progress"]);
}

#[tokio::test]
async fn r103_given_keys_that_differ_in_case_only_then_they_are_two_records() {
    let shop = Shop::open().await;
    let (lower, upper) = ("abcdef".repeat(5), "ABCDEF".repeat(5));
    for key in [&lower, &upper] {
        let told = shop.told(&Ask::order(key, &order("A1", "2"))).await;
        assert_eq!((told.status, told.header("idempotent-replayed")), (201, Some("false")));
    }
    assert_eq!(shop.effects().await, 2);
}

#[tokio::test]
async fn r117_given_a_deadline_that_passes_before_the_insert_then_the_statement_itself_refuses() {
    let shop = Shop::open().await;
    let scope = scope(1);
    let reservation = Reservation {
        scope: &scope,
        operation: "order.create",
        fingerprint: "1:x",
        object: None,
        expected: None,
        owner: "late",
        lease: LEASE,
        deadline: Some(Wall(now_ms() - 1)),
    };
    let reserved = shop.running.store().reserve(reservation).await.unwrap();
    assert!(matches!(reserved, Reserved::DeadlinePassed { .. }), "{reserved:?}");
    assert!(shop.records().await.is_empty());
}

#[tokio::test]
async fn r116_given_a_raised_floor_then_an_older_key_without_record_is_uncertain_and_never_runs() {
    let shop = Shop::open().await;
    shop.told(&Ask::order(&key(1), &order("A1", "2"))).await;
    let store = shop.running.store();
    store.raise_floor(Wall(now_ms() + 2_000)).await.unwrap();
    store.raise_floor(Wall(1)).await.unwrap();

    // What has a record is answered from it; what has none may have had one.
    let replay = shop.told(&Ask::order(&key(1), &order("A1", "2"))).await;
    assert_eq!((replay.status, replay.header("idempotent-replayed")), (201, Some("true")));
    let lost = shop.told(&Ask::order(&key(2), &order("A1", "2"))).await;
    assert_eq!((lost.status, lost.problem().as_deref()), (409, Some("uncertain")));
    assert_eq!(shop.told(&Ask::status(&key(2))).await.json()["state"], "uncertain");
    assert_eq!(shop.told(&Ask::fence(&key(2))).await.json()["state"], "uncertain");
    assert_eq!(shop.effects().await, 1);

    // A key reserved after it is none of its business.
    let after = Ask::order(&key(3), &order("A1", "2")).with("Idempotency-First-Sent", &date_in(10));
    assert_eq!(shop.told(&after).await.status, 201);
}

#[tokio::test]
async fn f40_given_two_keys_for_one_object_at_once_then_one_effect_and_the_other_learns_who_has_it() {
    let shop = Arc::new(Shop::open().await);
    let cart = |n: u32| Ask::order(&key(n), r#"{"sku":"A1","quantity":"2","cart":"cart-7"}"#);
    let (phone, laptop) = (cart(1), cart(2));
    let (phone, laptop) = tokio::join!(shop.send(&phone), shop.send(&laptop));
    let mut told = Vec::new();
    for ended in [phone, laptop] {
        let Ended::Told(answer) = ended else { panic!("{ended:?}") };
        told.push(answer);
    }
    told.sort_by_key(|told| told.status);
    assert_eq!((told[0].status, told[1].status), (201, 409));
    assert_eq!(told[1].problem().as_deref(), Some("object-taken"));
    assert_eq!(told[1].json()["reference"].as_str().unwrap().len(), 10);
    assert_eq!(shop.effects().await, 1);

    // Another cart, and no cart at all, are free.
    let other = Ask::order(&key(3), r#"{"sku":"A1","quantity":"2","cart":"cart-8\u0000"}"#);
    assert_eq!(shop.told(&other).await.status, 201);
    assert_eq!(shop.told(&Ask::order(&key(4), &order("A1", "2"))).await.status, 201);
}

#[tokio::test]
async fn f40_given_an_object_whose_holder_died_then_another_key_recovers_it_and_a_refused_one_lets_go() {
    let shop = Shop::open().await;
    let cart =
        |n: u32, sku: &str| Ask::order(&key(n), &json!({ "sku": sku, "quantity": "2", "cart": "cart-7" }).to_string());
    let reserved = claim(&shop, 1, LEASE, Some("cart-7")).await;
    assert!(matches!(reserved, Reserved::Won(_)), "{reserved:?}");
    assert_eq!(shop.told(&cart(2, "A1")).await.json()["state"], "in_progress");
    lease_over().await;
    // Refused for good: the object is free again, and so is it for the next key.
    assert_eq!(shop.told(&cart(2, "SOLD-OUT")).await.status, 409);
    assert_eq!(shop.told(&cart(3, "A1")).await.status, 201);
    let taken = shop.told(&cart(4, "A1")).await;
    assert_eq!((taken.problem().as_deref(), &taken.json()["state"]), (Some("object-taken"), &json!("completed")));
    assert_eq!(shop.effects().await, 1);
}

#[tokio::test]
async fn r103_given_many_claims_at_once_then_one_wins_and_every_token_is_new() {
    let shop = Arc::new(Shop::open().await);
    let mut claims = JoinSet::new();
    for _ in 0..32 {
        let shop = Arc::clone(&shop);
        claims.spawn(async move { claim(&shop, 1, Millis(60_000), None).await });
    }
    let won: Vec<_> = claims.join_all().await.into_iter().filter(|claim| matches!(claim, Reserved::Won(_))).collect();
    assert_eq!(won.len(), 1, "{won:?}");

    // R110: a released claim's token never comes again.
    let Reserved::Won(first) = &won[0] else { panic!("{won:?}") };
    assert_eq!(shop.running.store().release(first.id, first.token, By::Owner).await.unwrap(), Guarded::Done);
    let Reserved::Won(second) = claim(&shop, 1, LEASE, None).await else { panic!("not free") };
    assert!(second.token > first.token && second.id > first.id, "{first:?} {second:?}");
}

/// A settled record as an older version of the server would have left it.
#[tokio::test]
async fn f54_e_given_a_record_with_an_older_fingerprint_then_refused_and_never_replayed_on_a_weaker_match() {
    let shop = Shop::open().await;
    let payload = order("A1", "2");
    let current = fingerprint(1).await;
    let digest = current.split_once(':').unwrap().1.to_owned();
    for older in [format!("0:{digest}"), digest.clone(), String::from("0:"), format!("2:{digest}")] {
        let reservation = Reservation {
            scope: &scope(1),
            operation: "order.create",
            fingerprint: &older,
            object: None,
            expected: None,
            owner: "older",
            lease: Millis(60_000),
            deadline: None,
        };
        let store = shop.running.store();
        let Reserved::Won(held) = store.reserve(reservation).await.unwrap() else { panic!("{older}: not reserved") };
        let tx = store.begin().await.unwrap();
        assert_eq!(store.settle(tx, &held, &Terminal::Completed(stored())).await.unwrap(), Guarded::Done);
        let told = shop.told(&Ask::order(&key(1), &payload)).await;
        assert_eq!((told.status, told.problem().as_deref()), (422, Some("key-reused")), "{older}");
        assert!(told.header("idempotent-replayed").is_none(), "{older}");
        assert_eq!(shop.effects().await, 0, "{older}");
        shop.told(&Ask::new("POST", "/_demo/reset")).await;
    }
}
