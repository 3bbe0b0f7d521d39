//! Who waits, and the hints that wake them.
//!
//! A hint is not read: only what is stored counts (protocol, section 1, "How an agent waits"), so a hint merely says
//! when to look.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use async_nats::Subscriber;
use countersign_wire::RequestId;
use futures::StreamExt;
use tokio::sync::Notify;
use tokio_util::sync::CancellationToken;

use crate::GateError;

type Table = Mutex<HashMap<RequestId, Arc<Notify>>>;

/// The requests that wait; clones share them.
#[derive(Clone, Default)]
pub(crate) struct Waiting(Arc<Table>);

/// One waiting request; it waits no longer once this is dropped.
pub(crate) struct Waiter {
    table: Arc<Table>,
    id: RequestId,
    hint: Arc<Notify>,
}

impl Waiting {
    /// Error: `already_waiting`.
    pub(crate) fn enter(&self, id: &RequestId) -> Result<Waiter, GateError> {
        let hint = Arc::new(Notify::new());
        let mut table = lock(&self.0);
        if table.contains_key(id) {
            return Err(GateError::AlreadyWaiting {
                request_id: id.clone(),
            });
        }
        table.insert(id.clone(), Arc::clone(&hint));
        Ok(Waiter {
            table: Arc::clone(&self.0),
            id: id.clone(),
            hint,
        })
    }

    pub(crate) fn is_empty(&self) -> bool {
        lock(&self.0).is_empty()
    }

    /// Wakes waiters until the subscription ends or `stop`.
    pub(crate) fn listen(&self, mut hints: Subscriber, stop: CancellationToken) {
        let table = Arc::clone(&self.0);
        tokio::spawn(stop.run_until_cancelled_owned(async move {
            while let Some(message) = hints.next().await {
                let id = message.subject.rsplit('.').next().unwrap_or_default();
                let Ok(id) = id.parse::<RequestId>() else {
                    continue;
                };
                if let Some(hint) = lock(&table).get(&id) {
                    // One permit is kept, however many hints arrive.
                    hint.notify_one();
                }
            }
        }));
    }
}

impl Waiter {
    /// Resolves when a hint arrived since the last time.
    pub(crate) async fn hinted(&self) {
        self.hint.notified().await;
    }
}

impl Drop for Waiter {
    fn drop(&mut self) {
        lock(&self.table).remove(&self.id);
    }
}

fn lock(table: &Table) -> MutexGuard<'_, HashMap<RequestId, Arc<Notify>>> {
    table.lock().unwrap_or_else(PoisonError::into_inner)
}
