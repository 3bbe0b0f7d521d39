//! Guards undone: a rule that denies goes, a guard rests, a list of checks lacks some.

use std::collections::BTreeSet;

use crate::call::Call;
use crate::cell::{Cell, What};
use crate::cells;
use crate::finding::{Code, Finding, Weight};
use crate::leaf::among;
use crate::past::Past;
use crate::shown::shown;

const UNDOES: &str =
    "delete disable stop pause detach release remove suspend deactivate turnoff off";
const GUARDS: &str = "firewall mfa audit auditing backup backups alarm alarms alert alerts retention protection hold trigger triggers constraint acl \
    encryption logging trail monitoring lock waf antivirus quarantine versioning";
const RESTS: &str =
    "muted bypassed bypass inhibited inhibit overridden override defeated suppressed jumpered";
/// Lists of which each element guards something.
const LISTS: &str = "check checks approver approvers reviewer reviewers disable close revoke deny block tests guards scanners signers controls \
    steps required rules witnesses signatories";

pub(crate) fn found(call: &Call<'_>, past: &Past) -> Vec<Finding> {
    let mut found: Vec<Finding> = denies(call).into_iter().collect();
    found.extend(operation(call, past));
    found.extend(rests(call, past));
    found.extend(lacks(call, past));
    found
}

fn finding(code: Code, weight: Weight, at: &str, message: String) -> Finding {
    Finding {
        code,
        weight,
        at: at.to_owned(),
        message,
    }
}

/// The deletion of a rule that denies.
fn denies(call: &Call<'_>) -> Option<Finding> {
    let deletes = |cell: &Cell| {
        cell.has_word("operation op verb") && among("delete remove disable", &cell.form)
    };
    let cells = cells::of(call);
    let removes = call.tool_is("delete remove disable drop") || cells.iter().any(deletes);
    let rule = cells.iter().find(|cell| {
        cell.has_word("action effect policy verdict rule_action")
            && among("deny drop reject block denied", &cell.form)
    });
    let rule = rule.filter(|_| removes)?;
    let of = |names: &str| {
        cells
            .iter()
            .find(|cell| cell.has_word(names) && cell.what != What::Empty)
            .map(|cell| shown(&cell.text))
    };
    let source = of("source src from cidr range subject principal user")
        .unwrap_or_else(|| "what it kept out".to_owned());
    let port =
        of("port destination target resource").map_or_else(String::new, |port| format!(" {port}"));
    let message = format!(
        "It deletes a rule that says {}: {source}{port} is open again.",
        rule.form
    );
    Some(finding(Code::OpensRights, Weight::Look, &rule.at, message))
}

/// An operation that switches a guard off, which no earlier call did.
fn operation(call: &Call<'_>, past: &Past) -> Option<Finding> {
    let undoes = |cell: &&Cell| {
        let words = crate::leaf::snake(&cell.text);
        let first = words.split('_').next().unwrap_or_default();
        among(UNDOES, first) && words.split('_').skip(1).any(|word| among(GUARDS, word))
    };
    let cell = cells::of(call)
        .iter()
        .filter(|cell| {
            cell.what == What::Name
                && cell.has_word("operation action method command api")
                && !cell.text.contains(' ')
        })
        .find(undoes)?;
    let known = past.forms(&cell.place);
    let calls: usize = known.values().sum();
    let weight = if calls >= 3 {
        Weight::Stop
    } else {
        Weight::Look
    };
    (!known.contains_key(cell.form.as_str())).then(|| {
        finding(
            Code::SafeguardOff,
            weight,
            &cell.at,
            format!(
                "{} switches a guard off; no earlier call did that.",
                shown(&cell.text)
            ),
        )
    })
}

/// A point or key whose last words say that a guard rests, set to on.
fn rests(call: &Call<'_>, past: &Past) -> Option<Finding> {
    let on = |cell: &Cell| {
        cell.what == What::Flag(true)
            || cell.number() == Some(1.0)
            || among("on true yes enabled active", &cell.form)
    };
    let last = |text: &str| {
        crate::leaf::snake(text)
            .rsplit('_')
            .next()
            .unwrap_or_default()
            .to_owned()
    };
    let cells = cells::of(call);
    let named = cells.iter().find(|cell| {
        on(cell)
            && cell.words.last().is_some_and(|word| among(RESTS, word))
            && cell.what != What::Name
    });
    let pointed = || {
        let point = cells.iter().find(|cell| {
            cell.what == What::Name && among(RESTS, &last(&cell.text)) && !cell.text.contains(' ')
        })?;
        let value = cells.iter().find(|cell| {
            cell.object == point.object && cell.has_word("value state set to on") && on(cell)
        })?;
        Some((value, point.text.as_str()))
    };
    let (cell, name) = named
        .map(|cell| (cell, cell.name.as_str()))
        .or_else(pointed)?;
    let earlier = past
        .rows()
        .iter()
        .filter(|row| {
            row.cells
                .iter()
                .any(|of| of.text == name || of.place == cell.place && named.is_some() && on(of))
        })
        .count();
    let weight = if past.rows().len() >= 3 {
        Weight::Stop
    } else {
        Weight::Look
    };
    (earlier == 0 && !call.tool_is(RESTS)).then(|| {
        finding(
            Code::SafeguardOff,
            weight,
            &cell.at,
            format!(
                "{} is {}: a guard rests; no earlier call did that.",
                shown(name),
                shown(&cell.text)
            ),
        )
    })
}

/// A list that keeps a part and lacks what all calls had.
fn lacks(call: &Call<'_>, past: &Past) -> Vec<Finding> {
    let lists = cells::of(call)
        .iter()
        .filter(|cell| cell.unit == "entries" && cell.has_word(LISTS));
    let of = |list: &Cell| {
        let place = format!("{}/*", list.place.trim_end_matches('#'));
        let forms = |cells: &[Cell]| -> BTreeSet<String> {
            cells
                .iter()
                .filter(|cell| cell.place == place)
                .map(|cell| cell.text.clone())
                .collect()
        };
        let mine = forms(cells::of(call));
        let earlier: Vec<BTreeSet<String>> = past
            .rows()
            .iter()
            .map(|row| forms(&row.cells))
            .filter(|list| !list.is_empty())
            .collect();
        let common = earlier
            .iter()
            .cloned()
            .reduce(|one, other| one.intersection(&other).cloned().collect())?;
        let lacking: Vec<String> = common
            .difference(&mine)
            .map(|text| past.shown(text))
            .collect();
        let keeps = mine.intersection(&common).next().is_some();
        (earlier.len() >= 4 && keeps && !lacking.is_empty()).then(|| {
            let message = format!(
                "The list lacks {}, which all {} earlier calls had.",
                lacking.join(", "),
                earlier.len()
            );
            finding(Code::SafeguardOff, Weight::Look, &list.at, message)
        })
    };
    lists.filter_map(of).collect()
}
