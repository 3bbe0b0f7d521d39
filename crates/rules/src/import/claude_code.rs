//! Permission lists of Claude Code: `permissions: {allow, ask, deny}` of settings files, each entry
//! `Tool` or `Tool(specifier)`. Deny wins over ask over allow, whichever file it is in, as here.

use serde_json::{Map, Value};

use super::claude_commands::{Allowed, SHELLS};
use super::text::{matches, quoted};
use super::{Desk, ENTRIES_MAX, Parts, SourceFile, claude_commands, claude_files};
use crate::glob::Glob;
use crate::rule::Effect;

/// Where an entry is, such as `deny[0]`, and its text.
pub(super) type Entry<'a> = (&'a str, &'a str);

const LISTS: [(&str, Effect); 3] = [
    ("deny", Effect::Deny),
    ("ask", Effect::Ask),
    ("allow", Effect::Approve),
];
/// A rule for the first of a line concerns the others too.
const FAMILIES: [&[&str]; 2] = [
    &["Edit", "Write", "MultiEdit", "NotebookEdit", "apply_patch"],
    &["Read", "Grep", "Glob", "LS", "NotebookRead"],
];
/// The argument of a tool that its specifier is about; `name:value` is not a test of it.
const PRIMARY: [(&str, &str); 9] = [
    ("Bash", "command"),
    ("PowerShell", "command"),
    ("Read", "file_path"),
    ("Edit", "file_path"),
    ("Write", "file_path"),
    ("MultiEdit", "file_path"),
    ("NotebookEdit", "notebook_path"),
    ("WebFetch", "domain"),
    ("WebSearch", "query"),
];
pub(super) const WIDE: &str =
    "Claude Code compares what a rule here cannot: every call of the tool asks";
pub(super) const DENIED: &str = "Denied by the imported permissions.";

pub(super) fn read(desk: &mut Desk<'_>, files: &[SourceFile]) -> Result<(), Vec<String>> {
    let mut allowed = SHELLS.map(Allowed::new);
    let mut faults = Vec::new();
    let has_any = files
        .iter()
        .any(|file| file.value.get("permissions").is_some());
    for file in files {
        desk.begin(file);
        let mut found = Vec::new();
        match file.value.get("permissions") {
            Some(Value::Object(map)) => found = one_file(desk, file, map, &mut allowed),
            None if has_any && file.value.is_object() => {}
            _ => found.push(
                "/permissions: there are none; give a settings.json of Claude Code".to_owned(),
            ),
        }
        faults.extend(found.into_iter().map(|fault| match file.label.as_str() {
            "" => fault,
            label => format!("{label}: {fault}"),
        }));
    }
    if !faults.is_empty() {
        return Err(faults);
    }
    for of in allowed {
        of.carry(desk, files)
            .map_err(|why| vec![format!("/permissions/allow: {why}")])?;
    }
    Ok(())
}

/// What is wrong with the file, each with its pointer.
fn one_file(
    desk: &mut Desk<'_>,
    file: &SourceFile,
    map: &Map<String, Value>,
    allowed: &mut [Allowed],
) -> Vec<String> {
    let mut faults = Vec::new();
    for (name, effect) in LISTS {
        let list = list(map, name).unwrap_or_else(|why| {
            faults.push(why);
            &[]
        });
        for (number, entry) in list.iter().enumerate() {
            let place = format!("{name}[{number}]");
            let Some(text) = entry.as_str() else {
                faults.push(format!("{}: it must be a text", pointer(&place)));
                continue;
            };
            let at = (place.as_str(), text);
            let done = match (split(text), effect) {
                (None, _) => unreadable(desk, at, effect),
                (Some(of), Effect::Approve) => allow(desk, at, of, file, allowed),
                (Some(of), _) => refuse(desk, at, of, file, effect),
            };
            faults.extend(done.err());
        }
    }
    let lists = LISTS.map(|(name, _)| name);
    for (key, value) in map.iter().filter(|(key, _)| !lists.contains(&key.as_str())) {
        let why = match key.as_str() {
            "defaultMode" => "here every call that no rule approves asks",
            _ => "only allow, ask and deny have a counterpart",
        };
        let reported: String = value.to_string().chars().take(200).collect();
        desk.leave(key, &reported, why);
    }
    faults
}

/// A deny that is lost must not make room for an allow.
fn unreadable(desk: &mut Desk<'_>, at: Entry<'_>, effect: Effect) -> Result<(), String> {
    let why = "it is neither Tool nor Tool(specifier)";
    if effect == Effect::Approve {
        desk.leave(at.0, at.1, why);
        return Ok(());
    }
    Err(format!("{}: {why}: {}", pointer(at.0), at.1))
}

/// The JSON pointer of a place such as `deny[0]`.
pub(super) fn pointer(place: &str) -> String {
    let inner = place.trim_end_matches(']').replace('[', "/");
    format!("/permissions/{inner}")
}

fn list<'v>(map: &'v Map<String, Value>, name: &str) -> Result<&'v [Value], String> {
    match map.get(name) {
        None => Ok(&[]),
        Some(Value::Array(list)) if list.len() <= ENTRIES_MAX => Ok(list),
        Some(_) => Err(format!(
            "/permissions/{name}: it must be a list of at most {ENTRIES_MAX} entries"
        )),
    }
}

/// Tool and specifier; `Tool(*)` is `Tool`.
pub(super) fn split(text: &str) -> Option<(&str, Option<&str>)> {
    let named = |tool: &str| {
        let plain = |c: char| c.is_ascii_alphanumeric() || "_-.*".contains(c);
        !tool.is_empty() && tool.chars().all(plain)
    };
    match text.split_once('(') {
        None => named(text).then_some((text, None)),
        Some((tool, rest)) => {
            let specifier = rest.strip_suffix(')')?;
            let specifier = Some(specifier).filter(|of| !matches!(*of, "*" | "" | ":*"));
            (named(tool) && !tool.contains('*')).then_some((tool, specifier))
        }
    }
}

/// Whether the wildcard of an allow is behind a whole server's name: Claude Code reads no other.
fn is_anchored(tool: &str) -> bool {
    let behind = tool.strip_prefix("mcp__");
    behind
        .and_then(|of| of.split_once("__"))
        .is_some_and(|(server, _)| !server.is_empty() && !server.contains('*'))
}

/// All tools of a server: `mcp__server` is `mcp__server__*`.
pub(super) fn server(tool: &str) -> String {
    let is_server = tool.starts_with("mcp__") && tool.matches("__").count() == 1;
    if is_server {
        return format!("{tool}__*");
    }
    tool.to_owned()
}

/// Every call that a bare name denies or asks for.
pub(super) fn whole(tool: &str) -> Parts {
    let message = Some(DENIED.to_owned());
    let name = server(tool);
    if name == "*" {
        return Parts {
            message,
            ..Parts::default()
        };
    }
    if name.contains('*') {
        let held = matches("tool", &name);
        return Parts {
            when: Some(held.condition),
            message,
            ..Parts::default()
        };
    }
    let family = FAMILIES.iter().find(|family| family[0] == tool);
    let tools = family.map_or_else(
        || vec![name],
        |family| family.iter().map(|tool| (*tool).to_owned()).collect(),
    );
    Parts {
        tools,
        message,
        ..Parts::default()
    }
}

fn allow(
    desk: &mut Desk<'_>,
    at: Entry<'_>,
    (tool, specifier): (&str, Option<&str>),
    file: &SourceFile,
    allowed: &mut [Allowed],
) -> Result<(), String> {
    let together = allowed.iter_mut().find(|of| of.is_of(tool));
    let parts = match (specifier, together) {
        (Some(of), _) if parameter(tool, of).is_some() => {
            Err("a test of an argument allows nothing here")
        }
        (Some(of), Some(together)) => {
            together.add(desk, at, of);
            return Ok(());
        }
        (None, Some(_)) => {
            Err("it lets every command run; write such a rule by hand if you mean it")
        }
        (None, _) if tool.contains('*') && !is_anchored(tool) => {
            Err("Claude Code reads no such wildcard under allow; name the tools")
        }
        (None, _) => Ok(match claude_files::all_but_protected(tool) {
            Some(parts) => (vec![parts], "protected paths ask; lasts 90 days"),
            None => {
                let tools = vec![server(tool)];
                let parts = Parts {
                    tools,
                    ..Parts::default()
                };
                let note = "lasts 90 days; critical calls and a tool that changes ask";
                (vec![parts], note)
            }
        }),
        (Some(of), None) => match (tool, host(of)) {
            ("WebFetch", Some(host)) => {
                let when = format!(
                    "args.url == {} || args.url.startsWith({})",
                    quoted(&format!("https://{host}")),
                    quoted(&format!("https://{host}/"))
                );
                let parts = Parts {
                    tools: vec![tool.to_owned()],
                    when: Some(when),
                    ..Parts::default()
                };
                Ok((vec![parts], "https on the host itself only; lasts 90 days"))
            }
            _ => claude_files::allow((tool, of), file.folder.as_deref()),
        },
    };
    match parts {
        Ok((parts, note)) => {
            let rules = parts.into_iter().map(|of| (Effect::Approve, of)).collect();
            desk.carry(at, rules, Some(note))
        }
        Err(why) => {
            desk.leave(at.0, at.1, why);
            Ok(())
        }
    }
}

/// The host of `domain:host`, where it is one name in its usual spelling.
fn host(specifier: &str) -> Option<&str> {
    let plain = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || ".-".contains(c);
    let host = specifier.strip_prefix("domain:")?;
    (!host.is_empty() && host.chars().all(plain)).then_some(host)
}

fn refuse(
    desk: &mut Desk<'_>,
    at: Entry<'_>,
    (tool, specifier): (&str, Option<&str>),
    file: &SourceFile,
    effect: Effect,
) -> Result<(), String> {
    let Some(of) = specifier else {
        let mut rules = vec![(effect, whole(tool))];
        let commands = is_about_files(tool).then(claude_files::commands);
        let note = commands
            .is_some()
            .then_some("a command that reads or writes files asks");
        rules.extend(commands.map(|parts| (Effect::Ask, parts)));
        return desk.carry(at, rules, note);
    };
    if let Some((name, value)) = parameter(tool, of) {
        return test(desk, at, (tool, of), (name, value), effect);
    }
    if SHELLS.contains(&tool) {
        return claude_commands::refuse(desk, at, (tool, of), effect);
    }
    match claude_files::refuse((tool, of), file.folder.as_deref(), effect) {
        Some((rules, note)) => desk.carry(at, rules, Some(note)),
        // Hosts are spelled in many ways.
        None => desk.carry(at, vec![(Effect::Ask, whole(tool))], Some(WIDE)),
    }
}

/// Whether an entry for this tool, a wildcard or not, concerns a file tool; one for all tools concerns each.
fn is_about_files(tool: &str) -> bool {
    let glob = Glob::new(tool);
    let named = |name: &&str| {
        let within = crate::glob::Reach::WithinName;
        glob.as_ref()
            .is_ok_and(|glob| glob.matches_name(name, within))
    };
    tool != "*" && FAMILIES.iter().copied().flatten().any(named)
}

/// A test of an argument: `name:value`, where `name` is a plain name and not what the tool's specifier is about.
/// A lone `*` as value is none: `Bash(timeout:*)` is a command.
fn parameter<'s>(tool: &str, specifier: &'s str) -> Option<(&'s str, &'s str)> {
    let (name, value) = specifier.split_once(':')?;
    let plain = |c: char| c.is_ascii_alphanumeric() || c == '_';
    let begins = name.starts_with(|c: char| c.is_ascii_lowercase() || c == '_');
    let primary = PRIMARY.contains(&(tool, name));
    (begins && name.chars().all(plain) && !primary && !value.is_empty() && value != "*")
        .then_some((name, value))
}

/// An argument with this value denies or asks; of a shell tool, a command of this name too.
fn test(
    desk: &mut Desk<'_>,
    at: Entry<'_>,
    (tool, specifier): (&str, &str),
    (name, value): (&str, &str),
    effect: Effect,
) -> Result<(), String> {
    let name = quoted(name);
    let held = matches(&format!("string(args[{name}])"), value);
    let tested = Parts {
        when: Some(format!("{name} in args && {}", held.condition)),
        ..whole(tool)
    };
    let effect_of_test = if held.exact { effect } else { Effect::Ask };
    let mut rules = vec![(effect_of_test, tested)];
    if tool == "Bash" {
        let words = Parts {
            command: vec![specifier.to_owned()],
            ..whole(tool)
        };
        rules.push((effect, words));
    }
    desk.carry(at, rules, Some("a call with this argument and value"))
}
