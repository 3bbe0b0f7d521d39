//! Taking a question back, or asking for an earlier answer.
//!
//! A deadline only ever shortens, and a withdrawal is final.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use tokio::sync::watch;
use tokio_util::sync::CancellationToken;

/// Speaks to a request that waits; clones speak to the same one.
#[derive(Debug, Clone)]
pub struct AskHandle {
    shared: Arc<Shared>,
}

#[derive(Debug)]
struct Shared {
    withdrawn: CancellationToken,
    reason: Mutex<Option<String>>,
    earlier: watch::Sender<Option<tokio::time::Instant>>,
}

impl AskHandle {
    pub(crate) fn new() -> Self {
        let shared = Shared {
            withdrawn: CancellationToken::new(),
            reason: Mutex::new(None),
            earlier: watch::Sender::new(None),
        };
        Self {
            shared: Arc::new(shared),
        }
    }

    /// Takes the question back: the answer reads `withdrawn`, whatever arrives, and the console learns it. Has no
    /// effect once the answer was given.
    pub fn cancel(&self, reason: impl Into<String>) {
        self.lock().get_or_insert_with(|| reason.into());
        self.shared.withdrawn.cancel();
    }

    /// Waits no longer than this from now, and informs the console. Only ever shortens.
    pub fn tighten(&self, limit: Duration) {
        let Some(until) = tokio::time::Instant::now().checked_add(limit) else {
            return;
        };
        self.shared.earlier.send_if_modified(|held| {
            let earlier = held.is_none_or(|held| until < held);
            if earlier {
                *held = Some(until);
            }
            earlier
        });
    }

    pub(crate) async fn withdrawn(&self) {
        self.shared.withdrawn.cancelled().await;
    }

    pub(crate) fn reason(&self) -> Option<String> {
        self.lock().clone()
    }

    pub(crate) fn earlier(&self) -> watch::Receiver<Option<tokio::time::Instant>> {
        let mut earlier = self.shared.earlier.subscribe();
        // One that was set before the request left counts too.
        earlier.mark_changed();
        earlier
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, Option<String>> {
        self.shared
            .reason
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
    }
}
