//! Everything that may go wrong, by name. A run switches some kinds on and leaves the others out, so that rare
//! combinations are not drowned by frequent ones.

/// One kind of fault.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Fault {
    /// The request never arrives.
    LostBefore,
    /// It arrives, its answer does not.
    LostAfter,
    /// It arrives twice, the second time later (R124).
    Duplicated,
    /// It or its answer takes longer than any budget.
    Delayed,
    /// The answer's body is cut (R38).
    CutBody,
    /// A redirect instead of the answer (R40).
    Redirected,
    /// A login page instead of the answer (R39).
    HtmlPage,
    /// A gateway answers 502, 503 or 504, whether or not the request went on.
    Gateway,
    /// 408, 425 or 500 from something in between.
    Odd4xx5xx,
    /// 429 with or without `Retry-After`.
    RateLimited,
    /// 404 or 400 without a marker.
    PlainRefusal,
    /// `fetch` throws before it sends.
    NotCalled,
    /// The handler takes long.
    SlowEffect,
    /// The handler stops renewing its lease.
    Stalled,
    /// The server does something else than asked (R126).
    Distorted,
    /// A one-time token is refused (R91).
    TokenRefused,
    /// The server's processes die.
    ServerCrash,
    /// The server's store is away (R114).
    StoreOutage,
    /// The store fails over and loses commits (R116).
    FailOver,
    /// Old records are purged.
    Purge,
    /// The clock of the server differs.
    ServerClock,
    /// The clock of a device differs.
    DeviceClock,
    /// The clock of a device jumps.
    ClockJump,
    /// A device sleeps.
    Sleep,
    /// Timers fire late (R32).
    Throttled,
    /// A document is frozen for a while.
    Frozen,
    /// A page is reloaded.
    Reload,
    /// A tab is closed.
    Close,
    /// The browser is killed.
    Kill,
    /// The power goes.
    PowerLoss,
    /// The quota is full.
    QuotaFull,
    /// No store works.
    StorageAbsent,
    /// Only `localStorage` works.
    DatabaseAbsent,
    /// Everything stored is thrown away.
    Evicted,
    /// A stored text is spoilt.
    Corrupted,
    /// A stored record is of a newer version (R27).
    Newer,
    /// Another tab learns of a write late (R72).
    LateHint,
    /// There are no Web Locks (R71).
    NoLocks,
    /// The device is offline.
    Offline,
    /// The session ends unnoticed (R62).
    SignedOut,
    /// Another person logs in.
    OtherPerson,
    /// A second device with the same wish.
    SecondDevice,
    /// Hours pass.
    Hours,
}

impl Fault {
    /// Every kind.
    pub const ALL: [Self; 43] = [
        Self::LostBefore,
        Self::LostAfter,
        Self::Duplicated,
        Self::Delayed,
        Self::CutBody,
        Self::Redirected,
        Self::HtmlPage,
        Self::Gateway,
        Self::Odd4xx5xx,
        Self::RateLimited,
        Self::PlainRefusal,
        Self::NotCalled,
        Self::SlowEffect,
        Self::Stalled,
        Self::Distorted,
        Self::TokenRefused,
        Self::ServerCrash,
        Self::StoreOutage,
        Self::FailOver,
        Self::Purge,
        Self::ServerClock,
        Self::DeviceClock,
        Self::ClockJump,
        Self::Sleep,
        Self::Throttled,
        Self::Frozen,
        Self::Reload,
        Self::Close,
        Self::Kill,
        Self::PowerLoss,
        Self::QuotaFull,
        Self::StorageAbsent,
        Self::DatabaseAbsent,
        Self::Evicted,
        Self::Corrupted,
        Self::Newer,
        Self::LateHint,
        Self::NoLocks,
        Self::Offline,
        Self::SignedOut,
        Self::OtherPerson,
        Self::SecondDevice,
        Self::Hours,
    ];

    /// Its bit in a set.
    #[must_use]
    pub const fn bit(self) -> u64 {
        1 << self as u32
    }

    /// How many of a thousand runs switch it on, and how often it then strikes.
    #[must_use]
    pub const fn rates(self) -> (u32, u32) {
        match self {
            Self::LostBefore | Self::LostAfter | Self::Delayed => (450, 300),
            Self::Duplicated | Self::CutBody | Self::Gateway | Self::SlowEffect => (300, 250),
            Self::Reload | Self::Close | Self::Kill => (400, 250),
            Self::ServerClock | Self::DeviceClock | Self::NoLocks | Self::DatabaseAbsent | Self::StorageAbsent => {
                (60, 1_000)
            }
            Self::SecondDevice => (150, 1_000),
            Self::Evicted | Self::Corrupted | Self::Newer | Self::QuotaFull => (80, 250),
            Self::Redirected
            | Self::HtmlPage
            | Self::Odd4xx5xx
            | Self::RateLimited
            | Self::PlainRefusal
            | Self::NotCalled
            | Self::Stalled
            | Self::Distorted
            | Self::TokenRefused
            | Self::ServerCrash
            | Self::StoreOutage
            | Self::FailOver
            | Self::Purge
            | Self::ClockJump
            | Self::Sleep
            | Self::Throttled
            | Self::Frozen
            | Self::PowerLoss
            | Self::LateHint
            | Self::Offline
            | Self::SignedOut
            | Self::OtherPerson
            | Self::Hours => (180, 250),
        }
    }
}
