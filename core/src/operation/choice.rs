//! The words an operation's options choose from.

use super::invalid::{InvalidOption, OptionRule};

/// HTTP method of a command.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Method {
    /// `POST`.
    Post,
    /// `PUT`.
    Put,
    /// `PATCH`.
    Patch,
    /// `DELETE`.
    Delete,
}

/// What running an operation a second time would do.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Effect {
    /// Nothing changes, not even the first time.
    None,
    /// The second run changes nothing more.
    Idempotent,
    /// It must run once.
    Once,
}

/// What the server promises about a key.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Contract {
    /// Our contract in full: markers, echo, status, fence.
    Postonce,
    /// The IETF draft's header and its answers.
    Ietf,
    /// A bare unquoted key and a stored reply.
    Bare,
}

/// How doubt is resolved.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reconcile {
    /// A status route answers by key.
    StatusByKey,
    /// The object itself is read and compared.
    ReadObject,
    /// A person finds out and decides.
    Manual,
}

/// Whether binding names what the operation is done to (R26).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ObjectKind {
    /// An object has to be named.
    Required,
    /// There is one for each subject.
    Singleton,
}

/// What happens where nothing can be stored (R82).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Persistence {
    /// Nothing is sent.
    Required,
    /// It is sent, and the snapshot says that it does not survive the document.
    BestEffort,
}

/// Form of the request body.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Encoding {
    /// A JSON object.
    Json,
    /// `application/x-www-form-urlencoded`.
    Urlencoded,
    /// `multipart/form-data`.
    Multipart,
}

/// Reads a word that was given.
pub(super) fn pick<T>(
    field: &'static str,
    word: Option<&str>,
    parse: fn(&str) -> Option<T>,
) -> Result<Option<T>, InvalidOption> {
    match word {
        None => Ok(None),
        Some(word) => match parse(word) {
            None => Err(InvalidOption::about(field, OptionRule::UnknownValue, word)),
            known => Ok(known),
        },
    }
}

impl Method {
    /// As the request line has it.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Post => "POST",
            Self::Put => "PUT",
            Self::Patch => "PATCH",
            Self::Delete => "DELETE",
        }
    }

    pub(super) fn parse(word: &str) -> Option<Self> {
        match word {
            "POST" => Some(Self::Post),
            "PUT" => Some(Self::Put),
            "PATCH" => Some(Self::Patch),
            "DELETE" => Some(Self::Delete),
            _ => None,
        }
    }
}

impl Effect {
    pub(super) fn parse(word: &str) -> Option<Self> {
        match word {
            "none" => Some(Self::None),
            "idempotent" => Some(Self::Idempotent),
            "once" => Some(Self::Once),
            _ => None,
        }
    }
}

impl Contract {
    pub(super) fn parse(word: &str) -> Option<Self> {
        match word {
            "postonce" => Some(Self::Postonce),
            "ietf" => Some(Self::Ietf),
            "bare" => Some(Self::Bare),
            _ => None,
        }
    }
}

impl Reconcile {
    pub(super) fn parse(word: &str) -> Option<Self> {
        match word {
            "status_by_key" => Some(Self::StatusByKey),
            "read_object" => Some(Self::ReadObject),
            "manual" => Some(Self::Manual),
            _ => None,
        }
    }
}

impl ObjectKind {
    pub(super) fn parse(word: &str) -> Option<Self> {
        match word {
            "required" => Some(Self::Required),
            "singleton" => Some(Self::Singleton),
            _ => None,
        }
    }
}

impl Persistence {
    pub(super) fn parse(word: &str) -> Option<Self> {
        match word {
            "required" => Some(Self::Required),
            "best-effort" => Some(Self::BestEffort),
            _ => None,
        }
    }
}

impl Encoding {
    pub(super) fn parse(word: &str) -> Option<Self> {
        match word {
            "json" => Some(Self::Json),
            "urlencoded" => Some(Self::Urlencoded),
            "multipart" => Some(Self::Multipart),
            _ => None,
        }
    }
}
