//! What is remembered of a call: values that name something, amounts, pairs, hazards; never prose, ids or dates.

use std::collections::HashSet;

use countersign_wire::pointer;
use serde_json::Value;

use crate::call::Call;
use crate::inner;
use crate::role::{Role, role};
use crate::{hazards, lists, safeguard};

/// The longest value that is kept, bytes.
const LONGEST: usize = 2_000;
/// The most facts of one call.
const MOST: usize = 400;

/// What a fact is about.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Kind {
    /// There was a call.
    Call,
    /// The arguments as a whole, by their digest.
    Args,
    /// The argument was there.
    Has,
    /// A recipient, account, payee, path or place.
    Value,
    /// A host, also of a mail address or URL.
    Host,
    /// A list of such values as a whole.
    List,
    /// A payee with an account.
    Pair,
    /// The largest amount, by unit and payee.
    Amount,
    /// A safeguard, on or off.
    Flag,
    /// A hazard: place is its code.
    Hazard,
}

countersign_wire::words!(Kind {
    Call => "call", Args => "args", Has => "has", Value => "value", Host => "host", List => "list",
    Pair => "pair", Amount => "amount", Flag => "flag", Hazard => "hazard",
});

impl Kind {
    /// Whether it is remembered of a call that a person denied.
    #[must_use]
    pub fn is_kept_of_a_denial(self) -> bool {
        matches!(
            self,
            Self::Args | Self::Value | Self::Host | Self::Hazard | Self::Flag
        )
    }
}

/// One fact of a call.
#[derive(Debug, Clone, PartialEq)]
pub struct Fact {
    /// What it is about.
    pub kind: Kind,
    /// Where in the arguments, `*` for any element of a list; empty for the whole.
    pub place: String,
    /// The value.
    pub value: String,
    /// How much, of an amount.
    pub amount: Option<f64>,
}

impl Fact {
    fn new(kind: Kind, place: &str, value: impl Into<String>) -> Self {
        Self {
            kind,
            place: place.to_owned(),
            value: value.into(),
            amount: None,
        }
    }
}

/// Everything that is remembered of a call, each once.
#[must_use]
pub fn facts(call: &Call<'_>) -> Vec<Fact> {
    let mut found = vec![Fact::new(Kind::Call, "", "")];
    if !call.digest.is_empty() {
        found.push(Fact::new(Kind::Args, "", call.digest.as_str()));
    }
    has(call.args, "", &mut found);
    for leaf in inner::values(call) {
        if leaf.place.contains('»') {
            found.push(Fact::new(Kind::Has, &leaf.place, ""));
        }
        if let Some(role) = role(leaf, call) {
            found.extend(of_role(&leaf.place, role, leaf, call));
        }
        if let Some(off) = safeguard::is_off(leaf) {
            found.push(Fact::new(
                Kind::Flag,
                &leaf.place,
                if off { "off" } else { "on" },
            ));
        }
    }
    for list in lists::of(call) {
        found.push(Fact::new(Kind::List, &list.place, list.key()));
    }
    for hazard in hazards::hazards(call) {
        found.push(Fact::new(
            Kind::Hazard,
            hazard.finding.code.as_str(),
            hazard.same,
        ));
    }
    let mut seen = HashSet::new();
    found.retain(|fact| {
        fact.value.len() <= LONGEST
            && seen.insert((fact.kind, fact.place.clone(), fact.value.clone()))
    });
    found.truncate(MOST);
    found
}

fn of_role(place: &str, role: Role, leaf: &crate::leaf::Leaf<'_>, call: &Call<'_>) -> Vec<Fact> {
    match role {
        Role::Mails(mails) => mails
            .iter()
            .flat_map(|mail| {
                let whole = format!("{}@{}", mail.local, mail.host);
                [
                    Fact::new(Kind::Value, place, whole),
                    Fact::new(Kind::Host, place, mail.host.as_str()),
                ]
            })
            .collect(),
        Role::Host(host) => vec![Fact::new(Kind::Host, place, host)],
        Role::Account(value) | Role::Payee(value) | Role::Where(value) | Role::Path(value) => {
            vec![Fact::new(Kind::Value, place, value)]
        }
        Role::Amount(amount) => crate::amounts::keys(leaf, call)
            .into_iter()
            .map(|key| Fact {
                amount: Some(amount.abs()),
                ..Fact::new(Kind::Amount, place, key)
            })
            .collect(),
    }
}

/// Which arguments there are, objects and lists too.
fn has(value: &Value, place: &str, found: &mut Vec<Fact>) {
    match value {
        Value::Object(fields) => {
            for (key, value) in fields.iter().take(200) {
                let place = pointer::below(place, key);
                if found.len() < MOST / 2 && place.matches('/').count() <= 6 {
                    found.push(Fact::new(Kind::Has, &place, ""));
                    has(value, &place, found);
                }
            }
        }
        Value::Array(items) => {
            if !items.is_empty() {
                found.push(Fact::new(Kind::Has, &format!("{place}/*"), ""));
            }
            for value in items.iter().take(20) {
                has(value, &format!("{place}/*"), found);
            }
        }
        _ => {}
    }
}
