//! An outside server as many run it: one default account, without credentials and permissions.

use crate::TempData;
use crate::server::KilledOnDrop;
use countersign_core::bus::{Bus, BusError, BusOptions, Credentials, server_program};
use std::process::{Command, Stdio};
use std::time::Duration;

const START_LIMIT: Duration = Duration::from_secs(30);

/// A nats-server with JetStream and nothing else; gone on drop.
pub struct PlainServer {
    // Dropped before its folder.
    process: KilledOnDrop,
    data: TempData,
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
        let conf = write_conf(data.path(), -1, extra);
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
        Self { process, data, url }
    }

    /// Takes over other lines of its configuration, as its administrator would.
    pub async fn reconfigure(&self, extra: &str) {
        let log = self.data.path().join("log");
        let read = || std::fs::read_to_string(&log).unwrap_or_default();
        let before = read().len();
        write_conf(self.data.path(), i32::from(self.port()), extra);
        let pid = self.process.0.id().to_string();
        let reported = Command::new("kill").args(["-HUP", &pid]).status();
        assert!(reported.expect("the command kill exists").success());
        let taken = async {
            while !read()[before..].contains("Reloaded server configuration") {
                tokio::time::sleep(Duration::from_millis(10)).await;
            }
        };
        tokio::time::timeout(START_LIMIT, taken)
            .await
            .expect("the server takes over its configuration");
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

    /// Connects a console to it; accepts the default account if `allow_single_account` is true.
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

fn write_conf(folder: &std::path::Path, port: i32, extra: &str) -> std::path::PathBuf {
    let conf = folder.join("nats.conf");
    let folder = folder.display();
    let text = format!(
        "listen: \"127.0.0.1:{port}\"\nports_file_dir: \"{folder}\"\nmax_payload: 4194304\n\
         log_file: \"{folder}/log\"\n\
         jetstream {{ store_dir: \"{folder}\", max_file_store: 1TB }}\n{extra}\n"
    );
    std::fs::write(&conf, text).expect("a temporary folder is writable");
    conf
}
