//! URLs of an operation, checked as far as a definition can; the browser's own parser has the last word.

use super::URL_BYTES_MAX;
use super::invalid::{InvalidOption, OptionRule};

/// Refuses a URL that is neither absolute http(s) nor relative to a known http(s) document, or that carries credentials.
pub(super) fn check(field: &'static str, url: &str, base: Option<&str>) -> Result<(), InvalidOption> {
    match fault(url, base) {
        None => Ok(()),
        Some(rule) => Err(InvalidOption::new(field, rule)),
    }
}

fn fault(url: &str, base: Option<&str>) -> Option<OptionRule> {
    if url.is_empty() {
        return Some(OptionRule::Missing);
    }
    if url.len() > URL_BYTES_MAX {
        return Some(OptionRule::OverLimit);
    }
    // A URL parser drops tabs and line feeds and reads a backslash as a slash: what is checked would not be what is used.
    if url.bytes().any(|byte| byte <= b' ' || byte == b'\\' || byte == 0x7f) {
        return Some(OptionRule::MalformedUrl);
    }
    let rest = match scheme_end(url) {
        Some(end) => {
            if !is_http(url.get(..end)?) {
                return Some(OptionRule::UnsupportedScheme);
            }
            url.get(end + 1..)?
        }
        None if !base.is_some_and(has_http_scheme) => return Some(OptionRule::RelativeUrlWithoutBase),
        None if !url.starts_with("//") => return None,
        None => url,
    };
    let Some(rest) = rest.strip_prefix("//") else { return Some(OptionRule::MalformedUrl) };
    let end = rest.bytes().position(|byte| matches!(byte, b'/' | b'?' | b'#')).unwrap_or(rest.len());
    let authority = rest.get(..end)?.as_bytes();
    if authority.contains(&b'@') {
        return Some(OptionRule::UrlWithCredentials);
    }
    // Empty, or a port alone.
    matches!(authority.first(), None | Some(b':')).then_some(OptionRule::MalformedUrl)
}

fn has_http_scheme(url: &str) -> bool {
    scheme_end(url).and_then(|end| url.get(..end)).is_some_and(is_http)
}

fn is_http(scheme: &str) -> bool {
    scheme.eq_ignore_ascii_case("https") || scheme.eq_ignore_ascii_case("http")
}

/// Where the colon after a scheme stands; `None` when there is no scheme.
fn scheme_end(url: &str) -> Option<usize> {
    let bytes = url.as_bytes();
    if !bytes.first()?.is_ascii_alphabetic() {
        return None;
    }
    let end = bytes.iter().position(|byte| !(byte.is_ascii_alphanumeric() || matches!(byte, b'+' | b'-' | b'.')))?;
    (bytes.get(end) == Some(&b':')).then_some(end)
}
