//! Domains, and how near one is to another.

use crate::near::{differs_in_digits_only, distance, letters, looks};
use crate::net;

/// Shorter names are near to each other by chance.
const SHORTEST: usize = 6;

/// What somebody registered of a host, as it is compared.
#[derive(Debug)]
pub(crate) struct Domain {
    pub(crate) name: String,
    label: String,
    suffix: String,
    /// The letters of an ASCII label, a bit each.
    letters: Option<u128>,
    /// What an eye reads, the letters of punycode too.
    looks: String,
    is_address: bool,
}

impl Domain {
    pub(crate) fn of(host: &str) -> Self {
        let name = net::registrable(host);
        let decoded = url::Host::parse(name).ok().map(|host| host.to_string());
        let unicode = decoded.is_some_and(|ascii| ascii.contains("xn--"));
        let seen = if unicode { idn(name) } else { name.to_owned() };
        let long = seen.chars().count() >= SHORTEST;
        Self {
            letters: Some(net::label(name))
                .filter(|label| label.is_ascii())
                .map(letters),
            label: net::label(name).to_owned(),
            suffix: psl::suffix_str(name).unwrap_or_default().to_owned(),
            looks: if long { looks(&seen) } else { String::new() },
            is_address: name.parse::<std::net::IpAddr>().is_ok(),
            name: name.to_owned(),
        }
    }
}

impl Domain {
    /// The word that the name has beside that of a known domain: `billing` of `nordwind-billing`.
    pub(crate) fn more_than(&self, known: &Self) -> Option<&str> {
        if known.label.len() < 5 || self.is_address || self.name == known.name {
            return None;
        }
        let behind = self
            .label
            .strip_prefix(known.label.as_str())
            .and_then(|rest| rest.strip_prefix('-'));
        let before = || {
            self.label
                .strip_suffix(known.label.as_str())?
                .strip_suffix('-')
        };
        behind
            .or_else(before)
            .filter(|word| !word.chars().all(|at| at.is_ascii_digit()))
    }
}

/// Letters between two domains that belong to different people; 0 for look-alikes.
pub(crate) fn is_near(one: &Domain, known: &Domain) -> Option<usize> {
    if one.is_address || known.is_address || one.name == known.name {
        return None;
    }
    let length = one.label.chars().count().min(known.label.chars().count());
    let letters = if one.looks == known.looks && !one.looks.is_empty() {
        Some(0)
    } else if one.label == known.label {
        // Another suffix: only one that reads like a slip of it.
        distance(&one.name, &known.name, 1).filter(|_| length >= SHORTEST)
    } else {
        // Two families under one suffix: the name is what is read.
        let most = match length {
            0..4 => return None,
            4..SHORTEST => 1,
            _ => 2,
        };
        // Each change brings one letter and takes one.
        let strange = |(one, other): (u128, u128)| (one & !other).count_ones() as usize > most;
        let far = one.letters.zip(known.letters).is_some_and(strange);
        let same_suffix = one.suffix == known.suffix && !far;
        same_suffix.then(|| distance(&one.label, &known.label, most))?
    };
    letters.filter(|_| !differs_in_digits_only(&one.name, &known.name))
}

/// The letters that a punycode name shows.
fn idn(host: &str) -> String {
    let parts = host
        .split('.')
        .map(|label| match label.strip_prefix("xn--") {
            Some(code) => punycode(code).unwrap_or_else(|| label.to_owned()),
            None => label.to_owned(),
        });
    parts.collect::<Vec<_>>().join(".")
}

/// RFC 3492, decoding.
fn punycode(code: &str) -> Option<String> {
    let (mut out, rest): (Vec<char>, &str) = match code.rsplit_once('-') {
        Some((plain, rest)) => (plain.chars().collect(), rest),
        None => (Vec::new(), code),
    };
    let (mut number, mut place, mut bias) = (128_u32, 0_u32, 72_u32);
    let mut digits = rest.bytes();
    while digits.len() > 0 {
        let (before, mut weight, mut step) = (place, 1_u32, 36_u32);
        loop {
            let digit = match digits.next()? {
                at @ b'a'..=b'z' => u32::from(at - b'a'),
                at @ b'0'..=b'9' => u32::from(at - b'0') + 26,
                _ => return None,
            };
            place = place.checked_add(digit.checked_mul(weight)?)?;
            let edge = step.saturating_sub(bias).clamp(1, 26);
            if digit < edge {
                break;
            }
            weight = weight.checked_mul(36 - edge)?;
            step += 36;
        }
        let length = u32::try_from(out.len()).ok()? + 1;
        let mut delta = (place - before) / if before == 0 { 700 } else { 2 };
        delta += delta / length;
        let mut shift = 0;
        while delta > 455 {
            delta /= 35;
            shift += 36;
        }
        bias = shift + 36 * delta / (delta + 38);
        number = number.checked_add(place / length)?;
        place %= length;
        out.insert(usize::try_from(place).ok()?, char::from_u32(number)?);
        place += 1;
    }
    Some(out.into_iter().collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_near_and_what_is_only_alike() {
        for (one, known, near) in [
            (
                "nordwind-logistlk.example",
                "nordwind-logistik.example",
                true,
            ),
            ("nordwnd.example", "nordwind.example", true),
            ("rnodern.example", "modern.example", true),
            ("hallberg.co", "hallberg.com", true),
            ("xn--nrdwind-9ig.example", "nordwind.example", true),
            ("north.example", "south.example", false),
            ("node1.example", "node2.example", false),
            ("hallberg.at", "hallberg.de", false),
            ("dhl.de", "ups.de", false),
            ("10.0.0.1", "10.0.0.2", false),
        ] {
            assert_eq!(
                is_near(&Domain::of(one), &Domain::of(known)).is_some(),
                near,
                "{one} {known}"
            );
        }
        assert_eq!(idn("xn--mnchen-3ya.example"), "münchen.example");
    }
}
