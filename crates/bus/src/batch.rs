//! Takes what is ready from a queue at once.
//!
//! One message alone goes on immediately, without waiting for a full batch.

use tokio::sync::mpsc::Receiver;

/// The largest batch: one SQLite transaction (architecture, "Facts from trials").
pub const MAX_BATCH: usize = 500;

/// Waits for one item, then takes all that are ready, up to `max` (at least 1, at most
/// [`MAX_BATCH`]). Empty when the queue is closed and read.
///
/// Safe to cancel: nothing is taken before it returns.
pub async fn drain_batch<T>(queue: &mut Receiver<T>, max: usize) -> Vec<T> {
    let max = max.clamp(1, MAX_BATCH);
    let mut batch = Vec::new();
    // The cooperative budget would cut batches to the 65 or so items that one poll may take.
    tokio::task::unconstrained(queue.recv_many(&mut batch, max)).await;
    batch
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;
    use tokio::sync::mpsc;

    #[tokio::test]
    async fn everything_ready_comes_at_once_in_order_up_to_the_limit() {
        let (queue, mut receiver) = mpsc::channel(2_000);
        for item in 0..1_200 {
            queue.send(item).await.unwrap();
        }
        let sizes = [500, 500, 200];
        let mut next = 0;
        for size in sizes {
            let batch = drain_batch(&mut receiver, 10_000).await;
            assert_eq!(batch, (next..next + size).collect::<Vec<_>>());
            next += size;
        }
        drop(queue);
        assert!(drain_batch(&mut receiver, 10).await.is_empty());
    }

    #[tokio::test(start_paused = true)]
    async fn one_item_does_not_wait_for_more() {
        let (queue, mut receiver) = mpsc::channel(10);
        queue.send(1).await.unwrap();
        assert_eq!(drain_batch(&mut receiver, 10).await, [1]);
    }
}
