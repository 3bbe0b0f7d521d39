//! What a person denied before, asked again.

use crate::call::Call;
use crate::direction;
use crate::facts::{Kind, facts};
use crate::finding::{Code, Finding, Weight};
use crate::leaf::Leaf;
use crate::past::{Denial, Past};
use crate::role::{Role, role};

pub(crate) fn found(call: &Call<'_>, past: &Past) -> Vec<Finding> {
    let same = past
        .get(Kind::Args, "", &call.digest)
        .filter(|habit| habit.denied > 0 && !call.digest.is_empty());
    let value = call.leaves.iter().find_map(|leaf| {
        let (kind, value) = identifying(leaf, call)?;
        let denial = past
            .denial(kind, &value)
            .filter(|_| !past.knows(kind, &value))?;
        let counts = !direction::closes(call) && is_all(call, past, denial, &leaf.place);
        Some((leaf, leaf.text().unwrap_or_default().trim(), denial)).filter(|_| counts)
    });
    let finding = |at: &str, message: String| Finding {
        code: Code::DeniedBefore,
        weight: Weight::Stop,
        at: at.to_owned(),
        message,
    };
    match (value, same.and_then(|habit| habit.denial.as_ref())) {
        (Some((leaf, value, denial)), same) => {
            let what = match same {
                Some(_) => "this exact call".to_owned(),
                None => format!("a call with {}", past.shown(value)),
            };
            vec![finding(&leaf.at, words(same.unwrap_or(denial), &what))]
        }
        (None, Some(denial)) => vec![finding("", words(denial, "this exact call"))],
        (None, None) => Vec::new(),
    }
}

/// Whether this call has everything that was unlike the approved ones in the call that was denied: where a part of that
/// is another now, it was mended. Places where each call has a value of its own count only where there is no other.
fn is_all(call: &Call<'_>, past: &Past, denial: &Denial, place: &str) -> bool {
    const WRITTEN: &str =
        "content contents new_string new_str text data patch diff file_text code edits";
    let unlike = past.denied_with(denial);
    let varies = |place: &str| past.varies(place);
    let some = unlike.iter().any(|(_, place, _)| !varies(place));
    let facts = facts(call);
    let has = |(kind, place, value): &(Kind, &str, &str)| {
        let mut same = facts.iter().filter(|fact| fact.kind == *kind);
        same.any(|fact| {
            (fact.place == *place || *kind != Kind::Flag) && past.key(&fact.value) == **value
        })
    };
    // Of an edit the text that is written is what was wrong, not the file.
    let path =
        |leaf: &Leaf<'_>| leaf.place == place && matches!(role(leaf, call), Some(Role::Path(_)));
    let edits = call.leaves.iter().any(|leaf| leaf.named(WRITTEN)) && call.leaves.iter().any(path);
    let mut counted = unlike
        .iter()
        .filter(|(_, place, _)| !some || !varies(place));
    !edits && (!some || !varies(place)) && counted.all(has)
}

/// Recipient, account, host, payee or path.
pub(crate) fn identifying(leaf: &Leaf<'_>, call: &Call<'_>) -> Option<(Kind, String)> {
    match role(leaf, call)? {
        Role::Mails(mails) => {
            let mail = mails.first()?;
            Some((Kind::Value, format!("{}@{}", mail.local, mail.host)))
        }
        Role::Host(host) => Some((Kind::Host, host)),
        Role::Account(value) | Role::Payee(value) | Role::Path(value) => Some((Kind::Value, value)),
        Role::Where(_) | Role::Amount(_) => None,
    }
}

/// Without an age: the sentence is kept, and the card says how long ago that was.
fn words(denial: &Denial, what: &str) -> String {
    let by = denial
        .by
        .as_deref()
        .map_or_else(|| "An operator".to_owned(), crate::shown::shown);
    let why = denial.why.as_deref().filter(|why| !why.trim().is_empty());
    match why {
        Some(why) => format!("{by} denied {what}: {}", crate::shown::shown(why)),
        None => format!("{by} denied {what}."),
    }
}
