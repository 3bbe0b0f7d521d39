//! Nothing means everything: what selected something in earlier calls is empty, all, or absent.

use std::collections::BTreeSet;

use crate::call::Call;
use crate::cell::{Cell, What};
use crate::cells;
use crate::finding::{Code, Finding, Weight};
use crate::leaf::among;
use crate::past::Past;

/// Earlier calls, each with something there.
const ENOUGH: usize = 3;
const ALL: &str = "* % all any everyone everybody .* # **";
const SELECTS: &str = "filter filters selector selectors where match matcher matchers query condition conditions segment audience \
    target targets scope prefix criteria";
/// The same for tools that delete, send, release, silence or export.
const MORE: &str = "labels tags ids users list path paths names items recipients";
const GRAVE: &str = "delete remove send release silence mute export purge drop cancel clear archive disable restart stop reset expire wipe";

pub(crate) fn found(call: &Call<'_>, past: &Past) -> Vec<Finding> {
    if call.only_reads() || crate::direction::only_shows(call) {
        return Vec::new();
    }
    let mut found: Vec<Finding> = cells::of(call)
        .iter()
        .filter(|_| !crate::direction::denies(call))
        .filter_map(|cell| all(cell, past))
        .collect();
    found.extend(absent(call, past));
    let mut seen = BTreeSet::new();
    for cell in cells::of(call)
        .iter()
        .filter(|cell| cell.what == What::Empty || cell.number() == Some(0.0))
    {
        let selects = |name: &str| {
            let last = name.rsplit('_').next().unwrap_or_default();
            among(SELECTS, last) || (call.tool_is(GRAVE) && among(MORE, last))
        };
        // The value itself, or the object of which every part is empty.
        let (at, place) = match selects(&cell.name) {
            true => (cell.at.as_str(), cell.place.trim_end_matches('#')),
            false => match (cell.at.rsplit_once('/'), cell.place.rsplit_once('/')) {
                (Some((at, _)), Some((place, _))) => (at, place),
                _ => continue,
            },
        };
        let name = crate::leaf::snake(place.rsplit(['/', '»']).next().unwrap_or_default());
        let below = |of: &Cell| {
            of.place == place
                || of
                    .place
                    .strip_prefix(place)
                    .is_some_and(|rest| rest.starts_with(['/', '#']))
        };
        let empty =
            |of: &Cell| of.what == What::Empty || of.number() == Some(0.0) && of.unit == "entries";
        let is_empty = cells::of(call).iter().filter(|of| below(of)).all(empty);
        let known = past
            .rows()
            .iter()
            .filter(|row| row.cells.iter().any(below))
            .count();
        let some = past
            .rows()
            .iter()
            .filter(|row| row.cells.iter().any(|of| below(of) && !empty(of)))
            .count();
        if is_empty
            && selects(&name)
            && some >= ENOUGH
            && some == known
            && seen.insert(at.to_owned())
        {
            found.push(finding(
                at,
                format!("{name} is empty: all of them; each of {some} earlier calls named some."),
            ));
        }
    }
    found
}

/// A value that is all, where each earlier call named something.
fn all(cell: &Cell, past: &Past) -> Option<Finding> {
    let is_all = |cell: &Cell| {
        let local = cell.form.split('@').next().unwrap_or_default();
        among(ALL, &cell.form)
            || cell.what == What::Mail && among("all everyone everybody staff", local)
    };
    if !(cell.names() && is_all(cell)) {
        return None;
    }
    let known = past.column(&cell.place);
    let named: Vec<bool> = known
        .map(|(_, of)| is_all(of) || of.what == What::Empty)
        .collect();
    let fine = named.len() >= ENOUGH && !named.contains(&true);
    let rows = past.forms(&cell.place).values().sum::<usize>();
    fine.then(|| {
        finding(
            &cell.at,
            format!(
                "{} is {}: all of them; each of {rows} earlier calls named some.",
                cell.name,
                past.shown(&cell.text)
            ),
        )
    })
}

fn finding(at: &str, message: String) -> Finding {
    Finding {
        code: Code::Wider,
        weight: Weight::Stop,
        at: at.to_owned(),
        message,
    }
}

/// An option that names a place, which all calls of the program had, is absent.
fn absent(call: &Call<'_>, past: &Past) -> Option<Finding> {
    const PLACES: &str = "context kube_context namespace profile project cluster region subscription env environment account workspace database";
    const READS: &str = "get describe list show status logs diff plan version history top view cat ls lint template package dependency repo search test verify";
    let cells = cells::of(call);
    let programs = cells
        .iter()
        .filter(|cell| cell.name == "program" && cell.place.ends_with(&format!("»{}", cell.text)));
    programs.into_iter().find_map(|program| {
        let reads = cells.iter().any(|cell| {
            cell.place == program.place.split('»').next().unwrap_or_default()
                && cell
                    .text
                    .split_whitespace()
                    .skip_while(|word| *word != program.text)
                    .nth(1)
                    .is_some_and(|sub| among(READS, sub))
        });
        let rows: Vec<&crate::past::Row> = past
            .rows()
            .iter()
            .filter(|row| row.cells.iter().any(|cell| cell.place == program.place))
            .collect();
        let start = format!("{} --", program.place);
        let options = rows
            .first()?
            .cells
            .iter()
            .filter(|cell| cell.place.starts_with(&start) && among(PLACES, &cell.name));
        let gone = options.into_iter().find(|option| {
            let had = rows
                .iter()
                .all(|row| row.cells.iter().any(|cell| cell.place == option.place));
            had && !cells.iter().any(|cell| cell.place == option.place)
        })?;
        let option = gone.place.rsplit(' ').next().unwrap_or_default();
        let fine = rows.len() >= ENOUGH && !reads;
        fine.then(|| Finding {
            weight: Weight::Look,
            ..finding(
                &program.at,
                format!(
                    "{option} is absent; {} earlier calls of {} had {}.",
                    rows.len(),
                    program.text,
                    past.shown(&gone.text)
                ),
            )
        })
    })
}
