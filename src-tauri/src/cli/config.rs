//! Settings: flags, then the environment, then `config.toml` in the data folder.
//!
//! An unknown setting is refused, and so is a bad value: a misspelt line must not silently leave a default in force.

mod metrics;
mod otlp;

use std::env;
use std::ffi::OsString;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use countersign_core::bus::Credentials;
use countersign_core::domain::StallLimits;
use countersign_core::domain::retention::{Kind, Limit, Retention};
use countersign_core::identity::KeyChoice;
use countersign_wire::{TlsFiles, WorkspaceName};
use serde::Deserialize;
use serde::de::IgnoredAny;

use super::args::Global;
use super::failure::Failure;
use super::output::Output;
use countersign_view::Production;

const DATA_DIR: &str = "COUNTERSIGN_DATA_DIR";
const NATS_URL: &str = "COUNTERSIGN_NATS_URL";
const NATS_CREDS: &str = "COUNTERSIGN_NATS_CREDS";
const NATS_NKEY: &str = "COUNTERSIGN_NATS_NKEY";
const TLS_CA: &str = "COUNTERSIGN_TLS_CA";
const TLS_CERT: &str = "COUNTERSIGN_TLS_CERT";
const TLS_KEY: &str = "COUNTERSIGN_TLS_KEY";
const KEYS: &str = "COUNTERSIGN_KEYS";
const OPERATOR: &str = "COUNTERSIGN_OPERATOR";
/// Longer than the names of people.
const OPERATOR_CHARS: usize = 100;
const WORKSPACE: &str = "COUNTERSIGN_WORKSPACE";
const ALLOW_SINGLE_ACCOUNT: &str = "COUNTERSIGN_ALLOW_SINGLE_ACCOUNT";
const OTLP_HTTP: &str = "COUNTERSIGN_OTLP_HTTP";
const OTLP_GRPC: &str = "COUNTERSIGN_OTLP_GRPC";
const METRICS: &str = "COUNTERSIGN_METRICS";
/// Name of the file in the data folder.
pub(crate) const FILE: &str = "config.toml";

/// One source of settings.
#[derive(Debug, Default, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
struct Layer {
    nats_url: Option<String>,
    nats_creds: Option<PathBuf>,
    nats_nkey: Option<PathBuf>,
    tls_ca: Option<PathBuf>,
    tls_cert: Option<PathBuf>,
    tls_key: Option<PathBuf>,
    keys: Option<String>,
    operator: Option<String>,
    workspace: Option<String>,
    allow_single_account: Option<bool>,
    alarm_not_on_bus_after_s: Option<u32>,
    alarm_not_received_after_s: Option<u32>,
    alarm_not_executed_after_s: Option<u32>,
    waiting_limit: Option<u32>,
    stream_replicas: Option<u32>,
    requests_max_mib: Option<u32>,
    production: Option<Vec<String>>,
    retention: Option<Limits>,
    #[serde(default)]
    otlp: otlp::Section,
    #[serde(default)]
    metrics: metrics::Section,
    // Read by its own crate, also while the console runs.
    #[serde(default)]
    reader: IgnoredAny,
    #[serde(default)]
    feed: IgnoredAny,
}

/// Days and MiB for which each kind of payload is kept; without a number for ever.
#[derive(Debug, Clone, Copy, Default, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
struct Limits {
    requests_days: Option<u32>,
    requests_mib: Option<u32>,
    receipts_days: Option<u32>,
    receipts_mib: Option<u32>,
    quarantine_days: Option<u32>,
    quarantine_mib: Option<u32>,
    spans_days: Option<u32>,
    spans_mib: Option<u32>,
}

/// What this command works with.
#[derive(Debug, PartialEq)]
pub(crate) struct Settings {
    /// Where it prints.
    pub(crate) out: Output,
    /// Folder of the console; need not exist.
    pub(crate) data_dir: PathBuf,
    /// None: the console runs its own server.
    pub(crate) nats_url: Option<String>,
    /// How to log in there.
    pub(crate) login: Login,
    /// Whom to trust there, and this console's own certificate.
    pub(crate) tls: TlsFiles,
    /// Where a new console keeps the seeds of its signing keys.
    pub(crate) keys: KeyChoice,
    /// Display name; none where nobody chose one.
    pub(crate) operator: Option<String>,
    /// Where a command takes a workspace.
    pub(crate) workspace: WorkspaceName,
    /// Accept consoles and agents in one account.
    pub(crate) allow_single_account: bool,
    /// How long each rung of the delivery ladder may take.
    pub(crate) stall_limits: StallLimits,
    /// More waiting requests than these from one agent are rejected; none for the usual number.
    pub(crate) waiting_limit: Option<u32>,
    /// How many servers of a cluster keep each stream that is made from here.
    pub(crate) stream_replicas: usize,
    /// The limit of the stream of requests; none leaves it as it is.
    pub(crate) requests_max_mib: Option<u32>,
    /// Which workspaces the window marks as production.
    pub(crate) production: Production,
    /// How long payloads are kept.
    pub(crate) retention: Retention,
    /// What is received and sent over OTLP.
    pub(crate) otlp: crate::otlp::Settings,
    /// Where metrics are read.
    pub(crate) metrics: crate::metrics::Settings,
}

/// Where the credentials of the bus are.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Login {
    /// A .creds file.
    Creds(PathBuf),
    /// A file with an nkey seed.
    Nkey(PathBuf),
    /// In the URL, if anywhere.
    Url,
}

impl Settings {
    /// A console does not start with a fault in its reader's section: nobody would see that it is off.
    pub(crate) fn check_reader(&self) -> Result<(), Failure> {
        let read = countersign_reader::config::read_in(&self.data_dir);
        let file = self.data_dir.join(FILE);
        let named = |fault| Failure::environment(format!("{}, {fault}", file.display()));
        read.map(drop).map_err(named)
    }

    /// Nor with a fault in a section of a feed: nobody would see that it sends nothing.
    pub(crate) fn check_feeds(&self) -> Result<(), Failure> {
        let read = countersign_feeds::config::read_in(&self.data_dir);
        let file = self.data_dir.join(FILE);
        let named = |fault| Failure::environment(format!("{}, {fault}", file.display()));
        read.map(drop).map_err(named)
    }
}

type Env<'a> = &'a dyn Fn(&str) -> Option<OsString>;

/// Reads the settings of this process.
pub(crate) fn load(flags: &Global) -> Result<Settings, Failure> {
    // Set to nothing is the same as not set.
    let environment = |name: &str| env::var_os(name).filter(|value| !value.is_empty());
    resolve(flags, &environment, dirs::data_dir())
}

fn resolve(flags: &Global, env: Env<'_>, platform: Option<PathBuf>) -> Result<Settings, Failure> {
    let data_dir = flags
        .data_dir
        .clone()
        .or_else(|| env(DATA_DIR).map(PathBuf::from))
        .or_else(|| platform.map(|folder| folder.join("countersign")))
        .ok_or_else(|| {
            Failure::environment(format!(
                "this system has no default data folder; set {DATA_DIR}"
            ))
        })?;
    let layers = [from_flags(flags), from_env(env)?, from_file(&data_dir)?];
    let login = login(&layers)?;
    let tls = tls(&layers)?;
    let out = Output { json: flags.json };
    let [flags, env, file] = layers;
    let stall_limits = stall_limits(&file);
    let keys = flags.keys.or(env.keys).or(file.keys);
    let operator = flags.operator.or(env.operator).or(file.operator);
    let operator = operator.map(operator_name).transpose()?;
    let workspace = flags.workspace.or(env.workspace).or(file.workspace);
    let workspace = workspace.as_deref().unwrap_or("default");
    let allow = flags.allow_single_account.or(env.allow_single_account);
    let workspace = workspace
        .parse()
        .map_err(|error| Failure::usage(format!("workspace {workspace:?}: {error}")))?;
    let sections = [flags.otlp, env.otlp, file.otlp];
    let metrics = [flags.metrics, env.metrics, file.metrics];
    Ok(Settings {
        out,
        otlp: otlp::settings(sections, &data_dir, &workspace)?,
        metrics: metrics::settings(metrics, &data_dir)?,
        data_dir,
        nats_url: flags.nats_url.or(env.nats_url).or(file.nats_url),
        login,
        tls,
        keys: keys.map_or(Ok(KeyChoice::Auto), |word| key_choice(&word))?,
        operator,
        workspace,
        allow_single_account: allow.or(file.allow_single_account).unwrap_or(false),
        stall_limits,
        waiting_limit: file.waiting_limit.map(at_least_one).transpose()?,
        stream_replicas: stream_replicas(file.stream_replicas)?,
        requests_max_mib: file.requests_max_mib.map(requests_max_mib).transpose()?,
        production: production(file.production)?,
        retention: retention(file.retention.unwrap_or_default())?,
    })
}

fn key_choice(word: &str) -> Result<KeyChoice, Failure> {
    word.parse()
        .map_err(|why| Failure::usage(format!("{KEYS}: {why}")))
}

fn at_least_one(limit: u32) -> Result<u32, Failure> {
    match limit {
        0 => Err(Failure::environment(
            "waiting_limit in config.toml must be at least 1",
        )),
        limit => Ok(limit),
    }
}

/// JetStream keeps no more.
fn stream_replicas(wanted: Option<u32>) -> Result<usize, Failure> {
    match wanted.unwrap_or(1) {
        wanted @ 1..=5 => Ok(wanted as usize),
        _ => Err(Failure::environment(
            "stream_replicas in config.toml must be 1 to 5",
        )),
    }
}

/// Less is soon filled with requests of the largest size.
fn requests_max_mib(wanted: u32) -> Result<u32, Failure> {
    match wanted {
        16.. => Ok(wanted),
        _ => Err(Failure::environment(
            "requests_max_mib in config.toml must be at least 16",
        )),
    }
}

fn production(listed: Option<Vec<String>>) -> Result<Production, Failure> {
    let Some(names) = listed else {
        return Ok(Production::default());
    };
    let read = names.iter().map(|name| {
        let reported = |error| format!("production in config.toml, {name:?}: {error}");
        name.parse()
            .map_err(|error| Failure::environment(reported(error)))
    });
    Ok(Production::Listed(read.collect::<Result<_, _>>()?))
}

/// Refuses a number of days that the streams outlast: it would not do what it says.
fn retention(file: Limits) -> Result<Retention, Failure> {
    let limit = |kind: Kind, days: Option<u32>, mib: Option<u32>| {
        let shortest = kind.shortest_days();
        match days {
            Some(days) if days < shortest => Err(Failure::environment(format!(
                "{}_days under [retention] in config.toml must be at least {shortest}: the streams may still hold younger ones",
                kind.as_str()
            ))),
            days => Ok(Limit { days, mib }),
        }
    };
    Ok(Retention {
        requests: limit(Kind::Requests, file.requests_days, file.requests_mib)?,
        receipts: limit(Kind::Receipts, file.receipts_days, file.receipts_mib)?,
        quarantine: limit(Kind::Quarantine, file.quarantine_days, file.quarantine_mib)?,
        spans: limit(Kind::Spans, file.spans_days, file.spans_mib)?,
    })
}

/// Only the file sets these: they belong to the console, not to a command.
fn stall_limits(file: &Layer) -> StallLimits {
    let default = StallLimits::default();
    let ms = |seconds: Option<u32>, default| seconds.map_or(default, |s| i64::from(s) * 1_000);
    StallLimits {
        on_bus_ms: ms(file.alarm_not_on_bus_after_s, default.on_bus_ms),
        received_ms: ms(file.alarm_not_received_after_s, default.received_ms),
        executed_ms: ms(file.alarm_not_executed_after_s, default.executed_ms),
    }
}

fn from_flags(flags: &Global) -> Layer {
    Layer {
        nats_url: flags.nats_url.clone(),
        nats_creds: flags.nats_creds.clone(),
        nats_nkey: flags.nats_nkey.clone(),
        tls_ca: flags.tls_ca.clone(),
        tls_cert: flags.tls_cert.clone(),
        tls_key: flags.tls_key.clone(),
        keys: flags.keys.clone(),
        operator: flags.operator.clone(),
        workspace: flags.workspace.clone(),
        allow_single_account: flags.allow_single_account.then_some(true),
        otlp: otlp::Section::addresses(flags.otlp_http.clone(), flags.otlp_grpc.clone()),
        metrics: metrics::Section::address(flags.metrics.clone()),
        ..Layer::default()
    }
}

fn from_env(env: Env<'_>) -> Result<Layer, Failure> {
    let text = |name: &str| {
        let value = env(name).map(OsString::into_string).transpose();
        value.map_err(|_| Failure::usage(format!("{name} is not UTF-8")))
    };
    let allow = text(ALLOW_SINGLE_ACCOUNT)?.map(|word| match word.as_str() {
        "1" | "true" | "yes" => Ok(true),
        "0" | "false" | "no" => Ok(false),
        _ => Err(Failure::usage(format!(
            "{ALLOW_SINGLE_ACCOUNT} must be 1 or 0"
        ))),
    });
    Ok(Layer {
        nats_url: text(NATS_URL)?,
        nats_creds: env(NATS_CREDS).map(PathBuf::from),
        nats_nkey: env(NATS_NKEY).map(PathBuf::from),
        tls_ca: env(TLS_CA).map(PathBuf::from),
        tls_cert: env(TLS_CERT).map(PathBuf::from),
        tls_key: env(TLS_KEY).map(PathBuf::from),
        keys: text(KEYS)?,
        operator: text(OPERATOR)?,
        workspace: text(WORKSPACE)?,
        allow_single_account: allow.transpose()?,
        otlp: otlp::Section::addresses(text(OTLP_HTTP)?, text(OTLP_GRPC)?),
        metrics: metrics::Section::address(text(METRICS)?),
        ..Layer::default()
    })
}

fn from_file(data_dir: &Path) -> Result<Layer, Failure> {
    let path = data_dir.join(FILE);
    let text = match fs::read_to_string(&path) {
        Ok(text) => text,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Layer::default()),
        Err(error) => {
            let path = path.display();
            return Err(Failure::environment(format!(
                "{path} cannot be read: {error}"
            )));
        }
    };
    let mut layer: Layer = toml::from_str(&text).map_err(|error| {
        // Without the line itself, which the error would show too: it may hold a URL with a password.
        let line = error.span().map_or(1, |at| {
            text[..at.start.min(text.len())].matches('\n').count() + 1
        });
        let why = error.message();
        Failure::environment(format!("{}, line {line}: {why}", path.display()))
    })?;
    for file in [
        &mut layer.nats_creds,
        &mut layer.nats_nkey,
        &mut layer.tls_ca,
        &mut layer.tls_cert,
        &mut layer.tls_key,
    ] {
        // The file lies in the data folder, so its relative paths start there.
        *file = file.take().map(|file| data_dir.join(file));
    }
    Ok(layer)
}

/// The first source that names credentials decides, whichever kind they are.
fn login(layers: &[Layer; 3]) -> Result<Login, Failure> {
    for layer in layers {
        return match (&layer.nats_creds, &layer.nats_nkey) {
            (Some(_), Some(_)) => {
                let why = "both a .creds file and an nkey file are set; keep one of them";
                Err(Failure::usage(why))
            }
            (Some(file), None) => Ok(Login::Creds(file.clone())),
            (None, Some(file)) => Ok(Login::Nkey(file.clone())),
            (None, None) => continue,
        };
    }
    Ok(Login::Url)
}

/// The first source that names an authority counts for it, and likewise for the certificate with its key,
/// which are never taken from two sources.
fn tls(layers: &[Layer; 3]) -> Result<TlsFiles, Failure> {
    let own = layers
        .iter()
        .find(|layer| layer.tls_cert.is_some() || layer.tls_key.is_some());
    let files = TlsFiles {
        ca: layers.iter().find_map(|layer| layer.tls_ca.clone()),
        cert: own.and_then(|layer| layer.tls_cert.clone()),
        key: own.and_then(|layer| layer.tls_key.clone()),
    };
    match files.client() {
        Ok(_) => Ok(files),
        Err(why) => Err(Failure::usage(format!(
            "{why}; --tls-cert and --tls-key belong together"
        ))),
    }
}

impl Login {
    /// The credentials themselves, for the server at `url`.
    pub(crate) fn read(&self, url: &str) -> Result<Credentials, Failure> {
        match self {
            Self::Creds(file) => Ok(Credentials::CredsFile(file.clone())),
            Self::Nkey(file) => match fs::read_to_string(file) {
                Ok(_) => Ok(Credentials::NkeyFile(file.clone())),
                Err(error) => {
                    let file = file.display();
                    Err(Failure::environment(format!(
                        "the nkey file {file} cannot be read: {error}"
                    )))
                }
            },
            Self::Url if url.contains('@') => Ok(Credentials::UrlUserPassword),
            Self::Url => Ok(Credentials::None),
        }
    }
}

/// A name is part of every decision and shown on every other console, on one line.
fn operator_name(name: String) -> Result<String, Failure> {
    let shown = !name.trim().is_empty() && !name.chars().any(countersign_wire::is_hostile);
    if shown && name.chars().count() <= OPERATOR_CHARS {
        return Ok(name);
    }
    Err(Failure::usage(format!(
        "the operator's name is 1 to {OPERATOR_CHARS} visible characters on one line; see --operator, {OPERATOR} and config.toml"
    )))
}

/// Who has chosen no name is called as the system calls the account.
pub(crate) fn account_name() -> String {
    let named = ["USER", "LOGNAME"]
        .into_iter()
        .find_map(|name| env::var(name).ok());
    named
        .and_then(|name| operator_name(name).ok())
        .unwrap_or_else(|| "operator".to_owned())
}

#[cfg(test)]
mod tests;
