//! Planted bugs: each breaks one rule where the rule is kept. They prove that the simulator and the tests would notice.
//! Without the feature `planted` every switch is a constant `false` and nothing of it is compiled in.

/// Names every bug once, with the rule it breaks and what it does.
macro_rules! bugs {
    ($($bug:ident $name:literal $rule:literal $what:literal),+ $(,)?) => {
        /// One way to break a rule.
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub enum Bug {
            $(#[doc = $what] $bug),+
        }

        impl Bug {
            /// Every bug.
            pub const ALL: &'static [Self] = &[$(Self::$bug),+];

            /// Its name on the command line and in tables.
            #[must_use]
            pub const fn name(self) -> &'static str {
                match self { $(Self::$bug => $name),+ }
            }

            /// The rule it breaks.
            #[must_use]
            pub const fn rule(self) -> &'static str {
                match self { $(Self::$bug => $rule),+ }
            }

            /// What it does.
            #[must_use]
            pub const fn what(self) -> &'static str {
                match self { $(Self::$bug => $what),+ }
            }
        }
    };
}

bugs! {
    KeyPerAttempt "key-per-attempt" "R4" "every attempt has a key of its own",
    DeadlineRestarts "deadline-restarts" "R29" "every attempt starts a budget of its own",
    DeadlineNotChecked "deadline-not-checked" "R33" "the deadline is not looked at before the call",
    AttemptsNotCounted "attempts-not-counted" "R34" "a claim does not raise the count",
    CalledBeforeStored "called-before-stored" "R19" "fetch does not wait for the claim",
    FailureLeavesNoDoubt "failure-leaves-no-doubt" "R37" "a rejected fetch counts as not sent",
    TimeoutLeavesNoDoubt "timeout-leaves-no-doubt" "R21" "an aborted attempt counts as not sent",
    RefusalClearsDoubt "refusal-clears-doubt" "R21" "a later 4xx without a marker clears the doubt",
    StopSaysNotSent "stop-says-not-sent" "R22" "a stop after the call says not sent",
    NotAborted "not-aborted" "R36" "a timed-out attempt is not aborted",
    NotFoundMeansFenced "not-found-means-fenced" "R59" "no record is read as not applied",
    ExpiredMeansFenced "expired-means-fenced" "R61" "an expired key is read as not applied",
    BeginNewSkipsFence "begin-new-skips-fence" "R55" "a new beginning takes a new key at once",
    UnknownUnlocks "unknown-unlocks" "R53" "a spent budget retires the key",
    UncertainRefused "uncertain-refused" "R60" "409 uncertain counts as nothing ran",
    OtherFieldsJoin "other-fields-join" "R6" "other fields join the live intent",
    StaleSubmits "stale-submits" "R23" "an overtaken document submits all the same",
    EchoForgotten "echo-forgotten" "R23" "a finished intent is not remembered",
    LeaseNeverEnds "lease-never-ends" "R70" "an observer waits for ever",
    LeaseIgnored "lease-ignored" "R36" "a document takes over from a living driver",
    OutrunSends "outrun-sends" "R68" "a lost compare and set is passed over",
    WriterForgotten "writer-forgotten" "R68" "writes do not say whose they are",
    NewerOverwritten "newer-overwritten" "R27" "a record of a newer version counts as none",
    CorruptOverwritten "corrupt-overwritten" "R85" "an unreadable record counts as none",
    OlderCopyTrusted "older-copy-trusted" "R85" "a copy beside a spoilt database is believed",
    ReturnGoesOn "return-goes-on" "R63" "a round goes on by itself after the back/forward cache",
    SubjectIgnored "subject-ignored" "R25" "a change of subject is passed over",
    LostDocumentForgotten "lost-document-forgotten" "R20" "a claim found at load leaves no doubt",
    HandedOverResends "handed-over-resends" "R128" "what was handed over is sent again",
    LeftOpenForgotten "left-open-forgotten" "R55" "what was left open is not listed",
    RetentionIgnored "retention-ignored" "R28" "a key is sent however old it is",
    AgedKeyKept "aged-key-kept" "R121" "an aged reserved key is not fenced first",
    RetryAfterIgnored "retry-after-ignored" "R50" "the server's wait is not kept",
    NoFloor "no-floor" "R43" "retries have no floor",
    NoStoreTwoDrivers "no-store-two-drivers" "R71" "without a store the drive lock is ignored",
    DifferenceIgnored "difference-ignored" "R126" "another result than wished counts as done",
    EarlierForgotten "earlier-forgotten" "R122" "an earlier success does not hold the draft back",
    SuspendedForgets "suspended-forgets" "R62" "a 401 clears the doubt",
    WallClockOnly "wall-clock-only" "R31" "a clock set back gives time back",
    MonotonicOnly "monotonic-only" "R31" "time asleep does not count",
    UntiedConfirms "untied-confirms" "R39" "a 2xx that nothing ties to the key confirms",
    RedirectConfirms "redirect-confirms" "R40" "an opaque redirect is read as refused",
    CutBodyRefused "cut-body-refused" "R38" "a 2xx with a cut body is read as refused",
    InProgressRefused "in-progress-refused" "R124" "409 in-progress is read as refused",
    ServerErrorRefused "server-error-refused" "R42" "a 500 is read as refused",
    GatewayRefused "gateway-refused" "R41" "502, 503 and 504 are read as refused",
    RejectedWithoutMarker "rejected-without-marker" "R127" "any 4xx retires the key",
    KeyReusedRejected "key-reused-rejected" "R122" "422 key-reused retires the key",
    StatusByKeyAlone "status-by-key-alone" "R57" "a status answer's fingerprint is not compared",
    FieldIgnored "field-ignored" "R11" "the fingerprint leaves the fields out",
    PayloadNotCompared "payload-not-compared" "R104" "the server replays to another payload",
    InProgressRuns "in-progress-runs" "R105" "the server runs a second copy beside the first",
    ExpiredAsNew "expired-as-new" "R116" "the server takes a forgotten key for a new one",
    FloorIgnored "floor-ignored" "R116" "the server forgets its failover",
    PurgedTooEarly "purged-too-early" "R116" "the server forgets keys that clients still send",
    DeadlinePassedRuns "deadline-passed-runs" "R117" "the server works past the deadline",
    StartedReleased "started-released" "R109" "a started effect whose owner died runs again",
    LeaseNotAwaited "lease-not-awaited" "R109" "a claim is recovered while its owner lives",
    UncertainRuns "uncertain-runs" "R60" "the server runs what it cannot tell about",
    FenceOverwrites "fence-overwrites" "R61" "a fence voids a key that is at work",
    FenceOfOldKey "fence-of-old-key" "R61" "a fence voids a key that may have been purged",
    OtherSubjectRuns "other-subject-runs" "R123" "the server runs it for whoever is signed in",
}

#[cfg(feature = "planted")]
mod switch {
    use core::sync::atomic::{AtomicUsize, Ordering};

    use super::Bug;

    /// One more than the bug's number; zero: none.
    static PLANTED: AtomicUsize = AtomicUsize::new(0);

    /// Plants that bug for the whole process, or none.
    pub fn plant(bug: Option<Bug>) {
        PLANTED.store(bug.map_or(0, |bug| bug as usize + 1), Ordering::Relaxed);
    }

    /// Whether that bug is planted.
    #[must_use]
    pub fn is_on(bug: Bug) -> bool {
        #[cfg(test)]
        from_environment();
        PLANTED.load(Ordering::Relaxed) == bug as usize + 1
    }

    /// The unit tests plant what `POSTONCE_PLANTED` names.
    #[cfg(test)]
    fn from_environment() {
        extern crate std;
        static ONCE: std::sync::Once = std::sync::Once::new();
        ONCE.call_once(|| {
            let name = std::env::var("POSTONCE_PLANTED").unwrap_or_default();
            plant(Bug::ALL.iter().copied().find(|bug| bug.name() == name));
        });
    }
}

#[cfg(feature = "planted")]
pub use switch::{is_on, plant};

/// Whether that bug is planted: never, without the feature.
#[cfg(not(feature = "planted"))]
#[must_use]
pub const fn is_on(_: Bug) -> bool {
    false
}
