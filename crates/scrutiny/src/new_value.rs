//! A value never seen where few were, and an argument that no earlier call had.

use std::collections::HashSet;

use serde_json::Value;

use crate::call::Call;
use crate::cell::What;
use crate::cells;
use crate::facts::Kind;
use crate::finding::{Code, Finding, Weight};
use crate::inner;
use crate::leaf::{Leaf, among, snake};
use crate::net;
use crate::past::Past;
use crate::role::{Role, role};
use crate::safeguard;

/// Calls after which few values are a habit.
const VALUE_CALLS: u32 = 6;
/// Calls after which an argument that never was is new.
const ARGUMENT_CALLS: u32 = 5;
const PARTIES: &str =
    "counterparty payee supplier vendor customer client partner company merchant party name";
/// A place may hold this many values, or one for this many calls.
const FEW: usize = 2;
const SHARE: u32 = 6;

pub(crate) fn values(call: &Call<'_>, past: &Past) -> Vec<Finding> {
    let mut found = Vec::new();
    for leaf in inner::values(call) {
        let Some(role) = role(leaf, call) else {
            continue;
        };
        let new = match role {
            Role::Mails(mails) => mails
                .iter()
                .filter(|mail| !is_of_new_party(&mail.host, call, past))
                .find_map(|mail| new_host(leaf, &mail.host, past)),
            Role::Host(host) if is_of_new_party(&host, call, past) => None,
            Role::Host(host) => new_host(leaf, &host, past),
            Role::Account(value) | Role::Where(value) => new(leaf, Kind::Value, &value, past),
            Role::Payee(_) | Role::Path(_) | Role::Amount(_) => None,
        };
        found.extend(new.map(|message| Finding {
            code: Code::NewValue,
            weight: Weight::Stop,
            at: leaf.at.clone(),
            message,
        }));
    }
    found
}

/// The own domain of a party that is new in this call: a word of its name.
fn is_of_new_party(host: &str, call: &Call<'_>, past: &Past) -> bool {
    let label = net::label(host);
    cells::of(call)
        .iter()
        .filter(|cell| cell.what == What::Name && cell.has_word(PARTIES))
        .any(|cell| {
            let new = !past.forms(&cell.place).contains_key(cell.form.as_str());
            new && cell
                .form
                .split(|at: char| !at.is_alphanumeric())
                .any(|word| word.len() > 3 && label.contains(word))
        })
}

fn new_host(leaf: &Leaf<'_>, host: &str, past: &Past) -> Option<String> {
    // Another machine of a known owner.
    let domain = net::registrable(host);
    let mut here = past
        .hosts()
        .iter()
        .filter(|(.., place)| *place == leaf.place);
    let owner = here.any(|(known, ..)| known.name == domain);
    if owner || net::is_loopback(host) {
        return None;
    }
    new(leaf, Kind::Host, host, past)
}

fn new(leaf: &Leaf<'_>, kind: Kind, value: &str, past: &Past) -> Option<String> {
    // A list that was empty named nothing.
    let calls = past.count(Kind::Has, &leaf.place, "");
    if calls < VALUE_CALLS || past.count(kind, &leaf.place, value) > 0 {
        return None;
    }
    let known: Vec<&str> = past.at(kind, &leaf.place).map(|(known, _)| known).collect();
    // Most calls named something of this kind there; a numbered neighbour is not new.
    let of_kind: u32 = past
        .at(kind, &leaf.place)
        .map(|(_, habit)| habit.approved)
        .sum();
    let letters = |text: &str| {
        text.trim_end_matches(|at: char| at.is_ascii_digit() || "-_.".contains(at))
            .to_owned()
    };
    let numbered = kind == Kind::Value
        && known.iter().any(|one| {
            letters(one) == letters(value)
                && !one
                    .chars()
                    .all(|at| at.is_ascii_uppercase() || at.is_ascii_digit())
        });
    if of_kind * 5 < calls * 4 || numbered {
        return None;
    }
    let few = FEW.max(usize::try_from(calls / SHARE).unwrap_or(FEW));
    let mut owners: HashSet<&str> = HashSet::new();
    let many = known.iter().any(|known| {
        owners.insert(if kind == Kind::Host {
            net::registrable(known)
        } else {
            known
        });
        owners.len() > few
    });
    (!known.is_empty() && !many).then(|| {
        let mut known: Vec<String> = known.into_iter().map(|known| past.shown(known)).collect();
        known.sort();
        known.truncate(3);
        format!(
            "{} is new here; {calls} earlier calls had {}.",
            past.shown(value),
            known.join(", ")
        )
    })
}

pub(crate) fn arguments(call: &Call<'_>, past: &Past) -> Vec<Finding> {
    let calls = past.calls();
    if calls < ARGUMENT_CALLS {
        return Vec::new();
    }
    let mut found = Vec::new();
    let mut seen = HashSet::new();
    for leaf in inner::values(call) {
        let place = leaf.place.trim_end_matches("/*");
        // Each command has other options.
        if leaf.place.contains('»') && !leaf.named(RECIPIENTS) {
            continue;
        }
        if past.count(Kind::Has, place, "") > 0
            || !seen.insert(place)
            || !reaches(leaf, call)
            || is_known(leaf, call, past)
        {
            continue;
        }
        // Only where what it is in was there before: a new row of a table is not a new argument.
        let parent = place.rsplit_once('/').map_or("", |(parent, _)| parent);
        let list = parent.trim_end_matches("/*");
        let recipients = among(
            RECIPIENTS,
            &snake(list.rsplit('/').next().unwrap_or_default()),
        );
        if parent.contains('*') && past.count(Kind::Has, list, "") == 0 && !recipients {
            continue;
        }
        let several = call
            .leaves
            .iter()
            .filter(|other| other.place == leaf.place)
            .count()
            > 1;
        let at = match leaf.place.ends_with("/*") && several {
            true => leaf.at.rsplit_once('/').map_or("", |(list, _)| list),
            false => &leaf.at,
        };
        found.push(Finding {
            code: Code::NewArgument,
            weight: Weight::Stop,
            at: at.to_owned(),
            message: format!(
                "None of {calls} earlier calls had {}.",
                crate::shown::shown(&leaf.name)
            ),
        });
    }
    found
}

const RECIPIENTS: &str = "to cc bcc recipient recipients attendees reply_to forward_to webhook webhook_url callback callback_url";

/// A recipient, host, path or safeguard.
fn reaches(leaf: &Leaf<'_>, call: &Call<'_>) -> bool {
    let given = !matches!(
        leaf.value.as_ref(),
        Value::Null | Value::Object(_) | Value::Array(_)
    ) && leaf.text() != Some("");
    let named = leaf.named(RECIPIENTS);
    let role = role(leaf, call);
    let by_role = matches!(role, Some(Role::Mails(_) | Role::Host(_) | Role::Path(_)));
    given && (named || by_role || safeguard::is_off(leaf) == Some(true))
}

/// Who and what was there before under another name.
fn is_known(leaf: &Leaf<'_>, call: &Call<'_>, past: &Past) -> bool {
    match role(leaf, call) {
        Some(Role::Mails(mails)) => mails
            .iter()
            .all(|mail| past.knows(Kind::Value, &format!("{}@{}", mail.local, mail.host))),
        Some(Role::Host(host)) => past.knows(Kind::Host, &host),
        Some(Role::Path(path)) => past.knows(Kind::Value, &path),
        _ => false,
    }
}
