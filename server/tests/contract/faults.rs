//! Each planned fault does what its name says, once, and effects follow the side of the fault they are on.

use std::time::{Duration, Instant};

use postonce_core::http_date;
use postonce_core::time::Wall;
use serde_json::{Value, json};

use super::shop::{Ask, Ended, Shop, Told, key, now_ms, order};

fn ask(n: u32) -> Ask {
    Ask::order(&key(n), &order("A1", "2")).header("X-Client-Attempt", "1")
}

/// One fault, one request: how it ended, how long it took, and how many effects it had.
async fn meet(fault: Value) -> (Ended, Duration, u64) {
    let shop = Shop::open().await;
    shop.faults(json!([fault])).await;
    let started = Instant::now();
    let ended = shop.send(&ask(1)).await;
    let took = started.elapsed();
    let effects = shop.effects().await;
    let log = shop.log().await;
    assert_eq!(log.len(), 1);
    assert_eq!(log[0]["fault"], fault["fault"]);
    // It is used up: the next request meets the plain shop.
    let replayed = if effects == 1 { "true" } else { "false" };
    assert_eq!(shop.told(&ask(1)).await.header("idempotent-replayed"), Some(replayed));
    assert_eq!(shop.effects().await, 1);
    (ended, took, effects)
}

fn whole(ended: Ended) -> Told {
    match ended {
        Ended::Told(told) => told,
        other @ (Ended::Short(_) | Ended::Silence) => panic!("{other:?}"),
    }
}

#[tokio::test]
async fn given_a_cut_connection_then_no_byte_comes_and_only_lost_answer_had_an_effect() {
    for (name, expected) in [("lost-answer", 1), ("drop-before", 0)] {
        let (ended, _, effects) = meet(json!({ "fault": name })).await;
        assert!(matches!(ended, Ended::Silence), "{name}: {ended:?}");
        assert_eq!(effects, expected, "{name}");
    }
}

#[tokio::test]
async fn given_a_delay_then_the_answer_is_whole_and_late() {
    for name in ["delay-before", "delay-after", "delay-effect"] {
        let (ended, took, effects) = meet(json!({ "fault": name, "ms": 300 })).await;
        assert_eq!((whole(ended).status, effects), (201, 1), "{name}");
        assert!(took >= Duration::from_millis(300), "{name}: {took:?}");
    }
}

#[tokio::test]
async fn given_a_status_then_it_comes_without_the_marker_and_only_status_after_had_an_effect() {
    for (name, expected) in [("status", 0), ("status-after", 1)] {
        for status in [429, 500, 502, 503, 504] {
            let (ended, _, effects) = meet(json!({ "fault": name, "status": status, "retry_after": 2 })).await;
            let told = whole(ended);
            assert_eq!((told.status, effects), (status, expected), "{name}");
            assert_eq!(told.header("retry-after"), Some("2"));
            assert!(told.header("idempotent-replayed").is_none() && told.header("idempotency-key").is_none());
        }
    }
}

#[tokio::test]
async fn given_a_retry_after_then_junk_goes_out_as_it_is_and_a_date_lies_ahead() {
    for junk in ["soon", "-1", "1.5", "120, 120"] {
        let fault = json!({ "fault": "status", "status": 503, "retry_after": junk });
        assert_eq!(whole(meet(fault).await.0).header("retry-after"), Some(junk));
    }
    let fault = json!({ "fault": "status", "status": 503, "retry_after": "date:+30" });
    let told = whole(meet(fault).await.0);
    let read = |name: &str| http_date::parse(told.header(name).unwrap(), Wall(now_ms())).unwrap();
    let ahead = read("retry-after").since(read("date")).0;
    assert!((29_000..=31_000).contains(&ahead), "{ahead}");
}

#[tokio::test]
async fn given_a_truncated_body_then_headers_come_whole_and_the_body_does_not() {
    let (ended, _, effects) = meet(json!({ "fault": "truncated-body" })).await;
    let Ended::Short(told) = ended else { panic!("{ended:?}") };
    assert_eq!((told.status, effects), (201, 1));
    assert!(!told.body.is_empty());
}

#[tokio::test]
async fn given_a_login_wall_then_html_or_a_redirect_comes_and_only_the_after_kind_had_an_effect() {
    for (name, status, expected) in
        [("html-200", 200, 0), ("html-200-after", 200, 1), ("redirect", 302, 0), ("redirect-after", 302, 1)]
    {
        let (ended, _, effects) = meet(json!({ "fault": name })).await;
        let told = whole(ended);
        assert_eq!((told.status, effects), (status, expected), "{name}");
        assert!(told.header("idempotent-replayed").is_none());
        match status {
            302 => assert_eq!(told.header("location"), Some("/login")),
            _ => assert!(told.header("content-type").unwrap().starts_with("text/html")),
        }
    }
}

#[tokio::test]
async fn given_silence_then_nothing_comes_until_the_client_leaves_and_the_log_says_so() {
    use tokio::io::{AsyncReadExt, AsyncWriteExt};
    for (name, bytes_expected, expected) in [("hang", 0..1, 0), ("hang-after", 0..1, 1), ("stalled-body", 1..2000, 1)] {
        let shop = Shop::open().await;
        shop.faults(json!([{ "fault": name }])).await;
        let mut stream = shop.connect().await;
        stream.write_all(&ask(1).bytes()).await.unwrap();
        let mut bytes = Vec::new();
        let waited = tokio::time::timeout(Duration::from_millis(700), stream.read_to_end(&mut bytes)).await;
        assert!(waited.is_err(), "{name}: it ended by itself");
        assert!(bytes_expected.contains(&bytes.len()), "{name}: {}", String::from_utf8_lossy(&bytes));
        if name == "stalled-body" {
            let text = String::from_utf8(bytes).unwrap();
            assert!(text.starts_with("HTTP/1.1 201") && text.ends_with("\r\n\r\n{"), "{text}");
        }
        drop(stream);
        assert_eq!(shop.effects().await, expected, "{name}");
        let told = shop.told(&ask(1)).await;
        assert_eq!(told.header("idempotent-replayed"), Some(if expected == 1 { "true" } else { "false" }));
        let status = &shop.log().await[0]["status"];
        let logged = if name == "stalled-body" { json!(201) } else { json!("client-left") };
        assert_eq!(*status, logged, "{name}");
    }
}

#[tokio::test]
async fn given_matches_then_status_and_fence_are_met_by_name_and_reset_clears_everything() {
    let shop = Shop::open().await;
    let list = json!([
        { "match": { "operation": "order.create.status" }, "fault": "status", "status": 500 },
        { "match": { "operation": "fence" }, "fault": "drop-before" },
        { "match": { "operation": "order.create", "attempt": 2 }, "fault": "drop-before" },
        { "match": { "method": "post" }, "fault": "html-200" },
    ]);
    shop.faults(list.clone()).await;
    assert_eq!(shop.told(&ask(1)).await.status, 200);
    assert_eq!(shop.told(&ask(1)).await.status, 201);
    assert_eq!(shop.told(&Ask::status(&key(1))).await.status, 500);
    assert!(matches!(shop.send(&Ask::fence(&key(1))).await, Ended::Silence));
    assert_eq!(shop.told(&Ask::fence(&key(1))).await.json()["state"], "completed");

    shop.faults(list).await;
    assert_eq!(shop.told(&Ask::new("POST", "/_demo/reset")).await.status, 204);
    assert!(shop.log().await.is_empty() && shop.records().await.is_empty());
    assert_eq!(shop.effects().await, 0);
    assert_eq!(shop.told(&ask(1)).await.header("idempotent-replayed"), Some("false"));
}

#[tokio::test]
async fn given_a_list_with_one_bad_entry_then_400_and_the_old_list_stays() {
    let shop = Shop::open().await;
    shop.faults(json!([{ "fault": "html-200" }])).await;
    let bad = json!([{ "fault": "hang" }, { "fault": "explode" }]).to_string();
    assert_eq!(shop.told(&Ask::new("PUT", "/_demo/faults").body(bad)).await.status, 400);
    assert_eq!(shop.told(&ask(1)).await.status, 200);
    assert_eq!(shop.effects().await, 0);
}

#[tokio::test]
async fn given_the_log_then_it_shows_what_a_test_has_to_count() {
    let shop = Shop::open().await;
    shop.told(&ask(1)).await;
    shop.told(&ask(1)).await;
    shop.told(&Ask::status(&key(1))).await;
    let log = shop.log().await;
    let of = |name: &str| log.iter().map(|entry| entry[name].clone()).collect::<Vec<_>>();
    assert_eq!(of("operation"), ["order.create", "order.create", "order.create.status"]);
    assert_eq!(of("key"), [key(1), key(1), key(1)]);
    assert_eq!(of("key_ref")[0].as_str().unwrap().len(), 10);
    assert_eq!(of("attempt"), [json!(1), json!(1), json!(null)]);
    assert_eq!(of("replayed"), [json!(false), json!(true), json!(null)]);
    assert_eq!(of("body_sha256")[0], of("body_sha256")[1]);
    assert!(log.iter().all(|entry| entry["received_at"].is_u64() && entry["answered_at"].is_u64()));
}
