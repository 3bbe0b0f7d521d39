//! Reads the values of a call as they are compared with those of earlier calls.

use std::sync::Arc;

use countersign_redaction::{is_secret_key, is_secret_value};
use serde_json::Value;

use crate::call::Call;
use crate::cell::{Cell, SHORT, What, when};
use crate::inner;
use crate::leaf::{Leaf, among};
use crate::role::{Role, is_command, is_prose, is_sql_name, role};
use crate::{amounts, net};

/// What is kept of a text.
const KEPT: usize = 2_000;

/// Every value of a call but secrets, each read once.
pub(crate) fn of<'c>(call: &'c Call<'_>) -> &'c [Cell] {
    call.cells.get_or_init(|| {
        let open = |leaf: &&Leaf<'_>| !is_secret_key(&leaf.name);
        let values = inner::values(call).filter(open);
        let mut found: Vec<Cell> = values.map(|leaf| cell(leaf, call)).collect();
        lengths(call.args, "", "", &mut found);
        found
    })
}

fn cell(leaf: &Leaf<'_>, call: &Call<'_>) -> Cell {
    let mut cell = Cell {
        at: leaf.at.clone(),
        place: leaf.place.clone(),
        name: leaf.name.clone(),
        words: leaf.words.clone(),
        object: Arc::clone(&leaf.object),
        text: match leaf.value.as_ref() {
            Value::String(text) => text.trim().chars().take(KEPT).collect(),
            value => value.to_string(),
        },
        form: String::new(),
        unit: String::new(),
        what: What::Empty,
    };
    match leaf.value.as_ref() {
        Value::Bool(on) => cell.what = What::Flag(*on),
        Value::Number(number) => cell.what = What::Number(number.as_f64().unwrap_or_default()),
        Value::String(_) if !cell.text.is_empty() => text(&mut cell, leaf, call),
        _ => {}
    }
    let own =
        "hours hour minutes days seconds percent pct every times weeks months years interval ttl";
    if matches!(cell.what, What::Number(_)) && cell.unit.is_empty() && !cell.has_word(own) {
        cell.unit = amounts::unit(leaf, call).unwrap_or_default();
    }
    if cell.form.is_empty() {
        cell.form = cell.text.to_lowercase();
    }
    cell
}

fn text(cell: &mut Cell, leaf: &Leaf<'_>, call: &Call<'_>) {
    let long = cell.text.len() > SHORT || cell.text.contains('\n');
    cell.what = match role(leaf, call) {
        Some(Role::Mails(mails)) if mails.len() == 1 => {
            cell.form = format!("{}@{}", mails[0].local, mails[0].host);
            What::Mail
        }
        Some(Role::Account(account)) => {
            cell.form = account;
            What::Account
        }
        Some(Role::Host(host)) if !net::is_loopback(&host) => {
            cell.form = host;
            What::Host
        }
        _ if long || is_prose(leaf) || is_command(leaf, call) || is_sql_name(leaf) => What::Prose,
        _ => match when(&cell.text) {
            Some((minutes, time)) => What::When(minutes, time),
            None => match measure(&cell.text) {
                Some((number, unit)) => {
                    cell.unit = unit;
                    What::Number(number)
                }
                None if is_secret_value(&cell.text) => What::Prose,
                None => {
                    cell.form = form(&cell.text);
                    What::Name
                }
            },
        },
    };
}

/// A name without signs and legal form: `Orchard Row B.V.` is `orchard row bv` is `orchard row`.
fn form(text: &str) -> String {
    const LEGAL: &str = " gmbh ltd limited bv sa ab oy inc llc ag llp plc srl spa as aps kg";
    let lower = text.to_lowercase();
    if !lower.contains(' ') {
        return lower;
    }
    let plain = lower.replace(['.', ','], "");
    let words: Vec<&str> = plain.split_whitespace().collect();
    match words.split_last() {
        Some((last, rest)) if among(LEGAL, last) && !rest.is_empty() => rest.join(" "),
        _ => words.join(" "),
    }
}

/// A number with a unit, in the smallest of its kind; a number with a fraction alone.
fn measure(text: &str) -> Option<(f64, String)> {
    let long = text.find(|at: char| !at.is_ascii_digit() && !".,-".contains(at));
    let (number, unit) = text.split_at(long.unwrap_or(text.len()));
    let plain: f64 = number.replace(',', "").parse().ok()?;
    let unit = unit.trim();
    let (times, kind) = match unit {
        "" if number.contains('.') && !number.starts_with('0') || number == "0" => (1.0, ""),
        "ug" | "mcg" | "µg" => (1e-3, "MG"),
        "mg" => (1.0, "MG"),
        "g" => (1e3, "MG"),
        "kg" => (1e6, "MG"),
        "ml" => (1.0, "ML"),
        "l" | "L" => (1e3, "ML"),
        "Ki" | "KiB" => (1024.0, "B"),
        "k" | "K" | "KB" | "kB" => (1e3, "B"),
        "Mi" | "MiB" => (1_048_576.0, "B"),
        "M" | "MB" => (1e6, "B"),
        "Gi" | "GiB" => (1_073_741_824.0, "B"),
        "G" | "GB" => (1e9, "B"),
        "Ti" | "TiB" => (1_099_511_627_776.0, "B"),
        "TB" => (1e12, "B"),
        "ms" => (1e-3, "S"),
        "s" | "sec" => (1.0, "S"),
        "m" | "min" => (60.0, "S"),
        "h" => (3_600.0, "S"),
        "d" | "days" => (86_400.0, "S"),
        "%" => (1.0, "%"),
        _ => return None,
    };
    Some((plain * times, kind.to_owned()))
}

/// How long each list is.
fn lengths(value: &Value, at: &str, place: &str, found: &mut Vec<Cell>) {
    match value {
        Value::Object(fields) => {
            for (key, value) in fields {
                let step = countersign_wire::pointer::step(key);
                lengths(
                    value,
                    &format!("{at}/{step}"),
                    &format!("{place}/{step}"),
                    found,
                );
            }
        }
        Value::Array(items) if !place.is_empty() => {
            let name = crate::leaf::snake(at.rsplit('/').next().unwrap_or_default());
            found.push(Cell {
                at: at.to_owned(),
                place: format!("{place}#"),
                words: vec![name.clone()],
                name,
                object: at.into(),
                text: format!("{} entries", items.len()),
                form: String::new(),
                unit: "entries".to_owned(),
                what: What::Number(items.len() as f64),
            });
        }
        _ => {}
    }
}
