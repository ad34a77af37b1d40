//! The contract as a `tower` layer: what it wraps runs once per key, whatever it is.

use std::convert::Infallible;
use std::future::{Future, poll_fn};
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use async_trait::async_trait;
use axum::body::to_bytes;
use axum::extract::{FromRequestParts, Request};
use axum::http::header::{CONTENT_TYPE, LOCATION};
use axum::http::request::Parts;
use axum::http::{HeaderName, Method, StatusCode};
use axum::response::{IntoResponse, Response};
use postonce_core::contract::Policy;
use tokio::sync::{Mutex, OwnedMappedMutexGuard, OwnedMutexGuard};
use tower_layer::Layer;
use tower_service::Service;

use crate::command::command;
use crate::layer::{Contract, Endpoint};
use crate::operation::{Answer, Authenticate, Authenticated, Command, EffectError, Operation, Outcome, TokenRefused};
use crate::payload::Payload;
use crate::rules::Rules;
use crate::store::{RecordId, Store, StoreError};

/// Largest answer of a handler in bytes. A larger one is a failure, and what the handler wrote is undone.
pub const ANSWER_BODY_MAX: usize = 8 * 1024 * 1024;

/// Puts one operation in front of a service; made by [`Contract::layer`].
///
/// Requests other than GET, HEAD, OPTIONS and TRACE need a key and reach the service at most once per key. A repeat is
/// answered from the record: status, body, `Content-Type` and `Location` of the service's answer, and no other header
/// (R90, R113). What the service answers decides: 2xx is done, 4xx is refused for good and undone, anything else is no
/// outcome (R42). An answer that carries an [`EffectError`] or a [`TokenRefused`] among its extensions says more exactly
/// what happened.
pub struct OnceLayer<S: Store> {
    store: Arc<S>,
    authenticate: Arc<dyn Authenticate>,
    owner: Arc<str>,
    rules: Rules,
}

/// A service behind the contract.
pub struct Once<S: Store, Inner> {
    endpoint: Arc<Endpoint<S>>,
    inner: Inner,
}

/// The handler's part in the effect: an extractor for what [`OnceLayer`] wraps.
pub struct Effect<S: Store> {
    record: RecordId,
    command: Arc<Command>,
    transaction: Arc<Mutex<Option<S::Tx>>>,
}

/// The transaction that commits together with the record of the answer. Dropping it gives it back; it ends with the
/// handler.
pub type EffectTx<S> = OwnedMappedMutexGuard<Option<<S as Store>::Tx>, <S as Store>::Tx>;

/// What the handler was not called through: the layer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NotBehindLayer;

struct Wrapped<Inner> {
    rules: Rules,
    inner: Inner,
}

impl<S: Store> Contract<S> {
    /// The contract in front of any service; see [`OnceLayer`].
    #[must_use]
    pub fn layer(&self, rules: &Rules) -> OnceLayer<S> {
        let Endpoint { store, authenticate, owner, .. } = self.endpoint(Arc::new(rules.clone()));
        OnceLayer { store, authenticate, owner, rules: rules.clone() }
    }
}

impl<S: Store> Clone for OnceLayer<S> {
    fn clone(&self) -> Self {
        Self {
            store: Arc::clone(&self.store),
            authenticate: Arc::clone(&self.authenticate),
            owner: Arc::clone(&self.owner),
            rules: self.rules.clone(),
        }
    }
}

impl<S: Store, Inner> Layer<Inner> for OnceLayer<S>
where
    Inner: Service<Request, Error = Infallible> + Clone + Send + Sync + 'static,
    Inner::Response: IntoResponse,
    Inner::Future: Send,
{
    type Service = Once<S, Inner>;

    fn layer(&self, inner: Inner) -> Self::Service {
        let operation = Arc::new(Wrapped { rules: self.rules.clone(), inner: inner.clone() });
        let endpoint = Endpoint {
            store: Arc::clone(&self.store),
            authenticate: Arc::clone(&self.authenticate),
            operation,
            owner: Arc::clone(&self.owner),
        };
        Once { endpoint: Arc::new(endpoint), inner }
    }
}

impl<S: Store, Inner: Clone> Clone for Once<S, Inner> {
    fn clone(&self) -> Self {
        Self { endpoint: Arc::clone(&self.endpoint), inner: self.inner.clone() }
    }
}

impl<S: Store, Inner> Service<Request> for Once<S, Inner>
where
    Inner: Service<Request, Error = Infallible> + Clone + Send + Sync + 'static,
    Inner::Response: IntoResponse,
    Inner::Future: Send,
{
    type Response = Response;
    type Error = Infallible;
    type Future = Pin<Box<dyn Future<Output = Result<Response, Infallible>> + Send>>;

    fn poll_ready(&mut self, _context: &mut Context<'_>) -> Poll<Result<(), Infallible>> {
        // The inner service is asked when its turn comes, in the task that the connection does not own.
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, request: Request) -> Self::Future {
        if [Method::GET, Method::HEAD, Method::OPTIONS, Method::TRACE].contains(request.method()) {
            return Box::pin(pass(self.inner.clone(), request));
        }
        let endpoint = Arc::clone(&self.endpoint);
        Box::pin(async move { Ok(command(endpoint, request).await) })
    }
}

async fn pass<Inner>(mut inner: Inner, request: Request) -> Result<Response, Infallible>
where
    Inner: Service<Request, Error = Infallible>,
    Inner::Response: IntoResponse,
{
    poll_fn(|context| inner.poll_ready(context)).await?;
    inner.call(request).await.map(IntoResponse::into_response)
}

#[async_trait]
impl<S: Store, Inner> Operation<S> for Wrapped<Inner>
where
    Inner: Service<Request, Error = Infallible> + Clone + Send + Sync + 'static,
    Inner::Response: IntoResponse,
    Inner::Future: Send,
{
    fn name(&self) -> &str {
        Operation::<S>::name(&self.rules)
    }

    fn policy(&self) -> &Policy {
        Operation::<S>::policy(&self.rules)
    }

    fn volatile(&self) -> &[String] {
        Operation::<S>::volatile(&self.rules)
    }

    fn result_id(&self) -> &str {
        Operation::<S>::result_id(&self.rules)
    }

    fn accepts_bare_keys(&self) -> bool {
        Operation::<S>::accepts_bare_keys(&self.rules)
    }

    fn object(&self, payload: &Payload) -> Option<String> {
        Operation::<S>::object(&self.rules, payload)
    }

    fn expected(&self, payload: &Payload) -> Option<serde_json::Value> {
        Operation::<S>::expected(&self.rules, payload)
    }

    fn admit(&self, who: &Authenticated, payload: &Payload) -> Result<(), Answer> {
        Operation::<S>::admit(&self.rules, who, payload)
    }

    async fn execute(&self, tx: &mut S::Tx, record: RecordId, command: &Command) -> Result<Outcome, EffectError> {
        // Never reached: `perform` is what the owner of a reserve calls, and a handler needs the transaction itself.
        Operation::<S>::execute(&self.rules, tx, record, command).await
    }

    async fn perform(
        &self,
        tx: S::Tx,
        record: RecordId,
        command: &Arc<Command>,
    ) -> (Option<S::Tx>, Result<Outcome, EffectError>) {
        let transaction = Arc::new(Mutex::new(Some(tx)));
        let effect = Effect::<S> { record, command: Arc::clone(command), transaction: Arc::clone(&transaction) };
        let mut request = command.request();
        request.extensions_mut().insert(effect);
        request.extensions_mut().insert(command.who.clone());
        let Ok(response) = pass(self.inner.clone(), request).await;
        let outcome = outcome_of(response).await;
        // A handler that handed the transaction to a task of its own still holds it: what it writes must not commit.
        let tx = transaction.try_lock().ok().and_then(|mut slot| slot.take());
        (tx, outcome)
    }
}

async fn outcome_of(response: Response) -> Result<Outcome, EffectError> {
    let (parts, body) = response.into_parts();
    if let Some(refused) = parts.extensions.get::<TokenRefused>() {
        return Err(EffectError::TokenRefused(refused.clone()));
    }
    if let Some(error) = parts.extensions.get::<EffectError>() {
        return Err(error.clone());
    }
    let text = |name: HeaderName| parts.headers.get(name).and_then(|value| value.to_str().ok()).map(str::to_owned);
    let Ok(body) = to_bytes(body, ANSWER_BODY_MAX).await else { return Ok(Outcome::Applied(failure())) };
    let answer = Answer {
        status: parts.status.as_u16(),
        content_type: text(CONTENT_TYPE).unwrap_or_else(|| String::from("application/octet-stream")),
        location: text(LOCATION),
        body,
    };
    Ok(if parts.status.is_client_error() { Outcome::Refused(answer) } else { Outcome::Applied(answer) })
}

/// A 5xx is no outcome, whatever it says: the recovery class decides (R42, R111).
fn failure() -> Answer {
    Answer::problem(500, "about:blank", "The answer could not be read")
}

impl<S: Store> Effect<S> {
    /// The record that this effect belongs to.
    #[must_use]
    pub const fn record(&self) -> RecordId {
        self.record
    }

    /// The command as the contract read it.
    #[must_use]
    pub fn command(&self) -> &Command {
        &self.command
    }

    /// The key for a downstream service; see [`Command::downstream_key`].
    #[must_use]
    pub fn downstream_key(&self, purpose: &str) -> String {
        self.command.downstream_key(self.record, purpose)
    }

    /// The transaction that commits together with the answer's record; `None` once the handler has ended.
    pub async fn transaction(&self) -> Option<EffectTx<S>> {
        let slot = Arc::clone(&self.transaction).lock_owned().await;
        OwnedMutexGuard::try_map(slot, Option::as_mut).ok()
    }

    /// Posts a call to another service in that transaction; a [`Courier`](crate::outbox::Courier) makes it afterwards
    /// (R108). One for each `purpose`.
    ///
    /// # Errors
    /// [`StoreError`] when the handler has ended or the store is away; answer 5xx then, nothing of it will be kept.
    pub async fn post(&self, purpose: &str, payload: &[u8]) -> Result<(), StoreError> {
        match self.transaction().await {
            Some(mut tx) => self.command.post::<S>(&mut tx, self.record, purpose, payload).await,
            None => Err(StoreError::Unavailable(String::from("the handler has ended"))),
        }
    }
}

impl<S: Store> Clone for Effect<S> {
    fn clone(&self) -> Self {
        Self { record: self.record, command: Arc::clone(&self.command), transaction: Arc::clone(&self.transaction) }
    }
}

impl<S: Store, State: Sync> FromRequestParts<State> for Effect<S> {
    type Rejection = NotBehindLayer;

    async fn from_request_parts(parts: &mut Parts, _state: &State) -> Result<Self, NotBehindLayer> {
        parts.extensions.get::<Self>().cloned().ok_or(NotBehindLayer)
    }
}

impl IntoResponse for NotBehindLayer {
    fn into_response(self) -> Response {
        (StatusCode::INTERNAL_SERVER_ERROR, "this handler must be behind the contract's layer").into_response()
    }
}
