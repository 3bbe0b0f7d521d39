//! An outside server as many run it: one default account, no credentials, no permissions.

use crate::TempData;
use crate::server::KilledOnDrop;
use countersign_core::bus::{Bus, BusError, BusOptions, Credentials, server_program};
use std::process::{Command, Stdio};
use std::time::Duration;

const START_LIMIT: Duration = Duration::from_secs(30);

/// A nats-server with JetStream and nothing else; gone on drop.
pub struct PlainServer {
    // Dropped before its folder.
    _process: KilledOnDrop,
    _data: TempData,
    url: String,
}

impl PlainServer {
    /// Starts one on a free port.
    pub async fn start() -> Self {
        Self::start_with("").await
    }

    /// Starts one with more lines in its configuration.
    pub async fn start_with(extra: &str) -> Self {
        let data = TempData::new();
        let (program, _) = server_program(None).await.expect("nats-server is there");
        let conf = data.path().join("nats.conf");
        let folder = data.path().display();
        let text = format!(
            "listen: \"127.0.0.1:-1\"\nports_file_dir: \"{folder}\"\nmax_payload: 4194304\n\
             jetstream {{ store_dir: \"{folder}\", max_file_store: 1TB }}\n{extra}\n"
        );
        std::fs::write(&conf, text).expect("a temporary folder is writable");
        let child = Command::new(program)
            .arg("--config")
            .arg(&conf)
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .expect("nats-server can be started");
        let process = KilledOnDrop(child);
        let url = tokio::time::timeout(START_LIMIT, announced(data.path()))
            .await
            .expect("nats-server listens in time");
        Self {
            _process: process,
            _data: data,
            url,
        }
    }

    /// The port where it listens on 127.0.0.1.
    pub fn port(&self) -> u16 {
        let port = self.url.rsplit(':').next().map(str::parse);
        port.expect("a URL with a port").expect("a number")
    }

    /// Where it listens.
    pub fn url(&self) -> &str {
        &self.url
    }

    /// Connects a console to it, accepting the default account if told so.
    pub async fn console(&self, allow_single_account: bool) -> Result<Bus, BusError> {
        Bus::connect(BusOptions {
            url: self.url.clone(),
            credentials: Credentials::None,
            tls: Default::default(),
            console_id: "test".into(),
            allow_single_account,
        })
        .await
    }
}

async fn announced(folder: &std::path::Path) -> String {
    loop {
        let ports = std::fs::read_dir(folder)
            .expect("the folder is there")
            .flatten()
            .find(|entry| entry.file_name().to_string_lossy().ends_with(".ports"));
        let url = ports
            .and_then(|entry| std::fs::read(entry.path()).ok())
            .and_then(|bytes| serde_json::from_slice::<serde_json::Value>(&bytes).ok())
            .and_then(|ports| Some(ports["nats"][0].as_str()?.to_owned()));
        match url {
            Some(url) => return url,
            None => tokio::time::sleep(Duration::from_millis(10)).await,
        }
    }
}
