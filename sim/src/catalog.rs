//! The operations of the world, each with what its server promises.

use postonce_core::contract::{Policy, RecoveryClass, RetentionRule, SubjectRule};
use postonce_core::fingerprint::{self, Canonical, Field, Target};
use postonce_core::operation::{Operation, OperationInput};
use postonce_core::time::Millis;

/// What the effect of an operation is to its server.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum EffectKind {
    /// Commits with its record (R108).
    Local,
    /// Happens elsewhere; whether it did is lost with its owner.
    External,
    /// Happens elsewhere under a key of ours, which is honoured there for a while (R109).
    Downstream,
}

/// One entry: the client's operation and the server's promise.
#[derive(Clone, Debug)]
pub struct Entry {
    /// As the page declares it.
    pub operation: Operation,
    /// As the server keeps it.
    pub policy: Policy,
    /// What its effect is.
    pub effect: EffectKind,
    /// One effect for one object, over all devices (R103).
    pub single: bool,
}

/// How long the downstream service of the catalog honours a key.
pub const DOWNSTREAM_RETAINS: Millis = Millis(60 * 60 * 1_000);

/// All entries; the first is the plainest.
#[must_use]
pub fn catalog() -> Vec<Entry> {
    let own = |name: &str| OperationInput {
        name: name.into(),
        url: "https://shop.test/orders".into(),
        effect: Some("once".into()),
        contract: Some("postonce".into()),
        status_url: Some("https://shop.test/orders/status".into()),
        result_id: Some("/id".into()),
        remember: vec!["quantity".into()],
        expect: vec![("quantity".into(), "/quantity".into())],
        ..OperationInput::default()
    };
    let foreign = |name: &str, contract: Option<&str>| OperationInput {
        contract: contract.map(String::from),
        status_url: None,
        ..own(name)
    };
    let foreign_policy =
        Policy { records: RetentionRule::NeverPurged, subject: SubjectRule::Anonymous, ..Policy::default() };
    let external = Policy { recovery: RecoveryClass::None, ..Policy::default() };
    let downstream =
        Policy { recovery: RecoveryClass::DownstreamIdempotent { retained: DOWNSTREAM_RETAINS }, ..Policy::default() };
    let quick = OperationInput {
        budget: Some(2_000.0),
        attempts: Some(2.0),
        persistence: Some("required".into()),
        ..own("note.send")
    };
    // Its answers repeat nothing of the wish: only the fingerprint tells whose they are (R57).
    let silent = OperationInput { expect: Vec::new(), ..own("order.single") };
    let manual = OperationInput { reconcile: Some("manual".into()), ..own("claim.file") };
    let entries = [
        (own("order.create"), Policy::default(), EffectKind::Local, false),
        (silent, Policy::default(), EffectKind::Local, true),
        (own("card.charge"), external, EffectKind::External, false),
        (own("parcel.book"), downstream, EffectKind::Downstream, false),
        (quick, Policy::default(), EffectKind::Local, false),
        (manual, Policy::default(), EffectKind::Local, false),
        (foreign("refund.make", Some("ietf")), foreign_policy.clone(), EffectKind::Local, false),
        (foreign("seat.hold", Some("bare")), foreign_policy.clone(), EffectKind::Local, false),
        (foreign("lead.post", None), foreign_policy, EffectKind::Local, false),
    ];
    entries
        .into_iter()
        .filter_map(|(input, policy, effect, single)| {
            let operation = Operation::define(input).ok()?;
            Some(Entry { operation, policy, effect, single })
        })
        .collect()
}

/// Canonical bytes of a form with that quantity.
#[must_use]
pub fn canonical(operation: &str, quantity: u8) -> Option<Canonical> {
    let pairs = [(String::from("quantity"), Field::Text(quantity.to_string()))];
    let target = Target { operation, method: "POST", path: &[], query: &[] };
    fingerprint::canonical_pairs(&target, &pairs, &[]).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn given_the_catalog_then_every_entry_is_valid() {
        assert_eq!(catalog().len(), 9);
        assert!(catalog().iter().all(|entry| canonical(&entry.operation.name, 2).is_some()));
    }
}
