//! A value that another one has always decided, and that is another now.

use std::collections::HashMap;

use crate::call::Call;
use crate::cell::{Cell, What};
use crate::cells;
use crate::finding::{Code, Finding, Weight};
use crate::near::distance;
use crate::net;
use crate::past::Past;

/// How often a value must have come with one other.
const ENOUGH: usize = 3;
/// The same where neither name says that one decides the other.
const ANY: usize = 6;
/// Names of what belongs to something else.
const BELONGS: &str = "unit uom currency country zone route role address name price fee rate region site location \
    method mode tariff depot gate form strength";
/// What decides nothing and is decided by nothing else.
const APART: &str = "program bank bic status state title priority";

pub(crate) fn broken(call: &Call<'_>, past: &Past) -> Vec<Finding> {
    let cells = cells::of(call);
    let mut found: Vec<Finding> = Vec::new();
    let may = cells.iter().filter(|cell| cell.names() && !is_apart(cell));
    let may: Vec<(&Cell, bool)> = may.map(|cell| (cell, is_new(cell, past))).collect();
    for target in cells.iter().filter(|cell| is_decided(cell)) {
        let deciders = may.iter().filter(|(cell, _)| decides(cell, target));
        // Somebody else is concerned: what belongs to it is not known.
        if deciders.clone().any(|(_, new)| *new) {
            continue;
        }
        let broken = deciders.filter_map(|(decider, _)| of(decider, target, past));
        found.extend(
            broken
                .max_by_key(|(calls, _)| *calls)
                .map(|(_, message)| Finding {
                    code: Code::PairBroken,
                    weight: Weight::Stop,
                    at: target.at.clone(),
                    message,
                }),
        );
    }
    found
}

fn is_decided(cell: &Cell) -> bool {
    let number =
        cell.number().is_some() && cell.has_word("price fee rate") && cell.unit != "entries";
    (cell.names() || number) && !is_apart(cell)
}

fn is_apart(cell: &Cell) -> bool {
    cell.words
        .last()
        .is_some_and(|last| crate::leaf::among(APART, last))
}

fn decides(cell: &Cell, target: &Cell) -> bool {
    let own_name = target.has_word("payee supplier vendor beneficiary customer counterparty name");
    cell.place != target.place
        && !cell.has_word("unit uom currency route")
        && together(cell, target)
        && (!own_name || cell.what == What::Account)
}

/// Of one element of a list, or both of the call.
pub(crate) fn together(one: &Cell, other: &Cell) -> bool {
    match one.place.contains('*') || other.place.contains('*') {
        true => {
            one.object == other.object && one.place.ends_with('*') == other.place.ends_with('*')
        }
        false => true,
    }
}

/// A value that no earlier call had, where values come again.
pub(crate) fn is_new(cell: &Cell, past: &Past) -> bool {
    let known = past.forms(&cell.place);
    let calls: usize = known.values().sum();
    calls >= ENOUGH && known.len() * 2 <= calls && same(known.keys(), &cell.form).is_none()
}

/// The known form of a value: itself, or one letter from it.
fn same<'k>(known: impl Iterator<Item = &'k String>, form: &str) -> Option<&'k str> {
    let named = form.len() >= 6 && !form.contains(|at: char| at.is_ascii_digit());
    let mut near = None;
    for known in known {
        if known == form {
            return Some(known);
        }
        if named && distance(known, form, 1).is_some() {
            near = Some(known.as_str());
        }
    }
    near
}

/// What is compared of a decided value: of an address its domain.
fn value(cell: &Cell) -> &str {
    match (cell.what, cell.form.rsplit_once('@')) {
        (What::Mail, Some((_, host))) => net::registrable(host),
        (What::Host, _) => net::registrable(&cell.form),
        _ => &cell.form,
    }
}

/// The calls that had one value with the decider, and the sentence.
fn of(decider: &Cell, target: &Cell, past: &Past) -> Option<(usize, String)> {
    let form = same(past.forms(&decider.place).keys(), &decider.form)?;
    let mut by: HashMap<&str, (usize, Option<&Cell>)> = HashMap::new();
    let targets: Vec<(usize, &Cell)> = past.column(&target.place).collect();
    for (row, one) in past.column(&decider.place) {
        for (_, other) in targets
            .iter()
            .filter(|(of, other)| *of == row && together(one, other))
        {
            let (calls, always) = by.entry(&one.form).or_insert((0, Some(other)));
            *calls += 1;
            *always = always.filter(|first| value(first) == value(other));
        }
    }
    let (calls, always) = *by.get(form)?;
    let always = always.filter(|of| value(of) != value(target))?;
    let often: Vec<Option<&Cell>> = by
        .values()
        .filter(|(calls, _)| *calls >= ENOUGH)
        .map(|(_, of)| *of)
        .collect();
    let all = often.iter().all(Option::is_some);
    let differ = often.iter().flatten().any(|of| value(of) != value(always));
    let reaches = matches!(target.what, What::Account | What::Mail);
    let enough = match (reaches, target.has_word(BELONGS)) {
        (true, _) => calls >= ENOUGH,
        (_, true) => calls >= ENOUGH && differ,
        _ => calls >= ANY && differ && often.len() >= 3,
    };
    let shown = |cell: &Cell| match cell.what {
        What::Mail => past.shown(value(cell)),
        _ => past.shown(&cell.text),
    };
    (all && enough).then(|| {
        let said = format!(
            "{} had {} in all {calls} earlier calls; this call has {}.",
            past.shown(&decider.text),
            shown(always),
            shown(target)
        );
        (calls, said)
    })
}
