//! Faults on demand: what `PUT /_demo/faults` takes, and which request gets which one.
//!
//! The list is replaced as a whole and consumed in order: a request takes the first entry whose `match` fits it, and
//! that entry is gone. In "before" faults nothing ran; in "after" faults the effect did, and only its answer suffers.

use std::sync::Mutex;

use postonce_core::contract::PROBLEM_PREFIX;
use serde::Deserialize;
use serde_json::Value;

/// Whether the request was handled before its answer went wrong.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum When {
    /// Nothing ran.
    Before,
    /// Everything ran.
    After,
}

/// What goes wrong.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Fault {
    /// The connection is closed without a byte of answer.
    Cut(When),
    /// A pause of so many milliseconds before the handling or before the answer.
    Delay(When, u64),
    /// A pause on the way: the request arrives that much later, even when the client has left.
    DelayArrival(u64),
    /// A pause between reserve and effect, while the record is in progress.
    DelayEffect(u64),
    /// Another answer than the handler's.
    Status(When, Canned),
    /// `Content-Length` promises more than comes before the connection is closed.
    TruncatedBody,
    /// Headers and one byte, then silence.
    StalledBody,
    /// A login page with status 200.
    Html(When),
    /// A 302 to the login page.
    Redirect(When),
    /// No answer until the client leaves.
    Hang(When),
}

/// An answer made of the fault alone.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Canned {
    pub(crate) status: u16,
    pub(crate) retry_after: Option<RetryAfter>,
    /// Problem type of the body; `about:blank` unless the entry names one of the contract's.
    pub(crate) kind: String,
}

/// What `Retry-After` says.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum RetryAfter {
    /// Exactly this text, sense or nonsense.
    Text(String),
    /// An HTTP-date so many seconds ahead.
    DateAhead(u64),
}

/// One entry of the list.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Entry {
    matches: Match,
    /// The name it came under, for the log.
    pub(crate) name: String,
    pub(crate) fault: Fault,
}

/// Which requests an entry fits; what is not said fits all.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
struct Match {
    operation: Option<String>,
    attempt: Option<u32>,
    method: Option<String>,
}

/// What of a request an entry is matched against.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Subject<'a> {
    /// `order.create`, `order.create.status` or `order.create.fence`.
    pub(crate) operation: &'a str,
    pub(crate) method: &'a str,
    pub(crate) attempt: Option<u32>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Raw {
    #[serde(rename = "match", default)]
    matches: Match,
    fault: String,
    ms: Option<u64>,
    status: Option<u16>,
    retry_after: Option<Value>,
    problem: Option<String>,
}

/// The list.
#[derive(Debug, Default)]
pub(crate) struct Faults(Mutex<Vec<Entry>>);

impl Faults {
    /// Replaces the list.
    pub(crate) fn set(&self, entries: Vec<Entry>) {
        *self.lock() = entries;
    }

    /// Takes the first entry that fits.
    pub(crate) fn take(&self, subject: Subject<'_>) -> Option<Entry> {
        let mut entries = self.lock();
        let at = entries.iter().position(|entry| entry.matches.fits(subject))?;
        Some(entries.remove(at))
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, Vec<Entry>> {
        // Nothing panics while holding it, and a list of faults has no invariant to lose.
        self.0.lock().unwrap_or_else(std::sync::PoisonError::into_inner)
    }
}

impl Match {
    fn fits(&self, subject: Subject<'_>) -> bool {
        let operation = self.operation.as_deref().is_none_or(|wanted| {
            subject.operation == wanted
                || subject.operation.strip_suffix(wanted).is_some_and(|front| front.ends_with('.'))
                    && matches!(wanted, "status" | "fence")
        });
        let attempt = self.attempt.is_none_or(|wanted| subject.attempt == Some(wanted));
        let method = self.method.as_deref().is_none_or(|wanted| wanted.eq_ignore_ascii_case(subject.method));
        operation && attempt && method
    }
}

/// Reads a list.
///
/// # Errors
/// A sentence about the first entry that makes no sense.
pub(crate) fn parse(body: &[u8]) -> Result<Vec<Entry>, String> {
    let raw: Vec<Raw> = serde_json::from_slice(body).map_err(|error| error.to_string())?;
    raw.into_iter().map(Raw::entry).collect()
}

impl Raw {
    fn entry(self) -> Result<Entry, String> {
        let fault = self.read()?;
        Ok(Entry { matches: self.matches, name: self.fault, fault })
    }

    fn read(&self) -> Result<Fault, String> {
        let ms = || self.ms.ok_or_else(|| format!("{:?} needs \"ms\"", self.fault));
        Ok(match self.fault.as_str() {
            "drop-before" => Fault::Cut(When::Before),
            "lost-answer" => Fault::Cut(When::After),
            "delay-before" => Fault::Delay(When::Before, ms()?),
            "delay-after" => Fault::Delay(When::After, ms()?),
            "delay-arrival" => Fault::DelayArrival(ms()?),
            "delay-effect" => Fault::DelayEffect(ms()?),
            "status" => Fault::Status(When::Before, self.canned()?),
            "status-after" => Fault::Status(When::After, self.canned()?),
            "truncated-body" => Fault::TruncatedBody,
            "stalled-body" => Fault::StalledBody,
            "html-200" => Fault::Html(When::Before),
            "html-200-after" => Fault::Html(When::After),
            "redirect" => Fault::Redirect(When::Before),
            "redirect-after" => Fault::Redirect(When::After),
            "hang" => Fault::Hang(When::Before),
            "hang-after" => Fault::Hang(When::After),
            other => return Err(format!("there is no fault {other:?}")),
        })
    }

    fn canned(&self) -> Result<Canned, String> {
        let status = self.status.ok_or_else(|| format!("{:?} needs \"status\"", self.fault))?;
        if !(200..600).contains(&status) {
            return Err(format!("status {status} is not between 200 and 599"));
        }
        let retry_after = match &self.retry_after {
            None => None,
            Some(Value::String(text)) => Some(match text.strip_prefix("date:+").map(str::parse) {
                Some(Ok(seconds)) => RetryAfter::DateAhead(seconds),
                Some(Err(_)) | None => RetryAfter::Text(text.clone()),
            }),
            Some(other) => Some(RetryAfter::Text(other.to_string())),
        };
        let kind =
            self.problem.as_ref().map_or_else(|| String::from("about:blank"), |name| format!("{PROBLEM_PREFIX}{name}"));
        Ok(Canned { status, retry_after, kind })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn subject(operation: &'static str, attempt: u32) -> Subject<'static> {
        Subject { operation, method: "POST", attempt: Some(attempt) }
    }

    #[test]
    fn given_several_entries_then_the_first_that_fits_is_taken_once() {
        let faults = Faults::default();
        let list = br#"[{"match":{"operation":"order.create","attempt":2},"fault":"hang"},
                        {"match":{"operation":"status"},"fault":"drop-before"},{"fault":"lost-answer"}]"#;
        faults.set(parse(list).unwrap());
        let names: Vec<_> = [("order.create", 1), ("order.create", 2), ("order.create", 2), ("order.create.status", 1)]
            .into_iter()
            .map(|(operation, attempt)| faults.take(subject(operation, attempt)).map(|entry| entry.name))
            .collect();
        let text = |name: &str| Some(String::from(name));
        assert_eq!(names, [text("lost-answer"), text("hang"), None, text("drop-before")]);
    }

    #[test]
    fn given_an_entry_that_makes_no_sense_then_the_whole_list_is_refused() {
        for list in [
            r#"[{"fault":"explode"}]"#,
            r#"[{"fault":"status"}]"#,
            r#"[{"fault":"delay-after"}]"#,
            r#"[{"fault":"hang","mss":1}]"#,
            r#"{}"#,
            r#"[{"fault":"status","status":99}]"#,
        ] {
            assert!(parse(list.as_bytes()).is_err(), "{list}");
        }
    }

    #[test]
    fn r46_given_a_retry_after_then_numbers_dates_and_junk_pass_as_they_are() {
        let list = br#"[{"fault":"status","status":503,"retry_after":2},
            {"fault":"status","status":503,"retry_after":"date:+3"},
            {"fault":"status","status":503,"retry_after":"soon"}]"#;
        let read: Vec<_> = parse(list)
            .unwrap()
            .into_iter()
            .filter_map(
                |entry| if let Fault::Status(When::Before, canned) = entry.fault { canned.retry_after } else { None },
            )
            .collect();
        assert_eq!(read, [RetryAfter::Text("2".into()), RetryAfter::DateAhead(3), RetryAfter::Text("soon".into())]);
    }
}
