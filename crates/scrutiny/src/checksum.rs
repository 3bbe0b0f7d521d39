//! Numbers that carry check digits, and whose digits are wrong.

use crate::call::Call;
use crate::finding::{Code, Hazard};
use crate::leaf::Leaf;
use crate::role::shape_of_iban;
use crate::shown::shown;

pub(crate) fn hazards(call: &Call<'_>) -> Vec<Hazard> {
    let mut found = Vec::new();
    for leaf in &call.leaves {
        let text = match leaf.value.as_ref() {
            serde_json::Value::String(text) => text.trim().to_owned(),
            serde_json::Value::Number(number) => number.to_string(),
            _ => continue,
        };
        if let Some(what) = wrong(leaf, &text) {
            let message = format!(
                "{} is not a valid {what}: its check digits, length or country are wrong.",
                shown(&text)
            );
            found.push(Hazard::stop(Code::BadChecksum, &leaf.at, text, message));
        }
    }
    found
}

fn wrong(leaf: &Leaf<'_>, text: &str) -> Option<&'static str> {
    // What is masked or a placeholder has no check digits. A BIC may end in XXX.
    let masks = |word: &str| {
        let bic = word.len() == 11 && word.ends_with("XXX");
        !bic && word.to_lowercase().contains("xxx")
    };
    let mut words = text.split(|at: char| !at.is_alphanumeric());
    if text.is_empty() || text.contains(['*', '•', '…', '{', '<', '$']) || words.any(masks) {
        return None;
    }
    let compact: String = text
        .chars()
        .filter(|at| !at.is_whitespace() && *at != '-' && *at != '.')
        .collect();
    let upper = compact.to_uppercase();
    let digits = compact.chars().all(|at| at.is_ascii_digit());
    if leaf.has_word("iban") {
        let looks = upper.len() >= 5 && upper.chars().take(2).all(|at| at.is_ascii_alphabetic());
        let alone = text
            .chars()
            .all(|at| at.is_alphanumeric() || at.is_whitespace() || "-.".contains(at));
        let wrong = match alone && !upper.contains("BIC") {
            true => upper.parse::<iban::Iban>().is_err(),
            false => is_wrong(&text.to_uppercase()),
        };
        return (looks && wrong).then_some("IBAN");
    }
    let account = leaf.has_word("account konto payee beneficiary");
    if account && shape_of_iban(text) {
        return text.parse::<iban::Iban>().is_err().then_some("IBAN");
    }
    if leaf.has_word("vat ust ustid uid") && leaf.has_word("vat ust ustid") {
        return vat_is_wrong(&upper).then_some("VAT number");
    }
    if leaf.has_word("ean gtin ean13 upc") {
        let wrong = !digits || ![8, 12, 13, 14].contains(&compact.len()) || !gtin(&compact);
        return wrong.then_some("EAN");
    }
    if leaf.named("card_number card_no pan credit_card credit_card_number cardnumber card")
        && digits
    {
        return ((12..=19).contains(&compact.len()) && !luhn(&compact)).then_some("card number");
    }
    in_prose(text)
}

/// "IBAN DE12 …" in a text. An IBAN is as long as its country's: what follows it is not read.
fn in_prose(text: &str) -> Option<&'static str> {
    let named = text
        .match_indices("IBAN")
        .map(|(at, name)| &text[at + name.len()..]);
    let wrong = |after: &str| is_wrong(after.trim_start_matches([':', ' ', '=', '\u{a0}']));
    named.into_iter().any(wrong).then_some("IBAN")
}

/// Whether a text begins with what looks like an IBAN and is none.
fn is_wrong(text: &str) -> bool {
    let gap = |at: char| at == ' ' || at == '\u{a0}';
    let of_it = |at: char| at.is_ascii_digit() || at.is_ascii_uppercase() || gap(at);
    let long = text.find(|at| !of_it(at)).unwrap_or(text.len());
    let mut number = String::new();
    for (at, letter) in text[..long].char_indices().filter(|(_, at)| !gap(*at)) {
        number.push(letter);
        let next = text[at + 1..].chars().next();
        let ends = !next.is_some_and(char::is_alphanumeric);
        if ends && number.parse::<iban::Iban>().is_ok() {
            return false;
        }
    }
    let number: String = number.chars().take(34).collect();
    shape_of_iban(&number)
}

fn luhn(digits: &str) -> bool {
    let sum: u32 = digits
        .chars()
        .rev()
        .filter_map(|at| at.to_digit(10))
        .enumerate()
        .map(|(place, digit)| match place % 2 {
            0 => digit,
            _ => digit * 2 / 10 + digit * 2 % 10,
        })
        .sum();
    sum.is_multiple_of(10)
}

fn gtin(digits: &str) -> bool {
    let weighted = digits
        .chars()
        .rev()
        .filter_map(|at| at.to_digit(10))
        .enumerate();
    let sum: u32 = weighted
        .map(|(place, digit)| if place % 2 == 0 { digit } else { digit * 3 })
        .sum();
    sum.is_multiple_of(10)
}

/// Length of every country of the VIES, and the check digits of those whose rule is simple and public.
fn vat_is_wrong(vat: &str) -> bool {
    let Some((country, number)) = vat.split_at_checked(2) else {
        return true;
    };
    if !country.chars().all(|at| at.is_ascii_uppercase())
        || !number.chars().all(|at| at.is_ascii_alphanumeric())
    {
        return false;
    }
    let lengths: &[usize] = match country {
        "AT" | "DE" | "EL" | "GR" | "EE" | "PT" | "ES" => &[9],
        "BE" | "PL" | "SK" => &[10],
        "BG" => &[9, 10],
        "CZ" => &[8, 9, 10],
        "DK" | "FI" | "HU" | "LU" | "MT" | "SI" => &[8],
        "CY" => &[9],
        "FR" | "IT" | "HR" | "LV" => &[11],
        "IE" => &[8, 9],
        "LT" => &[9, 12],
        "NL" | "SE" => &[12],
        "RO" => &[2, 3, 4, 5, 6, 7, 8, 9, 10],
        "GB" | "XI" => &[5, 9, 12],
        _ => return false,
    };
    if !lengths.contains(&number.len()) {
        return true;
    }
    let digits: Vec<u32> = number.chars().filter_map(|at| at.to_digit(10)).collect();
    let weighted = |weights: &[u32]| -> u32 {
        weights
            .iter()
            .zip(&digits)
            .map(|(weight, digit)| weight * digit)
            .sum()
    };
    match country {
        "DE" if digits.len() == 9 => {
            let product = digits[..8].iter().fold(10, |product, digit| {
                let sum = (digit + product) % 10;
                (if sum == 0 { 10 } else { sum }) * 2 % 11
            });
            (11 - product) % 10 != digits[8]
        }
        "BE" if digits.len() == 10 => {
            let head = digits[..8]
                .iter()
                .fold(0, |number, digit| number * 10 + digit);
            97 - head % 97 != digits[8] * 10 + digits[9]
        }
        "PL" if digits.len() == 10 => weighted(&[6, 5, 7, 2, 3, 4, 5, 6, 7]) % 11 != digits[9],
        "IT" if digits.len() == 11 => !luhn(number),
        "FR" if digits.len() == 11 => {
            let siren = digits[2..]
                .iter()
                .fold(0_u64, |number, digit| number * 10 + u64::from(*digit));
            (12 + 3 * (siren % 97)) % 97 != u64::from(digits[0] * 10 + digits[1])
        }
        "AT" if digits.len() == 8 && number.starts_with('U') => {
            let double = |digit: u32| digit * 2 / 10 + digit * 2 % 10;
            let sum = digits[0]
                + double(digits[1])
                + digits[2]
                + double(digits[3])
                + digits[4]
                + double(digits[5])
                + digits[6];
            (10 - (sum + 4) % 10) % 10 != digits[7]
        }
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn check_digits_of_known_numbers() {
        for (vat, wrong) in [
            ("DE136695976", false),
            ("DE136695977", true),
            ("BE0403170701", false),
            ("BE0403170702", true),
            ("PL8567346215", false),
            ("PL8567346216", true),
            ("IT00743110157", false),
            ("IT00743110158", true),
            ("FR40303265045", false),
            ("FR41303265045", true),
            ("ATU13585627", false),
            ("ATU13585626", true),
            ("DE12345", true),
        ] {
            assert_eq!(vat_is_wrong(vat), wrong, "{vat}");
        }
        assert!(luhn("4111111111111111") && !luhn("4111111111111112"));
        assert!(gtin("4006381333931") && !gtin("4006381333932"));
    }
}
