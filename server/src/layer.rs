//! Puts operations behind the contract: one route for the command, one for status and fence.

use std::sync::Arc;

use axum::Router;
use axum::extract::Request;
use axum::routing;

use crate::command::command;
use crate::operation::{Authenticate, Operation};
use crate::status::{fence, status};
use crate::store::Store;

/// One operation with everything its routes need.
pub(crate) struct Endpoint<S: Store> {
    pub(crate) store: Arc<S>,
    pub(crate) authenticate: Arc<dyn Authenticate>,
    pub(crate) operation: Arc<dyn Operation<S>>,
    pub(crate) owner: Arc<str>,
}

/// The contract over one store and one way to tell who is asking.
///
/// ```no_run
/// # use std::sync::Arc;
/// # use axum::http::request::Parts;
/// # use postonce_server::{Authenticated, Contract, Operation, SqliteOptions, SqliteStore};
/// # async fn serve(order_create: Arc<dyn Operation<SqliteStore>>) -> Result<(), Box<dyn std::error::Error>> {
/// let store = Arc::new(SqliteStore::open(&SqliteOptions::at("orders.db")).await?);
/// let who = |parts: &Parts| parts.extensions.get::<Authenticated>().cloned();
/// let app: axum::Router = Contract::new(store, who, "worker-1").routes("/orders", order_create);
/// # Ok(()) }
/// ```
pub struct Contract<S: Store> {
    store: Arc<S>,
    authenticate: Arc<dyn Authenticate>,
    owner: Arc<str>,
}

impl<S: Store> Contract<S> {
    /// `owner` names this process in the claims it makes.
    pub fn new(store: Arc<S>, authenticate: impl Authenticate, owner: &str) -> Self {
        Self { store, authenticate: Arc::new(authenticate), owner: Arc::from(owner) }
    }

    /// `POST path` for the command, `GET path/status` and `DELETE path/status` beside it.
    pub fn routes(&self, path: &str, operation: Arc<dyn Operation<S>>) -> Router {
        let endpoint = Arc::new(Endpoint {
            store: Arc::clone(&self.store),
            authenticate: Arc::clone(&self.authenticate),
            operation,
            owner: Arc::clone(&self.owner),
        });
        let (for_command, for_status, for_fence) = (Arc::clone(&endpoint), Arc::clone(&endpoint), endpoint);
        Router::new()
            .route(path, routing::post(move |request: Request| command(Arc::clone(&for_command), request)))
            .route(
                &format!("{path}/status"),
                routing::get(move |request: Request| status(Arc::clone(&for_status), request))
                    .delete(move |request: Request| fence(Arc::clone(&for_fence), request)),
            )
    }
}
