//! An outside nats-server with the accounts that `countersign bus permissions` prints.

use std::net::{Ipv4Addr, SocketAddr, TcpListener};
use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::{Context, ensure};
use nix::sys::signal::Signal;
use tokio::net::TcpStream;
use tokio::time::{Instant, sleep};

use crate::ground::Disk;
use crate::process::{Kept, tied};

const LISTEN_LIMIT: Duration = Duration::from_secs(30);

/// The server.
pub(crate) struct OutsideBus {
    pub(crate) process: Kept,
    pub(crate) disk: Disk,
    pub(crate) address: SocketAddr,
    conf: PathBuf,
}

impl OutsideBus {
    /// Starts it for these consoles.
    pub(crate) async fn start(folder: &Path, disk: Disk, accounts: &str) -> anyhow::Result<Self> {
        let (program, _) = countersign_core::bus::server_program(None).await?;
        // Isolated, the consoles reach it through its proxies only; so 127.0.0.1 is enough.
        let port = TcpListener::bind((Ipv4Addr::LOCALHOST, 0))?
            .local_addr()?
            .port();
        let address = SocketAddr::from((Ipv4Addr::LOCALHOST, port));
        let conf = folder.join("nats.conf");
        let log = folder.join("nats-server.log");
        let started = conf.clone();
        let mut process = Kept::new("nats-server", log, move |_| {
            let mut command = tied()?;
            command.arg(&program).arg("--config").arg(&started);
            Ok(command)
        });
        let mut bus = Self {
            disk,
            address,
            conf,
            process: {
                process.want();
                process
            },
        };
        bus.write_conf(accounts)?;
        bus.process.look()?;
        bus.listens().await?;
        Ok(bus)
    }

    fn write_conf(&self, accounts: &str) -> anyhow::Result<()> {
        let store = self.disk.path.display();
        let address = self.address;
        // The streams reserve 12 GiB; a disk that is really full refuses each write.
        let text = format!(
            "listen: \"{address}\"\nmax_payload: 4194304\n\
             jetstream {{ store_dir: \"{store}\", max_file_store: 1TB }}\n{accounts}\n"
        );
        std::fs::write(&self.conf, text).with_context(|| self.conf.display().to_string())
    }

    /// Takes other accounts over while it runs.
    pub(crate) fn reload(&self, accounts: &str) -> anyhow::Result<()> {
        self.write_conf(accounts)?;
        self.process.signal(Signal::SIGHUP);
        Ok(())
    }

    /// Waits until it takes connections.
    async fn listens(&mut self) -> anyhow::Result<()> {
        let give_up = Instant::now() + LISTEN_LIMIT;
        while TcpStream::connect(self.address).await.is_err() {
            ensure!(Instant::now() < give_up, "nats-server does not listen");
            self.process.look()?;
            sleep(Duration::from_millis(20)).await;
        }
        Ok(())
    }
}

/// Accounts for several consoles, from the blocks that each of them printed: the users of the others
/// are added to the first one's.
pub(crate) fn merge(blocks: &[String]) -> anyhow::Result<String> {
    let console = regex::Regex::new(r"(?s)CORE \{.*?users: \[\n(.*?)    \]")?;
    let mut merged = blocks.first().context("no console")?.clone();
    for block in &blocks[1..] {
        let users = console.captures(block).context("no console in a block")?;
        let users = &users[1];
        let place = console.captures(&merged).context("no console in a block")?;
        let end = place.get(1).context("no users")?.end();
        merged.insert_str(end, users);
    }
    Ok(merged)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_users_of_every_console_are_in_the_merged_block() {
        let block = |user: &str| {
            format!(
                "accounts {{\n  CORE {{\n    users: [\n      {{ nkey: {user} }}\n    ]\n  }}\n  AGENTS {{\n    users: [\n    ]\n  }}\n}}\n"
            )
        };
        let merged = merge(&[block("UA"), block("UB")]).unwrap();
        let users = "users: [\n      { nkey: UA }\n      { nkey: UB }\n    ]\n  }\n  AGENTS";
        assert!(merged.contains(users), "{merged}");
    }
}
