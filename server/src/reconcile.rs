//! Settles what stays open, by looking at what the effect would have left, or by asking a person (R109).
//!
//! A claim whose owner is gone and that never began is given back. One that began is taken over, so that its owner can
//! write nothing any more (R110), and an uncertain record is looked at as it is. The operation's own method reads the
//! object by its stable id; what it finds is compared with the values that were kept with the record. Whatever it cannot
//! tell goes to a person, once, and stays open until somebody rules. Every conclusion is recorded with who and why.

use std::sync::Arc;
use std::time::{Duration, Instant};

use async_trait::async_trait;
use postonce_core::contract::{RecordState, Recovery, StateName, recovery};
use postonce_core::time::{Millis, Wall};
use serde_json::Value;

use crate::layer::Contract;
use crate::metrics;
use crate::operation::{Answer, Operation, downstream_key};
use crate::run::stored_answer;
use crate::store::{By, Conclusion, Guarded, Note, OpenRecord, RecordId, Store, StoreError, Terminal};

/// How many open records one pass looks at.
pub const BATCH_MAX: u32 = 100;

/// What reconciles by itself signs its decisions so, followed by the process's own name.
const WORKER: &str = "reconciler";

/// One open record, as a method of reconciliation sees it.
#[derive(Clone, Debug)]
pub struct Case {
    /// The record's number.
    pub record: RecordId,
    /// The tenant.
    pub tenant: String,
    /// The subject that sent it.
    pub subject: String,
    /// The object it holds, if the operation says so.
    pub object: Option<String>,
    /// What the operation kept for the comparison.
    pub expected: Option<Value>,
    /// When the record was made.
    pub first_seen: Wall,
    key: Secret,
}

/// A key that no debug output shows (R92).
#[derive(Clone)]
struct Secret(String);

impl std::fmt::Debug for Secret {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.write_str("…")
    }
}

impl Case {
    /// The key that the effect gave its downstream service for `purpose`: the stable id to look for there (R108).
    #[must_use]
    pub fn downstream_key(&self, purpose: &str) -> String {
        downstream_key(&self.key.0, self.record, purpose)
    }
}

/// What a look brought.
#[derive(Clone, Debug, PartialEq)]
pub enum Finding {
    /// It happened.
    Applied {
        /// What is answered from now on; 2xx.
        answer: Answer,
        /// What stands there, to be compared with [`Case::expected`] member by member; what is missing here differs.
        values: Value,
    },
    /// It did not happen, and no late copy of the request to a downstream service can still make it happen.
    NotApplied,
    /// Nobody can tell yet, and why: for a person, so name no key, subject or field value (R92).
    Unclear(String),
}

/// An operation's way to find out what became of an effect.
#[async_trait]
pub trait Reconcile: Send + Sync + 'static {
    /// Looks, without side effect. May be asked about the same record again and again.
    async fn look(&self, case: &Case) -> Finding;
}

/// What one pass did.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Pass {
    /// Found done, and settled.
    pub applied: u32,
    /// Surely not done: given back.
    pub not_applied: u32,
    /// Newly handed to a person.
    pub referred: u32,
    /// Left as they were: held by somebody, waiting for a person, or changed meanwhile.
    pub left: u32,
}

/// A person's word on an open record.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Ruling {
    /// It happened; this 2xx is answered from now on.
    Applied(Answer),
    /// It was refused; this 4xx is answered from now on.
    Refused(Answer),
    /// It did not happen and no longer can.
    NotApplied,
}

/// Why a ruling was not taken.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum RulingError {
    /// `by` or `why` is empty: a decision without a name or a reason is none.
    Missing(&'static str),
    /// `answer.status` does not fit the ruling: 2xx for applied, 4xx for refused.
    Status(u16),
    /// No such record is uncertain: it was settled meanwhile, its owner lives, or there is none.
    NotOpen(RecordId),
    /// The store.
    Store(StoreError),
}

impl std::fmt::Display for RulingError {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Missing(field) => write!(formatter, "{field} is empty: say who rules and what it rests on"),
            Self::Status(status) => {
                write!(formatter, "answer.status is {status}: use a 2xx for applied and a 4xx for refused")
            }
            Self::NotOpen(id) => write!(formatter, "record {} is not waiting for a ruling: look at it again", id.0),
            Self::Store(error) => write!(formatter, "{error}"),
        }
    }
}

impl std::error::Error for RulingError {}

/// Settles the open records of one operation. Any number may run, in any number of processes.
pub struct Reconciler<S: Store> {
    store: Arc<S>,
    operation: Arc<dyn Operation<S>>,
    method: Arc<dyn Reconcile>,
    owner: Arc<str>,
}

impl<S: Store> Contract<S> {
    /// A reconciler for one operation, with its method.
    pub fn reconciler(&self, operation: Arc<dyn Operation<S>>, method: impl Reconcile) -> Reconciler<S> {
        let endpoint = self.endpoint(operation);
        Reconciler {
            store: endpoint.store,
            operation: endpoint.operation,
            method: Arc::new(method),
            owner: endpoint.owner,
        }
    }
}

impl<S: Store> Reconciler<S> {
    /// Passes over and over, with a pause after each, until the future is dropped. A store that is away is asked again at
    /// the next pass.
    pub async fn run(&self, pause: Duration) {
        loop {
            if self.pass().await.is_err() {
                metrics::reconcile_failed(self.operation.name());
            }
            tokio::time::sleep(pause).await;
        }
    }

    /// Looks once at what is open: first at what no person was asked about, the longest untouched first.
    ///
    /// # Errors
    /// [`StoreError`] when the store is away; what was concluded before stands.
    pub async fn pass(&self) -> Result<Pass, StoreError> {
        let mut pass = Pass::default();
        for open in self.store.open_records(self.operation.name(), BATCH_MAX).await? {
            let started = Instant::now();
            let count = match self.settle(open).await? {
                Some(Conclusion::Settle(_)) => &mut pass.applied,
                Some(Conclusion::GiveBack) => &mut pass.not_applied,
                Some(Conclusion::Refer) => &mut pass.referred,
                None => &mut pass.left,
            };
            *count = count.saturating_add(1);
            metrics::reconciled(self.operation.name(), started.elapsed());
        }
        metrics::backlog(self.operation.name(), &self.store.backlog(self.operation.name()).await?);
        Ok(pass)
    }

    /// What waits for a person: uncertain records that no look could settle, the longest first.
    ///
    /// # Errors
    /// [`StoreError`] when the store is away.
    pub async fn queue(&self) -> Result<Vec<OpenRecord>, StoreError> {
        let open = self.store.open_records(self.operation.name(), u32::MAX).await?;
        Ok(open.into_iter().filter(|open| open.referred && open.record.state.name() == StateName::Uncertain).collect())
    }

    /// A person's ruling on an uncertain record. `by` and `why` are recorded with it.
    ///
    /// # Errors
    /// [`RulingError`]; nothing was changed.
    pub async fn rule(&self, record: RecordId, ruling: Ruling, by: &str, why: &str) -> Result<(), RulingError> {
        for (field, text) in [("by", by), ("why", why)] {
            if text.trim().is_empty() {
                return Err(RulingError::Missing(field));
            }
        }
        let conclusion = match ruling {
            Ruling::Applied(answer) if (200..300).contains(&answer.status) => {
                Conclusion::Settle(Terminal::Completed(stored_answer(&answer, self.operation.result_id())))
            }
            Ruling::Refused(answer) if (400..500).contains(&answer.status) => {
                Conclusion::Settle(Terminal::Rejected(stored_answer(&answer, self.operation.result_id())))
            }
            Ruling::Applied(answer) | Ruling::Refused(answer) => return Err(RulingError::Status(answer.status)),
            Ruling::NotApplied => Conclusion::GiveBack,
        };
        let open = self.store.open_records(self.operation.name(), u32::MAX).await.map_err(RulingError::Store)?;
        let uncertain = |open: &&OpenRecord| open.id == record && open.record.state == RecordState::Uncertain;
        let token = open.iter().find(uncertain).ok_or(RulingError::NotOpen(record))?.token;
        let note = Note { by: by.to_owned(), why: why.to_owned() };
        match self.store.conclude(record, token, &conclusion, &note).await.map_err(RulingError::Store)? {
            Guarded::Done => {
                metrics::decided(self.operation.name(), "person", conclusion.word());
                Ok(())
            }
            Guarded::Stale => Err(RulingError::NotOpen(record)),
        }
    }

    /// `None` where it stays as it is.
    async fn settle(&self, open: OpenRecord) -> Result<Option<Conclusion>, StoreError> {
        let policy = self.operation.policy();
        let (token, due) = match &open.record.state {
            RecordState::Uncertain => (open.token, None),
            RecordState::InProgress(claim) => match recovery(claim, policy.recovery, open.now) {
                None => return Ok(None),
                Some(Recovery::Release) => {
                    // It never began, or its transaction is gone: nothing to look at.
                    let given = self.store.release(open.id, claim.token, By::Finder).await?;
                    return Ok(if given == Guarded::Done { Some(Conclusion::GiveBack) } else { None });
                }
                Some(due @ (Recovery::Rerun | Recovery::Doubt)) => {
                    // Longer than the look may take: nobody else takes it over meanwhile.
                    let lease = Millis(policy.lease.0.saturating_mul(2));
                    match self.store.take_over(open.id, claim.token, &self.owner, lease).await? {
                        Some(held) => (held.token, Some((held, due))),
                        None => return Ok(None),
                    }
                }
            },
            RecordState::Completed(_) | RecordState::Rejected(_) | RecordState::Fenced => return Ok(None),
        };
        let (conclusion, why) = self.look(&open).await;
        if conclusion == Conclusion::Refer {
            match due {
                // The next command asks for the effect again under the same downstream key.
                Some((held, Recovery::Rerun)) => {
                    let _ = self.store.renew(&held, Millis(0)).await?;
                    return Ok(None);
                }
                Some(_) if self.store.doubt(open.id, token, By::Owner).await? == Guarded::Stale => return Ok(None),
                None if open.referred => return Ok(None),
                Some(_) | None => {}
            }
        }
        let note = Note { by: format!("{WORKER} {}", self.owner), why };
        Ok(match self.store.conclude(open.id, token, &conclusion, &note).await? {
            Guarded::Done => {
                metrics::decided(self.operation.name(), WORKER, conclusion.word());
                Some(conclusion)
            }
            Guarded::Stale => None,
        })
    }

    /// What the method finds, held against what was kept.
    async fn look(&self, open: &OpenRecord) -> (Conclusion, String) {
        let refer = |why: String| (Conclusion::Refer, why);
        let expected: Option<Value> = open.expected.as_deref().and_then(|text| serde_json::from_str(text).ok());
        let case = Case {
            record: open.id,
            tenant: open.scope.tenant.clone(),
            subject: open.scope.subject.clone(),
            object: open.object.clone(),
            expected: expected.clone(),
            first_seen: open.record.first_seen,
            key: Secret(open.scope.key.clone()),
        };
        let method = Arc::clone(&self.method);
        // A task of its own: a panic of the method is a look that brought nothing.
        let looking = tokio::spawn(async move { method.look(&case).await });
        let abort = looking.abort_handle();
        let lease = Duration::from_millis(self.operation.policy().lease.0);
        match tokio::time::timeout(lease, looking).await {
            Ok(Ok(Finding::Applied { answer, values })) => {
                let differing = differing(expected.as_ref(), &values);
                if !(200..300).contains(&answer.status) {
                    return refer(format!("the look found it done with status {}, which is no 2xx", answer.status));
                }
                if !differing.is_empty() {
                    return refer(format!("what stands there differs from what was asked in {}", differing.join(", ")));
                }
                let stored = stored_answer(&answer, self.operation.result_id());
                (Conclusion::Settle(Terminal::Completed(stored)), String::from("found done, with the expected values"))
            }
            Ok(Ok(Finding::NotApplied)) => {
                (Conclusion::GiveBack, String::from("found not done, and it no longer can be"))
            }
            Ok(Ok(Finding::Unclear(why))) => refer(why),
            Ok(Err(_)) => refer(String::from("the look failed")),
            Err(_) => {
                abort.abort();
                refer(String::from("the look took longer than a lease"))
            }
        }
    }
}

/// The names of expected members that stand there otherwise, or not at all.
fn differing<'a>(expected: Option<&'a Value>, found: &Value) -> Vec<&'a str> {
    let Some(Value::Object(members)) = expected else { return Vec::new() };
    members
        .iter()
        .filter(|(name, value)| found.get(name.as_str()) != Some(value))
        .map(|(name, _)| name.as_str())
        .collect()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::differing;

    #[test]
    fn r109_given_expected_values_then_another_or_a_missing_one_is_named_and_more_do_no_harm() {
        let expected = json!({ "amount": 100, "currency": "EUR" });
        for (found, names) in [
            (json!({ "amount": 100, "currency": "EUR", "id": "p_1" }), vec![]),
            (json!({ "amount": 101, "currency": "EUR" }), vec!["amount"]),
            (json!({ "amount": "100" }), vec!["amount", "currency"]),
            (json!(null), vec!["amount", "currency"]),
        ] {
            assert_eq!(differing(Some(&expected), &found), names, "{found}");
        }
        assert!(differing(None, &json!({})).is_empty(), "nothing was kept, nothing can differ");
    }
}
