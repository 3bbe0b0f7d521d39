//! Permission lists of Claude Code: `permissions: {allow, ask, deny}` of a settings file, each entry
//! `Tool` or `Tool(specifier)`. Deny wins over ask over allow, as here.

use countersign_shell::Shell;
use serde_json::{Map, Value};

use super::text::quoted;
use super::{Desk, ENTRIES_MAX, Parts, claude_files};
use crate::commands::CommandPattern;
use crate::glob::{Glob, Reach};
use crate::rule::Effect;

const LISTS: [(&str, Effect); 3] = [
    ("deny", Effect::Deny),
    ("ask", Effect::Ask),
    ("allow", Effect::Approve),
];
/// Tools that run whatever text they are given.
const SHELLS: [&str; 2] = ["Bash", "PowerShell"];
/// A rule for one of these concerns the others of its line too.
const FAMILIES: [&[&str]; 2] = [
    &["Edit", "Write", "MultiEdit", "NotebookEdit"],
    &["Read", "Grep", "Glob", "LS", "NotebookRead"],
];
/// Commands in which Claude Code looks for the files that its Read and Edit rules name, others that read and
/// write files, and those that run another command.
const FILE_COMMANDS: &str = "awk base64 bash builtin cat cd chmod chown column command cp cut dash dd diff doas \
    egrep env eval exec fgrep file find gawk grep head hexdump install jq less ln ls md5sum mkdir more mv nice nl \
    nohup od paste patch rg rm rmdir rsync sed sh sha1sum sha256sum shred sort source split stat stdbuf strings \
    sudo tac tail tar tee time timeout touch tr truncate uniq unlink wc xargs xxd zip zsh";
/// What `git` does with files that the repository need not know.
const GIT_FILE_COMMANDS: [&str; 2] = ["diff", "grep"];
const WIDE: &str = "Claude Code compares what a rule here cannot: every call of the tool asks";

pub(super) fn read(desk: &mut Desk<'_>, file: &Value) -> Result<(), String> {
    let permissions = file.get("permissions");
    let Some(map) = permissions.and_then(Value::as_object) else {
        return Err(
            "there are no permissions in it; give a settings.json of Claude Code".to_owned(),
        );
    };
    // The first entry that keeps files from being read or written: what denies comes before what allows.
    let mut files: Option<String> = None;
    let mut commands = Commands::default();
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
            let Some((tool, specifier)) = split(text) else {
                faults.extend(unreadable(desk, &place, text, effect).err());
                continue;
            };
            if effect != Effect::Approve && is_about_files(tool) {
                files.get_or_insert_with(|| place.clone());
            }
            let at = (place.as_str(), text);
            if let ("Bash", Some(of), Effect::Approve) = (tool, specifier, effect) {
                commands.add(desk, at, of, files.as_deref());
                continue;
            }
            faults.extend(one(desk, at, (tool, specifier), effect).err());
        }
    }
    if !faults.is_empty() {
        return Err(faults.join("; "));
    }
    commands.carry(desk)?;
    let lists = LISTS.map(|(name, _)| name);
    for (key, value) in map.iter().filter(|(key, _)| !lists.contains(&key.as_str())) {
        let why = match key.as_str() {
            "defaultMode" => "here every call that no rule approves asks",
            _ => "only allow, ask and deny have a counterpart",
        };
        let told: String = value.to_string().chars().take(200).collect();
        desk.leave(key, &told, why);
    }
    Ok(())
}

/// A deny that is lost must not make room for an allow.
fn unreadable(desk: &mut Desk<'_>, place: &str, text: &str, effect: Effect) -> Result<(), String> {
    let why = "it is neither Tool nor Tool(specifier)";
    if effect == Effect::Approve {
        desk.leave(place, text, why);
        return Ok(());
    }
    Err(format!("{}: {why}: {text}", pointer(place)))
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
fn split(text: &str) -> Option<(&str, Option<&str>)> {
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

/// Whether an entry for this tool, a wildcard or not, concerns a file tool.
fn is_about_files(tool: &str) -> bool {
    let glob = Glob::new(tool);
    let named = |name: &&str| {
        glob.as_ref()
            .is_ok_and(|glob| glob.matches_name(name, Reach::WithinName))
    };
    FAMILIES.iter().copied().flatten().any(named)
}

/// Whether the wildcard of an allow stands behind a whole server's name: Claude Code reads no other.
fn is_anchored(tool: &str) -> bool {
    let behind = tool.strip_prefix("mcp__");
    behind
        .and_then(|of| of.split_once("__"))
        .is_some_and(|(server, _)| !server.is_empty() && !server.contains('*'))
}

fn one(
    desk: &mut Desk<'_>,
    at: (&str, &str),
    (tool, specifier): (&str, Option<&str>),
    effect: Effect,
) -> Result<(), String> {
    match (effect, specifier) {
        (Effect::Approve, None) if SHELLS.contains(&tool) => {
            let why = "it lets every command run; write such a rule by hand if you mean it";
            desk.leave(at.0, at.1, why);
            Ok(())
        }
        (Effect::Approve, None) if tool.contains('*') && !is_anchored(tool) => {
            let why = "Claude Code reads no such wildcard under allow; name the tools";
            desk.leave(at.0, at.1, why);
            Ok(())
        }
        (Effect::Approve, None) => {
            let note = "lasts 90 days; critical calls and a tool that changes ask";
            if let Some(parts) = claude_files::all_but_protected(tool) {
                let note = format!("{note}; protected paths ask");
                return desk.carry(at, vec![(effect, parts)], Some(&note));
            }
            let tools = vec![server(tool)];
            let parts = Parts {
                tools,
                ..Parts::default()
            };
            desk.carry(at, vec![(effect, parts)], Some(note))
        }
        (Effect::Approve, Some(of)) => allow(desk, at, (tool, of)),
        (effect, None) => desk.carry(at, vec![(effect, whole(tool))], None),
        (effect, Some(of)) if SHELLS.contains(&tool) => refuse_command(desk, at, tool, of, effect),
        (effect, Some(of)) => {
            // Hosts are spelled in many ways.
            let wide =
                |desk: &mut Desk<'_>| desk.carry(at, vec![(Effect::Ask, whole(tool))], Some(WIDE));
            claude_files::refuse(desk, at, (tool, of), effect).unwrap_or_else(|| wide(desk))
        }
    }
}

/// All tools of a server: `mcp__server` is `mcp__server__*`.
fn server(tool: &str) -> String {
    let is_server = tool.starts_with("mcp__") && tool.matches("__").count() == 1;
    if is_server {
        return format!("{tool}__*");
    }
    tool.to_owned()
}

/// Every call that a bare name denies or asks for.
fn whole(tool: &str) -> Parts {
    let message = Some("Denied by the imported permissions.".to_owned());
    let name = server(tool);
    if name == "*" {
        return Parts {
            message,
            ..Parts::default()
        };
    }
    if name.contains('*') {
        let held = super::text::matches("tool", &name);
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

/// A specifier of a command: its words, and whether more may follow them.
fn command(specifier: &str) -> Option<(&str, bool)> {
    let (words, more) = match (specifier.strip_suffix(":*"), specifier.strip_suffix(" *")) {
        (Some(words), _) | (None, Some(words)) => (words, true),
        (None, None) => (specifier, false),
    };
    (!words.is_empty() && !words.contains('*')).then_some((words, more))
}

/// The command is these words, alone or followed by others.
fn says(words: &str, more: bool) -> String {
    let same = format!("args.command == {}", quoted(words));
    match more {
        false => same,
        true => format!(
            "({same} || args.command.startsWith({}))",
            quoted(&format!("{words} "))
        ),
    }
}

/// Whether one of the commands that these words allow works on files, as far as the words tell.
fn is_file_command(words: &str, more: bool) -> bool {
    let mut words = words.split_whitespace();
    // Words such as `A=1` stand before the command.
    let Some(first) = words.next().filter(|first| !first.contains('=')) else {
        return true;
    };
    match first.rsplit('/').next().unwrap_or_default() {
        "git" => words
            .next()
            .map_or(more, |next| GIT_FILE_COMMANDS.contains(&next)),
        command => FILE_COMMANDS.split(' ').any(|known| known == command),
    }
}

fn allow(
    desk: &mut Desk<'_>,
    at: (&str, &str),
    (tool, specifier): (&str, &str),
) -> Result<(), String> {
    let approve = |desk: &mut Desk<'_>, when: String, note: &str| {
        let parts = Parts {
            tools: vec![tool.to_owned()],
            when: Some(when),
            ..Parts::default()
        };
        desk.carry(at, vec![(Effect::Approve, parts)], Some(note))
    };
    if let ("WebFetch", Some(host)) = (tool, specifier.strip_prefix("domain:")) {
        let plain = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || ".-".contains(c);
        if !host.is_empty() && host.chars().all(plain) {
            let (bare, below) = (format!("https://{host}"), format!("https://{host}/"));
            let when = format!(
                "args.url == {} || args.url.startsWith({})",
                quoted(&bare),
                quoted(&below)
            );
            return approve(desk, when, "https on the host itself only; lasts 90 days");
        }
    }
    let why = match tool {
        "Read" | "Edit" | "Write" => {
            "its paths are relative to a project and follow links, which nobody sees from here"
        }
        _ => "this specifier has no counterpart",
    };
    desk.leave(at.0, at.1, why);
    Ok(())
}

/// The command of an entry, where all of its patterns can be read.
fn refused(tool: &str, specifier: &str, shell: Shell) -> Option<Parts> {
    let command = patterns(specifier);
    let reads = |of: &String| CommandPattern::new(of, shell, false).is_ok();
    command.iter().all(reads).then(|| Parts {
        tools: vec![tool.to_owned()],
        command,
        powershell: shell == Shell::PowerShell,
        message: Some("Denied by the imported permissions.".to_owned()),
        ..Parts::default()
    })
}

fn refuse_command(
    desk: &mut Desk<'_>,
    at: (&str, &str),
    tool: &str,
    specifier: &str,
    effect: Effect,
) -> Result<(), String> {
    if tool == "PowerShell" {
        if parameter(specifier).is_none()
            && let Some(parts) = refused(tool, specifier, Shell::PowerShell)
        {
            return desk.carry(at, vec![(effect, parts)], None);
        }
        // Its names have aliases, and their case does not matter.
        let mut rules = vec![(Effect::Ask, whole(tool))];
        if let (Effect::Deny, Some((words, more))) = (effect, command(specifier)) {
            let denied = Parts {
                when: Some(says(words, more)),
                ..whole(tool)
            };
            rules.push((Effect::Deny, denied));
        }
        return desk.carry(at, rules, Some(WIDE));
    }
    if let Some(parameter) = parameter(specifier) {
        let named = Parts {
            when: Some(format!("args.exists(k, k == {})", quoted(parameter))),
            ..whole(tool)
        };
        let note = "a command of this name is denied or asks; every call with this argument asks";
        let words = Parts {
            command: vec![specifier.to_owned()],
            ..whole(tool)
        };
        return desk.carry(at, vec![(effect, words), (Effect::Ask, named)], Some(note));
    }
    if tool == "Bash"
        && let Some(parts) = refused(tool, specifier, Shell::Posix)
    {
        return desk.carry(at, vec![(effect, parts)], None);
    }
    let on = |when: String, message: Option<String>| Parts {
        tools: vec![tool.to_owned()],
        when: Some(when),
        message,
        ..Parts::default()
    };
    let Some((words, more)) = command(specifier) else {
        return desk.carry(at, vec![(Effect::Ask, whole(tool))], Some(WIDE));
    };
    // The same words within a longer command may be the same call.
    let within = on(format!("args.command.contains({})", quoted(words)), None);
    let mut rules = vec![(Effect::Ask, within)];
    if effect == Effect::Deny {
        let message = Some("Denied by the imported permissions.".to_owned());
        rules.insert(0, (Effect::Deny, on(says(words, more), message)));
    }
    let note = "a longer command with the same words asks";
    desk.carry(at, rules, Some(note))
}

/// The argument that `name:value` tests: a plain name that is not the command, and a value.
fn parameter(specifier: &str) -> Option<&str> {
    let (name, value) = specifier.split_once(':')?;
    let plain = |c: char| c.is_ascii_lowercase() || c == '_';
    let named = !name.is_empty() && name != "command" && name.chars().all(plain);
    (named && !value.is_empty() && value != "*").then_some(name)
}

/// The patterns here that a specifier of `Bash` is.
fn patterns(specifier: &str) -> Vec<String> {
    let more = specifier
        .strip_suffix(":*")
        .or_else(|| specifier.strip_suffix(" *"));
    match more {
        // A second wildcard makes the last one need a word, as there.
        Some(words) if words.contains('*') => vec![format!("{words} * *")],
        Some(words) => vec![format!("{words} *")],
        // Glued to the last word: its beginning, and whatever follows.
        None if specifier.ends_with('*') => vec![specifier.to_owned(), format!("{specifier} *")],
        None => vec![specifier.to_owned()],
    }
}

/// What `Bash(…)` allows, together.
#[derive(Default)]
struct Commands {
    entries: Vec<(String, String)>,
    patterns: Vec<String>,
}

/// A rule has at most 200 patterns.
const PATTERNS_MAX: usize = 190;

impl Commands {
    fn add(&mut self, desk: &mut Desk<'_>, at: (&str, &str), specifier: &str, files: Option<&str>) {
        let words = command(specifier).unwrap_or((specifier, false));
        if let Some(files) = files.filter(|_| is_file_command(words.0, words.1)) {
            let why = format!(
                "{files} is about files, and Claude Code looks for them in such a command too"
            );
            return desk.leave(at.0, at.1, why);
        }
        let list = patterns(specifier);
        let refused = list
            .iter()
            .find_map(|of| CommandPattern::new(of, Shell::Posix, true).err());
        match refused {
            Some(why) => desk.leave(at.0, at.1, format!("the command {why}")),
            None if self.patterns.len() + list.len() > PATTERNS_MAX => {
                desk.leave(at.0, at.1, "one rule has at most 200 patterns");
            }
            None => {
                self.entries.push((at.0.to_owned(), at.1.to_owned()));
                self.patterns.extend(list);
            }
        }
    }

    fn carry(self, desk: &mut Desk<'_>) -> Result<(), String> {
        if self.entries.is_empty() {
            return Ok(());
        }
        let parts = Parts {
            tools: vec!["Bash".to_owned()],
            when: Some("args.all(k, k in ['command','description','timeout'])".to_owned()),
            command: self.patterns,
            ..Parts::default()
        };
        let note = "every program of the command has to be allowed; other arguments than description and timeout ask; lasts 90 days";
        desk.carry_together(&self.entries, parts, note)
    }
}
