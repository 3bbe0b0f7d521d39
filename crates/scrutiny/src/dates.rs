//! Days beside weekdays, offsets beside zones, days far from where they were.

use jiff::civil::{Date, Weekday};
use jiff::tz::TimeZone;

use crate::against::{finding, spans};
use crate::call::Call;
use crate::cell::{Cell, What, when};
use crate::cells;
use crate::finding::{Finding, Weight};
use crate::past::Past;
use crate::shown::shown;

/// Earlier calls with a date there.
const ENOUGH: usize = 5;
const DAY: i64 = 24 * 60;

pub(crate) fn found(call: &Call<'_>, past: &Past) -> Vec<Finding> {
    let cells = cells::of(call);
    let mut found: Vec<Finding> = cells.iter().filter_map(weekday).collect();
    found.extend(offset(cells));
    found.extend(lasts(cells));
    found.extend(cells.iter().filter_map(|cell| ahead(cell, call, past)));
    found
}

/// `2 days`, `20 hours`.
pub(crate) fn span(minutes: i64) -> String {
    let (count, unit) = match minutes {
        of if of >= DAY => (of / DAY, "day"),
        of if of >= 60 => (of / 60, "hour"),
        of => (of, "minute"),
    };
    format!("{count} {unit}{}", if count == 1 { "" } else { "s" })
}

const MONTHS: [&str; 12] = [
    "jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec",
];
const WEEKDAYS: [(&str, Weekday); 14] = [
    ("monday", Weekday::Monday),
    ("tuesday", Weekday::Tuesday),
    ("wednesday", Weekday::Wednesday),
    ("thursday", Weekday::Thursday),
    ("friday", Weekday::Friday),
    ("saturday", Weekday::Saturday),
    ("sunday", Weekday::Sunday),
    ("montag", Weekday::Monday),
    ("dienstag", Weekday::Tuesday),
    ("mittwoch", Weekday::Wednesday),
    ("donnerstag", Weekday::Thursday),
    ("freitag", Weekday::Friday),
    ("samstag", Weekday::Saturday),
    ("sonntag", Weekday::Sunday),
];

/// A weekday beside another day.
fn weekday(cell: &Cell) -> Option<Finding> {
    let has_day = |text: &str| WEEKDAYS.iter().any(|(name, _)| text.contains(name));
    if cell.what == What::Empty || !has_day(&cell.text.to_lowercase()) {
        return None;
    }
    let words: Vec<&str> = cell
        .text
        .split(|at: char| at.is_whitespace() || ",.;()".contains(at))
        .filter(|word| !word.is_empty())
        .collect();
    let lower: Vec<String> = words.iter().map(|word| word.to_lowercase()).collect();
    for (place, word) in lower.iter().enumerate() {
        let Some((_, said)) = WEEKDAYS.iter().find(|(name, _)| name == word) else {
            continue;
        };
        // Right behind it, or right before it.
        let behind = (place + 1..(place + 4).min(words.len()))
            .find_map(|at| Some((at, day_at(&lower, at)?)));
        let read = behind.filter(|(at, _)| {
            lower[place + 1..*at]
                .iter()
                .all(|word| ["the", "on", "den", "der"].contains(&word.as_str()))
        });
        let before = || {
            [1, 3].iter().find_map(|back| {
                let at = place.checked_sub(*back)?;
                let (day, length) = day_at(&lower, at)?;
                (length == *back).then_some((at, (day, length)))
            })
        };
        let Some((at, (day, length))) = read.or_else(before) else {
            continue;
        };
        if day.weekday() != *said {
            let name = |day: Weekday| {
                let name = WEEKDAYS
                    .iter()
                    .find(|(_, of)| *of == day)
                    .map_or("", |(name, _)| *name);
                format!("{}{}", name[..1].to_uppercase(), &name[1..])
            };
            let message = format!(
                "{} is a {}, not a {}.",
                shown(&words[at..at + length].join(" ")),
                name(day.weekday()),
                name(*said)
            );
            return Some(finding(Weight::Look, &cell.at, message));
        }
    }
    None
}

/// The day that is written from a word on, and in how many words.
fn day_at(words: &[String], at: usize) -> Option<(Date, usize)> {
    let month = |word: &String| {
        MONTHS
            .iter()
            .position(|month| word.starts_with(month))
            .map(|at| at as i8 + 1)
    };
    let number = |word: &String| {
        word.trim_end_matches(|at: char| at.is_ascii_alphabetic())
            .parse::<i16>()
            .ok()
    };
    if let Ok(day) = words.get(at)?.parse::<Date>() {
        return Some((day, 1));
    }
    let (one, two, year) = (
        words.get(at)?,
        words.get(at + 1)?,
        number(words.get(at + 2)?)?,
    );
    let (day, month) = match (number(one), month(two), month(one), number(two)) {
        (Some(day), Some(month), ..) | (_, _, Some(month), Some(day)) => (day, month),
        _ => return None,
    };
    Some((Date::new(year, month, i8::try_from(day).ok()?).ok()?, 3))
}

/// An offset that the zone beside it does not have on that day.
fn offset(cells: &[Cell]) -> Option<Finding> {
    let zone = cells
        .iter()
        .find(|cell| cell.has_word("timezone zone tz") && cell.text.contains('/'))?;
    let rules = TimeZone::get(&zone.text).ok()?;
    cells
        .iter()
        .filter(|cell| matches!(cell.what, What::When(_, true)))
        .find_map(|cell| {
            let written = cell.text.get(cell.text.len().checked_sub(6)?..)?;
            if !written.starts_with(['+', '-']) || written.as_bytes()[3] != b':' {
                return None;
            }
            let at = cell.text.parse::<jiff::Timestamp>().ok()?;
            let seconds = rules.to_offset(at).seconds();
            let sign = if seconds < 0 { '-' } else { '+' };
            let is = format!(
                "{sign}{:02}:{:02}",
                seconds.abs() / 3_600,
                seconds.abs() / 60 % 60
            );
            (is != written).then(|| {
                let message = format!(
                    "{written} is not the offset of {} on that day; it is {is}.",
                    shown(&zone.text)
                );
                finding(Weight::Look, &cell.at, message)
            })
        })
}

/// Days, nights, hours, minutes that are not the distance of the dates beside them.
fn lasts(cells: &[Cell]) -> Option<Finding> {
    spans(cells).find_map(|(start, end)| {
        let (What::When(from, _), What::When(to, _)) = (start.what, end.what) else {
            return None;
        };
        let long = cells.iter().find(|cell| {
            let alone = !cell.has_word(
                "notice before after per every grace max min advance retention valid lead",
            );
            cell.object == start.object
                && cell.number().is_some()
                && alone
                && cell.has_word("nights days hours minutes")
        })?;
        let unit = match () {
            () if long.has_word("nights days") => DAY,
            () if long.has_word("hours") => 60,
            () => 1,
        };
        let is = (to - from) as f64 / unit as f64;
        let said = long.number()?;
        // Both days may count, or only those of work.
        let days =
            long.has_word("days") && said <= is + 1.0 && said >= (is * 5.0 / 7.0 - 2.0).max(0.0);
        let fits = (is - said).abs() < 0.01 || days || is < 0.0 || is.fract() != 0.0 && unit == DAY;
        (!fits).then(|| {
            let message = format!(
                "{} is {}, and from {} to {} it is {}.",
                long.name,
                long.shown(),
                start.name,
                end.name,
                span(to - from)
            );
            finding(Weight::Look, &long.at, message)
        })
    })
}

/// A day far beyond where the days of earlier calls were, seen from their own.
fn ahead(cell: &Cell, call: &Call<'_>, past: &Past) -> Option<Finding> {
    let days = |cell: &Cell, today: Option<i64>| {
        let (minutes, _) = when(&cell.text)?;
        Some(minutes.div_euclid(DAY) - today?)
    };
    let What::When(..) = cell.what else {
        return None;
    };
    let now = days(cell, call.today)?;
    let earlier: Vec<i64> = past
        .column(&cell.place)
        .filter_map(|(row, of)| days(of, past.rows()[row].today))
        .collect();
    let (least, most) = (*earlier.iter().min()?, *earlier.iter().max()?);
    let breadth = (most - least).max(300);
    let far = now > most + breadth || now < least - breadth || (least >= 0 && most > 0 && now < -1);
    let said = |days: i64| {
        if days < 0 {
            format!("{} days ago", -days)
        } else {
            format!("{days} days ahead")
        }
    };
    (earlier.len() >= ENOUGH && far).then(|| {
        let range = match least == most {
            true => said(most),
            false => format!("{least} to {most} days ahead"),
        };
        finding(
            Weight::Look,
            &cell.at,
            format!(
                "{} is {}; in {} earlier calls it was {range}.",
                cell.name,
                said(now),
                earlier.len()
            ),
        )
    })
}

#[cfg(test)]
mod tests {
    use jiff::civil::date;

    use super::*;

    #[test]
    fn days_are_read_however_they_are_written() {
        let words = |text: &str| text.split(' ').map(str::to_lowercase).collect::<Vec<_>>();
        for text in [
            "8 December 2026",
            "December 8 2026",
            "8th Dec 2026",
            "2026-12-08",
        ] {
            assert_eq!(
                day_at(&words(text), 0).map(|of| of.0),
                Some(date(2026, 12, 8)),
                "{text}"
            );
        }
        assert_eq!(day_at(&words("8 files changed"), 0), None);
    }
}
