//! The configuration, read from its file with line and column for what is wrong.

use std::collections::HashSet;
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::time::Duration;

use countersign_sdk::{Effects, Risk};
use serde::Deserialize;
use toml::Spanned;

use crate::config::{Config, GuardedTool, NatsLogin, Project, RESERVED, bad_target};
use crate::digest::hex_sha256;
use crate::error::BridgeError;

type Wrong = (Range<usize>, String);

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct File {
    schema: Spanned<i64>,
    name: Spanned<String>,
    nats_url: String,
    nats_creds: Option<PathBuf>,
    nats_nkey: Option<PathBuf>,
    tls_ca: Option<PathBuf>,
    tls_cert: Option<PathBuf>,
    tls_key: Option<PathBuf>,
    data_dir: PathBuf,
    ack_wait_s: Option<Spanned<u64>>,
    default_suspend_timeout_s: Option<u64>,
    margin_s: Option<u64>,
    state_wait_s: Option<u64>,
    project: Vec<FileProject>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct FileProject {
    project_id: Spanned<String>,
    agent_json: PathBuf,
    api_url: String,
    api_token_env: Option<String>,
    #[serde(default)]
    tool: Vec<FileTool>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct FileTool {
    name: Spanned<String>,
    gate: Option<Spanned<String>>,
    forward_to: Spanned<String>,
    risk: Option<Spanned<String>>,
    effects: Option<Spanned<String>>,
    suspend_timeout_s: Option<u64>,
    description: Option<String>,
}

impl Config {
    /// Reads the file; paths in it are relative to its folder.
    pub fn read(file: &Path) -> Result<Self, BridgeError> {
        let bad = |why: String| BridgeError::Config {
            file: file.to_owned(),
            why,
        };
        let text = std::fs::read_to_string(file).map_err(|error| bad(error.to_string()))?;
        let read: File = toml::from_str(&text).map_err(|error| {
            let at = error.span().unwrap_or(0..0);
            bad(placed(&text, &at, error.message()))
        })?;
        let folder = file.parent().unwrap_or(Path::new(""));
        read.config(folder)
            .map_err(|(at, why)| bad(placed(&text, &at, &why)))
    }
}

impl File {
    fn config(self, folder: &Path) -> Result<Config, Wrong> {
        if *self.schema.get_ref() != 1 {
            return Err(wrong(&self.schema, "this version reads schema = 1"));
        }
        let fits = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-';
        let name = self.name.get_ref();
        if name.is_empty() || name.len() > 32 || !name.chars().all(fits) {
            return Err(wrong(&self.name, "a name is 1 to 32 of a-z, 0-9 and -"));
        }
        let ack_wait = match &self.ack_wait_s {
            Some(seconds) if !(1..=300).contains(seconds.get_ref()) => {
                return Err(wrong(seconds, "ack_wait_s is 1 to 300"));
            }
            Some(seconds) => *seconds.get_ref(),
            None => 30,
        };
        let mut seen = HashSet::new();
        let mut projects = Vec::new();
        for project in self.project {
            if !is_token(project.project_id.get_ref()) {
                return Err(wrong(
                    &project.project_id,
                    "a project_id is one token of a subject",
                ));
            }
            if !seen.insert(project.project_id.get_ref().clone()) {
                return Err(wrong(&project.project_id, "this project is named twice"));
            }
            projects.push(project.project(folder)?);
        }
        Ok(Config {
            name: self.name.into_inner(),
            nats: NatsLogin {
                url: self.nats_url,
                creds: self.nats_creds.map(|path| folder.join(path)),
                nkey: self.nats_nkey.map(|path| folder.join(path)),
                tls_ca: self.tls_ca.map(|path| folder.join(path)),
                tls_client: self
                    .tls_cert
                    .zip(self.tls_key)
                    .map(|(cert, key)| (folder.join(cert), folder.join(key))),
            },
            data_dir: folder.join(self.data_dir),
            ack_wait: Duration::from_secs(ack_wait),
            default_suspend: Duration::from_secs(self.default_suspend_timeout_s.unwrap_or(30)),
            margin: Duration::from_secs(self.margin_s.unwrap_or(2)),
            state_wait: Duration::from_secs(self.state_wait_s.unwrap_or(2)),
            projects,
        })
    }
}

impl FileProject {
    fn project(self, folder: &Path) -> Result<Project, Wrong> {
        let mut names = HashSet::new();
        let mut gates = HashSet::new();
        let mut tools = Vec::new();
        for tool in self.tool {
            let (name, gate_at) = (tool.name.clone(), tool.gate.clone());
            let tool = tool.tool()?;
            if !names.insert(tool.name.clone()) {
                return Err(wrong(&name, "two tools of this project have this name"));
            }
            if !gates.insert(tool.gate.clone()) {
                let at = gate_at.as_ref().unwrap_or(&name);
                return Err(wrong(at, "two tools of this project have this gate"));
            }
            tools.push(tool);
        }
        Ok(Project {
            id: self.project_id.into_inner(),
            agent_json: folder.join(self.agent_json),
            api_url: self.api_url.trim_end_matches('/').to_owned(),
            api_token_env: self.api_token_env,
            tools,
        })
    }
}

impl FileTool {
    fn tool(self) -> Result<GuardedTool, Wrong> {
        let name = self.name.get_ref();
        if name.trim().is_empty() {
            return Err(wrong(&self.name, "a tool has a name"));
        }
        if RESERVED.contains(&name.as_str()) {
            return Err(wrong(&self.name, "CommonGround keeps this name for itself"));
        }
        let gate = match &self.gate {
            Some(gate) if !is_token(gate.get_ref()) => {
                return Err(wrong(
                    gate,
                    "a gate is one token of letters, digits, - and _",
                ));
            }
            Some(gate) => gate.get_ref().clone(),
            None => gate_of(name),
        };
        let target = self.forward_to.get_ref();
        let plain = ["project_id", "channel_id", "agent_id"]
            .iter()
            .fold(target.clone(), |text, name| {
                text.replace(&format!("{{{name}}}"), "x")
            });
        if let Some(why) = bad_target(target) {
            return Err(wrong(&self.forward_to, why));
        }
        if plain.contains(['{', '}', '*', '>', ' ']) {
            let why = "placeholders are {project_id}, {channel_id} and {agent_id}";
            return Err(wrong(&self.forward_to, why));
        }
        if let Some(risk) = &self.risk
            && Risk::from_word(risk.get_ref()).is_none()
        {
            return Err(wrong(risk, "a risk is safe, low, medium, high or critical"));
        }
        if let Some(effects) = &self.effects
            && Effects::from_word(effects.get_ref()).is_none()
        {
            return Err(wrong(effects, "unknown word for effects"));
        }
        Ok(GuardedTool {
            name: self.name.into_inner(),
            gate,
            forward_to: self.forward_to.into_inner(),
            risk: self.risk.map_or("critical".to_owned(), Spanned::into_inner),
            effects: self.effects.map(Spanned::into_inner),
            suspend: Duration::from_secs(self.suspend_timeout_s.unwrap_or(0)),
            description: self.description,
        })
    }
}

/// The name where it is a token, else its slug.
fn gate_of(name: &str) -> String {
    if is_token(name) {
        return name.to_owned();
    }
    let plain: String = name
        .chars()
        .map(|c| if is_token(&c.to_string()) { c } else { '-' })
        .take(55)
        .collect();
    let plain = plain.trim_matches('-');
    let plain = if plain.is_empty() { "tool" } else { plain };
    format!("{plain}-{}", &hex_sha256(name.as_bytes())[..8])
}

fn is_token(text: &str) -> bool {
    let fits = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_');
    !text.is_empty() && text.len() <= 64 && text.chars().all(fits)
}

fn wrong<T>(at: &Spanned<T>, why: &str) -> Wrong {
    (at.span(), why.to_owned())
}

fn placed(text: &str, at: &Range<usize>, why: &str) -> String {
    let before = text.get(..at.start).unwrap_or_default();
    let line = before.matches('\n').count() + 1;
    let column = before
        .rsplit('\n')
        .next()
        .unwrap_or_default()
        .chars()
        .count()
        + 1;
    format!("line {line}, column {column}: {why}")
}
