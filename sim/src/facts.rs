//! What happened in the world, kept apart from everything the core believes: presses, bytes that left, effects that ran.
//! The invariants read nothing else, so a core that fools itself does not fool them.

use std::collections::{BTreeMap, BTreeSet};

use postonce_core::contract::Policy;
use postonce_core::key::Key;
use postonce_core::time::Wall;

/// True time, in milliseconds since the run began.
pub type Time = u64;

/// After that a finished wish is forgotten, and the same fields are another one (R23): the echo window, less a jump's worth.
const HISTORY: Time = 12 * 60 * 60 * 1_000;

/// What a person wants once. Travels with the payload, outside the protocol.
pub type WishId = usize;

/// One device's view of one slot.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Lineage {
    /// Which device.
    pub device: usize,
    /// Which entry of the catalog.
    pub operation: usize,
    /// Which person.
    pub subject: &'static str,
    /// About what.
    pub object: &'static str,
}

/// An effect that ran.
#[derive(Clone, Debug)]
pub struct EffectFact {
    /// For which wish.
    pub wish: WishId,
    /// Under which key.
    pub key: String,
    /// Which entry of the catalog.
    pub operation: usize,
    /// For whom.
    pub subject: String,
    /// About what.
    pub object: &'static str,
    /// What was done; a distorting server does something else than asked.
    pub quantity: u8,
    /// Its id, as it stands in the answer.
    pub result_id: String,
    /// The copy that caused it was made below the library (R124).
    pub by_clone: bool,
    /// A failover lost it again.
    pub lost: bool,
}

/// One command that left.
#[derive(Clone, Copy, Debug)]
pub struct SendFact {
    /// When.
    pub at: Time,
    /// The deadline it carried, by the device's clock.
    pub deadline: Option<Wall>,
    /// `Idempotency-First-Sent`.
    pub first_sent: Option<Wall>,
    /// `Idempotency-Deadline`.
    pub due: Option<Wall>,
    /// What it asked for.
    pub quantity: u8,
}

/// What is known of one key.
#[derive(Clone, Debug)]
pub struct KeyFact {
    /// Whose it is.
    pub lineage: Lineage,
    /// Which document sent the first one.
    pub document: usize,
    /// Every command under it.
    pub sends: Vec<SendFact>,
    /// The server once held a terminal record or a tombstone for it.
    pub settled: bool,
    /// That record is gone by age.
    pub purged: bool,
    /// A person said in so many words to go on without it.
    pub released: bool,
    /// The server asked for no request before, by true time, and told that document.
    pub wait_until: Option<(Time, usize)>,
    /// When the last answer without a wait of its own came, if the next attempt is a repeat of an unavailable server.
    pub unavailable_at: Option<Time>,
    /// When the last attempt ended without an answer that allows an instant repeat.
    pub ended_at: Option<Time>,
    /// A person handed it over, and nobody has decided yet.
    pub handed_over: bool,
    /// So many of its commands were shown to have run nothing.
    pub shown_unrun: usize,
    /// Some tab has shown it as void for ever.
    pub fenced_shown: bool,
}

/// What is known of one slot on one device.
#[derive(Clone, Debug, Default)]
pub struct LineageFact {
    /// Wishes in order, each with its quantity.
    pub wishes: Vec<(WishId, u8)>,
    /// Keys in the order in which they first left.
    pub keys: Vec<String>,
    /// Submits and resends.
    pub presses: usize,
    /// When the last one was.
    pub last_press: Time,
    /// Why nothing can be promised any more (R86, R121): what was kept is gone.
    pub excused: bool,
    /// The device's wall clock was set back while it mattered.
    pub clock_set_back: bool,
    /// Long enough has passed for an old wish to be history (R23).
    pub history: bool,
    /// The device's clock jumped, or hours passed: a key may be too old to be sent (R28).
    pub aged: bool,
    /// A claim was written and `fetch` not called after it.
    pub uncalled: bool,
    /// A power loss may have taken the last claim back.
    pub power_lost: bool,
    /// The stored texts were spoilt: tabs may no longer know of each other.
    pub spoilt: bool,
    /// A person decided here.
    pub decided: bool,
    /// A person ended the last wish: the next press is another one.
    pub fresh: bool,
    /// A person asked that an intent be left open.
    pub may_leave_open: bool,
    /// Documents of this slot that died.
    pub lost_documents: usize,
}

/// Everything that happened.
#[derive(Clone, Debug, Default)]
pub struct Facts {
    /// Effects in order.
    pub effects: Vec<EffectFact>,
    /// By key.
    pub keys: BTreeMap<String, KeyFact>,
    /// Keys that a fence was asked for.
    pub fences: BTreeSet<String>,
    /// By slot and device.
    pub lineages: BTreeMap<Lineage, LineageFact>,
    /// What each wish asked for.
    wishes: Vec<u8>,
}

impl Facts {
    /// The wish behind a press: an open or the last one with the same fields, else a new one.
    pub fn press(&mut self, lineage: Lineage, quantity: u8, at: Time) -> WishId {
        let (settled, quiet) = (self.is_settled(lineage), self.is_quiet(lineage));
        let next = self.wishes.len();
        let fact = self.lineages.entry(lineage).or_default();
        fact.presses += 1;
        fact.history |= at - fact.last_press > HISTORY;
        fact.last_press = at;
        if std::mem::take(&mut fact.fresh) || (fact.history && quiet) {
            fact.wishes.clear();
            fact.history = false;
        }
        let repeat = if settled {
            // A finished wish is repeated only by the fields of the last one.
            fact.wishes.last().filter(|(_, held)| *held == quantity)
        } else {
            fact.wishes.iter().rev().find(|(_, held)| *held == quantity)
        };
        if let Some((wish, _)) = repeat {
            return *wish;
        }
        fact.wishes.push((next, quantity));
        self.wishes.push(quantity);
        next
    }

    /// Whether every key of the slot that left is settled at the server, or released by the person.
    #[must_use]
    pub fn is_settled(&self, lineage: Lineage) -> bool {
        let keys = self.lineages.get(&lineage).map(|fact| fact.keys.as_slice()).unwrap_or_default();
        keys.iter().all(|key| self.keys.get(key).is_none_or(|fact| fact.settled || fact.released))
    }

    /// Whether a further key may leave: every earlier one is settled or released, or ran nothing and never will, since the
    /// server refuses whatever was first sent before `oldest`.
    #[must_use]
    pub fn may_mint(&self, lineage: Lineage, now: Wall, oldest: Wall) -> bool {
        let keys = self.lineages.get(&lineage).map(|fact| fact.keys.as_slice()).unwrap_or_default();
        keys.iter().filter_map(|key| self.keys.get(key)).all(|fact| {
            let ahead = now.plus(Policy::SKEW);
            let refused = |sent: &SendFact| {
                let (sent, due) = (sent.first_sent, sent.due);
                sent < Some(oldest) || sent > Some(ahead) || due.is_some_and(|due| due < now)
            };
            let unrun = fact.shown_unrun == fact.sends.len();
            fact.settled || fact.released || (unrun && fact.sends.iter().all(refused))
        })
    }

    /// Whether every key is settled, released, or was shown to have run nothing at all (R24).
    #[must_use]
    pub fn is_quiet(&self, lineage: Lineage) -> bool {
        let keys = self.lineages.get(&lineage).map(|fact| fact.keys.as_slice()).unwrap_or_default();
        keys.iter()
            .filter_map(|key| self.keys.get(key))
            .all(|fact| fact.settled || fact.released || fact.shown_unrun == fact.sends.len())
    }

    /// Some tab showed that nothing ran under that key.
    pub fn mark_unrun(&mut self, lineage: Lineage, reference: &str) {
        let key = self.key_by_reference(lineage, reference).map(|(key, _)| key.clone());
        if let Some(fact) = key.and_then(|key| self.keys.get_mut(&key)) {
            fact.shown_unrun = fact.sends.len();
        }
    }

    /// The key with that reference.
    #[must_use]
    pub fn key_by_reference(&self, lineage: Lineage, reference: &str) -> Option<(&String, &KeyFact)> {
        let keys = &self.lineages.get(&lineage)?.keys;
        let named = |text: &&String| Key::parse(text).is_ok_and(|key| key.reference() == reference);
        self.keys.get_key_value(keys.iter().find(named)?)
    }

    /// Effects that ran under a key and still stand.
    pub fn effects_of<'a>(&'a self, key: &'a str) -> impl Iterator<Item = &'a EffectFact> {
        self.effects.iter().filter(move |effect| effect.key == key && !effect.lost)
    }

    /// The person goes on without whatever is open in that slot.
    pub fn release(&mut self, lineage: Lineage) {
        let keys = self.lineages.get(&lineage).map(|fact| fact.keys.clone()).unwrap_or_default();
        for key in keys {
            if let Some(fact) = self.keys.get_mut(&key) {
                fact.released = true;
            }
        }
    }

    /// The key with that reference was left open by the person's word.
    pub fn release_one(&mut self, lineage: Lineage, reference: &str) {
        let key = self.key_by_reference(lineage, reference).map(|(key, _)| key.clone());
        if let Some(fact) = key.and_then(|key| self.keys.get_mut(&key)) {
            fact.released = true;
        }
    }

    /// That key waits for a person's decision.
    pub fn mark_handed_over(&mut self, lineage: Lineage, reference: &str) {
        let key = self.key_by_reference(lineage, reference).map(|(key, _)| key.clone());
        if let Some(fact) = key.and_then(|key| self.keys.get_mut(&key)) {
            fact.handed_over = true;
        }
    }

    /// Some tab showed that key as void.
    pub fn mark_fenced(&mut self, lineage: Lineage, reference: &str) {
        let key = self.key_by_reference(lineage, reference).map(|(key, _)| key.clone());
        if let Some(fact) = key.and_then(|key| self.keys.get_mut(&key)) {
            fact.fenced_shown = true;
        }
    }

    /// What a wish asked for.
    #[must_use]
    pub fn wish_quantity(&self, wish: WishId) -> Option<u8> {
        self.wishes.get(wish).copied()
    }

    /// Notes for every slot of a device.
    pub fn each_of_device(&mut self, device: usize, mut note: impl FnMut(&mut LineageFact)) {
        for (lineage, fact) in &mut self.lineages {
            if lineage.device == device {
                note(fact);
            }
        }
    }
}
