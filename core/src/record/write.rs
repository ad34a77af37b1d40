//! Record to text.

use alloc::string::String;

use super::{Current, Ending, LeftOpen, OpenEnding, Phase, Record, SCHEMA, Tombstone};
use crate::fingerprint::Digest;
use crate::json::Writer;
use crate::machine::state::{Cause, Doubt};

impl Record {
    /// The text to store.
    #[must_use]
    pub fn write(&self) -> String {
        let mut w = Writer::object();
        w.number("schema", SCHEMA);
        w.number("generation", u64::from(self.version.generation));
        w.number("round", u64::from(self.version.round));
        w.number("rev", u64::from(self.version.rev));
        w.number("writer", u64::from(self.version.writer));
        if let Some(current) = &self.current {
            w.begin_object("current");
            write_current(&mut w, current);
            w.end();
        }
        if let Some(last) = &self.last {
            w.begin_object("last");
            write_tombstone(&mut w, last);
            w.end();
        }
        w.begin_array("open");
        for open in &self.open {
            w.item_begin_object();
            write_open(&mut w, open);
            w.end();
        }
        w.end();
        w.finish()
    }
}

fn write_digest(w: &mut Writer, digest: Option<&Digest>) {
    if let Some(digest) = digest {
        w.string("digest", &digest.to_text());
    }
}

fn write_current(w: &mut Writer, current: &Current) {
    w.string("key", current.key.as_str());
    write_digest(w, current.digest.as_ref());
    w.number("reserved_at", current.reserved_at.0);
    w.number("first_sent", current.first_sent.0);
    write_phase(w, &current.phase);
    if let Doubt::Possible { first_attempt, cause } = current.doubt {
        w.begin_object("doubt");
        w.number("first_attempt", u64::from(first_attempt));
        w.string("cause", cause.name());
        if let Cause::Status(status) = cause {
            w.number("status", u64::from(status));
        }
        w.end();
    }
    w.number("attempts", u64::from(current.attempts));
    w.number("round_started", current.round_started.0);
    w.number("budget", current.budget.0);
    w.number("elapsed", current.elapsed.0);
    if let Some(at) = current.not_before {
        w.number("not_before", at.0);
    }
    w.string("driver", &current.driver);
    w.number("lease_until", current.lease_until.0);
    w.number("checked_at", current.checked_at.0);
    if !current.owner.is_empty() {
        w.string("owner", &current.owner);
    }
    w.begin_array("remembered");
    for (name, value) in &current.remembered {
        w.item_begin_object();
        w.string("n", name);
        w.string("v", value);
        w.end();
    }
    w.end();
}

fn write_phase(w: &mut Writer, phase: &Phase) {
    let (name, why) = match phase {
        Phase::Reserved => ("reserved", ""),
        Phase::Sending => ("sending", ""),
        Phase::Waiting => ("waiting", ""),
        Phase::Suspended(why) => ("suspended", why.name()),
        Phase::Refused { status, kind } => {
            w.number("status", u64::from(*status));
            ("refused", kind.as_str())
        }
        Phase::NotSent(why) => ("not_sent", why.name()),
        Phase::Unknown(why) => ("unknown", why.name()),
        Phase::Disputed(why) => ("disputed", why.name()),
    };
    w.string("phase", name);
    w.string("why", why);
}

fn write_ending(w: &mut Writer, ending: &Ending) {
    let name = match ending {
        Ending::Succeeded { result_id, earlier } => {
            if let Some(id) = result_id {
                w.string("result_id", id);
            }
            if let Some(at) = earlier {
                w.number("earlier", at.0);
            }
            "succeeded"
        }
        Ending::Rejected { status, kind } => {
            w.number("status", u64::from(*status));
            w.string("kind", kind);
            "rejected"
        }
        Ending::Fenced => "fenced",
        Ending::Decided { outcome, by } => {
            w.string("outcome", outcome.name());
            w.string("by", by);
            "decided"
        }
    };
    w.string("ending", name);
}

fn write_tombstone(w: &mut Writer, last: &Tombstone) {
    w.string("key", last.key.as_str());
    write_digest(w, last.digest.as_ref());
    write_ending(w, &last.ending);
    w.number("at", last.at.0);
}

fn write_open(w: &mut Writer, open: &LeftOpen) {
    w.string("key", open.key.as_str());
    write_digest(w, open.digest.as_ref());
    w.number("first_sent", open.first_sent.0);
    w.number("reserved_at", open.reserved_at.0);
    w.number("left_at", open.left_at.0);
    match &open.ending {
        OpenEnding::Unknown => w.string("ending", "unknown"),
        OpenEnding::Disputed => w.string("ending", "disputed"),
        OpenEnding::Settled(ending) => write_ending(w, ending),
    }
}
