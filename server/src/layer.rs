//! Puts operations behind the contract: one route for the command, one for status and fence.

use std::sync::Arc;

use axum::Router;
use axum::extract::Request;
use axum::routing;
use postonce_core::contract::RetentionRule;
use postonce_core::time::Wall;

use crate::command::command;
use crate::operation::{Authenticate, Operation};
use crate::status::{fence, status};
use crate::store::{Reach, Store, StoreError};

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
/// # use postonce_server::{Authenticated, Contract, Operation, Replicas, SqliteOptions, SqliteStore};
/// # async fn serve(order_create: Arc<dyn Operation<SqliteStore>>) -> Result<(), Box<dyn std::error::Error>> {
/// let store = Arc::new(SqliteStore::open(&SqliteOptions::at("orders.db")).await?);
/// let who = |parts: &Parts| parts.extensions.get::<Authenticated>().cloned();
/// let contract = Contract::new(store, who, "worker-1", Replicas::OneMachine)?;
/// let app: axum::Router = contract.routes("/orders", order_create);
/// # Ok(()) }
/// ```
pub struct Contract<S: Store> {
    store: Arc<S>,
    authenticate: Arc<dyn Authenticate>,
    owner: Arc<str>,
}

/// Which other processes serve the same operations. A store that does not reach all of them would let the same key run
/// once on each (R103).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Replicas {
    /// None: this process serves alone.
    OneProcess,
    /// Only processes of this machine that open the same database.
    OneMachine,
    /// Any number, anywhere.
    Many,
}

/// The store does not reach every replica, so that a repeat on another one would run again.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct StoreTooNear {
    /// How far the store reaches.
    pub reach: Reach,
    /// How far the replicas are spread.
    pub replicas: Replicas,
}

impl std::fmt::Display for StoreTooNear {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let reach = match self.reach {
            Reach::Process => "this process only",
            Reach::Machine => "the processes of this machine only",
            Reach::Fleet => "every replica",
        };
        let replicas = match self.replicas {
            Replicas::OneProcess => "a single process",
            Replicas::OneMachine => "one machine",
            Replicas::Many => "any number of replicas",
        };
        write!(
            formatter,
            "the store reaches {reach}, but {replicas} would serve from it: share a store, or declare less"
        )
    }
}

impl std::error::Error for StoreTooNear {}

impl Replicas {
    const fn needs(self) -> Reach {
        match self {
            Self::OneProcess => Reach::Process,
            Self::OneMachine => Reach::Machine,
            Self::Many => Reach::Fleet,
        }
    }
}

impl<S: Store> Contract<S> {
    /// `owner` names this process in the claims it makes; `replicas` declares who else serves.
    ///
    /// # Errors
    /// [`StoreTooNear`] when `store` does not reach every replica.
    pub fn new(
        store: Arc<S>,
        authenticate: impl Authenticate,
        owner: &str,
        replicas: Replicas,
    ) -> Result<Self, StoreTooNear> {
        let reach = store.reach();
        if reach < replicas.needs() {
            return Err(StoreTooNear { reach, replicas });
        }
        Ok(Self { store, authenticate: Arc::new(authenticate), owner: Arc::from(owner) })
    }

    /// `POST path` for the command, `GET path/status` and `DELETE path/status` beside it.
    pub fn routes(&self, path: &str, operation: Arc<dyn Operation<S>>) -> Router {
        let endpoint = Arc::new(self.endpoint(Arc::clone(&operation)));
        Router::new()
            .route(path, routing::post(move |request: Request| command(Arc::clone(&endpoint), request)))
            .merge(self.status_routes(&format!("{path}/status"), operation))
    }

    /// `GET path` for the status check and `DELETE path` for the fence of one operation.
    pub fn status_routes(&self, path: &str, operation: Arc<dyn Operation<S>>) -> Router {
        let for_status = Arc::new(self.endpoint(operation));
        let for_fence = Arc::clone(&for_status);
        Router::new().route(
            path,
            routing::get(move |request: Request| status(Arc::clone(&for_status), request))
                .delete(move |request: Request| fence(Arc::clone(&for_fence), request)),
        )
    }

    /// Removes settled records and tombstones of one operation whose time is over: retention plus twice the skew after
    /// their last change, and never a claim or an uncertain record (R116). Answers how many went; to be called now and
    /// then, by one replica or by all.
    ///
    /// # Errors
    /// [`StoreError`](crate::store::StoreError) when the store is away.
    pub async fn purge(&self, operation: &dyn Operation<S>) -> Result<u64, StoreError> {
        let policy = operation.policy();
        match policy.records {
            RetentionRule::Purged => {
                let age = policy.purge_from(Wall(0)).since(Wall(0));
                self.store.purge(operation.name(), age).await
            }
            RetentionRule::NeverPurged => Ok(0),
        }
    }

    /// The store and this process's name.
    pub(crate) fn parts(&self) -> (Arc<S>, Arc<str>) {
        (Arc::clone(&self.store), Arc::clone(&self.owner))
    }

    pub(crate) fn endpoint(&self, operation: Arc<dyn Operation<S>>) -> Endpoint<S> {
        Endpoint {
            store: Arc::clone(&self.store),
            authenticate: Arc::clone(&self.authenticate),
            operation,
            owner: Arc::clone(&self.owner),
        }
    }
}
