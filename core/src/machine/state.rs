//! What a person sees: one enum, each state with the data that makes sense only in it.

use alloc::string::String;
use alloc::vec::Vec;

use crate::time::Wall;

/// Whether the wish may already have happened. A property of every live state, not a state (R21).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Doubt {
    /// Every attempt so far surely ran nothing, or none was made.
    #[default]
    None,
    /// At least one attempt may have run.
    Possible {
        /// The first attempt (numbered from 1) that left the doubt.
        first_attempt: u8,
        /// What was seen instead of a definitive answer.
        cause: Cause,
    },
}

/// Why an attempt proves nothing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Cause {
    /// `fetch` rejected after it was called (R37).
    Transport,
    /// The attempt's own cap or the deadline ended it (R35).
    TimedOut,
    /// A person stopped it after `fetch` was called (R22).
    Stopped,
    /// The document that sent it is gone (R20).
    DocumentLost,
    /// A status that may come from a server that worked: 408, 425, 500, 502, 503, 504.
    Status(u16),
    /// A redirect that must not be followed (R40).
    Redirected,
    /// 2xx headers, but the body was cut, unreadable or not of the accepted type (R38, R39).
    Unreadable,
    /// A readable 2xx that nothing ties to the key, a login page for instance (R39).
    Untied,
    /// Another request with this key runs (409 `in-progress`, 202).
    InProgress,
    /// The server says it cannot tell (409 `uncertain`, a replayed 5xx).
    Uncertain,
    /// Older than the server remembers (410 `expired`).
    Expired,
    /// The key is bound to another payload (422 `key-reused`).
    KeyReused,
}

/// Why the machine waits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WaitReason {
    /// Our own backoff.
    Backoff,
    /// The server asked for it.
    RetryAfter,
    /// The browser says it is offline and nothing has been sent (R37).
    Offline,
    /// Another tab drives this intent, or may still do so.
    Lock,
}

/// Why an intent is suspended (R62).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SuspendReason {
    /// 401: the subject has to sign in again.
    SignedOut,
    /// 403 `wrong-subject`: somebody else is signed in.
    WrongSubject,
}

/// Why nothing was sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NotSentReason {
    /// Offline until the budget was over.
    Offline,
    /// Stopped before `fetch` was called (R22).
    Stopped,
    /// `persistence: "required"` and no store takes the record (R82).
    StorageUnavailable,
    /// A file could not be read (R17).
    FileUnreadable,
    /// The budget was over before the first attempt could start.
    Deadline,
    /// The document ended before `fetch` was called.
    DocumentLost,
}

/// Why the outcome is unknown.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum UnknownReason {
    /// The budget is spent.
    Deadline,
    /// The attempts are spent.
    Attempts,
    /// The server asked for a wait longer than the budget (R48).
    RetryAfter,
    /// The document that sent it is gone and nobody knows more yet.
    DocumentLost,
    /// A person stopped it after `fetch` was called.
    Stopped,
    /// A later copy was refused; an earlier one may have run (R21).
    Refused,
    /// The server no longer remembers (410 `expired`).
    Expired,
    /// The server itself cannot tell (R60).
    Uncertain,
    /// The server stored a 5xx (R42).
    ServerError,
    /// The key carries another payload at the server and its outcome could not be read (R122).
    KeyReused,
    /// The stored record cannot be read, so the key is not known (R85).
    NoKey,
    /// The stored record is of a newer version: reload to continue (R27).
    NewerVersion,
    /// Handed over to a person (R128).
    HandedOver,
}

/// Why answers cannot be reconciled.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DisputeReason {
    /// The server's fingerprint of the key differs from ours (R57).
    Fingerprint,
    /// Two authoritative answers contradict (R66).
    Contradiction,
    /// A value in the result differs from the wish (R126).
    Value,
}

/// A person's verdict on an open intent (R128).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ruling {
    /// It happened.
    Applied,
    /// It did not.
    NotApplied,
    /// Not decided; the person carries on all the same.
    LeftOpen,
}

/// What is known of a problem answer (RFC 9457): enough to show, nothing of the person's fields.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Problem {
    /// `type`; empty when the body was not a problem.
    pub kind: String,
    /// `title`.
    pub title: String,
    /// `detail`.
    pub detail: String,
    /// `field` of `token-refused`.
    pub field: String,
}

/// A confirmed outcome.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Success {
    /// The result's id, read with the operation's `resultId` pointer.
    pub result_id: Option<String>,
    /// The response body as text; absent when only the record's memory is left.
    pub body: Option<String>,
    /// The answer was a replay of a stored one.
    pub replayed: bool,
    /// When it was confirmed here.
    pub at: Wall,
    /// An earlier submission, whose record was lost, did this at that (server) time (R122).
    pub earlier: Option<Wall>,
    /// Names of significant fields that could not be compared with the result (R126).
    pub not_compared: Vec<String>,
}

/// The state of a slot as a person sees it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum State {
    /// The key is reserved, or nothing is there yet.
    Idle,
    /// A request is out, or about to be.
    Sending {
        /// Numbered from 1 in this round.
        attempt: u8,
    },
    /// Nothing is out; the next step comes by itself.
    Waiting {
        /// When it comes, by this device's clock.
        until: Wall,
        /// What is waited for.
        why: WaitReason,
    },
    /// A status check or a fence is out.
    Checking,
    /// The same subject must sign in again.
    Suspended {
        /// What the server said.
        why: SuspendReason,
    },
    /// Confirmed by the contract.
    Succeeded(Success),
    /// Surely not applied and on record; the key is retired.
    Rejected {
        /// HTTP status.
        status: u16,
        /// What the server said.
        problem: Problem,
    },
    /// This request surely ran nothing; the key is kept.
    Refused {
        /// HTTP status.
        status: u16,
        /// What the server said.
        problem: Problem,
    },
    /// `fetch` was never called.
    NotSent {
        /// What stood in the way.
        why: NotSentReason,
    },
    /// It may or may not have happened.
    Unknown {
        /// Why nobody knows.
        why: UnknownReason,
    },
    /// Answers contradict each other or the wish.
    Disputed {
        /// In what.
        why: DisputeReason,
        /// The field in dispute, for [`DisputeReason::Value`].
        field: String,
        /// What was wished, where known.
        expected: String,
        /// What was found.
        found: String,
    },
    /// Void for ever, surely not applied.
    Fenced,
    /// A person ended it.
    Decided {
        /// The verdict.
        outcome: Ruling,
        /// Who decided.
        by: String,
        /// When, by this device's clock.
        at: Wall,
    },
}

impl State {
    /// The name used on every side: Rust, TypeScript, documentation.
    #[must_use]
    pub const fn name(&self) -> &'static str {
        match self {
            Self::Idle => "idle",
            Self::Sending { .. } => "sending",
            Self::Waiting { .. } => "waiting",
            Self::Checking => "checking",
            Self::Suspended { .. } => "suspended",
            Self::Succeeded(_) => "succeeded",
            Self::Rejected { .. } => "rejected",
            Self::Refused { .. } => "refused",
            Self::NotSent { .. } => "not_sent",
            Self::Unknown { .. } => "unknown",
            Self::Disputed { .. } => "disputed",
            Self::Fenced => "fenced",
            Self::Decided { .. } => "decided",
        }
    }

    /// Whether the intent is over and its key retired.
    #[must_use]
    pub const fn is_terminal(&self) -> bool {
        matches!(self, Self::Succeeded(_) | Self::Rejected { .. } | Self::Fenced | Self::Decided { .. })
    }

    /// Whether the machine goes on by itself: a submit's promise is still open.
    #[must_use]
    pub const fn is_running(&self) -> bool {
        matches!(self, Self::Sending { .. } | Self::Waiting { .. } | Self::Checking)
    }
}

/// Gives each unit-like reason its one wire name and the way back.
macro_rules! names {
    ($kind:ty { $($variant:ident = $name:literal),+ $(,)? }) => {
        impl $kind {
            /// The name used in snapshots and records.
            #[must_use]
            pub const fn name(self) -> &'static str {
                match self { $(Self::$variant => $name),+ }
            }

            /// The reason with that name.
            #[must_use]
            pub fn from_name(name: &str) -> Option<Self> {
                match name { $($name => Some(Self::$variant),)+ _ => None }
            }
        }
    };
}

names!(WaitReason { Backoff = "backoff", RetryAfter = "retry_after", Offline = "offline", Lock = "lock" });
names!(SuspendReason { SignedOut = "signed_out", WrongSubject = "wrong_subject" });
names!(NotSentReason {
    Offline = "offline",
    Stopped = "stopped",
    StorageUnavailable = "storage_unavailable",
    FileUnreadable = "file_unreadable",
    Deadline = "deadline",
    DocumentLost = "document_lost",
});
names!(UnknownReason {
    Deadline = "deadline",
    Attempts = "attempts",
    RetryAfter = "retry_after",
    DocumentLost = "document_lost",
    Stopped = "stopped",
    Refused = "refused",
    Expired = "expired",
    Uncertain = "uncertain",
    ServerError = "server_error",
    KeyReused = "key_reused",
    NoKey = "no_key",
    NewerVersion = "newer_version",
    HandedOver = "handed_over",
});
names!(DisputeReason { Fingerprint = "fingerprint", Contradiction = "contradiction", Value = "value" });
names!(Ruling { Applied = "applied", NotApplied = "not_applied", LeftOpen = "left_open" });

impl Cause {
    /// The name used in snapshots and records; the status of [`Cause::Status`] stands beside it.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Transport => "transport",
            Self::TimedOut => "timed_out",
            Self::Stopped => "stopped",
            Self::DocumentLost => "document_lost",
            Self::Status(_) => "status",
            Self::Redirected => "redirected",
            Self::Unreadable => "unreadable",
            Self::Untied => "untied",
            Self::InProgress => "in_progress",
            Self::Uncertain => "uncertain",
            Self::Expired => "expired",
            Self::KeyReused => "key_reused",
        }
    }

    /// The cause with that name and, for `status`, that HTTP status.
    #[must_use]
    pub fn from_name(name: &str, status: u16) -> Option<Self> {
        Some(match name {
            "transport" => Self::Transport,
            "timed_out" => Self::TimedOut,
            "stopped" => Self::Stopped,
            "document_lost" => Self::DocumentLost,
            "status" => Self::Status(status),
            "redirected" => Self::Redirected,
            "unreadable" => Self::Unreadable,
            "untied" => Self::Untied,
            "in_progress" => Self::InProgress,
            "uncertain" => Self::Uncertain,
            "expired" => Self::Expired,
            "key_reused" => Self::KeyReused,
            _ => return None,
        })
    }
}
