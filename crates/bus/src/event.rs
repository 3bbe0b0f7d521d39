//! What the connection reports about itself, without payloads or URLs with secrets.

/// Something a person should know about the connection; sent once, on a bounded broadcast.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum BusEvent {
    /// The connection is up, for the first time or again.
    Connected,
    /// The connection is lost; it is being restored.
    Disconnected,
    /// The server refused a publish or a subscription; the only sign of it besides a time-out.
    PermissionsViolation(String),
    /// Any other error that the server or the client reports.
    Error(String),
    /// A subscription lost messages because they were not read in time. The intake repairs that itself.
    SlowConsumer,
    /// The server is about to close.
    LameDuck,
    /// The connection on which messages and heartbeats come is lost again and again, and the other one is not.
    DeliveryLost,
    /// The stream is another one than the one that was read first, or went back; nothing of it is read.
    StreamReplaced {
        /// The stream.
        stream: String,
        /// What is different.
        why: String,
    },
    /// The intake of a stream cannot go on for now; it keeps trying.
    IntakeStalled {
        /// The stream.
        stream: String,
        /// Why.
        why: String,
    },
}

/// A way in which this bus is less safe than the protocol asks.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Insecure {
    /// Consoles and agents share the default account.
    SingleAccount,
    /// The connection leaves this machine without TLS.
    NoTls,
    /// The server asks nobody for credentials.
    OpenPermissions,
}

impl Insecure {
    /// The word in `status --json`.
    pub fn word(self) -> &'static str {
        match self {
            Self::SingleAccount => "single_account",
            Self::NoTls => "no_tls",
            Self::OpenPermissions => "open_permissions",
        }
    }
}

/// The connection as it is now.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BusState {
    /// Whether requests can be sent now.
    pub connected: bool,
    /// Where to, without user, password or token.
    pub url_without_secrets: String,
    /// Version of the server that answered last.
    pub server_version: String,
    /// In which ways the bus is not as safe as it should be, in the order of [`Insecure`].
    pub insecure: Vec<Insecure>,
}
