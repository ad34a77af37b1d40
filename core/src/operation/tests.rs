//! Defaults and the decisions that follow from an entry; refusals are in the shared vectors.

use alloc::string::ToString;
use alloc::vec;

use super::*;

fn order() -> OperationInput {
    OperationInput {
        name: "order.create".into(),
        url: "https://shop.test/orders".into(),
        effect: Some("once".into()),
        contract: Some("postonce".into()),
        status_url: Some("https://shop.test/orders/status".into()),
        ..OperationInput::default()
    }
}

fn define(input: OperationInput) -> Operation {
    Operation::define(input).unwrap()
}

fn refusal(input: OperationInput) -> (&'static str, OptionRule) {
    let invalid = Operation::define(input).unwrap_err();
    (invalid.field, invalid.rule)
}

#[test]
fn r125_given_an_entry_with_only_what_it_needs_then_the_defaults_are_the_careful_ones() {
    let plain =
        define(OperationInput { name: "x".into(), url: "https://a.test/x".into(), ..OperationInput::default() });
    assert_eq!((plain.method, plain.effect, plain.contract), (Method::Post, Effect::Once, None));
    assert_eq!((plain.reconcile, plain.persistence), (Reconcile::Manual, Persistence::BestEffort));
    assert_eq!((plain.object, plain.encoding), (ObjectKind::Required, Encoding::Json));
    assert_eq!((plain.budget, plain.attempts, plain.attempt_cap()), (Millis(8_000), 1, Millis(8_000)));
    assert_eq!((plain.retention, plain.minimum_attempt()), (Millis(86_400_000), Millis(500)));
    assert!(plain.remember.is_empty());
    assert!(!plain.automatic_retry() && !plain.can_check() && !plain.can_fence());
}

#[test]
fn r7_given_no_declared_contract_then_one_attempt_however_many_were_asked() {
    let operation = define(OperationInput { contract: None, status_url: None, attempts: Some(5.0), ..order() });
    assert_eq!((operation.contract, operation.attempts), (None, 1));
    assert!(!operation.automatic_retry() && !operation.can_check() && !operation.can_fence());
}

#[test]
fn r7_given_a_status_route_by_key_then_the_contract_is_declared_with_it_and_reading_an_object_declares_none() {
    let declared = define(OperationInput { contract: None, ..order() });
    assert_eq!((declared.contract, declared.attempts), (Some(Contract::Postonce), 3));
    let read = define(OperationInput { contract: None, reconcile: Some("read_object".into()), ..order() });
    assert_eq!((read.contract, read.attempts), (None, 1));
    assert!(read.can_check(), "asking is safe without a contract");
}

#[test]
fn r7_given_a_declared_contract_then_the_asked_attempts() {
    let operation = define(OperationInput { attempts: Some(5.0), ..order() });
    assert_eq!((operation.attempts, operation.attempt_cap()), (5, Millis(4_000)));
    assert!(operation.automatic_retry() && operation.can_check() && operation.can_fence());
}

fn given_input(method: &str) -> OperationInput {
    OperationInput { method: Some(method.into()), effect: Some("idempotent".into()), contract: None, ..order() }
}

#[test]
fn r125_given_put_or_delete_then_resent_only_where_the_entry_states_its_effect() {
    for method in ["PUT", "PATCH", "DELETE"] {
        let given = |effect: Option<&str>, contract: Option<&str>| {
            define(OperationInput {
                method: Some(method.into()),
                effect: effect.map(Into::into),
                contract: contract.map(Into::into),
                ..order()
            })
        };
        assert_eq!(given(None, Some("postonce")).attempts, 1, "{method}");
        let undeclared = OperationInput { status_url: None, ..given_input(method) };
        assert_eq!(define(undeclared).attempts, 1, "{method}");
        assert_eq!(given(Some("idempotent"), Some("bare")).attempts, 3, "{method}");
        assert_eq!(given(Some("once"), Some("postonce")).attempts, 3, "{method}");
    }
}

#[test]
fn r125_given_no_trustworthy_status_then_never_resent_automatically() {
    let manual = OperationInput { reconcile: Some("manual".into()), ..order() };
    let unasked = OperationInput { status_url: None, ..order() };
    for input in [manual, unasked] {
        let operation = define(input);
        assert_eq!((operation.reconcile, operation.attempts), (Reconcile::Manual, 1));
        assert!(!operation.automatic_retry() && !operation.can_check() && !operation.can_fence());
    }
}

#[test]
fn r125_given_an_object_to_read_then_a_fence_never_deletes_it() {
    let operation = define(OperationInput { reconcile: Some("read_object".into()), ..order() });
    assert!(operation.can_check());
    assert!(!operation.can_fence());
}

#[test]
fn r88_given_a_secret_under_remember_then_the_error_names_it_and_the_remedy() {
    let input = OperationInput { remember: vec!["sku".into(), "cardNumber".into()], ..order() };
    let invalid = Operation::define(input).unwrap_err();
    assert_eq!((invalid.field, invalid.rule), ("remember", OptionRule::SensitiveRemember));
    assert_eq!(invalid.item.as_deref(), Some("cardNumber"));
    assert_eq!(
        invalid.to_string(),
        "remember (cardNumber): sensitive-remember. Take the field out: secrets and card data are never stored on the device."
    );
}

#[test]
fn r33_given_any_number_for_a_duration_then_refused_or_at_least_one_millisecond() {
    for number in [f64::NAN, f64::INFINITY, f64::NEG_INFINITY, -1.0, -0.0, 0.0, 0.999, 1e300, 600_000.5] {
        let refused = refusal(OperationInput { budget: Some(number), ..order() });
        assert_eq!(refused, ("budget", OptionRule::OutOfRange), "{number}");
    }
    let fraction = define(OperationInput { budget: Some(1_234.9), ..order() });
    assert_eq!(fraction.budget, Millis(1_234));
    let least = define(OperationInput { budget: Some(1.0), ..order() });
    assert_eq!((least.attempt_cap(), least.minimum_attempt()), (Millis(1), Millis(1)));
}

#[test]
fn r125_given_lists_and_texts_at_their_limits_then_one_more_is_refused() {
    let names = |count: usize| (0..count).map(|number| number.to_string()).collect::<Vec<_>>();
    define(OperationInput { volatile: names(LIST_MAX), ..order() });
    let over = refusal(OperationInput { volatile: names(LIST_MAX + 1), ..order() });
    assert_eq!(over, ("volatile", OptionRule::OverLimit));
    let mut url = String::from("https://shop.test/");
    while url.len() < URL_BYTES_MAX {
        url.push('a');
    }
    define(OperationInput { url: url.clone(), ..order() });
    url.push('a');
    assert_eq!(refusal(OperationInput { url, ..order() }), ("url", OptionRule::OverLimit));
}
