//! One rule as an editor shows it: the lines of a rule file below its `[[rule]]`.
//!
//! Refuses to write a character that hides, reorders or is drawn as nothing: it stands as its number.

use countersign_wire::judged;
use serde_json::{Map, Value};

use super::file::{FileProblem, read_file};
use super::read::FIELDS;
use super::rule::Rule;

/// What an editor leaves to the console.
const COUNTED: [&str; 2] = ["version", "since"];
/// Is in front of the lines of one rule.
const HEADER: &str = "schema = 1\n[[rule]]\n";
const HEADER_LINES: usize = 2;

/// A rule holds null, which TOML cannot say.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("this rule compares with null, which rule files cannot express; edit it in the window")]
pub struct NoToml;

/// Writes a rule, field by field.
pub fn write_rule(rule: &Rule) -> Result<String, NoToml> {
    let mut whole = match rule.to_json() {
        Value::Object(map) => map,
        _ => Map::new(),
    };
    let mut text = String::new();
    for field in FIELDS.iter().filter(|field| !COUNTED.contains(field)) {
        match (*field, whole.remove(*field)) {
            (_, None) => {}
            (name @ ("args" | "command" | "path"), Some(Value::Object(tests))) => {
                for (pointer, test) in &tests {
                    let test = value(test)?;
                    text.push_str(&format!("{name}.{} = {test}\n", quoted(pointer)));
                }
            }
            (field, Some(given)) => text.push_str(&format!("{field} = {}\n", value(&given)?)),
        }
    }
    Ok(text)
}

/// Reads what [`write_rule`] writes, by the same check as a rule file.
///
/// # Errors
/// What is wrong, with the lines of `text`.
pub fn read_rule(text: &str) -> Result<Rule, Vec<FileProblem>> {
    let mut rules = read_file(&format!("{HEADER}{text}")).map_err(|problems| {
        let shifted = problems.into_iter().map(|problem| {
            // What is missing is at the header, which the editor does not show.
            let (line, column) = match problem.line.checked_sub(HEADER_LINES) {
                Some(line @ 1..) => (line, problem.column),
                _ => (1, 1),
            };
            let place = problem.place.strip_prefix("rule[0].").map(str::to_owned);
            FileProblem {
                line,
                column,
                place: place.unwrap_or(problem.place),
                message: problem.message,
            }
        });
        shifted.collect::<Vec<_>>()
    })?;
    match (rules.pop(), rules.is_empty()) {
        (Some(rule), true) => Ok(rule),
        _ => Err(vec![FileProblem {
            line: 1,
            column: 1,
            place: String::new(),
            message: "this is more than one rule; write each one alone".to_owned(),
        }]),
    }
}

fn value(given: &Value) -> Result<String, NoToml> {
    Ok(match given {
        Value::Null => return Err(NoToml),
        Value::Bool(_) | Value::Number(_) => given.to_string(),
        Value::String(text) => quoted(text),
        Value::Array(list) => {
            let items = list.iter().map(value).collect::<Result<Vec<_>, _>>()?;
            format!("[{}]", items.join(", "))
        }
        Value::Object(map) if map.is_empty() => "{}".to_owned(),
        Value::Object(map) => {
            let one = |(name, of): (&String, &Value)| Ok(format!("{} = {}", key(name), value(of)?));
            let items = map.iter().map(one).collect::<Result<Vec<_>, _>>()?;
            format!("{{ {} }}", items.join(", "))
        }
    })
}

fn key(name: &str) -> String {
    let plain = |b: u8| b.is_ascii_alphanumeric() || matches!(b, b'_' | b'-');
    match !name.is_empty() && name.bytes().all(plain) {
        true => name.to_owned(),
        false => quoted(name),
    }
}

/// A basic string of TOML 1.0.
fn quoted(text: &str) -> String {
    let mut written = String::from("\"");
    for (_, c, hostile) in judged(text) {
        match c {
            '"' => written.push_str("\\\""),
            '\\' => written.push_str("\\\\"),
            '\n' => written.push_str("\\n"),
            '\t' => written.push_str("\\t"),
            '\r' => written.push_str("\\r"),
            _ if !hostile => written.push(c),
            '\u{10000}'.. => written.push_str(&format!("\\U{:08X}", u32::from(c))),
            _ => written.push_str(&format!("\\u{:04X}", u32::from(c))),
        }
    }
    written.push('"');
    written
}
