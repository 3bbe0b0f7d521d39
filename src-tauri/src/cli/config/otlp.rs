//! The section `[otlp]` of `config.toml`.

use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};

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
    if http.is_none() && grpc.is_none() {
        return Ok(Settings::default());
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
