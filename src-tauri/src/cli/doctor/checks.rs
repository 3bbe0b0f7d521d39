//! The checks themselves.
//!
//! Files are named and never quoted: they may hold secrets.

use std::time::Duration;

use countersign_core::bus::{
    Bus, BusError, BusOptions, BusState, Insecure, Storage, reserved, server_program,
};
use countersign_core::clock::{BusClock, Clock};
use countersign_core::ops::realm::{ListedState, own_operator};
use countersign_core::ops::status::Unread;
use countersign_core::{App, Fault};
use countersign_wire::{DECISION_MAX_BYTES, without_login};

use super::super::config::Settings;
use super::super::console::{options, outside_server};
use super::Check;
use super::Verdict::{Failed, Ok as Fine, Unknown, Warning};

/// A clock this far off makes times on cards hard to compare; deadlines follow the server's.
const CLOCK_OFF_MS: i64 = 2_000;
/// How long a console that works may take to read what has just arrived, or to say that it is there.
const PATIENCE: Duration = Duration::from_secs(2);
const HEARD_LOOK: Duration = Duration::from_millis(200);
const OLDEST: (u32, u32) = (2, 10);
/// What the embedded server takes (protocol, section 2).
const LARGEST_MESSAGE: usize = 4 * 1024 * 1024;
/// Below this a decision of the protocol's size does not pass.
const SMALLEST_USEFUL: usize = 1024 * 1024;

/// The program that the console runs when no server is named.
pub(super) async fn nats_server() -> Check {
    match server_program(None).await {
        Ok((path, version)) => {
            Check::new("nats_server", Fine, format!("{} {version}", path.display()))
        }
        Err(error) => Check::new("nats_server", Failed, error.to_string()),
    }
}

/// Whether a console runs in the folder, and does what it is there for.
pub(super) async fn running(app: &App) -> Check {
    if !app.data().is_running() {
        return match app.bus().is_some() && app.consoles().await.is_empty() {
            true => Check::new(
                "console",
                Warning,
                "does not run, nor does another one of the realm: requests are not seen, expired or decided by rules; start one with `countersign serve`",
            ),
            false => Check::new("console", Fine, "does not run; deciding commands start it"),
        };
    }
    let runtime = app.data().read_runtime();
    let by = runtime.map(|info| format!(" as process {}", info.pid));
    let runs = format!("runs{}", by.unwrap_or_default());
    if app.bus().is_none() {
        return Check::new("console", Fine, runs);
    }
    let silent = app.why_not_by_itself().is_some();
    match app.unread(PATIENCE).await {
        Ok(Some(Unread {
            messages,
            moves: false,
        })) => {
            let detail = format!(
                "{runs} but reads nothing: {messages} messages on the bus are unread, so their requests are not seen, expired or decided by rules; see its log, then restart it"
            );
            Check::new("console", Failed, detail)
        }
        Ok(Some(Unread { messages, .. })) => {
            let detail =
                format!("{runs} and is catching up with the bus: {messages} messages are left");
            Check::new("console", Warning, detail)
        }
        Ok(None) if silent => {
            let detail = format!("{runs}; it publishes nothing, since its own key is not active");
            Check::new("console", Fine, detail)
        }
        Ok(None) if is_heard(app).await => Check::new("console", Fine, runs),
        Ok(None) => {
            let detail = format!(
                "{runs}, but sends no heartbeat, which is due every 5 s; if it is not just starting, see its log and restart it"
            );
            Check::new("console", Warning, detail)
        }
        Err(error) => Check::new("console", Failed, error.to_string()),
    }
}

async fn is_heard(app: &App) -> bool {
    let heard = async {
        while !app.consoles().await.iter().any(|console| console.is_this) {
            tokio::time::sleep(HEARD_LOOK).await;
        }
    };
    tokio::time::timeout(PATIENCE, heard).await.is_ok()
}

/// Why the bus is missing.
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
                "its server runs with the console; start the console to check it",
            ),
        };
    };
    match reach(settings, url, app.identity().console_id.to_string()).await {
        Ok(()) => Check::new("bus", Warning, "it answers now, but did not a moment ago"),
        Err(why) => Check::new("bus", Failed, why),
    }
}

/// Whether the outside server lets a console in that has no folder yet; nothing where none is named.
pub(super) async fn first_bus(settings: &Settings) -> Option<Check> {
    let url = settings.nats_url.clone()?;
    let shown = without_login(&url);
    let check = match reach(settings, url, "doctor".to_owned()).await {
        Ok(()) => Check::new("bus", Fine, format!("{shown} accepts this console")),
        Err(why) => Check::new("bus", Failed, why),
    };
    Some(check)
}

/// Connects to the outside server as the console would.
async fn reach(settings: &Settings, url: String, console_id: String) -> Result<(), String> {
    let unread = |_| "the credentials cannot be read".to_owned();
    let options = options(settings).map_err(unread)?;
    let connected = Bus::connect(BusOptions {
        url,
        credentials: options.credentials,
        tls: options.tls,
        console_id,
        allow_single_account: options.allow_single_account,
    });
    connected.await.map(drop).map_err(|error| error.to_string())
}

/// Whether the bus is connected.
pub(super) fn bus(state: &BusState) -> Check {
    let detail = format!(
        "{} (nats-server {})",
        state.url_without_secrets, state.server_version
    );
    Check::new("bus", if state.connected { Fine } else { Failed }, detail)
}

/// Whether the server is one that the protocol was tried on.
pub(super) fn version(state: &BusState) -> Check {
    let version = &state.server_version;
    let mut parts = version.split('.').map(|part| part.parse::<u32>().ok());
    let known = (parts.next().flatten(), parts.next().flatten());
    match known {
        (Some(major), Some(minor)) if (major, minor) >= OLDEST => {
            Check::new("version", Fine, format!("nats-server {version}"))
        }
        _ => Check::new(
            "version",
            Failed,
            format!(
                "nats-server {version} cannot keep decisions write-once; install 2.10 or newer"
            ),
        ),
    }
}

/// Whether the server lets through what is too large, so that it is seen and answered.
pub(super) async fn payload(bus: &Bus) -> Check {
    bus.try_largest(DECISION_MAX_BYTES).await;
    let most = bus.max_payload();
    if most >= LARGEST_MESSAGE {
        return Check::new("max_payload", Fine, format!("{most} bytes"));
    }
    let verdict = if most < SMALLEST_USEFUL {
        Failed
    } else {
        Warning
    };
    let detail = format!(
        "the server, or the consoles' account, takes at most {most} bytes, so larger requests stay unanswered and larger decisions fail; set max_payload: 4MB, and no lower limit for the account or the user"
    );
    Check::new("max_payload", verdict, detail)
}

/// Whether the keys that sign are none that log in, and the console's own one counts.
pub(super) fn keys(app: &App) -> Check {
    let own = app.identity();
    let login = own.login.public_key();
    let keys = own.signing();
    let (human, auto) = (keys.human_key.as_str(), keys.auto_key.as_str());
    if human == login || auto == login || human == auto {
        let why = "two of this console's three keys are the same, and a login key signs whatever a server sends; remove keys/ and start again";
        return Check::new("keys", Failed, why);
    }
    if own_operator(app).state == Some(ListedState::Ended) {
        let why = "this console's desk key has ended, so it signs nothing more; `countersign operators log` says who ended it, and a console with a new data folder asks anew";
        return Check::new("keys", Failed, why);
    }
    if let Some(why) = app.why_not_by_itself() {
        return Check::new("keys", Failed, why);
    }
    let kept = own.kept();
    let detail = format!(
        "login, human and auto key differ; the seeds that sign are in the {}: {}",
        kept.place.as_str(),
        kept.why
    );
    Check::new("keys", Fine, detail)
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
            "separate accounts, a login is required, no plain text to other machines",
        ),
        false => {
            let ways: Vec<&str> = state.insecure.iter().map(|at| way_out(*at)).collect();
            let detail = format!("{}: {}", words.join(", "), ways.join("; "));
            Check::new("security", Failed, detail)
        }
    }
}

fn way_out(insecure: Insecure) -> &'static str {
    match insecure {
        Insecure::SingleAccount => {
            "give consoles and agents separate accounts, see `countersign bus permissions`"
        }
        Insecure::NoTls => "use tls:// and name the server's CA with --tls-ca",
        Insecure::OpenPermissions => "let the server require credentials",
    }
}

/// Whether the streams are as the protocol wants them, and all of one epoch; which are `missing`.
pub(super) async fn streams(bus: &Bus, missing: &mut Vec<&'static str>) -> Vec<Check> {
    let found = match bus.ensure(None, 1).await {
        Ok(found) => found,
        Err(error @ BusError::StreamsMissing { .. }) => {
            let why = error.to_string();
            if let BusError::StreamsMissing { missing: names } = error {
                *missing = names;
            }
            return vec![Check::new("streams", Failed, why)];
        }
        Err(error) => return vec![Check::new("streams", Failed, error.to_string())],
    };
    if found.differences.is_empty() {
        let detail = format!("{} streams of realm {}", found.streams.len(), found.realm);
        return vec![Check::new("streams", Fine, detail)];
    }
    let named = found.differences.iter().map(|at| {
        let detail = format!(
            "{} of {} is {} instead of {}; whoever runs the server sets it with `nats stream edit`",
            at.field, at.stream, at.found, at.expected
        );
        Check::new("streams", Failed, detail)
    });
    named.collect()
}

/// Whether the bus has room for more, and for the streams that are missing.
pub(super) async fn storage(bus: &Bus, missing: &[&'static str], replicas: usize) -> Check {
    let found = bus.storage(replicas).await;
    let tiered = found.as_ref().is_ok_and(|found| found.tiered);
    let wanted = reserved(missing, if tiered { 1 } else { replicas });
    match found {
        Ok(Storage {
            used,
            most: Some(most),
            ..
        }) if most.saturating_sub(used) < wanted => {
            let left = most.saturating_sub(used);
            let why = format!(
                "the account has room for {left} of the {wanted} bytes that the missing streams reserve; whoever runs nats-server raises its max_file"
            );
            Check::new("storage", Failed, why)
        }
        Ok(Storage { most: None, .. }) if wanted > 0 => {
            let why = format!(
                "the missing streams reserve {wanted} bytes, and the server does not report whether it has them (max_file_store of its jetstream block)"
            );
            Check::new("storage", Unknown, why)
        }
        Ok(storage) => match storage.words() {
            None => rooms(bus).await,
            Some(why) if storage.is_full() => Check::new("storage", Failed, why),
            Some(why) => Check::new("storage", Warning, why),
        },
        // A login that may not ask says nothing about the room.
        Err(error) => Check::new("storage", Unknown, error.to_string()),
    }
}

/// Whether each stream that refuses what is new when it is full has room; the worst is reported.
async fn rooms(bus: &Bus) -> Check {
    let mut rooms = match bus.rooms().await {
        Ok(rooms) => rooms,
        Err(error) => return Check::new("storage", Unknown, error.to_string()),
    };
    rooms.sort_by_key(|room| !room.is_full());
    let fullest = rooms
        .iter()
        .find_map(|room| Some((room.is_full(), room.words()?)));
    match fullest {
        None => Check::new("storage", Fine, "the account and its streams have room"),
        Some((true, why)) => Check::new("storage", Failed, why),
        Some((false, why)) => Check::new("storage", Warning, why),
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
        format!("{off} ms from the server's; deadlines follow the server's"),
    )
}

/// Whether this version can use the store: to read one of a newer version succeeds for long.
pub(super) async fn store(app: &App) -> Check {
    match app.newer_store().await {
        Ok(None) => Check::new("store", Fine, "of this version or an older one"),
        Ok(Some(fault)) => Check::new("store", Failed, fault.message),
        Err(error) => Check::new("store", Failed, error.to_string()),
    }
}

/// Whether decisions can be taken.
pub(super) async fn writable(app: &App, missing: &[&'static str]) -> Check {
    if !missing.is_empty() {
        let detail = format!("cannot be taken: the bus lacks {}", missing.join(", "));
        return Check::new("decisions", Failed, detail);
    }
    // Whoever only reads has not met what a verdict would meet.
    let lock = app.data().path().join("console.lock");
    let opened = std::fs::OpenOptions::new().append(true).open(&lock);
    if let Err(error) = opened
        && error.kind() != std::io::ErrorKind::NotFound
    {
        let path = lock.display();
        let detail = format!(
            "cannot be taken: {path}: {error}; make the folder writable, or set COUNTERSIGN_DATA_DIR to another one"
        );
        return Check::new("decisions", Failed, detail);
    }
    match app.status().await {
        Ok(status) => match status.read_only {
            None => Check::new("decisions", Fine, "can be taken"),
            Some(why) => Check::new("decisions", Failed, format!("read-only: {why}")),
        },
        Err(error) => Check::new("decisions", Failed, error.to_string()),
    }
}

/// Whether the bus takes what is decided here.
pub(super) async fn outbox(app: &App) -> Check {
    let found = async { Ok::<_, Fault>((app.queued().await?, app.not_taken().await?)) };
    match found.await {
        Ok((0, _)) => Check::new(
            "outbox",
            Fine,
            "every decision and every vote that was sent is on the bus",
        ),
        Ok((count, why)) => {
            let why = why.map_or_else(String::new, |why| format!(": {why}"));
            let detail = format!(
                "{count} decisions or votes wait for the bus{why}; they are sent once a console runs and the bus accepts them"
            );
            Check::new("outbox", Warning, detail)
        }
        Err(error) => Check::new("outbox", Failed, error.to_string()),
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

/// Which agents dial an address that the console's own server has left; nothing where none does.
pub(super) async fn port(app: &App) -> Vec<Check> {
    let left = match app.left_addresses().await {
        Ok(left) => left,
        Err(error) => return vec![Check::new("port", Failed, error.to_string())],
    };
    let dialled = left.iter().filter(|at| !at.agents.is_empty());
    let checks = dialled.map(|at| {
        let agents = at.agents.join(", ");
        let why = format!(
            "{} was in use by another program when the server started; {agents} still connect to it: end that program and restart the console, or enroll them again",
            at.address
        );
        Check::new("port", Failed, why)
    });
    checks.collect()
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
