//! A host, mail domain or account that is nearly a known one.

use crate::call::Call;
use crate::domain_name::{Domain, is_near};
use crate::facts::Kind;
use crate::finding::{Code, Finding, Weight};
use crate::inner;
use crate::near::{differs_in_digits_only, distance};
use crate::net::{self, Mail};
use crate::past::Past;
use crate::role::{Role, role};

/// Shorter account numbers are running numbers.
const ACCOUNT: usize = 8;

pub(crate) fn found(call: &Call<'_>, past: &Past) -> Vec<Finding> {
    let mut found = Vec::new();
    for leaf in inner::values(call) {
        let near = match role(leaf, call) {
            Some(Role::Mails(mails)) => mails.iter().find_map(|mail| of_mail(mail, past)),
            Some(Role::Host(host)) => of_host(&host, past),
            Some(Role::Account(account)) => of_account(&account, past),
            _ if leaf.place.ends_with("»package") => of_package(leaf, past),
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
        let full = mail
            .local
            .split(['.', '_'])
            .filter(|part| part.len() > 1)
            .count()
            > 1;
        let own = net::registrable(&mail.host);
        let namesake = past.anywhere(Kind::Value).find(|(known, _)| {
            known
                .rsplit_once('@')
                .is_some_and(|(local, host)| local == mail.local && net::registrable(host) != own)
        });
        let known = past.knows_domain(own);
        return of_host(&mail.host, past).or_else(|| {
            let (known, _) = namesake.filter(|_| full && !known)?;
            Some(format!(
                "{} has the name of {}, and another domain.",
                past.shown(&format!("{}@{}", mail.local, mail.host)),
                past.shown(known)
            ))
        });
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
    if past.knows_domain(&own.name) {
        return None;
    }
    let is_below = |domain: &Domain| {
        let rest = host.strip_prefix(domain.name.as_str());
        rest.is_some_and(|rest| rest.starts_with('.'))
    };
    // The name of a known one with another word, or below another domain.
    let joined = past.hosts().iter().find_map(|(domain, known, calls, _)| {
        let word = own.more_than(domain)?;
        Some((known.as_str(), *calls, word)).filter(|_| !is_below(domain))
    });
    if let Some((known, calls, word)) = joined {
        let how = format!("has \"{word}\" more than");
        return Some(said(past, host, &how, known, calls));
    }
    let below = past.hosts().iter().find(|(domain, ..)| is_below(domain));
    if let Some((_, known, calls, _)) = below {
        return Some(said(
            past,
            host,
            "begins like and is not below",
            known,
            *calls,
        ));
    }
    let near = past.hosts().iter().filter_map(|(domain, known, calls, _)| {
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

/// A package nearly called like one that an earlier call installed.
fn of_package(leaf: &crate::leaf::Leaf<'_>, past: &Past) -> Option<String> {
    let name = leaf.text()?.to_lowercase();
    let known = past.forms(&leaf.place);
    let far = |one: &str| {
        distance(&name, one, if one.len() < 8 { 1 } else { 2 })
            .filter(|_| one.len() > 4 && one.chars().next() == name.chars().next())
    };
    let (near, calls) = known.iter().find(|(one, _)| far(one).is_some())?;
    let new = !known.contains_key(name.as_str()) && !differs_in_digits_only(&name, near);
    let how = if far(near) == Some(1) {
        "is one letter from"
    } else {
        "is two letters from"
    };
    new.then(|| {
        said(
            past,
            &name,
            how,
            near,
            u32::try_from(*calls).unwrap_or(u32::MAX),
        )
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
