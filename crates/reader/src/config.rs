//! The section `[reader]` of `config.toml`.

use std::fmt;
use std::io::ErrorKind;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};

use countersign_wire::WorkspaceName;
use serde::Deserialize;
use url::{Host, Url};

use crate::program::Known;

pub mod edit;

const LONGEST_MODEL: usize = 128;

/// A reader that somebody switched on.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Config {
    /// Whose calls it reads.
    pub workspaces: Vec<WorkspaceName>,
    /// A program that the console knows.
    pub program: Option<Known>,
    /// A program of one's own, with its words.
    pub command: Option<Vec<String>>,
    /// A model over HTTP.
    pub endpoint: Option<String>,
    /// What is spoken there.
    pub protocol: Protocol,
    /// The file with its key; complete once it was read.
    pub key_file: Option<PathBuf>,
    /// The endpoint's host once more, where it is beyond this machine.
    pub send_arguments_to: Option<String>,
    /// Which model, where that is chosen.
    pub model: Option<String>,
    /// The field for the most tokens of an answer.
    pub tokens_field: String,
    /// Seconds for one call.
    pub timeout_s: u64,
    /// The most calls in 60 minutes.
    pub per_hour: usize,
    /// The most calls at a time.
    pub at_once: usize,
    /// How many decided calls go along.
    pub earlier: usize,
}

/// What is spoken over HTTP.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Protocol {
    /// Chat completions.
    #[default]
    OpenAi,
    /// Messages.
    Anthropic,
}

impl Default for Config {
    fn default() -> Self {
        Self {
            workspaces: Vec::new(),
            program: None,
            command: None,
            endpoint: None,
            protocol: Protocol::OpenAi,
            key_file: None,
            send_arguments_to: None,
            model: None,
            tokens_field: "max_tokens".to_owned(),
            timeout_s: 20,
            per_hour: 60,
            at_once: 2,
            earlier: 6,
        }
    }
}

impl Config {
    /// Where arguments go, in one word: `command`, a host or a program's name.
    #[must_use]
    pub fn to(&self) -> String {
        let host = self.host().map(|(_, host)| host.to_string());
        host.unwrap_or_else(|| self.program.map_or("command", Known::name).to_owned())
    }

    /// The host beyond this machine to which arguments go, as far as the console knows.
    #[must_use]
    pub fn outside(&self) -> Option<String> {
        let known = self
            .program
            .and_then(|known| known.outside(self.model.as_deref()));
        let (_, host) = self.host().filter(|(_, host)| !is_loopback(host)).unzip();
        known
            .map(str::to_owned)
            .or(host.map(|host| host.to_string()))
    }

    /// The same as a sentence for people.
    #[must_use]
    pub fn sentence(&self) -> String {
        let names: Vec<&str> = self.workspaces.iter().map(AsRef::as_ref).collect();
        let where_to = match (&self.command, self.outside()) {
            (Some(_), _) => "go to a program of yours: where it sends them is not known".to_owned(),
            (None, Some(host)) => format!("leave this machine, to {host}"),
            (None, None) => format!("go to {}, on this machine", self.to()),
        };
        format!("Arguments of {} {where_to}.", names.join(", "))
    }

    fn host(&self) -> Option<(String, Host<String>)> {
        let url = Url::parse(self.endpoint.as_deref()?).ok()?;
        Some((url.scheme().to_owned(), url.host()?.to_owned()))
    }

    /// What is wrong, with its key.
    fn check(&self, folder: &Path) -> Result<(), (&'static str, &'static str)> {
        if self.model.as_deref().is_some_and(|model| !is_model(model)) {
            let why = "must be letters, digits and . _ : / @ -, beginning with a letter or digit";
            return Err(("model", why));
        }
        let one_of = "name one of program, command, endpoint";
        match (self.program, &self.command, &self.endpoint) {
            (None, None, None) if self.workspaces.is_empty() => {}
            (None, None, None) => return Err(("program", one_of)),
            (Some(_), None, None) | (None, None, Some(_)) => {}
            (None, Some(words), None) if words.is_empty() => {
                return Err(("command", "must name a program"));
            }
            (None, Some(_), None) => {}
            (_, Some(_), _) => return Err(("command", one_of)),
            (Some(_), None, Some(_)) => return Err(("endpoint", one_of)),
        }
        let needs_model = self.endpoint.is_some() || self.program.is_some_and(Known::is_http);
        for (is_wrong, key, why) in [
            (needs_model && self.model.is_none(), "model", "is missing"),
            (
                !(1..=60).contains(&self.timeout_s),
                "timeout_s",
                "must be 1 to 60",
            ),
            (
                !(1..=8).contains(&self.at_once),
                "at_once",
                "must be 1 to 8",
            ),
            (self.earlier > 12, "earlier", "must be 0 to 12"),
        ] {
            if is_wrong {
                return Err((key, why));
            }
        }
        if let Some(file) = &self.key_file {
            let about = file.metadata().map_err(|_| ("key_file", "names no file"))?;
            if !about.is_file() || file.parent() != Some(folder) {
                return Err(("key_file", "must be a file in the data folder"));
            }
            if about.permissions().mode() & 0o077 != 0 {
                return Err(("key_file", "can be read by others; chmod 600 it"));
            }
        }
        if self.endpoint.is_none() {
            return Ok(());
        }
        let web = self
            .host()
            .filter(|(scheme, _)| matches!(scheme.as_str(), "http" | "https"));
        let (scheme, host) = web.ok_or(("endpoint", "must be an http or https address"))?;
        if self.endpoint.as_ref().is_some_and(|url| url.contains('@')) {
            return Err(("endpoint", "must not hold a password; use key_file"));
        }
        if is_loopback(&host) {
            return Ok(());
        }
        let named = self.send_arguments_to.as_deref().unwrap_or_default();
        match (
            scheme == "https",
            named.eq_ignore_ascii_case(&host.to_string()),
        ) {
            (true, true) => Ok(()),
            (false, _) => Err(("endpoint", "must be https beyond this machine")),
            (true, false) => Err((
                "send_arguments_to",
                "must be the host of endpoint: arguments of calls would leave this machine",
            )),
        }
    }
}

fn is_loopback(host: &Host<String>) -> bool {
    match host {
        Host::Domain(name) => name == "localhost",
        Host::Ipv4(address) => address.is_loopback(),
        Host::Ipv6(address) => address.is_loopback(),
    }
}

/// What is wrong with the section.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ConfigFault {
    /// The line; of the section where a key is missing.
    pub line: usize,
    /// The key, and what is wrong with it.
    pub why: String,
}

impl fmt::Display for ConfigFault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "line {}: [reader] {}", self.line, self.why)
    }
}

#[derive(Deserialize)]
struct File {
    reader: Option<Config>,
}

/// Reads the section of the file `config.toml` of a data folder; the same without the file.
///
/// # Errors
/// [`ConfigFault`], also for a file that cannot be read.
pub fn read_in(folder: &Path) -> Result<Option<Config>, ConfigFault> {
    match std::fs::read_to_string(folder.join("config.toml")) {
        Ok(text) => read(&text, folder),
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(None),
        Err(error) => {
            let (line, why) = (1, error.to_string());
            Err(ConfigFault { line, why })
        }
    }
}

/// Reads the section of a file in the data folder `folder`. None where no reader is on.
///
/// # Errors
/// [`ConfigFault`] also where the whole file is not TOML.
pub fn read(text: &str, folder: &Path) -> Result<Option<Config>, ConfigFault> {
    let file: File = toml::from_str(text).map_err(|error| {
        let before = text
            .get(..error.span().map_or(0, |at| at.start))
            .unwrap_or(text);
        let line = before.matches('\n').count() + 1;
        let key = text.lines().nth(line - 1).unwrap_or_default();
        let (key, _) = key.split_once('=').unwrap_or_default();
        // Without the value: a line of a config may hold a password.
        ConfigFault {
            line,
            why: format!("{} {}", key.trim(), error.message()),
        }
    })?;
    let Some(mut config) = file.reader else {
        return Ok(None);
    };
    config.key_file = config.key_file.map(|file| folder.join(file));
    let line = |key| line_of(text, key).or(line_of(text, "")).unwrap_or(1);
    let fault = |(key, why)| ConfigFault {
        line: line(key),
        why: format!("{key} {why}"),
    };
    config.check(folder).map_err(fault)?;
    Ok((!config.workspaces.is_empty()).then_some(config))
}

/// The line of a key in the section, or of the section for no key.
fn line_of(text: &str, key: &str) -> Option<usize> {
    let mut inside = false;
    let found = text.lines().position(|line| {
        let name = line.split('=').next().unwrap_or_default().trim();
        if name.starts_with('[') {
            inside = name.starts_with("[reader]");
            return inside && key.is_empty();
        }
        inside && name == key && !key.is_empty()
    });
    found.map(|at| at + 1)
}

/// Whether a text can name a model: it becomes a word of a program's line.
#[must_use]
pub fn is_model(text: &str) -> bool {
    let known = |letter: char| letter.is_ascii_alphanumeric() || "._:/@-".contains(letter);
    let begins = text.starts_with(|first: char| first.is_ascii_alphanumeric());
    begins && text.len() <= LONGEST_MODEL && text.chars().all(known)
}

#[cfg(test)]
mod tests;
