//! From a read and screened command to its reply: look up, decide, recover, reserve, run. Nothing runs before the
//! reserve has committed (R102).

use std::sync::Arc;

use postonce_core::contract::{
    Authority, CommandRequest, Decision, Policy, Problem, RecordState, Recovery, StateName, StatusDecision,
    decide_command, decide_status, recovery,
};
use postonce_core::key::Key;
use postonce_core::time::Wall;

use crate::metrics;
use crate::operation::{Answer, Command, Operation};
use crate::problem::ProblemReply;
use crate::reply::Reply;
use crate::run::{Entry, Owner};
use crate::store::{By, Holder, RecordId, Reservation, Reserved, Scope, Seen, Store, StoreError};

/// How often one request may find that the record changed under it before it is answered `not-started`.
pub(crate) const ROUNDS_MAX: u32 = 8;

/// One command on its way through the contract.
pub(crate) struct Deciding<S: Store> {
    pub(crate) store: Arc<S>,
    pub(crate) operation: Arc<dyn Operation<S>>,
    pub(crate) owner: Arc<str>,
    pub(crate) command: Arc<Command>,
    pub(crate) scope: Scope,
    pub(crate) fingerprint: String,
    pub(crate) first_sent: Option<Wall>,
    pub(crate) deadline: Option<Wall>,
    /// What the operation itself says to this subject and payload; asked beforehand, used only without a record (R89).
    pub(crate) admission: Result<(), Answer>,
}

/// One turn of the loop.
enum Turn {
    Done(Reply),
    Again,
}

impl<S: Store> Deciding<S> {
    /// Decides and, where this request wins the reserve, runs the effect to its end.
    pub(crate) async fn decide(self) -> Reply {
        for _ in 0..ROUNDS_MAX {
            match self.turn().await {
                Ok(Turn::Done(reply)) => return reply,
                Ok(Turn::Again) => {}
                Err(_) => break,
            }
        }
        Reply::Problem(ProblemReply::not_started())
    }

    async fn turn(&self) -> Result<Turn, StoreError> {
        let seen = self.store.look_up(&self.scope).await?;
        let policy = above_floor(self.operation.policy(), seen.floor);
        let authority = if self.admission.is_ok() { Authority::Granted } else { Authority::Refused };
        let request = CommandRequest {
            fingerprint: &self.fingerprint,
            first_sent: self.first_sent,
            deadline: self.deadline,
            authority,
        };
        let now = seen.now;
        let record = seen.record.as_ref();
        let reply = match decide_command(record.map(|(_, record)| record), &request, &policy, now) {
            Decision::Execute => return self.reserve().await,
            Decision::Recover(due, claim) => {
                let Some((id, _)) = record else { return Ok(Turn::Again) };
                return self.recover(*id, claim.token, due).await;
            }
            Decision::Replay(stored) => {
                let first_seen = record.map_or(now, |(_, record)| record.first_seen);
                Reply::Replay { stored: stored.clone(), first_seen }
            }
            Decision::InProgress { retry_after } => Reply::Problem(ProblemReply::in_progress(retry_after)),
            Decision::Uncertain => Reply::Problem(ProblemReply::uncertain(&self.command.key)),
            Decision::KeyReused => Reply::Problem(ProblemReply::new(Problem::KeyReused)),
            Decision::Fenced => Reply::Problem(ProblemReply::at(Problem::Fenced, now)),
            Decision::FirstSentMissing => Reply::Problem(ProblemReply::new(Problem::FirstSentMissing)),
            Decision::Expired => Reply::Problem(ProblemReply::at(Problem::Expired, now)),
            Decision::ClockSkew => Reply::Problem(ProblemReply::at(Problem::ClockSkew, now)),
            Decision::DeadlinePassed => Reply::Problem(ProblemReply::at(Problem::DeadlinePassed, now)),
            Decision::NotAuthorised => match &self.admission {
                Err(answer) => Reply::Unstored(answer.clone()),
                Ok(()) => Reply::Failed,
            },
        };
        Ok(Turn::Done(reply))
    }

    async fn reserve(&self) -> Result<Turn, StoreError> {
        let object = self.operation.object(&self.command.payload);
        let expected = self.operation.expected(&self.command.payload).map(|values| values.to_string());
        let reservation = Reservation {
            scope: &self.scope,
            operation: self.operation.name(),
            fingerprint: &self.fingerprint,
            object: object.as_deref(),
            expected: expected.as_deref(),
            owner: &self.owner,
            lease: self.operation.policy().lease,
            deadline: self.deadline,
        };
        Ok(match self.store.reserve(reservation).await? {
            Reserved::Won(held) => {
                metrics::reserved(self.operation.name());
                Turn::Done(self.owner(held).run(Entry::Fresh).await)
            }
            Reserved::Lost => Turn::Again,
            Reserved::DeadlinePassed { now } => {
                Turn::Done(Reply::Problem(ProblemReply::at(Problem::DeadlinePassed, now)))
            }
            Reserved::ObjectTaken(holder) => self.object_taken(&holder).await?,
        })
    }

    /// Another key holds the object. One whose owner died holds it only until somebody looks, and that is us: its own
    /// client may never come back (R109).
    async fn object_taken(&self, holder: &Holder) -> Result<Turn, StoreError> {
        if let RecordState::InProgress(claim) = &holder.record.state {
            match recovery(claim, self.operation.policy().recovery, holder.now) {
                Some(due @ (Recovery::Release | Recovery::Doubt)) => {
                    recover(&*self.store, holder.id, claim.token, due).await?;
                    return Ok(Turn::Again);
                }
                // Only its own payload can run it again.
                Some(Recovery::Rerun) | None => {}
            }
        }
        Ok(Turn::Done(Reply::Problem(object_taken(&holder.key, holder.record.state.name()))))
    }

    async fn recover(&self, id: RecordId, token: u64, due: Recovery) -> Result<Turn, StoreError> {
        match due {
            Recovery::Release | Recovery::Doubt => recover(&*self.store, id, token, due).await.map(|()| Turn::Again),
            Recovery::Rerun => {
                let lease = self.operation.policy().lease;
                match self.store.take_over(id, token, &self.owner, lease).await? {
                    Some(held) => Ok(Turn::Done(self.owner(held).run(Entry::Rerun).await)),
                    None => Ok(Turn::Again),
                }
            }
        }
    }

    fn owner(&self, held: crate::store::Held) -> Owner<S> {
        Owner {
            store: Arc::clone(&self.store),
            operation: Arc::clone(&self.operation),
            command: Arc::clone(&self.command),
            scope: self.scope.clone(),
            held,
        }
    }
}

/// Recovers an abandoned claim where that needs no effect to run. A stale token means that somebody else was faster,
/// which is just as good: the caller looks again.
pub(crate) async fn recover<S: Store>(store: &S, id: RecordId, token: u64, due: Recovery) -> Result<(), StoreError> {
    let _raced = match due {
        Recovery::Release => store.release(id, token, By::Finder).await?,
        Recovery::Doubt => store.doubt(id, token, By::Finder).await?,
        Recovery::Rerun => return Ok(()),
    };
    Ok(())
}

/// What a status check found, after recovering what was abandoned.
pub(crate) enum Found {
    Record(Seen),
    Absent(StateName, Wall),
}

/// Reads the state of a key. `None` when the record would not hold still or the store is away.
pub(crate) async fn find<S: Store>(
    store: &S,
    operation: &dyn Operation<S>,
    scope: &Scope,
    first_sent: Option<Wall>,
) -> Option<Found> {
    for _ in 0..ROUNDS_MAX {
        let seen = store.look_up(scope).await.ok()?;
        let record = seen.record.as_ref();
        let policy = above_floor(operation.policy(), seen.floor);
        match decide_status(record.map(|(_, record)| record), first_sent, &policy, seen.now) {
            StatusDecision::Known(_) => return Some(Found::Record(seen)),
            StatusDecision::Absent(state) => return Some(Found::Absent(state, seen.now)),
            StatusDecision::Recover(due, claim) => {
                let (id, _) = record?;
                recover(store, *id, claim.token, due).await.ok()?;
            }
        }
    }
    None
}

/// The operation's numbers, with the higher of its own floor and the store's (R116).
pub(crate) fn above_floor(policy: &Policy, floor: Option<Wall>) -> Policy {
    Policy { floor: policy.floor.max(floor), ..policy.clone() }
}

fn object_taken(key: &str, state: StateName) -> ProblemReply {
    // The other key is not shown: it belongs to a submission of its own, perhaps of another person (R89).
    let reference = Key::parse(key).ok().map(|key| key.reference());
    ProblemReply { reference, state: Some(state), ..ProblemReply::new(Problem::ObjectTaken) }
}
