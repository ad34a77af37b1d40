//! Structured fields: keys, dates and strings of the contract's headers.

use postonce_core::structured::{
    KeyFieldError, date_item, parse_date_item, parse_key_field, parse_string_item, string_item,
};
use postonce_core::time::Wall;

use crate::lossy;

/// What is read is written and read again as the same; two keys are never one.
pub(crate) fn structured(bytes: &[u8]) {
    let field = lossy(bytes);
    keys(&field);
    if let Some((text, _)) = parse_string_item(&field) {
        let written = string_item(&text);
        assert!(written.is_some(), "{field:?} holds what no String may");
        assert_eq!(written.and_then(|item| parse_string_item(&item)), Some((text, false)));
    }
    if let Some(item) = string_item(&field) {
        assert_eq!(parse_string_item(&item), Some((field.clone(), false)));
    }
    if let Some(at) = parse_date_item(&field) {
        assert_eq!(parse_date_item(&date_item(at, false)), Some(at));
        assert_eq!(parse_date_item(&date_item(at, true)), Some(at));
        assert!(field.trim_matches(' ').starts_with('@'));
    }
    if let Ok(ms) = field.parse() {
        let at = Wall(ms);
        let (down, up) = (parse_date_item(&date_item(at, false)), parse_date_item(&date_item(at, true)));
        assert!(down.is_some_and(|down| down <= at), "a first-sent is never late");
        assert!(up.is_some_and(|up| up >= at || ms > 999_999_999_999_999_000), "a deadline is never early");
    }
}

fn keys(field: &str) {
    let (strict, lenient) = (parse_key_field(field, false), parse_key_field(field, true));
    if let Ok(key) = &strict {
        assert_eq!(lenient.as_ref(), Ok(key), "leave to be bare never changes a quoted key");
        assert!(field.trim_start_matches(' ').starts_with('"'));
    }
    let Ok(key) = lenient else { return };
    let text = key.as_str();
    assert!((22..=255).contains(&text.len()) && field.contains(text), "{field:?}");
    assert!(text.bytes().all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_')));
    assert_eq!(parse_key_field(text, true).as_ref(), Ok(&key), "bare");
    assert_eq!(string_item(text).map(|item| parse_key_field(&item, false)), Some(Ok(key)), "quoted");
    let twice = format!("{field}, {field}");
    assert_eq!(parse_key_field(&twice, true), Err(KeyFieldError::Many), "never the first of two (R102)");
}
