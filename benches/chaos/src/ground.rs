//! The ground of the run: disks that can fill up and networks that can be unplugged.
//!
//! With namespaces of its own (the runner was started with `--isolated`) disks are small tmpfs mounts
//! and every console has a network of its own behind a veth pair; all of it is gone with the
//! namespace. Without them folders are plain, a full disk is a limit on the size of files, and the
//! network is only the proxy.

use std::net::Ipv4Addr;
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::time::Duration;

use anyhow::{Context, ensure};
use nix::sys::statvfs::statvfs;
use tokio::process::{Child, Command};
use tokio::time::{Instant, sleep};

use crate::process::tied;

const NAMESPACE_LIMIT: Duration = Duration::from_secs(5);

/// Runs a command that must succeed.
async fn system(program: &str, arguments: &[&str]) -> anyhow::Result<()> {
    let output = Command::new(program)
        .args(arguments)
        .stdin(Stdio::null())
        .output()
        .await
        .with_context(|| program.to_owned())?;
    let said = String::from_utf8_lossy(&output.stderr);
    let line = arguments.join(" ");
    ensure!(output.status.success(), "{program} {line}: {}", said.trim());
    Ok(())
}

/// Brings the loopback device of a new network namespace up.
pub(crate) async fn prepare_namespace() -> anyhow::Result<()> {
    system("ip", &["link", "set", "lo", "up"]).await
}

/// A folder that may be on a small file system of its own.
pub(crate) struct Disk {
    pub(crate) path: PathBuf,
    size_mib: Option<u64>,
}

impl Disk {
    /// Makes the folder; on a file system of this size when isolated.
    pub(crate) async fn make(path: PathBuf, isolated: bool, size_mib: u64) -> anyhow::Result<Self> {
        std::fs::create_dir_all(&path)?;
        if isolated {
            let options = format!("size={size_mib}m,mode=0700");
            let place = path.display().to_string();
            system("mount", &["-t", "tmpfs", "-o", &options, "tmpfs", &place]).await?;
        }
        let size_mib = isolated.then_some(size_mib);
        Ok(Self { path, size_mib })
    }

    /// Whether it can be filled.
    pub(crate) fn can_fill(&self) -> bool {
        self.size_mib.is_some()
    }

    /// Takes all free space away.
    pub(crate) async fn fill(&self) -> anyhow::Result<()> {
        let mut last = Ok(());
        // What is written meanwhile makes the size too small: look again.
        for _ in 0..20 {
            let about = statvfs(&self.path)?;
            let used = (about.blocks() - about.blocks_free()) * about.fragment_size();
            last = self.resize(&used.max(1).to_string()).await;
            if last.is_ok() {
                return Ok(());
            }
        }
        last
    }

    /// Gives it back.
    pub(crate) async fn free(&self) -> anyhow::Result<()> {
        match self.size_mib {
            Some(mib) => self.resize(&format!("{mib}m")).await,
            None => Ok(()),
        }
    }

    async fn resize(&self, size: &str) -> anyhow::Result<()> {
        let place = self.path.display().to_string();
        system("mount", &["-o", &format!("remount,size={size}"), &place]).await
    }
}

/// Copies what lies on disks that are gone with the namespace to `kept-…` beside them.
pub(crate) async fn keep(folder: &Path, isolated: bool) -> anyhow::Result<()> {
    if !isolated {
        return Ok(());
    }
    for entry in std::fs::read_dir(folder)?.flatten() {
        if entry.path().is_dir() {
            let from = entry.path().display().to_string();
            let name = entry.file_name().to_string_lossy().into_owned();
            let to = folder.join(format!("kept-{name}"));
            system("cp", &["-r", &from, &to.display().to_string()]).await?;
        }
    }
    Ok(())
}

/// A network of one console, joined to the bus by a veth pair.
pub(crate) struct Island {
    /// Holds the namespace open.
    _holder: Child,
    namespace: String,
    device: String,
    /// The runner's end.
    pub(crate) host: Ipv4Addr,
}

impl Island {
    /// Makes the namespace with this number.
    pub(crate) async fn make(number: u8) -> anyhow::Result<Self> {
        let mut holder = tied()?;
        holder.args(["unshare", "--net", "sleep", "infinity"]);
        holder.stdin(Stdio::null()).kill_on_drop(true);
        let holder = holder.spawn()?;
        let pid = holder.id().context("the namespace ended at once")?;
        let namespace = format!("/proc/{pid}/ns/net");
        wait_for_namespace(Path::new(&namespace)).await?;
        let device = format!("chaos{number}");
        let (host, inside) = (
            Ipv4Addr::new(10, 77, number, 1),
            Ipv4Addr::new(10, 77, number, 2),
        );
        let peer = ["type", "veth", "peer", "name", "bus", "netns"];
        let pid = pid.to_string();
        let link = [&["link", "add", &device][..], &peer, &[&pid]].concat();
        system("ip", &link).await?;
        system(
            "ip",
            &["addr", "add", &format!("{host}/30"), "dev", &device],
        )
        .await?;
        system("ip", &["link", "set", &device, "up"]).await?;
        let enter = format!("--net={namespace}");
        for inner in [
            &["addr", "add", &format!("{inside}/30"), "dev", "bus"][..],
            &["link", "set", "bus", "up"],
            &["link", "set", "lo", "up"],
        ] {
            system("nsenter", &[&[enter.as_str(), "ip"], inner].concat()).await?;
        }
        Ok(Self {
            _holder: holder,
            namespace,
            device,
            host,
        })
    }

    /// What comes before a program that is to run in it.
    pub(crate) fn enter(&self) -> Vec<String> {
        vec![
            "nsenter".to_owned(),
            format!("--net={}", self.namespace),
            "--".to_owned(),
        ]
    }

    /// Pulls the plug, or puts it back in.
    pub(crate) async fn plug(&self, plugged: bool) -> anyhow::Result<()> {
        let way = if plugged { "up" } else { "down" };
        system("ip", &["link", "set", &self.device, way]).await
    }
}

async fn wait_for_namespace(namespace: &Path) -> anyhow::Result<()> {
    let own = std::fs::read_link("/proc/self/ns/net")?;
    let give_up = Instant::now() + NAMESPACE_LIMIT;
    loop {
        if std::fs::read_link(namespace).is_ok_and(|other| other != own) {
            return Ok(());
        }
        ensure!(Instant::now() < give_up, "no network namespace was made");
        sleep(Duration::from_millis(10)).await;
    }
}

/// A limit on the size of every file that a process writes; none lifts it.
pub(crate) async fn limit_files(pid: u32, bytes: Option<u64>) -> anyhow::Result<()> {
    let limit = bytes.map_or_else(|| "unlimited".to_owned(), |bytes| bytes.to_string());
    // Only the soft limit, which its owner may lift again.
    let arguments = ["--pid", &pid.to_string(), &format!("--fsize={limit}:")];
    match system("prlimit", &arguments).await {
        // It has ended meanwhile.
        Err(_) if !Path::new(&format!("/proc/{pid}")).exists() => Ok(()),
        done => done,
    }
}
