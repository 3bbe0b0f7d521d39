//! Edits of a JSON text by the places of its values: every other byte stays.

use std::ops::Range;

use jsonc_parser::ast::Value as Node;
use jsonc_parser::common::Ranged as _;
use jsonc_parser::{CollectOptions, ParseOptions, parse_to_ast};
use serde_json::Value;

/// An object or a list: where its inside is, and each of its members.
struct Container {
    inside: Range<usize>,
    members: Vec<Range<usize>>,
}

/// Puts a value behind the last one of the object or list at `path`; in an object under `name`.
pub(super) fn append(
    text: &str,
    path: &[&str],
    name: Option<&str>,
    value: &Value,
) -> Result<String, String> {
    let container = container(text, path)?;
    let Range { start, end } = container.inside;
    let first = container.members.first();
    let before = &text[start..first.map_or(end, |member| member.start)];
    let line = if text.contains("\r\n") { "\r\n" } else { "\n" };
    let outer = indent(text, start);
    // An empty object is opened; one with blanks in it keeps them behind what is put in.
    let (indent, closing) = match (first, before) {
        (Some(_), before) => (
            before
                .rsplit_once('\n')
                .map(|(_, blanks)| blanks.to_owned()),
            "",
        ),
        (None, "") if !outer.is_empty() || text[..start].trim() == "{" => {
            (Some(format!("{outer}{}", unit(text))), outer)
        }
        (None, _) => (None, ""),
    };
    let mut item = name.map_or_else(String::new, |name| format!("{}: ", Value::from(name)));
    item += &match &indent {
        Some(indent) => lines(value, indent, unit(text), line),
        None => value.to_string(),
    };
    let place = container.members.last().map_or(start, |member| member.end);
    let item = match (&indent, first) {
        (Some(indent), Some(_)) => format!(",{line}{indent}{item}"),
        (Some(indent), None) => format!("{line}{indent}{item}{line}{closing}"),
        (None, Some(_)) => format!(", {item}"),
        (None, None) => item,
    };
    Ok(format!("{}{item}{}", &text[..place], &text[place..]))
}

/// Takes a member out of the object or list at `path`.
pub(super) fn remove(text: &str, path: &[&str], member: usize) -> Result<String, String> {
    let Container { inside, members } = container(text, path)?;
    let gone = members.get(member).ok_or("it is not there")?;
    let cut = match (member.checked_sub(1), members.get(member + 1)) {
        (Some(before), _) => members[before].end..gone.end,
        (None, Some(next)) => gone.start..next.start,
        (None, None) if gone.start == inside.start => gone.clone(),
        (None, None) => inside,
    };
    Ok(format!("{}{}", &text[..cut.start], &text[cut.end..]))
}

fn container(text: &str, path: &[&str]) -> Result<Container, String> {
    let parsed = parse_to_ast(text, &CollectOptions::default(), &ParseOptions::default());
    let root = parsed.map_err(|error| error.to_string())?.value;
    let mut node = root.as_ref().ok_or("it is not JSON")?;
    for name in path {
        let found = match node {
            Node::Object(object) => object
                .properties
                .iter()
                .find(|of| of.name.as_str() == *name),
            _ => None,
        };
        node = &found.ok_or_else(|| format!("{name} is missing"))?.value;
    }
    let whole = node.range();
    let members = match node {
        Node::Object(object) => object.properties.iter().map(|of| of.range()).collect(),
        Node::Array(list) => list
            .elements
            .iter()
            .map(|of| of.range())
            .collect::<Vec<_>>(),
        _ => return Err("it is neither an object nor a list".to_owned()),
    };
    Ok(Container {
        inside: whole.start + 1..whole.end - 1,
        members: members.iter().map(|of| of.start..of.end).collect(),
    })
}

/// The blanks before the line of this place.
fn indent(text: &str, place: usize) -> &str {
    let line = &text[text[..place].rfind('\n').map_or(0, |at| at + 1)..place];
    &line[..line.len() - line.trim_start_matches([' ', '\t']).len()]
}

/// What one step to the right is in this text.
fn unit(text: &str) -> &str {
    let mut indents = text.lines().map(|line| indent(line, line.len()));
    indents.find(|blanks| !blanks.is_empty()).unwrap_or("  ")
}

/// A value over several lines, of which the first has its place already.
fn lines(value: &Value, indent: &str, unit: &str, line: &str) -> String {
    let text = format!("{value:#}");
    let lines = text.lines().map(|text| {
        let inner = text.trim_start_matches(' ');
        format!("{}{inner}", unit.repeat((text.len() - inner.len()) / 2))
    });
    lines.collect::<Vec<_>>().join(&format!("{line}{indent}"))
}
