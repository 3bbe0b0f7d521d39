//! Numbers that were always the sum of a list, of two others, or their product.

use std::collections::BTreeSet;

use crate::call::Call;
use crate::cell::{Cell, What};
use crate::cells;
use crate::finding::{Code, Finding, Weight};
use crate::past::{Past, Row};
use crate::written;

/// Earlier calls, none against it.
pub(crate) const ENOUGH: usize = 4;
/// The most values that are paired.
pub(crate) const MOST: usize = 64;

pub(crate) fn finding(at: &str, weight: Weight, message: String) -> Finding {
    Finding {
        code: Code::Disagrees,
        weight,
        at: at.to_owned(),
        message,
    }
}

/// Numbers and dates on one scale.
pub(crate) fn size(cell: &Cell) -> f64 {
    match cell.what {
        What::Number(number) => number,
        What::When(minutes, _) => minutes as f64,
        _ => 0.0,
    }
}

/// What a column of a list comes to, alone or times another.
struct Sum {
    list: String,
    column: String,
    value: f64,
}

fn totals(cells: &[Cell]) -> Vec<Sum> {
    let mut found: Vec<Sum> = Vec::new();
    let in_lists: Vec<&Cell> = cells
        .iter()
        .filter(|cell| cell.number().is_some() && cell.place.matches('*').count() == 1)
        .collect();
    let mut add = |list: &str, column: String, value: f64| match found
        .iter_mut()
        .find(|sum| sum.column == column)
    {
        Some(sum) => sum.value += value,
        None => found.push(Sum {
            list: list.to_owned(),
            column,
            value,
        }),
    };
    for cell in in_lists.iter().take(MOST * 4) {
        let list = cell.place.split("/*").next().unwrap_or_default();
        add(list, cell.place.clone(), size(cell));
        for other in in_lists
            .iter()
            .filter(|other| other.object == cell.object && other.place > cell.place)
        {
            add(
                list,
                format!("{} × {}", cell.place, other.place),
                size(cell) * size(other),
            );
        }
    }
    found
}

/// A number that was always the sum of a list, of two others, or their difference; two columns with the same sum.
pub(crate) fn found(call: &Call<'_>, past: &Past) -> Vec<Finding> {
    let single = |cell: &&Cell| {
        cell.number().is_some() && !cell.place.contains('*') && cell.unit != "entries"
    };
    let value =
        |row: &Row, place: &str| row.cells.iter().find(|cell| cell.place == place)?.number();
    let cent = |one: f64, other: f64| (one - other).abs() < 0.006 + other.abs() * 1e-9;
    let now = totals(cells::of(call));
    let earlier: Vec<(&Row, Vec<Sum>)> = past
        .rows()
        .iter()
        .map(|row| {
            (
                row,
                if now.is_empty() {
                    Vec::new()
                } else {
                    totals(&row.cells)
                },
            )
        })
        .collect();
    let of = |sums: &[Sum], column: &str| {
        sums.iter()
            .find(|sum| sum.column == column)
            .map(|sum| sum.value)
    };
    let numbers: Vec<&Cell> = cells::of(call).iter().filter(single).take(12).collect();
    let differ = |values: &[f64]| {
        values
            .iter()
            .map(|of| of.to_bits())
            .collect::<BTreeSet<_>>()
            .len()
            >= 3
    };
    let mut found = Vec::new();
    for sum in &now {
        let name = sum.list.trim_start_matches('/');
        for cell in &numbers {
            let rows: Vec<(f64, f64)> = earlier
                .iter()
                .filter_map(|(row, sums)| Some((of(sums, &sum.column)?, value(row, &cell.place)?)))
                .collect();
            let values: Vec<f64> = rows.iter().map(|two| two.1).collect();
            let held = rows.len() >= ENOUGH
                && rows.iter().all(|(one, other)| cent(*one, *other))
                && differ(&values);
            if held && !cent(sum.value, size(cell)) && !explained(sum.value - size(cell), &numbers)
            {
                found.push(finding(&cell.at, Weight::Stop, format!(
                    "The entries of {name} make {}, and {} is {}; in {} earlier calls it was their sum.",
                    written::written(sum.value, true), cell.name, written::written(size(cell), true), rows.len())));
            }
        }
        for other in now
            .iter()
            .filter(|other| other.list == sum.list && other.column > sum.column)
        {
            let rows: Vec<(f64, f64)> = earlier
                .iter()
                .filter_map(|(_, sums)| Some((of(sums, &sum.column)?, of(sums, &other.column)?)))
                .collect();
            let values: Vec<f64> = rows.iter().map(|two| two.1).collect();
            let held = rows.len() >= ENOUGH
                && rows.iter().all(|(one, other)| cent(*one, *other))
                && differ(&values);
            if held && !cent(sum.value, other.value) {
                let last = |column: &str| column.rsplit('/').next().unwrap_or_default().to_owned();
                found.push(finding(
                    &sum.list,
                    Weight::Stop,
                    format!(
                        "{} {} and {} {} differ by {}; in {} earlier calls they were equal.",
                        last(&sum.column),
                        written::written(sum.value, true),
                        last(&other.column),
                        written::written(other.value, true),
                        written::written((sum.value - other.value).abs(), true),
                        rows.len()
                    ),
                ));
            }
        }
    }
    for (place, one) in numbers.iter().enumerate() {
        for other in &numbers[place + 1..] {
            for whole in numbers
                .iter()
                .filter(|whole| whole.place != one.place && whole.place != other.place)
            {
                let rows: Vec<[f64; 3]> = past
                    .rows()
                    .iter()
                    .filter_map(|row| {
                        Some([
                            value(row, &one.place)?,
                            value(row, &other.place)?,
                            value(row, &whole.place)?,
                        ])
                    })
                    .collect();
                let values: Vec<f64> = rows.iter().map(|of| of[2]).collect();
                let parts: Vec<f64> = rows.iter().map(|of| of[1]).collect();
                let held = |product: bool| {
                    rows.len() >= ENOUGH
                        && differ(&values)
                        && differ(&parts)
                        && rows.iter().all(|[one, other, whole]| {
                            *one != 0.0
                                && *other != 0.0
                                && cent(if product { one * other } else { one + other }, *whole)
                        })
                };
                let (product, sum) = (size(one) * size(other), size(one) + size(other));
                let (is, what) = match (held(false), held(true)) {
                    (true, _) if !cent(sum, size(whole)) => (sum, "and"),
                    (_, true) if !cent(product, size(whole)) => (product, "times"),
                    _ => continue,
                };
                if !explained(is - size(whole), &numbers) {
                    let last = [*one, *other, *whole]
                        .into_iter()
                        .max_by_key(|cell| numbers.iter().position(|of| of.place == cell.place));
                    let at = last
                        .filter(|_| what == "and")
                        .map_or(whole.at.as_str(), |cell| cell.at.as_str());
                    found.push(finding(
                        at,
                        Weight::Stop,
                        three([one, other, whole], what, is, rows.len(), &numbers),
                    ));
                }
            }
        }
    }
    found
}

/// The sentence about the last of three numbers: it was the sum, the product or the difference of the others.
fn three(
    [one, other, whole]: [&Cell; 3],
    what: &str,
    is: f64,
    calls: usize,
    numbers: &[&Cell],
) -> String {
    let at = |cell: &Cell| numbers.iter().position(|of| of.place == cell.place);
    let last = if at(one) > at(other) {
        (one, other)
    } else {
        (other, one)
    };
    if what == "and" && at(last.0) > at(whole) {
        let difference = size(whole) - size(last.1);
        return format!(
            "{} {} less {} {} is {}, and {} is {}; in {calls} earlier calls it was the difference.",
            whole.name,
            whole.shown(),
            last.1.name,
            last.1.shown(),
            written::plain(difference, ""),
            last.0.name,
            last.0.shown()
        );
    }
    let how = if what == "and" {
        "their sum"
    } else {
        "their product"
    };
    format!(
        "{} {} {what} {} {} make {}, and {} is {}; in {calls} earlier calls it was {how}.",
        one.name,
        one.shown(),
        other.name,
        other.shown(),
        written::written(is, true),
        whole.name,
        written::written(size(whole), true)
    )
}

/// What is missing is another number of the call: freight, a discount.
fn explained(missing: f64, numbers: &[&Cell]) -> bool {
    numbers
        .iter()
        .any(|cell| (size(cell).abs() - missing.abs()).abs() < 0.006)
}
