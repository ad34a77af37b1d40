//! One document: a machine and what the browser holds for it.

use postonce_core::machine::Machine;
use postonce_core::machine::event::Event;
use postonce_core::time::{Mono, Now, Wall};

use crate::facts::{Lineage, Time};
use crate::server::{Payload, START};
use crate::storage::Storage;

/// A browser on a machine of its own.
#[derive(Debug, Default)]
pub struct Device {
    /// Its stores.
    pub storage: Storage,
    /// Its wall clock minus true time.
    pub clock: i64,
    /// How much the monotonic clock has stood still.
    pub mono_lost: Time,
    /// Nothing runs before.
    pub asleep_until: Time,
    /// Who uses it.
    pub user: Option<&'static str>,
    /// Whom the server takes that to be.
    pub cookie: Option<&'static str>,
    /// What `navigator.onLine` says.
    pub offline: bool,
    /// Web Locks are missing.
    pub no_locks: bool,
    /// Drive locks held: slot and document.
    pub drive: Vec<(String, usize)>,
    /// Documents that wait for one, in order.
    pub turns: Vec<(String, usize)>,
}

/// A person's last word that has not been answered.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Gesture {
    /// Decide.
    Decide,
    /// Anything else.
    Other,
}

/// One document.
#[derive(Debug)]
pub struct Document {
    /// Its machine.
    pub machine: Machine,
    /// Its slot.
    pub lineage: Lineage,
    /// It still exists.
    pub alive: bool,
    /// It does not run.
    pub frozen: bool,
    /// What waits for its thaw.
    pub held_back: Vec<Event>,
    /// When it was opened.
    opened: Time,
    lost_at_open: Time,
    /// What the form holds.
    pub quantity: u8,
    /// The snapshot of the last submit.
    pub offered: Option<Payload>,
    /// The snapshot that attempts send.
    pub kept: Option<Payload>,
    /// The attempt that `Abort` ends.
    pub out: Option<usize>,
    /// The inquiry that it ends.
    pub asking: Option<usize>,
    /// Tells an outdated wake-up.
    pub serial: u32,
    /// Writes are applied in order.
    pub last_apply: Time,
    /// The last gesture.
    pub gesture: Gesture,
    /// A new beginning was asked for and not turned down; whether told that both may happen.
    pub begins: Option<bool>,
    /// What the last press asked for, until it is answered.
    pub pressed: Option<u8>,
    /// When it was opened, or last began something new.
    pub since: Time,
    /// When it last began something new.
    pub begun: Time,
    /// It was told that its key carries another payload (R122).
    pub key_reused: bool,
    /// Writes on their way, and whether the drive lock is given back after them.
    pub writes: u32,
    /// The drive lock is given back when they have landed.
    pub releases: bool,
    /// Words that were not followed.
    pub declines: usize,
    /// The store was read.
    pub loaded: bool,
    /// Looks at the store that are still to come: what it shows may be old.
    pub behind: u32,
    /// It is frozen in the back/forward cache, and comes back with its requests cut.
    pub kept_for_back: bool,
    /// It came back from there, and nothing was pressed since.
    pub returned: bool,
    /// It was frozen at some time.
    pub frozen_once: bool,
    /// It knows that another person is there.
    pub told_of_change: bool,
}

impl Document {
    /// Opened now.
    #[must_use]
    pub const fn new(machine: Machine, lineage: Lineage, t: Time, lost: Time, quantity: u8) -> Self {
        Self {
            machine,
            lineage,
            alive: true,
            frozen: false,
            held_back: Vec::new(),
            opened: t,
            lost_at_open: lost,
            quantity,
            offered: None,
            kept: None,
            out: None,
            asking: None,
            serial: 0,
            last_apply: 0,
            gesture: Gesture::Other,
            begins: None,
            pressed: None,
            writes: 0,
            releases: false,
            since: t,
            begun: 0,
            key_reused: false,
            declines: 0,
            loaded: false,
            behind: 0,
            kept_for_back: false,
            returned: false,
            frozen_once: false,
            told_of_change: false,
        }
    }

    /// What its clocks show.
    #[must_use]
    pub fn now(&self, t: Time, device: &Device) -> Now {
        let stood = device.mono_lost - self.lost_at_open;
        Now { mono: Mono((10 + t - self.opened).saturating_sub(stood)), wall: device.wall(t) }
    }
}

impl Device {
    /// Its wall clock.
    #[must_use]
    pub const fn wall(&self, t: Time) -> Wall {
        Wall((START + t).saturating_add_signed(self.clock))
    }
}
