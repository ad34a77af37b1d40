//! What an application gives: its operations, and who is asking.

use std::sync::Arc;

use async_trait::async_trait;
use axum::body::Body;
use axum::extract::Request;
use axum::http::request::Parts;
use axum::http::{Extensions, HeaderMap, Method, Uri};
use bytes::Bytes;
use postonce_core::contract::Policy;
use postonce_core::key::Key;

use crate::payload::Payload;
use crate::store::{RecordId, Store};

/// Length of a downstream key before it is written as hex digits.
const DOWNSTREAM_KEY_BYTES: usize = 16;

/// Who the request was authenticated as.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Authenticated {
    /// The tenant; a constant where there is only one.
    pub tenant: String,
    /// The subject that owns the records.
    pub subject: String,
    /// The opaque tag the page knows this subject by, compared with `Idempotency-Subject` (R123).
    pub tag: String,
}

/// Tells who is asking; `None` is answered by 401. Any closure of the same shape is one.
pub trait Authenticate: Send + Sync + 'static {
    /// Looks at the request's headers and extensions, never at its body.
    fn authenticate(&self, parts: &Parts) -> Option<Authenticated>;
}

impl<F: Fn(&Parts) -> Option<Authenticated> + Send + Sync + 'static> Authenticate for F {
    fn authenticate(&self, parts: &Parts) -> Option<Authenticated> {
        self(parts)
    }
}

/// One command, read and admitted, as the effect sees it.
#[derive(Clone, Debug)]
pub struct Command {
    /// Who asks.
    pub who: Authenticated,
    /// The key; what a downstream service gets derives from `record` instead (R108).
    pub key: Key,
    /// The parsed body.
    pub payload: Payload,
    /// The request's path.
    pub path: String,
    /// What middleware left with the request.
    pub extensions: Extensions,
    /// The request as it came, for a handler that wants to read it itself.
    pub(crate) wire: Wire,
}

/// A request as it came.
#[derive(Clone)]
pub(crate) struct Wire {
    pub(crate) method: Method,
    pub(crate) uri: Uri,
    pub(crate) headers: HeaderMap,
    pub(crate) body: Bytes,
}

impl std::fmt::Debug for Wire {
    /// Leaves headers and body out: key, cookies and fields may end up in a log (R92).
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.debug_struct("Wire").field("method", &self.method).finish_non_exhaustive()
    }
}

impl Command {
    /// The idempotency key for a downstream service that the effect calls: the same whenever this record's effect is
    /// asked for again, another one for each `purpose` and for each record (R108). 32 hex digits, and no way back from
    /// them to the key.
    #[must_use]
    pub fn downstream_key(&self, record: RecordId, purpose: &str) -> String {
        downstream_key(self.key.as_str(), record, purpose)
    }

    /// The request again, with its body and what middleware left with it.
    pub(crate) fn request(&self) -> Request {
        let mut request = Request::new(Body::from(self.wire.body.clone()));
        *request.method_mut() = self.wire.method.clone();
        *request.uri_mut() = self.wire.uri.clone();
        *request.headers_mut() = self.wire.headers.clone();
        *request.extensions_mut() = self.extensions.clone();
        request
    }
}

/// The downstream key of one record and purpose.
pub(crate) fn downstream_key(key: &str, record: RecordId, purpose: &str) -> String {
    // With the key in it, a record number that a restored backup hands out again is still another one.
    let text = format!("postonce downstream\n{}\n{purpose}", record.0);
    let mac = hmac_sha256::HMAC::mac(text.as_bytes(), key.as_bytes());
    mac.iter().take(DOWNSTREAM_KEY_BYTES).map(|byte| format!("{byte:02x}")).collect()
}

/// An answer of the domain.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Answer {
    /// HTTP status.
    pub status: u16,
    /// Content type of `body`.
    pub content_type: String,
    /// `Location`, if any.
    pub location: Option<String>,
    /// Body bytes; replayed exactly (R113).
    pub body: Bytes,
}

impl Answer {
    /// An answer with a JSON body.
    #[must_use]
    pub fn json(status: u16, value: &serde_json::Value) -> Self {
        let body = Bytes::from(value.to_string());
        Self { status, content_type: String::from("application/json"), location: None, body }
    }

    /// A problem of the domain's own, with its own type.
    #[must_use]
    pub fn problem(status: u16, kind: &str, title: &str) -> Self {
        let value = serde_json::json!({ "type": kind, "title": title, "status": status });
        Self { content_type: String::from("application/problem+json"), ..Self::json(status, &value) }
    }

    /// The same answer with a `Location`.
    #[must_use]
    pub fn at(self, location: String) -> Self {
        Self { location: Some(location), ..self }
    }
}

/// What an effect came to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// It happened; `answer` is 2xx.
    Applied(Answer),
    /// The domain said no, for good under this key; `answer` is 4xx and what the effect wrote is undone (R112).
    Refused(Answer),
}

/// Why an effect has no outcome (R111).
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum EffectError {
    /// It surely did not happen: the key is given back and may be sent again.
    NotApplied(String),
    /// It may have happened outside the transaction: the record becomes `uncertain`.
    Unknown(String),
    /// A one-time token was spent or wrong, and nothing ran: the key is given back (R91).
    TokenRefused(TokenRefused),
}

/// A one-time token that was spent or wrong (R91).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TokenRefused {
    /// The field that carried it.
    pub field: String,
}

/// One operation of the application.
#[async_trait]
pub trait Operation<S: Store>: Send + Sync + 'static {
    /// Its name, as both sides spell it: `order.create`.
    fn name(&self) -> &str;

    /// Its published numbers.
    fn policy(&self) -> &Policy;

    /// Fields that may differ between attempts and stay out of the fingerprint (R11).
    fn volatile(&self) -> &[String] {
        &[]
    }

    /// JSON Pointer to the result's id in a 2xx body; empty when there is none.
    fn result_id(&self) -> &str {
        ""
    }

    /// Whether an unquoted key is accepted beside a quoted one (R106).
    fn accepts_bare_keys(&self) -> bool {
        false
    }

    /// The object only one live key may hold, if this payload names one (R103).
    fn object(&self, _payload: &Payload) -> Option<String> {
        None
    }

    /// What a reconciliation will compare with what it finds: the few values that make the effect recognisable. Kept with
    /// the record as JSON; a value that must not be kept is left out (R109).
    fn expected(&self, _payload: &Payload) -> Option<serde_json::Value> {
        None
    }

    /// Whether the subject may do this with this payload. Asked only where no record exists; a refusal stores nothing
    /// and carries no marker (R89, R112).
    ///
    /// # Errors
    /// The 4xx to answer.
    fn admit(&self, _who: &Authenticated, _payload: &Payload) -> Result<(), Answer> {
        Ok(())
    }

    /// Spends one-time tokens, by the owner of the reserve only. Not asked again once the effect was started (R91).
    ///
    /// # Errors
    /// The field whose token was refused; the key is given back.
    async fn check_once(&self, _command: &Command) -> Result<(), TokenRefused> {
        Ok(())
    }

    /// Runs the effect. Everything local goes through `tx`, which commits together with the terminal record.
    ///
    /// # Errors
    /// [`EffectError`], typed by what is known; a panic counts as what the recovery class makes of it.
    async fn execute(&self, tx: &mut S::Tx, record: RecordId, command: &Command) -> Result<Outcome, EffectError>;

    /// [`Self::execute`] with the transaction itself, for an effect that has to lend it out. Without it nothing can be
    /// committed: what the effect wrote counts as undone.
    async fn perform(
        &self,
        mut tx: S::Tx,
        record: RecordId,
        command: &Arc<Command>,
    ) -> (Option<S::Tx>, Result<Outcome, EffectError>) {
        let outcome = self.execute(&mut tx, record, command).await;
        (Some(tx), outcome)
    }
}
