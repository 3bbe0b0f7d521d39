//! A nats-server of its own with JetStream and nothing else.

use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::time::Duration;

use anyhow::Context;
use tokio::process::{Child, Command};

const START_LIMIT: Duration = Duration::from_secs(30);

/// Started here, ended on drop.
#[derive(Debug)]
pub struct Server {
    child: Child,
    /// Where it listens.
    pub url: String,
}

impl Server {
    /// Starts it with its files in `folder`.
    ///
    /// # Errors
    /// When it does not listen within half a minute.
    pub async fn start(folder: &Path) -> anyhow::Result<Self> {
        let text = folder
            .to_str()
            .context("the folder is not UTF-8")?
            .replace('"', "\\\"");
        let conf = folder.join("nats.conf");
        std::fs::write(
            &conf,
            format!(
                "listen: \"127.0.0.1:-1\"\nports_file_dir: \"{text}\"\nlog_file: \"{text}/log\"\n\
                 max_payload: 4194304\ndisable_sublist_cache: true\njetstream {{ store_dir: \"{text}\", max_file_store: 1TB }}\n"
            ),
        )?;
        let child = Command::new(program()?)
            .arg("--config")
            .arg(&conf)
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .kill_on_drop(true)
            .spawn()
            .context("nats-server does not start")?;
        let url = tokio::time::timeout(START_LIMIT, announced(folder))
            .await
            .context("nats-server does not listen in time")?;
        Ok(Self { child, url })
    }

    /// Ends it.
    pub async fn stop(mut self) -> anyhow::Result<()> {
        self.child.kill().await.context("nats-server does not end")
    }
}

/// `COUNTERSIGN_NATS_SERVER`, else `.setup/bin` of a folder above this program, else on `PATH`.
fn program() -> anyhow::Result<PathBuf> {
    if let Some(named) = std::env::var_os("COUNTERSIGN_NATS_SERVER").filter(|v| !v.is_empty()) {
        return Ok(named.into());
    }
    let here = std::env::current_exe()?;
    let set_up = here
        .ancestors()
        .map(|folder| folder.join(".setup/bin/nats-server"));
    Ok(set_up
        .into_iter()
        .find(|path| path.is_file())
        .unwrap_or_else(|| "nats-server".into()))
}

async fn announced(folder: &Path) -> String {
    loop {
        let entries = std::fs::read_dir(folder).into_iter().flatten().flatten();
        let url = entries
            .filter(|entry| entry.file_name().to_string_lossy().ends_with(".ports"))
            .find_map(|entry| {
                let ports: serde_json::Value =
                    serde_json::from_slice(&std::fs::read(entry.path()).ok()?).ok()?;
                ports["nats"][0].as_str().map(str::to_owned)
            });
        match url {
            Some(url) => return url,
            None => tokio::time::sleep(Duration::from_millis(10)).await,
        }
    }
}
