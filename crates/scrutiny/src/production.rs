//! Production, where another place was named before.

use crate::call::Call;
use crate::facts::Kind;
use crate::finding::{Code, Finding, Weight};
use crate::inner;
use crate::leaf::among;
use crate::past::Past;
use crate::role::{Role, role};

pub(crate) fn found(call: &Call<'_>, past: &Past) -> Vec<Finding> {
    let mut found = Vec::new();
    for leaf in inner::values(call) {
        let (kind, value) = match role(leaf, call) {
            Some(Role::Where(value)) => (Kind::Value, value),
            Some(Role::Host(host)) if names_a_place(leaf) => (Kind::Host, host),
            // A bare name of a machine.
            None if names_a_place(leaf) => match leaf.text().map(str::trim) {
                Some(text) if !text.contains(char::is_whitespace) && text.len() <= 200 => {
                    (Kind::Value, text.to_owned())
                }
                _ => continue,
            },
            _ => continue,
        };
        // `feature/production-fix` is work, not a place.
        let work = value.contains('/') && leaf.has_word("branch ref base");
        let named = if work {
            value.rsplit('/').next().unwrap_or_default()
        } else {
            &value
        };
        if !is_production(named) || (work && named.contains('-')) {
            continue;
        }
        let known: Vec<&str> = past.at(kind, &leaf.place).map(|(known, _)| known).collect();
        if known.iter().any(|known| is_production(known)) {
            continue;
        }
        let before = match known.first() {
            Some(first) => format!("earlier calls named {}", past.shown(first)),
            None => "no earlier call named a place here".to_owned(),
        };
        found.push(Finding {
            code: Code::ReachesProduction,
            weight: Weight::Look,
            at: leaf.at.clone(),
            message: match among("prod production prd live", value.to_lowercase().as_str()) {
                true => format!("This reaches production; {before}."),
                false => format!("{} is production; {before}.", past.shown(&value)),
            },
        });
    }
    found
}

fn names_a_place(leaf: &crate::leaf::Leaf<'_>) -> bool {
    let last = leaf.words.last().map(String::as_str).unwrap_or_default();
    among("host hostname server domain cluster database db", last)
}

/// `prod` as a word; `live` only by itself.
#[must_use]
pub fn is_production(value: &str) -> bool {
    let value = value.to_lowercase();
    if value == "live" {
        return true;
    }
    let words: Vec<&str> = value
        .split(|at: char| !at.is_alphanumeric())
        .filter(|word| !word.is_empty())
        .collect();
    words.iter().enumerate().any(|(place, word)| {
        let word = word.trim_end_matches(|at: char| at.is_ascii_digit());
        let before = place.checked_sub(1).map(|place| words[place]);
        among("prod production prd", word)
            && !before.is_some_and(|word| among("non pre not no like", word))
    })
}

#[cfg(test)]
mod tests {
    use super::is_production;

    #[test]
    fn production_is_a_word() {
        for (value, is) in [
            ("production", true),
            ("prod", true),
            ("prod-eu-1", true),
            ("db.prod.internal", true),
            ("shop_prod", true),
            ("PRD", true),
            ("live", true),
            ("prod1", true),
            ("product", false),
            ("preprod", false),
            ("pre-prod", false),
            ("non-production", false),
            ("live-chat", false),
            ("staging", false),
            ("reproduce", false),
            ("delivery", false),
        ] {
            assert_eq!(is_production(value), is, "{value}");
        }
    }
}
