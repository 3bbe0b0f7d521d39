//! The bus: connection, streams, intake, publishing and the server that the console runs itself.
//!
//! It knows neither SQLite nor the domain: it hands over bytes with a stream sequence and a server time stamp, and
//! takes bytes to publish. It never retries a publish unasked, never acknowledges a message, and never turns a missing
//! answer into success.

mod account_claims;
mod accounts;
mod batch;
mod binary;
pub mod clock;
mod connection;
mod connection_events;
mod connection_watch;
mod delivery;
mod error;
mod event;
mod folder;
mod heartbeats;
mod identity;
mod intake;
mod largest;
mod leader;
mod login_file;
mod message;
mod policy_kv;
mod probe;
mod process;
mod publish;
mod purge;
mod server;
mod server_clock;
mod server_conf;
mod storage;
mod stream_config;
mod streams;
mod supervise;
mod tls;
mod unix;
mod url;

pub use account_claims::account_claims;
pub use accounts::{AgentAccess, AgentPermissions, ConsoleAccess, permissions_block};
pub use batch::{MAX_BATCH, drain_batch};
pub use binary::server_program;
pub use connection::{Bus, BusOptions, Credentials};
pub use error::BusError;
pub use event::{BusEvent, BusState, Insecure};
pub use heartbeats::Heartbeat;
pub use message::StreamMessage;
pub use policy_kv::{POLICY_STREAM, PolicyChange, PolicyHeard, PolicyValue, PolicyWatch};
pub use probe::{ProbedLogin, Weakness};
pub use publish::{Publication, PublishOutcome};
pub use server::{EmbeddedConfig, EmbeddedServer, ServerState};
pub use server_clock::ServerClock;
pub use storage::{Storage, StreamRoom, refusal};
pub use stream_config::StreamDifference;
pub use streams::{BusIdentity, Founding, STREAMS, StreamStatus, Survey, reserved};
pub use unix::time_asleep;
