//! `POST …`: reads one command, screens it, and lets a detached task take it to its reply.

use std::sync::Arc;
use std::time::Duration;

use axum::body::Body;
use axum::extract::{FromRequestParts, RawPathParams, Request};
use axum::http::request::Parts;
use axum::response::{IntoResponse, Response};
use bytes::{Bytes, BytesMut};
use http_body_util::BodyExt;
use postonce_core::fingerprint::Target;

use crate::decide::Deciding;
use crate::envelope::{Envelope, scope_of, screened, unauthenticated};
use crate::layer::Endpoint;
use crate::metrics;
use crate::operation::{Answer, Command, Wire};
use crate::payload::{Payload, PayloadError, urlencoded_pairs};
use crate::reply::Reply;
use crate::store::Store;

/// Largest request body in bytes; a larger one is answered 413 and never parsed.
pub const REQUEST_BODY_MAX: usize = 1024 * 1024;

/// How much of a body that is too large is read before the connection is closed on it.
const REQUEST_BODY_DRAINED: usize = 8 * REQUEST_BODY_MAX;

/// How long a body may take to arrive.
const BODY_WAIT: Duration = Duration::from_secs(30);

/// Answers one command.
pub(crate) async fn command<S: Store>(endpoint: Arc<Endpoint<S>>, request: Request) -> Response {
    let (mut parts, body) = request.into_parts();
    let path_values = path_values(&mut parts).await;
    let Some(who) = endpoint.authenticate.authenticate(&parts) else { return unauthenticated().into_response() };
    let bytes = match read_body(body).await {
        Ok(bytes) => bytes,
        Err(reply) => return reply.into_response(),
    };
    let operation = &endpoint.operation;
    let (payload, fields) = match Payload::read(&parts.headers, bytes.clone()).await {
        Ok(read) => read,
        Err(error) => return refused(&error).into_response(),
    };
    let envelope = match Envelope::read(&parts.headers, &fields, operation.accepts_bare_keys()) {
        Ok(envelope) => envelope,
        Err(reply) => return reply.into_response(),
    };
    let key = match screened(&envelope, &who, operation.policy()) {
        Ok(key) => key,
        Err(problem) => return problem.into_response(),
    };
    let origin = envelope.origin(&parts.headers);
    let query = match urlencoded_pairs(parts.uri.query().unwrap_or_default().as_bytes()) {
        Ok(query) => query,
        Err(error) => return refused(&error).into_response(),
    };
    let target =
        Target { operation: operation.name(), method: parts.method.as_str(), path: &path_values, query: &query };
    let fingerprint = match payload.fingerprint(&key, &target, operation.volatile()) {
        Ok(fingerprint) => fingerprint,
        Err(error) => return refused(&error).into_response(),
    };
    let admission = operation.admit(&who, &payload);
    let scope = scope_of(&who, &key);
    let path = parts.uri.path().to_owned();
    let wire = Wire { method: parts.method, uri: parts.uri, headers: parts.headers, body: bytes };
    let deciding = Deciding {
        store: Arc::clone(&endpoint.store),
        operation: Arc::clone(operation),
        owner: Arc::clone(&endpoint.owner),
        command: Arc::new(Command { who, key: key.clone(), payload, path, extensions: parts.extensions, wire }),
        scope,
        fingerprint,
        first_sent: envelope.first_sent,
        deadline: envelope.deadline,
        admission,
    };
    #[cfg(feature = "broken")]
    if crate::demo::broken::cancels_on_disconnect() {
        return deciding.decide().await.render(&key, origin);
    }
    // From here on the client's connection has no say: dropping this future drops only the wait (R107).
    let reply = tokio::spawn(deciding.decide()).await.unwrap_or(Reply::Failed);
    metrics::command(endpoint.operation.name(), &reply);
    reply.render(&key, origin)
}

/// What the route's template matched; a route without parameters has none.
async fn path_values(parts: &mut Parts) -> Vec<(String, String)> {
    match RawPathParams::from_request_parts(parts, &()).await {
        Ok(params) => params.iter().map(|(name, value)| (name.to_owned(), value.to_owned())).collect(),
        Err(_) => Vec::new(),
    }
}

/// Reads the body within its limits. What is too large is still read for a while, unkept: closing with unread bytes
/// resets the connection, and the client would see that instead of the 413.
async fn read_body(mut body: Body) -> Result<Bytes, Reply> {
    let reading = async {
        let (mut kept, mut length) = (BytesMut::new(), 0_usize);
        while let Some(frame) = body.frame().await {
            let frame = frame.map_err(|_| PayloadError::Malformed("The body ended early"))?;
            let Some(data) = frame.data_ref() else { continue };
            length = length.saturating_add(data.len());
            if length > REQUEST_BODY_DRAINED {
                break;
            }
            if length <= REQUEST_BODY_MAX {
                kept.extend_from_slice(data);
            }
        }
        if length > REQUEST_BODY_MAX { Err(PayloadError::TooLarge) } else { Ok(kept.freeze()) }
    };
    match tokio::time::timeout(BODY_WAIT, reading).await {
        Ok(read) => read.map_err(|error| refused(&error)),
        Err(_) => Err(Reply::Unstored(Answer::problem(408, "about:blank", "The body did not arrive in time"))),
    }
}

fn refused(error: &PayloadError) -> Reply {
    Reply::Unstored(match error {
        PayloadError::TooLarge => Answer::problem(413, "about:blank", "The body is too large"),
        PayloadError::Unsupported => Answer::problem(415, "about:blank", "The body's media type is not accepted"),
        PayloadError::Malformed(why) => Answer::problem(400, "about:blank", why),
    })
}
