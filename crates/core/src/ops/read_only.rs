//! Check that the bus is the one that this folder's console remembers (protocol, section 1, "Epoch").
//!
//! Any other is read-only, also for a command beside the console that found out.

use std::time::Duration;

use crate::Fault;
use crate::runtime::{App, Role};
use crate::store::meta;

/// How long a change waits for the comparison of the bus.
const COMPARE_LIMIT: Duration = Duration::from_secs(10);

impl App {
    /// Whether the bus may be written to.
    ///
    /// # Errors
    /// `ErrorCode::ReadOnly` with the reason; `ErrorCode::Store`.
    pub(super) async fn knows_the_bus(&self) -> Result<(), Fault> {
        let why = match self.role() {
            Role::Console => {
                self.is_compared().await?;
                self.health().borrow().read_only.clone()
            }
            // The console of the folder compares, and leaves what it found in the store.
            Role::Beside | Role::Reader => meta::get(self.reader(), meta::READ_ONLY)
                .await?
                .filter(|why| !why.is_empty()),
        };
        why.map_or(Ok(()), |why| Err(Fault::read_only(why)))
    }

    /// Waits until this console has compared the bus: only then its own keys are on the list there, or wait.
    async fn is_compared(&self) -> Result<(), Fault> {
        let mut compared = self.inner.shared.compared.subscribe();
        let mut health = self.health();
        let done = async {
            tokio::select! {
                _ = compared.wait_for(|compared| *compared) => {}
                _ = health.wait_for(|health| health.read_only.is_some()) => {}
                () = self.is_cut_off() => {}
            }
        };
        tokio::time::timeout(COMPARE_LIMIT, done).await.map_err(|_| {
            Fault::bus_unreachable(
                "this console is still comparing the bus with its store; nothing was changed, try again",
            )
        })
    }
}
