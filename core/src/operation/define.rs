//! The check of the options: each fault names its field and rule; the remedy is a sentence of its own.

use alloc::string::String;

use super::{Contract, Effect, Encoding, ObjectKind, Operation, OperationInput, Persistence, Reconcile, is_sensitive};
use crate::budget::{ATTEMPTS_DEFAULT, ATTEMPTS_MAX, BUDGET_DEFAULT, BUDGET_MAX, RETENTION};
use crate::fingerprint::RESERVED_PREFIX;
use crate::time::Millis;

/// Every option's name, as JavaScript spells it.
pub const FIELDS: &[&str] = &[
    "name",
    "url",
    "method",
    "effect",
    "contract",
    "budget",
    "attempts",
    "attemptCap",
    "significant",
    "volatile",
    "remember",
    "status",
    "object",
    "persistence",
    "reconcile",
    "encoding",
    "retention",
    "resultId",
    "expect",
    "confirm",
    "anonymous",
    "refusals",
    "echo",
    "headers",
    "transport",
];

const NAME_CHARS_MAX: usize = 64;

/// What an option breaks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OptionRule {
    /// It must be given.
    Missing,
    /// It has characters or a length that are not allowed.
    Malformed,
    /// It is none of the known words.
    UnknownValue,
    /// A number outside its range, or not a number.
    OutOfRange,
    /// A relative URL and no document to resolve it.
    RelativeUrlWithoutBase,
    /// The URL carries a user name or password.
    CredentialsInUrl,
    /// GET or HEAD with an effect (R125).
    EffectOfSafeMethod,
    /// A field is listed twice with opposite meanings.
    Contradiction,
    /// A secret would be stored (R88).
    SensitiveRemember,
    /// A field name that the contract keeps for itself.
    ReservedName,
    /// Not a JSON Pointer.
    NotAPointer,
    /// Only meaningful together with another option.
    NeedsStatus,
}

impl OptionRule {
    /// The code of the public face.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Missing => "missing",
            Self::Malformed => "malformed",
            Self::UnknownValue => "unknown-value",
            Self::OutOfRange => "out-of-range",
            Self::RelativeUrlWithoutBase => "relative-url-without-base",
            Self::CredentialsInUrl => "credentials-in-url",
            Self::EffectOfSafeMethod => "effect-of-safe-method",
            Self::Contradiction => "contradiction",
            Self::SensitiveRemember => "sensitive-remember",
            Self::ReservedName => "reserved-name",
            Self::NotAPointer => "not-a-pointer",
            Self::NeedsStatus => "needs-status",
        }
    }
}

/// Which option is wrong, and how.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct InvalidOption {
    /// The option, as JavaScript spells it.
    pub field: &'static str,
    /// What it breaks.
    pub rule: OptionRule,
}

impl InvalidOption {
    /// What to do about it.
    #[must_use]
    pub const fn remedy(&self) -> &'static str {
        match self.rule {
            OptionRule::Missing => "give it a value",
            OptionRule::Malformed => "use 1 to 64 letters, digits, dots, dashes or underscores",
            OptionRule::UnknownValue => "use one of the documented words",
            OptionRule::OutOfRange => {
                "use a number inside the range: budget and attemptCap above 0 (attemptCap within the budget, budget up to 600000 ms), attempts 1 to 10"
            }
            OptionRule::RelativeUrlWithoutBase => "write the address with its origin, or define it in a document",
            OptionRule::CredentialsInUrl => "leave user name and password out of the address",
            OptionRule::EffectOfSafeMethod => "use POST, PUT, PATCH or DELETE for what changes something",
            OptionRule::Contradiction => "list the field in one place only",
            OptionRule::SensitiveRemember => "take the field out of remember: secrets are never stored",
            OptionRule::ReservedName => "rename the field: names starting with _idempotency_ belong to the contract",
            OptionRule::NotAPointer => "write a JSON Pointer, for example /id",
            OptionRule::NeedsStatus => "give status: { url } too, or leave reconcile out",
        }
    }
}

const fn invalid<T>(field: &'static str, rule: OptionRule) -> Result<T, InvalidOption> {
    Err(InvalidOption { field, rule })
}

impl Operation {
    /// Checks the options and makes the entry.
    ///
    /// # Errors
    /// [`InvalidOption`]: the first option, in the order of [`FIELDS`], that breaks a rule.
    pub fn define(input: OperationInput) -> Result<Self, InvalidOption> {
        check_name(&input.name)?;
        check_url("url", &input.url, input.base.as_deref())?;
        let (method, effect) = read_method(input.method, input.effect.as_deref())?;
        let contract = match input.contract.as_deref() {
            None => None,
            Some("postonce") => Some(Contract::Postonce),
            Some("ietf") => Some(Contract::Ietf),
            Some("bare") => Some(Contract::Bare),
            Some(_) => return invalid("contract", OptionRule::UnknownValue),
        };
        let budget = millis("budget", input.budget, BUDGET_DEFAULT, BUDGET_MAX)?;
        let attempts = read_attempts(input.attempts)?;
        let cap = match input.attempt_cap {
            None => None,
            Some(_) => Some(millis("attemptCap", input.attempt_cap, budget, budget)?),
        };
        check_fields(&input.significant, &input.volatile, &input.remember)?;
        if let Some(url) = &input.status_url {
            check_url("status", url, input.base.as_deref())?;
        }
        let object = word("object", input.object.as_deref(), ObjectKind::Required, |name| match name {
            "required" => Some(ObjectKind::Required),
            "singleton" => Some(ObjectKind::Singleton),
            _ => None,
        })?;
        let persistence =
            word("persistence", input.persistence.as_deref(), Persistence::BestEffort, |name| match name {
                "required" => Some(Persistence::Required),
                "best-effort" => Some(Persistence::BestEffort),
                _ => None,
            })?;
        let reconcile = read_reconcile(input.reconcile.as_deref(), input.status_url.is_some())?;
        let encoding = word("encoding", input.encoding.as_deref(), Encoding::Json, |name| match name {
            "json" => Some(Encoding::Json),
            "urlencoded" => Some(Encoding::Urlencoded),
            "multipart" => Some(Encoding::Multipart),
            _ => None,
        })?;
        let retention = millis("retention", input.retention, RETENTION, Millis(u64::MAX))?;
        check_pointer("resultId", input.result_id.as_deref())?;
        for (_, pointer) in &input.expect {
            check_pointer("expect", Some(pointer))?;
        }
        // Nothing promised: the library never sends such a request a second time by itself (R7).
        let attempts = if contract.is_none() { 1 } else { attempts };
        Ok(Self {
            name: input.name,
            url: input.url,
            method,
            effect,
            contract,
            budget,
            attempts,
            cap,
            volatile: input.volatile,
            remember: input.remember,
            status_url: input.status_url,
            object,
            persistence,
            reconcile,
            encoding,
            retention,
            result_id: input.result_id,
            expect: input.expect,
            confirm_empty: input.confirm_empty,
            anonymous: input.anonymous,
            refusals_final: input.refusals_final,
            echo_none: input.echo_none,
        })
    }
}

fn check_name(name: &str) -> Result<(), InvalidOption> {
    if name.is_empty() {
        return invalid("name", OptionRule::Missing);
    }
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'.' | b'-');
    if name.len() > NAME_CHARS_MAX || !name.bytes().all(plain) {
        return invalid("name", OptionRule::Malformed);
    }
    Ok(())
}

fn check_url(field: &'static str, url: &str, base: Option<&str>) -> Result<(), InvalidOption> {
    if url.is_empty() {
        return invalid(field, OptionRule::Missing);
    }
    let Some(rest) = url.strip_prefix("https://").or_else(|| url.strip_prefix("http://")) else {
        return if base.is_some() { Ok(()) } else { invalid(field, OptionRule::RelativeUrlWithoutBase) };
    };
    let authority = rest.split(['/', '?', '#']).next().unwrap_or_default();
    if authority.is_empty() {
        return invalid(field, OptionRule::Malformed);
    }
    if authority.contains('@') {
        return invalid(field, OptionRule::CredentialsInUrl);
    }
    Ok(())
}

fn read_method(method: Option<String>, effect: Option<&str>) -> Result<(String, Effect), InvalidOption> {
    let method = method.unwrap_or_else(|| "POST".into());
    if !matches!(method.as_str(), "POST" | "PUT" | "PATCH" | "DELETE" | "GET" | "HEAD") {
        return invalid("method", OptionRule::UnknownValue);
    }
    let effect = word("effect", effect, Effect::Once, |name| match name {
        "none" => Some(Effect::None),
        "idempotent" => Some(Effect::Idempotent),
        "once" => Some(Effect::Once),
        _ => None,
    })?;
    // A read needs no intent at all, and a read with an effect is a fault of the server (R125).
    if matches!(method.as_str(), "GET" | "HEAD") {
        return invalid("method", OptionRule::EffectOfSafeMethod);
    }
    Ok((method, effect))
}

fn read_attempts(attempts: Option<f64>) -> Result<u8, InvalidOption> {
    let Some(wanted) = attempts else { return Ok(ATTEMPTS_DEFAULT) };
    let mut count = 1;
    while count <= ATTEMPTS_MAX {
        if f64::from(count) == wanted {
            return Ok(count);
        }
        count += 1;
    }
    invalid("attempts", OptionRule::OutOfRange)
}

#[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss, clippy::cast_precision_loss)] // range checked first
fn millis(field: &'static str, value: Option<f64>, default: Millis, max: Millis) -> Result<Millis, InvalidOption> {
    match value {
        None => Ok(default),
        // NaN fails both comparisons.
        Some(value) if value >= 1.0 && value <= max.0 as f64 => Ok(Millis(value as u64)),
        Some(_) => invalid(field, OptionRule::OutOfRange),
    }
}

fn word<T>(
    field: &'static str,
    value: Option<&str>,
    default: T,
    read: fn(&str) -> Option<T>,
) -> Result<T, InvalidOption> {
    match value {
        None => Ok(default),
        Some(name) => read(name).ok_or(InvalidOption { field, rule: OptionRule::UnknownValue }),
    }
}

fn read_reconcile(value: Option<&str>, has_status: bool) -> Result<Reconcile, InvalidOption> {
    // An operation without a trustworthy check ends with a person (R125).
    let default = if has_status { Reconcile::StatusByKey } else { Reconcile::Manual };
    let reconcile = word("reconcile", value, default, |name| match name {
        "status_by_key" => Some(Reconcile::StatusByKey),
        "read_object" => Some(Reconcile::ReadObject),
        "manual" => Some(Reconcile::Manual),
        _ => None,
    })?;
    if reconcile == Reconcile::StatusByKey && !has_status {
        return invalid("reconcile", OptionRule::NeedsStatus);
    }
    Ok(reconcile)
}

fn check_fields(significant: &[String], volatile: &[String], remember: &[String]) -> Result<(), InvalidOption> {
    for (field, names) in [("significant", significant), ("volatile", volatile), ("remember", remember)] {
        for name in names {
            if name.is_empty() {
                return invalid(field, OptionRule::Missing);
            }
            if name.starts_with(RESERVED_PREFIX) {
                return invalid(field, OptionRule::ReservedName);
            }
        }
    }
    if volatile.iter().any(|name| significant.contains(name)) {
        return invalid("volatile", OptionRule::Contradiction);
    }
    for name in remember {
        if is_sensitive(name) {
            return invalid("remember", OptionRule::SensitiveRemember);
        }
        if volatile.contains(name) {
            return invalid("remember", OptionRule::Contradiction);
        }
    }
    Ok(())
}

fn check_pointer(field: &'static str, pointer: Option<&str>) -> Result<(), InvalidOption> {
    match pointer {
        Some(pointer) if !(pointer.is_empty() || pointer.starts_with('/')) => invalid(field, OptionRule::NotAPointer),
        Some(_) | None => Ok(()),
    }
}
