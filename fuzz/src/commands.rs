//! The options of an operation.

use postonce_core::budget::{ATTEMPTS_MAX, BUDGET_MAX, RETENTION_MAX, SKEW};
use postonce_core::json::{Value, parse};
use postonce_core::operation::{Contract, FIELDS, Operation, OperationInput, Reconcile};
use postonce_core::time::Millis;

use crate::lossy;

/// Whatever is read is within the limits and no more daring than was said (R7, R28, R33, R125).
pub(crate) fn options(bytes: &[u8]) {
    let Ok(options) = parse(&lossy(bytes)) else { return };
    let read = Operation::from_checked(&options);
    within_limits(&read);

    match Operation::define(input(&options)) {
        Ok(defined) => {
            within_limits(&defined);
            assert_eq!(read, defined, "the browser reads what the check made");
        }
        Err(invalid) => {
            let option = invalid.field.split('.').next().unwrap_or_default();
            assert!(FIELDS.contains(&option) && invalid.remedy().ends_with('.'), "{invalid}");
        }
    }
}

fn within_limits(operation: &Operation) {
    assert!((1..=ATTEMPTS_MAX).contains(&operation.attempts), "{} attempts", operation.attempts);
    assert!(operation.attempts == 1 || operation.automatic_retry());
    assert!(operation.budget >= Millis(1) && operation.budget <= BUDGET_MAX, "{:?}", operation.budget);
    assert!(operation.attempt_cap() >= Millis(1) && operation.attempt_cap() <= operation.budget);
    assert!(operation.minimum_attempt() >= Millis(1) && operation.minimum_attempt() <= operation.budget);
    assert!(operation.retention > SKEW && operation.retention <= RETENTION_MAX, "{:?}", operation.retention);
    if operation.contract.is_none() || operation.reconcile == Reconcile::Manual {
        assert!(!operation.automatic_retry(), "nothing is known of this endpoint (R7)");
    }
    if operation.can_fence() {
        assert!(operation.contract == Some(Contract::Postonce) && operation.can_check());
    }
}

fn input(options: &Value) -> OperationInput {
    let text = |name: &str| options.get(name).and_then(Value::as_str).map(str::to_owned);
    let number = |name: &str| options.get(name).and_then(number);
    let names = |name: &str| {
        let list = options.get(name).and_then(Value::as_array).unwrap_or_default();
        list.iter().filter_map(Value::as_str).map(str::to_owned).collect()
    };
    let flag = |name: &str| options.get(name).and_then(Value::as_bool).unwrap_or_default();
    let expect = match options.get("expect") {
        Some(Value::Object(members)) => {
            members.iter().filter_map(|(name, value)| Some((name.clone(), value.as_str()?.to_owned()))).collect()
        }
        _ => Vec::new(),
    };
    OperationInput {
        name: text("name").unwrap_or_default(),
        url: text("url").unwrap_or_default(),
        method: text("method"),
        effect: text("effect"),
        contract: text("contract"),
        budget: number("budget"),
        attempts: number("attempts"),
        attempt_cap: number("attemptCap"),
        significant: names("significant"),
        volatile: names("volatile"),
        remember: names("remember"),
        status_url: options.get("status").and_then(|status| status.get("url")?.as_str()).map(str::to_owned),
        object: text("object"),
        persistence: text("persistence"),
        reconcile: text("reconcile"),
        encoding: text("encoding"),
        retention: number("retention"),
        result_id: text("resultId"),
        expect,
        redirected_to: options
            .get("confirm")
            .and_then(|confirm| Some(String::from(confirm.get("redirectedTo")?.as_str()?))),
        confirm_empty: options.get("confirm").and_then(|confirm| confirm.get("empty")?.as_bool()).unwrap_or_default(),
        anonymous: flag("anonymous"),
        refusals_final: text("refusals").is_some(),
        echo_none: text("echo").is_some(),
        base: Some("https://shop.test/".to_owned()),
    }
}

/// Whole milliseconds, as a facade hands them over; anything else is left out on both sides.
fn number(value: &Value) -> Option<f64> {
    value.as_u64().map(|whole| whole as f64)
}
