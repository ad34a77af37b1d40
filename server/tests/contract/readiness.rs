//! The scenarios that any server and client pair must reproduce, as far as the server has a part in them.

use std::sync::Arc;
use std::time::Duration;

use serde_json::json;
use tokio::io::AsyncWriteExt;
use tokio::task::JoinSet;

use super::shop::{Ask, Ended, Shop, key, order};

#[tokio::test]
async fn r113_given_a_first_answer_then_one_effect_and_a_marker_that_says_false() {
    let shop = Shop::open().await;
    let told = shop.told(&Ask::order(&key(1), &order("A1", "2"))).await;

    assert_eq!(told.status, 201);
    assert_eq!(told.header("idempotent-replayed"), Some("false"));
    assert_eq!(told.header("idempotency-key"), Some(format!("\"{}\"", key(1)).as_str()));
    assert_eq!(told.header("cache-control"), Some("no-store"));
    assert!(told.header("idempotency-first-seen").is_none());
    let body = told.json();
    let id = body["id"].as_str().unwrap();
    assert_eq!(told.header("location"), Some(format!("/orders/{id}").as_str()));
    assert_eq!((&body["sku"], &body["quantity"]), (&json!("A1"), &json!(2)));
    assert_eq!(shop.effects().await, 1);
    assert_eq!(shop.records().await[0]["history"], json!(["in_progress", "completed"]));
}

#[tokio::test]
async fn r113_given_a_lost_answer_then_the_retry_replays_the_same_bytes_and_never_a_second_effect() {
    let shop = Shop::open().await;
    shop.faults(json!([{ "match": { "attempt": 1 }, "fault": "lost-answer" }])).await;
    let ask = Ask::order(&key(1), &order("A1", "2"));

    assert!(matches!(shop.send(&ask.clone().header("X-Client-Attempt", "1")).await, Ended::Silence));
    assert_eq!(shop.effects().await, 1);
    let second = shop.told(&ask.clone().header("X-Client-Attempt", "2")).await;
    let third = shop.told(&ask.header("X-Client-Attempt", "3")).await;

    assert_eq!((second.status, third.status), (201, 201));
    assert_eq!(second.header("idempotent-replayed"), Some("true"));
    assert!(second.header("idempotency-first-seen").is_some_and(|date| date.starts_with('@')));
    assert_eq!((&second.body, second.header("location")), (&third.body, third.header("location")));
    assert_eq!(shop.effects().await, 1);
    let ended: Vec<_> =
        shop.log().await.iter().map(|entry| (entry["status"].clone(), entry["replayed"].clone())).collect();
    assert_eq!(ended, [(json!("dropped"), json!(null)), (json!(201), json!(true)), (json!(201), json!(true))]);
}

#[tokio::test]
async fn r103_given_64_parallel_copies_then_one_handler_runs_and_every_copy_hears_of_it() {
    let shop = Arc::new(Shop::open().await);
    let ask = Ask::order(&key(1), &order("A1", "2"));
    let mut copies = JoinSet::new();
    for _ in 0..64 {
        let (shop, ask) = (Arc::clone(&shop), ask.clone());
        copies.spawn(async move { shop.told(&ask).await });
    }
    let told = copies.join_all().await;

    assert_eq!(shop.effects().await, 1);
    let first = told.iter().filter(|told| told.header("idempotent-replayed") == Some("false")).count();
    assert_eq!(first, 1);
    for told in &told {
        match told.status {
            201 => {}
            409 => {
                assert_eq!(told.problem().as_deref(), Some("in-progress"));
                assert_eq!((told.header("retry-after"), &told.json()["retry_after_ms"]), (Some("1"), &json!(1000)));
            }
            other => panic!("{other}: {}", told.text()),
        }
    }
    assert_eq!(shop.records().await.len(), 1);
}

#[tokio::test]
async fn r104_given_a_changed_payload_under_an_old_key_then_422_and_never_an_effect() {
    let shop = Shop::open().await;
    shop.told(&Ask::order(&key(1), &order("A1", "2"))).await;
    let before = shop.records().await;
    let changed = [
        Ask::order(&key(1), &order("A1", "3")),
        Ask::order(&key(1), r#"{"sku":"A1","quantity":2}"#),
        Ask::command("/orders?dry=1", &key(1), &order("A1", "2")),
        Ask::command("/drafts", &key(1), &order("A1", "2")),
    ];
    for ask in changed {
        let told = shop.told(&ask).await;
        assert_eq!((told.status, told.problem().as_deref()), (422, Some("key-reused")));
        assert!(told.header("idempotent-replayed").is_none());
    }
    assert_eq!(shop.effects().await, 1);
    assert_eq!(shop.records().await, before);
}

#[tokio::test]
async fn r104_given_another_payload_while_the_first_runs_then_422_and_the_same_one_gets_409() {
    let shop = Arc::new(Shop::open().await);
    shop.faults(json!([{ "match": { "attempt": 1 }, "fault": "delay-effect", "ms": 1500 }])).await;
    let ask = Ask::order(&key(1), &order("A1", "2"));
    let first = tokio::spawn({
        let (shop, ask) = (Arc::clone(&shop), ask.clone().header("X-Client-Attempt", "1"));
        async move { shop.told(&ask).await }
    });
    shop.until_record(|record| record["state"] == "in_progress").await;

    let other = shop.told(&Ask::order(&key(1), &order("B2", "2"))).await;
    let same = shop.told(&ask).await;
    assert_eq!(other.problem().as_deref(), Some("key-reused"));
    assert_eq!(same.problem().as_deref(), Some("in-progress"));
    assert_eq!(shop.effects().await, 0);
    assert_eq!(first.await.unwrap().status, 201);
    assert_eq!(shop.effects().await, 1);
}

#[tokio::test]
async fn f44_given_a_client_that_leaves_then_the_effect_completes_and_the_retry_replays() {
    let shop = Shop::open().await;
    shop.faults(json!([{ "fault": "delay-effect", "ms": 200 }])).await;
    let ask = Ask::order(&key(1), &order("A1", "2"));
    let mut stream = shop.connect().await;
    stream.write_all(&ask.bytes()).await.unwrap();
    shop.until_record(|record| record["state"] == "in_progress").await;
    drop(stream);

    shop.until_record(|record| record["state"] == "completed").await;
    let retry = shop.told(&ask).await;
    assert_eq!((retry.status, retry.header("idempotent-replayed")), (201, Some("true")));
    assert_eq!(shop.effects().await, 1);
    assert_eq!(shop.records().await[0]["history"], json!(["in_progress", "completed"]));
    assert_eq!(shop.log().await[0]["status"], "client-left");
}

#[tokio::test]
async fn r113_given_a_restart_then_the_record_still_replays_and_nothing_runs_again() {
    let shop = Shop::open().await;
    let ask = Ask::order(&key(1), &order("A1", "2"));
    let first = shop.told(&ask).await;
    let shop = shop.reopened().await;
    let second = shop.told(&ask).await;

    assert_eq!((second.status, second.header("idempotent-replayed")), (201, Some("true")));
    assert_eq!(first.body, second.body);
    assert_eq!(shop.effects().await, 1);
}

#[tokio::test]
async fn r14_given_one_form_in_three_encodings_then_it_is_one_payload_and_one_effect() {
    let shop = Shop::open().await;
    let as_json = Ask::order(&key(1), r#"{"sku":"A1","quantity":"2","note":"a\nb"}"#);
    let as_urlencoded = as_json
        .clone()
        .with("Content-Type", "application/x-www-form-urlencoded")
        .body("note=a%0D%0Ab&quantity=2&sku=A1");
    let multipart = |boundary: &str| {
        let part = |name: &str, value: &str| {
            format!("--{boundary}\r\nContent-Disposition: form-data; name=\"{name}\"\r\n\r\n{value}\r\n")
        };
        let body = [part("sku", "A1"), part("quantity", "2"), part("note", "a\r\nb"), format!("--{boundary}--\r\n")];
        let content_type = format!("multipart/form-data; boundary={boundary}");
        as_json.clone().with("Content-Type", &content_type).body(body.concat())
    };
    assert_eq!(shop.told(&as_json).await.status, 201);
    for ask in [as_urlencoded, multipart("X"), multipart("Y")] {
        let told = shop.told(&ask).await;
        assert_eq!((told.status, told.header("idempotent-replayed")), (201, Some("true")), "{}", told.text());
    }
    assert_eq!(shop.effects().await, 1);
}

#[tokio::test]
async fn r16_given_another_file_then_422_and_never_a_replay_of_the_first() {
    let shop = Shop::open().await;
    let with_file = |boundary: &str, content: &str| {
        let part = |disposition: &str, value: &str| {
            format!("--{boundary}\r\nContent-Disposition: form-data; {disposition}\r\n\r\n{value}\r\n")
        };
        let body = [
            part("name=\"sku\"", "A1"),
            part("name=\"quantity\"", "2"),
            part("name=\"plan\"; filename=\"a.txt\"", content),
            format!("--{boundary}--\r\n"),
        ];
        let content_type = format!("multipart/form-data; boundary={boundary}");
        Ask::order(&key(1), "").with("Content-Type", &content_type).body(body.concat())
    };
    assert_eq!(shop.told(&with_file("X", "abc")).await.status, 201);
    assert_eq!(shop.told(&with_file("Y", "abc")).await.header("idempotent-replayed"), Some("true"));
    assert_eq!(shop.told(&with_file("X", "abd")).await.problem().as_deref(), Some("key-reused"));
    assert_eq!(shop.effects().await, 1);
}

#[tokio::test]
async fn r79_given_a_native_form_post_then_its_fields_carry_the_key_and_it_is_answered_by_303() {
    let shop = Shop::open().await;
    let fields = format!(
        "sku=A1&quantity=2&_idempotency_key={}&_idempotency_first_sent={}&_idempotency_subject=demo-user",
        key(1),
        super::shop::date_in(0).replace('@', "%40"),
    );
    let native = Ask::new("POST", "/orders")
        .header("Content-Type", "application/x-www-form-urlencoded")
        .header("Accept", "text/html,application/xhtml+xml;q=0.9,*/*;q=0.8")
        .body(fields);
    let first = shop.told(&native).await;
    let again = shop.told(&native).await;
    let by_script = shop.told(&Ask::order(&key(1), &order("A1", "2"))).await;

    assert_eq!((first.status, again.status), (303, 303));
    let page = first.header("location").unwrap();
    assert_eq!(again.header("location"), Some(page));
    let shown = shop.told(&Ask::new("GET", page).header("Accept", "text/html")).await;
    assert!(shown.text().contains("A1"), "{}", shown.text());
    assert_eq!((by_script.status, by_script.header("idempotent-replayed")), (201, Some("true")));
    assert_eq!(shop.effects().await, 1);
    assert_eq!(shop.log().await[0]["key"], key(1));
}

#[tokio::test]
async fn r98_given_two_operations_of_one_form_then_two_keys_give_two_effects() {
    let shop = Shop::open().await;
    assert_eq!(shop.told(&Ask::order(&key(1), &order("A1", "2"))).await.status, 201);
    let draft = shop.told(&Ask::command("/drafts", &key(2), &order("A1", "2"))).await;
    assert_eq!(draft.status, 201);
    assert!(draft.json()["id"].as_str().unwrap().starts_with("drf_"));
    assert_eq!(shop.effects().await, 2);
}

#[tokio::test]
async fn f40_given_two_keys_for_one_object_then_one_effect_and_the_other_hears_who_holds_it() {
    let shop = Arc::new(Shop::open().await);
    let body = r#"{"sku":"A1","quantity":"2","cart":"cart-7"}"#;
    let mut devices = JoinSet::new();
    for n in [1, 2] {
        let shop = Arc::clone(&shop);
        devices.spawn(async move { shop.told(&Ask::order(&key(n), body)).await });
    }
    let told = devices.join_all().await;
    let taken = told.iter().find(|told| told.status == 409).unwrap();

    assert_eq!(shop.effects().await, 1);
    assert_eq!(taken.problem().as_deref(), Some("object-taken"));
    assert_eq!(taken.json()["reference"].as_str().unwrap().len(), 10);
    assert!(taken.header("idempotent-replayed").is_none());
    tokio::time::sleep(Duration::from_millis(10)).await;
    assert_eq!(shop.records().await.len(), 1);
}
