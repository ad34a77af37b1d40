//! Field names that say password, one-time code or payment card (R88).
//!
//! A name is only a hint: the shell also looks at the controls themselves (`type`, `autocomplete`). Where a harmless name is
//! caught, the remedy is another name; where a secret is missed, it lies on the device, so doubt goes against the name.

use alloc::vec::Vec;

/// Looked for anywhere in the name's letters and digits, whatever separates them.
const ANYWHERE: [&[u8]; 13] = [
    b"password",
    b"passwd",
    b"passcode",
    b"passphrase",
    b"onetimecode",
    b"onetimepin",
    b"verificationcode",
    b"securitycode",
    b"cardnumber",
    b"creditcard",
    b"debitcard",
    b"cardcvc",
    b"cardcvv",
];

/// Looked for as whole words of the name: too short to be sought inside others (`shipping`, `score`, `account_number`).
const WORDS: [&[u8]; 31] = [
    b"-pwd-",
    b"-pw-",
    b"-pin-",
    b"-otp-",
    b"-totp-",
    b"-mfa-",
    b"-2-fa-",
    b"-sms-code-",
    b"-auth-code-",
    b"-user-pass-",
    b"-pan-",
    b"-cvc-",
    b"-cvv-",
    b"-csc-",
    b"-cvn-",
    b"-card-no-",
    b"-card-num-",
    b"-card-code-",
    b"-card-exp-",
    b"-card-expiry-",
    b"-card-holder-",
    b"-cardholder-",
    b"-cc-number-",
    b"-cc-num-",
    b"-cc-no-",
    b"-cc-exp-",
    b"-cc-name-",
    b"-cc-type-",
    b"-ccnumber-",
    b"-ccexp-",
    b"-cccsc-",
];

/// The whole name: `pass` is a password field alone, and a ticket in `boarding_pass`.
const WHOLE: &[u8] = b"-pass-";

/// Whether a field of this name must not be stored.
pub(super) fn is_sensitive(name: &str) -> bool {
    let (words, letters) = normalise(name);
    words == WHOLE
        || WORDS.iter().any(|needle| contains(&words, needle))
        || ANYWHERE.iter().any(|needle| contains(&letters, needle))
}

/// The name in lower case, once as words between dashes (`-card-number-` of `cardNumber`, `card[number]`, `CARD NUMBER`) and
/// once without anything between.
fn normalise(name: &str) -> (Vec<u8>, Vec<u8>) {
    let mut words = Vec::with_capacity(name.len() + 2);
    let mut letters = Vec::with_capacity(name.len());
    let mut last = Class::Separator;
    words.push(b'-');
    for byte in name.bytes() {
        let class = Class::of(byte);
        if last.breaks_before(class) && words.last() != Some(&b'-') {
            words.push(b'-');
        }
        if class != Class::Separator {
            words.push(byte.to_ascii_lowercase());
            letters.push(byte.to_ascii_lowercase());
        }
        last = class;
    }
    if words.last() != Some(&b'-') {
        words.push(b'-');
    }
    (words, letters)
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Class {
    Lower,
    Upper,
    Digit,
    Separator,
}

impl Class {
    const fn of(byte: u8) -> Self {
        match byte {
            b'A'..=b'Z' => Self::Upper,
            b'0'..=b'9' => Self::Digit,
            // Letters beyond ASCII belong to the word around them.
            b'a'..=b'z' | 0x80.. => Self::Lower,
            _ => Self::Separator,
        }
    }

    /// Whether a word ends between two bytes; `Pin` is one word and `userPin` two.
    const fn breaks_before(self, next: Self) -> bool {
        match (self, next) {
            (Self::Upper, Self::Lower) => false,
            (one, other) => one as u8 != other as u8,
        }
    }
}

fn contains(text: &[u8], needle: &[u8]) -> bool {
    (0..text.len()).any(|start| text.get(start..).is_some_and(|rest| rest.starts_with(needle)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn r88_given_names_of_secrets_then_each_is_caught_in_every_spelling() {
        for name in [
            "password",
            "Password2",
            "new-password",
            "userPassword",
            "user[password]",
            "pass_word",
            "PASSWD",
            "pwd",
            "pass",
            "passcode",
            "pin",
            "PIN",
            "userPin",
            "card_pin",
            "pin1",
            "otp",
            "otpCode",
            "OTP_2",
            "one-time-code",
            "oneTimeCode",
            "totp",
            "2fa",
            "sms_code",
            "verification-code",
            "cvc",
            "CVV2",
            "card.cvv",
            "csc",
            "cardnumber",
            "cardNumber",
            "card number",
            "card[number]",
            "card-no",
            "cc-number",
            "ccnumber",
            "cc_exp",
            "cc-csc",
            "creditCard",
            "credit_card_no",
            "cardholder",
            "PAN",
            "security-code",
            "payment.card.expiry",
        ] {
            assert!(is_sensitive(name), "{name}");
        }
    }

    #[test]
    fn r88_given_names_of_a_wish_then_none_is_caught() {
        for name in [
            "sku",
            "quantity",
            "amount",
            "iban",
            "account_number",
            "accNumber",
            "shipping",
            "shippingAddress",
            "opinion",
            "score",
            "music_score",
            "company",
            "pancake",
            "spin",
            "pinned",
            "compass",
            "boarding_pass",
            "passenger",
            "passport_country",
            "cc",
            "card",
            "cardinality",
            "card_note",
            "postcardText",
            "discard",
            "option",
            "adopted",
            "Größe",
            "",
            "-",
            "note",
            "expiry",
            "promo_code",
            "number",
        ] {
            assert!(!is_sensitive(name), "{name}");
        }
    }

    #[test]
    fn r88_given_the_word_lists_then_every_entry_catches_its_own_name() {
        for needle in ANYWHERE.iter().chain(&WORDS) {
            assert!(is_sensitive(core::str::from_utf8(needle).unwrap()), "{needle:?}");
        }
    }
}
