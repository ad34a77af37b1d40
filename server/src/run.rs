//! What the owner of a reserve does, detached from the connection that brought the request (R107).

use std::sync::Arc;
use std::time::Duration;

use postonce_core::contract::{Policy, RecordState, RecoveryClass, Stored, StoredBody};
use postonce_core::time::Millis;
use tokio::sync::oneshot;

use crate::metrics;
use crate::operation::{Answer, Command, EffectError, Operation, Outcome};
use crate::problem::ProblemReply;
use crate::reply::Reply;
use crate::store::{By, Guarded, Held, Scope, Store, Terminal};

/// Largest body kept for replays, in bytes (R115).
pub const STORED_BODY_MAX: usize = 256 * 1024;

/// A claim is renewed this many times within one lease.
const RENEWALS_PER_LEASE: u64 = 3;

/// Whether one-time checks are still due.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Entry {
    /// The reserve was just won.
    Fresh,
    /// Taken over after the effect was started, so its checks had passed (R91).
    Rerun,
}

/// Everything the owner works with.
pub(crate) struct Owner<S: Store> {
    pub(crate) store: Arc<S>,
    pub(crate) operation: Arc<dyn Operation<S>>,
    pub(crate) command: Arc<Command>,
    pub(crate) scope: Scope,
    pub(crate) held: Held,
}

/// How the transaction that carried the effect ended.
enum Ending {
    /// Effect and terminal record are committed.
    Settled(Answer),
    /// The token is stale: somebody took over (R110).
    Overtaken,
    /// The effect ran, and its terminal record could not be committed or its commit gave no clear answer.
    NotSettled(Terminal, Answer),
    /// The effect itself cannot tell whether it happened.
    Unknown,
}

impl<S: Store> Owner<S> {
    /// Runs checks, effect and terminal record, and says what to answer.
    pub(crate) async fn run(self, entry: Entry) -> Reply {
        let _renewing = self.keep_renewing();
        match entry {
            Entry::Fresh => {
                if let Err(refused) = self.operation.check_once(&self.command).await {
                    return match self.store.release(self.held.id, self.held.token, By::Owner).await {
                        Ok(Guarded::Done | Guarded::Stale) => {
                            Reply::Problem(ProblemReply::token_refused(refused.field))
                        }
                        Err(_) => Reply::Problem(ProblemReply::not_started()),
                    };
                }
            }
            Entry::Rerun => {}
        }
        match self.store.mark_started(&self.held).await {
            Ok(Guarded::Done) => {}
            Ok(Guarded::Stale) => return self.in_progress(),
            Err(_) => return self.give_back(Reply::Problem(ProblemReply::not_started())).await,
        }
        let tx = match self.store.begin().await {
            Ok(tx) => tx,
            Err(_) => return self.give_back(Reply::Problem(ProblemReply::not_started())).await,
        };
        metrics::effect(self.operation.name());
        let ending = self.effect(tx).await;
        self.answer(ending).await
    }

    /// Runs the effect in a task of its own, so that its panic is an outcome and not ours.
    async fn effect(&self, tx: S::Tx) -> Result<Ending, Reply> {
        let (operation, command, id) = (Arc::clone(&self.operation), Arc::clone(&self.command), self.held.id);
        let running = tokio::spawn(async move { operation.perform(tx, id, &command).await });
        let Ok((Some(tx), outcome)) = running.await else {
            return self.after_panic().await;
        };
        match outcome {
            Ok(Outcome::Applied(answer)) if (200..300).contains(&answer.status) => {
                let terminal = Terminal::Completed(self.stored(&answer));
                Ok(self.settle(tx, terminal, answer).await)
            }
            Ok(Outcome::Refused(answer)) if (400..500).contains(&answer.status) => {
                let terminal = Terminal::Rejected(self.stored(&answer));
                // What a refused effect wrote must not commit with the refusal.
                if self.store.rollback(tx).await.is_err() {
                    return Ok(Ending::NotSettled(terminal, answer));
                }
                match self.store.begin().await {
                    Ok(clean) => Ok(self.settle(clean, terminal, answer).await),
                    Err(_) => Ok(Ending::NotSettled(terminal, answer)),
                }
            }
            // A 5xx or 3xx is no outcome: it is never stored as one (R42).
            Ok(Outcome::Applied(_) | Outcome::Refused(_)) => self.after_failure(tx).await,
            Err(EffectError::NotApplied(_)) => {
                drop(self.store.rollback(tx).await);
                Err(self.give_back(Reply::Problem(ProblemReply::not_started())).await)
            }
            Err(EffectError::Unknown(_)) => {
                drop(self.store.rollback(tx).await);
                Ok(Ending::Unknown)
            }
            Err(EffectError::TokenRefused(refused)) => {
                drop(self.store.rollback(tx).await);
                Err(self.give_back(Reply::Problem(ProblemReply::token_refused(refused.field))).await)
            }
        }
    }

    async fn after_failure(&self, tx: S::Tx) -> Result<Ending, Reply> {
        drop(self.store.rollback(tx).await);
        self.after_panic().await
    }

    /// The transaction is gone. Where the effect lived in it, that proves that nothing happened (R111).
    async fn after_panic(&self) -> Result<Ending, Reply> {
        match self.policy().recovery {
            RecoveryClass::Transactional => Err(self.give_back(Reply::Failed).await),
            RecoveryClass::DownstreamIdempotent { .. } | RecoveryClass::None => Ok(Ending::Unknown),
        }
    }

    async fn settle(&self, tx: S::Tx, terminal: Terminal, answer: Answer) -> Ending {
        match self.store.settle(tx, &self.held, &terminal).await {
            Ok(Guarded::Done) => Ending::Settled(answer),
            Ok(Guarded::Stale) => Ending::Overtaken,
            Err(_) => Ending::NotSettled(terminal, answer),
        }
    }

    async fn answer(&self, ending: Result<Ending, Reply>) -> Reply {
        match ending {
            Err(reply) => reply,
            Ok(Ending::Settled(answer)) => Reply::First(answer),
            Ok(Ending::Overtaken) => self.in_progress(),
            Ok(Ending::Unknown) => self.doubt().await,
            Ok(Ending::NotSettled(terminal, answer)) => self.after_commit(&terminal, answer).await,
        }
    }

    /// A commit gave no clear answer: the record on the primary says whether it took place (R108).
    async fn after_commit(&self, terminal: &Terminal, answer: Answer) -> Reply {
        let Held { id, token, .. } = self.held;
        let released = match self.policy().recovery {
            // It succeeds only while the record is still in progress under our token, and that proves that the commit
            // did not happen: the effect is gone with it.
            RecoveryClass::Transactional => match self.store.release(id, token, By::Owner).await {
                Ok(Guarded::Done) => return Reply::Failed,
                other => other,
            },
            // The effect happened elsewhere, and only its record is missing: the next command asks for it again under
            // the same downstream key, as soon as the lease is over.
            RecoveryClass::DownstreamIdempotent { .. } => self.store.renew(&self.held, Millis(0)).await,
            RecoveryClass::None => match self.store.doubt(id, token, By::Owner).await {
                Ok(Guarded::Done) => return Reply::Problem(ProblemReply::uncertain(&self.command.key)),
                other => other,
            },
        };
        match released {
            Ok(Guarded::Stale) if self.stands(terminal).await => Reply::First(answer),
            Ok(Guarded::Done | Guarded::Stale) | Err(_) => Reply::Failed,
        }
    }

    /// Whether the record holds just what we tried to commit.
    async fn stands(&self, terminal: &Terminal) -> bool {
        let Ok(seen) = self.store.look_up(&self.scope).await else { return false };
        let Some((id, record)) = seen.record else { return false };
        let ours = match (terminal, &record.state) {
            (Terminal::Completed(written), RecordState::Completed(found))
            | (Terminal::Rejected(written), RecordState::Rejected(found)) => written == found,
            (
                Terminal::Completed(_) | Terminal::Rejected(_),
                RecordState::Completed(_)
                | RecordState::Rejected(_)
                | RecordState::InProgress(_)
                | RecordState::Uncertain
                | RecordState::Fenced,
            ) => false,
        };
        id == self.held.id && ours
    }

    async fn doubt(&self) -> Reply {
        match self.store.doubt(self.held.id, self.held.token, By::Owner).await {
            Ok(Guarded::Done) => Reply::Problem(ProblemReply::uncertain(&self.command.key)),
            Ok(Guarded::Stale) => self.in_progress(),
            Err(_) => Reply::Failed,
        }
    }

    /// Gives the key back. `reply` may claim that nothing ran only if the record was surely still ours.
    async fn give_back(&self, reply: Reply) -> Reply {
        match self.store.release(self.held.id, self.held.token, By::Owner).await {
            Ok(Guarded::Done) => reply,
            Ok(Guarded::Stale) => Reply::Failed,
            // The lease ends by itself; nothing ran, or the transaction is gone.
            Err(_) => reply,
        }
    }

    fn in_progress(&self) -> Reply {
        Reply::Problem(ProblemReply::in_progress(self.policy().retry_after))
    }

    fn policy(&self) -> &Policy {
        self.operation.policy()
    }

    fn stored(&self, answer: &Answer) -> Stored {
        stored_answer(answer, self.operation.result_id())
    }

    /// Renews the lease until the answer is there. It is told to stop and never aborted: a statement that is cut off
    /// midway would leave the writing connection in a transaction.
    fn keep_renewing(&self) -> oneshot::Sender<()> {
        let (store, held, lease) = (Arc::clone(&self.store), self.held.clone(), self.policy().lease);
        let pause = Duration::from_millis((lease.0 / RENEWALS_PER_LEASE).max(1));
        let (stop, mut stopped) = oneshot::channel();
        tokio::spawn(async move {
            loop {
                tokio::select! {
                    _ = &mut stopped => break,
                    () = tokio::time::sleep(pause) => {}
                }
                match store.renew(&held, lease).await {
                    Ok(Guarded::Stale) => break,
                    // A store that is away for a moment may be back before the lease ends.
                    Ok(Guarded::Done) | Err(_) => {}
                }
            }
        });
        stop
    }
}

/// A terminal answer as it is kept for replays; `pointer` leads to the result's id.
pub(crate) fn stored_answer(answer: &Answer, pointer: &str) -> Stored {
    let body = if answer.body.len() <= STORED_BODY_MAX {
        StoredBody::Kept(answer.body.to_vec())
    } else {
        StoredBody::Unavailable
    };
    Stored {
        status: answer.status,
        content_type: answer.content_type.clone(),
        location: answer.location.clone(),
        result_id: result_id(answer, pointer),
        body,
    }
}

/// The id at `pointer` in a JSON body; text as it is, a number as its digits.
fn result_id(answer: &Answer, pointer: &str) -> Option<String> {
    if pointer.is_empty() {
        return None;
    }
    let body: serde_json::Value = serde_json::from_slice(&answer.body).ok()?;
    let value = body.pointer(pointer)?;
    value.as_str().map(str::to_owned).or_else(|| value.is_number().then(|| value.to_string()))
}
