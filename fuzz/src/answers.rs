//! Answers to commands and to status checks.

use postonce_core::fingerprint::Digest;
use postonce_core::json::{self, Value};
use postonce_core::key::Key;
use postonce_core::operation::{Contract, Operation};
use postonce_core::reconcile::{Finding, Inquired, find};
use postonce_core::time::{Millis, Wall};
use postonce_core::verdict::{Answer, Body, ResponseKind, Verdict, judge};

use crate::lossy;

const NOW: Wall = Wall(1_800_000_000_000);
const KEY: &str = "0123456789abcdef0123456789abcdef";
const DIGEST: &str = "1:abababababababababababababababababababababababababababababababab";

/// `status words…`, header lines, an empty line, the body; without that line the body could not be read.
fn answer(text: &str) -> (Answer, Vec<&str>) {
    let (head, body) =
        text.split_once("\n\n").map_or((text, Body::Unreadable), |(head, body)| (head, Body::Text(body.to_owned())));
    let mut lines = head.split('\n');
    let mut words: Vec<&str> = lines.next().unwrap_or_default().split(' ').collect();
    let status = words.drain(..1).next().and_then(|word| word.parse().ok()).unwrap_or_default();
    let headers: Vec<(&str, &str)> = lines.filter_map(|line| line.split_once(": ")).collect();
    let header = |name: &str| headers.iter().find(|(other, _)| *other == name).map(|(_, value)| (*value).to_owned());
    let kind = match () {
        () if words.contains(&"opaque") => ResponseKind::OpaqueRedirect,
        () if words.contains(&"redirected") => ResponseKind::Redirected { confirmed: false },
        () if words.contains(&"declared") => ResponseKind::Redirected { confirmed: true },
        () => ResponseKind::Readable,
    };
    let answer = Answer {
        status,
        kind,
        content_type: header("content-type"),
        key_echo: header("idempotency-key"),
        replayed: header("idempotent-replayed"),
        first_seen: header("idempotency-first-seen"),
        retry_after: header("retry-after"),
        date: header("date"),
        body,
    };
    (answer, words)
}

fn operation(words: &[&str]) -> Option<Operation> {
    let dialect = ["postonce", "ietf", "bare"].into_iter().find(|dialect| words.contains(dialect));
    let contract = dialect.map(|dialect| format!(r#","contract":"{dialect}""#)).unwrap_or_default();
    let option = |word: &str, text: &'static str| if words.contains(&word) { text } else { "" };
    let more = [
        option("empty", r#","confirm":{"empty":true}"#),
        option("final", r#","refusals":"final""#),
        option("silent", r#","echo":"none""#),
    ];
    let options = format!(r#"{{"name":"o","url":"https://a.test/o"{contract}{}}}"#, more.concat());
    Some(Operation::from_checked(&json::parse(&options).ok()?))
}

/// No success, refusal or fence that the answer does not carry; no wait that it does not state (R38 to R41, R127).
pub(crate) fn verdict(bytes: &[u8]) {
    let text = lossy(bytes);
    let (answer, words) = answer(&text);
    let (Some(operation), Ok(key)) = (operation(&words), Key::parse(KEY)) else { return };
    let verdict = judge(&answer, &operation, &key, NOW);
    let tied = answer.key_echo.as_deref().is_some_and(|echo| echo.contains(KEY));
    let on_record = tied && answer.marker().is_some();
    let followed = matches!(answer.kind, ResponseKind::OpaqueRedirect | ResponseKind::Redirected { confirmed: false });
    match &verdict {
        Verdict::Applied { body, .. } => {
            assert!(matches!(answer.status, 200..=299) && !matches!(answer.status, 202 | 206) && !followed);
            assert!(tied || operation.echo_none);
            assert!(on_record || operation.echo_none || operation.contract != Some(Contract::Postonce));
            let empty = matches!(answer.status, 204 | 205) && operation.confirm_empty && body.is_empty();
            // The address is the confirmation (R40).
            let arrived = operation.echo_none
                && answer.status == 200
                && answer.kind == ResponseKind::Redirected { confirmed: true }
                && body.is_empty();
            assert!(empty || arrived || serde_json::from_str::<serde_json::Value>(body).is_ok(), "{body:?}");
        }
        Verdict::Rejected { status, problem } => {
            assert!(matches!(status, 400..=499) && !followed);
            let taken = problem.kind == "urn:postonce:problem:object-taken";
            assert!(on_record || operation.refusals_final || taken);
        }
        Verdict::Refused { status, .. } => {
            assert!(matches!(status, 400..=499) && !matches!(status, 401 | 408 | 425 | 429) && !followed);
        }
        Verdict::Fenced => assert!(answer.status == 410 && text.contains("urn:postonce:problem:fenced") && !followed),
        Verdict::KeyReused => assert!(answer.status == 422 && !followed),
        Verdict::Suspended(_) => assert!(matches!(answer.status, 401 | 403) && !followed),
        Verdict::NotRun { status, .. } => assert!(matches!(status, 429 | 503) && !followed),
        Verdict::ClockRefused { status, .. } => assert!(*status == 412 && !followed),
        Verdict::InProgress { .. } => assert!(matches!(answer.status, 202 | 409) && !followed),
        Verdict::Ambiguous { .. } | Verdict::Final { .. } => {}
    }
    wait_is_as_stated(&answer, wait_of(&verdict));
}

const fn wait_of(verdict: &Verdict) -> Option<Millis> {
    match verdict {
        Verdict::InProgress { after } | Verdict::NotRun { after, .. } | Verdict::Ambiguous { after, .. } => *after,
        Verdict::Applied { .. }
        | Verdict::KeyReused
        | Verdict::Rejected { .. }
        | Verdict::Refused { .. }
        | Verdict::Suspended(_)
        | Verdict::ClockRefused { .. }
        | Verdict::Final { .. }
        | Verdict::Fenced => None,
    }
}

fn wait_is_as_stated(answer: &Answer, wait: Option<Millis>) {
    let Some(wait) = wait else { return };
    assert!(matches!(answer.status, 409 | 429 | 503), "no other status states a wait (R52)");
    let digits = answer.retry_after.as_deref().map(|value| value.trim_matches([' ', '\t']));
    if let Some(digits) = digits.filter(|digits| !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_digit()))
    {
        let seconds = digits.parse().unwrap_or(u64::MAX);
        assert!(wait.0 >= seconds.saturating_mul(1_000), "never shorter than stated");
    }
}

/// Nothing on the key alone: what proves an outcome repeats key, operation and subject (R57, R61).
pub(crate) fn status(bytes: &[u8]) {
    let text = lossy(bytes);
    let (answer, words) = answer(&text);
    let Ok(key) = Key::parse(KEY) else { return };
    let digest = Digest::parse(DIGEST).filter(|_| !words.contains(&"unbound"));
    let inquired = Inquired { key: &key, operation: "order.create", subject: "u-1", digest: digest.as_ref() };
    let finding = find(&answer, &inquired, NOW);
    let body = match &answer.body {
        Body::Text(body) => json::parse(body).unwrap_or(Value::Null),
        Body::Unreadable => Value::Null,
    };
    let says = |name: &str| body.get(name).and_then(Value::as_str);
    let tied = says("operation") == Some("order.create")
        && says("subject") == Some("u-1")
        && (says("key") == Some(KEY) || answer.key_echo.as_deref().is_some_and(|echo| echo.contains(KEY)));
    match finding {
        Finding::Completed { .. } | Finding::Rejected { .. } => {
            assert!(digest.is_none() || says("fingerprint") == Some(DIGEST), "another payload's outcome (R57)");
            assert!(tied && answer.status == 200);
        }
        Finding::Fenced => assert!(tied && answer.status == 200 && says("state") == Some("fenced")),
        Finding::OtherPayload { .. } => assert!(tied && digest.is_some()),
        Finding::InProgress { .. } | Finding::Uncertain | Finding::Expired | Finding::NotFound => {
            assert!(tied && answer.status == 200);
        }
        Finding::ClockSkew { .. } => assert!(answer.status == 412),
        Finding::Suspended(_) => assert!(matches!(answer.status, 401 | 403)),
        Finding::Unusable { .. } => {}
    }
    if answer.kind != ResponseKind::Readable {
        assert!(matches!(find(&answer, &inquired, NOW), Finding::Unusable { .. }));
    }
}
