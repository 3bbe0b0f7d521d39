//! Countersign itself, and agents without their gate: only a rule whose pattern writes the word approves them.

mod agents;
mod files;

use countersign_shell::{Kind, Script, Word, base_name};

use crate::call::Call;
use crate::command::{Line, lines, name_of};
use crate::finding::{Code, Hazard};
use crate::leaf::among;

pub(crate) use files::hazards;

/// Commands of the CLI that decide and change nothing.
const HARMLESS: &str = "ask doctor export history hook inbox mcp mcp-proxy show status trace watch help audit/head audit/verify \
    rules/check rules/list rules/show rules/simulate";
/// Others, as they are looked for in texts and behind programs that nobody knows.
const CHANGES: &str = "approve deny skip respond escalate enroll revoke panic pause resume stop bypass backup restore serve \
    connect disconnect";
/// Others with commands below them.
const GROUPS: &str =
    "audit rules setup operators keys alarms practice bus maintenance bridge reader";
/// Its name.
const PROGRAM: &str = "countersign";
const VALUES: &str = "--data-dir --nats-url --nats-creds --nats-nkey --tls-ca --tls-cert --tls-key --keys --operator --workspace \
    --otlp-http --otlp-grpc";

/// What a line does: its code, what a pattern must write, the words behind "The command".
type Own = (Code, String, String);

/// The hazards of a command at a place.
pub(crate) fn of_script(call: &Call<'_>, at: &str, text: &str, script: &Script) -> Vec<Hazard> {
    let here = call.folder();
    let mut found: Vec<Own> = Vec::new();
    for line in &lines(script) {
        let inner = texts(line);
        found.extend(of_line(line, &inner));
        found.extend(agents::of_line(line, &inner));
        found.extend(files::of_line(line, &inner, here.as_deref()));
    }
    if script.unreadable.is_some() && launched(&pieces(text)).is_some() {
        found.push(changes(String::new(), "it names a command of it"));
    }
    let hazard =
        |(code, written, what)| Hazard::stop(code, at, written, format!("The command {what}."));
    found.into_iter().map(hazard).collect()
}

fn changes(written: String, what: &str) -> Own {
    let what = format!("changes Countersign itself: {what}");
    (Code::ChangesCountersign, written, what)
}

fn of_line(line: &Line<'_>, inner: &[Word]) -> Option<Own> {
    let written = cli(line.words).filter(|_| is_cli(line));
    let written = written
        .or_else(|| launched(inner))
        .or_else(|| ends(line))
        .or_else(|| assigns(line))?;
    Some(changes(written, &line.shown()))
}

/// By its name, or by a variable that the text sets to it.
fn is_cli(line: &Line<'_>) -> bool {
    let own = |word: &Word| base_name(&word.text) == PROGRAM;
    let mut set = line.script.commands.iter().flat_map(|of| &of.assignments);
    let dynamic = line.command.words.first().is_some_and(|word| word.dynamic);
    line.name == PROGRAM || (dynamic && set.any(|of| own(&of.value)))
}

/// The same among the words of a text.
fn launched(words: &[Word]) -> Option<String> {
    // `CMD=countersign approve x` as well.
    let name = |word: &Word| base_name(word.text.rsplit('=').next().unwrap_or_default()) == PROGRAM;
    let mut places = (0..words.len()).filter(|at| name(&words[*at]));
    places.find_map(|at| {
        let behind = &words[at + 1..];
        let sub = behind.iter().find(|word| !word.text.starts_with('-'))?;
        cli(behind).filter(|_| among(CHANGES, &sub.text) || among(GROUPS, &sub.text))
    })
}

/// The subcommand, of a command of the CLI that is not known to be harmless.
fn cli(words: &[Word]) -> Option<String> {
    let mut words = words;
    let sub = loop {
        let (first, behind) = words.split_first()?;
        match first.text.as_str() {
            "--help" | "-h" | "--version" | "-V" => return None,
            option if option.starts_with('-') => {
                words = behind.get(usize::from(among(VALUES, option))..)?;
            }
            _ => break first,
        }
    };
    let options: Vec<&str> = words.iter().map(|word| word.text.as_str()).collect();
    let below = options.get(1).filter(|next| !next.starts_with('-'));
    let name = match among(GROUPS, &sub.text) {
        true => format!("{}/{}", sub.text, below.unwrap_or(&"")),
        false => sub.text.clone(),
    };
    let help = options.iter().take(3).find(|word| word.starts_with('-'));
    let asks = help.is_some_and(|help| among("--help -h", help))
        || (name == "connect" && options.contains(&"--dry-run"));
    // What only the run knows, no pattern can write.
    let known = words
        .iter()
        .take(1 + name.matches('/').count())
        .all(|word| !word.dynamic);
    let written = if known {
        name.replace('/', " ")
    } else {
        String::new()
    };
    let harmless = asks || (known && among(HARMLESS, &name));
    (!harmless).then_some(written)
}

/// Ends or restarts its process.
fn ends(line: &Line<'_>) -> Option<String> {
    const ENDS: &str =
        "kill pkill killall skill systemctl service launchctl taskkill stop-process stop-service";
    const ASKS: &str = "status show is-active is-enabled cat list print";
    let asks = line.texts().iter().take(2).any(|word| among(ASKS, word));
    if !line.is(ENDS) || (asks && line.is("systemctl service launchctl")) {
        return None;
    }
    let own = |word: &&Word| word.text.to_lowercase().contains("countersign");
    // `pkill counter` matches a part of the name.
    let part = |word: &&Word| {
        let mut pieces = word.text.split(|at: char| !at.is_alphanumeric());
        (line.name == "pkill" || (line.name == "killall" && line.has("r", "regexp")))
            && !word.text.is_empty()
            && pieces.all(|piece| "countersign".contains(piece))
    };
    let named = line.operands().find(part);
    let mut fed = line.upstream().into_iter().chain(line.substituted());
    let fed = fed.find_map(|command| command.words.iter().find(own));
    let word = line.words.iter().find(own).or(named).or(fed)?;
    Some(word.text.clone())
}

/// Sets one of its variables.
fn assigns(line: &Line<'_>) -> Option<String> {
    let before = line.command.assignments.iter().map(|of| of.name.as_str());
    let words = line.words.iter().filter(|_| !reads(line));
    let names = before.chain(words.map(|word| word.text.as_str()));
    let own = |name: &&str| name.starts_with("COUNTERSIGN_");
    let mut names = names.map(|name| name.trim_start_matches("env:"));
    let name = names.find(own)?;
    Some(name.split('=').next().unwrap_or(name).to_owned())
}

/// Its words are texts.
fn says(line: &Line<'_>) -> bool {
    const SAYS: &str = "echo printf git gh hub glab man which type : true false printenv unset";
    const GIT: &str = "add commit diff log show status blame grep tag notes ls-files check-ignore cat-file rev-parse push";
    let sub = line.texts().first().copied().unwrap_or_default();
    line.is(SAYS) && (line.name != "git" || among(GIT, sub))
}

/// Writes none of its operands.
fn reads(line: &Line<'_>) -> bool {
    const READS: &str = "cat bat less more head tail grep egrep fgrep rg ag ack ls stat wc file jq diff cmp sha256sum md5sum test [ [[ \
        cd pushd readlink realpath basename dirname du tree awk cut xxd od hexdump strings nl tac column";
    line.is(READS)
        || says(line)
        || (line.name == "sed" && !line.has("i", "in-place"))
        || (line.name == "sort" && !line.has("o", "output"))
}

/// The words of texts that it may run: of a program that nobody knows, and what it reads.
fn texts(line: &Line<'_>) -> Vec<Word> {
    let known = |inner: &countersign_shell::Command| {
        inner.inside == Some(line.index) && !name_of(inner).is_empty()
    };
    let read = line.script.commands.iter().any(known);
    if read || reads(line) || agents::is_agent(&line.name) || is_cli(line) {
        return Vec::new();
    }
    let here = line.command.redirections.iter();
    let here = here.filter(|from| from.kind == Kind::Here);
    let all = line.words.iter().chain(here.map(|from| &from.target));
    all.flat_map(|word| pieces(&word.text)).collect()
}

fn pieces(text: &str) -> Vec<Word> {
    let cut = |at: char| !(at.is_alphanumeric() || "-_=./@".contains(at));
    let pieces = text.split(cut).filter(|piece| !piece.is_empty());
    pieces.map(Word::literal_of).collect()
}

/// What a rule's pattern at a place must write to approve what is found there: pairs of place and text.
#[must_use]
pub fn written(call: &Call<'_>) -> Vec<(String, String)> {
    let own = crate::hazards::hazards(call);
    let own = own.into_iter().filter(|of| of.finding.code.is_own());
    own.map(|of| (of.finding.at, of.same)).collect()
}
