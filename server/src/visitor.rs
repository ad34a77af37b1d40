//! Guests as subjects: whoever holds the secret of a cookie is one visitor, and nobody else is (R89). Never an address:
//! strangers share one, and one person has many.

use axum::http::HeaderMap;
use axum::http::header::COOKIE;
use axum::http::request::Parts;

use crate::operation::{Authenticate, Authenticated};

/// Bytes of a visitor's secret.
pub const VISITOR_SECRET_BYTES: usize = 32;
/// Bytes of what is derived from it, before they are written as hex digits.
const DERIVED_BYTES: usize = 16;
/// How long a browser keeps the cookie: longer than any record is kept by default.
const COOKIE_SECONDS: u32 = 400 * 24 * 60 * 60;

/// One guest.
#[derive(Clone, PartialEq, Eq)]
pub struct Visitor {
    secret: String,
}

impl std::fmt::Debug for Visitor {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.debug_struct("Visitor").finish_non_exhaustive()
    }
}

impl Visitor {
    /// A new guest, from `random` bytes of a cryptographic generator.
    #[must_use]
    pub fn new(random: [u8; VISITOR_SECRET_BYTES]) -> Self {
        Self { secret: hex(&random) }
    }

    /// The subject and tag of this guest. Neither tells the secret, and the tag alone opens nothing: it is what a page
    /// may know, to send it as `Idempotency-Subject` (R123).
    #[must_use]
    pub fn authenticated(&self, tenant: &str) -> Authenticated {
        Authenticated {
            tenant: tenant.to_owned(),
            subject: format!("guest:{}", self.derived("subject")),
            tag: self.derived("tag"),
        }
    }

    fn derived(&self, purpose: &str) -> String {
        let mac = hmac_sha256::HMAC::mac(format!("postonce visitor {purpose}").as_bytes(), self.secret.as_bytes());
        hex(mac.get(..DERIVED_BYTES).unwrap_or(&mac))
    }
}

/// Where guests are recognised: the tenant and the cookie's name. It is an [`Authenticate`] of its own, and the part for
/// guests of an application's.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Visitors {
    /// The tenant of every guest.
    pub tenant: String,
    /// Name of the cookie; with the prefix `__Host-` a browser refuses one that another host or plain http set.
    pub cookie: String,
}

impl Visitors {
    /// Whose cookie this is; `None` without one, or with one that no server of ours made.
    #[must_use]
    pub fn find(&self, headers: &HeaderMap) -> Option<Visitor> {
        let lines = headers.get_all(COOKIE).iter().filter_map(|line| line.to_str().ok());
        let secret = lines
            .flat_map(|line| line.split(';'))
            .filter_map(|cookie| cookie.trim().split_once('='))
            .find_map(|(name, value)| (name == self.cookie).then_some(value))?;
        let sound = secret.len() == 2 * VISITOR_SECRET_BYTES
            && secret.bytes().all(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f'));
        sound.then(|| Visitor { secret: secret.to_owned() })
    }

    /// The `Set-Cookie` that makes a browser this guest: no script can read it, no other site can send it along.
    #[must_use]
    pub fn set_cookie(&self, visitor: &Visitor) -> String {
        let Self { cookie, .. } = self;
        let secret = &visitor.secret;
        format!("{cookie}={secret}; Path=/; Max-Age={COOKIE_SECONDS}; HttpOnly; Secure; SameSite=Lax")
    }
}

impl Authenticate for Visitors {
    fn authenticate(&self, parts: &Parts) -> Option<Authenticated> {
        self.find(&parts.headers).map(|visitor| visitor.authenticated(&self.tenant))
    }
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

#[cfg(test)]
mod tests {
    use axum::http::HeaderValue;

    use super::*;

    fn visitors() -> Visitors {
        Visitors { tenant: String::from("shop"), cookie: String::from("__Host-visitor") }
    }

    fn with_cookie(line: &str) -> HeaderMap {
        let mut headers = HeaderMap::new();
        headers.insert(COOKIE, HeaderValue::from_str(line).unwrap());
        headers
    }

    #[test]
    fn f48_given_the_cookie_it_set_then_the_same_guest_and_never_the_secret_in_subject_or_tag() {
        let guest = Visitor::new([7; VISITOR_SECRET_BYTES]);
        let set = visitors().set_cookie(&guest);
        for attribute in ["HttpOnly", "Secure", "SameSite=Lax", "Path=/"] {
            assert!(set.contains(attribute), "{set}");
        }
        let line = format!("theme=dark; {}", set.split(';').next().unwrap());
        assert_eq!(visitors().find(&with_cookie(&line)), Some(guest.clone()));
        let who = guest.authenticated("shop");
        assert!(!who.subject.contains(&guest.secret) && !who.tag.contains(&guest.secret));
        assert!(!who.subject.contains(&who.tag), "who knows the tag must not know the subject");
        assert!(!format!("{guest:?}").contains(&guest.secret));
    }

    #[test]
    fn f48_given_another_secret_or_one_of_nobody_then_another_guest_or_none() {
        let (one, other) = (Visitor::new([1; VISITOR_SECRET_BYTES]), Visitor::new([2; VISITOR_SECRET_BYTES]));
        assert_ne!(one.authenticated("shop"), other.authenticated("shop"));
        for line in ["theme=dark", "__Host-visitor=", "__Host-visitor=10.0.0.1", "x__Host-visitor=aa"] {
            assert_eq!(visitors().find(&with_cookie(line)), None, "{line}");
        }
        let upper = format!("__Host-visitor={}", "A".repeat(2 * VISITOR_SECRET_BYTES));
        assert_eq!(visitors().find(&with_cookie(&upper)), None);
    }
}
