//! Cross-origin pages: which origins may call, what they may send, and which answers' headers they may read (R51).

use std::sync::Arc;

use axum::extract::Request;
use axum::http::header::{
    ACCESS_CONTROL_ALLOW_CREDENTIALS, ACCESS_CONTROL_ALLOW_HEADERS, ACCESS_CONTROL_ALLOW_METHODS,
    ACCESS_CONTROL_ALLOW_ORIGIN, ACCESS_CONTROL_EXPOSE_HEADERS, ACCESS_CONTROL_MAX_AGE, ORIGIN, VARY,
};
use axum::http::{HeaderMap, HeaderValue, Method, StatusCode};
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};

/// What a page may send.
const ALLOWED_HEADERS: &str = "Content-Type, Idempotency-Key, Idempotency-First-Sent, Idempotency-Deadline, \
                               Idempotency-Subject, X-Client-Attempt";
/// `DELETE` is the fence.
const ALLOWED_METHODS: &str = "GET, POST, DELETE";
/// What a page may read beside the few headers that every page may.
const EXPOSED_HEADERS: &str = "Retry-After, Date, Idempotency-Key, Idempotent-Replayed, Idempotency-First-Seen";
/// How long a browser may keep a preflight's answer, in seconds.
const PREFLIGHT_SECONDS: &str = "600";

/// The origins that may call.
#[derive(Clone, Debug, Default)]
pub struct Cors {
    origins: Arc<[HeaderValue]>,
}

impl Cors {
    /// Lets exactly these origins call; text that no header can hold is no origin and is left out.
    #[must_use]
    pub fn allowing<'a>(origins: impl IntoIterator<Item = &'a str>) -> Self {
        Self { origins: origins.into_iter().filter_map(|origin| HeaderValue::from_str(origin).ok()).collect() }
    }

    /// Middleware: answers preflights and marks every answer, refusals and failures included.
    pub async fn handle(self, request: Request, next: Next) -> Response {
        let origin = request.headers().get(ORIGIN).filter(|origin| self.origins.contains(origin)).cloned();
        let preflight = request.method() == Method::OPTIONS;
        let mut response = match (&origin, preflight) {
            (Some(_), true) => preflight_answer(),
            (Some(_) | None, _) => next.run(request).await,
        };
        let headers = response.headers_mut();
        headers.append(VARY, HeaderValue::from_static("Origin"));
        if let Some(origin) = origin {
            allow(headers, origin);
        }
        response
    }
}

fn allow(headers: &mut HeaderMap, origin: HeaderValue) {
    headers.insert(ACCESS_CONTROL_ALLOW_ORIGIN, origin);
    headers.insert(ACCESS_CONTROL_ALLOW_CREDENTIALS, HeaderValue::from_static("true"));
    headers.insert(ACCESS_CONTROL_EXPOSE_HEADERS, HeaderValue::from_static(EXPOSED_HEADERS));
}

fn preflight_answer() -> Response {
    let mut response = StatusCode::NO_CONTENT.into_response();
    let headers = response.headers_mut();
    headers.insert(ACCESS_CONTROL_ALLOW_HEADERS, HeaderValue::from_static(ALLOWED_HEADERS));
    headers.insert(ACCESS_CONTROL_ALLOW_METHODS, HeaderValue::from_static(ALLOWED_METHODS));
    headers.insert(ACCESS_CONTROL_MAX_AGE, HeaderValue::from_static(PREFLIGHT_SECONDS));
    response
}
