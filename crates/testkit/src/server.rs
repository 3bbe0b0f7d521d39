//! The server as the console runs it.

use crate::{AgentCredentials, TempData, UserKey};
use countersign_core::bus::{
    AgentAccess, Bus, BusError, BusIdentity, BusOptions, Credentials, EmbeddedConfig,
    EmbeddedServer, Founding,
};
use countersign_wire::Sha256Digest;
use uuid::Uuid;

/// An embedded nats-server on its own data folder; both are gone on drop.
pub struct TestServer {
    // Dropped before its folder.
    server: Option<EmbeddedServer>,
    data: TempData,
    console: UserKey,
    agents: Vec<AgentAccess>,
}

impl TestServer {
    /// Starts a server with one console user and no agents.
    pub async fn start() -> Self {
        let mut server = Self {
            server: None,
            data: TempData::new(),
            console: UserKey::new(),
            agents: Vec::new(),
        };
        server.start_again().await;
        server
    }

    async fn start_again(&mut self) {
        let started = EmbeddedServer::start(self.config())
            .await
            .expect("nats-server starts; `make setup` fetches it");
        self.server = Some(started);
    }

    /// What the server was started with.
    pub fn config(&self) -> EmbeddedConfig {
        EmbeddedConfig {
            data_dir: self.data.path().into(),
            binary: None,
            console_user: self.console.public.clone(),
            agents: self.agents.clone(),
        }
    }

    /// The server.
    pub fn embedded(&self) -> &EmbeddedServer {
        self.server
            .as_ref()
            .expect("a test server runs until it is dropped")
    }

    /// Where it listens.
    pub fn url(&self) -> String {
        self.embedded().url()
    }

    /// The console's login.
    pub fn console_key(&self) -> &UserKey {
        &self.console
    }

    /// The data folder; the server's is `nats` in it.
    pub fn data(&self) -> &TempData {
        &self.data
    }

    /// Options with which a console connects.
    pub fn console_options(&self) -> BusOptions {
        BusOptions {
            url: self.url(),
            credentials: Credentials::NkeySeed(self.console.seed.clone()),
            tls: Default::default(),
            console_id: "test".into(),
            allow_single_account: false,
        }
    }

    /// Connects as the console.
    pub async fn console(&self) -> Bus {
        Bus::connect(self.console_options())
            .await
            .expect("the console can connect")
    }

    /// Connects as the console and creates the stores.
    pub async fn console_with_streams(&self) -> Bus {
        let bus = self.console().await;
        made(&bus, 1).await.expect("the stores can be created");
        bus
    }

    /// Enrols an agent.
    pub async fn agent(&mut self, workspace: &str, agent: &str) -> AgentCredentials {
        let credentials = AgentCredentials {
            url: self.url(),
            workspace: workspace.into(),
            agent: agent.into(),
            key: UserKey::new(),
        };
        self.agents.push(credentials.access());
        self.apply().await;
        credentials
    }

    /// Ends an agent's enrolment.
    pub async fn remove(&mut self, credentials: &AgentCredentials) {
        let access = credentials.access();
        self.agents.retain(|agent| *agent != access);
        self.apply().await;
    }

    async fn apply(&self) {
        self.embedded()
            .reload(&self.agents)
            .await
            .expect("the server takes over its agents");
    }

    /// Stops it in an orderly way and starts it again on the same port and data.
    pub async fn restart(&mut self) {
        self.stop().await;
        self.start_again().await;
    }

    /// Stops it in an orderly way until [`Self::restart`].
    pub async fn stop(&mut self) {
        if let Some(server) = self.server.take() {
            server.stop().await;
        }
    }

    /// Kills the process as `kill -9` does; its supervisor starts it again. Returns the killed pid.
    pub fn kill9(&self) -> u32 {
        let pid = self.embedded().pid().expect("the server runs");
        kill(pid);
        pid
    }
}

/// Sends SIGKILL.
pub(crate) fn kill(pid: u32) {
    let status = std::process::Command::new("kill")
        .args(["-9", &pid.to_string()])
        .status()
        .expect("the command kill exists");
    assert!(status.success(), "process {pid} was gone already");
}

/// Starts nothing: ends the process when the owner is dropped.
pub(crate) struct KilledOnDrop(pub(crate) std::process::Child);

impl Drop for KilledOnDrop {
    fn drop(&mut self) {
        // Both fail only when it is gone already.
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// Makes the stores of a realm whose log nobody can begin, or joins those that are there.
pub async fn made(bus: &Bus, replicas: usize) -> Result<BusIdentity, BusError> {
    let mut founding = Founding {
        realm: Uuid::new_v4(),
        root: Sha256Digest::of_bytes(b"root"),
    };
    loop {
        match bus.ensure(Some(&founding), replicas).await {
            Err(BusError::AnotherRealm { realm }) => founding.realm = realm,
            found => return found,
        }
    }
}
