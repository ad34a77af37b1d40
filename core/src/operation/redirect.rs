//! Where a redirect may end that confirms (R40).

/// Whether the final address of a redirected answer is the declared one: the same path, where `*` stands for any one
/// segment that is not empty. Query and fragment say nothing; the origin is the page's own, since the request is sent with
/// `mode: "same-origin"`.
///
/// ```
/// use postonce_core::operation::confirms;
/// assert!(confirms("/orders/*", "https://shop.test/orders/ord_1?new=1"));
/// assert!(!confirms("/orders/*", "https://shop.test/login?to=/orders/ord_1"));
/// ```
#[must_use]
pub fn confirms(pattern: &str, url: &str) -> bool {
    let (mut wanted, mut found) = (path(pattern), path(url));
    loop {
        let (w, f) = (segment(wanted), segment(found));
        if !(w == f || (w == b"*" && !f.is_empty())) {
            return false;
        }
        match (wanted.get(w.len() + 1..), found.get(f.len() + 1..)) {
            (None, None) => return true,
            (Some(more), Some(also)) => (wanted, found) = (more, also),
            _ => return false,
        }
    }
}

/// What follows the first slash of the path, up to query and fragment.
fn path(url: &str) -> &[u8] {
    let url = url.as_bytes();
    let end = url.iter().position(|byte| matches!(byte, b'?' | b'#')).unwrap_or(url.len());
    let url = url.get(..end).unwrap_or_default();
    let mut slashes = url.iter().enumerate().filter(|(_, byte)| **byte == b'/').map(|(at, _)| at);
    let first = slashes.next();
    let from = if url.first() == Some(&b'/') { first } else { slashes.nth(1) };
    from.and_then(|at| url.get(at + 1..)).unwrap_or_default()
}

fn segment(path: &[u8]) -> &[u8] {
    path.split(|byte| *byte == b'/').next().unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::confirms;

    #[test]
    fn r40_given_a_declared_address_then_only_that_path_confirms() {
        for (pattern, url, expected) in [
            ("/orders/*", "https://shop.test/orders/ord_1", true),
            ("/orders/*", "https://shop.test/orders/ord_1?new=1#top", true),
            ("https://shop.test/orders/*", "https://shop.test/orders/7", true),
            ("/thanks", "https://shop.test/thanks", true),
            ("/", "https://shop.test/", true),
            ("/orders/*", "https://shop.test/orders/", false),
            ("/orders/*", "https://shop.test/orders", false),
            ("/orders/*", "https://shop.test/orders/7/edit", false),
            ("/orders/*", "https://shop.test/orders/7/", false),
            ("/orders/*", "https://shop.test/login?to=/orders/7", false),
            ("/orders/*", "https://shop.test/shop/orders/7", false),
            ("/thanks", "https://shop.test/thanks/", false),
            ("/", "https://shop.test/login", false),
        ] {
            assert_eq!(confirms(pattern, url), expected, "{pattern} at {url}");
        }
    }
}
