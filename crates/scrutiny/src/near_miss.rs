//! A host, mail domain or account that is nearly a known one.

use crate::call::Call;
use crate::facts::Kind;
use crate::finding::{Code, Finding, Weight};
use crate::near::{differs_in_digits_only, distance, looks};
use crate::net::{self, Mail};
use crate::past::Past;
use crate::role::{Role, role};

/// Shorter names are near to each other by chance.
const SHORTEST: usize = 6;
/// Shorter account numbers are running numbers.
const ACCOUNT: usize = 8;

pub(crate) fn found(call: &Call<'_>, past: &Past) -> Vec<Finding> {
    let mut found = Vec::new();
    for leaf in &call.leaves {
        let near = match role(leaf, call) {
            Some(Role::Mails(mails)) => mails.iter().find_map(|mail| of_mail(mail, past)),
            Some(Role::Host(host)) => of_host(&host, past),
            Some(Role::Account(account)) => of_account(&account, past),
            _ => None,
        };
        found.extend(near.map(|message| Finding {
            code: Code::NearMiss,
            weight: Weight::Stop,
            at: leaf.at.clone(),
            message,
        }));
    }
    found
}

fn of_mail(mail: &Mail, past: &Past) -> Option<String> {
    if !past.knows(Kind::Host, &mail.host) {
        return of_host(&mail.host, past);
    }
    let whole = format!("{}@{}", mail.local, mail.host);
    if past.knows(Kind::Value, &whole) {
        return None;
    }
    // Names of people are near to each other; only what an eye cannot distinguish counts.
    let eye = unicode_security::skeleton(&mail.local).collect::<String>();
    past.anywhere(Kind::Value).find_map(|(known, habit)| {
        let (local, host) = known.rsplit_once('@')?;
        let same = host == mail.host
            && local != mail.local
            && !(local.is_ascii() && mail.local.is_ascii());
        let same = same && unicode_security::skeleton(local).collect::<String>() == eye;
        same.then(|| said(past, &whole, "looks like", known, habit.approved))
    })
}

fn of_host(host: &str, past: &Past) -> Option<String> {
    if past.knows(Kind::Host, host) || net::is_loopback(host) {
        return None;
    }
    let own = Domain::of(host);
    if past
        .hosts()
        .iter()
        .any(|(known, _, _)| known.name == own.name)
    {
        return None;
    }
    let near = past.hosts().iter().filter_map(|(domain, known, calls)| {
        Some((
            is_near(&own, domain)?,
            std::cmp::Reverse(*calls),
            known.as_str(),
        ))
    });
    let (letters, std::cmp::Reverse(calls), known) = near.min()?;
    let how = match letters {
        0 => "looks like",
        1 => "is one letter from",
        _ => "is two letters from",
    };
    Some(said(past, host, how, known, calls))
}

/// What somebody registered of a host, as it is compared.
#[derive(Debug)]
pub(crate) struct Domain {
    name: String,
    label: String,
    suffix: String,
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
            label: net::label(name).to_owned(),
            suffix: psl::suffix_str(name).unwrap_or_default().to_owned(),
            looks: if long { looks(&seen) } else { String::new() },
            is_address: name.parse::<std::net::IpAddr>().is_ok(),
            name: name.to_owned(),
        }
    }
}

/// Letters between two domains that belong to different people; 0 for look-alikes.
fn is_near(one: &Domain, known: &Domain) -> Option<usize> {
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
        let same_suffix = one.suffix == known.suffix;
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

fn of_account(account: &str, past: &Past) -> Option<String> {
    if account.chars().count() < ACCOUNT || past.knows(Kind::Value, account) {
        return None;
    }
    let known: Vec<(&str, u32)> = past
        .anywhere(Kind::Value)
        .filter(|(known, _)| {
            known.len().abs_diff(account.len()) <= 2
                && known
                    .chars()
                    .all(|at| at.is_ascii_uppercase() || at.is_ascii_digit())
        })
        .map(|(known, habit)| (known, habit.approved))
        .collect();
    let (near, calls) = known
        .iter()
        .find(|(known, _)| distance(account, known, 2).is_some())?;
    // Where known ones are as near to each other, they are numbered.
    let numbered = known.iter().any(|(one, _)| {
        known
            .iter()
            .any(|(other, _)| one != other && distance(one, other, 2).is_some())
    });
    (!numbered).then(|| {
        let letters = distance(account, near, 2).unwrap_or(2);
        let how = if letters == 1 {
            "is one character from"
        } else {
            "is two characters from"
        };
        said(past, account, how, near, *calls)
    })
}

fn said(past: &Past, new: &str, how: &str, known: &str, calls: u32) -> String {
    let times = if calls == 1 {
        "1 earlier call".to_owned()
    } else {
        format!("{calls} earlier calls")
    };
    format!(
        "{} {how} {}, used in {times}.",
        past.shown(new),
        past.shown(known)
    )
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
