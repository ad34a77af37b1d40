//! `GET …/status` tells what became of a key; `DELETE …/status` makes it void. Neither carries the payload, both name
//! the subject, and neither is ever cached.

use std::sync::Arc;

use axum::extract::Request;
use axum::http::header::{CACHE_CONTROL, CONTENT_TYPE, RETRY_AFTER};
use axum::http::{HeaderValue, StatusCode};
use axum::response::{IntoResponse, Response};
use postonce_core::contract::{
    FenceDecision, Policy, Problem, Record, RecordState, RetentionRule, StateName, Stored, StoredBody, decide_fence,
};
use postonce_core::key::Key;
use postonce_core::time::{Millis, Wall};
use serde_json::{Map, Value, json};

use crate::decide::{Found, ROUNDS_MAX, above_floor, find, recover};
use crate::envelope::{Envelope, Reserved as ReservedFields, scope_of, screened, unauthenticated};
use crate::layer::Endpoint;
use crate::problem::{ProblemReply, retry_after_header};
use crate::reply::{Reply, echo_key};
use crate::store::{Guarded, Scope, Seen, Store};

/// Who asked about which key.
struct Asked {
    scope: Scope,
    key: Key,
    tag: String,
    first_sent: Option<Wall>,
}

/// What is known about the key.
enum Known {
    Record(Record),
    Absent(StateName),
}

/// Answers a status check: a read on the primary, except that an abandoned claim is recovered first (R109, R118).
pub(crate) async fn status<S: Store>(endpoint: Arc<Endpoint<S>>, request: Request) -> Response {
    let asked = match ask(&endpoint, request) {
        Ok(asked) => asked,
        Err(reply) => return reply.into_response(),
    };
    match find(&*endpoint.store, &*endpoint.operation, &asked.scope, asked.first_sent).await {
        Some(Found::Record(Seen { record: Some((_, record)), now, .. })) => {
            render(&endpoint, &asked, &Known::Record(record), now)
        }
        Some(Found::Absent(state, now)) => render(&endpoint, &asked, &Known::Absent(state), now),
        Some(Found::Record(Seen { record: None, .. })) | None => ProblemReply::not_started().into_response(),
    }
}

/// Answers a fence. Only a `fenced` in its answer means that the effect never happened and never will (R61). It runs
/// detached: a client that leaves does not leave half a fence.
pub(crate) async fn fence<S: Store>(endpoint: Arc<Endpoint<S>>, request: Request) -> Response {
    let asked = match ask(&endpoint, request) {
        Ok(asked) => asked,
        Err(reply) => return reply.into_response(),
    };
    match tokio::spawn(fence_detached(endpoint, asked)).await {
        Ok(response) => response,
        Err(_) => StatusCode::INTERNAL_SERVER_ERROR.into_response(),
    }
}

async fn fence_detached<S: Store>(endpoint: Arc<Endpoint<S>>, asked: Asked) -> Response {
    let (store, policy) = (&*endpoint.store, endpoint.operation.policy());
    for _ in 0..ROUNDS_MAX {
        let Ok(seen) = store.look_up(&asked.scope).await else { break };
        let record = seen.record.as_ref();
        let policy = above_floor(policy, seen.floor);
        match decide_fence(record.map(|(_, record)| record), asked.first_sent, &policy, seen.now) {
            FenceDecision::Known(record) => return render(&endpoint, &asked, &Known::Record(record.clone()), seen.now),
            FenceDecision::Refused(state) => return render(&endpoint, &asked, &Known::Absent(state), seen.now),
            FenceDecision::ClockSkew => return ProblemReply::at(Problem::ClockSkew, seen.now).into_response(),
            FenceDecision::Recover(due, claim) => {
                let Some((id, _)) = record else { continue };
                if recover(store, *id, claim.token, due).await.is_err() {
                    break;
                }
            }
            // Won or lost, the next look finds the record that stands.
            FenceDecision::Tombstone => match store.fence(&asked.scope, endpoint.operation.name()).await {
                Ok(Guarded::Done | Guarded::Stale) => {}
                Err(_) => break,
            },
        }
    }
    ProblemReply::not_started().into_response()
}

fn ask<S: Store>(endpoint: &Endpoint<S>, request: Request) -> Result<Asked, Reply> {
    let (parts, _) = request.into_parts();
    let Some(who) = endpoint.authenticate.authenticate(&parts) else { return Err(unauthenticated()) };
    let bare = endpoint.operation.accepts_bare_keys();
    let envelope = Envelope::read(&parts.headers, &ReservedFields::default(), bare)?;
    let key = screened(&envelope, &who, endpoint.operation.policy()).map_err(Reply::Problem)?;
    Ok(Asked { scope: scope_of(&who, &key), key, tag: who.tag, first_sent: envelope.first_sent })
}

fn render<S: Store>(endpoint: &Endpoint<S>, asked: &Asked, known: &Known, now: Wall) -> Response {
    let policy = endpoint.operation.policy();
    let mut body = Map::new();
    let mut put = |name: &str, value: Value| {
        body.insert(String::from(name), value);
    };
    put("key", Value::from(asked.key.as_str()));
    put("subject", Value::from(asked.tag.as_str()));
    put("now", json!(now.0));
    let mut wait = None;
    match known {
        Known::Absent(state) => {
            put("state", json!(state.as_str()));
            put("operation", json!(endpoint.operation.name()));
            if *state == StateName::Uncertain {
                put("reference", Value::from(asked.key.reference()));
            }
        }
        Known::Record(record) => {
            put("state", json!(record.state.name().as_str()));
            put("operation", json!(record.operation));
            put("fingerprint", json!(record.fingerprint));
            put("first_seen", json!(record.first_seen.0));
            if let Some(expires) = expires_at(record, policy) {
                put("expires_at", json!(expires.0));
            }
            match &record.state {
                RecordState::InProgress(_) => {
                    wait = Some(policy.retry_after);
                    put("retry_after_ms", json!(policy.retry_after.0));
                }
                RecordState::Completed(stored) | RecordState::Rejected(stored) => put("response", response_of(stored)),
                RecordState::Uncertain => put("reference", Value::from(asked.key.reference())),
                RecordState::Fenced => {}
            }
        }
    }
    respond(asked, &Value::Object(body), wait)
}

fn respond(asked: &Asked, body: &Value, wait: Option<Millis>) -> Response {
    let mut response = body.to_string().into_response();
    let headers = response.headers_mut();
    headers.insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
    headers.insert(CACHE_CONTROL, HeaderValue::from_static("no-store"));
    echo_key(headers, &asked.key);
    if let Some(wait) = wait {
        headers.insert(RETRY_AFTER, retry_after_header(wait));
    }
    response
}

/// Until when the record is promised to answer; a claim and an uncertain record are never dropped by age.
fn expires_at(record: &Record, policy: &Policy) -> Option<Wall> {
    match (&record.state, policy.records) {
        (RecordState::Completed(_) | RecordState::Rejected(_) | RecordState::Fenced, RetentionRule::Purged) => {
            Some(record.changed.plus(policy.retention))
        }
        (RecordState::InProgress(_) | RecordState::Uncertain, RetentionRule::Purged)
        | (_, RetentionRule::NeverPurged) => None,
    }
}

/// The stored answer inside a status answer: the same code, bytes and id a replay would bring (R57).
fn response_of(stored: &Stored) -> Value {
    let text = match &stored.body {
        StoredBody::Kept(bytes) => std::str::from_utf8(bytes).ok(),
        StoredBody::Unavailable => None,
    };
    json!({
        "status": stored.status,
        "content_type": stored.content_type,
        "body": text,
        "result_id": stored.result_id,
        "result_unavailable": text.is_none(),
    })
}
