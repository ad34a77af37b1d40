//! An entry from options that a facade has already checked.

use alloc::string::String;
use alloc::vec::Vec;

use super::choice::{Contract, Effect, Encoding, Method, ObjectKind, Persistence, Reconcile};
use super::{Operation, Resend, contract_of, reconcile_of, resend};
use crate::budget;
use crate::json::Value;
use crate::time::Millis;

impl Operation {
    /// Takes options as JSON in their TypeScript spelling, whole milliseconds, checked before by the same vectors as
    /// [`Operation::define`]: that check is not paid for twice in the browser. What cannot be is read as its default,
    /// never as something more daring.
    ///
    /// ```
    /// use postonce_core::json;
    /// use postonce_core::operation::Operation;
    /// let options = json::parse(r#"{"name":"order.create","url":"/orders","status":{"url":"/orders/status"}}"#);
    /// let Ok(options) = options else { panic!("valid JSON") };
    /// assert_eq!(Operation::from_checked(&options).attempts, 3);
    /// ```
    #[must_use]
    pub fn from_checked(options: &Value) -> Self {
        let word = |name: &str| options.get(name).and_then(Value::as_str);
        let owned = |name: &str| word(name).map(String::from);
        let flag = |name: &str| options.get(name).and_then(Value::as_bool).unwrap_or_default();
        let status_url = options.get("status").and_then(|status| status.get("url")?.as_str()).map(String::from);
        let confirm = options.get("confirm");
        let effect = word("effect").and_then(Effect::parse);
        let method = word("method").and_then(Method::parse).unwrap_or(Method::Post);
        let asked = word("reconcile").and_then(Reconcile::parse);
        let reconcile = reconcile_of(asked, status_url.is_some());
        let contract = contract_of(word("contract").and_then(Contract::parse), reconcile);
        let resend = resend(method, effect, contract, reconcile);
        let attempts = match resend {
            Resend::ByGesture => 1,
            Resend::Automatic => within(options, "attempts", LEAST, Millis(u64::from(budget::ATTEMPTS_MAX)))
                .map_or(budget::ATTEMPTS_DEFAULT, |asked| asked.0 as u8),
        };
        let budget = within(options, "budget", LEAST, budget::BUDGET_MAX).unwrap_or(budget::BUDGET_DEFAULT);
        Self {
            name: owned("name").unwrap_or_default(),
            url: owned("url").unwrap_or_default(),
            method,
            effect: effect.unwrap_or(Effect::Once),
            contract,
            budget,
            attempts,
            significant: texts(options.get("significant")),
            volatile: texts(options.get("volatile")),
            remember: texts(options.get("remember")),
            status_url,
            object: word("object").and_then(ObjectKind::parse).unwrap_or(ObjectKind::Required),
            persistence: word("persistence").and_then(Persistence::parse).unwrap_or(Persistence::BestEffort),
            reconcile,
            encoding: word("encoding").and_then(Encoding::parse).unwrap_or(Encoding::Json),
            retention: within(options, "retention", budget::SKEW.saturating_add(LEAST), budget::RETENTION_MAX)
                .unwrap_or(budget::RETENTION),
            result_id: owned("resultId"),
            expect: members(options.get("expect")),
            confirm_empty: confirm.and_then(|confirm| confirm.get("empty")?.as_bool()).unwrap_or_default(),
            redirected_to: confirm.and_then(|confirm| confirm.get("redirectedTo")?.as_str()).map(String::from),
            anonymous: flag("anonymous"),
            refusals_final: word("refusals").is_some(),
            echo_none: word("echo").is_some(),
            cap: within(options, "attemptCap", LEAST, budget).unwrap_or(budget::default_cap(budget, attempts)),
            resend,
        }
    }
}

/// The smallest of every number.
const LEAST: Millis = Millis(1);

/// A whole number inside its limits; any other counts as left out.
fn within(options: &Value, name: &str, min: Millis, max: Millis) -> Option<Millis> {
    let number = Millis(options.get(name)?.as_u64()?);
    if number < min || number > max { None } else { Some(number) }
}

fn texts(list: Option<&Value>) -> Vec<String> {
    let items = list.and_then(Value::as_array).unwrap_or_default();
    items.iter().filter_map(|item| item.as_str().map(String::from)).collect()
}

fn members(of: Option<&Value>) -> Vec<(String, String)> {
    let Some(Value::Object(members)) = of else { return Vec::new() };
    members.iter().filter_map(|(name, value)| Some((name.clone(), value.as_str()?.into()))).collect()
}
