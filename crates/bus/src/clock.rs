//! The server's time, as everything here reads it.

use std::sync::Arc;

use parking_lot::RwLock;
use tokio::time::Instant;

use crate::ServerClock;
use countersign_domain::Timestamp;

/// Where "now" comes from. The life cycle counts in the bus server's time, never in this machine's.
pub trait Clock: Send + Sync + 'static {
    /// The server's time now.
    fn now(&self) -> Timestamp;

    /// Whether the server was asked for its time since then; if not, it soon is. Its clock may have been set back.
    fn is_asked_since(&self, _then: Instant) -> bool {
        true
    }
}

/// The server's clock once the bus was reached, this machine's clock until then.
///
/// Without a bus nothing can be published, so a wrong local clock can only delay what the server's
/// stamps decide in the end.
#[derive(Default)]
pub struct BusClock {
    server: RwLock<Option<ServerClock>>,
    /// Instead of the system's.
    machine: Option<Arc<dyn Clock>>,
}

impl BusClock {
    /// A clock that has not met a server.
    #[must_use]
    pub fn new() -> Arc<Self> {
        Arc::default()
    }

    /// A clock that has not met a server, on a machine whose own clock says this. For tests of a wrong one.
    #[must_use]
    pub fn on_machine(machine: Option<Arc<dyn Clock>>) -> Arc<Self> {
        Arc::new(Self {
            machine,
            ..Self::default()
        })
    }

    /// Follows this server from now on.
    pub fn follow(&self, server: ServerClock) {
        *self.server.write() = Some(server);
    }
}

impl Clock for BusClock {
    #[allow(
        clippy::disallowed_methods,
        reason = "this is the one place that reads the local clock"
    )]
    fn now(&self) -> Timestamp {
        let server = self.server.read().as_ref().map(ServerClock::now);
        match (server, &self.machine) {
            (Some(server), _) => server.into(),
            (None, Some(machine)) => machine.now(),
            (None, None) => time::OffsetDateTime::now_utc().into(),
        }
    }

    fn is_asked_since(&self, then: Instant) -> bool {
        let server = self.server.read();
        server.as_ref().is_none_or(|server| {
            let asked = server.asked() >= then;
            if !asked {
                server.want();
            }
            asked
        })
    }
}
