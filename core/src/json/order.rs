//! The order of names that RFC 8785 asks for: by UTF-16 code units.

use alloc::vec::Vec;
use core::cmp::Ordering;

/// Compares by UTF-16 code units, without making them.
///
/// UTF-8 sorts by code point, which differs in one place: what lies beyond U+FFFF is a surrogate pair (D800..DFFF) in
/// UTF-16 and so comes before U+E000..U+FFFF. Their first UTF-8 bytes are F0..F4 and EE..EF.
pub(crate) fn utf16_order(a: &str, b: &str) -> Ordering {
    for (x, y) in a.bytes().zip(b.bytes()) {
        if x != y {
            return rank(x).cmp(&rank(y));
        }
    }
    a.len().cmp(&b.len())
}

const fn rank(byte: u8) -> u8 {
    if byte == 0xee || byte == 0xef { byte | 0x10 } else { byte }
}

/// The names of a list by position. Dynamic, so that one sort serves every kind of list in the module.
pub(crate) type Names<'n> = dyn Fn(usize) -> &'n str + 'n;

/// The positions `0..count` by name; equal names stay in the order they came in.
///
/// A merge sort of our own: the standard one is several kilobytes, and an insertion sort lets one request of a
/// hundred thousand members keep a server busy for minutes.
pub(crate) fn order(count: usize, names: &Names<'_>) -> Vec<usize> {
    let mut sorted: Vec<usize> = (0..count).collect();
    let mut width = 1;
    while width < count {
        let mut merged = Vec::with_capacity(count);
        let mut rest = sorted.as_slice();
        while !rest.is_empty() {
            let (mut left, after) = rest.split_at_checked(width).unwrap_or((rest, &[]));
            let (mut right, after) = after.split_at_checked(width).unwrap_or((after, &[]));
            rest = after;
            while let Some((l, others_l)) = left.split_first() {
                match right.split_first() {
                    Some((r, others_r)) if utf16_order(names(*l), names(*r)) == Ordering::Greater => {
                        merged.push(*r);
                        right = others_r;
                    }
                    Some(_) | None => {
                        merged.push(*l);
                        left = others_l;
                    }
                }
            }
            merged.extend_from_slice(right);
        }
        sorted = merged;
        width *= 2;
    }
    sorted
}

/// A name that is in the list more than once.
pub(crate) fn repeated<'n>(count: usize, names: &Names<'n>) -> Option<&'n str> {
    let mut before = None;
    for at in order(count, names) {
        let name = names(at);
        if before == Some(name) {
            return before;
        }
        before = Some(name);
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::string::{String, ToString};

    #[test]
    fn r12_given_names_beyond_the_bmp_then_they_sort_as_utf16_never_as_code_points() {
        let names = ["\u{ffff}", "\u{10000}", "\u{e000}", "\u{10ffff}", "\u{d7ff}", "z", "", "zz", "z\u{1f600}"];
        let mut expected = names;
        expected.sort_by(|a, b| a.encode_utf16().cmp(b.encode_utf16()));
        let sorted: Vec<&str> = order(names.len(), &|at| names[at]).into_iter().map(|at| names[at]).collect();
        assert_eq!(sorted, expected);
        assert_eq!(sorted.last(), Some(&"\u{ffff}"));
    }

    #[test]
    fn r14_given_equal_names_then_they_never_change_places() {
        let names = ["b", "a", "b", "a", "a", "c", "b"];
        assert_eq!(order(names.len(), &|at| names[at]), [1, 3, 4, 0, 2, 6, 5]);
    }

    #[test]
    fn given_every_length_up_to_40_then_the_order_is_that_of_the_standard_sort() {
        for length in 0..40_u32 {
            let owned: Vec<String> = (0..length).map(|n| (n * 7919 % 31).to_string()).collect();
            let names: Vec<&str> = owned.iter().map(String::as_str).collect();
            let mut expected: Vec<usize> = (0..names.len()).collect();
            expected.sort_by_key(|at| names[*at]);
            assert_eq!(order(names.len(), &|at| names[at]), expected);
        }
    }
}
