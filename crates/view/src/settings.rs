//! The Settings screen: how this console was started, who it is and what it keeps. What can be changed in
//! the window itself is kept by the page.

use serde::{Deserialize, Serialize};
use ts_rs::TS;

use countersign_wire::Shown;

/// How the console logs in to the bus.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, TS)]
#[serde(rename_all = "snake_case")]
pub enum LoginKind {
    /// With its own login key at its own server.
    OwnServer,
    /// With the seed of an nkey.
    Nkey,
    /// With a `.creds` file.
    Creds,
    /// With user and password, or a token, in the address.
    Url,
    /// Not at all: the server asks for nothing.
    None,
}

/// A key of this console. Only its public half is ever shown.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, TS)]
pub struct OwnKey {
    /// `human` signs what the operator decides, `auto` what the console decides without a person, `login` logs in to
    /// the bus and signs nothing else.
    pub role: String,
    /// The public key.
    pub key: String,
}

/// A folder or a file of this console.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, TS)]
pub struct FolderView {
    /// `data`, `database`, `keys`, `config`.
    pub what: String,
    /// Where it is.
    pub path: String,
    /// Whether it is there.
    pub exists: bool,
}

/// How long payloads of one kind are kept.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, TS)]
pub struct StoreLimit {
    /// `requests`, `receipts`, `quarantine`.
    pub kind: String,
    /// None: for ever.
    pub days: Option<u32>,
    /// None: whatever they take.
    pub mib: Option<u32>,
}

/// How long a step of the delivery ladder may take before it is an alarm, in seconds.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, TS)]
#[serde(rename_all = "camelCase")]
pub struct StallView {
    /// From signed to stored on the bus.
    #[ts(type = "number")]
    pub on_bus_s: i64,
    /// From stored on the bus to received, while the agent is heard.
    #[ts(type = "number")]
    pub received_s: i64,
    /// From received to executed.
    #[ts(type = "number")]
    pub executed_s: i64,
}

/// What is received and sent over OTLP.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, TS)]
#[serde(rename_all = "camelCase")]
pub struct OtlpView {
    /// Where the receiver listens over HTTP; none when it does not.
    pub http: Option<String>,
    /// The same over gRPC.
    pub grpc: Option<String>,
    /// Whether it listens on other addresses than loopback.
    pub allow_remote: bool,
    /// Whether every sender needs a token.
    pub require_token: bool,
    /// Where this console's answers are exported; none when they are not.
    pub export: Option<String>,
}

/// How this console was started.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, TS)]
#[serde(rename_all = "camelCase")]
pub struct SettingsView {
    /// Whether the console runs its own server.
    pub own_server: bool,
    /// How it logs in.
    pub login: LoginKind,
    /// File with the authority that the server's certificate is checked by; none for the system's.
    pub tls_ca: Option<String>,
    /// File with this console's own certificate.
    pub tls_cert: Option<String>,
    /// Whether a bus without separate accounts was accepted.
    pub allow_single_account: bool,
    /// Display name.
    pub operator: Shown,
    /// The workspace where a command takes one.
    pub workspace: String,
    /// Workspaces that the window marks as production; none for those that call themselves so.
    pub production: Option<Vec<String>>,
    /// This console's id.
    pub console: String,
    /// The bus's realm, once it was met.
    pub realm: Option<String>,
    /// Its keys.
    pub keys: Vec<OwnKey>,
    /// Where their seeds are: `file`, `keychain`.
    pub key_place: String,
    /// Why there.
    pub key_place_why: String,
    /// Folders and files.
    pub folders: Vec<FolderView>,
    /// How long payloads are kept.
    pub retention: Vec<StoreLimit>,
    /// When the ladder raises an alarm.
    pub stalls: StallView,
    /// More waiting requests than these from one agent are rejected.
    #[ts(type = "number")]
    pub waiting_limit: i64,
    /// OTLP.
    pub otlp: OtlpView,
    /// Where metrics are read; none when they are off.
    pub metrics: Option<String>,
}

/// Turns the slowdown of hasty decisions on or off.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, TS)]
pub struct HasteArgs {
    /// None only asks.
    pub on: Option<bool>,
}

/// Whether a card is slowed down after several that were decided in haste.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, TS)]
pub struct HasteView {
    /// It is.
    pub on: bool,
}
