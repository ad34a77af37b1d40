//! The server of the world: the core's own decisions over a store in memory, with crashes, stalled owners, purges and
//! failovers. Its handlers take time; what they do is written to the world's facts.

use std::collections::BTreeMap;

use postonce_core::contract::{
    Authority, Claim, CommandRequest, Decision, FenceDecision, KeyLine, Phase, Problem, Record, RecordState, Recovery,
    StatusDecision, Stored, StoredBody, SubjectTag, decide_command, decide_fence, decide_status, screen,
};
use postonce_core::fingerprint::Digest;
use postonce_core::key::Key;
use postonce_core::time::{Millis, Wall};
use postonce_core::verdict::Answer;

use crate::answers;
use crate::catalog::{DOWNSTREAM_RETAINS, EffectKind, Entry};
use crate::facts::{EffectFact, Facts, Time, WishId};

/// The wall clock at the beginning of every run.
pub const START: u64 = 1_800_000_000_000;

/// A domain that declines this quantity, on record.
pub const DECLINED_QUANTITY: u8 = 9;

/// What a request carries.
#[derive(Clone, Debug)]
pub struct Message {
    /// Which entry of the catalog.
    pub operation: usize,
    /// The key.
    pub key: Key,
    /// `Idempotency-First-Sent`.
    pub first_sent: Option<Wall>,
    /// `Idempotency-Deadline`.
    pub deadline: Option<Wall>,
    /// `Idempotency-Subject`.
    pub subject: Option<String>,
    /// Who is signed in, by the cookie.
    pub signed_in: Option<&'static str>,
    /// About what.
    pub object: &'static str,
    /// What is asked for; status and fence ask for nothing.
    pub payload: Option<Payload>,
}

/// The payload of a command.
#[derive(Clone, Copy, Debug)]
pub struct Payload {
    /// The wish it comes from.
    pub wish: WishId,
    /// The one field.
    pub quantity: u8,
}

/// Whose key it is.
type Scope = (String, String);

/// A handler at work.
#[derive(Clone, Debug)]
pub struct Running {
    scope: Scope,
    token: u64,
    epoch: u32,
    message: Message,
    by_clone: bool,
    /// It takes up what another handler began (R109).
    pub rerun: bool,
    /// It stopped renewing its lease.
    pub stalled: bool,
    /// It does something else than asked.
    pub distorts: bool,
}

impl Running {
    /// Which entry of the catalog it works for.
    #[must_use]
    pub const fn operation(&self) -> usize {
        self.message.operation
    }
}

/// What became of a command.
#[derive(Debug)]
pub enum Handled {
    /// Answered at once.
    Answered(Answer),
    /// A handler runs; its steps are due.
    Started(Running),
}

/// What a reserve is made of.
struct Reserve<'a> {
    scope: Scope,
    message: &'a Message,
    entry: &'a Entry,
    fingerprint: String,
    by_clone: bool,
    token_refused: bool,
}

struct Held {
    id: u64,
    record: Record,
    /// Each earlier state, with the time at which it ended.
    history: Vec<(Time, RecordState)>,
    made: Time,
}

/// The server.
pub struct Server {
    records: BTreeMap<Scope, Held>,
    objects: BTreeMap<(usize, &'static str), Scope>,
    /// Downstream keys with the time of their effect.
    downstream: BTreeMap<u64, (Time, String)>,
    sequence: u64,
    epoch: u32,
    /// Unreachable before.
    pub down_until: Time,
    /// Its store is away before.
    pub outage_until: Time,
    /// Its clock minus true time.
    pub clock: i64,
    floor: Option<Wall>,
}

impl Server {
    /// Empty, with that clock.
    #[must_use]
    pub const fn new(clock: i64) -> Self {
        Self {
            records: BTreeMap::new(),
            objects: BTreeMap::new(),
            downstream: BTreeMap::new(),
            sequence: 0,
            epoch: 0,
            down_until: 0,
            outage_until: 0,
            clock,
            floor: None,
        }
    }

    /// Its wall clock.
    #[must_use]
    pub const fn wall(&self, t: Time) -> Wall {
        Wall((START + t).saturating_add_signed(self.clock))
    }

    fn policy(&self, entry: &Entry) -> postonce_core::contract::Policy {
        postonce_core::contract::Policy { floor: self.floor, ..entry.policy.clone() }
    }

    fn problem(&self, problem: Problem, t: Time) -> Answer {
        answers::problem(problem, self.wall(t))
    }

    /// Screens a request: key and subject before anything is read (R102, R123).
    fn screened(&self, message: &Message, entry: &Entry, t: Time) -> Result<Scope, Box<Answer>> {
        if t < self.outage_until {
            return Err(Box::new(self.problem(Problem::NotStarted, t)));
        }
        let Some(signed_in) = message.signed_in else { return Err(Box::new(answers::plain(401, self.wall(t)))) };
        let tag = match &message.subject {
            None => SubjectTag::Absent,
            Some(tag) if tag == signed_in => SubjectTag::Same,
            Some(_) => SubjectTag::Different,
        };
        screen(KeyLine::Sound, tag, entry.policy.subject).map_err(|problem| Box::new(self.problem(problem, t)))?;
        Ok((signed_in.into(), message.key.as_str().into()))
    }

    /// Takes a command.
    pub fn command(
        &mut self,
        t: Time,
        message: &Message,
        entry: &Entry,
        by_clone: bool,
        token_refused: bool,
        facts: &mut Facts,
    ) -> Handled {
        let scope = match self.screened(message, entry, t) {
            Ok(scope) => scope,
            Err(answer) => return Handled::Answered(*answer),
        };
        let now = self.wall(t);
        let policy = self.policy(entry);
        let Some(payload) = message.payload else { return Handled::Answered(answers::plain(400, now)) };
        let Some(canonical) = crate::catalog::canonical(&entry.operation.name, payload.quantity) else {
            return Handled::Answered(answers::plain(400, now));
        };
        let fingerprint = Digest::of(&message.key, &canonical).to_text();
        let request = CommandRequest {
            fingerprint: &fingerprint,
            first_sent: message.first_sent,
            deadline: message.deadline,
            authority: Authority::Granted,
        };
        loop {
            let held = self.records.get(&scope);
            let decision = decide_command(held.map(|held| &held.record), &request, &policy, now);
            let answer = match decision {
                Decision::Execute => {
                    let reserve = Reserve { scope, message, entry, fingerprint, by_clone, token_refused };
                    return self.reserve(t, reserve, facts);
                }
                Decision::Replay(stored) => {
                    let first_seen = held.map_or(now, |held| held.record.first_seen);
                    answers::stored(stored, &message.key, Some(first_seen), now)
                }
                Decision::InProgress { retry_after } => answers::in_progress(retry_after, now),
                Decision::KeyReused => self.problem(Problem::KeyReused, t),
                Decision::Fenced => self.problem(Problem::Fenced, t),
                Decision::Uncertain => self.problem(Problem::Uncertain, t),
                Decision::FirstSentMissing => self.problem(Problem::FirstSentMissing, t),
                Decision::Expired => self.problem(Problem::Expired, t),
                Decision::ClockSkew => self.problem(Problem::ClockSkew, t),
                Decision::DeadlinePassed => self.problem(Problem::DeadlinePassed, t),
                Decision::NotAuthorised => answers::plain(403, now),
                Decision::Recover(Recovery::Rerun, _) => {
                    return Handled::Started(self.rerun(t, scope, message, by_clone));
                }
                Decision::Recover(due, _) => {
                    self.recover(t, &scope, due, facts);
                    continue;
                }
            };
            return Handled::Answered(answer);
        }
    }

    fn reserve(&mut self, t: Time, reserve: Reserve<'_>, facts: &mut Facts) -> Handled {
        let Reserve { scope, message, entry, fingerprint, by_clone, token_refused } = reserve;
        let now = self.wall(t);
        let object = (message.operation, message.object);
        if entry.single
            && let Some(holder) = self.objects.get(&object).cloned()
            && holder != scope
            && self.records.get(&holder).is_none_or(|held| holds_object(&held.record.state))
        {
            // The client retires this key on the word of the contract.
            if let Some(fact) = facts.keys.get_mut(&scope.1) {
                fact.settled = true;
            }
            return Handled::Answered(self.problem(Problem::ObjectTaken, t));
        }
        if token_refused {
            // Reserved, checked, refused, released: nothing stays (R91).
            return Handled::Answered(self.problem(Problem::TokenRefused, t));
        }
        self.sequence += 1;
        let claim = Claim {
            owner: self.epoch.to_string(),
            token: self.sequence,
            phase: Phase::Reserved,
            lease_until: now.plus(entry.policy.lease),
        };
        let record = Record {
            operation: entry.operation.name.clone(),
            fingerprint: Some(fingerprint),
            first_seen: now,
            changed: now,
            state: RecordState::InProgress(claim),
        };
        if entry.single {
            self.objects.insert(object, scope.clone());
        }
        self.records.insert(scope.clone(), Held { id: self.sequence, record, history: Vec::new(), made: t });
        Handled::Started(self.running(scope, self.sequence, message, by_clone))
    }

    fn running(&self, scope: Scope, token: u64, message: &Message, by_clone: bool) -> Running {
        let message = message.clone();
        Running { scope, token, epoch: self.epoch, message, by_clone, rerun: false, stalled: false, distorts: false }
    }

    fn rerun(&mut self, t: Time, scope: Scope, message: &Message, by_clone: bool) -> Running {
        self.sequence += 1;
        let (token, now) = (self.sequence, self.wall(t));
        if let Some(held) = self.records.get_mut(&scope)
            && let RecordState::InProgress(claim) = &mut held.record.state
        {
            claim.token = token;
            claim.lease_until = now.plus(postonce_core::contract::Policy::LEASE);
        }
        Running { rerun: true, ..self.running(scope, token, message, by_clone) }
    }

    fn recover(&mut self, t: Time, scope: &Scope, due: Recovery, facts: &mut Facts) {
        match due {
            Recovery::Release => {
                self.records.remove(scope);
                self.objects.retain(|_, holder| holder != scope);
            }
            Recovery::Doubt => self.set(t, scope, RecordState::Uncertain, facts),
            Recovery::Rerun => {}
        }
    }

    fn set(&mut self, t: Time, scope: &Scope, state: RecordState, facts: &mut Facts) {
        let now = self.wall(t);
        let Some(held) = self.records.get_mut(scope) else { return };
        let terminal = matches!(state, RecordState::Completed(_) | RecordState::Rejected(_) | RecordState::Fenced);
        let before = std::mem::replace(&mut held.record.state, state);
        held.history.push((t, before));
        held.record.changed = now;
        if terminal && let Some(fact) = facts.keys.get_mut(&scope.1) {
            fact.settled = true;
        }
    }

    /// The claim, if this handler still holds it (R110).
    fn claim(&mut self, running: &Running) -> Option<&mut Claim> {
        if running.epoch != self.epoch {
            return None;
        }
        match &mut self.records.get_mut(&running.scope)?.record.state {
            RecordState::InProgress(claim) if claim.token == running.token => Some(claim),
            RecordState::InProgress(_)
            | RecordState::Completed(_)
            | RecordState::Rejected(_)
            | RecordState::Uncertain
            | RecordState::Fenced => None,
        }
    }

    /// `started` is committed, and a live owner keeps its lease until its end; false: the handler has nothing to do.
    pub fn start(&mut self, t: Time, running: &Running, works_for: Millis) -> bool {
        let now = self.wall(t);
        let stalled = running.stalled;
        let Some(claim) = self.claim(running) else { return false };
        claim.phase = match claim.phase {
            Phase::Reserved => Phase::Started { at: now },
            started @ Phase::Started { .. } => started,
        };
        if !stalled {
            claim.lease_until = claim.lease_until.max(now.plus(works_for).plus(postonce_core::contract::Policy::LEASE));
        }
        true
    }

    /// The effect of a handler that works elsewhere. It happens whatever has become of the claim since the start.
    pub fn act_elsewhere(&mut self, t: Time, running: &Running, entry: &Entry, facts: &mut Facts) {
        if running.epoch != self.epoch || running.message.payload.is_none_or(|it| it.quantity == DECLINED_QUANTITY) {
            return;
        }
        let Some(id) = self.records.get(&running.scope).map(|held| held.id) else { return };
        match entry.effect {
            EffectKind::Local => {}
            EffectKind::External => {
                let result_id = self.log(running, entry, facts);
                self.downstream.insert(running.token, (t, result_id));
            }
            EffectKind::Downstream => {
                let known = self.downstream.get(&id).is_some_and(|(at, _)| t - at < DOWNSTREAM_RETAINS.0);
                if !known {
                    let result_id = self.log(running, entry, facts);
                    self.downstream.insert(id, (t, result_id));
                }
            }
        }
    }

    fn log(&mut self, running: &Running, _entry: &Entry, facts: &mut Facts) -> String {
        let message = &running.message;
        let asked = message.payload.map_or((0, 0), |payload| (payload.wish, payload.quantity));
        self.sequence += 1;
        let result_id = format!("r{}", self.sequence);
        facts.effects.push(EffectFact {
            wish: asked.0,
            key: message.key.as_str().into(),
            operation: message.operation,
            subject: running.scope.0.clone(),
            object: message.object,
            quantity: if running.distorts { asked.1 + 1 } else { asked.1 },
            result_id: result_id.clone(),
            by_clone: running.by_clone,
            lost: false,
        });
        result_id
    }

    /// The handler ends: effect and terminal record commit together where the effect is local; a stale token commits
    /// nothing (R108, R110).
    pub fn finish(&mut self, t: Time, running: &Running, entry: &Entry, facts: &mut Facts) -> Option<Answer> {
        let now = self.wall(t);
        if running.epoch != self.epoch || t < self.down_until {
            return None;
        }
        if self.claim(running).is_none() {
            return Some(answers::in_progress(entry.policy.retry_after, now));
        }
        let payload = running.message.payload?;
        if payload.quantity == DECLINED_QUANTITY {
            let stored = answers::declined();
            self.set(t, &running.scope, RecordState::Rejected(stored.clone()), facts);
            self.objects.retain(|_, holder| *holder != running.scope);
            return Some(answers::stored(&stored, &running.message.key, None, now));
        }
        let id = self.records.get(&running.scope).map_or(0, |held| held.id);
        let result_id = match entry.effect {
            EffectKind::Local => self.log(running, entry, facts),
            EffectKind::External => self.downstream.get(&running.token)?.1.clone(),
            EffectKind::Downstream => self.downstream.get(&id)?.1.clone(),
        };
        // A rerun answers with what its first run did.
        let done = facts.effects.iter().find(|effect| effect.result_id == result_id);
        let quantity = done.map_or(payload.quantity, |effect| effect.quantity);
        let body = format!(r#"{{"id":"{result_id}","quantity":"{quantity}"}}"#);
        let stored = Stored {
            status: 201,
            content_type: "application/json".into(),
            location: None,
            result_id: Some(result_id),
            body: StoredBody::Kept(body.into_bytes()),
        };
        self.set(t, &running.scope, RecordState::Completed(stored.clone()), facts);
        Some(answers::stored(&stored, &running.message.key, None, now))
    }

    /// Answers a status check.
    pub fn status(&mut self, t: Time, message: &Message, entry: &Entry, facts: &mut Facts) -> Answer {
        let scope = match self.screened(message, entry, t) {
            Ok(scope) => scope,
            Err(answer) => return *answer,
        };
        let (now, policy) = (self.wall(t), self.policy(entry));
        loop {
            let held = self.records.get(&scope);
            match decide_status(held.map(|held| &held.record), message.first_sent, &policy, now) {
                StatusDecision::Known(record) => return answers::status(record, message, entry, now),
                StatusDecision::Absent(state) => return answers::absent(state, message, entry, now),
                StatusDecision::Recover(due, _) => self.recover(t, &scope, due, facts),
            }
        }
    }

    /// Answers a fence (R61).
    pub fn fence(&mut self, t: Time, message: &Message, entry: &Entry, facts: &mut Facts) -> Answer {
        let scope = match self.screened(message, entry, t) {
            Ok(scope) => scope,
            Err(answer) => return *answer,
        };
        let (now, policy) = (self.wall(t), self.policy(entry));
        loop {
            let held = self.records.get(&scope);
            match decide_fence(held.map(|held| &held.record), message.first_sent, &policy, now) {
                FenceDecision::Known(record) => return answers::status(record, message, entry, now),
                FenceDecision::Refused(state) => return answers::absent(state, message, entry, now),
                FenceDecision::ClockSkew => return self.problem(Problem::ClockSkew, t),
                FenceDecision::Recover(due, _) => self.recover(t, &scope, due, facts),
                FenceDecision::Tombstone => {
                    let record = Record {
                        operation: entry.operation.name.clone(),
                        fingerprint: None,
                        first_seen: now,
                        changed: now,
                        state: RecordState::Fenced,
                    };
                    self.sequence += 1;
                    let held = Held { id: self.sequence, record, history: Vec::new(), made: t };
                    self.records.insert(scope.clone(), held);
                    if let Some(fact) = facts.keys.get_mut(&scope.1) {
                        fact.settled = true;
                    }
                }
            }
        }
    }

    /// Every handler dies; what was committed stays (R109).
    pub fn crash(&mut self, t: Time, down_for: Millis) {
        self.epoch += 1;
        self.down_until = t + down_for.0;
        self.stop_renewing(t);
    }

    /// Leases that a live owner had stretched end as if it had renewed for the last time now.
    fn stop_renewing(&mut self, t: Time) {
        let ends = self.wall(t).plus(postonce_core::contract::Policy::LEASE);
        for held in self.records.values_mut() {
            if let RecordState::InProgress(claim) = &mut held.record.state {
                claim.lease_until = claim.lease_until.min(ends);
            }
        }
    }

    /// Drops what may be dropped by age (R116).
    pub fn purge(&mut self, t: Time, catalog: &[Entry], facts: &mut Facts) {
        let now = self.wall(t);
        let policy = |name: &str| catalog.iter().find(|entry| entry.operation.name == name).map(|entry| &entry.policy);
        self.records.retain(|scope, held| {
            let terminal = match &held.record.state {
                RecordState::Completed(_) | RecordState::Rejected(_) | RecordState::Fenced => true,
                RecordState::InProgress(_) | RecordState::Uncertain => false,
            };
            let purgeable = policy(&held.record.operation).is_some_and(|policy| {
                policy.records == postonce_core::contract::RetentionRule::Purged
                    && now >= policy.purge_from(held.record.changed)
            });
            let goes = terminal && purgeable;
            if goes && let Some(fact) = facts.keys.get_mut(&scope.1) {
                fact.purged = true;
            }
            !goes
        });
    }

    /// The store fails over to a copy that lacks the last commits; older keys without a record are uncertain (R116).
    pub fn fail_over(&mut self, t: Time, loses: Millis, catalog: &[Entry], facts: &mut Facts) {
        let since = t.saturating_sub(loses.0);
        self.epoch += 1;
        self.floor = Some(self.wall(t).plus(postonce_core::contract::Policy::SKEW));
        let local =
            |name: &str| catalog.iter().any(|entry| entry.operation.name == name && entry.effect == EffectKind::Local);
        let mut lost = Vec::new();
        self.records.retain(|scope, held| {
            while let Some((at, _)) = held.history.last() {
                if *at < since {
                    break;
                }
                let Some((_, before)) = held.history.pop() else { break };
                if local(&held.record.operation) && matches!(held.record.state, RecordState::Completed(_)) {
                    lost.push(scope.1.clone());
                }
                held.record.state = before;
            }
            if held.made >= since && local(&held.record.operation) {
                lost.push(scope.1.clone());
            }
            held.made < since
        });
        for effect in &mut facts.effects {
            effect.lost |= lost.contains(&effect.key);
        }
        self.stop_renewing(t);
    }

    /// Whether it can be reached.
    #[must_use]
    pub const fn is_up(&self, t: Time) -> bool {
        t >= self.down_until
    }

    /// Whether it holds a terminal record or a tombstone for that key.
    #[must_use]
    pub fn is_settled(&self, subject: &str, key: &str) -> bool {
        self.records.get(&(subject.into(), key.into())).is_some_and(|held| match held.record.state {
            RecordState::Completed(_) | RecordState::Rejected(_) | RecordState::Fenced => true,
            RecordState::InProgress(_) | RecordState::Uncertain => false,
        })
    }
}

const fn holds_object(state: &RecordState) -> bool {
    match state {
        RecordState::Rejected(_) | RecordState::Fenced => false,
        RecordState::InProgress(_) | RecordState::Completed(_) | RecordState::Uncertain => true,
    }
}
