//! What an earlier call did: paid under this reference, or holds this room at that time.

use crate::against::spans;
use crate::call::Call;
use crate::cell::{Cell, What};
use crate::cells;
use crate::finding::{Code, Finding, Weight};
use crate::past::{Past, Row};
use crate::shown::shown;

/// Earlier calls, each with another reference.
const ENOUGH: usize = 5;
const REFERENCES: &str =
    "reference ref invoice order booking number po voucher claim contract case ticket shipment";
/// Under these comes more than one payment.
const LASTING: &str = "claim contract case policy matter account";
/// What one at a time has.
const RESOURCES: &str = "dock room instrument machine resource bay table court vehicle car van truck desk lab operator person crew equipment \
    technician gate bench chamber station berth crane theatre employee driver";

pub(crate) fn found(call: &Call<'_>, past: &Past) -> Vec<Finding> {
    let found = reference(call, past).or_else(|| overlap(call, past));
    let finding = |(at, message): (String, String)| Finding {
        code: Code::DoneBefore,
        weight: Weight::Look,
        at,
        message,
    };
    found.map(finding).into_iter().collect()
}

/// The earlier call with this value.
fn row<'p>(cell: &Cell, past: &'p Past) -> Option<&'p Row> {
    past.rows().iter().find(|row| {
        row.cells
            .iter()
            .any(|of| of.place == cell.place && of.form == cell.form)
    })
}

fn reference(call: &Call<'_>, past: &Past) -> Option<(String, String)> {
    const DONE: [(&str, &str); 6] = [
        ("refund", "refunded"),
        ("pay", "paid"),
        ("payment", "paid"),
        ("transfer", "transferred"),
        ("order", "ordered"),
        ("book", "booked"),
    ];
    let (_, done) = DONE.iter().find(|(word, _)| call.tool_is(word))?;
    cells::of(call)
        .iter()
        .filter(|cell| {
            cell.what == What::Name && !cell.place.contains('*') && cell.has_word(REFERENCES)
        })
        .find_map(|cell| {
            let known = past.forms(&cell.place);
            let once = known.len() >= ENOUGH && known.values().all(|calls| *calls == 1);
            let row = row(cell, past).filter(|_| once)?;
            let same = |of: &&Cell| {
                row.cells
                    .iter()
                    .any(|other| other.place == of.place && other.form == of.form)
            };
            let mut others = cells::of(call).iter().filter(|of| of.place != cell.place);
            let party = others
                .clone()
                .filter(same)
                .any(|of| of.names() && !of.has_word("currency unit"));
            let alone = !cells::of(call).iter().any(|of| {
                of.names()
                    && !of.has_word("currency unit why reason memo")
                    && of.place != cell.place
            });
            let amounts = others.all(|of| of.number().is_none() || same(&of));
            ((party || alone) && (amounts || !cell.has_word(LASTING))).then(|| {
                (
                    cell.at.clone(),
                    format!("{} was {done} in an earlier call.", past.shown(&cell.text)),
                )
            })
        })
}

/// An interval of a resource that overlaps one of an earlier call.
fn overlap(call: &Call<'_>, past: &Past) -> Option<(String, String)> {
    let (start, end) =
        spans(cells::of(call)).find(|(start, _)| matches!(start.what, What::When(..)))?;
    let held = |row: &Row| {
        let of = |place: &str| row.cells.iter().find(|cell| cell.place == place).cloned();
        Some((of(&start.place)?, of(&end.place)?))
    };
    let minutes = |cell: &Cell, last: bool| match cell.what {
        What::When(minutes, time) => minutes + if last && !time { 24 * 60 } else { 0 },
        _ => 0,
    };
    let meets = |(one, two): (&Cell, &Cell), (from, to): (&Cell, &Cell)| {
        minutes(one, false) < minutes(to, true) && minutes(from, false) < minutes(two, true)
    };
    cells::of(call)
        .iter()
        .filter(|cell| cell.what == What::Name && cell.has_word(RESOURCES))
        .find_map(|cell| {
            let rows = past.rows().iter().filter(|row| {
                row.cells
                    .iter()
                    .any(|of| of.place == cell.place && of.form == cell.form)
            });
            let earlier: Vec<(Cell, Cell)> = rows.filter_map(held).collect();
            // Where two earlier ones overlap, it is shared.
            let shared = earlier.iter().enumerate().any(|(place, one)| {
                earlier[place + 1..]
                    .iter()
                    .any(|two| meets((&one.0, &one.1), (&two.0, &two.1)))
            });
            let (from, to) = earlier
                .iter()
                .find(|(from, to)| meets((start, end), (from, to)))
                .filter(|_| !shared)?;
            Some((
                start.at.clone(),
                format!(
                    "{} is held from {} to {} by an earlier call.",
                    past.shown(&cell.text),
                    shown(&from.text),
                    shown(&to.text)
                ),
            ))
        })
}
