//! Numbers that carry check digits, and whose digits are wrong.

use std::borrow::Cow;

use serde_json::Value;

use crate::call::Call;
use crate::finding::{Code, Hazard};
use crate::ibans;
use crate::leaf::Leaf;
use crate::shown::shown;

/// A longer value, bytes, is a text whatever its name is.
const LONGEST: usize = 200;

pub(crate) fn hazards(call: &Call<'_>) -> Vec<Hazard> {
    let mut found = Vec::new();
    for leaf in &call.leaves {
        let text = match leaf.value.as_ref() {
            Value::String(text) => Cow::Borrowed(text.trim()),
            Value::Number(number) => Cow::Owned(number.to_string()),
            _ => continue,
        };
        if let Some((what, number)) = wrong(leaf, &text) {
            let message = format!(
                "{} is not a valid {what}: its check digits, length or country are wrong.",
                shown(&number)
            );
            found.push(Hazard::stop(
                Code::BadChecksum,
                &leaf.at,
                text.as_ref(),
                message,
            ));
        }
    }
    found
}

/// What it is not, and the number as it is written.
type Wrong<'t> = (&'static str, Cow<'t, str>);

fn wrong<'t>(leaf: &Leaf<'_>, text: &'t str) -> Option<Wrong<'t>> {
    let in_text = || -> Option<Wrong<'t>> { Some(("IBAN", ibans::wrong_in(text)?.into())) };
    let all = |wrong: bool, what: &'static str| -> Option<Wrong<'t>> {
        wrong.then(|| (what, text.into()))
    };
    if text.len() > LONGEST {
        return in_text();
    }
    // What is masked or a placeholder has no check digits. A BIC may end in XXX.
    let masks = |word: &str| {
        let bic = word.len() == 11 && word.ends_with("XXX");
        !bic && word.to_lowercase().contains("xxx")
    };
    let mut words = text.split(|at: char| !at.is_alphanumeric());
    if text.is_empty() || text.contains(['*', '•', '…', '{', '<', '$']) || words.any(masks) {
        return in_text();
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
        if alone && !upper.contains("BIC") {
            return all(looks && !ibans::is_right(&upper), "IBAN");
        }
        let upper = text.to_uppercase();
        let wrong = ibans::begins_wrong(&upper).filter(|_| looks)?;
        return Some(("IBAN", wrong.to_owned().into()));
    }
    let account = leaf.has_word("account konto payee beneficiary");
    if account && ibans::has_shape(text) {
        return all(!ibans::is_right(text), "IBAN");
    }
    if leaf.has_word("vat ust ustid uid") && leaf.has_word("vat ust ustid") {
        return all(vat_is_wrong(&upper), "VAT number");
    }
    if leaf.has_word("ean gtin ean13 upc") {
        let wrong = !digits || ![8, 12, 13, 14].contains(&compact.len()) || !gtin(&compact);
        return all(wrong, "EAN");
    }
    if leaf.named("card_number card_no pan credit_card credit_card_number cardnumber card")
        && digits
    {
        let wrong = (12..=19).contains(&compact.len()) && !luhn(&compact);
        return all(wrong, "card number");
    }
    in_text()
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
