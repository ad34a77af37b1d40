//! Middleware of the demo: logs each contract request and does to it what the list of faults says.

use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use axum::Extension;
use axum::body::Body;
use axum::extract::{Request, State};
use axum::http::header::{CONTENT_LENGTH, CONTENT_TYPE, LOCATION, RETRY_AFTER};
use axum::http::{HeaderMap, HeaderValue, StatusCode};
use axum::middleware::Next;
use axum::response::{Html, IntoResponse, Response};
use bytes::Bytes;
use http_body::Frame;
use http_body_util::{BodyExt, Limited};
use postonce_core::http_date;
use postonce_core::key::Key;
use postonce_core::structured;
use postonce_core::time::{Millis, Wall};

use super::connection::Cut;
use super::faults::{Canned, Fault, RetryAfter, Subject, When};
use super::log::{Answered, Entry, Log, Silence};
use super::{Demo, LOGIN_PAGE};
use crate::command::REQUEST_BODY_MAX;
use crate::operation::Answer;
use crate::payload::Payload;
use crate::reply::{KEY, REPLAYED, insert_text, status_code};

/// Time for the bytes already written to reach the client before the cut.
const BEFORE_CUT: Duration = Duration::from_millis(50);
/// A hang ends by itself, should the client never leave.
const HANG_MAX: Duration = Duration::from_secs(600);

/// How long the effect of this request is to be held up after the reserve; read by the demo's operations.
#[derive(Clone, Copy, Debug)]
pub(crate) struct EffectDelay(pub(crate) Duration);

/// Logs the request, applies at most one fault, logs the answer.
pub(crate) async fn handle(
    State(demo): State<Arc<Demo>>,
    Extension(cut): Extension<Cut>,
    request: Request,
    next: Next,
) -> Response {
    let Some(operation) = operation_of(&request) else { return next.run(request).await };
    let (request, entry) = match observed(request, operation).await {
        Ok(observed) => observed,
        Err(response) => return response,
    };
    let subject = Subject { operation: &entry.operation, method: &entry.method, attempt: entry.attempt };
    let fault = demo.faults.take(subject);
    let n = demo.log.add(Entry { fault: fault.as_ref().map(|entry| entry.name.clone()), ..entry });
    let mut watch = Watch { log: Arc::clone(&demo.log), n, open: true };
    let response = match fault.map(|entry| entry.fault) {
        None => next.run(request).await,
        Some(Fault::DelayArrival(ms)) => return held_up(ms, watch, request, next).await,
        Some(fault) => faulty(fault, &cut, &mut watch, request, next).await,
    };
    watch.answered(&response);
    response
}

/// A proxy between browser and server holds the request and delivers it, whether or not the browser still waits.
async fn held_up(ms: u64, mut watch: Watch, request: Request, next: Next) -> Response {
    let delivered = tokio::spawn(async move {
        tokio::time::sleep(Duration::from_millis(ms)).await;
        let response = next.run(request).await;
        watch.answered(&response);
        response
    });
    delivered.await.unwrap_or_else(|_| StatusCode::INTERNAL_SERVER_ERROR.into_response())
}

async fn faulty(fault: Fault, cut: &Cut, watch: &mut Watch, mut request: Request, next: Next) -> Response {
    let when = match &fault {
        Fault::Cut(when)
        | Fault::Delay(when, _)
        | Fault::Status(when, _)
        | Fault::Html(when)
        | Fault::Redirect(when)
        | Fault::Hang(when) => *when,
        Fault::DelayArrival(_) | Fault::DelayEffect(_) | Fault::TruncatedBody | Fault::StalledBody => When::After,
    };
    match (&fault, when) {
        (Fault::Delay(When::Before, ms), _) => {
            tokio::time::sleep(Duration::from_millis(*ms)).await;
            return next.run(request).await;
        }
        (Fault::DelayEffect(ms), _) => {
            request.extensions_mut().insert(EffectDelay(Duration::from_millis(*ms)));
            return next.run(request).await;
        }
        (_, When::Before) => {}
        (_, When::After) => {
            let real = next.run(request).await;
            return spoiled(fault, cut, watch, real).await;
        }
    }
    spoiled(fault, cut, watch, StatusCode::NO_CONTENT.into_response()).await
}

/// Puts the fault in the place of `real`, which the handler answered, or which nobody did.
async fn spoiled(fault: Fault, cut: &Cut, watch: &mut Watch, real: Response) -> Response {
    match fault {
        Fault::Cut(_) => {
            watch.silent(Silence::Dropped);
            match cut.now().await {}
        }
        Fault::Delay(_, ms) => {
            tokio::time::sleep(Duration::from_millis(ms)).await;
            real
        }
        Fault::DelayArrival(_) | Fault::DelayEffect(_) => real,
        Fault::Status(_, canned) => canned_response(&canned),
        Fault::TruncatedBody => broken(real, Rest::Cut).await,
        Fault::StalledBody => broken(real, Rest::Silence).await,
        Fault::Html(_) => Html(LOGIN_PAGE).into_response(),
        Fault::Redirect(_) => (StatusCode::FOUND, [(LOCATION, "/login")]).into_response(),
        Fault::Hang(_) => {
            tokio::time::sleep(HANG_MAX).await;
            real
        }
    }
}

/// Which operation a request belongs to, with `.status` or `.fence` for the second route. Preflights are not counted.
fn operation_of(request: &Request) -> Option<String> {
    let (path, suffix) = match request.uri().path().strip_suffix("/status") {
        Some(front) => (
            front,
            match request.method().as_str() {
                "GET" => ".status",
                "DELETE" => ".fence",
                _ => return None,
            },
        ),
        None if request.method() == "POST" => (request.uri().path(), ""),
        None => return None,
    };
    let (_, name) = super::ROUTES.iter().find(|(route, _)| *route == path)?;
    Some(format!("{name}{suffix}"))
}

/// Reads what the log shows of a request and hands the request on unchanged.
async fn observed(request: Request, operation: String) -> Result<(Request, Entry), Response> {
    let (parts, body) = request.into_parts();
    let too_large = || StatusCode::PAYLOAD_TOO_LARGE.into_response();
    // A body that announces itself as too large is left to the handler, unseen.
    let announced = text(&parts.headers, CONTENT_LENGTH.as_str()).and_then(|length| length.parse::<usize>().ok());
    let (body, bytes) = if announced.is_some_and(|length| length > REQUEST_BODY_MAX) {
        (body, None)
    } else {
        let bytes = Limited::new(body, REQUEST_BODY_MAX).collect().await.map_err(|_| too_large())?.to_bytes();
        (Body::from(bytes.clone()), Some(bytes))
    };
    let key_header = text(&parts.headers, KEY.as_str());
    let key = match (&key_header, &bytes) {
        (Some(header), _) => structured::parse_key_field(header, true).ok(),
        (None, Some(bytes)) => key_field(&parts.headers, bytes.clone()).await,
        (None, None) => None,
    };
    let entry = Entry {
        method: parts.method.to_string(),
        path: parts.uri.path().to_owned(),
        operation,
        key_ref: key.as_ref().map(Key::reference),
        key: key.map(|key| key.as_str().to_owned()),
        key_header,
        attempt: text(&parts.headers, "x-client-attempt").and_then(|attempt| attempt.parse().ok()),
        content_type: text(&parts.headers, CONTENT_TYPE.as_str()),
        received_at: wall_now().0,
        first_sent: text(&parts.headers, "idempotency-first-sent"),
        deadline: text(&parts.headers, "idempotency-deadline"),
        subject: text(&parts.headers, "idempotency-subject"),
        body_sha256: bytes.filter(|bytes| !bytes.is_empty()).map(|bytes| hex(&hmac_sha256::Hash::hash(&bytes))),
        ..Entry::default()
    };
    Ok((Request::from_parts(parts, body), entry))
}

/// The key of a native form post.
async fn key_field(headers: &HeaderMap, bytes: Bytes) -> Option<Key> {
    let (_, reserved) = Payload::read(headers, bytes).await.ok()?;
    structured::parse_key_field(reserved.key()?, true).ok()
}

fn text(headers: &HeaderMap, name: &str) -> Option<String> {
    headers.get(name).and_then(|value| value.to_str().ok()).map(str::to_owned)
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

fn wall_now() -> Wall {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    Wall(u64::try_from(since.as_millis()).unwrap_or(u64::MAX))
}

fn canned_response(canned: &Canned) -> Response {
    let answer = Answer::problem(canned.status, &canned.kind, "A fault of the demo");
    let mut response = (status_code(canned.status), answer.body).into_response();
    let headers = response.headers_mut();
    insert_text(headers, CONTENT_TYPE, &answer.content_type);
    match &canned.retry_after {
        None => {}
        Some(RetryAfter::Text(text)) => insert_text(headers, RETRY_AFTER, text),
        Some(RetryAfter::DateAhead(seconds)) => {
            let at = wall_now().plus(Millis(seconds.saturating_mul(1_000)));
            insert_text(headers, RETRY_AFTER, &http_date::format(at));
        }
    }
    response
}

/// The answer's own status and headers over a body that never completes.
async fn broken(real: Response, rest: Rest) -> Response {
    let (mut parts, body) = real.into_parts();
    let whole = body.collect().await.map(http_body_util::Collected::to_bytes).unwrap_or_default();
    let (sent, promised) = match rest {
        // Half of it: WebKitGTK takes what came before a cut for the whole body, without an error.
        Rest::Cut => (whole.slice(..whole.len() / 2), whole.len().max(1)),
        Rest::Silence => (whole.slice(..whole.len().min(1)), whole.len().max(2)),
    };
    parts.headers.insert(CONTENT_LENGTH, HeaderValue::from(promised));
    Response::from_parts(parts, Body::new(Broken { sent: Some(sent), rest, pause: None }))
}

/// What follows the bytes that are sent.
#[derive(Clone, Copy)]
enum Rest {
    Cut,
    Silence,
}

struct Broken {
    sent: Option<Bytes>,
    rest: Rest,
    pause: Option<Pin<Box<tokio::time::Sleep>>>,
}

impl http_body::Body for Broken {
    type Data = Bytes;
    type Error = std::io::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Self::Error>>> {
        if let Some(bytes) = self.sent.take() {
            return Poll::Ready(Some(Ok(Frame::data(bytes))));
        }
        let wait = match self.rest {
            Rest::Cut => BEFORE_CUT,
            Rest::Silence => HANG_MAX,
        };
        let pause = self.pause.get_or_insert_with(|| Box::pin(tokio::time::sleep(wait)));
        pause.as_mut().poll(context).map(|()| Some(Err(std::io::ErrorKind::ConnectionAborted.into())))
    }
}

/// Completes the log entry, also when the handler is dropped because the client left.
struct Watch {
    log: Arc<Log>,
    n: u64,
    open: bool,
}

impl Watch {
    fn answered(&mut self, response: &Response) {
        let replayed = text(response.headers(), REPLAYED.as_str()).map(|marker| marker == "true");
        self.close(Answered::Status(response.status().as_u16()), replayed);
    }

    fn silent(&mut self, why: Silence) {
        self.close(Answered::Silence(why), None);
    }

    fn close(&mut self, status: Answered, replayed: Option<bool>) {
        if std::mem::replace(&mut self.open, false) {
            self.log.update(self.n, |entry| {
                entry.status = Some(status);
                entry.answered_at = Some(wall_now().0);
                entry.replayed = replayed;
            });
        }
    }
}

impl Drop for Watch {
    fn drop(&mut self) {
        self.silent(Silence::ClientLeft);
    }
}
