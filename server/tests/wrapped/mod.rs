use std::convert::Infallible;
use std::future::poll_fn;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use axum::Router;
use axum::body::{Body, to_bytes};
use axum::extract::{Path, Request};
use axum::http::header::{CONTENT_TYPE, COOKIE, LOCATION, SET_COOKIE};
use axum::http::request::Parts;
use axum::http::{HeaderMap, StatusCode};
use axum::response::{IntoResponse, Response};
use axum::routing::post;
use postonce_core::contract::{Policy, RecoveryClass};
use postonce_server::outbox::{Deliver, Delivery, Round};
use postonce_server::store::{Letter, Reach};
use postonce_server::{
    Answer, Authenticated, Contract, Effect, EffectError, Replicas, Rules, SqliteOptions, SqliteStore, Store,
    StoreTooNear, TokenRefused,
};
use tokio::sync::Notify;
use tower_service::Service;

use crate::shop;

const BODY_MAX: usize = 1 << 20;

/// A folder for one test's database.
struct Home(std::path::PathBuf);

impl Home {
    fn new() -> Self {
        static COUNT: AtomicU32 = AtomicU32::new(0);
        let n = COUNT.fetch_add(1, Ordering::Relaxed);
        let nanos = SystemTime::now().duration_since(UNIX_EPOCH).unwrap().as_nanos();
        let folder = std::env::temp_dir().join(format!("postonce-layer-{}-{nanos}-{n}", std::process::id()));
        std::fs::create_dir(&folder).unwrap();
        Self(folder)
    }

    fn file(&self) -> String {
        self.0.join("shop.db").to_str().unwrap().to_owned()
    }

    async fn store(&self) -> Arc<SqliteStore> {
        let store = SqliteStore::open(&SqliteOptions::at(self.file())).await.unwrap();
        sqlx::raw_sql("CREATE TABLE IF NOT EXISTS effects (what TEXT)").execute(store.writer()).await.unwrap();
        Arc::new(store)
    }
}

impl Drop for Home {
    fn drop(&mut self) {
        drop(std::fs::remove_dir_all(&self.0));
    }
}

fn ann(parts: &Parts) -> Option<Authenticated> {
    let named = parts.headers.get("x-user").map_or("ann", |value| value.to_str().unwrap());
    Some(Authenticated { tenant: String::from("t"), subject: named.to_owned(), tag: named.to_owned() })
}

fn contract(store: &Arc<SqliteStore>) -> Contract<SqliteStore> {
    Contract::new(Arc::clone(store), ann, "test", Replicas::OneMachine).unwrap()
}

/// What the handler does, by the path's last part.
async fn handler(Path(what): Path<String>, effect: Effect<SqliteStore>, body: String) -> Response {
    let write = async {
        let mut tx = effect.transaction().await.unwrap();
        sqlx::query("INSERT INTO effects (what) VALUES ($1)").bind(&body).execute(&mut **tx).await.unwrap();
    };
    write.await;
    let with = |status: StatusCode, error: EffectError| {
        let mut response = status.into_response();
        response.extensions_mut().insert(error);
        response
    };
    match what.as_str() {
        "made" => {
            let headers = [(SET_COOKIE, "secret=1"), (LOCATION, "/made/1"), (CONTENT_TYPE, "text/x-made")];
            (StatusCode::CREATED, headers, format!("made {}", effect.record().0)).into_response()
        }
        "posts" => {
            effect.post("mail", b"thanks").await.unwrap();
            (StatusCode::CREATED, "posted").into_response()
        }
        "posts-and-breaks" => {
            effect.post("mail", b"thanks").await.unwrap();
            (StatusCode::BAD_GATEWAY, "broken").into_response()
        }
        "refused" => (StatusCode::CONFLICT, "sold out").into_response(),
        "broken" => (StatusCode::BAD_GATEWAY, "broken").into_response(),
        "moved" => (StatusCode::FOUND, [(LOCATION, "/login")]).into_response(),
        "panic" => std::panic::resume_unwind(Box::new("asked for")),
        "not-applied" => with(StatusCode::OK, EffectError::NotApplied(String::from("asked for"))),
        "unknown" => with(StatusCode::OK, EffectError::Unknown(String::from("asked for"))),
        "token" => {
            let mut response = StatusCode::OK.into_response();
            response.extensions_mut().insert(TokenRefused { field: String::from("captcha") });
            response
        }
        "keeps" => {
            // A task that outlives its handler and holds on to the transaction.
            let (kept, held) = (effect.clone(), Arc::new(Notify::new()));
            let holds = Arc::clone(&held);
            tokio::spawn(async move {
                let guard = kept.transaction().await;
                holds.notify_one();
                tokio::time::sleep(Duration::from_millis(300)).await;
                drop(guard);
            });
            held.notified().await;
            (StatusCode::CREATED, "kept").into_response()
        }
        other => panic!("{other}"),
    }
}

fn service(store: &Arc<SqliteStore>, rules: &Rules) -> Router {
    let contract = contract(store);
    Router::new()
        .route("/do/{what}", post(handler).get(|| async { "read" }).layer(contract.layer(rules)))
        .merge(contract.status_routes("/do/status", Arc::new(rules.clone())))
}

fn key(n: u32) -> String {
    format!("{n:032x}")
}

fn ask(method: &str, path: &str, n: u32, tag: &str, body: &str) -> Request {
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap().as_secs();
    Request::builder()
        .method(method)
        .uri(path)
        .header("idempotency-key", format!("\"{}\"", key(n)))
        .header("idempotency-first-sent", format!("@{now}"))
        .header("idempotency-subject", format!("\"{tag}\""))
        .header(CONTENT_TYPE, "application/x-www-form-urlencoded")
        .body(Body::from(body.to_owned()))
        .unwrap()
}

struct Told {
    status: u16,
    headers: HeaderMap,
    body: String,
}

impl Told {
    fn header(&self, name: &str) -> Option<&str> {
        self.headers.get(name).map(|value| value.to_str().unwrap())
    }

    fn problem(&self) -> Option<String> {
        let body: serde_json::Value = serde_json::from_str(&self.body).ok()?;
        Some(body["type"].as_str()?.strip_prefix("urn:postonce:problem:")?.to_owned())
    }
}

async fn send(app: &Router, request: Request) -> Told {
    let mut app = app.clone();
    poll_fn(|context| <Router as Service<Request>>::poll_ready(&mut app, context)).await.unwrap();
    let answered: Result<Response, Infallible> = app.call(request).await;
    let (parts, body) = answered.unwrap().into_parts();
    let body = String::from_utf8(to_bytes(body, BODY_MAX).await.unwrap().to_vec()).unwrap();
    Told { status: parts.status.as_u16(), headers: parts.headers, body }
}

async fn effects(store: &SqliteStore) -> i64 {
    sqlx::query_scalar("SELECT count(*) FROM effects").fetch_one(store.readers()).await.unwrap()
}

async fn post_to(app: &Router, what: &str, n: u32) -> Told {
    send(app, ask("POST", &format!("/do/{what}"), n, "ann", "sku=A1")).await
}

#[tokio::test]
async fn r113_given_a_wrapped_handler_then_it_runs_once_and_a_repeat_is_the_same_answer_without_its_cookies() {
    let home = Home::new();
    let store = home.store().await;
    let app = service(&store, &Rules::new("thing.make"));
    let (first, second) = (post_to(&app, "made", 1).await, post_to(&app, "made", 1).await);

    assert_eq!((first.status, first.header("idempotent-replayed")), (201, Some("false")));
    assert_eq!((second.status, second.header("idempotent-replayed")), (201, Some("true")));
    assert_eq!(first.body, second.body);
    for told in [&first, &second] {
        assert_eq!((told.header("location"), told.header("content-type")), (Some("/made/1"), Some("text/x-made")));
        assert!(told.header("set-cookie").is_none(), "R90");
    }
    assert_eq!(effects(&store).await, 1);
    // Path values and payload are in the fingerprint.
    let other = send(&app, ask("POST", "/do/refused", 1, "ann", "sku=A1")).await;
    assert_eq!((other.status, other.problem().as_deref()), (422, Some("key-reused")));
    assert_eq!(effects(&store).await, 1);
}

#[tokio::test]
async fn r111_given_an_answer_that_is_no_outcome_then_what_the_handler_wrote_is_undone_and_the_key_is_free() {
    let home = Home::new();
    let store = home.store().await;
    let app = service(&store, &Rules::new("thing.make"));
    for (n, (what, status, problem)) in (1..).zip([
        ("broken", 500, None),
        ("moved", 500, None),
        ("panic", 500, None),
        ("keeps", 500, None),
        ("not-applied", 503, Some("not-started")),
        ("token", 422, Some("token-refused")),
    ]) {
        let told = post_to(&app, what, n).await;
        assert_eq!((told.status, told.problem().as_deref()), (status, problem), "{what}");
        assert!(told.header("idempotent-replayed").is_none(), "{what}");
        let asked = send(&app, ask("GET", "/do/status", n, "ann", "")).await;
        assert!(asked.body.contains("\"not_found\""), "{what}: {}", asked.body);
        assert_eq!(effects(&store).await, 0, "{what}");
    }
}

#[tokio::test]
async fn r112_given_a_refusal_then_it_is_stored_without_what_the_handler_wrote_and_never_asked_again() {
    let home = Home::new();
    let store = home.store().await;
    let app = service(&store, &Rules::new("thing.make"));
    for marker in ["false", "true"] {
        let told = post_to(&app, "refused", 1).await;
        assert_eq!((told.status, told.body.as_str()), (409, "sold out"));
        assert_eq!(told.header("idempotent-replayed"), Some(marker));
    }
    assert_eq!(effects(&store).await, 0);
}

#[tokio::test]
async fn r111_given_an_effect_elsewhere_that_cannot_tell_then_uncertain_and_never_a_second_run() {
    let home = Home::new();
    let store = home.store().await;
    let policy = Policy { recovery: RecoveryClass::None, ..Policy::default() };
    let app = service(&store, &Rules::new("thing.make").policy(policy));
    for (n, what) in (1..).zip(["unknown", "broken", "panic", "keeps"]) {
        for _ in 0..2 {
            let told = post_to(&app, what, n).await;
            assert_eq!((told.status, told.problem().as_deref()), (409, Some("uncertain")), "{what}");
        }
    }
}

#[tokio::test]
async fn r107_given_a_caller_that_leaves_then_the_handler_still_ends_and_the_repeat_replays() {
    let home = Home::new();
    let store = home.store().await;
    let (entered, go_on) = (Arc::new(Notify::new()), Arc::new(Notify::new()));
    let (enters, waits) = (Arc::clone(&entered), Arc::clone(&go_on));
    let slow = move |_: Effect<SqliteStore>| {
        let (enters, waits) = (Arc::clone(&enters), Arc::clone(&waits));
        async move {
            enters.notify_one();
            waits.notified().await;
            "done"
        }
    };
    let rules = Rules::new("thing.make");
    let contract = contract(&store);
    let app = Router::new()
        .route("/slow", post(slow).layer(contract.layer(&rules)))
        .merge(contract.status_routes("/slow/status", Arc::new(rules)));
    let left = tokio::spawn({
        let app = app.clone();
        async move { send(&app, ask("POST", "/slow", 1, "ann", "")).await }
    });
    entered.notified().await;
    left.abort();
    assert!(left.await.is_err_and(|error| error.is_cancelled()));
    go_on.notify_one();
    // The owner writes its record in its own time.
    for _ in 0..200 {
        if send(&app, ask("GET", "/slow/status", 1, "ann", "")).await.body.contains("completed") {
            break;
        }
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    let repeat = send(&app, ask("POST", "/slow", 1, "ann", "")).await;
    assert_eq!((repeat.status, repeat.body.as_str()), (200, "done"));
    assert_eq!(repeat.header("idempotent-replayed"), Some("true"));
}

#[tokio::test]
async fn r102_given_a_read_then_it_passes_without_a_key_and_given_a_command_without_one_then_nothing_runs() {
    let home = Home::new();
    let store = home.store().await;
    let app = service(&store, &Rules::new("thing.make"));
    let read = Request::builder().uri("/do/made").body(Body::empty()).unwrap();
    assert_eq!(send(&app, read).await.body, "read");
    let bare = Request::builder().method("POST").uri("/do/made").body(Body::empty()).unwrap();
    let told = send(&app, bare).await;
    assert_eq!((told.status, told.problem().as_deref()), (400, Some("key-missing")));
    assert_eq!(effects(&store).await, 0);
}

#[tokio::test]
async fn r89_given_a_check_and_an_object_then_a_refusal_stores_nothing_and_the_object_is_held_once() {
    let home = Home::new();
    let store = home.store().await;
    let rules = Rules::new("thing.make")
        .single_use(|payload| payload.text("sku").map(str::to_owned))
        .admit(|who, _| if who.subject == "eve" { Err(Answer::problem(403, "urn:no", "no")) } else { Ok(()) });
    let app = service(&store, &rules);
    let mut eve = ask("POST", "/do/made", 1, "eve", "sku=A1");
    eve.headers_mut().insert("x-user", "eve".parse().unwrap());
    let told = send(&app, eve).await;
    assert_eq!((told.status, told.header("idempotent-replayed")), (403, None));
    assert_eq!(effects(&store).await, 0);
    assert_eq!(post_to(&app, "made", 2).await.status, 201);
    assert_eq!(post_to(&app, "made", 3).await.problem().as_deref(), Some("object-taken"));
    assert_eq!(effects(&store).await, 1);
}

#[tokio::test]
async fn r108_given_a_record_then_its_downstream_key_is_one_per_purpose_and_tells_nothing_of_the_key() {
    let home = Home::new();
    let store = home.store().await;
    let seen = Arc::new(std::sync::Mutex::new(Vec::new()));
    let sees = Arc::clone(&seen);
    let contract = contract(&store);
    let call = move |effect: Effect<SqliteStore>| {
        let keys = ["charge", "mail", "charge"].map(|purpose| effect.downstream_key(purpose));
        sees.lock().unwrap().push(keys);
        async { "ok" }
    };
    let app = Router::new().route("/pay", post(call).layer(contract.layer(&Rules::new("pay"))));
    for n in [1, 2, 1] {
        assert_eq!(send(&app, ask("POST", "/pay", n, "ann", "")).await.status, 200);
    }
    let seen = seen.lock().unwrap().clone();
    assert_eq!(seen.len(), 2, "the repeat ran nothing");
    assert_eq!(seen[0][0], seen[0][2]);
    assert!(seen[0][0] != seen[0][1] && seen[0][0] != seen[1][0]);
    assert!(seen.iter().flatten().all(|derived| derived.len() == 32 && *derived != key(1) && *derived != key(2)));
}

#[tokio::test]
async fn f50_given_a_store_that_reaches_too_few_then_it_is_refused_at_start_up_unless_that_is_declared() {
    let home = Home::new();
    let options = SqliteOptions { reach: Reach::Process, ..SqliteOptions::at(home.file()) };
    let store = Arc::new(SqliteStore::open(&options).await.unwrap());
    for replicas in [Replicas::OneMachine, Replicas::Many] {
        let refused = Contract::new(Arc::clone(&store), ann, "test", replicas).err();
        assert_eq!(refused, Some(StoreTooNear { reach: Reach::Process, replicas }));
    }
    assert!(Contract::new(store, ann, "test", Replicas::OneProcess).is_ok());
    let file = home.store().await;
    assert!(Contract::new(file, ann, "test", Replicas::Many).is_err());
}

#[tokio::test]
async fn r102_given_a_handler_outside_the_layer_then_it_says_so_and_never_runs_unprotected() {
    let app = Router::new().route("/bare", post(|_: Effect<SqliteStore>| async { "ran" }));
    assert_eq!(send(&app, ask("POST", "/bare", 1, "ann", "")).await.status, 500);
}

#[tokio::test]
async fn f48_given_the_example_then_two_guests_with_one_key_have_two_orders_and_neither_sees_the_other() {
    let home = Home::new();
    let app = shop::shop(&home.file()).await.unwrap();
    let mut told = Vec::new();
    for sku in ["A1", "B2"] {
        let visit = send(&app, Request::builder().uri("/visitor").body(Body::empty()).unwrap()).await;
        let cookie = visit.header("set-cookie").unwrap().split(';').next().unwrap().to_owned();
        let order = || {
            let mut order = ask("POST", "/orders", 9, &visit.body, &format!("sku={sku}&quantity=1"));
            order.headers_mut().insert(COOKIE, cookie.parse().unwrap());
            order
        };
        let (first, second) = (send(&app, order()).await, send(&app, order()).await);
        assert_eq!((first.status, second.header("idempotent-replayed")), (201, Some("true")), "{}", first.body);
        assert!(first.body.contains(sku) && first.body == second.body);
        let mut nobody = order();
        nobody.headers_mut().remove(COOKIE);
        assert_eq!(send(&app, nobody).await.status, 401);
        told.push(first.body);
    }
    assert_ne!(told[0], told[1]);
}

struct Mailbox(Arc<std::sync::Mutex<Vec<Letter>>>);

#[async_trait::async_trait]
impl Deliver for Mailbox {
    async fn deliver(&self, letter: &Letter) -> Delivery {
        self.0.lock().unwrap().push(letter.clone());
        Delivery::Delivered
    }
}

#[tokio::test]
async fn r108_given_a_handler_that_posts_then_its_letter_leaves_with_its_answer_and_never_without() {
    let home = Home::new();
    let store = home.store().await;
    let app = service(&store, &Rules::new("thing.make"));
    let told = Arc::default();
    let courier = contract(&store).courier(Mailbox(Arc::clone(&told)), postonce_core::time::Millis(5_000));
    assert_eq!(post_to(&app, "posts-and-breaks", 1).await.status, 500);
    assert_eq!(courier.pass().await.unwrap(), Round::default());
    for _ in 0..2 {
        assert_eq!(post_to(&app, "posts", 2).await.status, 201);
    }
    assert_eq!(courier.pass().await.unwrap(), Round { delivered: 1, ..Round::default() });
    let letters = told.lock().unwrap().clone();
    let [letter] = &letters[..] else { panic!("one letter: {letters:?}") };
    assert_eq!((letter.purpose.as_str(), letter.payload.as_slice()), ("mail", b"thanks".as_slice()));
    assert!(letter.key.len() == 32 && letter.key != key(2), "R108: derived, not the client's own");
}

#[tokio::test(flavor = "multi_thread")]
async fn r114_given_tasks_of_the_application_that_are_cut_off_as_they_begin_then_the_store_still_serves() {
    let home = Home::new();
    let store = home.store().await;
    for n in 0_u64..4_000 {
        let own = Arc::clone(&store);
        let task = tokio::spawn(async move {
            let mut tx = own.begin().await.unwrap();
            sqlx::query("INSERT INTO effects (what) VALUES ('cut')").execute(&mut *tx).await.unwrap();
        });
        tokio::time::sleep(Duration::from_micros(n % 400)).await;
        task.abort();
    }
    let app = service(&store, &Rules::new("thing.make"));
    assert_eq!(post_to(&app, "made", 1).await.status, 201);
    assert_eq!(effects(&store).await, 1, "and of what was cut off nothing stands");
}
