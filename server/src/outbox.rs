//! Calls to other services that can neither be lost nor parted from their effect (R108).
//!
//! The effect posts a letter in its own transaction: it commits with the effect and its record, or not at all. A courier
//! delivers it afterwards, again and again until the other service has it or refuses it for good, and always under the
//! same downstream key. A courier that dies between a delivery and its note delivers once more; the other service knows
//! the key.

use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use postonce_core::time::Millis;

use crate::layer::Contract;
use crate::metrics;
use crate::operation::Command;
use crate::store::{Closing, Guarded, Letter, NewLetter, Note, RecordId, Store, StoreError};

/// How many letters one pass takes.
pub const BATCH_MAX: u32 = 32;

/// The longest pause between two attempts at one letter.
pub const PAUSE_MAX: Millis = Millis(10 * 60 * 1_000);

/// The pause after the first attempt; it doubles with each.
const PAUSE: Millis = Millis(1_000);

/// How an attempt to deliver ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Delivery {
    /// The other service has it, now or since an earlier attempt.
    Delivered,
    /// It may have it or not, or could not be reached: the same again later.
    Unknown,
    /// It refuses this letter for good, and why: a person is asked. Name no key, subject or field value (R92).
    Refused(String),
}

/// Takes letters to another service.
#[async_trait]
pub trait Deliver: Send + Sync + 'static {
    /// Delivers under [`Letter::key`]. May be asked again for one that was delivered.
    async fn deliver(&self, letter: &Letter) -> Delivery;
}

/// What one pass did.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Round {
    /// Delivered and noted.
    pub delivered: u32,
    /// To be tried again.
    pub again: u32,
    /// Refused for good; a person is asked.
    pub refused: u32,
    /// Taken by another courier meanwhile.
    pub lost: u32,
}

/// Delivers what effects posted. Any number may run, in any number of processes.
pub struct Courier<S: Store> {
    store: Arc<S>,
    deliver: Arc<dyn Deliver>,
    lease: Millis,
    owner: Arc<str>,
}

impl Command {
    /// Posts a call to another service inside the effect's transaction. There is one letter per record and `purpose`, under
    /// [`Command::downstream_key`]; posting it again changes nothing.
    ///
    /// # Errors
    /// [`StoreError`]; return it as [`EffectError::NotApplied`](crate::EffectError::NotApplied), the transaction is lost.
    pub async fn post<S: Store>(
        &self,
        tx: &mut S::Tx,
        record: RecordId,
        purpose: &str,
        payload: &[u8],
    ) -> Result<(), StoreError> {
        let key = self.downstream_key(record, purpose);
        S::post(tx, &NewLetter { record, purpose, key: &key, payload }).await
    }
}

impl<S: Store> Contract<S> {
    /// A courier. `lease` is how long one pass may take: longer than its slowest delivery.
    pub fn courier(&self, deliver: impl Deliver, lease: Millis) -> Courier<S> {
        let (store, owner) = self.parts();
        Courier { store, deliver: Arc::new(deliver), lease, owner }
    }
}

impl<S: Store> Courier<S> {
    /// Passes over and over, with a pause after each that found nothing due, until the future is dropped.
    pub async fn run(&self, pause: Duration) {
        loop {
            match self.pass().await {
                Ok(round) if round != Round::default() => {}
                Ok(_) | Err(_) => tokio::time::sleep(pause).await,
            }
        }
    }

    /// Delivers what is due.
    ///
    /// # Errors
    /// [`StoreError`] when the store is away; what was claimed is due again after the lease.
    pub async fn pass(&self) -> Result<Round, StoreError> {
        let mut round = Round::default();
        for letter in self.store.claim_letters(BATCH_MAX, self.lease).await? {
            let (deliver, carried) = (Arc::clone(&self.deliver), letter.clone());
            // A task of its own: a panic is a delivery of which nobody can tell.
            let delivery = tokio::spawn(async move { deliver.deliver(&carried).await });
            let delivery = delivery.await.unwrap_or(Delivery::Unknown);
            let mut note = Note { by: format!("courier {}", self.owner), why: String::new() };
            let closing = match delivery {
                Delivery::Delivered => Closing::Delivered,
                Delivery::Unknown => Closing::Again(pause_after(letter.attempt)),
                Delivery::Refused(why) => {
                    note.why = why;
                    Closing::Refused
                }
            };
            let closed = self.store.close_letter(&letter, closing, &note).await?;
            let count = match (closed, closing) {
                (Guarded::Stale, _) => &mut round.lost,
                (Guarded::Done, Closing::Delivered) => &mut round.delivered,
                (Guarded::Done, Closing::Again(_)) => &mut round.again,
                (Guarded::Done, Closing::Refused) => &mut round.refused,
            };
            *count = count.saturating_add(1);
            metrics::letter(&letter.purpose, closing);
        }
        Ok(round)
    }
}

fn pause_after(attempt: u32) -> Millis {
    let doubled = 1_u64.checked_shl(attempt.saturating_sub(1)).unwrap_or(u64::MAX);
    Millis(PAUSE.0.saturating_mul(doubled)).min(PAUSE_MAX)
}

#[cfg(test)]
mod tests {
    use super::{PAUSE_MAX, pause_after};
    use postonce_core::time::Millis;

    #[test]
    fn given_attempts_then_pauses_double_up_to_ten_minutes_and_never_overflow() {
        let pauses = [1, 2, 3, 10, 11, 64, 65, u32::MAX].map(pause_after);
        let seconds = [1, 2, 4, 512, 600, 600, 600, 600].map(|s| Millis(s * 1_000));
        assert_eq!(pauses, seconds);
        assert_eq!(PAUSE_MAX, Millis(600_000));
    }
}
