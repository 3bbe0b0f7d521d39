//! A pattern, path, range or list that contains what earlier calls named, and more.

use crate::call::Call;
use crate::cell::Cell;
use crate::cells;
use crate::facts::Kind;
use crate::finding::{Code, Finding, Weight};
use crate::leaf::Leaf;
use crate::lists;
use crate::net;
use crate::past::Past;
use crate::role::{Role, range, role};

/// Earlier calls whose values it must contain.
const ENOUGH: u32 = 2;
/// Calls after which a list that stayed the same is one that stays.
const SAME_LIST: u32 = 3;

pub(crate) fn found(call: &Call<'_>, past: &Past) -> Vec<Finding> {
    let mut found: Vec<Finding> = call
        .leaves
        .iter()
        .filter_map(|leaf| of_leaf(leaf, call, past))
        .collect();
    found.extend(
        cells::of(call)
            .iter()
            .filter_map(|cell| of_topic(cell, past)),
    );
    found.extend(
        lists::of(call)
            .iter()
            .filter_map(|list| of_list(list, past)),
    );
    found
}

fn of_leaf(leaf: &Leaf<'_>, call: &Call<'_>, past: &Past) -> Option<Finding> {
    let Some(Role::Path(value)) = role(leaf, call) else {
        return None;
    };
    if past.count(Kind::Value, &leaf.place, &value) > 0 {
        return None;
    }
    let pattern = value.contains(['*', '?']) || range(&value).is_some();
    // Whoever looks around may go up a folder; a pattern reaches everything at once.
    if !pattern && call.only_reads() {
        return None;
    }
    let (mut inside, mut outside, mut example) = (0, 0, "");
    for (known, habit) in past.at(Kind::Value, &leaf.place) {
        if contains(&value, known) {
            inside += habit.approved;
            example = known;
        } else {
            outside += habit.approved;
            // It was as wide before.
            if contains(known, &value) {
                return None;
            }
        }
    }
    // A folder above is wide only where every call stayed below it.
    (inside >= ENOUGH && (pattern || outside == 0)).then(|| Finding {
        code: Code::Wider,
        weight: Weight::Stop,
        at: leaf.at.clone(),
        message: format!(
            "{} covers more than {} of {inside} earlier calls.",
            past.shown(&value),
            past.shown(example)
        ),
    })
}

/// A topic with `+` or `#` for what earlier calls named.
fn of_topic(cell: &Cell, past: &Past) -> Option<Finding> {
    let pattern = |text: &str| {
        let parts = text.split('/').map(|part| match part {
            "+" => "*",
            "#" => "**",
            part => part,
        });
        parts.collect::<Vec<_>>().join("/")
    };
    let wide = pattern(&cell.text);
    if !cell.names() || wide == cell.text || !cell.text.contains('/') {
        return None;
    }
    let known: Vec<&str> = past
        .column(&cell.place)
        .map(|(_, of)| of.text.as_str())
        .collect();
    let inside = known
        .iter()
        .filter(|of| contains(&wide, &pattern(of)))
        .count();
    let as_wide = known
        .iter()
        .any(|of| pattern(of) == wide || contains(&pattern(of), &wide));
    (inside >= 2 && !as_wide).then(|| Finding {
        code: Code::Wider,
        weight: Weight::Stop,
        at: cell.at.clone(),
        message: format!(
            "{} covers more than {} and the others of {inside} earlier calls.",
            past.shown(&cell.text),
            past.shown(known[0])
        ),
    })
}

/// Whether everything that `narrow` names is in `wide`, and `wide` has more.
pub(crate) fn contains(wide: &str, narrow: &str) -> bool {
    if wide == narrow {
        return false;
    }
    if let (Some((one, bits, width)), Some((other, more, of))) = (range(wide), range(narrow)) {
        let shift = width - bits;
        let head = |number: u128| if shift >= 128 { 0 } else { number >> shift };
        return width == of && bits < more && head(one) == head(other);
    }
    let (wide, narrow) = (crate::paths::plain(wide), crate::paths::plain(narrow));
    if wide == narrow {
        return false;
    }
    if !wide.contains(['*', '?']) {
        let folder = wide.trim_end_matches('/');
        return wide == "." && !narrow.starts_with(['/', '~'])
            || narrow
                .strip_prefix(folder)
                .is_some_and(|rest| rest.starts_with('/'));
    }
    let (wide, narrow): (Vec<&str>, Vec<&str>) =
        (wide.split('/').collect(), narrow.split('/').collect());
    covers(&wide, &narrow)
}

/// A pattern's last `*` also covers what is below: whoever deletes a folder deletes its files.
fn covers(wide: &[&str], narrow: &[&str]) -> bool {
    match (wide.split_first(), narrow.split_first()) {
        (Some((&"**", rest)), _) => {
            rest.is_empty() || (0..=narrow.len()).any(|skip| covers(rest, &narrow[skip..]))
        }
        (Some((first, rest)), Some((name, below))) if matches(first, name) => {
            (rest.is_empty() && first.contains('*')) || covers(rest, below)
        }
        (None, None) => true,
        _ => false,
    }
}

/// `*` and `?` within one name; a pattern in the name counts as its letters.
fn matches(pattern: &str, name: &str) -> bool {
    if !pattern.contains(['*', '?']) {
        return pattern == name;
    }
    let (pattern, name): (Vec<char>, Vec<char>) =
        (pattern.chars().collect(), name.chars().collect());
    let mut reached = vec![false; name.len() + 1];
    reached[0] = true;
    for letter in &pattern {
        let mut next = vec![false; name.len() + 1];
        for place in 0..=name.len() {
            next[place] = match letter {
                '*' => reached[place] || (place > 0 && next[place - 1]),
                '?' => place > 0 && reached[place - 1] && name[place - 1] != '*',
                letter => place > 0 && reached[place - 1] && name[place - 1] == *letter,
            };
        }
        reached = next;
    }
    reached.last().copied().unwrap_or(false)
}

fn of_list(list: &lists::List, past: &Past) -> Option<Finding> {
    let known: Vec<(&str, u32)> = past
        .at(Kind::List, &list.place)
        .map(|(value, habit)| (value, habit.approved))
        .collect();
    let (1, Some((before, calls))) = (known.len(), known.first()) else {
        return None;
    };
    let before: std::collections::BTreeSet<String> =
        before.split('\u{1f}').map(str::to_owned).collect();
    let more = list.elements.is_superset(&before) && list.elements.len() > before.len();
    let enough = *calls >= if list.mails { SAME_LIST } else { ENOUGH };
    let new: Vec<&(String, String)> = list
        .places
        .iter()
        .filter(|(_, element)| !before.contains(element))
        .collect();
    // Somebody else of a known company is not news.
    let strangers = !list.mails
        || new.iter().any(|(_, mail)| {
            mail.rsplit_once('@')
                .is_some_and(|(_, host)| !past.knows_domain(net::registrable(host)))
        });
    (more && enough && strangers).then(|| Finding {
        code: Code::Wider,
        weight: Weight::Stop,
        at: match new.as_slice() {
            [(at, _)] => at.clone(),
            _ => list.at.clone(),
        },
        message: format!(
            "The list had the same {} in all {calls} earlier calls; new: {}.",
            before.len(),
            new.iter()
                .take(3)
                .map(|(_, element)| past.shown(element))
                .collect::<Vec<_>>()
                .join(", ")
        ),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_contains_what() {
        for (wide, narrow, inside) in [
            ("/srv/build/*", "/srv/build/cache/2026-10-*", true),
            ("/srv/build/**", "/srv/build/a/b", true),
            ("/srv/build", "/srv/build/cache", true),
            ("/srv/*/cache", "/srv/a/cache", true),
            ("10.0.0.0/8", "10.2.0.0/16", true),
            ("0.0.0.0/0", "10.2.0.0/16", true),
            ("*.log", "app-*.log", true),
            ("/srv/build/cache/2026-10-*", "/srv/build/*", false),
            ("/srv/buil", "/srv/build", false),
            ("/srv/a/*", "/srv/b/c", false),
            ("10.3.0.0/16", "10.2.0.0/16", false),
            ("/srv/x/*", "/srv/x/*", false),
        ] {
            assert_eq!(contains(wide, narrow), inside, "{wide} {narrow}");
        }
    }
}
