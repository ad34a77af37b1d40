//! One request under one `AbortController`, body read included, and what was seen of its answer (R30, R37).

use postonce_core::machine::effect::Headers;
use postonce_core::operation::{Contract, Operation, confirms};
use postonce_core::structured::{date_item, string_item};
use postonce_core::verdict::{Answer, Body, ResponseKind};
use wasm_bindgen::JsCast as _;
use wasm_bindgen::JsValue;
use web_sys::{AbortController, Response};

use crate::host::Host;
use crate::member::{object, set, set_text, text};
use crate::payload::Payload;
use crate::promise::follow;

/// How a request ended.
pub(crate) enum Outcome {
    /// An answer came, and its body was read or could not be.
    Answered(Answer),
    /// `fetch` was called and rejected.
    Failed,
    /// `fetch` threw: nothing was sent.
    NotCalled,
}

/// Where a request goes.
pub(crate) struct Request<'a> {
    pub(crate) url: &'a str,
    pub(crate) method: &'a str,
    pub(crate) payload: Option<&'a Payload>,
    /// The declared address: only with one are redirects followed (R40).
    pub(crate) redirected_to: Option<&'a str>,
}

/// Calls `fetch`; `done` is called once, also after an abort.
pub(crate) fn send(
    host: &Host,
    request: &Request<'_>,
    headers: &JsValue,
    attempt: u8,
    done: impl FnOnce(Outcome) + 'static,
) -> Option<AbortController> {
    let init = object();
    let controller = AbortController::new().ok();
    if let Some(controller) = &controller {
        set(&init, "signal", &controller.signal());
    }
    set_text(&init, "method", request.method);
    for (name, value) in [("credentials", "same-origin"), ("cache", "no-store")] {
        set_text(&init, name, value);
    }
    let redirected_to = request.redirected_to.map(String::from);
    set_text(&init, "redirect", if redirected_to.is_some() { "follow" } else { "manual" });
    if redirected_to.is_some() {
        set_text(&init, "mode", "same-origin");
    }
    if let Some(payload) = request.payload {
        set(&init, "body", &payload.body);
        if let Some(media) = payload.media_type {
            set_text(headers, "Content-Type", media);
        }
    }
    set(&init, "headers", headers);
    match host.fetch(request.url, &init, attempt) {
        Err(_) => done(Outcome::NotCalled),
        Ok(promise) => follow(&promise, move |settled| match settled {
            Err(_) => done(Outcome::Failed),
            Ok(response) => read(response, redirected_to.as_deref(), done),
        }),
    }
    controller
}

fn read(response: JsValue, redirected_to: Option<&str>, done: impl FnOnce(Outcome) + 'static) {
    let kind = match text(&response, "type").as_deref() {
        Some("opaqueredirect") => ResponseKind::OpaqueRedirect,
        _ => ResponseKind::Readable,
    };
    let response: Response = response.unchecked_into();
    let headers = response.headers();
    let header = |name: &str| headers.get(name).ok().flatten();
    let mut answer = Answer {
        status: response.status(),
        kind: if response.redirected() {
            let url = text(&response, "url").unwrap_or_default();
            ResponseKind::Redirected { confirmed: redirected_to.is_some_and(|pattern| confirms(pattern, &url)) }
        } else {
            kind
        },
        content_type: header("Content-Type"),
        key_echo: header("Idempotency-Key"),
        replayed: header("Idempotent-Replayed"),
        first_seen: header("Idempotency-First-Seen"),
        retry_after: header("Retry-After"),
        date: header("Date"),
        body: Body::Unreadable,
    };
    match response.text() {
        Err(_) => done(Outcome::Answered(answer)),
        Ok(promise) => follow(&promise, move |settled| {
            if let Some(text) = settled.ok().and_then(|text| text.as_string()) {
                answer.body = Body::Text(text);
            }
            done(Outcome::Answered(answer));
        }),
    }
}

/// The headers of one request, as they go on the wire.
pub(crate) fn header_object(headers: &Headers, operation: &Operation, subject: &str) -> JsValue {
    let out = object();
    set_text(&out, "Accept", "application/json");
    let key = headers.key.as_str();
    match operation.contract {
        Some(Contract::Bare) => set_text(&out, "Idempotency-Key", key),
        _ => put(&out, "Idempotency-Key", string_item(key)),
    }
    put(&out, "Idempotency-First-Sent", headers.first_sent.map(|at| date_item(at, false)));
    put(&out, "Idempotency-Deadline", headers.deadline.map(|at| date_item(at, true)));
    if operation.contract == Some(Contract::Postonce) && !operation.anonymous {
        put(&out, "Idempotency-Subject", string_item(subject));
    }
    if let Some(attempt) = headers.attempt {
        set(&out, "X-Client-Attempt", &attempt.into());
    }
    out
}

fn put(out: &JsValue, name: &str, value: Option<String>) {
    if let Some(value) = value {
        set_text(out, name, &value);
    }
}
