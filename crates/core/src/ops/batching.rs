//! Batching: lets the small batches of a steady flow gather before they are written.
//!
//! An agent that asks one thing after another would have each request written alone, on the processors that the agent
//! and the bus need for the next. A lone message, a large batch and a person's job are written at once.

use std::time::Duration;

use tokio::time::Instant;

use super::job::Job;

/// How long a flow gathers: far less than a person sees.
pub(crate) const GATHER: Duration = Duration::from_millis(1);
/// What comes sooner than this after a transaction belongs to the same flow.
const SOON: Duration = Duration::from_millis(1);
/// Transactions one right after another that make a flow.
const STEADY: u32 = 4;
/// A transaction with more messages than this is worth its price.
const FEW: usize = 32;

/// How the last transactions followed each other.
pub(crate) struct Flow {
    /// Small ones, each right after the one before.
    in_a_row: u32,
    ready_since: Instant,
}

impl Flow {
    pub(crate) fn new() -> Self {
        Self {
            in_a_row: 0,
            ready_since: Instant::now(),
        }
    }

    /// Whether what comes next may gather for [`GATHER`].
    pub(crate) fn is_steady(&self) -> bool {
        self.in_a_row >= STEADY
    }

    /// The writer has nothing more to do.
    pub(crate) fn ready(&mut self) {
        self.ready_since = Instant::now();
    }

    /// The writer was given these.
    pub(crate) fn taken(&mut self, jobs: &[Job]) {
        let messages = jobs.iter().map(Job::messages).sum::<Option<usize>>();
        let few = messages.is_some_and(|messages| (1..=FEW).contains(&messages));
        let soon = self.ready_since.elapsed() < SOON;
        self.in_a_row = if few && soon {
            self.in_a_row.saturating_add(1)
        } else {
            0
        };
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;
    use crate::domain::Timestamp;
    use crate::ops::incoming::{At, IncomingRequest, RequestMessage};

    fn decisions() -> Job {
        Job::Decisions(Arc::default())
    }

    /// Batches of so many messages, each so long after the one before, and whether the flow is steady after them.
    async fn steady_after(batches: usize, apart: Duration, batch: impl Fn() -> Vec<Job>) -> bool {
        let mut flow = Flow::new();
        for _ in 0..batches {
            flow.ready();
            tokio::time::advance(apart).await;
            flow.taken(&batch());
        }
        flow.is_steady()
    }

    fn messages(count: usize) -> Vec<Job> {
        let requests = (0..count).map(|_| IncomingRequest {
            at: At {
                seq: 1,
                stamp: Timestamp(0),
            },
            subject: String::new(),
            raw: Vec::new(),
            what: RequestMessage::Unusable,
        });
        vec![Job::Requests(Arc::new(requests.collect()))]
    }

    #[tokio::test(start_paused = true)]
    async fn only_small_batches_of_streams_one_right_after_another_gather() {
        let soon = Duration::from_micros(300);
        assert!(steady_after(4, soon, || messages(1)).await);
        assert!(steady_after(9, soon, || messages(FEW)).await);
        assert!(!steady_after(3, soon, || messages(1)).await, "too few");
        assert!(!steady_after(9, SOON, || messages(1)).await, "a pause");
        assert!(
            !steady_after(9, soon, || messages(FEW + 1)).await,
            "worth it"
        );
        assert!(!steady_after(9, soon, Vec::new).await, "nothing");
        assert!(
            !steady_after(9, soon, || vec![decisions()]).await,
            "no message"
        );
        let beside_a_person = || {
            let mut jobs = messages(1);
            jobs.push(Job::Rescan);
            jobs
        };
        assert!(!steady_after(9, soon, beside_a_person).await);
    }

    #[tokio::test(start_paused = true)]
    async fn one_pause_ends_a_flow() {
        let mut flow = Flow::new();
        for _ in 0..9 {
            flow.ready();
            flow.taken(&messages(1));
        }
        assert!(flow.is_steady());
        flow.ready();
        tokio::time::advance(SOON).await;
        flow.taken(&messages(1));
        assert!(!flow.is_steady());
    }
}
