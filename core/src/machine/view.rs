//! What a person sees of a slot, and may do.

use alloc::string::String;
use alloc::vec::Vec;

use super::event::{Durability, Wish};
use super::restore::state_of_tombstone;
use super::state::{DisputeReason, Doubt, Problem, State, UnknownReason, WaitReason};
use super::{Activity, Machine};
use crate::json::Value;
use crate::planted::{self, Bug};
use crate::record::{Ending, OpenEnding, Phase};
use crate::time::{Millis, Now, Wall};

/// An intent left open, as shown.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OpenView {
    /// Its short name (R128).
    pub reference: String,
    /// `unknown`, `checking`, or how it ended.
    pub state: &'static str,
    /// When it was left, by this device's clock.
    pub left_at: Wall,
    /// The result's id, once known.
    pub result_id: Option<String>,
}

/// What the last finished intent left behind.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LastView {
    /// How it ended.
    pub state: &'static str,
    /// When, by this device's clock.
    pub at: Wall,
    /// The result's id.
    pub result_id: Option<String>,
    /// Its short name.
    pub reference: String,
}

/// Everything beside the state itself.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct View {
    /// Whether it may have happened.
    pub doubt: Doubt,
    /// How well the record is kept.
    pub durability: Durability,
    /// This document sends.
    pub driving: bool,
    /// The intent's short name; never the key (R92).
    pub reference: Option<String>,
    /// No automatic request before (R50).
    pub not_before: Option<Wall>,
    /// Attempts of this round.
    pub attempts: u8,
    /// Attempts allowed in a round.
    pub attempts_max: u8,
    /// The round.
    pub round: u32,
    /// End of the round's budget, by this device's clock.
    pub deadline: Option<Wall>,
    /// The budget.
    pub budget: Millis,
    /// Remembered fields of the live intent (R88).
    pub remembered: Vec<(String, String)>,
    /// Names of what a person may do now.
    pub may: Vec<&'static str>,
    /// Left open by choice (R55).
    pub open: Vec<OpenView>,
    /// What the last one left behind (R23).
    pub last: Option<LastView>,
}

impl Machine {
    /// The state, as a person sees it.
    #[must_use]
    pub fn state(&self) -> State {
        if self.inert {
            return State::Idle;
        }
        if let Some(why) = self.read_only {
            return State::Unknown { why };
        }
        match &self.activity {
            Activity::Claiming { .. } => State::Sending { attempt: self.attempts() },
            Activity::Sending { attempt, .. } => State::Sending { attempt: *attempt },
            Activity::Waiting { until_wall, why, .. } => State::Waiting { until: *until_wall, why: *why },
            Activity::Inquiring(_) => State::Checking,
            Activity::Observing { .. } => self.observed(),
            Activity::Resting => self.shown.clone().unwrap_or_else(|| self.stored_state()),
        }
    }

    fn attempts(&self) -> u8 {
        self.record.current.as_ref().map_or(0, |current| current.attempts)
    }

    fn observed(&self) -> State {
        match &self.record.current {
            Some(current) if current.phase == Phase::Sending => State::Sending { attempt: current.attempts },
            Some(current) => State::Waiting { until: current.lease_until, why: WaitReason::Lock },
            None => State::Idle,
        }
    }

    /// The state that the record alone tells. An ended intent of an earlier document is history, not state (R23).
    fn stored_state(&self) -> State {
        let Some(current) = &self.record.current else {
            return match &self.record.last {
                Some(last) if self.witnessed == Some(self.record.version.generation) => state_of_tombstone(last),
                _ => State::Idle,
            };
        };
        match &current.phase {
            Phase::Reserved => State::Idle,
            Phase::Sending => State::Sending { attempt: current.attempts },
            Phase::Waiting => State::Waiting { until: current.lease_until, why: WaitReason::Lock },
            Phase::Suspended(why) => State::Suspended { why: *why },
            Phase::Refused { status, kind } => {
                State::Refused { status: *status, problem: Problem { kind: kind.clone(), ..Problem::default() } }
            }
            Phase::NotSent(why) => State::NotSent { why: *why },
            Phase::Unknown(why) => State::Unknown { why: *why },
            Phase::Disputed(why) => {
                State::Disputed { why: *why, field: String::new(), expected: String::new(), found: String::new() }
            }
        }
    }

    /// Everything beside the state.
    #[must_use]
    pub fn view(&self, now: Now) -> View {
        let current = self.record.current.as_ref().filter(|_| !self.inert);
        let round = match &self.activity {
            Activity::Claiming { .. } | Activity::Sending { .. } | Activity::Waiting { .. } => {
                Some(self.round.deadline())
            }
            Activity::Resting | Activity::Inquiring(_) | Activity::Observing { .. } => current
                .filter(|current| current.phase != Phase::Reserved)
                .map(|current| current.round_started.plus(current.budget)),
        };
        View {
            doubt: current.map(|current| current.doubt).unwrap_or_default(),
            durability: self.durability,
            driving: self.is_driving(),
            reference: current.map(|current| current.key.reference()),
            not_before: current.and_then(|current| current.not_before),
            attempts: self.attempts(),
            attempts_max: self.operation.attempts,
            round: self.record.version.round,
            deadline: round,
            budget: self.operation.budget,
            remembered: current.map(|current| current.remembered.clone()).unwrap_or_default(),
            may: self.may(now),
            open: self.open_views(),
            last: self.last_view(),
        }
    }

    const fn is_driving(&self) -> bool {
        matches!(self.activity, Activity::Claiming { .. } | Activity::Sending { .. } | Activity::Waiting { .. })
    }

    fn may(&self, now: Now) -> Vec<&'static str> {
        let mut may = Vec::new();
        match self.state() {
            State::Idle | State::Rejected { .. } if !self.inert => may.push("submit"),
            State::Idle | State::Rejected { .. } | State::Checking => {}
            State::Sending { .. } | State::Waiting { .. } => {
                if self.is_driving() {
                    may.push("stop");
                }
            }
            State::Suspended { .. } => {
                may.push("sign_in");
                self.may_with_open(now, &mut may);
            }
            State::Refused { .. } | State::NotSent { .. } => {
                if self.is_doubtful() {
                    self.may_with_open(now, &mut may);
                } else {
                    may.push("submit");
                }
            }
            State::Unknown { why: UnknownReason::NewerVersion } => {}
            State::Unknown { why: UnknownReason::NoKey } => may.push("leave_open"),
            State::Unknown { why: UnknownReason::HandedOver } => {
                if self.operation.can_check() {
                    may.push("check");
                }
                may.push("decide");
            }
            State::Unknown { .. } | State::Disputed { .. } => self.may_with_open(now, &mut may),
            State::Succeeded(_) | State::Decided { .. } => may.push("begin_new"),
            State::Fenced => {
                may.push("submit");
                may.push("begin_new");
            }
        }
        may
    }

    fn may_with_open(&self, now: Now, may: &mut Vec<&'static str>) {
        if self.operation.can_check() {
            may.push("check");
        }
        let disputed = self.record.current.as_ref().is_some_and(|current| matches!(current.phase, Phase::Disputed(_)));
        if !disputed && self.may_resend(now) {
            may.push("resend");
        }
        if self.operation.can_fence() {
            may.push("fence");
        }
        may.push("begin_new");
        may.push("leave_open");
        if self.is_doubtful() {
            may.push("hand_over");
        }
        if self.may_decide() {
            may.push("decide");
        }
    }

    fn open_views(&self) -> Vec<OpenView> {
        let mut views = Vec::new();
        if self.inert {
            return views;
        }
        for open in &self.record.open {
            let reference = open.key.reference();
            let checking = self.side.as_ref().is_some_and(|side| side.reference == reference);
            let (state, result_id) = match &open.ending {
                OpenEnding::Unknown if checking => ("checking", None),
                OpenEnding::Unknown => ("unknown", None),
                OpenEnding::Disputed => ("disputed", None),
                OpenEnding::Settled(ending) => shown_ending(ending),
            };
            views.push(OpenView { reference, state, left_at: open.left_at, result_id });
        }
        views
    }

    fn last_view(&self) -> Option<LastView> {
        let last = self.record.last.as_ref().filter(|_| !self.inert)?;
        let (state, result_id) = shown_ending(&last.ending);
        Some(LastView { state, at: last.at, result_id, reference: last.key.reference() })
    }

    /// Compares what was wished with what was found, as far as both are at hand (R126).
    pub(super) fn compare(&self, found: Option<&Value>) -> (Option<State>, Vec<String>) {
        let mut not_compared = Vec::new();
        for (name, pointer) in &self.operation.expect {
            let wished = self.wished(name);
            let got = found.and_then(|value| plain_text(value.pointer(pointer)?));
            match (wished, got) {
                (Some(wished), Some(got)) if wished == got || planted::is_on(Bug::DifferenceIgnored) => {}
                (Some(wished), Some(got)) => {
                    let difference = State::Disputed {
                        why: DisputeReason::Value,
                        field: name.clone(),
                        expected: wished.into(),
                        found: got,
                    };
                    return (Some(difference), not_compared);
                }
                (None, _) | (_, None) => not_compared.push(name.clone()),
            }
        }
        (None, not_compared)
    }

    fn wished(&self, name: &str) -> Option<&str> {
        let held = self.wish.as_ref().and_then(|Wish { expected, .. }| value_of(expected, name));
        held.or_else(|| value_of(&self.record.current.as_ref()?.remembered, name))
    }
}

fn value_of<'a>(pairs: &'a [(String, String)], name: &str) -> Option<&'a str> {
    pairs.iter().find(|(key, _)| key == name).map(|(_, value)| value.as_str())
}

const fn ending_name(ending: &Ending) -> &'static str {
    match ending {
        Ending::Succeeded { .. } => "succeeded",
        Ending::Rejected { .. } => "rejected",
        Ending::Fenced => "fenced",
        Ending::Decided { .. } => "decided",
    }
}

fn shown_ending(ending: &Ending) -> (&'static str, Option<String>) {
    let result_id = match ending {
        Ending::Succeeded { result_id, .. } => result_id.clone(),
        Ending::Rejected { .. } | Ending::Fenced | Ending::Decided { .. } => None,
    };
    (ending_name(ending), result_id)
}

/// A string or a number as its text: a form's "2" equals a result's 2.
pub(super) fn plain_text(value: &Value) -> Option<String> {
    match value {
        Value::String(text) | Value::Number(text) => Some(text.clone()),
        Value::Null | Value::Bool(_) | Value::Array(_) | Value::Object(_) => None,
    }
}
