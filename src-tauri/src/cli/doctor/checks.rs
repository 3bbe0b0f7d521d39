//! The checks themselves.
//!
//! Refuses to print a secret: files are named, never quoted.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

use countersign_core::App;
use countersign_core::bus::{Bus, BusOptions, BusState, server_program};
use countersign_core::clock::{BusClock, Clock};

use super::super::config::Settings;
use super::super::console::{options, outside_server};
use super::Check;
use super::Verdict::{Failed, Ok as Fine, Unknown, Warning};

/// A clock this far off makes times on cards hard to compare; deadlines keep to the server's.
const CLOCK_OFF_MS: i64 = 2_000;

/// Nobody but the owner may look into the folder or read the keys.
pub(super) fn data_folder(folder: &Path) -> Vec<Check> {
    let check = |verdict, detail: String| vec![Check::new("data_folder", verdict, detail)];
    if !folder.exists() {
        let detail = format!(
            "{} does not exist yet; the first start makes it",
            folder.display()
        );
        return check(Fine, detail);
    }
    let mut open = Vec::new();
    if let Err(why) = private(folder, 0o700, &mut open) {
        return check(Failed, why);
    }
    for name in [
        "keys",
        "keys/login.nk",
        "keys/human.nk",
        "keys/auto.nk",
        "agents",
        "nats",
    ] {
        let path = folder.join(name);
        // What is not there yet will be made private.
        if path.exists()
            && let Err(why) = private(&path, 0o700, &mut open)
        {
            return check(Failed, why);
        }
    }
    match open.is_empty() {
        true => check(Fine, format!("{} belongs to you alone", folder.display())),
        false => check(
            Failed,
            format!(
                "others can read {}; run chmod go-rwx on them",
                open.join(", ")
            ),
        ),
    }
}

fn private(path: &Path, allowed: u32, open: &mut Vec<String>) -> Result<(), String> {
    let found = fs::metadata(path).map_err(|error| format!("{}: {error}", path.display()))?;
    if found.permissions().mode() & 0o777 & !allowed != 0 {
        open.push(path.display().to_string());
    }
    Ok(())
}

/// The program that the console runs when no server is named.
pub(super) async fn nats_server() -> Check {
    match server_program(None).await {
        Ok((path, version)) => {
            Check::new("nats_server", Fine, format!("{} {version}", path.display()))
        }
        Err(error) => Check::new("nats_server", Failed, error.to_string()),
    }
}

/// Whether a console runs in the folder.
pub(super) fn running(app: &App) -> Check {
    if !app.data().is_running() {
        return Check::new("console", Fine, "does not run; deciding commands start it");
    }
    let runtime = app.data().read_runtime();
    let by = runtime.map(|info| format!(" as process {}", info.pid));
    Check::new("console", Fine, format!("runs{}", by.unwrap_or_default()))
}

/// Why there is no bus.
pub(super) async fn no_bus(settings: &Settings, app: &App) -> Check {
    if let Some(why) = outside_server(settings) {
        return Check::new("bus", Failed, why);
    }
    let Some(url) = settings.nats_url.clone() else {
        return match app.data().is_running() {
            true => Check::new(
                "bus",
                Failed,
                "the running console's server does not answer; see nats/ in the data folder",
            ),
            false => Check::new(
                "bus",
                Unknown,
                "its server runs with the console; start that to look at it",
            ),
        };
    };
    let Ok(options) = options(settings) else {
        return Check::new("bus", Failed, "the credentials cannot be read");
    };
    let connected = Bus::connect(BusOptions {
        url,
        credentials: options.credentials,
        tls: options.tls,
        console_id: app.identity().console_id.to_string(),
        allow_single_account: options.allow_single_account,
    });
    match connected.await {
        Ok(_) => Check::new("bus", Warning, "it answers now and did not a moment ago"),
        Err(error) => Check::new("bus", Failed, error.to_string()),
    }
}

/// Whether the bus is connected.
pub(super) fn bus(state: &BusState) -> Check {
    let detail = format!(
        "{} (nats-server {})",
        state.url_without_secrets, state.server_version
    );
    Check::new("bus", if state.connected { Fine } else { Failed }, detail)
}

/// In which ways the bus is less safe than the protocol asks.
pub(super) fn insecure(state: &BusState) -> Check {
    let words: Vec<&str> = state
        .insecure
        .iter()
        .map(|insecure| insecure.word())
        .collect();
    match words.is_empty() {
        true => Check::new(
            "security",
            Fine,
            "accounts apart, credentials asked for, no plain text to other machines",
        ),
        false => {
            let detail = format!("{}; see `countersign bus permissions`", words.join(", "));
            Check::new("security", Failed, detail)
        }
    }
}

/// Whether the streams are as the protocol wants them.
pub(super) async fn streams(bus: &Bus) -> Check {
    match bus.ensure(false, 1).await {
        Ok(found) => match found.differences.first() {
            None => Check::new(
                "streams",
                Fine,
                format!("{} streams of realm {}", found.streams.len(), found.realm),
            ),
            Some(at) => Check::new(
                "streams",
                Failed,
                format!(
                    "{} of {} is {} instead of {}",
                    at.field, at.stream, at.found, at.expected
                ),
            ),
        },
        Err(error) => Check::new("streams", Failed, error.to_string()),
    }
}

/// How far this machine's clock is from the server's.
pub(super) fn clock(app: &App) -> Check {
    // A clock that follows no server is this machine's own.
    let local = BusClock::new().now();
    let off = local.since_ms(app.now());
    let verdict = if off.abs() > CLOCK_OFF_MS {
        Warning
    } else {
        Fine
    };
    Check::new(
        "clock",
        verdict,
        format!("{off} ms from the server's; deadlines keep to the server's"),
    )
}

/// Whether decisions can be taken.
pub(super) async fn writable(app: &App) -> Check {
    match app.status().await {
        Ok(status) => match status.read_only {
            None => Check::new("decisions", Fine, "can be taken"),
            Some(why) => Check::new("decisions", Failed, format!("read-only: {why}")),
        },
        Err(error) => Check::new("decisions", Failed, error.to_string()),
    }
}

/// Whether something has happened that must not happen.
pub(super) async fn alarms(app: &App) -> Check {
    match app.status().await {
        Ok(status) => match status.alarms.first() {
            None => Check::new("alarms", Fine, "none"),
            Some(newest) => {
                let count = status.alarms.len();
                let detail = format!("{count}, the newest: {} {}", newest.code, newest.subject);
                Check::new("alarms", Warning, detail)
            }
        },
        Err(error) => Check::new("alarms", Failed, error.to_string()),
    }
}

/// Whether the audit log is as it was written.
pub(super) async fn audit(app: &App) -> Check {
    match app.audit_verify(None).await {
        Ok(found) => match found.first_bad {
            None => Check::new(
                "audit",
                Fine,
                format!("{} rows, anchored up to {}", found.rows, found.anchored_seq),
            ),
            Some(bad) => Check::new(
                "audit",
                Failed,
                format!("{} {}: {}", bad.table, bad.id, bad.reason),
            ),
        },
        Err(error) => Check::new("audit", Failed, error.to_string()),
    }
}
