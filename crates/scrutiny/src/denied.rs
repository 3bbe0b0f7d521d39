//! What a person denied before, asked again.

use crate::call::Call;
use crate::cell::{Cell, What};
use crate::cells;
use crate::direction;
use crate::facts::Kind;
use crate::finding::{Code, Finding, Weight};
use crate::leaf::among;
use crate::net;
use crate::past::{Denial, Past, Row};
use crate::shown::shown;

/// Texts that are written or run: they are what was wrong.
const WRITTEN: &str = "content contents new_string new_str new_text text_new data patch diff file_text code edits command script value";

pub(crate) fn found(call: &Call<'_>, past: &Past) -> Vec<Finding> {
    let same = past.get(Kind::Args, "", &call.digest);
    let same = same.filter(|habit| habit.denied > 0 && !call.digest.is_empty());
    let like = past.denials.iter().rev().find_map(|(row, denial)| {
        let (strong, at, what) = like(call, row, past)?;
        Some((strong, at, what, denial))
    });
    let finding = |at: &str, message: String| Finding {
        code: Code::DeniedBefore,
        weight: Weight::Stop,
        at: at.to_owned(),
        message,
    };
    match (like, same.and_then(|habit| habit.denial.as_ref())) {
        (Some((true, at, ..)), Some(denial)) => {
            vec![finding(&at, words(denial, "this exact call"))]
        }
        (_, Some(denial)) => vec![finding("", words(denial, "this exact call"))],
        (Some((_, at, what, denial)), None) if !direction::closes(call) => {
            vec![finding(&at, words(denial, &what))]
        }
        _ => Vec::new(),
    }
}

/// Where this call has what was wrong with a denied one, and what that is; whether it is somebody or something unknown.
fn like(call: &Call<'_>, denied: &Row, past: &Past) -> Option<(bool, String, String)> {
    let nearest = past.nearest(&denied.cells);
    let unlike: Vec<&Cell> = denied
        .cells
        .iter()
        .filter(|cell| counts(cell))
        .filter(|cell| {
            nearest.is_none_or(|row| {
                !row.cells
                    .iter()
                    .any(|of| of.place == cell.place && of.form == cell.form)
            })
        })
        .collect();
    let domain = |cell: &Cell| {
        cell.form
            .rsplit('@')
            .next()
            .map(|host| net::registrable(host).to_owned())
    };
    let here = |cell: &Cell| {
        let mut own = cells::of(call)
            .iter()
            .filter(|of| of.place == cell.place && (of.what == cell.what || of.form == cell.form));
        let stranger = |of: &&Cell| {
            nearest.is_some()
                && cell.what == What::Mail
                && domain(of) == domain(cell)
                && !domain(cell).is_some_and(|own| past.knows_domain(&own))
        };
        own.find(|of| of.form == cell.form || stranger(of))
    };
    // Who and what no approved call knows.
    let stranger = |host: &str| !past.knows_domain(net::registrable(host));
    let edits = denied.cells.iter().any(|cell| among(WRITTEN, &cell.name));
    let strong = |cell: &&Cell| match cell.what {
        What::Mail => stranger(cell.form.rsplit('@').next().unwrap_or_default()),
        What::Host => stranger(&cell.form),
        What::Account => {
            !past.knows(Kind::Value, &cell.form) && (nearest.is_none() || !past.varies(&cell.place))
        }
        What::Name if cell.place.ends_with("»package") => {
            !past.forms(&cell.place).contains_key(cell.form.as_str())
        }
        What::Name if nearest.is_none() => {
            cell.has_word("payee supplier vendor beneficiary")
                || (!edits && cell.text.starts_with('/'))
        }
        _ => false,
    };
    if unlike.iter().any(strong) {
        // Where one of them is another now, or a switch is, it was mended.
        let switch = |cell: &&&Cell| matches!(cell.what, What::Flag(_)) || strong(cell);
        let matched: Option<Vec<&Cell>> = unlike
            .iter()
            .filter(switch)
            .map(|cell| here(cell))
            .collect();
        let of = matched?.into_iter().find(|cell| strong(cell))?;
        return Some((
            true,
            of.at.clone(),
            format!("a call with {}", past.shown(&of.text)),
        ));
    }
    nearest?;
    let habit: Vec<&Cell> = unlike
        .iter()
        .filter(|cell| !past.varies(&cell.place))
        .copied()
        .collect();
    let counted = if habit.is_empty() { unlike } else { habit };
    // An amount counts with what it belongs to.
    let belongs: Vec<&Cell> = nearest
        .iter()
        .flat_map(|row| &row.cells)
        .filter(|of| {
            of.names()
                && !past.varies(&of.place)
                && denied
                    .cells
                    .iter()
                    .any(|cell| cell.place == of.place && cell.form == of.form)
        })
        .collect();
    let mut farther = None;
    let matched = counted.iter().map(|cell| match (cell.number(), nearest) {
        (Some(number), Some(row)) => {
            let now = cells::of(call)
                .iter()
                .find(|of| of.place == cell.place && of.unit == cell.unit)?;
            let was = row
                .cells
                .iter()
                .find(|of| of.place == cell.place)
                .and_then(Cell::number);
            let way = number - was.unwrap_or(number);
            let out = now.number()? - number;
            let fits =
                belongs.iter().all(|of| here(of).is_some()) && (out == 0.0 || out * way > 0.0);
            if out != 0.0 {
                farther = Some(now);
            }
            fits.then_some(now)
        }
        _ => here(cell),
    });
    let matched: Vec<&Cell> = matched.collect::<Option<_>>()?;
    let place = counted
        .iter()
        .position(|cell| cell.number().is_some())
        .unwrap_or(counted.len().saturating_sub(1));
    let (was, now) = (counted.get(place)?, matched.get(place)?);
    let whom = match (
        was.number(),
        belongs
            .iter()
            .find(|of| of.what == What::Name && !of.has_word("unit currency route")),
    ) {
        (Some(_), Some(of)) => format!(" for {}", past.shown(&of.text)),
        _ => String::new(),
    };
    let out = farther.map_or_else(String::new, |of| {
        format!(" ({} is farther out)", of.shown())
    });
    let value = match was.what {
        What::Number(_) => was.shown(),
        What::Prose => "this text".to_owned(),
        _ => past.shown(&was.text),
    };
    Some((
        false,
        now.at.clone(),
        format!("a call with {value}{whom}{out}"),
    ))
}

fn counts(cell: &Cell) -> bool {
    match cell.what {
        What::Prose => among(WRITTEN, &cell.name),
        What::Empty | What::When(..) => false,
        What::Number(_) => cell.unit != "entries",
        _ => true,
    }
}

/// Without an age: the sentence is kept, and the card says how long ago that was.
fn words(denial: &Denial, what: &str) -> String {
    let by = denial
        .by
        .as_deref()
        .map_or_else(|| "An operator".to_owned(), shown);
    let why = denial.why.as_deref().filter(|why| !why.trim().is_empty());
    match why {
        Some(why) => format!("{by} denied {what}: {}", shown(why)),
        None => format!("{by} denied {what}."),
    }
}
