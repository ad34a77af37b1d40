//! The catalog of operations: what one endpoint does, promises and needs, checked once at definition (R125).

mod address;
mod checked;
mod choice;
mod invalid;
mod redirect;
mod sensitive;
#[cfg(test)]
mod tests;

use alloc::string::String;
use alloc::vec::Vec;

pub use self::choice::{Contract, Effect, Encoding, Method, ObjectKind, Persistence, Reconcile};
pub use self::invalid::{InvalidOption, OptionRule};
pub use self::redirect::confirms;
use crate::budget;
use crate::fingerprint::RESERVED_PREFIX;
use crate::time::Millis;

/// Every option of an operation as TypeScript spells it; a facade refuses any other. The last three say how `fetch` is
/// called and stay outside the core.
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
    "keepalive",
];

/// Longest name, in bytes.
pub const NAME_BYTES_MAX: usize = 64;
/// Longest URL, in bytes.
pub const URL_BYTES_MAX: usize = 2_048;
/// Most entries in one list of fields.
pub const LIST_MAX: usize = 128;

/// Options as they arrive: words unread, numbers unchecked (they come from JavaScript), `None` for what was left out.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct OperationInput {
    /// Stable name, `[A-Za-z0-9_.-]{1,64}`.
    pub name: String,
    /// Where the command goes: absolute, or relative to `base`.
    pub url: String,
    /// `POST` (default), `PUT`, `PATCH` or `DELETE`.
    pub method: Option<String>,
    /// `none`, `idempotent` or `once` (default).
    pub effect: Option<String>,
    /// `postonce`, `ietf` or `bare`; without one there is a single attempt (R7).
    pub contract: Option<String>,
    /// Milliseconds for a round.
    pub budget: Option<f64>,
    /// Attempts in a round.
    pub attempts: Option<f64>,
    /// Milliseconds for one attempt.
    pub attempt_cap: Option<f64>,
    /// Fields that make the wish what it is; an undeclared one counts as such too (R11).
    pub significant: Vec<String>,
    /// Fields that are read afresh for each attempt and never fingerprinted (R44).
    pub volatile: Vec<String>,
    /// Fields that may be stored (R88).
    pub remember: Vec<String>,
    /// Where to ask what became of a key, or where the object is read.
    pub status_url: Option<String>,
    /// `required` (default) or `singleton`.
    pub object: Option<String>,
    /// `required` or `best-effort` (default).
    pub persistence: Option<String>,
    /// `status_by_key` (default with a status URL), `read_object` or `manual` (default without).
    pub reconcile: Option<String>,
    /// `json` (default), `urlencoded` or `multipart`.
    pub encoding: Option<String>,
    /// Milliseconds that the server remembers a key.
    pub retention: Option<f64>,
    /// JSON Pointer to the result's id in a successful body.
    pub result_id: Option<String>,
    /// Field name and JSON Pointer: what an answer has to repeat (R126).
    pub expect: Vec<(String, String)>,
    /// 204 and 205 confirm (R39).
    pub confirm_empty: bool,
    /// Where a redirect ends that confirms; `*` stands for one segment (R40).
    pub redirected_to: Option<String>,
    /// No subject travels with the requests (R123).
    pub anonymous: bool,
    /// A foreign server's refusals are final (R24).
    pub refusals_final: bool,
    /// A foreign server echoes no key (R39).
    pub echo_none: bool,
    /// The document's URL, where one is known.
    pub base: Option<String>,
}

/// One checked entry of the catalog. Made by [`Operation::define`] and not changed afterwards.
///
/// ```
/// use postonce_core::operation::{Operation, OperationInput};
/// use postonce_core::time::Millis;
/// let input = OperationInput {
///     name: "order.create".into(),
///     url: "https://shop.test/orders".into(),
///     contract: Some("postonce".into()),
///     status_url: Some("https://shop.test/orders/status".into()),
///     ..OperationInput::default()
/// };
/// let Ok(order) = Operation::define(input) else { panic!("valid options") };
/// assert_eq!((order.attempts, order.attempt_cap()), (3, Millis(4_000)));
///
/// let bare = OperationInput { name: "x".into(), url: "https://shop.test/x".into(), ..OperationInput::default() };
/// // R7: nothing is known of this endpoint, so a POST is never repeated.
/// assert_eq!(Operation::define(bare).map(|operation| operation.attempts), Ok(1));
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Operation {
    /// Stable name; the fingerprint contains it.
    pub name: String,
    /// As given: absolute, or relative to the document.
    pub url: String,
    /// HTTP method of the command.
    pub method: Method,
    /// What running it twice would do.
    pub effect: Effect,
    /// What the server promises; `None` means nothing.
    pub contract: Option<Contract>,
    /// What a round may take.
    pub budget: Millis,
    /// Attempts a round may make on its own: 1 whatever was asked, unless [`Operation::automatic_retry`].
    pub attempts: u8,
    /// Declared significant fields.
    pub significant: Vec<String>,
    /// Fields outside the fingerprint.
    pub volatile: Vec<String>,
    /// Fields that may be stored.
    pub remember: Vec<String>,
    /// Where to ask what became of a key, or where the object is read.
    pub status_url: Option<String>,
    /// Whether binding names an object.
    pub object: ObjectKind,
    /// What happens where nothing can be stored.
    pub persistence: Persistence,
    /// How doubt is resolved.
    pub reconcile: Reconcile,
    /// Form of the request body.
    pub encoding: Encoding,
    /// How long the server remembers a key (R28).
    pub retention: Millis,
    /// JSON Pointer to the result's id.
    pub result_id: Option<String>,
    /// Field name and JSON Pointer (R126).
    pub expect: Vec<(String, String)>,
    /// 204 and 205 confirm.
    pub confirm_empty: bool,
    /// Where a redirect ends that confirms; redirects are followed only with it (R40).
    pub redirected_to: Option<String>,
    /// No subject travels.
    pub anonymous: bool,
    /// Refusals without a marker are final.
    pub refusals_final: bool,
    /// The server echoes no key.
    pub echo_none: bool,
    cap: Millis,
    resend: Resend,
}

/// Whether the entry allows another attempt without a person's word.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Resend {
    Automatic,
    ByGesture,
}

impl Operation {
    /// Checks options and fills in defaults.
    ///
    /// # Errors
    /// The first option that breaks a rule, with the rule.
    pub fn define(input: OperationInput) -> Result<Self, InvalidOption> {
        check_name(&input.name)?;
        let base = input.base.as_deref();
        address::check("url", &input.url, base)?;
        if let Some(url) = &input.status_url {
            address::check("status.url", url, base)?;
        }
        if let Some(pattern) = &input.redirected_to {
            address::check("confirm.redirectedTo", pattern, base)?;
        }
        let effect = choice::pick("effect", input.effect.as_deref(), Effect::parse)?;
        let method = method(input.method.as_deref(), effect)?;
        let contract = choice::pick("contract", input.contract.as_deref(), Contract::parse)?;
        let reconcile = reconcile(input.reconcile.as_deref(), input.status_url.is_some())?;
        let contract = contract_of(contract, reconcile);
        check_fields(&input)?;
        check_pointers(&input)?;
        let budget = millis("budget", input.budget, budget::BUDGET_DEFAULT, budget::BUDGET_MAX)?;
        let resend = resend(method, effect, contract, reconcile);
        let asked = attempts(input.attempts)?;
        let attempts = if resend == Resend::Automatic { asked } else { 1 };
        let cap = millis("attemptCap", input.attempt_cap, budget::default_cap(budget, attempts), budget::BUDGET_MAX)?;
        if cap > budget {
            return Err(InvalidOption::new("attemptCap", OptionRule::CapAboveBudget));
        }
        let object = choice::pick("object", input.object.as_deref(), ObjectKind::parse)?;
        let persistence = choice::pick("persistence", input.persistence.as_deref(), Persistence::parse)?;
        let encoding = choice::pick("encoding", input.encoding.as_deref(), Encoding::parse)?;
        Ok(Self {
            name: input.name,
            url: input.url,
            method,
            effect: effect.unwrap_or(Effect::Once),
            contract,
            budget,
            attempts,
            significant: input.significant,
            volatile: input.volatile,
            remember: input.remember,
            status_url: input.status_url,
            object: object.unwrap_or(ObjectKind::Required),
            persistence: persistence.unwrap_or(Persistence::BestEffort),
            reconcile,
            encoding: encoding.unwrap_or(Encoding::Json),
            retention: retention(input.retention)?,
            result_id: input.result_id,
            expect: input.expect,
            confirm_empty: input.confirm_empty,
            redirected_to: input.redirected_to,
            anonymous: input.anonymous,
            refusals_final: input.refusals_final,
            echo_none: input.echo_none,
            cap,
            resend,
        })
    }

    /// An attempt's own limit (R35).
    #[must_use]
    pub const fn attempt_cap(&self) -> Millis {
        self.cap
    }

    /// With less than this left no attempt begins (R33).
    #[must_use]
    pub const fn minimum_attempt(&self) -> Millis {
        budget::minimum_attempt(self.budget)
    }

    /// Whether a second attempt may go out by itself: a contract is declared (R7), doubt can be resolved by asking, and for
    /// anything but POST the entry states its effect (R125).
    #[must_use]
    pub const fn automatic_retry(&self) -> bool {
        matches!(self.resend, Resend::Automatic)
    }

    /// Whether there is something to ask what became of the intent.
    #[must_use]
    pub const fn can_check(&self) -> bool {
        self.status_url.is_some() && !matches!(self.reconcile, Reconcile::Manual)
    }

    /// Whether a key can be voided. Never where the status URL is an object's own: a fence is a `DELETE`.
    #[must_use]
    pub const fn can_fence(&self) -> bool {
        let own = matches!(self.contract, Some(Contract::Postonce));
        own && self.status_url.is_some() && matches!(self.reconcile, Reconcile::StatusByKey)
    }
}

fn check_name(name: &str) -> Result<(), InvalidOption> {
    if name.is_empty() {
        return Err(InvalidOption::new("name", OptionRule::Missing));
    }
    if name.len() > NAME_BYTES_MAX {
        return Err(InvalidOption::new("name", OptionRule::OverLimit));
    }
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'.' | b'-');
    if name.bytes().all(plain) { Ok(()) } else { Err(InvalidOption::new("name", OptionRule::MalformedName)) }
}

fn method(word: Option<&str>, effect: Option<Effect>) -> Result<Method, InvalidOption> {
    if matches!(word, Some("GET" | "HEAD")) && effect != Some(Effect::None) {
        return Err(InvalidOption::new("method", OptionRule::SafeMethodWithEffect));
    }
    Ok(choice::pick("method", word, Method::parse)?.unwrap_or(Method::Post))
}

fn reconcile(word: Option<&str>, has_url: bool) -> Result<Reconcile, InvalidOption> {
    match choice::pick("reconcile", word, Reconcile::parse)? {
        Some(Reconcile::StatusByKey | Reconcile::ReadObject) if !has_url => {
            Err(InvalidOption::new("reconcile", OptionRule::StatusUrlMissing))
        }
        asked => Ok(reconcile_of(asked, has_url)),
    }
}

fn reconcile_of(asked: Option<Reconcile>, has_url: bool) -> Reconcile {
    match asked {
        Some(reconcile) => reconcile,
        None if has_url => Reconcile::StatusByKey,
        None => Reconcile::Manual,
    }
}

/// A status route by key belongs to the contract, so declaring one declares the contract, unless another is named.
fn contract_of(named: Option<Contract>, reconcile: Reconcile) -> Option<Contract> {
    named.or_else(|| (reconcile == Reconcile::StatusByKey).then_some(Contract::Postonce))
}

fn resend(method: Method, effect: Option<Effect>, contract: Option<Contract>, reconcile: Reconcile) -> Resend {
    // PUT, PATCH and DELETE may charge or notify: the method alone says nothing (R125).
    let stated = method == Method::Post || effect.is_some();
    if stated && contract.is_some() && reconcile != Reconcile::Manual { Resend::Automatic } else { Resend::ByGesture }
}

/// A duration from JavaScript; fractions of a millisecond are dropped.
fn millis(field: &'static str, given: Option<f64>, default: Millis, max: Millis) -> Result<Millis, InvalidOption> {
    let Some(given) = given else { return Ok(default) };
    // NaN fails both comparisons.
    if given >= 1.0 && given <= max.0 as f64 {
        Ok(Millis(given as u64))
    } else {
        Err(InvalidOption::new(field, OptionRule::OutOfRange))
    }
}

fn attempts(given: Option<f64>) -> Result<u8, InvalidOption> {
    let Some(given) = given else { return Ok(budget::ATTEMPTS_DEFAULT) };
    if !(given >= 1.0 && given <= f64::from(budget::ATTEMPTS_MAX)) {
        return Err(InvalidOption::new("attempts", OptionRule::OutOfRange));
    }
    let whole = given as u8;
    if f64::from(whole) < given {
        return Err(InvalidOption::new("attempts", OptionRule::NotAnInteger));
    }
    Ok(whole)
}

fn retention(given: Option<f64>) -> Result<Millis, InvalidOption> {
    let retention = millis("retention", given, budget::RETENTION, budget::RETENTION_MAX)?;
    // Less the skew nothing would be left, and every key too old at once (R28).
    if retention <= budget::SKEW {
        return Err(InvalidOption::new("retention", OptionRule::OutOfRange));
    }
    Ok(retention)
}

fn check_fields(input: &OperationInput) -> Result<(), InvalidOption> {
    for (field, names) in
        [("significant", &input.significant), ("volatile", &input.volatile), ("remember", &input.remember)]
    {
        limit(field, names.len())?;
        for name in names {
            check_field(field, name)?;
        }
    }
    limit("expect", input.expect.len())?;
    for (name, _) in &input.expect {
        check_field("expect", name)?;
        if input.volatile.contains(name) {
            return Err(InvalidOption::about("expect", OptionRule::VolatileName, name));
        }
    }
    for name in &input.volatile {
        if input.significant.contains(name) {
            return Err(InvalidOption::about("volatile", OptionRule::SignificantAndVolatile, name));
        }
    }
    for name in &input.remember {
        if sensitive::is_sensitive(name) {
            return Err(InvalidOption::about("remember", OptionRule::SensitiveRemember, name));
        }
        if input.volatile.contains(name) {
            return Err(InvalidOption::about("remember", OptionRule::VolatileName, name));
        }
    }
    Ok(())
}

fn limit(field: &'static str, count: usize) -> Result<(), InvalidOption> {
    if count > LIST_MAX { Err(InvalidOption::new(field, OptionRule::OverLimit)) } else { Ok(()) }
}

fn check_field(field: &'static str, name: &str) -> Result<(), InvalidOption> {
    if name.is_empty() {
        return Err(InvalidOption::new(field, OptionRule::Missing));
    }
    if name.starts_with(RESERVED_PREFIX) {
        return Err(InvalidOption::about(field, OptionRule::ReservedName, name));
    }
    Ok(())
}

fn check_pointers(input: &OperationInput) -> Result<(), InvalidOption> {
    if input.result_id.as_deref().is_some_and(|pointer| !is_pointer(pointer)) {
        return Err(InvalidOption::new("resultId", OptionRule::MalformedPointer));
    }
    for (name, pointer) in &input.expect {
        if !is_pointer(pointer) {
            return Err(InvalidOption::about("expect", OptionRule::MalformedPointer, name));
        }
    }
    Ok(())
}

/// RFC 6901: empty, or begins with a slash, and a tilde only as `~0` or `~1`.
fn is_pointer(text: &str) -> bool {
    let mut bytes = text.bytes();
    match bytes.next() {
        None => true,
        Some(b'/') => loop {
            match bytes.next() {
                None => break true,
                Some(b'~') if !matches!(bytes.next(), Some(b'0' | b'1')) => break false,
                Some(_) => {}
            }
        },
        Some(_) => false,
    }
}
