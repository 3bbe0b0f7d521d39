//! Options with which a console is started.

use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::AtomicU32;

use countersign_wire::{TlsFiles, WorkspaceName};

use crate::bus::Credentials;
use crate::clock::Clock;
use crate::domain::StallLimits;
use crate::domain::retention::Retention;
use crate::identity::KeyChoice;
use crate::store::Updates;

/// More waiting requests than these from one agent are rejected (protocol, section 2).
pub const WAITING_LIMIT: i64 = 10_000;

/// What a console needs to know.
#[derive(Clone)]
pub struct Options {
    /// The data folder.
    pub data_dir: PathBuf,
    /// An outside server; none for the embedded one.
    pub nats_url: Option<String>,
    /// How to log in to the outside server.
    pub credentials: Credentials,
    /// Whom to trust over TLS, and this console's own certificate.
    pub tls: TlsFiles,
    /// Where a new console keeps the seeds of its signing keys; in files by default.
    pub keys: KeyChoice,
    /// The operator's display name.
    pub operator: String,
    /// Whether the name that the realm's list has for this console's key counts more: nobody chose the other one.
    pub listed_name_counts: bool,
    /// The workspace where a command takes one.
    pub workspace: WorkspaceName,
    /// Accept a bus whose consoles and agents share an account.
    pub allow_single_account: bool,
    /// A nats-server to use instead of the one that is found.
    pub nats_server: Option<PathBuf>,
    /// Replicas of streams that are created, 1 to 5.
    pub replicas: usize,
    /// The limit of the stream of requests, in bytes; none leaves it as it is.
    pub requests_max_bytes: Option<u64>,
    /// More waiting requests than these from one agent are rejected.
    pub waiting_limit: i64,
    /// How long each rung of the delivery ladder may take before it is an alarm.
    pub stall_limits: StallLimits,
    /// How long payloads are kept; for ever by default.
    pub retention: Retention,
    /// Receives the progress of an update of the store.
    pub updates: Updates,
    /// Pages that the store may have, as if the disk were full then, for tests.
    pub page_limit: Option<Arc<AtomicU32>>,
    /// Another clock than the bus server's, for tests.
    pub clock: Option<Arc<dyn Clock>>,
    /// What this machine's own clock says, for tests of a wrong one; the server's is followed as ever.
    pub machine_clock: Option<Arc<dyn Clock>>,
    /// Whether a command starts the console and stops it again; see [`App::attach`](super::App::attach).
    pub passing: bool,
}

impl Options {
    /// The embedded default in this folder.
    #[must_use]
    pub fn embedded(data_dir: PathBuf, operator: &str, workspace: WorkspaceName) -> Self {
        Self {
            data_dir,
            nats_url: None,
            credentials: Credentials::None,
            tls: TlsFiles::default(),
            keys: KeyChoice::default(),
            operator: operator.to_owned(),
            listed_name_counts: false,
            workspace,
            allow_single_account: false,
            nats_server: None,
            replicas: 1,
            requests_max_bytes: None,
            waiting_limit: WAITING_LIMIT,
            stall_limits: StallLimits::default(),
            retention: Retention::default(),
            updates: Updates::default(),
            page_limit: None,
            clock: None,
            machine_clock: None,
            passing: false,
        }
    }
}
