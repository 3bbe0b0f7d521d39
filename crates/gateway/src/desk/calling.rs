//! When an ask's callback is tried.

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use tokio::time::sleep;

use super::{Cell, Desk};
use crate::ask::{Ask, State};
use crate::moment::Moment;

/// Seconds after the ask left `waiting`.
const TRIES: [u64; 7] = [0, 1, 2, 5, 10, 30, 60];
/// And then every so often, until the answer can be claimed no more.
const AFTERWARDS: Duration = Duration::from_secs(300);

impl Desk {
    /// Starts the callback where the ask does not wait any more.
    pub(super) fn call_back(self: &Arc<Self>, cell: &Arc<Cell>, ask: &Ask) {
        let due = ask.callback.as_ref().is_some_and(|callback| !callback.over);
        let left = ask.state(&Moment::now()) != State::Waiting;
        if due && left && !cell.calling.swap(true, Ordering::AcqRel) {
            tokio::spawn(Arc::clone(self).call(Arc::clone(cell)));
        }
    }

    async fn call(self: Arc<Self>, cell: Arc<Cell>) {
        self.try_until_over(&cell).await;
        // Tried again by the next process where it cannot be written.
        let _ = self
            .change(&cell, |ask, _| Ok(((), ask.called_back())))
            .await;
    }

    async fn try_until_over(&self, cell: &Cell) {
        let mut passed = 0;
        for at in TRIES {
            sleep(Duration::from_secs(at - passed)).await;
            passed = at;
            if self.callbacks.is_over(|| cell.ask()).await {
                return;
            }
        }
        loop {
            sleep(AFTERWARDS).await;
            let (ask, now) = (cell.ask(), Moment::now());
            let passed = now.since(&ask.asked);
            let late = passed.is_none_or(|passed| passed > ask.claim_until());
            if late || self.callbacks.is_over(|| cell.ask()).await {
                return;
            }
        }
    }
}
