//! Status check and fence.

use std::sync::Arc;

use serde_json::json;

use super::shop::{Ask, Shop, date_in, key, order};

const ELSEWHERE: &str = "demo_subject=someone-else";

#[tokio::test]
async fn r118_given_no_record_then_not_found_with_every_echo_and_nothing_written() {
    let shop = Shop::open().await;
    let told = shop.told(&Ask::status(&key(1))).await;
    let body = told.json();

    assert_eq!((told.status, &body["state"]), (200, &json!("not_found")));
    assert_eq!((&body["key"], &body["operation"]), (&json!(key(1)), &json!("order.create")));
    assert_eq!(body["subject"], "demo-user");
    assert!(body["now"].is_u64());
    assert_eq!(told.header("cache-control"), Some("no-store"));
    assert_eq!(told.header("idempotency-key"), Some(format!("\"{}\"", key(1)).as_str()));
    assert!(shop.records().await.is_empty());
}

#[tokio::test]
async fn r57_given_a_completed_record_then_the_status_answer_equals_the_replay_and_writes_nothing() {
    let shop = Shop::open().await;
    shop.told(&Ask::order(&key(1), &order("A1", "2"))).await;
    let replay = shop.told(&Ask::order(&key(1), &order("A1", "2"))).await;
    let before = shop.records().await;
    let body = shop.told(&Ask::status(&key(1))).await.json();

    assert_eq!(body["state"], "completed");
    assert_eq!(body["response"]["status"], 201);
    assert_eq!(body["response"]["body"], replay.text());
    assert_eq!(body["response"]["content_type"], "application/json");
    assert_eq!(body["response"]["result_id"], replay.json()["id"]);
    assert_eq!(body["response"]["result_unavailable"], false);
    assert!(body["fingerprint"].as_str().unwrap().starts_with("1:"));
    let lasts = body["expires_at"].as_u64().unwrap() - body["first_seen"].as_u64().unwrap();
    assert!((86_400_000..86_500_000).contains(&lasts), "{lasts}");
    assert_eq!(shop.records().await, before);
    assert_eq!(shop.effects().await, 1);
}

#[tokio::test]
async fn r118_given_a_running_effect_then_in_progress_with_a_wait_and_a_fence_changes_nothing() {
    let shop = Arc::new(Shop::open().await);
    shop.faults(json!([{ "fault": "delay-effect", "ms": 1000 }])).await;
    let running = tokio::spawn({
        let shop = Arc::clone(&shop);
        async move { shop.told(&Ask::order(&key(1), &order("A1", "2"))).await }
    });
    shop.until_record(|record| record["state"] == "in_progress").await;
    for ask in [Ask::status(&key(1)), Ask::fence(&key(1))] {
        let told = shop.told(&ask).await;
        assert_eq!(told.json()["state"], "in_progress");
        assert_eq!((told.header("retry-after"), &told.json()["retry_after_ms"]), (Some("1"), &json!(1000)));
    }
    assert_eq!(running.await.unwrap().status, 201);
    assert_eq!(shop.records().await[0]["history"], json!(["in_progress", "completed"]));
}

#[tokio::test]
async fn r61_given_a_fence_then_the_late_post_gets_410_and_never_an_effect() {
    let shop = Shop::open().await;
    let fenced = shop.told(&Ask::fence(&key(1))).await.json();
    assert_eq!((&fenced["state"], &fenced["key"]), (&json!("fenced"), &json!(key(1))));
    assert_eq!((&fenced["operation"], &fenced["subject"]), (&json!("order.create"), &json!("demo-user")));

    for body in [order("A1", "2"), order("B2", "5")] {
        let late = shop.told(&Ask::order(&key(1), &body)).await;
        assert_eq!((late.status, late.problem().as_deref()), (410, Some("fenced")));
    }
    assert_eq!(shop.told(&Ask::fence(&key(1))).await.json()["state"], "fenced");
    assert_eq!(shop.told(&Ask::status(&key(1))).await.json()["state"], "fenced");
    assert_eq!(shop.effects().await, 0);
    let shop = shop.reopened().await;
    assert_eq!(shop.told(&Ask::order(&key(1), &order("A1", "2"))).await.problem().as_deref(), Some("fenced"));
}

#[tokio::test]
async fn r61_given_a_fence_and_a_post_that_race_then_exactly_one_of_them_wins() {
    let shop = Arc::new(Shop::open().await);
    for n in 0..20 {
        let (posting, fencing) = (Arc::clone(&shop), Arc::clone(&shop));
        let post = tokio::spawn(async move { posting.told(&Ask::order(&key(n), &order("A1", "2"))).await });
        let fence = tokio::spawn(async move { fencing.told(&Ask::fence(&key(n))).await.json()["state"].clone() });
        let (post, fence) = (post.await.unwrap(), fence.await.unwrap());
        let by_key = shop.read("/_demo/effects").await["by_key"][key(n)].clone();
        if fence == "fenced" {
            assert_eq!((post.status, by_key), (410, json!(null)), "{n}");
        } else {
            assert_eq!((post.status, by_key), (201, json!(1)), "{n}: {fence}");
        }
    }
}

#[tokio::test]
async fn r61_given_an_old_key_without_record_then_a_fence_says_expired_and_writes_nothing() {
    let shop = Shop::open().await;
    for fence in [
        Ask::fence(&key(1)).with("Idempotency-First-Sent", &date_in(-90_000)),
        Ask::fence(&key(1)).without("Idempotency-First-Sent"),
    ] {
        assert_eq!(shop.told(&fence).await.json()["state"], "expired");
    }
    let old = Ask::status(&key(1)).with("Idempotency-First-Sent", &date_in(-90_000));
    assert_eq!(shop.told(&old).await.json()["state"], "expired");
    let ahead = shop.told(&Ask::fence(&key(1)).with("Idempotency-First-Sent", &date_in(3_600))).await;
    assert_eq!(ahead.problem().as_deref(), Some("clock-skew"));
    assert!(shop.records().await.is_empty());
}

#[tokio::test]
async fn r123_given_another_subject_signed_in_then_403_and_nothing_is_read_or_written() {
    let shop = Shop::open().await;
    shop.told(&Ask::order(&key(1), &order("A1", "2"))).await;
    let before = shop.records().await;
    for ask in [
        Ask::order(&key(1), &order("A1", "2")),
        Ask::order(&key(2), &order("A1", "2")),
        Ask::status(&key(1)),
        Ask::fence(&key(3)),
    ] {
        let told = shop.told(&ask.header("Cookie", ELSEWHERE)).await;
        assert_eq!((told.status, told.problem().as_deref()), (403, Some("wrong-subject")));
        assert!(!told.text().contains("ord_"), "{}", told.text());
    }
    assert_eq!(shop.effects().await, 1);
    assert_eq!(shop.records().await, before);
}

#[tokio::test]
async fn r89_given_another_subjects_key_then_it_looks_unused_and_is_a_record_of_its_own() {
    let shop = Shop::open().await;
    shop.told(&Ask::order(&key(1), &order("A1", "2"))).await;
    let theirs = |ask: Ask| ask.header("Cookie", ELSEWHERE).with("Idempotency-Subject", "\"someone-else\"");

    assert_eq!(shop.told(&theirs(Ask::status(&key(1)))).await.json()["state"], "not_found");
    let other = shop.told(&theirs(Ask::order(&key(1), &order("B2", "1")))).await;
    assert_eq!((other.status, other.header("idempotent-replayed")), (201, Some("false")));
    assert_eq!(shop.effects().await, 2);
}

#[tokio::test]
async fn r123_given_no_subject_then_400_and_given_nobody_signed_in_then_401() {
    let shop = Shop::open().await;
    for ask in [Ask::order(&key(1), &order("A1", "2")), Ask::status(&key(1)), Ask::fence(&key(1))] {
        let missing = shop.told(&ask.clone().without("Idempotency-Subject")).await;
        assert_eq!((missing.status, missing.problem().as_deref()), (400, Some("subject-missing")));
        let nobody = shop.told(&ask.header("Cookie", "theme=dark; demo_subject=signed-out")).await;
        assert_eq!(nobody.status, 401);
        assert!(nobody.header("idempotent-replayed").is_none());
    }
    assert!(shop.records().await.is_empty());
}

#[tokio::test]
async fn r51_given_another_origin_then_preflight_and_every_answer_let_it_read_what_it_needs() {
    let shop = Shop::open().await;
    let origin = "https://shop.example";
    let preflight = Ask::new("OPTIONS", "/orders/status")
        .header("Origin", origin)
        .header("Access-Control-Request-Method", "DELETE")
        .header("Access-Control-Request-Headers", "idempotency-key");
    let allowed = shop.told(&preflight).await;
    assert_eq!(allowed.status, 204);
    assert!(allowed.header("access-control-allow-methods").is_some_and(|methods| methods.contains("DELETE")));
    let headers = allowed.header("access-control-allow-headers").unwrap().to_lowercase();
    for name in ["key", "first-sent", "deadline", "subject"] {
        assert!(headers.contains(&format!("idempotency-{name}")), "{headers}");
    }
    let refused = shop.told(&Ask::status(&key(1)).without("Idempotency-Key").header("Origin", origin)).await;
    assert_eq!(refused.status, 400);
    assert_eq!(refused.header("access-control-allow-origin"), Some(origin));
    let exposed = refused.header("access-control-expose-headers").unwrap();
    for name in ["Retry-After", "Date", "Idempotency-Key", "Idempotent-Replayed", "Idempotency-First-Seen"] {
        assert!(exposed.contains(name), "{exposed}");
    }
    let stranger = shop.told(&Ask::status(&key(1)).header("Origin", "https://evil.example")).await;
    assert!(stranger.header("access-control-allow-origin").is_none());
}
