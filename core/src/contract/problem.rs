//! The problem types of the contract: their names, their addresses and the HTTP status each one travels under.

use alloc::string::String;

/// What every problem type of this contract starts with; the rest is the kebab-case name.
pub const PROBLEM_PREFIX: &str = "urn:postonce:problem:";

/// A problem of the contract. Only an answer carrying one of these is the contract's own word: a bare 409 or 422 is
/// the domain's (R41).
///
/// ```
/// use postonce_core::contract::Problem;
/// assert_eq!(Problem::KeyReused.name(), "key-reused");
/// assert_eq!(Problem::KeyReused.status(), 422);
/// assert_eq!(Problem::from_type("urn:postonce:problem:key-reused"), Some(Problem::KeyReused));
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Problem {
    /// Another request with this key is running (409, R105).
    InProgress,
    /// The server cannot tell what happened; a person decides (409, R60).
    Uncertain,
    /// Another key holds this object (409, R103).
    ObjectTaken,
    /// The key is bound to another payload or operation (422, R104).
    KeyReused,
    /// A one-time token was spent or wrong; the record is released (422, R91).
    TokenRefused,
    /// No idempotency key came with the request (400, R102).
    KeyMissing,
    /// The key is malformed, too long, repeated, or differs between header and field (400, R8, R9).
    KeyInvalid,
    /// No record, and no first-sent date to tell a new key from a purged one (400, R116).
    FirstSentMissing,
    /// The intended subject did not travel with the request (400, R123).
    SubjectMissing,
    /// Another subject is logged in than the one intended (403, R123).
    WrongSubject,
    /// The key is older than the published retention and has no record (410, R116).
    Expired,
    /// The key is void for ever (410, R61).
    Fenced,
    /// The round's deadline has passed by the store's clock (412, R117).
    DeadlinePassed,
    /// First-sent lies further ahead of the store's clock than the skew allows (412, R116).
    ClockSkew,
    /// The store is unavailable; this attempt ran nothing (503, R114).
    NotStarted,
}

impl Problem {
    /// Every problem, in the order of the contract's table.
    pub const ALL: [Self; 15] = [
        Self::InProgress,
        Self::Uncertain,
        Self::ObjectTaken,
        Self::KeyReused,
        Self::TokenRefused,
        Self::KeyMissing,
        Self::KeyInvalid,
        Self::FirstSentMissing,
        Self::SubjectMissing,
        Self::WrongSubject,
        Self::Expired,
        Self::Fenced,
        Self::DeadlinePassed,
        Self::ClockSkew,
        Self::NotStarted,
    ];

    /// The kebab-case name, the last part of the type.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::InProgress => "in-progress",
            Self::Uncertain => "uncertain",
            Self::ObjectTaken => "object-taken",
            Self::KeyReused => "key-reused",
            Self::TokenRefused => "token-refused",
            Self::KeyMissing => "key-missing",
            Self::KeyInvalid => "key-invalid",
            Self::FirstSentMissing => "first-sent-missing",
            Self::SubjectMissing => "subject-missing",
            Self::WrongSubject => "wrong-subject",
            Self::Expired => "expired",
            Self::Fenced => "fenced",
            Self::DeadlinePassed => "deadline-passed",
            Self::ClockSkew => "clock-skew",
            Self::NotStarted => "not-started",
        }
    }

    /// The HTTP status this problem travels under.
    #[must_use]
    pub const fn status(self) -> u16 {
        match self {
            Self::KeyMissing | Self::KeyInvalid | Self::FirstSentMissing | Self::SubjectMissing => 400,
            Self::WrongSubject => 403,
            Self::InProgress | Self::Uncertain | Self::ObjectTaken => 409,
            Self::Expired | Self::Fenced => 410,
            Self::DeadlinePassed | Self::ClockSkew => 412,
            Self::KeyReused | Self::TokenRefused => 422,
            Self::NotStarted => 503,
        }
    }

    /// The full type, as it stands in `application/problem+json`.
    #[must_use]
    pub fn type_uri(self) -> String {
        let mut text = String::from(PROBLEM_PREFIX);
        text.push_str(self.name());
        text
    }

    /// Reads a problem type back; `None` for anything that is not this contract's.
    #[must_use]
    pub fn from_type(text: &str) -> Option<Self> {
        let name = text.strip_prefix(PROBLEM_PREFIX)?;
        Self::ALL.into_iter().find(|problem| problem.name() == name)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn r41_given_every_problem_then_its_type_reads_back_and_a_foreign_type_never_does() {
        for problem in Problem::ALL {
            assert_eq!(Problem::from_type(&problem.type_uri()), Some(problem));
        }
        for foreign in ["about:blank", "key-reused", "urn:shop:problem:key-reused", "urn:postonce:problem:Key-Reused"] {
            assert_eq!(Problem::from_type(foreign), None, "{foreign}");
        }
    }
}
