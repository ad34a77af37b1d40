//! The `/_demo` routes.

use std::collections::BTreeMap;
use std::sync::Arc;

use axum::Router;
use axum::extract::State;
use axum::http::StatusCode;
use axum::http::header::{CACHE_CONTROL, CONTENT_TYPE};
use axum::response::{IntoResponse, Response};
use axum::routing::{get, post, put};
use bytes::Bytes;
use postonce_core::key::Key;
use serde_json::{Value, json};

use super::{Demo, faults, tables};
use crate::store::StoreError;

pub(super) fn routes(demo: Arc<Demo>) -> Router {
    Router::new()
        .route("/_demo/faults", put(set_faults))
        .route("/_demo/log", get(log))
        .route("/_demo/records", get(records))
        .route("/_demo/effects", get(effects))
        .route("/_demo/reset", post(reset))
        .route("/_demo/store", put(set_store))
        .with_state(demo)
}

async fn set_faults(State(demo): State<Arc<Demo>>, body: Bytes) -> Response {
    match faults::parse(&body) {
        Ok(entries) => {
            demo.faults.set(entries);
            StatusCode::NO_CONTENT.into_response()
        }
        Err(why) => (StatusCode::BAD_REQUEST, why).into_response(),
    }
}

async fn log(State(demo): State<Arc<Demo>>) -> Response {
    match serde_json::to_value(demo.log.entries()) {
        Ok(entries) => answer(&entries),
        Err(_) => StatusCode::INTERNAL_SERVER_ERROR.into_response(),
    }
}

async fn records(State(demo): State<Arc<Demo>>) -> Response {
    answer_rows(read_records(&demo).await)
}

async fn effects(State(demo): State<Arc<Demo>>) -> Response {
    answer_rows(read_effects(&demo).await)
}

async fn reset(State(demo): State<Arc<Demo>>) -> Response {
    demo.faults.set(Vec::new());
    let done = tables::reset(&demo.store).await;
    demo.log.clear();
    match done {
        Ok(()) => StatusCode::NO_CONTENT.into_response(),
        Err(error) => (StatusCode::SERVICE_UNAVAILABLE, error.to_string()).into_response(),
    }
}

async fn set_store(State(demo): State<Arc<Demo>>, body: String) -> Response {
    let done = match body.as_str() {
        "away" => tables::store_away(&demo.store).await,
        "back" => tables::store_back(&demo.store).await,
        _ => return (StatusCode::BAD_REQUEST, "away or back").into_response(),
    };
    match done {
        Ok(()) => StatusCode::NO_CONTENT.into_response(),
        Err(error) => (StatusCode::CONFLICT, error.to_string()).into_response(),
    }
}

async fn read_records(demo: &Demo) -> Result<Value, StoreError> {
    let mut histories: BTreeMap<(String, String), Vec<Value>> = BTreeMap::new();
    for step in tables::read(&demo.store, &tables::HISTORY, None).await? {
        histories.entry((text(&step, "subject"), text(&step, "key"))).or_default().push(step["step"].clone());
    }
    let mut records = tables::read(&demo.store, &tables::RECORDS, None).await?;
    for record in &mut records {
        let (subject, key) = (text(record, "subject"), text(record, "key"));
        record["key_ref"] = json!(reference(&key));
        record["history"] = Value::from(histories.remove(&(subject, key)).unwrap_or_default());
    }
    // A record that was released is gone, but what it went through is still worth a look.
    for ((subject, key), history) in histories {
        records.push(json!({
            "key": key, "key_ref": reference(&key), "subject": subject, "state": "released", "history": history,
        }));
    }
    Ok(Value::from(records))
}

async fn read_effects(demo: &Demo) -> Result<Value, StoreError> {
    let mut by_key: BTreeMap<String, u64> = BTreeMap::new();
    let mut orders = tables::read(&demo.store, &tables::ORDERS, Some(None)).await?;
    for order in &mut orders {
        let (key, operation) = (text(order, "key"), text(order, "operation"));
        let prefix = if operation == "order.draft" { "drf" } else { "ord" };
        order["id"] = Value::from(format!("{prefix}_{}", order["id"]));
        order["key_ref"] = json!(reference(&key));
        *by_key.entry(key).or_default() += 1;
    }
    Ok(json!({ "count": orders.len(), "by_key": by_key, "orders": orders }))
}

fn text(row: &Value, name: &str) -> String {
    row[name].as_str().unwrap_or_default().to_owned()
}

fn reference(key: &str) -> Option<String> {
    Key::parse(key).ok().map(|key| key.reference())
}

fn answer_rows(rows: Result<Value, StoreError>) -> Response {
    match rows {
        Ok(value) => answer(&value),
        Err(error) => (StatusCode::SERVICE_UNAVAILABLE, error.to_string()).into_response(),
    }
}

fn answer(value: &Value) -> Response {
    ([(CONTENT_TYPE, "application/json"), (CACHE_CONTROL, "no-store")], value.to_string()).into_response()
}
