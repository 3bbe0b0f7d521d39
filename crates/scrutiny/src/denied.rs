//! What a person denied before, asked again.

use countersign_domain::call_age;

use crate::call::Call;
use crate::facts::Kind;
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
        Some((leaf, value, denial))
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
                None => format!("a call with {}", past.shown(&value)),
            };
            vec![finding(
                &leaf.at,
                words(same.unwrap_or(denial), past, &what),
            )]
        }
        (None, Some(denial)) => vec![finding("", words(denial, past, "this exact call"))],
        (None, None) => Vec::new(),
    }
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

fn words(denial: &Denial, past: &Past, what: &str) -> String {
    let by = denial
        .by
        .as_deref()
        .map_or_else(|| "An operator".to_owned(), crate::past::shown);
    let why = denial.why.as_deref().filter(|why| !why.trim().is_empty());
    let ago = denial.at.map_or_else(String::new, |at| {
        format!(" {} ago", call_age(past.now - at))
    });
    match why {
        Some(why) => format!("{by} denied {what}{ago}: {}", crate::past::shown(why)),
        None => format!("{by} denied {what}{ago}."),
    }
}
