//! Servers that break one promise each, for `npx postonce verify` to find. Only with the feature `broken`, which no
//! production build has. All but one fault are put in front of the contract: what a client sees is what a server would
//! show that was built so.

use std::collections::HashMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};
use std::time::{SystemTime, UNIX_EPOCH};

use axum::body::Body;
use axum::extract::{Request, State};
use axum::http::header::COOKIE;
use axum::http::request::Parts;
use axum::http::{HeaderName, HeaderValue, Method, StatusCode};
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};
use bytes::Bytes;
use http_body_util::BodyExt;
use serde_json::{Value, json};

use super::{Demo, ROUTES, SUBJECT_DEFAULT, subject_of, tables};
use crate::reply::{KEY, REPLAYED, insert_text};

const FIRST_SENT: HeaderName = HeaderName::from_static("idempotency-first-sent");
const SUBJECT: HeaderName = HeaderName::from_static("idempotency-subject");

/// The promise that is broken.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Break {
    /// A request does not see another one that runs: look-up and insert are two steps (R103).
    NoUnique,
    /// The payload is not compared (R104).
    NoFingerprint,
    /// A finished key is refused as a duplicate (R113).
    NoReplay,
    /// The client's leaving cancels the work (R107).
    CancelOnDisconnect,
    /// Without a usable key or store the effect runs unprotected (R102, R114).
    FailOpen,
    /// Everybody shares one namespace of keys (R89).
    ScopeByKeyOnly,
    /// A status check leaves a tombstone (R118).
    StatusWrites,
    /// The fence ignores how old the key is (R61).
    FenceAfterPurge,
    /// The command ignores how old the key is (R116).
    ExpiredAsNew,
}

/// Names on the command line.
const NAMES: [(&str, Break); 9] = [
    ("no-unique", Break::NoUnique),
    ("no-fingerprint", Break::NoFingerprint),
    ("no-replay", Break::NoReplay),
    ("cancel-on-disconnect", Break::CancelOnDisconnect),
    ("fail-open", Break::FailOpen),
    ("scope-by-key-only", Break::ScopeByKeyOnly),
    ("status-writes", Break::StatusWrites),
    ("fence-after-purge", Break::FenceAfterPurge),
    ("expired-as-new", Break::ExpiredAsNew),
];

/// One process breaks one promise.
static CHOSEN: OnceLock<Break> = OnceLock::new();
/// Requests of each key that run at this moment, for [`Break::NoUnique`].
static RUNNING: Mutex<Option<HashMap<String, u64>>> = Mutex::new(None);
static UNPROTECTED: AtomicU64 = AtomicU64::new(0);

/// Takes `--break NAME` out of the words of a command line.
///
/// # Errors
/// A sentence when the name is missing or unknown.
pub fn chosen_by(mut words: Vec<String>) -> Result<Vec<String>, String> {
    let Some(at) = words.iter().position(|word| word == "--break") else { return Ok(words) };
    let mut taken = words.drain(at..words.len().min(at + 2));
    let name = taken.nth(1).unwrap_or_default();
    drop(taken);
    let Some((_, fault)) = NAMES.iter().find(|(known, _)| *known == name) else {
        let names: Vec<&str> = NAMES.iter().map(|(name, _)| *name).collect();
        return Err(format!("--break takes one of {}", names.join(", ")));
    };
    CHOSEN.get_or_init(|| *fault);
    Ok(words)
}

/// Whether the client's leaving cancels the work.
pub(crate) fn cancels_on_disconnect() -> bool {
    CHOSEN.get() == Some(&Break::CancelOnDisconnect)
}

/// A request that can be sent more than once.
#[derive(Clone)]
struct Copied {
    parts: Parts,
    body: Bytes,
}

impl Copied {
    async fn run(self, next: &Next) -> Response {
        next.clone().run(Request::from_parts(self.parts, Body::from(self.body))).await
    }

    fn with(mut self, name: HeaderName, value: &str) -> Self {
        insert_text(&mut self.parts.headers, name, value);
        self
    }

    fn at_status(mut self, method: Method) -> Self {
        let status = format!("{}/status", self.parts.uri.path().trim_end_matches("/status"));
        self.parts.uri = status.parse().unwrap_or(self.parts.uri);
        self.parts.method = method;
        self.body = Bytes::new();
        self
    }
}

/// Middleware in front of the contract.
pub(super) async fn handle(State(demo): State<Arc<Demo>>, request: Request, next: Next) -> Response {
    let route = request.uri().path().trim_end_matches("/status");
    let contract = ROUTES.iter().any(|(path, _)| *path == route);
    let Some(fault) = CHOSEN.get().filter(|_| contract) else { return next.run(request).await };
    let (parts, body) = request.into_parts();
    let Ok(body) = body.collect().await else { return StatusCode::BAD_REQUEST.into_response() };
    let copied = Copied { parts, body: body.to_bytes() };
    let (command, status) = (copied.parts.method == Method::POST, copied.parts.method == Method::GET);
    match fault {
        Break::NoUnique if command => blind_to_running(copied, &next).await,
        Break::NoFingerprint if command => by_key_alone(copied, &next).await,
        Break::NoReplay if command => duplicate_refused(copied.run(&next).await),
        Break::FailOpen if command => unprotected(&demo, copied, &next).await,
        Break::ScopeByKeyOnly => everybody(copied).run(&next).await,
        Break::StatusWrites if status => {
            let answer = copied.clone().run(&next).await;
            copied.at_status(Method::DELETE).run(&next).await;
            answer
        }
        Break::FenceAfterPurge if !command && !status => as_young(copied).run(&next).await,
        Break::ExpiredAsNew if command => as_young(copied).run(&next).await,
        Break::NoUnique
        | Break::NoFingerprint
        | Break::NoReplay
        | Break::CancelOnDisconnect
        | Break::FailOpen
        | Break::StatusWrites
        | Break::FenceAfterPurge
        | Break::ExpiredAsNew => copied.run(&next).await,
    }
}

/// Counts a request among those of its key until it is dropped.
struct Among {
    key: String,
    before: u64,
}

impl Among {
    fn enter(key: String) -> Self {
        let mut running = RUNNING.lock().unwrap_or_else(PoisonError::into_inner);
        let count = running.get_or_insert_default().entry(key.clone()).or_default();
        *count += 1;
        let before = *count - 1;
        Self { key, before }
    }
}

impl Drop for Among {
    fn drop(&mut self) {
        let mut running = RUNNING.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(count) = running.get_or_insert_default().get_mut(&self.key) {
            *count -= 1;
        }
    }
}

/// The first of several at once runs under its key, each other one under a key of its own.
async fn blind_to_running(copied: Copied, next: &Next) -> Response {
    let Some(key) = copied.parts.headers.get(KEY).and_then(|key| key.to_str().ok()).map(str::to_owned) else {
        return copied.run(next).await;
    };
    let among = Among::enter(key.clone());
    if among.before == 0 {
        return copied.run(next).await;
    }
    let own = format!("\"{}-{}\"", key.trim_matches('"'), among.before);
    let mut response = copied.with(KEY, &own).run(next).await;
    insert_text(response.headers_mut(), KEY, &key);
    response
}

/// Another payload gets what the key's record holds.
async fn by_key_alone(copied: Copied, next: &Next) -> Response {
    let (response, problem) = problem_of(copied.clone().run(next).await).await;
    if problem.as_deref() != Some("key-reused") {
        return response;
    }
    let (_, status) = read(copied.clone().at_status(Method::GET).run(next).await).await;
    let stored = status.get("response");
    let code = stored.and_then(|stored| stored.get("status")).and_then(Value::as_u64);
    let text = stored.and_then(|stored| stored.get("body")).and_then(Value::as_str);
    match (code.and_then(|code| u16::try_from(code).ok()), text) {
        (Some(code), Some(text)) => {
            let code = StatusCode::from_u16(code).unwrap_or(StatusCode::OK);
            let mut replay = (code, [("content-type", "application/json")], text.to_owned()).into_response();
            replay.headers_mut().insert(REPLAYED, HeaderValue::from_static("true"));
            replay
        }
        (None, _) | (_, None) => conflict("in-progress"),
    }
}

fn duplicate_refused(response: Response) -> Response {
    let replayed = response.headers().get(REPLAYED).is_some_and(|marker| marker == "true");
    if replayed { conflict("duplicate") } else { response }
}

fn conflict(name: &str) -> Response {
    let body = json!({ "type": format!("urn:shop:{name}"), "title": "Already received" });
    (StatusCode::CONFLICT, [("content-type", "application/problem+json")], body.to_string()).into_response()
}

/// What cannot be protected is run all the same.
async fn unprotected(demo: &Demo, copied: Copied, next: &Next) -> Response {
    let (response, problem) = problem_of(copied.clone().run(next).await).await;
    let n = UNPROTECTED.fetch_add(1, Ordering::Relaxed);
    let fresh = copied.with(KEY, &format!("\"unprotected-{:020}-{n}\"", now_seconds()));
    match problem.as_deref() {
        Some("key-missing" | "key-invalid") => fresh.run(next).await,
        Some("not-started") => {
            // The effect's own tables are there; lending it the others for a moment leaves no record that is found again.
            drop(tables::store_back(&demo.store).await);
            let answer = fresh.run(next).await;
            drop(tables::store_away(&demo.store).await);
            answer
        }
        Some(_) | None => response,
    }
}

/// Whoever rightly speaks for themselves is taken for the same person; all other checks of the subject stay.
fn everybody(mut copied: Copied) -> Copied {
    let Some(who) = subject_of(&copied.parts) else { return copied };
    if copied.parts.headers.get(SUBJECT).is_none_or(|tag| *tag != format!("\"{}\"", who.tag)) {
        return copied;
    }
    copied.parts.headers.remove(COOKIE);
    copied.with(SUBJECT, &format!("\"{SUBJECT_DEFAULT}\""))
}

fn as_young(copied: Copied) -> Copied {
    copied.with(FIRST_SENT, &format!("@{}", now_seconds()))
}

/// The answer, unchanged, and the name of the problem in it.
async fn problem_of(response: Response) -> (Response, Option<String>) {
    let (response, body) = read(response).await;
    let name = body.get("type").and_then(Value::as_str).and_then(|kind| kind.rsplit(':').next()).map(str::to_owned);
    (response, name)
}

async fn read(response: Response) -> (Response, Value) {
    let (parts, body) = response.into_parts();
    let bytes = body.collect().await.map(http_body_util::Collected::to_bytes).unwrap_or_default();
    let value = serde_json::from_slice(&bytes).unwrap_or_default();
    (Response::from_parts(parts, Body::from(bytes)), value)
}

fn now_seconds() -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default().as_secs()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn given_a_name_that_is_no_fault_then_it_is_refused_and_nothing_is_broken() {
        for line in ["--break", "--break no-such", "--demo --break"] {
            let words = line.split(' ').map(String::from).collect();
            assert!(chosen_by(words).is_err_and(|why| why.contains("no-unique")), "{line}");
        }
        let words = vec![String::from("--demo")];
        assert_eq!(chosen_by(words.clone()), Ok(words));
        assert_eq!(CHOSEN.get(), None);
    }
}
