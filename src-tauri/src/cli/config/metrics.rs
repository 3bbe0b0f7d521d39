//! The section `[metrics]` of `config.toml`.

use std::path::{Path, PathBuf};

use serde::Deserialize;

use super::super::failure::Failure;
use crate::metrics::{Listening, Settings};

/// One source of these settings; flags and environment have the address only.
#[derive(Debug, Default, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Section {
    listen: Option<String>,
    token_file: Option<PathBuf>,
    tls_cert: Option<PathBuf>,
    tls_key: Option<PathBuf>,
    #[serde(default)]
    allow_plain_text: bool,
}

impl Section {
    pub(super) fn address(listen: Option<String>) -> Self {
        Self {
            listen,
            ..Self::default()
        }
    }
}

/// Flags, environment and file together. `off` as an address switches off what a later source switches on.
pub(super) fn settings(
    [flags, env, file]: [Section; 3],
    data_dir: &Path,
) -> Result<Settings, Failure> {
    let listen = flags.listen.or(env.listen).or(file.listen);
    let Some(listen) = listen.filter(|listen| listen != "off") else {
        return Ok(None);
    };
    let listen = listen.parse().map_err(|_| {
        Failure::usage(format!(
            "metrics listen on an address with a port, such as 127.0.0.1:9464, or `off`, not on {listen:?}"
        ))
    })?;
    // The file lies in the data folder, so its relative paths start there.
    let beside = |path: Option<PathBuf>| path.map(|path| data_dir.join(path));
    Ok(Some(Listening {
        listen,
        token_file: beside(file.token_file),
        tls_cert: beside(file.tls_cert),
        tls_key: beside(file.tls_key),
        allow_plain_text: file.allow_plain_text,
    }))
}
