//! What the contract has to know about an operation whose effect is an ordinary handler.

use std::sync::Arc;

use async_trait::async_trait;
use postonce_core::contract::Policy;

use crate::operation::{Answer, Authenticated, Command, EffectError, Operation, Outcome};
use crate::payload::Payload;
use crate::store::{RecordId, Store};

type Object = dyn Fn(&Payload) -> Option<String> + Send + Sync;
type Expected = dyn Fn(&Payload) -> Option<serde_json::Value> + Send + Sync;
type Admission = dyn Fn(&Authenticated, &Payload) -> Result<(), Answer> + Send + Sync;

/// Name, numbers and fields of one operation. It runs nothing itself: status check and fence need no more than this,
/// and [`OnceLayer`](crate::OnceLayer) adds the handler.
#[derive(Clone)]
pub struct Rules {
    name: Arc<str>,
    policy: Policy,
    volatile: Arc<[String]>,
    result_id: Arc<str>,
    bare_keys: BareKeys,
    object: Option<Arc<Object>>,
    expected: Option<Arc<Expected>>,
    admission: Option<Arc<Admission>>,
}

/// Whether an unquoted key is accepted beside a quoted one (R106).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum BareKeys {
    Refused,
    Accepted,
}

impl std::fmt::Debug for Rules {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.debug_struct("Rules").field("name", &self.name).field("policy", &self.policy).finish_non_exhaustive()
    }
}

impl Rules {
    /// An operation by its name, as both sides spell it (`order.create`), with the default numbers, no volatile field,
    /// no result id, quoted keys only, no single-use object, and everybody admitted.
    #[must_use]
    pub fn new(name: &str) -> Self {
        Self {
            name: Arc::from(name),
            policy: Policy::default(),
            volatile: Arc::from([]),
            result_id: Arc::from(""),
            bare_keys: BareKeys::Refused,
            object: None,
            expected: None,
            admission: None,
        }
    }

    /// With other published numbers.
    #[must_use]
    pub fn policy(self, policy: Policy) -> Self {
        Self { policy, ..self }
    }

    /// With fields that may differ between attempts and stay out of the fingerprint (R11).
    #[must_use]
    pub fn volatile(self, fields: &[&str]) -> Self {
        Self { volatile: fields.iter().map(|field| String::from(*field)).collect(), ..self }
    }

    /// With the JSON Pointer to the result's id in a 2xx body.
    #[must_use]
    pub fn result_id(self, pointer: &str) -> Self {
        Self { result_id: Arc::from(pointer), ..self }
    }

    /// With unquoted keys accepted too, as most clients of other vendors send them.
    #[must_use]
    pub fn bare_keys(self) -> Self {
        Self { bare_keys: BareKeys::Accepted, ..self }
    }

    /// With an object that only one key may have at a time, over all devices (R103).
    #[must_use]
    pub fn single_use(self, object: impl Fn(&Payload) -> Option<String> + Send + Sync + 'static) -> Self {
        Self { object: Some(Arc::new(object)), ..self }
    }

    /// With the few values that a reconciliation compares with what it finds; they are kept with the record (R109).
    #[must_use]
    pub fn expect(self, values: impl Fn(&Payload) -> Option<serde_json::Value> + Send + Sync + 'static) -> Self {
        Self { expected: Some(Arc::new(values)), ..self }
    }

    /// With a check of right and payload, asked only where no record exists; its refusal stores nothing (R89, R112).
    #[must_use]
    pub fn admit(self, check: impl Fn(&Authenticated, &Payload) -> Result<(), Answer> + Send + Sync + 'static) -> Self {
        Self { admission: Some(Arc::new(check)), ..self }
    }
}

#[async_trait]
impl<S: Store> Operation<S> for Rules {
    fn name(&self) -> &str {
        &self.name
    }

    fn policy(&self) -> &Policy {
        &self.policy
    }

    fn volatile(&self) -> &[String] {
        &self.volatile
    }

    fn result_id(&self) -> &str {
        &self.result_id
    }

    fn accepts_bare_keys(&self) -> bool {
        self.bare_keys == BareKeys::Accepted
    }

    fn object(&self, payload: &Payload) -> Option<String> {
        self.object.as_ref().and_then(|object| object(payload))
    }

    fn expected(&self, payload: &Payload) -> Option<serde_json::Value> {
        self.expected.as_ref().and_then(|expected| expected(payload))
    }

    fn admit(&self, who: &Authenticated, payload: &Payload) -> Result<(), Answer> {
        self.admission.as_ref().map_or(Ok(()), |check| check(who, payload))
    }

    async fn execute(&self, _tx: &mut S::Tx, _record: RecordId, _command: &Command) -> Result<Outcome, EffectError> {
        Err(EffectError::NotApplied(String::from("these rules have no handler")))
    }
}
