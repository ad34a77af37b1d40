//! What the browser does for a document beside the network: writes, the drive lock, and its end.

use postonce_core::machine::effect::Declined;
use postonce_core::machine::event::{Event, Ticket};

use crate::faults::Fault;
use crate::storage::{Persisted, Write};
use crate::world::{Due, World};

impl World<'_> {
    /// The last word was not followed.
    pub(crate) fn declined(&mut self, document: usize, why: Declined) {
        if let Some(it) = self.documents.get_mut(document) {
            it.declines += 1;
            if why == Declined::OpenUnknown {
                it.begins = None;
            }
        }
    }

    pub(crate) fn apply(&mut self, document: usize, ticket: Ticket, write: &Write) {
        let (t, slot) = (self.t, self.slot_of(document));
        let Some(it) = self.documents.get(document) else { return };
        if !it.alive {
            return;
        }
        let lineage = it.lineage;
        if let Some(it) = self.documents.get_mut(document) {
            it.writes -= 1;
            if it.writes == 0 && it.releases {
                self.release_drive(document);
            }
        }
        let Some(device) = self.devices.get_mut(lineage.device) else { return };
        let event = match device.storage.persist(t, &slot, write) {
            Persisted::Done(durability) => Event::Persisted(ticket, durability),
            Persisted::Outrun(text) => Event::Outrun(ticket, text),
            Persisted::Failed(fault) => Event::PersistFailed(ticket, fault),
        };
        let delay = self.choices.between(0, 4);
        self.after(delay, Due::Tell { document, event });
        for other in 0..self.documents.len() {
            let same = self.documents.get(other).is_some_and(|it| it.alive && it.lineage == lineage);
            if same && other != document {
                let mut delay = self.choices.between(2, 15);
                if self.strikes(Fault::LateHint) {
                    delay += self.choices.between(500, 30_000);
                }
                self.look_soon(other, delay);
            }
        }
    }

    pub(crate) fn drive(&mut self, document: usize) {
        let slot = self.slot_of(document);
        if self.documents.get(document).is_some_and(|it| it.releases) {
            // Asked for anew: whoever waits is first.
            self.release_drive(document);
        }
        let Some(it) = self.documents.get(document) else { return };
        let Some(device) = self.devices.get_mut(it.lineage.device) else { return };
        let holder = device.drive.iter().find(|(held, _)| *held == slot).map(|(_, holder)| *holder);
        let event = match holder {
            _ if device.no_locks => Event::DriveUnsupported,
            Some(holder) if holder != document => {
                if !device.turns.contains(&(slot.clone(), document)) {
                    device.turns.push((slot, document));
                }
                Event::DriveBusy
            }
            Some(_) => Event::DriveGranted,
            None => {
                device.drive.push((slot, document));
                Event::DriveGranted
            }
        };
        let delay = self.choices.between(0, 5);
        let due =
            if matches!(event, Event::DriveGranted) { Due::Grant { document } } else { Due::Tell { document, event } };
        self.after(delay, due);
    }

    /// Gives up the lock and the turn; whoever is next gets it, and reads before it acts.
    pub(crate) fn release_drive(&mut self, document: usize) {
        let Some(it) = self.documents.get(document) else { return };
        let lineage = it.lineage;
        if let Some(it) = self.documents.get_mut(document) {
            it.releases = false;
        }
        let Some(device) = self.devices.get_mut(lineage.device) else { return };
        device.turns.retain(|(_, waiting)| *waiting != document);
        let held = device.drive.iter().position(|(_, holder)| *holder == document);
        let Some((slot, _)) = held.map(|at| device.drive.remove(at)) else { return };
        let Some(next) = device.turns.iter().position(|(wanted, _)| *wanted == slot) else { return };
        let (_, next) = device.turns.remove(next);
        device.drive.push((slot, next));
        self.look_soon(next, 1);
        self.after(2, Due::Grant { document: next });
    }

    /// The document is gone; what it sent may still be on its way.
    pub(crate) fn close(&mut self, document: usize) {
        self.release_drive(document);
        if let Some(it) = self.documents.get_mut(document) {
            it.alive = false;
            let memory_only =
                self.devices.get(it.lineage.device).is_some_and(|device| !device.storage.keeps_anything());
            let fact = self.facts.lineages.entry(it.lineage).or_default();
            fact.lost_documents += 1;
            // Visible as not durable from the first press on (R82).
            fact.excused |= memory_only;
        }
        for request in &mut self.requests {
            request.over |= request.document == document;
        }
        self.note(|| format!("doc {document} is gone"));
    }
}
