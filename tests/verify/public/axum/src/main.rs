//! `axum-idempotent` in its key-header mode as its README mounts it, over its in-memory session store. `GET /session`
//! gives the caller a session, without which the middleware passes requests on unprotected.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use axum::extract::State;
use axum::http::StatusCode;
use axum::routing::{get, post};
use axum::{Json, Router};
use axum_idempotent::{IdempotentLayer, IdempotentOptions};
use ruts::store::Ttl;
use ruts::store::moka::MokaStore;
use ruts::{CookieOptions, Session, SessionLayer};
use serde_json::{Value, json};
use tower_cookies::CookieManagerLayer;

/// As long as a row in a near database takes.
const ROW: Duration = Duration::from_millis(20);
const SLOW: Duration = Duration::from_millis(600);
const DAY_SECONDS: i64 = 86_400;

type Count = Arc<AtomicU64>;
type Answer = (StatusCode, Json<Value>);

async fn place(kind: &str, count: &AtomicU64, payload: &Value) -> Answer {
    let refused = |code, why: &str| (code, Json(json!({ "error": why })));
    let (sku, quantity) = (payload["sku"].as_str().unwrap_or_default(), &payload["quantity"]);
    if sku.is_empty() || quantity.is_null() {
        return refused(StatusCode::UNPROCESSABLE_ENTITY, "sku and quantity are needed");
    }
    if sku == "DECLINED" {
        return refused(StatusCode::PAYMENT_REQUIRED, "declined");
    }
    tokio::time::sleep(if sku == "SLOW" { SLOW } else { ROW }).await;
    let number = count.fetch_add(1, Ordering::SeqCst) + 1;
    if sku == "BROKEN" {
        return refused(StatusCode::INTERNAL_SERVER_ERROR, "broken after the effect");
    }
    (StatusCode::CREATED, Json(json!({ "id": format!("{kind}_{number}"), "sku": sku, "quantity": quantity })))
}

async fn orders(State(count): State<Count>, Json(payload): Json<Value>) -> Answer {
    place("ord", &count, &payload).await
}

async fn drafts(State(count): State<Count>, Json(payload): Json<Value>) -> Answer {
    place("drf", &count, &payload).await
}

async fn effects(State(count): State<Count>) -> Json<Value> {
    Json(json!({ "count": count.load(Ordering::SeqCst) }))
}

async fn sign_in(session: Session<MokaStore>) -> StatusCode {
    let Ok(day) = Ttl::new(DAY_SECONDS) else { return StatusCode::INTERNAL_SERVER_ERROR };
    match session.set("signed_in", &true, day, None).await {
        Ok(_) => StatusCode::NO_CONTENT,
        Err(_) => StatusCode::INTERNAL_SERVER_ERROR,
    }
}

#[tokio::main]
async fn main() -> std::io::Result<()> {
    let options = IdempotentOptions::default()
        .use_idempotency_key_header(Some("Idempotency-Key"), true)
        .expire_after(DAY_SECONDS);
    let cookie = CookieOptions::build().name("session").max_age(86_400).path("/");
    let app = Router::new()
        .route("/orders", post(orders))
        .route("/drafts", post(drafts))
        .layer(IdempotentLayer::<MokaStore>::new(options))
        // Outside: it answers GET from its store too, and the counter would stand still.
        .route("/count", get(effects))
        .route("/session", get(sign_in))
        .layer(SessionLayer::new(Arc::new(MokaStore::builder().build())).with_cookie_options(cookie))
        .layer(CookieManagerLayer::new())
        .with_state(Count::default());
    let listener = tokio::net::TcpListener::bind(("127.0.0.1", 0)).await?;
    println!("listening on http://{}", listener.local_addr()?);
    axum::serve(listener, app).await
}
