//! The server's time, as everything here reads it.

use std::sync::Arc;
use std::sync::RwLock;

use crate::bus::ServerClock;
use crate::domain::Timestamp;

/// Where "now" comes from. The life cycle counts in the bus server's time, never in this machine's.
pub trait Clock: Send + Sync + 'static {
    /// The server's time now.
    fn now(&self) -> Timestamp;
}

/// The server's clock once the bus was reached, this machine's clock until then.
///
/// Without a bus nothing can be published, so a wrong local clock can only delay what the server's
/// stamps decide in the end.
#[derive(Default)]
pub struct BusClock(RwLock<Option<ServerClock>>);

impl BusClock {
    /// A clock that has not met a server.
    #[must_use]
    pub fn new() -> Arc<Self> {
        Arc::default()
    }

    /// Follows this server from now on.
    pub fn follow(&self, server: ServerClock) {
        if let Ok(mut clock) = self.0.write() {
            *clock = Some(server);
        }
    }
}

impl Clock for BusClock {
    #[allow(
        clippy::disallowed_methods,
        reason = "this is the one place that reads the local clock"
    )]
    fn now(&self) -> Timestamp {
        let server = self
            .0
            .read()
            .ok()
            .and_then(|clock| clock.as_ref().map(ServerClock::now));
        server.unwrap_or_else(time::OffsetDateTime::now_utc).into()
    }
}
