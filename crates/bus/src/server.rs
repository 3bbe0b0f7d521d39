//! The nats-server that the console runs when no bus was named: on loopback, with both accounts.
//!
//! It never shares its store with another process and never outlives the console.

use super::accounts::{self, AgentAccess};
use super::folder::NatsFolder;
use super::process::{ProcessSlot, ProcessThread, Started};
use super::supervise::{Launcher, supervise};
use super::unix::Signal;
use super::{BusError, binary, server_conf};
use std::net::{Ipv4Addr, TcpListener};
use std::path::PathBuf;
use std::time::Duration;
use tokio::sync::{Mutex, watch};
use tokio::task::JoinHandle;

/// Below the range from which systems take ports for outgoing connections, so that the port is
/// still free at the next start and a reconnecting client cannot meet itself on it.
const PORTS: std::ops::RangeInclusive<u16> = 10_240..=32_767;
const PORT_TRIES: usize = 64;
/// How long the remembered port may be taken before another one is.
const PORT_LIMIT: Duration = Duration::from_secs(3);
const START_TRIES: usize = 3;
const STOP_LIMIT: Duration = Duration::from_secs(10);
const RELOAD_LIMIT: Duration = Duration::from_secs(10);
const POLL: Duration = Duration::from_millis(10);

/// What a console needs to run its own server.
#[derive(Debug, Clone)]
pub struct EmbeddedConfig {
    /// The console's data folder; the server's is `nats` in it.
    pub data_dir: PathBuf,
    /// A nats-server to use instead of the one that is found.
    pub binary: Option<PathBuf>,
    /// Public nkey with which the console logs in.
    pub console_user: String,
    /// Enrolled agents.
    pub agents: Vec<AgentAccess>,
}

/// Whether the server runs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ServerState {
    /// It listens.
    Running {
        /// Its process id.
        pid: u32,
    },
    /// It ended and is being started again on the same port.
    Restarting {
        /// Starts that were tried since it last ran steadily.
        attempt: u32,
        /// Why it ended or did not start.
        why: String,
    },
    /// It was stopped.
    Stopped,
}

/// A running nats-server; dropping it kills the server.
pub struct EmbeddedServer {
    folder: NatsFolder,
    port: u16,
    /// The remembered port, where that was taken.
    moved_from: Option<u16>,
    version: String,
    console_user: String,
    slot: ProcessSlot,
    state: watch::Sender<ServerState>,
    supervisor: Mutex<Option<JoinHandle<()>>>,
    /// The configuration in force; held while another one is applied.
    conf: Mutex<String>,
}

impl EmbeddedServer {
    /// Starts the server and waits until it listens, on the port of the last start if that is free.
    ///
    /// Errors: every `bus_server_*` code, `bus_store_locked`, `bus_store`, `bus_bad_name`.
    pub async fn start(config: EmbeddedConfig) -> Result<Self, BusError> {
        let folder = NatsFolder::create(&config.data_dir)?;
        let lock = folder.lock().await?;
        let binary = binary::find(config.binary.as_deref()).await?;
        let version = binary.version.clone();
        let slot = ProcessSlot::default();
        let thread = ProcessThread::new(slot.clone())
            .map_err(|error| BusError::store(folder.root(), error))?;
        let launcher = Launcher {
            folder: folder.clone(),
            binary,
            lock,
            slot: slot.clone(),
            thread,
        };
        let home = folder.remembered_port();
        let (started, port, conf) = first_start(&launcher, &config, home).await?;
        let moved_from = home.filter(|home| *home != port);
        match moved_from {
            Some(home) => {
                folder.remember_instead(Some(port))?;
                tracing::warn!(
                    "port {home} of 127.0.0.1 is taken by another program; the server listens on {port}, and agents that were enrolled before do not find it"
                );
            }
            None => {
                folder.remember_port(port)?;
                folder.remember_instead(None)?;
            }
        }
        let (state, _) = watch::channel(ServerState::Running { pid: started.pid });
        let supervisor = tokio::spawn(supervise(launcher, started, state.clone()));
        Ok(Self {
            folder,
            port,
            moved_from,
            version,
            console_user: config.console_user,
            slot,
            state,
            supervisor: Mutex::new(Some(supervisor)),
            conf: Mutex::new(conf),
        })
    }

    /// Where clients connect; the same for the life of the data folder unless the port was taken.
    pub fn url(&self) -> String {
        format!("nats://{}", self.address())
    }

    /// Where it listens.
    pub fn address(&self) -> String {
        address(self.port)
    }

    /// Where it would have listened, had that not been taken at the start. The next start tries it again.
    pub fn moved_from(&self) -> Option<String> {
        self.moved_from.map(address)
    }

    /// The next starts try the port of now first.
    pub fn stay_here(&self) -> Result<(), BusError> {
        self.folder.remember_port(self.port)?;
        self.folder.remember_instead(None)
    }

    /// The server's process id while one runs.
    pub fn pid(&self) -> Option<u32> {
        self.slot.pid()
    }

    /// Version of the nats-server program.
    pub fn version(&self) -> &str {
        &self.version
    }

    /// Follows whether the server runs.
    pub fn state(&self) -> watch::Receiver<ServerState> {
        self.state.subscribe()
    }

    /// Replaces the enrolled agents; an agent that is not among them loses the connection.
    ///
    /// Returns once the server says that it took the change over. Errors: `bus_bad_name`,
    /// `bus_store`, `bus_reload` (then the former configuration stays).
    pub async fn reload(&self, agents: &[AgentAccess]) -> Result<(), BusError> {
        let mut current = self.conf.lock().await;
        let next = conf_text(&self.folder, self.port, &self.console_user, agents)?;
        if next == *current {
            return Ok(());
        }
        self.folder.write_conf(&next)?;
        let log_from = self.folder.log_size();
        // A server that is starting reads the new file anyway, and says so when it is ready.
        self.slot.signal(Signal::SIGHUP);
        match self.reload_outcome(log_from).await {
            Ok(()) => {
                *current = next;
                Ok(())
            }
            Err(why) => {
                self.folder.write_conf(&current)?;
                Err(BusError::Reload { why })
            }
        }
    }

    async fn reload_outcome(&self, log_from: u64) -> Result<(), String> {
        let give_up = tokio::time::Instant::now() + RELOAD_LIMIT;
        loop {
            let log = self.folder.log_since(log_from);
            if log.contains("Reloaded server configuration") || log.contains("Server is ready") {
                return Ok(());
            }
            if let Some(line) = log.lines().find(|line| line.contains("Failed to reload")) {
                return Err(line.to_owned());
            }
            if tokio::time::Instant::now() >= give_up {
                return Err(format!(
                    "it did not answer within {} s",
                    RELOAD_LIMIT.as_secs()
                ));
            }
            tokio::time::sleep(POLL).await;
        }
    }

    /// Ends the server in an orderly way, after 10 s by force.
    pub async fn stop(&self) {
        self.slot.close();
        self.slot.signal(Signal::SIGTERM);
        let give_up = tokio::time::Instant::now() + STOP_LIMIT;
        while self.slot.pid().is_some() && tokio::time::Instant::now() < give_up {
            tokio::time::sleep(POLL).await;
        }
        self.slot.kill();
        let supervisor = self.supervisor.lock().await.take();
        if let Some(supervisor) = supervisor {
            supervisor.abort();
            // It was aborted: its end is all that matters.
            let _ = supervisor.await;
        }
        self.state.send_replace(ServerState::Stopped);
    }
}

impl Drop for EmbeddedServer {
    fn drop(&mut self) {
        self.slot.kill();
        if let Some(supervisor) = self.supervisor.get_mut().take() {
            supervisor.abort();
        }
        self.state.send_replace(ServerState::Stopped);
    }
}

async fn first_start(
    launcher: &Launcher,
    config: &EmbeddedConfig,
    home: Option<u16>,
) -> Result<(Started, u16, String), BusError> {
    let mut port = match home {
        Some(home) if becomes_free(home).await => Some(home),
        Some(_) => launcher.folder.port_instead().filter(|&port| is_free(port)),
        None => None,
    };
    let mut tries = 0;
    loop {
        tries += 1;
        let chosen = match port.take() {
            Some(port) => port,
            None => free_port(launcher)?,
        };
        let conf = conf_text(
            &launcher.folder,
            chosen,
            &config.console_user,
            &config.agents,
        )?;
        launcher.folder.write_conf(&conf)?;
        match launcher.launch().await {
            Ok((started, port)) => return Ok((started, port, conf)),
            // Somebody took the port between the look and the start.
            Err(_) if tries < START_TRIES && !is_free(chosen) => {}
            Err(error) => return Err(error),
        }
    }
}

fn address(port: u16) -> String {
    format!("127.0.0.1:{port}")
}

/// Agents know that port: a program that is just ending is waited for.
async fn becomes_free(port: u16) -> bool {
    let give_up = tokio::time::Instant::now() + PORT_LIMIT;
    while !is_free(port) {
        if tokio::time::Instant::now() >= give_up {
            return false;
        }
        tokio::time::sleep(POLL).await;
    }
    true
}

fn is_free(port: u16) -> bool {
    TcpListener::bind((Ipv4Addr::LOCALHOST, port)).is_ok()
}

fn free_port(launcher: &Launcher) -> Result<u16, BusError> {
    (0..PORT_TRIES)
        .map(|_| rand::random_range(PORTS))
        .find(|&port| is_free(port))
        .ok_or_else(|| BusError::ServerStart {
            why: format!(
                "{PORT_TRIES} ports of 127.0.0.1 between {} and {} are taken",
                PORTS.start(),
                PORTS.end()
            ),
            log: launcher.folder.log(),
        })
}

fn conf_text(
    folder: &NatsFolder,
    port: u16,
    console_user: &str,
    agents: &[AgentAccess],
) -> Result<String, BusError> {
    let mut agents = agents.to_vec();
    agents.sort();
    agents.dedup();
    let accounts = accounts::permissions_block(&[console_user.to_owned().into()], &agents)?;
    server_conf::nats_conf(port, folder, &accounts)
}
