//! The section `[reader]` of `config.toml`.

use std::io::ErrorKind;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};

use countersign_wire::WorkspaceName;
use serde::Deserialize;
use toml::de::DeTable;
use url::{Host, Url};

use crate::program::Known;

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
    pub per_hour: u32,
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
        host.unwrap_or_else(|| self.program.map_or("command", Known::as_str).to_owned())
    }

    /// The host beyond this machine to which arguments go, as far as the console knows.
    #[must_use]
    pub fn outside(&self) -> Option<String> {
        // An endpoint on this machine may be Ollama's.
        let known = self.program.unwrap_or(Known::Ollama);
        let known = known.outside(self.model.as_deref()).map(str::to_owned);
        let host = self.host().filter(is_outside);
        let host = host.map(|(_, host)| host.to_string());
        host.or(known.filter(|_| self.command.is_none()))
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

    /// The host of the endpoint, and whether it is asked over https.
    fn host(&self) -> Option<(bool, Host<String>)> {
        let url = Url::parse(self.endpoint.as_deref()?).ok()?;
        let is_https = match url.scheme() {
            "https" => true,
            "http" => false,
            _ => return None,
        };
        Some((is_https, url.host()?.to_owned()))
    }

    /// What is wrong; the first word is its key.
    fn fault(&self, folder: &Path) -> Option<&'static str> {
        let host = self.host();
        let (is_https, outside) = host.clone().filter(is_outside).unzip();
        let again = self.send_arguments_to.as_deref().unwrap_or_default();
        let is_named = outside.is_none_or(|host| again.eq_ignore_ascii_case(&host.to_string()));
        let needs_model = !matches!(self.program, None | Some(Known::ClaudeCode));
        let key = self.key_file.as_ref();
        let key = key.and_then(|file| key_fault(file, folder));
        Some(match (self.program, &self.command, &self.endpoint) {
            _ if !self.model.as_deref().is_none_or(is_model) => MODEL,
            (None, None, None) if !self.workspaces.is_empty() => PROGRAM,
            (None, Some(words), None) if words.is_empty() => "command must name a program",
            (Some(_), Some(_), _) | (_, Some(_), Some(_)) => COMMAND,
            (Some(_), None, Some(_)) => ENDPOINT,
            (_, _, Some(_)) if self.model.is_none() => "model is missing",
            _ if needs_model && self.model.is_none() => "model is missing",
            _ if !(1..=60).contains(&self.timeout_s) => "timeout_s must be 1 to 60",
            _ if !(1..=8).contains(&self.at_once) => "at_once must be 1 to 8",
            _ if self.earlier > 12 => "earlier must be 0 to 12",
            _ if key.is_some() => return key,
            (_, _, Some(_)) if host.is_none() => "endpoint must be an http or https address",
            (_, _, Some(url)) if url.contains('@') => PASSWORD,
            _ if is_https == Some(false) => "endpoint must be https beyond this machine",
            _ if !is_named => TO,
            _ => return None,
        })
    }
}

const MODEL: &str =
    "model must be letters, digits and . _ : / @ -, beginning with a letter or digit";
const PROGRAM: &str = "program name one of program, command, endpoint";
const COMMAND: &str = "command name one of program, command, endpoint";
const ENDPOINT: &str = "endpoint name one of program, command, endpoint";
const PASSWORD: &str = "endpoint must not hold a password; use key_file";
const TO: &str =
    "send_arguments_to must be the host of endpoint: arguments of calls would leave this machine";

fn key_fault(file: &Path, folder: &Path) -> Option<&'static str> {
    match file.metadata() {
        Err(_) => Some("key_file names no file"),
        Ok(about) if !about.is_file() || file.parent() != Some(folder) => {
            Some("key_file must be a file in the data folder")
        }
        Ok(about) if about.permissions().mode() & 0o077 != 0 => {
            Some("key_file can be read by others; chmod 600 it")
        }
        Ok(_) => None,
    }
}

fn is_outside((_, host): &(bool, Host<String>)) -> bool {
    match host {
        Host::Domain(name) => name != "localhost",
        Host::Ipv4(address) => !address.is_loopback(),
        Host::Ipv6(address) => !address.is_loopback(),
    }
}

#[derive(Deserialize)]
struct File {
    reader: Option<Config>,
}

/// Reads the section of the file `config.toml` of a data folder; the same without the file.
///
/// # Errors
/// `line N: [reader] KEY …`, also for a file that cannot be read.
pub fn read_in(folder: &Path) -> Result<Option<Config>, String> {
    match std::fs::read_to_string(folder.join("config.toml")) {
        Ok(text) => read(&text, folder),
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(None),
        Err(error) => Err(format!("line 1: [reader] {error}")),
    }
}

/// Reads the section of a file in the data folder `folder`. None where no reader is on.
///
/// # Errors
/// The same, also where the whole file is not TOML.
pub fn read(text: &str, folder: &Path) -> Result<Option<Config>, String> {
    let file: File = toml::from_str(text).map_err(|error| {
        let line = line_of(text, error.span().map_or(0, |at| at.start));
        let key = text.lines().nth(line - 1).unwrap_or_default();
        let (key, _) = key.split_once('=').unwrap_or_default();
        // Without the value: a line of a config may hold a password.
        format!("line {line}: [reader] {} {}", key.trim(), error.message())
    })?;
    let Some(mut config) = file.reader else {
        return Ok(None);
    };
    config.key_file = config.key_file.map(|file| folder.join(file));
    match config.fault(folder) {
        Some(why) => {
            let line = line_of(text, place(text, why).unwrap_or_default());
            Err(format!("line {line}: [reader] {why}"))
        }
        None => Ok(Some(config).filter(|config| !config.workspaces.is_empty())),
    }
}

fn line_of(text: &str, at: usize) -> usize {
    let before = text.get(..at).unwrap_or(text);
    before.matches('\n').count() + 1
}

/// Where the key of a fault is, or the section for a key that is missing.
fn place(text: &str, why: &str) -> Option<usize> {
    let file = DeTable::parse(text).ok()?;
    let (section, keys) = file.get_ref().get_key_value("reader")?;
    let keys = keys.get_ref().as_table();
    let key = keys.and_then(|keys| keys.get_key_value(why.split(' ').next()?));
    Some(key.map_or(section, |(key, _)| key).span().start)
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
