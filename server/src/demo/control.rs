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
use sqlx::Row;
use sqlx::sqlite::SqliteRow;

use super::{Demo, faults, tables};

type Rows<T> = Result<T, sqlx::Error>;

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

async fn read_records(demo: &Demo) -> Rows<Value> {
    let steps =
        sqlx::query("SELECT subject, key, step FROM demo_history ORDER BY n").fetch_all(demo.store.readers()).await?;
    let mut histories: BTreeMap<(String, String), Vec<String>> = BTreeMap::new();
    for row in &steps {
        histories.entry((row.try_get("subject")?, row.try_get("key")?)).or_default().push(row.try_get("step")?);
    }
    let rows = sqlx::query("SELECT * FROM postonce_records ORDER BY id").fetch_all(demo.store.readers()).await?;
    let mut records = Vec::with_capacity(rows.len());
    for row in &rows {
        let (subject, key): (String, String) = (row.try_get("subject")?, row.try_get("key")?);
        let history = histories.remove(&(subject.clone(), key.clone())).unwrap_or_default();
        records.push(record(row, &subject, &key, &history)?);
    }
    // A record that was released is gone, but what it went through is still worth a look.
    for ((subject, key), history) in histories {
        records.push(json!({
            "key": key, "key_ref": reference(&key), "subject": subject, "state": "released", "history": history,
        }));
    }
    Ok(Value::from(records))
}

fn record(row: &SqliteRow, subject: &str, key: &str, history: &[String]) -> Rows<Value> {
    Ok(json!({
        "id": row.try_get::<i64, _>("id")?,
        "key": key,
        "key_ref": reference(key),
        "subject": subject,
        "operation": row.try_get::<String, _>("operation")?,
        "state": row.try_get::<String, _>("state")?,
        "history": history,
        "fingerprint": row.try_get::<Option<String>, _>("fingerprint")?,
        "token": row.try_get::<i64, _>("token")?,
        "started_at": row.try_get::<Option<i64>, _>("started_ms")?,
        "lease_until": row.try_get::<Option<i64>, _>("lease_until_ms")?,
        "first_seen": row.try_get::<i64, _>("first_seen_ms")?,
        "changed_at": row.try_get::<i64, _>("changed_ms")?,
        "status": row.try_get::<Option<i64>, _>("status")?,
        "result_id": row.try_get::<Option<String>, _>("result_id")?,
    }))
}

async fn read_effects(demo: &Demo) -> Rows<Value> {
    let rows = sqlx::query("SELECT * FROM demo_orders ORDER BY id").fetch_all(demo.store.readers()).await?;
    let mut by_key: BTreeMap<String, u64> = BTreeMap::new();
    let mut orders = Vec::with_capacity(rows.len());
    for row in &rows {
        let key: String = row.try_get("key")?;
        let operation: String = row.try_get("operation")?;
        let prefix = if operation == "order.draft" { "drf" } else { "ord" };
        orders.push(json!({
            "id": format!("{prefix}_{}", row.try_get::<i64, _>("id")?),
            "operation": operation,
            "key": key,
            "key_ref": reference(&key),
            "subject": row.try_get::<String, _>("subject")?,
            "sku": row.try_get::<String, _>("sku")?,
            "quantity": row.try_get::<i64, _>("quantity")?,
            "note": row.try_get::<Option<String>, _>("note")?,
            "total": row.try_get::<i64, _>("total")?,
            "at": row.try_get::<i64, _>("placed_ms")?,
        }));
        *by_key.entry(key).or_default() += 1;
    }
    Ok(json!({ "count": orders.len(), "by_key": by_key, "orders": orders }))
}

fn reference(key: &str) -> Option<String> {
    Key::parse(key).ok().map(|key| key.reference())
}

fn answer_rows(rows: Rows<Value>) -> Response {
    match rows {
        Ok(value) => answer(&value),
        Err(error) => (StatusCode::SERVICE_UNAVAILABLE, error.to_string()).into_response(),
    }
}

fn answer(value: &Value) -> Response {
    ([(CONTENT_TYPE, "application/json"), (CACHE_CONTROL, "no-store")], value.to_string()).into_response()
}
