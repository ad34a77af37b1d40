//! One handler twice, bare and behind the layer, for `npm run load`.
//!
//! | route | does |
//! | --- | --- |
//! | `POST /bare` | writes one order in a transaction of its own |
//! | `POST /once` | the same handler behind the layer |
//! | `POST /fill/{n}` | brings the number of stored records up to `n` |
//! | `GET /count` | how many orders there are |

use std::sync::Arc;

use axum::extract::{Path, State};
use axum::http::StatusCode;
use axum::http::request::Parts;
use axum::response::{IntoResponse, Response};
use axum::routing::{get, post};
use axum::{Json, Router};
use postonce_server::store::{AnyStore, AnyTx};
use postonce_server::{
    Authenticated, Contract, Effect, PostgresOptions, PostgresStore, Replicas, Rules, SqliteOptions, SqliteStore, Store,
};
use serde_json::json;

type Failure = Box<dyn std::error::Error + Send + Sync>;

const FILL_SQLITE: &str = "WITH RECURSIVE fresh(n) AS (SELECT (SELECT count(*) FROM postonce_records) UNION ALL \
    SELECT n + 1 FROM fresh WHERE n + 1 < $1) INSERT INTO postonce_records (tenant, subject, key, operation, fingerprint, \
    state, token, first_seen_ms, changed_ms, status, content_type, body) SELECT 'load', 'filler', \
    printf('%032x', n + abs(random() % 1000000000) * 4294967296), 'load', printf('1:%064x', n), 'completed', 0, \
    unixepoch() * 1000, unixepoch() * 1000, 201, 'application/json', x'7b7d' FROM fresh WHERE n < $1";
const FILL_POSTGRES: &str = "INSERT INTO postonce_records (tenant, subject, key, operation, fingerprint, state, token, \
    first_seen_ms, changed_ms, status, content_type, body) SELECT 'load', 'filler', md5(n::text || random()::text), \
    'load', '1:' || md5(n::text) || md5(n::text), 'completed', 0, clock.ms, clock.ms, 201, 'application/json', '{}' \
    FROM generate_series((SELECT count(*) FROM postonce_records) + 1, $1) AS n, \
    (SELECT (extract(epoch FROM now()) * 1000)::bigint AS ms) AS clock";

/// The effect: one row.
async fn insert(tx: &mut AnyTx) -> Result<i64, sqlx::Error> {
    const INSERT: &str = "INSERT INTO orders (sku) VALUES ('A1') RETURNING id";
    match tx {
        AnyTx::Sqlite(tx) => sqlx::query_scalar(INSERT).fetch_one(&mut **tx).await,
        AnyTx::Postgres(tx) => sqlx::query_scalar(INSERT).fetch_one(&mut **tx).await,
    }
}

fn created(id: i64) -> Response {
    (StatusCode::CREATED, Json(json!({ "id": id }))).into_response()
}

async fn bare(State(store): State<Arc<AnyStore>>, _body: String) -> Response {
    let placed = async {
        let mut tx = store.begin().await.ok()?;
        let id = insert(&mut tx).await.ok()?;
        match tx {
            AnyTx::Sqlite(tx) => tx.commit().await.ok()?,
            AnyTx::Postgres(tx) => tx.commit().await.ok()?,
        }
        Some(id)
    };
    placed.await.map_or_else(|| StatusCode::SERVICE_UNAVAILABLE.into_response(), created)
}

async fn once(effect: Effect<AnyStore>, _body: String) -> Response {
    let placed = async { insert(&mut *effect.transaction().await?).await.ok() };
    placed.await.map_or_else(|| StatusCode::SERVICE_UNAVAILABLE.into_response(), created)
}

async fn fill(State(store): State<Arc<AnyStore>>, Path(records): Path<i64>) -> Response {
    let done = match &*store {
        AnyStore::Sqlite(store) => sqlx::query(FILL_SQLITE).bind(records).execute(store.writer()).await.map(drop),
        AnyStore::Postgres(store) => {
            let filled = sqlx::query(FILL_POSTGRES).bind(records).execute(store.statements()).await;
            match filled {
                // What autovacuum would do sooner or later.
                Ok(_) => sqlx::raw_sql("VACUUM ANALYZE postonce_records").execute(store.statements()).await.map(drop),
                Err(error) => Err(error),
            }
        }
    };
    match done {
        Ok(()) => StatusCode::NO_CONTENT.into_response(),
        Err(error) => (StatusCode::INTERNAL_SERVER_ERROR, error.to_string()).into_response(),
    }
}

async fn count(State(store): State<Arc<AnyStore>>) -> Response {
    const COUNT: &str = "SELECT count(*) FROM orders";
    let orders: Result<i64, sqlx::Error> = match &*store {
        AnyStore::Sqlite(store) => sqlx::query_scalar(COUNT).fetch_one(store.readers()).await,
        AnyStore::Postgres(store) => sqlx::query_scalar(COUNT).fetch_one(store.statements()).await,
    };
    orders.map_or_else(|_| StatusCode::SERVICE_UNAVAILABLE.into_response(), |count| Json(count).into_response())
}

async fn app(database: &str) -> Result<Router, Failure> {
    let store = Arc::new(if database.starts_with("postgres") {
        let store = PostgresStore::open(&PostgresOptions::at(database)).await?;
        let orders = "CREATE TABLE IF NOT EXISTS orders (id BIGINT GENERATED ALWAYS AS IDENTITY PRIMARY KEY, sku TEXT)";
        sqlx::raw_sql(orders).execute(store.statements()).await?;
        AnyStore::Postgres(store)
    } else {
        let store = SqliteStore::open(&SqliteOptions::at(database)).await?;
        let orders = "CREATE TABLE IF NOT EXISTS orders (id INTEGER PRIMARY KEY, sku TEXT)";
        sqlx::raw_sql(orders).execute(store.writer()).await?;
        AnyStore::Sqlite(store)
    });
    let anybody = |_: &Parts| {
        let word = String::from("load");
        Some(Authenticated { tenant: word.clone(), subject: word.clone(), tag: word })
    };
    let contract = Contract::new(Arc::clone(&store), anybody, "load", Replicas::OneMachine)?;
    Ok(Router::new()
        .route("/bare", post(bare))
        .route("/once", post(once).layer(contract.layer(&Rules::new("load").result_id("/id"))))
        .route("/fill/{records}", post(fill))
        .route("/count", get(count))
        .with_state(store))
}

#[tokio::main]
async fn main() -> Result<(), Failure> {
    let database = std::env::args().nth(1).ok_or("which database: a file, or postgres://…?")?;
    let app = app(&database).await?;
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await?;
    #[allow(clippy::print_stdout, reason = "whoever started it waits for this line")]
    {
        println!("listening on http://{}", listener.local_addr()?);
    }
    axum::serve(listener, app).await?;
    Ok(())
}
