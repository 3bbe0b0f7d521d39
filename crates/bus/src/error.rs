//! Errors of the bus. No text here is branched on: callers match the variant, programs read [`BusError::code`].

use std::path::PathBuf;

use countersign_domain::Fault;

/// What can go wrong on the bus; each message says what to do next.
#[derive(Debug, thiserror::Error)]
pub enum BusError {
    /// No usable nats-server binary.
    #[error(
        "no nats-server found (looked at {looked}): {missing}, install nats-server 2.10 or newer, or set \
         COUNTERSIGN_NATS_SERVER to its path"
    )]
    ServerNotFound {
        /// The places that were tried, in order.
        looked: String,
        /// What brings the server where this program comes from.
        missing: &'static str,
    },
    /// The binary that was named cannot be used.
    #[error(
        "{path} cannot be used as nats-server: {why}; install nats-server 2.10 or newer or name another one in COUNTERSIGN_NATS_SERVER"
    )]
    ServerUnusable {
        /// The binary.
        path: PathBuf,
        /// What is wrong with it.
        why: String,
    },
    /// The server ended or stayed silent while starting.
    #[error("nats-server did not start: {why}; its log is {log}")]
    ServerStart {
        /// Last lines of its log, or the time-out.
        why: String,
        /// Where the log is.
        log: PathBuf,
    },
    /// Another process holds the store.
    #[error(
        "{folder} is in use by another Countersign: end that one, or choose another data folder with --data-dir"
    )]
    StoreLocked {
        /// The folder of the server's store.
        folder: PathBuf,
    },
    /// A file of the server's folder cannot be read or written.
    #[error("cannot use {path}: {source}; check its permissions and the free space")]
    Store {
        /// The file or folder.
        path: PathBuf,
        /// The cause.
        source: std::io::Error,
    },
    /// The server refused or did not confirm a new configuration.
    #[error(
        "nats-server did not take over its new configuration: {why}; restart the console to apply it"
    )]
    Reload {
        /// The server's own words, or the time-out.
        why: String,
    },
    /// A name or key that is not allowed in a subject or in the server's configuration.
    #[error("{what} {value:?} is not valid: {rule}")]
    BadName {
        /// Which name.
        what: &'static str,
        /// The value, escaped.
        value: String,
        /// What is allowed.
        rule: &'static str,
    },
    /// The URL or the credentials cannot be used.
    #[error(
        "the bus address or credentials cannot be used: {why}; check --nats-url, the --tls files, and --nats-nkey or --nats-creds"
    )]
    BadOptions {
        /// What is wrong, without secrets.
        why: String,
    },
    /// Nobody answers at the URL.
    #[error("no NATS server answers at {url}: {why}; start it or correct --nats-url")]
    Unreachable {
        /// The URL without secrets.
        url: String,
        /// The cause.
        why: String,
    },
    /// The server does not accept these credentials.
    #[error(
        "the NATS server at {url} refused the credentials; ask its administrator to add this console's user, see `countersign bus permissions`"
    )]
    AuthRefused {
        /// The URL without secrets.
        url: String,
    },
    /// TLS could not be set up.
    #[error(
        "no TLS connection to {url}: {why}; nothing is sent without TLS, see --tls-ca, --tls-cert and --tls-key"
    )]
    Tls {
        /// The URL without secrets.
        url: String,
        /// The cause.
        why: String,
    },
    /// Consoles and agents would share the default account.
    #[error(
        "this console is in the NATS server's default account, where an agent can forge decisions: set up accounts (see `countersign bus permissions`) or accept the risk with --allow-single-account"
    )]
    SingleAccount,
    /// The server cannot keep what the protocol promises.
    #[error("nats-server {version} at {url} is too old: install 2.10 or newer")]
    ServerTooOld {
        /// The URL without secrets.
        url: String,
        /// The server's own word.
        version: String,
    },
    /// The account and the server's time could not be learned.
    #[error(
        "the NATS server does not report which account this console is in, and what time it is: let the console's login publish to `$SYS.REQ.USER.INFO` and hear the answer, see `countersign bus permissions`"
    )]
    AccountUnknown,
    /// The server or the account has no place for one more.
    #[error(
        "the NATS server at {url} takes no more connections: whoever runs it raises max_connections; a console needs two, and each command beside it one"
    )]
    TooManyConnections {
        /// The URL without secrets.
        url: String,
    },
    /// The server has no JetStream for this account.
    #[error(
        "JetStream is not available to this console ({why}): enable it for the consoles' account"
    )]
    NoJetStream {
        /// The server's own words.
        why: String,
    },
    /// Stores are missing and may not be created now.
    #[error("the bus lacks {}: if it is a new outside server run `countersign bus init`; if its store was lost, restore that from a backup or run `countersign bus recover`", .missing.join(", "))]
    StreamsMissing {
        /// Their names.
        missing: Vec<&'static str>,
    },
    /// Streams of two realms on one bus.
    #[error("the streams on this bus name different realms ({}): one of them was restored from another bus; restore the right one", .realms.join(", "))]
    RealmConflict {
        /// `STREAM=REALM` for each.
        realms: Vec<String>,
    },
    /// The bus has a realm, and not the one whose log was to begin.
    #[error("this bus belongs to the realm {realm}; run the command again")]
    AnotherRealm {
        /// That of the bus.
        realm: uuid::Uuid,
    },
    /// Not connected now; nothing was sent.
    #[error("the bus is not connected; it reconnects automatically")]
    Disconnected,
    /// The connection was lost before the answer. What was asked may have happened.
    #[error(
        "the connection to the bus was lost before it answered {what}; it reconnects; then try again"
    )]
    ConnectionLost {
        /// What was asked.
        what: String,
    },
    /// No answer within the limit. What was asked may have happened.
    #[error(
        "the bus did not answer {what} in time; try again, and look at the events for `Permissions Violation`"
    )]
    TimedOut {
        /// What was asked.
        what: String,
    },
    /// A cluster in which nobody may answer for JetStream or for a stream.
    #[error(
        "the NATS cluster has no leader to ask about {what}: too few of its servers are up; it continues automatically when they are back"
    )]
    NoLeader {
        /// What was asked.
        what: String,
    },
    /// JetStream answered with an error.
    #[error("the bus refused {what}: {description} ({code}); check with `countersign doctor`")]
    Refused {
        /// What was asked.
        what: String,
        /// JetStream's error code.
        code: u64,
        /// JetStream's description.
        description: String,
    },
    /// Not enough room for a stream.
    #[error(
        "the bus has no room for {stream} ({code}: {description}): the streams reserve {gib} GiB; set a larger `max_file_store` in the jetstream block of nats.conf, as 32GB (without it nats-server takes 75 % of the free disk), or raise the account's limit, then run the command again"
    )]
    NoRoom {
        /// The stream.
        stream: &'static str,
        /// What all of them reserve, each replica counted.
        gib: u64,
        /// JetStream's error code.
        code: u64,
        /// JetStream's description.
        description: String,
    },
    /// A limit of the account or the server keeps a stream away.
    #[error("the bus refused {stream} ({code}: {description}): {way}, then run the command again")]
    StreamLimit {
        /// The stream.
        stream: &'static str,
        /// JetStream's error code.
        code: u64,
        /// JetStream's description.
        description: String,
        /// What to do.
        way: &'static str,
    },
    /// An answer that cannot be understood.
    #[error(
        "the bus answered {what} with something unreadable: {why}; check that it is a nats-server 2.10 or newer"
    )]
    BadReply {
        /// What was asked.
        what: String,
        /// What is wrong with the answer.
        why: String,
    },
}

impl BusError {
    /// The stable code, for the CLI's JSON, the window and tests.
    pub fn code(&self) -> &'static str {
        match self {
            Self::ServerNotFound { .. } => "bus_server_not_found",
            Self::ServerUnusable { .. } => "bus_server_unusable",
            Self::ServerStart { .. } => "bus_server_start",
            Self::StoreLocked { .. } => "bus_store_locked",
            Self::Store { .. } => "bus_store",
            Self::Reload { .. } => "bus_reload",
            Self::BadName { .. } => "bus_bad_name",
            Self::BadOptions { .. } => "bus_bad_options",
            Self::Unreachable { .. } => "bus_unreachable",
            Self::AuthRefused { .. } => "bus_auth_refused",
            Self::Tls { .. } => "bus_tls",
            Self::SingleAccount => "bus_single_account",
            Self::ServerTooOld { .. } => "bus_server_too_old",
            Self::AccountUnknown => "bus_account_unknown",
            Self::TooManyConnections { .. } => "bus_too_many_connections",
            Self::NoJetStream { .. } => "bus_no_jetstream",
            Self::StreamsMissing { .. } => "bus_streams_missing",
            Self::RealmConflict { .. } => "bus_realm_conflict",
            Self::AnotherRealm { .. } => "bus_another_realm",
            Self::Disconnected => "bus_disconnected",
            Self::ConnectionLost { .. } => "bus_connection_lost",
            Self::TimedOut { .. } => "bus_timed_out",
            Self::NoLeader { .. } => "bus_no_leader",
            Self::Refused { .. } => "bus_refused",
            Self::NoRoom { .. } => "bus_no_room",
            Self::StreamLimit { .. } => "bus_stream_limit",
            Self::BadReply { .. } => "bus_bad_reply",
        }
    }

    pub(super) fn store(path: impl Into<PathBuf>, source: std::io::Error) -> Self {
        Self::Store {
            path: path.into(),
            source,
        }
    }
}

impl From<BusError> for Fault {
    fn from(error: BusError) -> Self {
        let message = error.to_string();
        match error {
            BusError::Unreachable { .. }
            | BusError::Disconnected
            | BusError::ConnectionLost { .. }
            | BusError::NoLeader { .. }
            | BusError::TooManyConnections { .. }
            | BusError::TimedOut { .. } => Self::bus_unreachable(message),
            _ => Self::environment(message),
        }
    }
}

#[cfg(test)]
mod tests {
    use countersign_wire::ErrorCode;

    use super::*;

    #[test]
    fn a_bus_that_is_full_for_a_moment_is_one_that_is_out_of_reach() {
        let url = "nats://127.0.0.1:4222".to_owned();
        let reported = Fault::from(BusError::TooManyConnections { url });
        assert_eq!(reported.code, ErrorCode::BusUnreachable, "{reported}");
    }
}
