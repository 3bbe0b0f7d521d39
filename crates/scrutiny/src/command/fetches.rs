//! Download or decoded text that goes into an interpreter.

use countersign_shell::options::is_option;
use countersign_shell::{Command, How};

use super::line::name_of;
use super::{Act, Line};
use crate::finding::Code;
use crate::leaf::among;

const INTERPRETERS: &str = "sh bash zsh dash ksh fish python python2 python3 perl node ruby php pwsh powershell iex \
    invoke-expression osascript";
const RUNS: &str = "eval source .";
const DOWNLOADS: &str =
    "curl wget fetch http https aria2c iwr invoke-webrequest irm invoke-restmethod";

/// The first of them in a script.
pub(crate) fn act(lines: &[Line<'_>]) -> Option<Act> {
    lines.iter().find_map(|line| {
        let what = of_line(line, lines)?;
        Some(Act::stop(Code::RunsWhatItFetches, line.shape(), what))
    })
}

fn of_line(line: &Line<'_>, lines: &[Line<'_>]) -> Option<String> {
    let words = line
        .words
        .iter()
        .chain(line.command.redirections.iter().map(|to| &to.target));
    if words
        .into_iter()
        .any(|word| word.text.contains("/dev/tcp/") || word.text.contains("/dev/udp/"))
    {
        return Some("opens a connection of the shell itself (/dev/tcp)".to_owned());
    }
    let nc_shell = line.is("nc ncat netcat") && (line.has("e", "exec sh-exec"));
    if nc_shell {
        return Some("gives a shell to whoever connects".to_owned());
    }
    if is_interpreter(&line.name) {
        let reads_input = line.is("iex invoke-expression") || reads_its_input(line);
        let source = line
            .upstream()
            .into_iter()
            .find_map(gives_text)
            .filter(|_| reads_input);
        if let Some(source) = source {
            return Some(format!(
                "runs {source} that nobody has seen ({} | {})",
                source, line.name
            ));
        }
    }
    let takes_text = among(RUNS, line.name.as_str())
        || is_interpreter(&line.name)
            && (line.has("c", "command")
                || line
                    .operands()
                    .next()
                    .is_some_and(|word| word.dynamic && word.text.is_empty())
                || line.is("iex invoke-expression"));
    if takes_text {
        let inside = line
            .substituted()
            .find_map(gives_text)
            .or_else(|| deeper(line));
        if let Some(source) = inside {
            return Some(format!("runs {source} that nobody has seen"));
        }
    }
    downloaded(line, lines)
}

fn is_interpreter(name: &str) -> bool {
    among(INTERPRETERS, name)
        || name
            .strip_prefix("python3.")
            .is_some_and(|minor| minor.chars().all(|at| at.is_ascii_digit()))
}

/// Downloads in pipelines inside of a substitution, at any depth.
fn deeper(line: &Line<'_>) -> Option<&'static str> {
    let commands = &line.script.commands;
    let below = |mut index: usize| loop {
        match commands[index].inside {
            Some(outer) if outer == line.index => return commands[index].how != How::Function,
            Some(outer) if outer < index => index = outer,
            _ => return false,
        }
    };
    let inner = (line.index + 1..commands.len()).filter(|index| below(*index));
    let inner: Vec<&Command> = inner
        .map(|index| &commands[index])
        .filter(|command| command.how != How::Text)
        .collect();
    inner.into_iter().find_map(gives_text)
}

/// A script is its input: no file, no text, no module.
fn reads_its_input(line: &Line<'_>) -> bool {
    let script = line
        .operands()
        .find(|word| word.text != "-" && word.text != "/dev/stdin");
    let stdin_with_arguments =
        line.has("s", "") && ["sh", "bash", "zsh", "dash", "ksh"].contains(&line.name.as_str());
    let text = line.has("cem", "eval command print module")
        || line.options().any(|option| {
            option == "-p" || option == "-r" || option == "-n" || option == "-ne" || option == "-pe"
        });
    let first_is_input = line.operands().next().is_some_and(|word| word.text == "-");
    (script.is_none() || stdin_with_arguments || first_is_input) && !text
}

/// A program that gives what somebody else wrote, or what nobody can read.
fn gives_text(command: &Command) -> Option<&'static str> {
    let name = name_of(command);
    let has = |options: &[&str]| {
        command
            .words
            .iter()
            .any(|word| options.contains(&word.text.as_str()))
    };
    match name.as_str() {
        name if among(DOWNLOADS, name) => Some("a download"),
        "base64" | "base32" if has(&["-d", "--decode", "-D", "-di"]) => Some("decoded text"),
        "xxd" if command.words.iter().any(|word| word.text.starts_with("-r")) => {
            Some("decoded text")
        }
        "openssl" if has(&["-d"]) => Some("decoded text"),
        "nc" | "ncat" | "netcat" | "socat" => Some("a connection"),
        "aws" if has(&["s3"]) && has(&["-"]) => Some("a download"),
        "gh" | "glab" if has(&["gist"]) => Some("a download"),
        _ => None,
    }
}

/// `curl -o x … && sh x`.
fn downloaded(line: &Line<'_>, lines: &[Line<'_>]) -> Option<String> {
    let program = line.command.program().unwrap_or_default();
    let run = match is_interpreter(&line.name) || among(RUNS, line.name.as_str()) {
        true => line.operands().next()?.literal()?,
        false if program.contains('/') => program,
        false => return None,
    };
    let base = |path: &str| path.rsplit('/').next().unwrap_or(path).to_owned();
    let wanted = base(run);
    let fetched = lines[..line.index.min(lines.len())]
        .iter()
        .filter(|before| before.is(DOWNLOADS))
        .any(|before| {
            let named = before
                .text_value("-o --output -O --output-document -OutFile")
                .map(base);
            let by_url = before
                .operands()
                .find(|word| word.text.contains("://"))
                .map(|word| base(word.text.split(['?', '#']).next().unwrap_or_default()));
            let clustered = before
                .words
                .windows(2)
                .find(|pair| is_option(&pair[0].text, "-o") && pair[0].text.ends_with('o'))
                .map(|pair| base(&pair[1].text));
            let redirected = before.written().next().map(base);
            [named, by_url, redirected, clustered]
                .into_iter()
                .flatten()
                .any(|name| name == wanted && !name.is_empty())
        });
    fetched.then(|| format!("downloads {} and runs it", crate::shown::shown(&wanted)))
}
