//! The values of a call against each other: ends before their starts, sums, excluded things, who is greeted.

use crate::call::Call;
use crate::cell::{Cell, What};
use crate::cells;
use crate::dates;
use crate::finding::{Code, Finding, Weight};
use crate::leaf::among;
use crate::near::distance;
use crate::past::Past;
use crate::shown::shown;
use crate::written;

/// What comes first, and what comes after it.
const ENDS: &[(&str, &str)] = &[
    (
        "start starts begin begins starting",
        "end ends finish finishes until ending stop stops",
    ),
    ("from", "to until till"),
    ("pickup collection collected", "delivery delivered dropoff"),
    ("admitted admission", "discharge discharged"),
    ("departure departs depart", "arrival arrives arrive return"),
    ("first", "last"),
    ("checkin arrival", "checkout departure"),
    ("open opens opening", "close closes closing"),
    ("min minimum lower low", "max maximum upper high"),
    ("issued", "expires expiry due"),
];

pub(crate) fn found(call: &Call<'_>, past: &Past) -> Vec<Finding> {
    let cells = cells::of(call);
    let mut found = ends(cells);
    found.extend(sums(cells));
    found.extend(excluded(cells));
    found.extend(same_ends(call));
    found.extend(dates::found(call, past));
    found.extend(greeted(call, past));
    found.extend(ids(cells));
    found
}

pub(crate) fn finding(weight: Weight, at: &str, message: String) -> Finding {
    Finding {
        code: Code::Disagrees,
        weight,
        at: at.to_owned(),
        message,
    }
}

/// Whether two names are the same but for these words: `pickup_date` and `delivery_date`.
fn family(one: &Cell, other: &Cell, (first, last): (&str, &str)) -> bool {
    let rest = |cell: &Cell, of: &str| -> Vec<String> {
        let words = cell
            .words
            .iter()
            .filter(|word| !among(of, word) && !among("date time at day on utc", word));
        words.cloned().collect()
    };
    one.has_word(first) && other.has_word(last) && rest(one, first) == rest(other, last)
}

/// Pairs of values of one object that are a start and its end.
pub(crate) fn spans(cells: &[Cell]) -> impl Iterator<Item = (&Cell, &Cell)> {
    let sized = |cell: &&Cell| {
        matches!(cell.what, What::When(..) | What::Number(_)) && cell.unit != "entries"
    };
    cells.iter().filter(sized).flat_map(move |one| {
        let others = cells
            .iter()
            .filter(sized)
            .filter(move |other| other.object == one.object && other.place != one.place);
        let of = move |other: &&Cell| ENDS.iter().any(|ends| family(one, other, *ends));
        others.filter(of).map(move |other| (one, other))
    })
}

fn ends(cells: &[Cell]) -> Vec<Finding> {
    let said = |(start, end): (&Cell, &Cell)| match (start.what, end.what) {
        (What::When(from, a), What::When(to, b)) if a == b && to < from => {
            // A flight lands in another zone.
            let local = !start.text.ends_with('Z') && !start.text.contains('+');
            let travels = start.has_word("departure departs depart");
            let far = from - to;
            (!travels || !local || !a || far >= 26 * 60).then(|| {
                let message = format!(
                    "{} is {} before {}.",
                    end.name,
                    dates::span(far),
                    start.name
                );
                finding(Weight::Stop, &end.at, message)
            })
        }
        (What::Number(least), What::Number(most))
            if most < least
                && start.unit == end.unit
                && start.has_word("min minimum lower low") =>
        {
            let message = format!(
                "{} {} is more than {} {}.",
                start.name,
                start.shown(),
                end.name,
                end.shown()
            );
            Some(finding(Weight::Stop, &end.at, message))
        }
        _ => None,
    };
    spans(cells).filter_map(said).collect()
}

/// `net, tax, gross` that do not add up.
fn sums(cells: &[Cell]) -> Option<Finding> {
    let of = |names: &str| {
        let mut of = cells.iter().filter(|cell| {
            among(names, &cell.name) && cell.number().is_some() && !cell.place.contains('*')
        });
        of.next().filter(|_| of.next().is_none())
    };
    let (part, tax) = (
        of("net subtotal net_amount amount_net")?,
        of("tax vat tax_amount vat_amount")?,
    );
    let whole = of("gross total gross_amount total_amount amount_gross")?;
    let is = part.number()? + tax.number()?;
    let missing = whole.number()? - is;
    let freight = cells
        .iter()
        .filter_map(Cell::number)
        .any(|number| (number.abs() - missing.abs()).abs() < 0.006);
    // A tax below 1 is a rate.
    (missing.abs() > 0.011 && !freight && tax.number()? > 1.0 && tax.unit != "%").then(|| {
        let message = format!(
            "{} {} and {} {} make {}, and {} is {}.",
            part.name,
            written::written(part.number().unwrap_or_default(), true),
            tax.name,
            written::written(tax.number().unwrap_or_default(), true),
            written::written(is, true),
            whole.name,
            written::written(whole.number().unwrap_or_default(), true)
        );
        finding(Weight::Look, &whole.at, message)
    })
}

/// A value that a list of the call excludes.
fn excluded(cells: &[Cell]) -> Option<Finding> {
    const LISTS: &str = "allergies allergy allergens exclude excludes excluded except blocked blocklist denied intolerances banned";
    let lists = cells
        .iter()
        .filter(|cell| cell.what == What::Name && cell.has_word(LISTS));
    lists.into_iter().find_map(|not| {
        let hit = cells.iter().find(|cell| {
            cell.what == What::Name
                && !cell.has_word(LISTS)
                && cell.place != not.place
                && cell.form == not.form
        })?;
        let message = format!(
            "{} is {}, and {} has it too.",
            hit.name,
            shown(&hit.text),
            not.name
        );
        Some(finding(Weight::Look, &hit.at, message))
    })
}

/// The two ends of a transfer or copy are the same.
fn same_ends(call: &Call<'_>) -> Option<Finding> {
    const FROM: &str = "from source src debit sender origin";
    const TO: &str = "to target destination dest dst credit receiver recipient beneficiary";
    if !call.tool_is("transfer move copy sync migrate replicate relocate swap payment pay book") {
        return None;
    }
    let ends = |of: &'static str| {
        cells::of(call)
            .iter()
            .filter(move |cell| cell.names() && !cell.place.contains('*') && cell.has_word(of))
    };
    ends(FROM).find_map(|from| {
        let to = ends(TO).find(|to| {
            to.form == from.form && to.place != from.place && to.words.last() == from.words.last()
                || to.form == from.form && to.words.len() == 1 && from.words.len() == 1
        })?;
        Some(finding(
            Weight::Look,
            &to.at,
            format!(
                "{} and {} are the same: {}.",
                from.name,
                to.name,
                shown(&to.text)
            ),
        ))
    })
}

/// A text greets somebody to whom earlier calls wrote, and goes to others.
fn greeted(call: &Call<'_>, past: &Past) -> Option<Finding> {
    let (text, name, titled) = cells::of(call).iter().find_map(|cell| {
        let (name, titled) = greeting(&cell.text)?;
        (cell.what == What::Prose).then_some((cell, name, titled))
    })?;
    let local = |cell: &Cell| -> Vec<String> {
        let local = cell.form.split(['@', '+']).next().unwrap_or_default();
        local
            .split(['.', '_', '-'])
            .filter(|part| !part.is_empty())
            .map(str::to_owned)
            .collect()
    };
    let lower = name.to_lowercase();
    let alike = |cell: &&Cell| {
        local(cell)
            .iter()
            .any(|part| part.starts_with(&lower) || lower.starts_with(part.as_str()))
    };
    let mails: Vec<&Cell> = cells::of(call)
        .iter()
        .filter(|cell| cell.what == What::Mail && !cell.has_word("from sender cc bcc reply"))
        .collect();
    let first = mails.first()?;
    let beside = cells::of(call)
        .iter()
        .any(|cell| cell.at != text.at && cell.text.to_lowercase().contains(&lower));
    if mails.iter().any(alike) || beside || mails.iter().any(|cell| local(cell).len() < 2) {
        return None;
    }
    let rows = past.rows().iter().flat_map(|row| &row.cells);
    let known = rows
        .filter(|cell| cell.what == What::Mail)
        .find(|cell| local(cell).contains(&lower));
    let message = match known {
        Some(known) => format!(
            "The text greets {}, and goes to {}; earlier calls wrote to {}.",
            shown(name),
            past.shown(&first.form),
            past.shown(&known.form)
        ),
        None if titled => format!(
            "The text greets {}, and goes to {}, which is another name.",
            shown(name),
            past.shown(&first.form)
        ),
        None => return None,
    };
    Some(finding(Weight::Look, &text.at, message))
}

/// The last name in a greeting, and whether there is a title before it.
fn greeting(text: &str) -> Option<(&str, bool)> {
    const GREETS: &str = "dear hi hello hallo liebe lieber hei hej hola cher chère bonjour estimado estimada caro cara ciao moi kära";
    const TITLES: &str = "mr mrs ms miss dr prof herr frau sir madam mme m mr. mrs. ms. dr. prof. sr sra signor signora";
    let line = text.trim_start_matches(['<', 'p', '>']).lines().next()?;
    let mut words = line.split([',', '!', ':', ';']).next()?.split_whitespace();
    let greets = words
        .next()
        .is_some_and(|word| among(GREETS, &word.to_lowercase()));
    let words: Vec<&str> = words.collect();
    let titled = words
        .first()
        .is_some_and(|word| among(TITLES, &word.to_lowercase()));
    let name = words
        .iter()
        .filter(|word| !among(TITLES, &word.to_lowercase()))
        .copied()
        .last()?;
    let fine = name.chars().next().is_some_and(char::is_uppercase)
        && name.chars().count() > 2
        && name.chars().all(|at| at.is_alphabetic() || at == '-');
    let general = among(
        "All Team Everybody Everyone Colleagues Customer Sirs Sir Madam Colleague Customers Friends Supplier Partner Guest Members There",
        name,
    );
    (greets && words.len() <= 4 && fine && !general).then_some((name, titled))
}

/// A text names an id that is nearly that of an argument.
fn ids(cells: &[Cell]) -> Vec<Finding> {
    let alike = |one: &str, other: &str| {
        let like = |(one, other): (u8, u8)| {
            one == other || (one.is_ascii_digit() && other.is_ascii_digit())
        };
        one.len() == other.len() && one.bytes().zip(other.bytes()).all(like)
    };
    let is_id = |text: &str| {
        let digits = text.chars().filter(char::is_ascii_digit).count();
        digits >= 3
            && digits < text.len()
            && text.len() <= 24
            && !text.contains(char::is_whitespace)
            && text.starts_with(|at: char| at.is_ascii_alphabetic())
    };
    let mut found = Vec::new();
    for id in cells
        .iter()
        .filter(|cell| cell.what == What::Name && is_id(&cell.text))
    {
        for text in cells.iter().filter(|cell| {
            cell.place != id.place && cell.text.contains(' ') && !cell.text.contains(&id.text)
        }) {
            let words = text
                .text
                .split(|at: char| at.is_whitespace() || ",.;:()".contains(at));
            let near = words
                .into_iter()
                .find(|word| alike(word, &id.text) && distance(word, &id.text, 1) == Some(1));
            // Two ids of the call are not a slip.
            let other = near.filter(|near| !cells.iter().any(|cell| cell.text == **near));
            found.extend(other.map(|near| {
                finding(
                    Weight::Look,
                    &text.at,
                    format!(
                        "The text names {}, and {} is {}.",
                        shown(near),
                        id.name,
                        shown(&id.text)
                    ),
                )
            }));
        }
    }
    found
}
