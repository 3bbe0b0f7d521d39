//! What always held between two values of the earlier calls, and does not in this one.

use std::collections::BTreeSet;

use crate::beyond::deviation;
use crate::call::Call;
use crate::cell::{Cell, What};
use crate::cells;
use crate::dates;
use crate::finding::{Finding, Weight};
use crate::pairs::{is_new, together};
use crate::past::Past;
use crate::sums::{self, ENOUGH, MOST, finding, size};
use crate::written;

const ORDER: usize = 5;
const EQUAL: usize = 6;
/// Names of what nothing may be more than.
const LIMITS: &str = "limit max maximum cap stop ceiling quota charged total capacity budget";

/// Two places whose values are compared, with those of the earlier calls.
struct Two<'c, 'p> {
    one: &'c Cell,
    other: &'c Cell,
    earlier: Vec<(&'p Cell, &'p Cell)>,
}

pub(crate) fn found(call: &Call<'_>, past: &Past) -> Vec<Finding> {
    if past.rows().len() < ENOUGH {
        return Vec::new();
    }
    let mut found = sums::found(call, past);
    let paired = |cell: &&Cell| match cell.what {
        What::Number(_) => cell.unit != "entries",
        What::When(..) => true,
        What::Name => cell.form.chars().filter(char::is_ascii_digit).count() > 1,
        _ => false,
    };
    let cells: Vec<&Cell> = cells::of(call).iter().filter(paired).take(MOST).collect();
    // With a new kind of call other rules hold.
    let changed = cells::of(call)
        .iter()
        .any(|cell| cell.names() && !cell.place.contains('*') && is_new(cell, past));
    let pairs = cells.len() * cells.len().saturating_sub(1) / 2;
    for (place, one) in cells.iter().enumerate() {
        for other in &cells[place + 1..] {
            let apart = one.place == other.place || one.unit != other.unit || !together(one, other);
            if apart || found.iter().any(|of| of.at == other.at) {
                continue;
            }
            let Some(two) = Two::of(one, other, past) else {
                continue;
            };
            let message = match (one.what, other.what) {
                (What::Name, What::Name) => two.same_id(),
                _ if changed => None,
                (What::Number(_), What::Number(_)) => two
                    .order(pairs)
                    .or_else(|| two.ratio())
                    .or_else(|| two.equal()),
                (What::When(_, a), What::When(_, b)) if a == b => two.order(pairs),
                _ => None,
            };
            let dates = matches!(one.what, What::When(..));
            found.extend(message.map(|message| {
                finding(
                    &other.at,
                    if dates { Weight::Stop } else { Weight::Look },
                    message,
                )
            }));
        }
    }
    found.extend(parts(call, past));
    found
}

impl<'c, 'p> Two<'c, 'p> {
    fn of(one: &'c Cell, other: &'c Cell, past: &'p Past) -> Option<Self> {
        let others: Vec<(usize, &Cell)> = past.column(&other.place).collect();
        let kind = |cell: &Cell, like: &Cell| {
            std::mem::discriminant(&cell.what) == std::mem::discriminant(&like.what)
        };
        let mut earlier = Vec::new();
        for (row, first) in past.column(&one.place).filter(|(_, of)| kind(of, one)) {
            let same = others.iter().filter(|(of, second)| {
                *of == row && kind(second, other) && together(first, second)
            });
            earlier.extend(same.map(|(_, second)| (first, *second)));
        }
        let differ = |side: &dyn Fn(&(&'p Cell, &'p Cell)) -> &'p str| {
            earlier.iter().map(side).collect::<BTreeSet<_>>().len() >= 3
        };
        let enough = earlier.len() >= ENOUGH
            && differ(&|two| two.0.text.as_str())
            && differ(&|two| two.1.text.as_str());
        enough.then_some(Self {
            one,
            other,
            earlier,
        })
    }

    fn sizes(&self) -> impl Iterator<Item = (f64, f64)> {
        self.earlier
            .iter()
            .map(|(one, other)| (size(one), size(other)))
    }

    /// One was never more than the other.
    fn order(&self, pairs: usize) -> Option<String> {
        let (one, other) = (size(self.one), size(self.other));
        let up = self.sizes().all(|(one, other)| one <= other);
        let down = self.sizes().all(|(one, other)| one >= other);
        let (small, large) = match (up && one > other, down && one < other) {
            (true, false) => (self.one, self.other),
            (false, true) => (self.other, self.one),
            _ => return None,
        };
        let (mut least, mut most): (Vec<f64>, Vec<f64>) = self
            .sizes()
            .map(|(one, other)| if up { (one, other) } else { (other, one) })
            .unzip();
        let equal = least
            .iter()
            .zip(&most)
            .filter(|(one, other)| one == other)
            .count();
        least.sort_by(f64::total_cmp);
        most.sort_by(f64::total_cmp);
        // Of all ways to pair these values, how many keep the order.
        let mut share = 1.0;
        for (place, value) in least.iter().enumerate().rev() {
            let above = most.iter().filter(|of| *of >= value).count();
            let left = least.len() - place;
            share *= above.saturating_sub(left - 1) as f64 / left as f64;
        }
        let limit = large.has_word(LIMITS);
        let dates = matches!(large.what, What::When(..));
        let sure =
            share * pairs.max(1) as f64 <= 0.05 || equal >= 2 || limit || dates && share <= 0.05;
        let calls = self.earlier.len();
        (calls >= ORDER && sure).then(|| match dates {
            true => format!(
                "{} is {} before {}; in {calls} earlier calls it never was.",
                large.name,
                dates::span((size(small) - size(large)) as i64),
                small.name
            ),
            false => format!(
                "{} {} is more than {} {}; in {calls} earlier calls it never was.",
                small.name,
                small.shown(),
                large.name,
                large.shown()
            ),
        })
    }

    /// One was always about as many times the other.
    fn ratio(&self) -> Option<String> {
        let (one, other) = (size(self.one), size(self.other));
        if one <= 0.0 || other <= 0.0 || self.sizes().any(|(one, other)| one <= 0.0 || other <= 0.0)
        {
            return None;
        }
        let ratios: Vec<f64> = self
            .sizes()
            .map(|(one, other)| (other / one).ln())
            .collect();
        let (ones, others): (Vec<f64>, Vec<f64>) = self
            .sizes()
            .map(|(one, other)| (one.ln(), other.ln()))
            .unzip();
        let spread = deviation(&ratios);
        let (least, most) = ratios
            .iter()
            .fold((f64::MAX, f64::MIN), |(least, most), of| {
                (least.min(*of), most.max(*of))
            });
        let now = (other / one).ln();
        let outside = (now - most).max(least - now);
        let times = if ratios.len() < 8 && most - least > 0.1 {
            6.0
        } else {
            4.0
        };
        let holds = spread * 2.0 <= deviation(&ones).min(deviation(&others));
        (holds && spread > 0.0 && outside > times * spread.max(0.05)).then(|| {
            let times = |ratio: f64| written::plain((ratio.exp() * 100.0).round() / 100.0, "");
            format!(
                "{} is {} times {}; in {} earlier calls it was {} to {} times.",
                self.other.name,
                times(now),
                self.one.name,
                ratios.len(),
                times(least),
                times(most)
            )
        })
    }

    fn equal(&self) -> Option<String> {
        let always = self.sizes().all(|(one, other)| (one - other).abs() < 0.005);
        let differ = (size(self.one) - size(self.other)).abs() >= 0.005;
        (always && differ && self.earlier.len() >= EQUAL).then(|| {
            format!(
                "{} is {} and {} is {}; in {} earlier calls they were equal.",
                self.one.name,
                self.one.shown(),
                self.other.name,
                self.other.shown(),
                self.earlier.len()
            )
        })
    }

    /// Both hold the same number.
    fn same_id(&self) -> Option<String> {
        let common = |one: &Cell, other: &Cell| {
            ids(&one.form)
                .into_iter()
                .any(|id| ids(&other.form).contains(&id))
        };
        let always = self.earlier.iter().all(|(one, other)| common(one, other));
        let (mine, theirs) = (ids(&self.one.form), ids(&self.other.form));
        let alike = mine
            .iter()
            .any(|one| theirs.iter().any(|other| one.len() == other.len()));
        (always && alike && !common(self.one, self.other)).then(|| {
            format!(
                "{} is {} and {} is {}; in {} earlier calls both had the same number.",
                self.one.name,
                crate::shown::shown(&self.one.text),
                self.other.name,
                crate::shown::shown(&self.other.text),
                self.earlier.len()
            )
        })
    }
}

/// Numbers of four signs and more, without the letters before them.
fn ids(text: &str) -> Vec<&str> {
    let parts = text.split(|at: char| !at.is_ascii_digit());
    parts.filter(|part| part.len() >= 4).collect()
}

/// The same part at its position in each element of a list, but for one.
fn parts(call: &Call<'_>, past: &Past) -> Vec<Finding> {
    let split = |text: &str| -> Vec<String> {
        text.split(|at: char| !at.is_alphanumeric())
            .map(str::to_owned)
            .collect()
    };
    let common = |cells: &[&Cell]| -> Option<usize> {
        let all: Vec<Vec<String>> = cells.iter().map(|cell| split(&cell.text)).collect();
        let first = all
            .first()
            .filter(|first| first.len() > 1 && all.len() > 1)?;
        (0..first.len()).find(|at| {
            first[*at].contains(|at: char| at.is_ascii_digit())
                && all.iter().all(|of| of.get(*at) == first.get(*at))
        })
    };
    let mut found = Vec::new();
    let places: BTreeSet<&str> = cells::of(call)
        .iter()
        .filter(|cell| cell.names() && cell.place.contains('*'))
        .map(|cell| cell.place.as_str())
        .collect();
    for place in places {
        let mine: Vec<&Cell> = cells::of(call)
            .iter()
            .filter(|cell| cell.place == place)
            .collect();
        let lists = past.rows().iter().map(|row| {
            row.cells
                .iter()
                .filter(|cell| cell.place == place)
                .collect::<Vec<_>>()
        });
        let at: Vec<Option<usize>> = lists
            .filter(|list| list.len() > 1)
            .map(|list| common(&list))
            .collect();
        let Some(Some(position)) = at
            .first()
            .copied()
            .filter(|first| at.len() >= 3 && at.iter().all(|of| of == first))
        else {
            continue;
        };
        let parts: Vec<Option<String>> = mine
            .iter()
            .map(|cell| split(&cell.text).get(position).cloned())
            .collect();
        for (cell, part) in mine.iter().zip(&parts) {
            let others = parts.iter().filter(|other| *other != part).count();
            let (Some(part), Some(most)) = (
                part,
                parts.iter().find(|other| *other != part).cloned().flatten(),
            ) else {
                continue;
            };
            let named = cells::of(call)
                .iter()
                .any(|of| of.place != place && of.text.contains(part.as_str()));
            if others + 1 == mine.len() && mine.len() > 2 && !named {
                found.push(finding(&cell.at, Weight::Stop, format!(
                    "{} has {part}, the other entries have {most}; in each of {} earlier calls all entries shared it.", crate::shown::shown(&cell.text), at.len())));
            }
        }
    }
    found
}
