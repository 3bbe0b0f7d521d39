//! Values that are written inside of texts: in JSON, a mail, a manifest, a URL, a command.

use serde_json::Value;

use crate::call::Call;
use crate::command::line::{Line, lines};
use crate::command::scripts::scripts;
use crate::leaf::{self, Leaf, among};
use crate::net;
use crate::role::is_prose;

/// How deep texts are read within texts.
const DEPTH: u32 = 4;
/// The most values of a call.
const MOST: usize = 400;
/// The longest text that is read as lines or JSON.
const LONGEST: usize = 64 * 1024;

/// Every value, those inside of texts as well.
pub(crate) fn values<'l, 'a>(call: &'l Call<'a>) -> impl Iterator<Item = &'l Leaf<'a>> {
    let inner = call.inner.get_or_init(|| leaves(call));
    call.leaves.iter().chain(inner)
}

/// The values of the object that a value is in, without it.
pub(crate) fn beside<'l, 'a>(
    call: &'l Call<'a>,
    leaf: &'l Leaf<'_>,
) -> impl Iterator<Item = &'l Leaf<'a>> {
    let same = |other: &&Leaf<'_>| other.object == leaf.object && other.place != leaf.place;
    values(call).filter(same)
}

fn leaves(call: &Call<'_>) -> Vec<Leaf<'static>> {
    let config = call
        .leaves
        .iter()
        .filter(|leaf| leaf.has_word("path file filename"));
    let config = config.filter_map(Leaf::text).any(|path| {
        let end = path.rsplit(['.', '/']).next().unwrap_or_default();
        among(
            "yaml yml toml ini env conf cfg properties tf tfvars Dockerfile",
            end,
        )
    });
    let mut found = Vec::new();
    for leaf in &call.leaves {
        if let Some(text) = leaf.text().filter(|text| text.len() <= LONGEST) {
            of_text(leaf, text, DEPTH, &mut found);
            if text.contains('\n') && (config || !is_prose(leaf)) {
                of_lines(leaf, text, &mut found);
            }
        }
    }
    for (leaf, at, script) in scripts(call) {
        for line in lines(script) {
            let from = found.len();
            of_line(leaf, &line, &mut found);
            for inner in &mut found[from..] {
                at.clone_into(&mut inner.at);
            }
        }
    }
    found.truncate(MOST);
    found
}

fn of_text(leaf: &Leaf<'_>, text: &str, depth: u32, found: &mut Vec<Leaf<'static>>) {
    let from = found.len();
    let text = text.trim();
    if text.starts_with(['{', '[']) {
        if let Ok(value @ (Value::Object(_) | Value::Array(_))) = serde_json::from_str(text) {
            found.extend(leaf::written(leaf, &value));
        }
    } else if let Some(url) = net::url(text) {
        let pairs = url
            .query_pairs()
            .map(|(name, value)| inner(leaf, &name, &value));
        found.extend(pairs);
    } else if text.starts_with("arn:") && text.len() < 300 {
        let account = text.split(':').nth(4).filter(|part| !part.is_empty());
        found.extend(account.map(|account| inner(leaf, "arn account", account)));
    } else {
        found.extend(headers(leaf, text));
    }
    if depth > 1 {
        for place in from..found.len() {
            let mut below = Vec::new();
            if let Some(text) = found[place].text() {
                of_text(&found[place], text, depth - 1, &mut below);
            }
            found.append(&mut below);
        }
    }
}

fn inner(leaf: &Leaf<'_>, name: &str, value: &str) -> Leaf<'static> {
    leaf.inner(name, name, value)
}

/// The headers of a mail as raw text.
fn headers(leaf: &Leaf<'_>, text: &str) -> Vec<Leaf<'static>> {
    if !leaf.has_word("raw mime eml rfc822 message source") {
        return Vec::new();
    }
    let lines = text.lines().take_while(|line| !line.trim().is_empty());
    let read: Option<Vec<Leaf<'static>>> = lines
        .filter(|line| !line.starts_with([' ', '\t']))
        .map(|line| {
            let (name, value) = line.split_once(':')?;
            let fine = name
                .chars()
                .all(|at| at.is_ascii_alphanumeric() || at == '-');
            fine.then(|| inner(leaf, name, value.trim()))
        })
        .collect();
    read.filter(|all| all.len() > 1).unwrap_or_default()
}

/// `key: value` and `key = value`, where most lines are so.
fn of_lines(leaf: &Leaf<'_>, text: &str, found: &mut Vec<Leaf<'static>>) {
    let (mut lines, mut keys, from) = (0, 0, found.len());
    for line in text.lines().take(400) {
        let line = line
            .trim()
            .trim_start_matches("- ")
            .trim_start_matches("export ");
        if line.is_empty() || line.starts_with('#') {
            continue;
        }
        lines += 1;
        let Some((name, value)) = line.split_once(": ").or_else(|| line.split_once('=')) else {
            keys += usize::from(line.ends_with([':', '{', '}', ']']));
            continue;
        };
        let name = name.trim().trim_matches('"');
        let fine = |at: char| at.is_ascii_alphanumeric() || "_-./".contains(at);
        if name.is_empty() || !name.chars().all(fine) {
            continue;
        }
        keys += 1;
        let value = value.trim().trim_end_matches(',').trim_matches(['"', '\'']);
        let value = match value {
            "true" => Value::Bool(true),
            "false" => Value::Bool(false),
            value => value
                .parse::<i64>()
                .map_or_else(|_| value.into(), Value::from),
        };
        found.push(leaf.inner(name, name, value));
    }
    if keys * 3 < lines * 2 || keys < 2 {
        found.truncate(from);
    }
}

/// Long options with a value, variables, URLs and packages of a command.
fn of_line(leaf: &Leaf<'_>, line: &Line<'_>, found: &mut Vec<Leaf<'static>>) {
    for set in &line.command.assignments {
        found.push(leaf.inner(&set.name, &set.name, set.value.text.as_str()));
    }
    if !line.name.is_empty() {
        found.push(leaf.inner(&line.name, "program", line.name.as_str()));
    }
    let mut words = line.words.iter().peekable();
    while let Some(word) = words.next() {
        let text = word.text.as_str();
        let from = found.len();
        if let Some(option) = text.strip_prefix("--").filter(|option| !option.is_empty()) {
            let next = words
                .peek()
                .filter(|next| !next.text.starts_with('-') && !next.dynamic);
            let (name, value) = match option.split_once('=') {
                Some((name, value)) => (name, value),
                None => match next {
                    Some(next) => (option, next.text.as_str()),
                    None => continue,
                },
            };
            let step = format!("{} --{name}", line.name);
            found.push(leaf.inner(&step, name, value));
        } else if net::url(text).is_some() || text.contains("://") {
            found.push(leaf.inner(&format!("{} url", line.name), "url", text));
        }
        for place in from..found.len() {
            let mut below = Vec::new();
            of_text(
                &found[place],
                found[place].text().unwrap_or_default(),
                2,
                &mut below,
            );
            found.append(&mut below);
        }
    }
    found.extend(packages(line).map(|name| leaf.inner("package", "package", name)));
}

/// What an installing command installs, without versions.
fn packages<'s>(line: &Line<'s>) -> impl Iterator<Item = &'s str> + use<'s> {
    const PROGRAMS: &str = "npm pnpm yarn bun pip pip3 pipx cargo gem go brew apt apt-get apk dnf yum uv poetry composer conda";
    let texts = line.texts();
    let at = texts
        .iter()
        .position(|text| among("add install i get require", text));
    let from = at
        .filter(|_| line.is(PROGRAMS))
        .map_or(texts.len(), |at| at + 1);
    texts.into_iter().skip(from).filter_map(|text| {
        let long = text.get(1..).unwrap_or_default();
        let end = long
            .find(['@', '=', '<', '>', '~', '[', '^'])
            .map_or(text.len(), |at| at + 1);
        let name = &text[..end];
        let path = name.starts_with(['.', '/', '$']) || name.contains("://");
        (!path && name.len() > 1).then_some(name)
    })
}
