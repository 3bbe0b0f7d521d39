//! The section `[otlp]` of `config.toml`.

use std::collections::BTreeMap;
use std::fmt;
use std::net::{IpAddr, SocketAddr};
use std::path::{Path, PathBuf};

use countersign_otlp::export::{Destination, Header};
use countersign_wire::{AgentKey, WorkspaceName};
use serde::Deserialize;

use super::super::failure::Failure;
use crate::otlp::{Listening, Settings};

/// One source of these settings; flags and environment have the addresses only.
#[derive(Debug, Default, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Section {
    http: Option<String>,
    grpc: Option<String>,
    allow_remote: Option<bool>,
    require_token: Option<bool>,
    /// Files with one token each, by `WS/AGENT`.
    #[serde(default)]
    token_files: BTreeMap<String, PathBuf>,
    export: Option<Export>,
}

/// Where this console's answers are exported to.
#[derive(Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
struct Export {
    endpoint: String,
    #[serde(default)]
    allow_plain_text: bool,
    #[serde(default)]
    headers: BTreeMap<String, Hidden>,
}

/// A text that is not shown: it may be a secret.
#[derive(PartialEq, Deserialize)]
#[serde(transparent)]
struct Hidden(String);

impl fmt::Debug for Hidden {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("hidden")
    }
}

impl Section {
    pub(super) fn addresses(http: Option<String>, grpc: Option<String>) -> Self {
        Self {
            http,
            grpc,
            ..Self::default()
        }
    }
}

/// Flags, environment and file together. `off` as an address switches off what a later source switches on.
pub(super) fn settings(
    [flags, env, file]: [Section; 3],
    data_dir: &Path,
    workspace: &WorkspaceName,
) -> Result<Settings, Failure> {
    let http = address("HTTP", flags.http.or(env.http).or(file.http))?;
    let grpc = address("gRPC", flags.grpc.or(env.grpc).or(file.grpc))?;
    let export = file.export.map(destination).transpose()?;
    if http.is_none() && grpc.is_none() {
        return Ok(Settings {
            receiver: None,
            export,
        });
    }
    let mut token_files = Vec::new();
    for (agent, path) in file.token_files {
        let key: AgentKey = agent.parse().map_err(|error| {
            Failure::environment(format!(
                "{agent:?} under [otlp.token_files] in config.toml: {error}"
            ))
        })?;
        // The file lies in the data folder, so its relative paths start there.
        token_files.push((key, data_dir.join(path)));
    }
    let require_token = file.require_token.unwrap_or(false);
    if require_token && token_files.is_empty() {
        return Err(Failure::environment(
            "require_token is set under [otlp] in config.toml, but no token is: name a file under [otlp.token_files]",
        ));
    }
    let receiver = Listening {
        http,
        grpc,
        allow_remote: file.allow_remote.unwrap_or(false),
        require_token,
        workspace: workspace.clone(),
        token_files,
    };
    Ok(Settings {
        receiver: Some(receiver),
        export,
    })
}

/// Refuses to send over a network what everybody there could read.
fn destination(export: Export) -> Result<Destination, Failure> {
    let refused = |why: &str| {
        Failure::environment(format!(
            "endpoint under [otlp.export] in config.toml {why}, not {:?}",
            export.endpoint
        ))
    };
    let Some(rest) = export.endpoint.strip_prefix("http://") else {
        return Err(refused(
            "must be http://HOST:PORT of a collector's gRPC port: what is sent is not encrypted, so run a collector on this machine and let it send on",
        ));
    };
    let host = rest.trim_end_matches('/');
    let host = host.rsplit_once(':').map_or(host, |(host, _)| host);
    let address = host.trim_start_matches('[').trim_end_matches(']');
    let local = host == "localhost" || address.parse().is_ok_and(|at: IpAddr| at.is_loopback());
    if !local && !export.allow_plain_text {
        return Err(refused(
            "must be on this machine, since what is sent is not encrypted (or set allow_plain_text there)",
        ));
    }
    Ok(Destination {
        endpoint: export.endpoint,
        headers: export
            .headers
            .into_iter()
            .map(|(name, Hidden(value))| Header { name, value })
            .collect(),
    })
}

fn address(what: &str, given: Option<String>) -> Result<Option<SocketAddr>, Failure> {
    let Some(given) = given.filter(|given| given != "off") else {
        return Ok(None);
    };
    given.parse().map(Some).map_err(|_| {
        Failure::usage(format!(
            "OTLP over {what} listens on an address with a port, such as 127.0.0.1:4318, or `off`, not on {given:?}"
        ))
    })
}
