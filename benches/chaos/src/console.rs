//! A console: the real program with `serve`, its operator, and what can go wrong with both.

use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::{Context, bail};
use serde_json::Value;
use tokio::process::Command;
use tokio::time::timeout;

use crate::ground::{Disk, Island};
use crate::process::{Kept, tied};
use crate::proxy::Proxy;

/// Longer than any command of the program takes to give up.
const COMMAND_LIMIT: Duration = Duration::from_secs(60);

/// A console with everything of its own.
pub(crate) struct Console {
    pub(crate) name: String,
    pub(crate) process: Kept,
    pub(crate) operator: Kept,
    pub(crate) disk: Disk,
    /// None on its own server.
    pub(crate) wire: Option<Proxy>,
    pub(crate) island: Option<Island>,
    settings: Settings,
}

/// How its programs are started.
#[derive(Clone)]
pub(crate) struct Settings {
    /// A realm lets nobody in by himself who is called like an operator in force.
    operator: String,
    program: PathBuf,
    data_dir: PathBuf,
    nats_url: Option<String>,
    enter: Vec<String>,
    restless: f64,
}

impl Settings {
    /// A command of the program, in the console's network.
    fn command(&self, arguments: &[&str]) -> anyhow::Result<Command> {
        let mut command = self.tied()?;
        command.arg(&self.program).args(arguments);
        command
            .env("COUNTERSIGN_DATA_DIR", &self.data_dir)
            .env("COUNTERSIGN_OPERATOR", &self.operator)
            .env("COUNTERSIGN_KEYS", "file")
            .env("RUST_LOG", "info");
        if let Some(url) = &self.nats_url {
            command
                .env("COUNTERSIGN_NATS_URL", url)
                .env("COUNTERSIGN_NATS_NKEY", self.login());
        }
        Ok(command)
    }

    fn tied(&self) -> anyhow::Result<Command> {
        // A write beyond a limit on the size of files is to fail, not to kill.
        let mut command = tied()?;
        command.args(&self.enter);
        command.args(["env", "--ignore-signal=XFSZ"]);
        Ok(command)
    }

    fn login(&self) -> PathBuf {
        self.data_dir.join("keys/login.nk")
    }
}

/// What a new console needs.
pub(crate) struct NewConsole<'a> {
    pub(crate) name: &'a str,
    pub(crate) program: &'a Path,
    /// Where logs and journals go.
    pub(crate) folder: &'a Path,
    pub(crate) disk: Disk,
    pub(crate) island: Option<Island>,
    pub(crate) seed: u64,
    /// How likely its operator changes the shared policy at each look.
    pub(crate) restless: f64,
}

impl Console {
    /// A console that does not run yet.
    pub(crate) fn new(new: NewConsole<'_>) -> Self {
        let settings = Settings {
            operator: new.name.to_owned(),
            program: new.program.to_owned(),
            data_dir: new.disk.path.clone(),
            nats_url: None,
            enter: new.island.as_ref().map(Island::enter).unwrap_or_default(),
            restless: new.restless,
        };
        let mut console = Self {
            name: new.name.to_owned(),
            process: Kept::new(new.name, PathBuf::new(), |_| bail!("not set up")),
            operator: Kept::new(new.name, PathBuf::new(), |_| bail!("not set up")),
            disk: new.disk,
            wire: None,
            island: new.island,
            settings,
        };
        console.set_up(new.folder, new.seed);
        console
    }

    fn set_up(&mut self, folder: &Path, seed: u64) {
        let name = &self.name;
        let settings = self.settings.clone();
        let log = folder.join(format!("{name}.log"));
        self.process = Kept::new(name.clone(), log, move |_| settings.command(&["serve"]));
        let settings = self.settings.clone();
        let journals = folder.join(format!("operator-{name}"));
        let log = folder.join(format!("operator-{name}.log"));
        self.operator = Kept::new(format!("operator of {name}"), log, move |start| {
            let mut command = settings.tied()?;
            command.arg(std::env::current_exe()?).arg("operator");
            command.arg("--program").arg(&settings.program);
            command.arg("--data-dir").arg(&settings.data_dir);
            if let Some(url) = &settings.nats_url {
                command.args(["--nats-url", url]);
                command.arg("--nats-nkey").arg(settings.login());
            }
            command
                .arg("--journal")
                .arg(format!("{}-{start}.jsonl", journals.display()));
            let seed = seed.wrapping_mul(10_000).wrapping_add(start);
            command.args(["--seed", &seed.to_string()]);
            command.args(["--seconds", &(4 + start % 6).to_string()]);
            command.args(["--restless", &settings.restless.to_string()]);
            Ok(command)
        });
        self.operator.comes_and_goes = true;
    }

    /// Puts it on an outside server, behind a wire.
    pub(crate) async fn join(
        &mut self,
        bus: SocketAddr,
        folder: &Path,
        seed: u64,
    ) -> anyhow::Result<()> {
        let host = match &self.island {
            Some(island) => island.host,
            None => std::net::Ipv4Addr::LOCALHOST,
        };
        let wire = Proxy::start(host, bus).await?;
        self.settings.nats_url = Some(wire.url());
        self.wire = Some(wire);
        self.set_up(folder, seed);
        Ok(())
    }

    /// Runs a command of the program to its end, with `--json`; its last line.
    pub(crate) async fn ask(&self, arguments: &[&str]) -> anyhow::Result<Value> {
        let line = arguments.join(" ");
        let mut command = self.settings.command(&[arguments, &["--json"]].concat())?;
        command.kill_on_drop(true);
        let output = timeout(COMMAND_LIMIT, command.output()).await;
        let output = output.with_context(|| format!("countersign {line} does not end"))??;
        let said = String::from_utf8_lossy(&output.stdout);
        match said.lines().last() {
            Some(last) => serde_json::from_str(last).with_context(|| said.clone().into_owned()),
            None => {
                let error = String::from_utf8_lossy(&output.stderr);
                bail!("{}: countersign {line}: {}", self.name, error.trim())
            }
        }
    }

    /// The accounts block that it prints.
    pub(crate) async fn permissions(&self) -> anyhow::Result<String> {
        let block = self.ask(&["bus", "permissions"]).await?;
        let text = block["nats_conf"].as_str().context("no accounts block")?;
        Ok(text.to_owned())
    }

    /// The seed with which it logs in.
    pub(crate) fn login_seed(&self) -> anyhow::Result<String> {
        let path = self.settings.login();
        let seed = std::fs::read_to_string(&path).with_context(|| path.display().to_string())?;
        Ok(seed.trim().to_owned())
    }

    /// Process of its own nats-server, as it publishes for other processes.
    pub(crate) fn server_pid(&self) -> Option<i32> {
        let text = std::fs::read(self.settings.data_dir.join("runtime.json")).ok()?;
        let runtime: Value = serde_json::from_slice(&text).ok()?;
        i32::try_from(runtime["nats_pid"].as_i64()?).ok()
    }

    /// Its process, once it runs.
    pub(crate) fn pid(&self) -> Option<u32> {
        self.process.pid_number()
    }

    /// Its database.
    pub(crate) fn database(&self) -> PathBuf {
        self.settings.data_dir.join("countersign.db")
    }
}
