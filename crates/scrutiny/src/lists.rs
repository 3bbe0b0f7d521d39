//! Lists of recipients, scopes, hosts and paths as wholes.

use std::collections::BTreeSet;

use serde_json::Value;

use crate::call::Call;
use crate::role::{Role, role};

/// One list of an argument whose elements reach somebody or something.
pub(crate) struct List {
    pub(crate) at: String,
    pub(crate) place: String,
    pub(crate) elements: BTreeSet<String>,
    /// Pointers of the elements, in order.
    pub(crate) places: Vec<(String, String)>,
    /// Elements are mail addresses.
    pub(crate) mails: bool,
}

impl List {
    pub(crate) fn key(&self) -> String {
        let all: Vec<&str> = self.elements.iter().map(String::as_str).collect();
        all.join("\u{1f}")
    }
}

const RIGHTS: &str =
    "scope scopes permission permissions role roles privileges groups grants capabilities";

/// The lists whose growth gives more to somebody.
pub(crate) fn of(call: &Call<'_>) -> Vec<List> {
    let mut found: Vec<List> = Vec::new();
    for leaf in &call.leaves {
        let Some((at, _)) = leaf.at.rsplit_once('/') else {
            continue;
        };
        let Some(place) = leaf.place.strip_suffix("/*") else {
            continue;
        };
        let Value::String(text) = leaf.value.as_ref() else {
            continue;
        };
        let (element, mails) = match role(leaf, call) {
            Some(Role::Mails(mails)) if mails.len() == 1 => {
                (format!("{}@{}", mails[0].local, mails[0].host), true)
            }
            Some(Role::Host(value) | Role::Path(value) | Role::Where(value)) => (value, false),
            _ if leaf.has_word(RIGHTS) => (text.clone(), false),
            _ => continue,
        };
        match found.last_mut().filter(|list| list.at == at) {
            Some(list) => {
                list.places.push((leaf.at.clone(), element.clone()));
                list.elements.insert(element);
            }
            None => found.push(List {
                at: at.to_owned(),
                place: place.to_owned(),
                elements: BTreeSet::from([element.clone()]),
                places: vec![(leaf.at.clone(), element)],
                mails,
            }),
        }
    }
    found
}
