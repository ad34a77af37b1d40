//! Two authoritative answers about one key that contradict: neither is flipped to in silence (R66).

use super::Machine;
use super::effect::Effects;
use super::state::{Cause, DisputeReason};
use crate::record::{Current, Ending, Phase, Record};
use crate::time::Now;
use crate::verdict::{self, Answer, Verdict};

impl Machine {
    /// An answer that comes when no key is in use: nothing new, unless it denies how its key ended.
    pub(super) fn on_answered_late(&mut self, now: Now, answer: &Answer, fx: &mut Effects) {
        let Some(last) = self.record.last.as_ref().filter(|_| !self.inert) else { return };
        if !answer.is_tied_to(&last.key) {
            return;
        }
        let told = match verdict::judge(answer, &self.operation, &last.key, now.wall) {
            Verdict::Applied { body, .. } => Ending::Succeeded {
                result_id: self.result_id_in(crate::json::parse(&body).ok().as_ref()),
                earlier: None,
            },
            Verdict::Rejected { status, problem } => Ending::Rejected { status, kind: problem.kind },
            Verdict::Fenced => Ending::Fenced,
            Verdict::InProgress { .. }
            | Verdict::KeyReused
            | Verdict::Refused { .. }
            | Verdict::Suspended(_)
            | Verdict::NotRun { .. }
            | Verdict::ClockRefused { .. }
            | Verdict::Ambiguous { .. }
            | Verdict::Final { .. } => return,
        };
        if last.ending.contradicts(&told) {
            self.dispute(now, fx);
        }
    }

    /// Whether another document's record ends the key otherwise than this document's did.
    pub(super) fn is_denied_by(&self, theirs: &Record) -> bool {
        match (&self.record, theirs) {
            (Record { current: None, last: Some(ours), .. }, Record { current: None, last: Some(theirs), .. }) => {
                ours.key == theirs.key && ours.ending.contradicts(&theirs.ending)
            }
            _ => false,
        }
    }

    /// The retired key is in use again, for a person to settle.
    pub(super) fn dispute(&mut self, now: Now, fx: &mut Effects) {
        let Some(last) = self.record.last.take() else { return };
        let mut current = Current::reserved(last.key, last.at, self.server_time(last.at), self.operation.budget);
        current.digest = last.digest;
        current.raise_doubt(Cause::Untied);
        self.record.current = Some(current);
        self.rest(now, Phase::Disputed(DisputeReason::Contradiction), fx);
    }
}
