//! An amount far above or below what was, within what it belongs to.

use std::collections::HashMap;

use crate::call::Call;
use crate::cell::Cell;
use crate::cells;
use crate::finding::{Code, Finding, Weight};
use crate::pairs::{is_new, together};
use crate::past::Past;

/// Numbers that are no amounts.
const NO_AMOUNTS: &str = "id ids port ttl timeout time version year month day number no nr index offset page position line line seq \
    sequence seed priority qos code zip postcode phone issue pr build pid date timestamp epoch lat lon latitude longitude x y";
/// What leaves: less of it is no harm.
const LEAVES: &str = "amount refund total fee bonus quantity qty sum charged";
const SIGNED: &str = "celsius fahrenheit temperature temp degrees angle offset";

/// What an amount is compared with.
struct Group<'p> {
    values: Vec<&'p Cell>,
    /// The value that all of them share with the call.
    of: Option<&'p Cell>,
    spread: f64,
}

pub(crate) fn found(call: &Call<'_>, past: &Past) -> Vec<Finding> {
    if call.only_reads() {
        return Vec::new();
    }
    let amounts = cells::of(call).iter().filter(|cell| is_amount(cell));
    amounts.filter_map(|cell| of(cell, call, past)).collect()
}

fn is_amount(cell: &Cell) -> bool {
    cell.number().is_some_and(|number| number != 0.0)
        && !cell
            .words
            .last()
            .is_some_and(|last| crate::leaf::among(NO_AMOUNTS, last))
        && (cell.unit != "entries" || cell.number() >= Some(10.0))
}

fn of(cell: &Cell, call: &Call<'_>, past: &Past) -> Option<Finding> {
    let number = cell.number()?;
    let column: Vec<(usize, &Cell)> = past
        .column(&cell.place)
        .filter(|(_, of)| of.unit == cell.unit && of.number().is_some_and(|number| number != 0.0))
        .collect();
    let rises = column
        .windows(2)
        .all(|two| two[0].1.number() < two[1].1.number());
    if column.len() < 3
        || (rises && column.len() > 3 && cell.unit.is_empty() && cell.has_word("id"))
    {
        return None;
    }
    let signed = cell.has_word(SIGNED) || column.iter().any(|(_, of)| of.number() < Some(0.0));
    let scale = |number: f64| if signed { number } else { number.abs().ln() };
    let judges = judges(cell, &column, call, past, &scale, signed)?;
    let mut worst: Option<(f64, f64, &Group<'_>)> = None;
    for group in &judges {
        let values = group.values.iter().filter_map(|of| of.number());
        let (least, most) = values.fold((f64::MAX, f64::MIN), |(least, most), of| {
            (least.min(of), most.max(of))
        });
        let above = number > most;
        if !above && (number >= least || group.values.len() < 4 && !signed || leaves(cell)) {
            return None;
        }
        let edge = if above { most } else { least };
        let distance = (scale(number) - scale(edge)).abs() / group.spread;
        let times = if above { number / edge } else { edge / number };
        let far = distance > 4.0 || (above && !signed && times > 4.0 && distance > 1.5);
        if !far {
            return None;
        }
        if worst.is_none_or(|(least, ..)| distance < least) {
            worst = Some((distance, if signed { 0.0 } else { times }, group));
        }
    }
    let (distance, times, group) = worst?;
    let by = |of: &&&Cell| of.number().map(|number| (number * 1e6) as i64);
    let (least, most) = (
        group.values.iter().min_by_key(by)?,
        group.values.iter().max_by_key(by)?,
    );
    let range = match least.text == most.text {
        true => least.shown(),
        false => format!("{} to {}", least.shown(), most.shown()),
    };
    let calls = group.values.len();
    let message = match (cell.unit.as_str(), group.of) {
        ("entries", _) => format!(
            "{} has {}; {calls} earlier calls had {}.",
            cell.name,
            cell.text,
            range.replace(" entries", "")
        ),
        (_, of) => format!(
            "{}{} is far {} the {calls} earlier values{}, {range}.",
            match cell.place.contains('»') {
                true => format!("{} ", cell.name),
                false => String::new(),
            },
            cell.shown(),
            if most.number() < Some(number) {
                "above"
            } else {
                "below"
            },
            of.map_or_else(String::new, |of| format!(" for {}", past.shown(&of.text))),
        ),
    };
    Some(Finding {
        code: Code::Beyond,
        weight: if distance >= 8.0 || times >= 5.0 {
            Weight::Stop
        } else {
            Weight::Look
        },
        at: cell.at.clone(),
        message,
    })
}

fn leaves(cell: &Cell) -> bool {
    crate::leaf::among(LEAVES, &cell.name)
}

/// The groups that judge: that of the place which explains the amounts best, else all of them.
fn judges<'p>(
    cell: &Cell,
    column: &[(usize, &'p Cell)],
    call: &'p Call<'_>,
    past: &'p Past,
    scale: &dyn Fn(f64) -> f64,
    signed: bool,
) -> Option<Vec<Group<'p>>> {
    let scaled = |cells: &[&Cell]| -> Vec<f64> {
        cells
            .iter()
            .filter_map(|of| of.number())
            .map(scale)
            .collect()
    };
    let all: Vec<&Cell> = column.iter().map(|(_, of)| *of).collect();
    let total = deviation(&scaled(&all));
    let floor = |few: bool, cells: &[&Cell]| match (signed, few) {
        (true, _) => (middle(&scaled(cells)).abs() * 0.05).max(1.0),
        (false, true) => 0.35,
        (false, false) => 0.22,
    };
    let (mut best, mut groups, mut unknown, mut repeats): (
        Option<(f64, Group<'p>)>,
        Vec<Group<'p>>,
        bool,
        bool,
    ) = (None, Vec::new(), false, false);
    for of in cells::of(call)
        .iter()
        .filter(|of| of.names() && together(of, cell))
    {
        let mut by: HashMap<&str, Vec<&Cell>> = HashMap::new();
        for (row, key) in past.column(&of.place) {
            let same = column
                .iter()
                .filter(|(at, other)| *at == row && together(key, other));
            by.entry(&key.form)
                .or_default()
                .extend(same.map(|(_, other)| *other));
        }
        let several: Vec<&Vec<&Cell>> = by.values().filter(|cells| cells.len() > 1).collect();
        repeats |= several.len() > 1;
        let apart: Vec<f64> = several
            .iter()
            .flat_map(|cells| {
                let values = scaled(cells);
                let middle = middle(&values);
                values.into_iter().map(move |of| of - middle)
            })
            .collect();
        let within = deviation(&apart);
        let explains = several.len() > 1 && within * 2.0 <= total;
        let Some(values) = by
            .get(of.form.as_str())
            .cloned()
            .filter(|cells| cells.len() >= 3)
        else {
            unknown |= is_new(of, past) && (explains || several.len() > 1);
            continue;
        };
        let mut forms: Vec<&str> = values.iter().map(|of| of.form.as_str()).collect();
        forms.sort_unstable();
        forms.dedup();
        let own = if forms.len() <= 2 {
            within
        } else {
            deviation(&scaled(&values))
        };
        let spread = own.max(floor(true, &values));
        let group = Group {
            values,
            of: Some(of),
            spread,
        };
        match explains && best.as_ref().is_none_or(|(least, _)| within < *least) {
            true => best = Some((within, group)),
            false => groups.push(group),
        }
    }
    if let Some((_, group)) = best {
        return Some(vec![group]);
    }
    if unknown {
        return None;
    }
    let number = cell.number()?;
    let most = all
        .iter()
        .filter_map(|of| of.number())
        .fold(f64::MIN, f64::max);
    let money = cell.unit.len() == 3;
    let varies = total > 0.0;
    // A share that never changed is a setting.
    if !varies && cell.has_word("percent percentage pct rate ratio share") {
        return None;
    }
    let enough = match (
        repeats || !varies,
        number >= 10.0 * most && !signed && !money && varies,
    ) {
        (_, true) => 4,
        (true, _) => 6,
        (false, _) => 5,
    };
    if all.len() < enough {
        return (!groups.is_empty()).then_some(groups);
    }
    groups.push(Group {
        spread: total.max(floor(all.len() < 10, &all)),
        values: all,
        of: None,
    });
    Some(groups)
}

pub(crate) fn deviation(values: &[f64]) -> f64 {
    let count = values.len().max(1) as f64;
    let mean = values.iter().sum::<f64>() / count;
    (values.iter().map(|of| (of - mean).powi(2)).sum::<f64>() / count).sqrt()
}

fn middle(values: &[f64]) -> f64 {
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    sorted.get(sorted.len() / 2).copied().unwrap_or_default()
}
