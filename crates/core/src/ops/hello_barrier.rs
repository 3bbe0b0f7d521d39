//! The request up to which every earlier hello is known.
//!
//! Requests and hellos are read side by side from two streams, so the leader of `CS_AGENTS` is asked after the requests
//! were read.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicI64, Ordering};
use std::time::Duration;

use countersign_wire::Stream;
use tokio::sync::watch;
use tokio_util::sync::CancellationToken;

use super::job::Job;
use crate::bus::{Bus, BusError};
use crate::runtime::{Positions, Shared};

/// Before a leader that did not answer is asked again.
const RETRY: Duration = Duration::from_millis(250);

/// What one session on the bus knows of it. A request is named by the sequence that follows it.
#[derive(Debug, Clone, Default)]
pub(crate) struct HelloBarrier(Arc<Progress>);

#[derive(Debug, Default)]
struct Progress {
    wanted: watch::Sender<i64>,
    reached: AtomicI64,
    /// The writer waits for more.
    awaited: AtomicBool,
}

impl HelloBarrier {
    /// It will be asked for, as of the requests before `next`, which were read.
    pub(crate) fn want(&self, next: i64) {
        self.0.wanted.send_if_modified(|wanted| {
            let more = next > *wanted;
            *wanted = next.max(*wanted);
            more
        });
    }

    /// Whether every hello is projected that was stored before one of the requests before `next`. Where not, a job
    /// follows when more is known.
    pub(crate) fn reach(&self, next: i64) -> bool {
        if self.is_reached(next) {
            return true;
        }
        self.want(next);
        self.0.awaited.store(true, Ordering::SeqCst);
        // Either this sees what was reached meanwhile, or the writer is notified.
        self.is_reached(next)
    }

    pub(crate) fn is_reached(&self, next: i64) -> bool {
        self.0.reached.load(Ordering::SeqCst) >= next
    }

    /// It is known as of the requests before `next`; returns whether the writer waits for it.
    pub(super) fn reached(&self, next: i64) -> bool {
        self.0.reached.fetch_max(next, Ordering::SeqCst);
        self.0.awaited.swap(false, Ordering::SeqCst)
    }

    /// Answers what is wanted until the session ends. However often it is wanted, one question is under way.
    pub(super) async fn run(
        self,
        shared: Arc<Shared>,
        (bus, epoch): (Bus, String),
        stop: CancellationToken,
    ) {
        let mut wanted = self.0.wanted.subscribe();
        let answer = async {
            while let Ok(next) = wanted
                .wait_for(|next| !self.is_reached(*next))
                .await
                .map(|next| *next)
            {
                if let Err(error) = all_projected(&shared, &bus, &epoch).await {
                    tracing::warn!(%error, "it is not known whether every hello was read; nothing is approved automatically");
                    tokio::time::sleep(RETRY).await;
                } else if self.reached(next) && shared.jobs.send(judge_again()).await.is_err() {
                    return;
                }
            }
        };
        tokio::select! {
            () = stop.cancelled() => {}
            () = answer => {}
        }
    }
}

/// Whatever waits for hellos is judged in each transaction: this is one.
fn judge_again() -> Job {
    Job::passing(|_, _| Ok(()))
}

/// Returns once every hello is projected that was stored when this was called.
async fn all_projected(shared: &Shared, bus: &Bus, epoch: &str) -> Result<(), BusError> {
    let stream = Stream::Agents.name();
    let mut positions = shared.positions.subscribe();
    let last = bus.last_sequence(stream).await?;
    // A place in a stream that is gone is none in the one that was made in its place.
    let place = |at: &Positions| {
        at.get(stream)
            .filter(|at| at.epoch == epoch)
            .map(|at| at.next)
    };
    let next = place(&positions.borrow()).unwrap_or(1);
    if last < next {
        return Ok(());
    }
    // What was removed is delivered to nobody.
    let Some(last) = bus.last_stored(stream, next, last).await? else {
        return Ok(());
    };
    let read = |at: &Positions| place(at).is_some_and(|next| next > last);
    // The sender is here, so that waiting cannot fail.
    let _ = positions.wait_for(read).await;
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn who_waits_for_more_is_told_once_and_what_is_known_does_not_go_back() {
        let hellos = HelloBarrier::default();
        assert!(!hellos.reach(3));
        assert_eq!(*hellos.0.wanted.borrow(), 3);
        hellos.want(2);
        assert_eq!(*hellos.0.wanted.borrow(), 3, "the furthest is asked for");
        assert!(hellos.reached(3), "somebody waits");
        assert!(hellos.reach(3) && hellos.reach(2) && !hellos.is_reached(4));
        assert!(!hellos.reached(2), "nobody waits any more");
        assert!(hellos.is_reached(3));
    }
}
