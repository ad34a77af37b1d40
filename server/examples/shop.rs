//! An axum service behind the contract: an ordinary handler, its transaction, guests by cookie, status and fence.
//!
//! `cargo run -p postonce-server --example shop -- shop.db` serves on a port of its choice and prints it.

use std::io::Read;
use std::sync::Arc;

use axum::http::StatusCode;
use axum::http::header::{HeaderMap, LOCATION, SET_COOKIE};
use axum::response::{IntoResponse, Response};
use axum::routing::{get, post};
use axum::{Form, Json, Router};
use postonce_server::{
    Contract, Effect, EffectError, Replicas, Rules, SqliteOptions, SqliteStore, VISITOR_SECRET_BYTES, Visitor, Visitors,
};

type Failure = Box<dyn std::error::Error + Send + Sync>;

#[derive(serde::Deserialize)]
struct Order {
    sku: String,
    quantity: u32,
}

/// An ordinary handler, except that it writes through the transaction it is given: the order and the record of this
/// answer commit together, or neither does.
async fn place_order(effect: Effect<SqliteStore>, Form(order): Form<Order>) -> Response {
    if order.quantity == 0 {
        return (StatusCode::UNPROCESSABLE_ENTITY, "nothing was ordered").into_response();
    }
    match insert(&effect, &order).await {
        Some(id) => {
            let body = Json(serde_json::json!({ "id": id, "sku": order.sku, "quantity": order.quantity }));
            (StatusCode::CREATED, [(LOCATION, format!("/orders/{id}"))], body).into_response()
        }
        // Nothing was written: the key is free again, and the client may send it once more.
        None => {
            let mut response = StatusCode::SERVICE_UNAVAILABLE.into_response();
            response.extensions_mut().insert(EffectError::NotApplied(String::from("the order table is away")));
            response
        }
    }
}

/// Writes the order; `None` when the database would not.
async fn insert(effect: &Effect<SqliteStore>, order: &Order) -> Option<i64> {
    let mut tx = effect.transaction().await?;
    let insert = sqlx::query_scalar("INSERT INTO orders (sku, quantity) VALUES ($1, $2) RETURNING id");
    insert.bind(order.sku.clone()).bind(order.quantity).fetch_one(&mut **tx).await.ok()
}

fn visitors() -> Visitors {
    Visitors { tenant: String::from("shop"), cookie: String::from("__Host-visitor") }
}

/// Makes the browser a guest if it is none yet, and tells the page its tag.
async fn visitor(headers: HeaderMap) -> Result<Response, StatusCode> {
    let visitors = visitors();
    if let Some(known) = visitors.find(&headers) {
        return Ok(known.authenticated(&visitors.tenant).tag.into_response());
    }
    let mut random = [0; VISITOR_SECRET_BYTES];
    std::fs::File::open("/dev/urandom")
        .and_then(|mut source| source.read_exact(&mut random))
        .map_err(|_| StatusCode::INTERNAL_SERVER_ERROR)?;
    let new = Visitor::new(random);
    Ok(([(SET_COOKIE, visitors.set_cookie(&new))], new.authenticated(&visitors.tenant).tag).into_response())
}

/// The whole service over one database file.
pub(crate) async fn shop(file: &str) -> Result<Router, Failure> {
    let store = Arc::new(SqliteStore::open(&SqliteOptions::at(file)).await?);
    sqlx::raw_sql("CREATE TABLE IF NOT EXISTS orders (id INTEGER PRIMARY KEY, sku TEXT, quantity INTEGER)")
        .execute(store.writer())
        .await?;
    let contract = Contract::new(store, visitors(), "shop-1", Replicas::OneMachine)?;
    let rules = Rules::new("order.create").result_id("/id").volatile(&["csrf"]);
    Ok(Router::new()
        .route("/orders", post(place_order).layer(contract.layer(&rules)))
        .merge(contract.status_routes("/orders/status", Arc::new(rules)))
        .route("/visitor", get(visitor)))
}

#[tokio::main]
async fn main() -> Result<(), Failure> {
    let file = std::env::args().nth(1).ok_or("which database file?")?;
    let app = shop(&file).await?;
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await?;
    #[allow(clippy::print_stdout, reason = "whoever started the example waits for this line")]
    {
        println!("listening on http://{}", listener.local_addr()?);
    }
    axum::serve(listener, app).await?;
    Ok(())
}
