//! A small shop behind the contract, for tests and for the fault lab.
//!
//! | route | does |
//! | --- | --- |
//! | `POST /orders`, `GET`/`DELETE /orders/status` | `order.create` |
//! | `POST /drafts`, `GET`/`DELETE /drafts/status` | `order.draft`, the other button of the same form |
//! | `POST /carts/{cart}/attach` and its status | `cart.attach`: files and fields beside a cart |
//! | `GET /orders/{id}` | the page or object a result's `Location` names |
//! | `GET /metrics` | counters and gauges, in Prometheus' text format |
//! | `PUT /_demo/faults` | replaces the list of faults (see `faults`) |
//! | `GET /_demo/log` | every contract request, oldest first |
//! | `GET /_demo/records` | every record with the states it went through |
//! | `GET /_demo/effects` | `{count, by_key, orders}`: what really happened |
//! | `PUT /_demo/store` | `away` hides the records, `back` shows them again: an outage |
//! | `POST /_demo/reset` | forgets orders, records, log and faults |
//!
//! The `/_demo` routes, the faults and the log exist only with [`Controls::On`]. Who asks is told by the cookie
//! `demo_subject` (`demo-user` without one, `signed-out` for nobody), a guest by `demo_visitor`: no authentication at all, so never outside a demo.

#[cfg(feature = "broken")]
pub mod broken;
mod connection;
mod control;
mod exposition;
mod faults;
mod files;
mod inject;
mod log;
mod orders;
mod tables;

use std::net::{Ipv4Addr, SocketAddr};
use std::path::PathBuf;
use std::sync::Arc;

use axum::Router;
use axum::extract::Request;
use axum::http::header::COOKIE;
use axum::http::request::Parts;
use axum::middleware::{self, Next};
use postonce_core::contract::Policy;
use tokio::net::TcpListener;

pub use connection::Listening;
pub use exposition::Exposition;

use crate::cors::Cors;
use crate::layer::{Contract, Replicas};
use crate::operation::{Authenticate, Authenticated};
use crate::store::{AnyStore, PostgresOptions, PostgresStore, SqliteOptions, SqliteStore};
use crate::visitor::Visitors;
use faults::Faults;
use log::Log;
use orders::{Kind, Shop};

/// Path and operation of each command.
const ROUTES: [(&str, &str); 2] = [("/orders", "order.create"), ("/drafts", "order.draft")];
/// Path and operation of what is attached to a cart: the path's own value counts (F54).
const ATTACH: (&str, &str) = ("/carts/{cart}/attach", "cart.attach");
/// The cookie of a guest: whoever holds its secret is one visitor.
const VISITOR_COOKIE: &str = "demo_visitor";
/// What the cookie's absence means.
const SUBJECT_DEFAULT: &str = "demo-user";
/// The cookie value of somebody who is not signed in.
const SIGNED_OUT: &str = "signed-out";
/// The page that a login wall shows.
const LOGIN_PAGE: &str = "<!doctype html><html lang=\"en\"><title>Sign in</title><h1>Please sign in</h1></html>";

/// Whether faults can be planned and the log be read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Controls {
    /// They can; every request is logged with its key.
    On,
    /// They cannot.
    Off,
}

/// Where a demo keeps its records and orders.
#[derive(Clone, Debug)]
pub enum DemoDatabase {
    /// In one file.
    Sqlite(SqliteOptions),
    /// On one primary.
    Postgres(PostgresOptions),
}

/// How a demo is set up.
#[derive(Clone, Debug)]
pub struct DemoOptions {
    /// Port on the loopback interface; 0 for any free one.
    pub port: u16,
    /// Where the records and orders live.
    pub database: DemoDatabase,
    /// Which replicas there are beside this one.
    pub replicas: Replicas,
    /// Folder of static files, if any.
    pub www: Option<PathBuf>,
    /// Origins of other pages that may call.
    pub origins: Vec<String>,
    /// Fault plan and log.
    pub controls: Controls,
    /// Published numbers of both operations.
    pub policy: Policy,
    /// What `GET /metrics` shows, if anything.
    pub exposition: Option<Exposition>,
}

/// What the demo's own routes share.
#[derive(Debug)]
pub(crate) struct Demo {
    faults: Faults,
    log: Arc<Log>,
    store: Arc<AnyStore>,
}

/// A demo that serves until it is dropped.
#[derive(Debug)]
pub struct Running {
    listening: Listening,
    store: Arc<AnyStore>,
}

impl Running {
    /// Where it listens.
    #[must_use]
    pub const fn address(&self) -> SocketAddr {
        self.listening.address()
    }

    /// Its store.
    #[must_use]
    pub fn store(&self) -> &Arc<AnyStore> {
        &self.store
    }
}

/// Opens the database, listens, and serves in the background.
///
/// # Errors
/// [`StoreError`](crate::store::StoreError) when the database cannot be opened, [`StoreTooNear`](crate::StoreTooNear)
/// when it does not reach every replica, an [`std::io::Error`] when the port is taken.
pub async fn start(options: DemoOptions) -> Result<Running, Box<dyn std::error::Error + Send + Sync>> {
    let store = Arc::new(match &options.database {
        DemoDatabase::Sqlite(options) => AnyStore::Sqlite(SqliteStore::open(options).await?),
        DemoDatabase::Postgres(options) => AnyStore::Postgres(PostgresStore::open(options).await?),
    });
    tables::create(&store).await?;
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, options.port)).await?;
    let address = listener.local_addr()?;
    let owner = format!("demo-{}", std::process::id());
    let contract = Contract::new(Arc::clone(&store), subject_of, &owner, options.replicas)?;
    let router = router(&store, &contract, &options);
    Ok(Running { listening: connection::listen(listener, address, router), store })
}

fn router(store: &Arc<AnyStore>, contract: &Contract<AnyStore>, options: &DemoOptions) -> Router {
    let [(orders, create), (drafts, draft)] = ROUTES;
    let shop = |name, kind| Arc::new(Shop::new(name, kind, options.policy.clone()));
    let mut app = Router::new()
        .merge(contract.routes(orders, shop(create, Kind::Order)))
        .merge(contract.routes(drafts, shop(draft, Kind::Draft)))
        .merge(contract.routes(ATTACH.0, shop(ATTACH.1, Kind::Attachment)));
    let demo = Arc::new(Demo { faults: Faults::default(), log: Arc::default(), store: Arc::clone(store) });
    match options.controls {
        Controls::On => {
            app = app.layer(middleware::from_fn_with_state(Arc::clone(&demo), inject::handle));
            app = app.merge(control::routes(Arc::clone(&demo)));
        }
        Controls::Off => {}
    }
    app = app.merge(orders::pages(Arc::clone(store)));
    if let Some(exposition) = &options.exposition {
        let operations = ROUTES.iter().map(|(_, operation)| String::from(*operation)).collect();
        app = app.merge(exposition.clone().routes(Arc::clone(store), operations));
    }
    if let Some(www) = &options.www {
        app = app.merge(files::routes(www.clone()));
    }
    #[cfg(feature = "broken")]
    {
        // As a fallback, so that a rewritten request is routed anew.
        let tampering = middleware::from_fn_with_state(demo, broken::handle);
        app = Router::new().fallback_service(app).layer(tampering);
    }
    let cors = Cors::allowing(options.origins.iter().map(String::as_str));
    app.layer(middleware::from_fn(move |request: Request, next: Next| cors.clone().handle(request, next)))
}

/// Takes the cookie's word for who is asking.
fn subject_of(parts: &Parts) -> Option<Authenticated> {
    let cookies = parts.headers.get_all(COOKIE).iter().filter_map(|value| value.to_str().ok());
    let named = cookies.flat_map(|line| line.split(';')).find_map(|cookie| cookie.trim().strip_prefix("demo_subject="));
    let visitors = Visitors { tenant: String::from("demo"), cookie: String::from(VISITOR_COOKIE) };
    if let (None, Some(guest)) = (named, visitors.authenticate(parts)) {
        return Some(guest);
    }
    let named = named.unwrap_or(SUBJECT_DEFAULT);
    (named != SIGNED_OUT && !named.is_empty()).then(|| Authenticated {
        tenant: String::from("demo"),
        subject: named.to_owned(),
        tag: named.to_owned(),
    })
}
