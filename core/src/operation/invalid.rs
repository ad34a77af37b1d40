//! What is wrong with an option, and what to do about it.

use alloc::string::String;
use core::fmt;

/// An option that breaks a rule.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct InvalidOption {
    /// The option, as TypeScript spells it (`attemptCap`, `status.url`).
    pub field: &'static str,
    /// The rule.
    pub rule: OptionRule,
    /// The form field or word concerned, where the option holds several or takes one of a few. It is a name, never a value
    /// that a person entered.
    pub item: Option<String>,
}

/// The rules that options are checked by.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OptionRule {
    /// A name or URL is empty.
    Missing,
    /// Too long, or too many.
    OverLimit,
    /// A character that operation names do not have.
    MalformedName,
    /// Not one of the words this option takes.
    UnknownValue,
    /// GET or HEAD that changes something (R125).
    SafeMethodWithEffect,
    /// A relative URL where no document URL is known.
    RelativeUrlWithoutBase,
    /// A scheme other than http and https.
    UnsupportedScheme,
    /// A URL with blanks, control characters, backslashes or without a host.
    MalformedUrl,
    /// A URL with a user name or password.
    UrlWithCredentials,
    /// Not a number, not finite, too small or too large.
    OutOfRange,
    /// A count with a fraction.
    NotAnInteger,
    /// One attempt longer than the round.
    CapAboveBudget,
    /// One field both significant and volatile (R11).
    SignificantAndVolatile,
    /// A volatile field under `remember` or `expect`.
    VolatileName,
    /// A field under `remember` whose name says password, one-time code or payment card (R88).
    SensitiveRemember,
    /// A field name that the contract's own hidden fields use.
    ReservedName,
    /// Not a JSON Pointer.
    MalformedPointer,
    /// A way to reconcile that needs a status URL, without one (R125).
    StatusUrlMissing,
}

impl InvalidOption {
    pub(super) const fn new(field: &'static str, rule: OptionRule) -> Self {
        Self { field, rule, item: None }
    }

    pub(super) fn about(field: &'static str, rule: OptionRule, item: &str) -> Self {
        Self { field, rule, item: Some(item.into()) }
    }

    /// One sentence that says what to do.
    #[must_use]
    pub const fn remedy(&self) -> &'static str {
        match self.rule {
            OptionRule::Missing => "Give a text that is not empty.",
            OptionRule::OverLimit => "Shorten it; the limits are named constants.",
            OptionRule::MalformedName => "Use letters, digits, dots, dashes and underscores.",
            OptionRule::UnknownValue => "Use one of the documented words, in their exact spelling.",
            OptionRule::SafeMethodWithEffect => "Use POST for anything that changes something.",
            OptionRule::RelativeUrlWithoutBase => "Give an absolute URL, or define the operation in a document.",
            OptionRule::UnsupportedScheme => "Use http or https.",
            OptionRule::MalformedUrl => "Encode blanks and backslashes, and name a host after the two slashes.",
            OptionRule::UrlWithCredentials => {
                "Take the user name and password out; send them with the headers provider."
            }
            OptionRule::OutOfRange => "Give a finite number within the documented limits.",
            OptionRule::NotAnInteger => "Give a whole number.",
            OptionRule::CapAboveBudget => "Lower the attempt's limit or raise the budget.",
            OptionRule::SignificantAndVolatile => {
                "List the field once: it either makes the wish or changes per attempt."
            }
            OptionRule::VolatileName => "Take the field out here, or out of the volatile ones.",
            OptionRule::SensitiveRemember => {
                "Take the field out: secrets and card data are never stored on the device."
            }
            OptionRule::ReservedName => "Rename the field; this prefix belongs to the contract.",
            OptionRule::MalformedPointer => "Begin with a slash, and write a tilde as ~0 and a slash in a name as ~1.",
            OptionRule::StatusUrlMissing => "Give a status URL, or choose manual.",
        }
    }
}

impl OptionRule {
    /// Stable name, for errors and vectors.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Missing => "missing",
            Self::OverLimit => "over-limit",
            Self::MalformedName => "malformed-name",
            Self::UnknownValue => "unknown-value",
            Self::SafeMethodWithEffect => "safe-method-with-effect",
            Self::RelativeUrlWithoutBase => "relative-url-without-base",
            Self::UnsupportedScheme => "unsupported-scheme",
            Self::MalformedUrl => "malformed-url",
            Self::UrlWithCredentials => "url-with-credentials",
            Self::OutOfRange => "out-of-range",
            Self::NotAnInteger => "not-an-integer",
            Self::CapAboveBudget => "cap-above-budget",
            Self::SignificantAndVolatile => "significant-and-volatile",
            Self::VolatileName => "volatile-name",
            Self::SensitiveRemember => "sensitive-remember",
            Self::ReservedName => "reserved-name",
            Self::MalformedPointer => "malformed-pointer",
            Self::StatusUrlMissing => "status-url-missing",
        }
    }
}

impl fmt::Display for InvalidOption {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "{}", self.field)?;
        if let Some(item) = &self.item {
            write!(out, " ({item})")?;
        }
        write!(out, ": {}. {}", self.rule.as_str(), self.remedy())
    }
}

impl core::error::Error for InvalidOption {}
