//! A record or policy that loses what its last one denied, or gives more.

use crate::call::Call;
use crate::cell::Cell;
use crate::cells;
use crate::finding::{Code, Finding, Weight};
use crate::past::Past;
use crate::shown::shown;

pub(crate) fn found(call: &Call<'_>, past: &Past) -> impl Iterator<Item = Finding> {
    denials(call, past).into_iter().chain(policy(call, past))
}

/// A record that loses what the last one about the same thing denied.
fn denials(call: &Call<'_>, past: &Past) -> Option<Finding> {
    const DENIES: [&str; 3] = ["-all", "p=reject", "p=quarantine"];
    let has = |text: &str, part: &str| text.split([' ', ';']).any(|word| word == part);
    let mut records = cells::of(call)
        .iter()
        .filter(|cell| cell.text.starts_with("v="));
    records.find_map(|cell| {
        let same = |of: &Cell| {
            of.place != cell.place
                && of.names()
                && cells::of(call)
                    .iter()
                    .any(|own| own.place == of.place && own.form == of.form)
        };
        let about = |of: &&Cell| of.has_word("name record host") && same(of);
        let (_, last) = past
            .column(&cell.place)
            .filter(|(row, of)| {
                past.rows()[*row].cells.iter().any(|of| about(&of)) && of.text.starts_with("v=")
            })
            .last()?;
        let lost = DENIES
            .iter()
            .find(|part| has(&last.text, part) && !has(&cell.text, part))?;
        let stricter = *lost == "p=quarantine" && has(&cell.text, "p=reject");
        (!stricter).then(|| Finding {
            code: Code::SafeguardOff,
            weight: Weight::Stop,
            at: cell.at.clone(),
            message: format!(
                "The record loses {lost}; the last one was \"{}\".",
                shown(&last.text)
            ),
        })
    })
}

/// An Allow that gets a pattern which the last policy of the same name did not have.
fn policy(call: &Call<'_>, past: &Past) -> Option<Finding> {
    let own = cells::of(call);
    let named = own.iter().filter(|cell| {
        cell.names() && !cell.place.contains(['»', '*']) && cell.has_word("role bucket user group")
    });
    let named: Vec<&Cell> = named.collect();
    let same = |cell: &Cell, of: &Cell| of.place == cell.place && of.form == cell.form;
    let last = past.rows().iter().rev().find(|row| {
        named
            .iter()
            .any(|cell| row.cells.iter().any(|of| same(cell, of)))
    })?;
    let grants = |cell: &&Cell| {
        let part = ["/Action", "/Resource", "/Principal"]
            .iter()
            .any(|of| cell.place.contains(of));
        cell.place.contains("Statement") && part
    };
    let known: Vec<&str> = last
        .cells
        .iter()
        .filter(grants)
        .map(|cell| cell.text.as_str())
        .collect();
    let denies = own
        .iter()
        .any(|cell| cell.place.contains("Statement") && cell.text == "Deny");
    let covered = |text: &str| {
        known.iter().any(|of| {
            *of == text
                || of
                    .strip_suffix('*')
                    .is_some_and(|start| text.starts_with(start))
        })
    };
    let new: Vec<&Cell> = own
        .iter()
        .filter(grants)
        .filter(|cell| {
            cell.text
                .strip_suffix('*')
                .is_some_and(|start| start.is_empty() || start.ends_with(':'))
                && !covered(&cell.text)
        })
        .collect();
    let (first, name) = (new.first()?, named.first()?);
    if known.is_empty() || denies {
        return None;
    }
    let list = |texts: &[&str]| {
        texts
            .iter()
            .take(3)
            .map(|text| shown(text))
            .collect::<Vec<_>>()
            .join(", ")
    };
    let grown: Vec<&str> = new.iter().map(|cell| cell.text.as_str()).collect();
    let message = format!(
        "The policy of {} grows: {}; the last one had {}.",
        shown(&name.text),
        list(&grown),
        list(&known)
    );
    Some(Finding {
        code: Code::OpensRights,
        weight: Weight::Stop,
        at: first.at.clone(),
        message,
    })
}
