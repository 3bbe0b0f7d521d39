//! A file, the environment or a credential that goes to a host.

use countersign_shell::Command;

use super::line::name_of;
use super::{Act, Line};
use crate::finding::Code;
use crate::leaf::among;
use crate::net;
use crate::paths::is_credential;

/// What goes out.
enum Load {
    Secret(String),
    File(String),
}

pub(crate) fn act(line: &Line<'_>) -> Option<Act> {
    let load = match line.name.as_str() {
        "curl" => curl(line),
        "wget" => wget(line),
        "nc" | "ncat" | "netcat" | "socat" | "telnet" => connection(line),
        "scp" | "rsync" | "sftp" => copied(line),
        "aws" | "gsutil" | "rclone" | "azcopy" | "s3cmd" | "mc" => stored(line),
        "gh" | "mail" | "mailx" | "mutt" | "sendmail" | "http" | "https" => {
            named_secret(line).or_else(|| piped(line, false))
        }
        "dig" | "nslookup" | "host" | "ping" => {
            line.substituted().find_map(secret_of).map(Load::Secret)
        }
        "python" | "python3" | "node" | "ruby" | "perl" | "php" => code(line),
        "invoke-webrequest" | "invoke-restmethod" | "iwr" | "irm" => powershell(line),
        _ => None,
    }?;
    if line.words.iter().any(|word| to_loopback(&word.text)) {
        return None;
    }
    Some(match load {
        Load::Secret(what) => Act::stop(
            Code::SendsOut,
            line.shape(),
            format!("sends {} to another host", crate::shown::shown(&what)),
        ),
        Load::File(what) => Act::look(
            Code::SendsOut,
            line.shape(),
            format!("sends {} to another host", crate::shown::shown(&what)),
        ),
    })
}

fn to_loopback(word: &str) -> bool {
    let host = net::url(word).and_then(|url| net::host_of(&url));
    let bare = word.split([':', '/']).next().unwrap_or_default();
    host.is_some_and(|host| net::is_loopback(&host)) || bare == "localhost" || bare == "127.0.0.1"
}

fn file(path: &str) -> Option<Load> {
    let path = path.trim_matches(['"', '\'']);
    if path.is_empty() {
        return None;
    }
    Some(if is_credential(path) {
        Load::Secret(path.to_owned())
    } else {
        Load::File(path.to_owned())
    })
}

fn curl(line: &Line<'_>) -> Option<Load> {
    let mut found: Vec<Load> = Vec::new();
    let mut words = line.words.iter().peekable();
    while let Some(word) = words.next() {
        let text = word.text.as_str();
        let (option, glued) = match text.split_once('=').filter(|_| text.starts_with("--")) {
            Some((option, value)) => (option, Some(value)),
            None => match text.get(..2) {
                Some(short @ ("-d" | "-F" | "-T")) if text.len() > 2 && !text.starts_with("--") => {
                    (short, Some(&text[2..]))
                }
                _ => (text, None),
            },
        };
        let data = among(
            "-d --data --data-binary --data-raw --data-urlencode --data-ascii -F --form --json",
            option,
        );
        let upload = among("-T --upload-file", option);
        if !data && !upload {
            continue;
        }
        let value = match glued {
            Some(value) => value,
            None => words.peek().map_or("", |word| word.text.as_str()),
        };
        if upload {
            found.extend(if value == "-" {
                piped(line, true)
            } else {
                file(value)
            });
            continue;
        }
        let named = value
            .split_once('@')
            .filter(|(before, _)| before.is_empty() || before.ends_with('='));
        if let Some((_, path)) = named.filter(|_| option != "--data-raw") {
            found.extend(if path == "-" {
                piped(line, true)
            } else {
                file(path.split(';').next().unwrap_or(path))
            });
        }
    }
    found.extend(line.substituted().find_map(secret_of).map(Load::Secret));
    strongest(found)
}

fn strongest(found: Vec<Load>) -> Option<Load> {
    let place = found
        .iter()
        .position(|load| matches!(load, Load::Secret(_)))
        .unwrap_or(0);
    found.into_iter().nth(place)
}

fn wget(line: &Line<'_>) -> Option<Load> {
    let posted = line.text_value("--post-file --body-file").and_then(file);
    let inside = line.substituted().find_map(secret_of).map(Load::Secret);
    posted.or(inside)
}

fn connection(line: &Line<'_>) -> Option<Load> {
    if line.has("l", "listen") || line.has("z", "") {
        return None;
    }
    let read = line
        .command
        .redirections
        .iter()
        .find(|from| from.kind == countersign_shell::Kind::Read);
    read.and_then(|from| file(&from.target.text))
        .or_else(|| piped(line, true))
}

/// What a pipeline gives it.
fn piped(line: &Line<'_>, files: bool) -> Option<Load> {
    let before = line.upstream();
    if let Some(secret) = before.iter().find_map(|command| secret_of(command)) {
        return Some(Load::Secret(secret));
    }
    let source = before.last()?;
    let opens = [
        "cat",
        "tar",
        "gzip",
        "zip",
        "pg_dump",
        "mysqldump",
        "head",
        "tail",
        "base64",
        "dd",
        "mongodump",
    ]
    .contains(&name_of(source).as_str());
    (files && opens).then(|| Load::File(format!("the output of {}", name_of(source))))
}

/// The environment or a credential file that a command gives out.
fn secret_of(command: &Command) -> Option<String> {
    let name = name_of(command);
    let alone = command.words.len() == 1;
    match name.as_str() {
        "env" | "printenv" | "set" | "export"
            if alone
                || command
                    .words
                    .get(1)
                    .is_some_and(|word| word.text == "-p" || name == "printenv") =>
        {
            Some("the environment".to_owned())
        }
        "history" => Some("the shell history".to_owned()),
        "cat" | "tar" | "base64" | "head" | "tail" | "grep" | "zip" | "gzip" | "cp" | "xxd"
        | "openssl" | "gpg" => {
            let words = command.words.iter().skip(1).map(|word| word.text.as_str());
            let read = command
                .redirections
                .iter()
                .map(|from| from.target.text.as_str());
            words
                .chain(read)
                .find(|path| {
                    let roots = path.strip_prefix('/') == Some("root/.ssh");
                    roots || is_credential(path) || among("~/.ssh ~/.aws", path)
                })
                .map(str::to_owned)
        }
        "aws"
            if command.words.iter().any(|word| {
                word.text == "get-secret-value" || word.text == "export-credentials"
            }) =>
        {
            Some("a secret".to_owned())
        }
        "kubectl"
            if command
                .words
                .iter()
                .any(|word| word.text == "secret" || word.text == "secrets") =>
        {
            Some("cluster secrets".to_owned())
        }
        "gcloud" | "az" | "gh" if command.words.iter().any(|word| word.text.contains("token")) => {
            Some("a token".to_owned())
        }
        "security" | "pass" | "op" | "vault" => Some("a password".to_owned()),
        _ => None,
    }
}

fn copied(line: &Line<'_>) -> Option<Load> {
    let operands: Vec<&str> = line.operands().map(|word| word.text.as_str()).collect();
    let to = operands.last()?;
    let remote = |text: &str| {
        text.split_once(':')
            .is_some_and(|(host, _)| !host.contains('/') && host.len() > 1)
            || text.starts_with("rsync://")
    };
    if !remote(to) || operands.len() < 2 {
        return None;
    }
    let sources = operands[..operands.len() - 1]
        .iter()
        .filter(|source| !remote(source));
    strongest(sources.filter_map(|source| file(source)).collect())
}

/// To a bucket: only what is a credential, for that is what buckets are for.
fn stored(line: &Line<'_>) -> Option<Load> {
    let away = line
        .words
        .iter()
        .any(|word| ["cp", "mv", "copy", "put", "copyto", "sync"].contains(&word.text.as_str()));
    let sources = line
        .operands()
        .map(|word| word.text.as_str())
        .filter(|text| !text.contains("://"));
    let secret = sources
        .filter(|path| is_credential(path))
        .map(str::to_owned)
        .next();
    secret.filter(|_| away).map(Load::Secret)
}

fn named_secret(line: &Line<'_>) -> Option<Load> {
    let create = line.name != "gh"
        || line
            .words
            .iter()
            .any(|word| word.text == "gist" || word.text == "upload");
    let words = line
        .operands()
        .map(|word| word.text.trim_start_matches('@'));
    let secret = words
        .filter(|path| is_credential(path.rsplit('@').next().unwrap_or(path)))
        .map(str::to_owned)
        .next();
    secret.filter(|_| create).map(Load::Secret)
}

fn powershell(line: &Line<'_>) -> Option<Load> {
    let value = line
        .words
        .windows(2)
        .find(|pair| pair[0].text.eq_ignore_ascii_case("-infile"))
        .map(|pair| pair[1].text.as_str());
    value.and_then(file)
}

/// Code given to an interpreter that reads a credential file and sends it to a host.
fn code(line: &Line<'_>) -> Option<Load> {
    const SENDS: [&str; 8] = [
        "urlopen", "post", "put(", "request", "fetch(", "upload", "send", "http",
    ];
    let text = line.text_value("-c -e --eval -r")?;
    let literals = super::scripts::literals(text);
    let secret = literals.iter().find(|of| is_credential(of))?;
    let host = literals
        .iter()
        .find_map(|of| net::host_of(&net::url(of)?))
        .filter(|host| !net::is_loopback(host))?;
    SENDS
        .iter()
        .any(|word| text.contains(word))
        .then(|| Load::Secret(format!("{secret}, by {host},")))
}
