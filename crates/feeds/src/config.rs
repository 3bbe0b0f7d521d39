//! The sections `[[feed]]` of `config.toml`.

mod place;

use std::collections::HashSet;
use std::fmt;
use std::io::ErrorKind;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};

use countersign_wire::{Sha256Digest, WorkspaceName};
use serde::Deserialize;
use serde_json::{Value, json};
use url::Url;

use crate::event::{is_of_use, matches};

use place::{file_path, syslog_address, webhook_url};

const MOST: usize = 16;
/// Below the data folder: secrets, and files that feeds write there.
pub const FOLDER: &str = "feeds";
/// Headers that a feed sets itself; `*` is any characters.
const OWN: &str = "host content-* transfer-encoding connection user-agent webhook-*";

/// A feed as its settings say.
#[derive(Debug, Clone, PartialEq)]
pub struct Feed {
    /// Its name.
    pub name: String,
    /// Where it sends.
    pub to: Target,
    /// Types of events; `*` is any characters.
    pub events: Vec<String>,
    /// Whose events; none for everything.
    pub workspaces: Option<Vec<WorkspaceName>>,
    /// Pauses while the receiver is away, s.
    pub rest_s: Vec<f64>,
    /// Of these settings.
    pub digest: String,
}

/// Where a feed sends.
#[derive(Debug, Clone, PartialEq)]
pub enum Target {
    /// A Standard Webhook.
    Webhook(Webhook),
    /// RFC 5424 over TCP or TLS.
    Syslog(Syslog),
    /// JSON lines.
    File(PathBuf),
}

/// A webhook.
#[derive(Debug, Clone, PartialEq)]
pub struct Webhook {
    /// Where to.
    pub url: Url,
    /// Sent with each call.
    pub headers: Vec<(String, String)>,
    /// Authorities instead of the system's.
    pub tls_ca: Option<PathBuf>,
    /// For one call, s.
    pub timeout_s: u64,
    /// Pauses before a refused event is tried again, s.
    pub retry_s: Vec<f64>,
}

/// A syslog server.
#[derive(Debug, Clone, PartialEq)]
pub struct Syslog {
    /// Name or address.
    pub host: String,
    /// Port.
    pub port: u16,
    /// Whether TLS is spoken.
    pub tls: bool,
    /// CEF instead of JSON.
    pub cef: bool,
    /// Authorities instead of the system's.
    pub tls_ca: Option<PathBuf>,
    /// For a connection, s.
    pub timeout_s: u64,
}

impl Feed {
    /// Whether an event of a type and a workspace is sent.
    #[must_use]
    pub fn wants(&self, kind: &str, workspace: Option<&str>) -> bool {
        let listed =
            |of: &Vec<WorkspaceName>| of.iter().any(|name| Some(name.as_ref()) == workspace);
        self.workspaces.as_ref().is_none_or(listed)
            && self.events.iter().any(|pattern| matches(pattern, kind))
    }

    /// `webhook`, `syslog` or `file`.
    #[must_use]
    pub fn kind(&self) -> &'static str {
        match self.to {
            Target::Webhook(_) => "webhook",
            Target::Syslog(_) => "syslog",
            Target::File(_) => "file",
        }
    }

    /// Scheme, host and port, or the path: what may be shown of where it sends.
    #[must_use]
    pub fn address(&self) -> Value {
        match &self.to {
            Target::Webhook(of) => {
                json!({ "scheme": of.url.scheme(), "host": of.url.host_str(), "port": of.url.port_or_known_default() })
            }
            Target::Syslog(of) => {
                json!({ "scheme": if of.tls { "tls" } else { "tcp" }, "host": of.host, "port": of.port })
            }
            Target::File(path) => json!({ "path": path.display().to_string() }),
        }
    }
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Section {
    name: String,
    kind: String,
    url: Option<String>,
    url_file: Option<PathBuf>,
    events: Vec<String>,
    workspaces: Option<Vec<WorkspaceName>>,
    headers_file: Option<PathBuf>,
    tls_ca: Option<PathBuf>,
    timeout_s: Option<u64>,
    retry_s: Option<Vec<f64>>,
    rest_s: Option<Vec<f64>>,
    to: Option<String>,
    allow_plain_text: Option<bool>,
    format: Option<String>,
    path: Option<PathBuf>,
}

#[derive(Deserialize)]
struct File {
    #[serde(default)]
    feed: Vec<Section>,
}

/// What is wrong with a section.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ConfigFault {
    /// The line; of the section where a key is missing.
    pub line: usize,
    /// The section, the key and what is wrong with it.
    pub why: String,
}

impl fmt::Display for ConfigFault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "line {}: {}", self.line, self.why)
    }
}

type Wrong = (&'static str, String);

fn wrong<T>(key: &'static str, why: &str) -> Result<T, Wrong> {
    Err((key, why.to_owned()))
}

/// Reads the feeds of the data folder `folder`; none without its file.
///
/// # Errors
/// [`ConfigFault`], also for a file that cannot be read.
pub fn read_in(folder: &Path) -> Result<Vec<Feed>, ConfigFault> {
    match std::fs::read_to_string(folder.join("config.toml")) {
        Ok(text) => read(&text, folder),
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(Vec::new()),
        Err(error) => Err(ConfigFault {
            line: 1,
            why: error.to_string(),
        }),
    }
}

/// Reads the feeds in the text of a file in the data folder `folder`.
///
/// # Errors
/// [`ConfigFault`], also where the whole file is not TOML.
pub fn read(text: &str, folder: &Path) -> Result<Vec<Feed>, ConfigFault> {
    let file: File = toml::from_str(text).map_err(|error| {
        let before = text
            .get(..error.span().map_or(0, |at| at.start))
            .unwrap_or(text);
        let line = before.matches('\n').count() + 1;
        let key = text.lines().nth(line - 1).unwrap_or_default();
        let (key, _) = key.split_once('=').unwrap_or_default();
        let is_key = |byte: u8| byte.is_ascii_alphanumeric() || b"_- \t.".contains(&byte);
        // A line inside of a value may have a `=` too.
        let key = if key.bytes().all(is_key) { key } else { "" };
        let name = sections(text)
            .into_iter()
            .rev()
            .find(|(begins, _)| *begins <= line)
            .map(|(_, name)| name);
        // Without the value: a line of a config may hold a password.
        let why = format!(
            "[[feed]] {}{} {}",
            name.unwrap_or_default(),
            key.trim(),
            without_values(error.message())
        );
        ConfigFault { line, why }
    })?;
    let (mut names, mut paths, mut feeds) = (HashSet::new(), HashSet::new(), Vec::new());
    for (index, section) in file.feed.into_iter().enumerate() {
        let name = section.name.clone();
        let fault = |(key, why): Wrong| ConfigFault {
            line: line_of(text, index, key),
            why: format!("[[feed]] {name:?}: {key} {why}"),
        };
        if index == MOST {
            return Err(fault((
                "name",
                format!("there may be {MOST} feeds at most"),
            )));
        }
        if !names.insert(name.clone()) {
            return Err(fault(("name", "another feed has it".to_owned())));
        }
        let feed = checked(section, folder).map_err(fault)?;
        if let Target::File(path) = &feed.to
            && !paths.insert(path.clone())
        {
            return Err(fault(("path", "another feed has it".to_owned())));
        }
        feeds.push(feed);
    }
    Ok(feeds)
}

/// A message without the text that it repeats in quotes: it may be an address that is a secret.
fn without_values(message: &str) -> String {
    match (message.find('"'), message.rfind('"')) {
        (Some(first), Some(last)) if first < last => {
            let (before, after) = (message[..first].trim_end(), &message[last + 1..]);
            format!("{before}{after}")
        }
        _ => message.to_owned(),
    }
}

/// The lines of the sections, with their names as a message has them.
fn sections(text: &str) -> Vec<(usize, String)> {
    let mut found: Vec<(usize, String)> = Vec::new();
    for (at, line) in text.lines().enumerate() {
        if line.trim_start().starts_with("[[feed]]") {
            found.push((at + 1, String::new()));
        } else if let (Some((_, name)), Some(("name", value))) = (
            found.last_mut(),
            line.split_once('=').map(|(key, value)| (key.trim(), value)),
        ) && name.is_empty()
        {
            *name = format!("{}: ", value.split('#').next().unwrap_or_default().trim());
        }
    }
    found
}

/// The line of a key in a section, or of the section where it has none.
fn line_of(text: &str, index: usize, key: &str) -> usize {
    let sections = sections(text);
    let Some((begins, _)) = sections.get(index) else {
        return 1;
    };
    let inside = text
        .lines()
        .skip(*begins)
        .take_while(|line| !line.trim_start().starts_with('['));
    let at = inside
        .enumerate()
        .find(|(_, line)| line.split('=').next().unwrap_or_default().trim() == key);
    at.map_or(*begins, |(at, _)| begins + at + 1)
}

fn checked(of: Section, folder: &Path) -> Result<Feed, Wrong> {
    let first = |letter: char| letter.is_ascii_lowercase() || letter.is_ascii_digit();
    let known = |letter: char| first(letter) || matches!(letter, '_' | '-');
    if !of.name.starts_with(first) || of.name.len() > 32 || !of.name.chars().all(known) {
        return wrong(
            "name",
            "must be 1 to 32 of a-z, 0-9, _ and -, and begin with a letter or digit",
        );
    }
    if of.events.is_empty() {
        return wrong("events", "must name a type of events");
    }
    if let Some(pattern) = of.events.iter().find(|pattern| !is_of_use(pattern)) {
        return Err(("events", format!("{pattern:?} matches no type of events")));
    }
    let webhook = [
        ("url", of.url.is_some()),
        ("url_file", of.url_file.is_some()),
        ("headers_file", of.headers_file.is_some()),
        ("retry_s", of.retry_s.is_some()),
    ];
    let syslog = [
        ("to", of.to.is_some()),
        ("format", of.format.is_some()),
        ("allow_plain_text", of.allow_plain_text.is_some()),
    ];
    let network = [
        ("tls_ca", of.tls_ca.is_some()),
        ("timeout_s", of.timeout_s.is_some()),
    ];
    let file = [("path", of.path.is_some())];
    let others: &[&[(&'static str, bool)]] = match of.kind.as_str() {
        "webhook" => &[&syslog, &file],
        "syslog" => &[&webhook, &file],
        "file" => &[&webhook, &syslog, &network],
        _ => return wrong("kind", "must be webhook, syslog or file"),
    };
    if let Some((key, _)) = others.iter().copied().flatten().find(|(_, given)| *given) {
        return Err((key, format!("is not for a feed of the kind {}", of.kind)));
    }
    let settings = format!("{of:?}");
    let retry_s = pauses("retry_s", &of.retry_s, &[5., 300., 1_800., 7_200.])?;
    let rest_s = pauses("rest_s", &of.rest_s, &[1., 5., 30., 120., 600.])?;
    let timeout_s = of.timeout_s.unwrap_or(15);
    if !(1..=30).contains(&timeout_s) {
        return wrong("timeout_s", "must be 1 to 30");
    }
    let tls_ca = of.tls_ca.as_ref().map(|file| folder.join(file));
    if let Some(file) = &tls_ca
        && let Err(error) = countersign_post::trust(Some(file))
    {
        return Err(("tls_ca", format!("has no authorities: {error}")));
    }
    let to = match of.kind.as_str() {
        "webhook" => {
            let (key, text) = match (&of.url, &of.url_file) {
                (Some(url), None) => ("url", url.clone()),
                (None, Some(file)) => ("url_file", private("url_file", &folder.join(file))?),
                _ => return wrong("url", "or url_file is needed, one of the two"),
            };
            let url = webhook_url(key, text.trim())?;
            let headers = of
                .headers_file
                .map(|file| headers(&private("headers_file", &folder.join(file))?));
            let headers = headers.transpose()?.unwrap_or_default();
            Target::Webhook(Webhook {
                url,
                headers,
                tls_ca,
                timeout_s,
                retry_s,
            })
        }
        "syslog" => {
            let cef = match of.format.as_deref() {
                None | Some("json") => false,
                Some("cef") => true,
                Some(_) => return wrong("format", "must be json or cef"),
            };
            let (host, port, tls) =
                syslog_address(of.to.as_deref(), of.allow_plain_text.unwrap_or(false))?;
            Target::Syslog(Syslog {
                host,
                port,
                tls,
                cef,
                tls_ca,
                timeout_s,
            })
        }
        _ => Target::File(file_path(of.path.as_deref(), folder)?),
    };
    let digest = Sha256Digest::of_bytes(settings.as_bytes()).to_string() + &of_files(&to);
    Ok(Feed {
        name: of.name,
        to,
        events: of.events,
        workspaces: of.workspaces,
        rest_s,
        digest,
    })
}

/// What its files hold, in 16 bits: enough to see a change, too few to try out an address or a login with.
fn of_files(to: &Target) -> String {
    let (held, tls_ca) = match to {
        Target::Webhook(of) => (format!("{} {:?}", of.url, of.headers), &of.tls_ca),
        Target::Syslog(of) => (String::new(), &of.tls_ca),
        Target::File(_) => return String::new(),
    };
    let mut held = held.into_bytes();
    let authorities = tls_ca.as_ref().map(std::fs::read);
    held.extend(authorities.and_then(Result::ok).unwrap_or_default());
    let digest = Sha256Digest::of_bytes(&held).to_string();
    format!(" {}", &digest[digest.len() - 4..])
}

fn pauses(key: &'static str, given: &Option<Vec<f64>>, usual: &[f64]) -> Result<Vec<f64>, Wrong> {
    let pauses = given.clone().unwrap_or_else(|| usual.to_vec());
    let is_good = |pause: &f64| pause.is_finite() && *pause > 0. && *pause <= 1e9;
    match (1..=20).contains(&pauses.len()) && pauses.iter().all(is_good) {
        true => Ok(pauses),
        false => wrong(key, "must be 1 to 20 numbers of seconds above 0"),
    }
}

/// A file that nobody else may read.
fn private(key: &'static str, file: &Path) -> Result<String, Wrong> {
    let about = file.metadata().or_else(|_| wrong(key, "names no file"))?;
    if about.permissions().mode() & 0o077 != 0 {
        return wrong(key, "can be read by others; chmod 600 it");
    }
    std::fs::read_to_string(file).map_err(|error| (key, error.to_string()))
}

fn headers(text: &str) -> Result<Vec<(String, String)>, Wrong> {
    let lines = text.lines().map(str::trim).filter(|line| !line.is_empty());
    let read = lines.map(|line| {
        let (name, value) = line.split_once(':').unwrap_or_default();
        let (name, value) = (name.trim().to_ascii_lowercase(), value.trim().to_owned());
        let is_token =
            |byte: u8| byte.is_ascii_alphanumeric() || b"!#$%&'*+-.^_`|~".contains(&byte);
        if name.is_empty() || !name.bytes().all(is_token) || value.chars().any(char::is_control) {
            return wrong("headers_file", "must have lines `Name: value`");
        }
        match OWN.split(' ').any(|own| matches(own, &name)) {
            true => Err((
                "headers_file",
                format!("must not set {name}: the feed does"),
            )),
            false => Ok((name, value)),
        }
    });
    read.collect()
}

#[cfg(test)]
mod tests;
