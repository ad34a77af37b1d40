//! Requests that must run nothing.

use serde_json::json;

use super::shop::{Ask, Ended, Shop, date_in, key, order};

fn plain() -> Ask {
    Ask::order(&key(1), &order("A1", "2"))
}

async fn nothing_happened(shop: &Shop) {
    assert_eq!(shop.effects().await, 0);
    assert!(shop.records().await.is_empty());
}

#[tokio::test]
async fn r102_given_a_key_that_is_none_then_400_and_never_a_record() {
    let shop = Shop::open().await;
    let quoted = |text: &str| plain().with("Idempotency-Key", &format!("\"{text}\""));
    let bad = [
        quoted(&"a".repeat(10_240)),
        quoted(&"a".repeat(256)),
        quoted("short"),
        quoted(""),
        quoted("0123456789abcdef 0123456789abcdef"),
        plain().with("Idempotency-Key", &key(1)),
        plain().with("Idempotency-Key", &format!("\"{}\", \"{}\"", key(1), key(2))),
        plain().header("Idempotency-Key", &format!("\"{}\"", key(1))),
        plain().without("Idempotency-Key").raw_header("Idempotency-Key", b"\"\xff\xfe0123456789abcdef012345\""),
    ];
    for (n, ask) in bad.iter().enumerate() {
        let told = shop.told(ask).await;
        assert_eq!((told.status, told.problem().as_deref()), (400, Some("key-invalid")), "case {n}");
        assert!(told.header("idempotent-replayed").is_none());
    }
    let missing = shop.told(&plain().without("Idempotency-Key")).await;
    assert_eq!((missing.status, missing.problem().as_deref()), (400, Some("key-missing")));
    nothing_happened(&shop).await;
}

#[tokio::test]
async fn r106_given_quoted_and_bare_forms_where_both_are_taken_then_one_record_and_one_effect() {
    let shop = Shop::open().await;
    let ask = Ask::command("/drafts", &key(1), &order("A1", "2"));
    let forms = [key(1), format!("\"{}\"", key(1)), format!("\"{}\";v=1", key(1))];
    for (n, form) in forms.iter().enumerate() {
        let told = shop.told(&ask.clone().with("Idempotency-Key", form)).await;
        let marker = if n == 0 { "false" } else { "true" };
        assert_eq!((told.status, told.header("idempotent-replayed")), (201, Some(marker)), "{form}");
    }
    assert_eq!(shop.effects().await, 1);
    assert_eq!(shop.records().await.len(), 1);
}

#[tokio::test]
async fn r8_given_a_header_and_a_field_that_differ_then_400_and_never_either_of_them() {
    let shop = Shop::open().await;
    let with_field = |n: u32| {
        let body = json!({ "sku": "A1", "quantity": "2", "_idempotency_key": key(n) });
        plain().body(body.to_string())
    };
    let differ = shop.told(&with_field(2)).await;
    assert_eq!((differ.status, differ.problem().as_deref()), (400, Some("key-invalid")));
    let twice = plain()
        .with("Content-Type", "application/x-www-form-urlencoded")
        .without("Idempotency-Key")
        .body(format!("sku=A1&quantity=2&_idempotency_key={}&_idempotency_key={}", key(1), key(1)));
    assert_eq!(shop.told(&twice).await.problem().as_deref(), Some("key-invalid"));
    nothing_happened(&shop).await;
    // The same key in both places is one key, and the field is no part of the payload.
    assert_eq!(shop.told(&with_field(1)).await.status, 201);
    assert_eq!(shop.told(&plain()).await.header("idempotent-replayed"), Some("true"));
    assert_eq!(shop.effects().await, 1);
}

#[tokio::test]
async fn r116_given_a_key_without_record_then_its_age_is_judged_and_now_is_told() {
    let shop = Shop::open().await;
    let sent = |seconds: i64| plain().with("Idempotency-First-Sent", &date_in(seconds));
    let expired = shop.told(&sent(-90_000)).await;
    assert_eq!((expired.status, expired.problem().as_deref()), (410, Some("expired")));
    let ahead = shop.told(&sent(3_600)).await;
    assert_eq!((ahead.status, ahead.problem().as_deref()), (412, Some("clock-skew")));
    for told in [expired, ahead] {
        let apart = told.json()["now"].as_u64().unwrap().abs_diff(super::shop::now_ms());
        assert!(apart < 60_000, "{apart}");
    }
    for ask in [plain().without("Idempotency-First-Sent"), plain().with("Idempotency-First-Sent", "yesterday")] {
        let told = shop.told(&ask).await;
        assert_eq!((told.status, told.problem().as_deref()), (400, Some("first-sent-missing")));
    }
    nothing_happened(&shop).await;
}

#[tokio::test]
async fn r117_given_a_passed_deadline_then_412_with_now_but_never_instead_of_a_replay() {
    let shop = Shop::open().await;
    let late = plain().with("Idempotency-Deadline", &date_in(-2));
    let told = shop.told(&late).await;
    assert_eq!((told.status, told.problem().as_deref()), (412, Some("deadline-passed")));
    assert!(told.json()["now"].is_u64());
    let unreadable = shop.told(&plain().with("Idempotency-Deadline", "soon")).await;
    assert_eq!((unreadable.status, unreadable.problem()), (400, None));
    nothing_happened(&shop).await;

    assert_eq!(shop.told(&plain()).await.status, 201);
    assert_eq!(shop.told(&late).await.header("idempotent-replayed"), Some("true"));
    assert_eq!(shop.effects().await, 1);
}

#[tokio::test]
async fn r12_given_a_body_that_cannot_be_compared_then_400_and_never_a_record() {
    let shop = Shop::open().await;
    let bodies: [(&str, Vec<u8>); 8] = [
        ("application/json", b"{\"sku\":\"A1\",\"quantity\":\"2\",\"sku\":\"B2\"}".to_vec()),
        ("application/json", b"{\"sku\":\"\xff\",\"quantity\":\"2\"}".to_vec()),
        ("application/json", [vec![b'['; 100_000], vec![b']'; 100_000]].concat()),
        ("application/json", b"{\"sku\":\"A1\",\"quantity\":9007199254740993}".to_vec()),
        ("application/json", b"{\"sku\":\"\\ud800\",\"quantity\":\"2\"}".to_vec()),
        ("application/json", b"{".to_vec()),
        ("application/x-www-form-urlencoded", b"sku=%ff&quantity=2".to_vec()),
        ("multipart/form-data; boundary=X", b"--X\r\nnonsense".to_vec()),
    ];
    for (content_type, body) in bodies {
        let shown = String::from_utf8_lossy(&body).chars().take(40).collect::<String>();
        let told = shop.told(&plain().with("Content-Type", content_type).body(body)).await;
        assert_eq!((told.status, told.problem()), (400, None), "{shown}");
        assert!(told.header("idempotent-replayed").is_none());
    }
    let foreign = shop.told(&plain().with("Content-Type", "text/xml")).await;
    assert_eq!(foreign.status, 415);
    nothing_happened(&shop).await;
}

#[tokio::test]
async fn given_a_body_over_the_limit_then_413_and_one_at_the_limit_is_read() {
    let shop = Shop::open().await;
    let padded = |length: usize| {
        let frame = order("A1", "2").len() + ",\"note\":\"\"".len();
        let mut body = order("A1", "2");
        body.insert_str(body.len() - 1, &format!(",\"note\":\"{}\"", "x".repeat(length - frame)));
        assert_eq!(body.len(), length);
        plain().body(body)
    };
    let limit = postonce_server::REQUEST_BODY_MAX;
    assert_eq!(shop.told(&padded(limit + 1)).await.status, 413);
    nothing_happened(&shop).await;
    assert_eq!(shop.told(&padded(limit)).await.status, 201);
}

#[tokio::test]
async fn r112_given_a_refusal_before_the_reserve_then_nothing_is_stored_and_the_edit_keeps_its_key() {
    let shop = Shop::open().await;
    let refused = shop.told(&Ask::order(&key(1), r#"{"sku":"A1"}"#)).await;
    assert_eq!(refused.status, 422);
    assert!(refused.problem().is_none() && refused.header("idempotent-replayed").is_none());
    nothing_happened(&shop).await;
    assert_eq!(shop.told(&plain()).await.status, 201);
}

#[tokio::test]
async fn f46_given_a_refusal_of_the_domain_then_it_is_stored_replayed_and_tied_to_its_key() {
    let shop = Shop::open().await;
    let cases = [("DECLINED", "2", 402), ("SOLD-OUT", "2", 409), ("A1", "100", 422), ("A1", "two", 422)];
    for (n, (sku, quantity, status)) in (1..).zip(cases) {
        let ask = Ask::order(&key(n), &order(sku, quantity));
        let first = shop.told(&ask).await;
        let again = shop.told(&ask).await;
        assert_eq!((first.status, first.header("idempotent-replayed")), (status, Some("false")));
        assert_eq!((again.status, again.header("idempotent-replayed")), (status, Some("true")));
        assert_eq!(first.body, again.body);
        assert!(first.json()["type"].as_str().unwrap().starts_with("urn:shop:"));
        let corrected = shop.told(&Ask::order(&key(n), &order("A1", "2"))).await;
        assert_eq!(corrected.problem().as_deref(), Some("key-reused"));
        assert_eq!(shop.told(&Ask::status(&key(n))).await.json()["state"], "rejected");
    }
    assert_eq!(shop.effects().await, 0);
    assert_eq!(shop.told(&Ask::order(&key(99), &order("A1", "2"))).await.status, 201);
}

#[tokio::test]
async fn r91_given_a_refused_token_then_the_record_is_released_and_a_fresh_one_runs_under_the_same_key() {
    let shop = Shop::open().await;
    let with =
        |captcha: &str| Ask::order(&key(1), &json!({ "sku": "A1", "quantity": "2", "captcha": captcha }).to_string());
    let refused = shop.told(&with("wrong")).await;
    assert_eq!((refused.status, refused.problem().as_deref()), (422, Some("token-refused")));
    assert_eq!(refused.json()["field"], "captcha");
    assert_eq!(shop.effects().await, 0);
    assert_eq!(shop.told(&with("right")).await.status, 201);
    // Spent by now: a replay never asks again.
    assert_eq!(shop.told(&with("wrong")).await.header("idempotent-replayed"), Some("true"));
    assert_eq!(shop.effects().await, 1);
}

#[tokio::test]
async fn r114_given_a_store_that_is_away_then_503_not_started_and_never_an_effect() {
    let shop = Shop::open().await;
    shop.running.store().close().await;
    for ask in [plain(), Ask::status(&key(1)), Ask::fence(&key(1))] {
        let told = shop.told(&ask).await;
        assert_eq!((told.status, told.problem().as_deref()), (503, Some("not-started")));
        assert!(told.header("retry-after").is_some());
    }
    let shop = shop.reopened().await;
    nothing_happened(&shop).await;
}

#[tokio::test]
async fn given_a_body_that_ends_early_then_nothing_runs() {
    let shop = Shop::open().await;
    let whole = plain().bytes();
    let mut stream = shop.connect().await;
    tokio::io::AsyncWriteExt::write_all(&mut stream, &whole[..whole.len() - 5]).await.unwrap();
    drop(stream);
    assert!(matches!(shop.send(&Ask::status(&key(1))).await, Ended::Told(_)));
    nothing_happened(&shop).await;
}
