//! Answers the callers of a change once a power cut cannot undo it.
//!
//! A commit is seen by every process at once and outlives all of them; only the machine's own end could undo it until
//! the disk has it. The writer goes on meanwhile, and all waiting callers share one look at the disk. After the disk
//! has failed, nobody is answered.

use std::sync::mpsc::{self, Receiver, SyncSender};
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use tokio::time::Instant;

use crate::store::StoreError;

/// Commits that wait for the disk at the same time; the writer waits when there are more.
const WAITING: usize = 64;

/// How long the disk is left alone while nobody waits: what the streams bring is held by the bus, and a look at
/// the disk after each of it would take from everybody.
const UNAWAITED: Duration = Duration::from_millis(10);

/// And while somebody does: far less than a person sees, and a decision that was just sent has the processors and
/// the disk to itself meanwhile.
const AWAITED: Duration = Duration::from_micros(1_500);

/// What is done once a commit is durable.
pub(crate) type Reply = Box<dyn FnOnce() + Send>;

/// The writer's end.
pub(crate) struct Durable {
    commits: SyncSender<Vec<Reply>>,
    failed: Arc<OnceLock<StoreError>>,
}

/// The end that waits for the disk, on a thread of its own.
pub(crate) struct DiskWait<S> {
    commits: Receiver<Vec<Reply>>,
    failed: Arc<OnceLock<StoreError>>,
    sync: S,
}

/// Both ends. `sync` returns when everything that was committed before is durable.
pub(crate) fn durable<S>(sync: S) -> (Durable, DiskWait<S>)
where
    S: Fn() -> Result<(), StoreError>,
{
    let (sender, commits) = mpsc::sync_channel(WAITING);
    let failed = Arc::new(OnceLock::new());
    let ours = Durable {
        commits: sender,
        failed: Arc::clone(&failed),
    };
    let theirs = DiskWait {
        commits,
        failed,
        sync,
    };
    (ours, theirs)
}

impl Durable {
    /// Has the last commit brought to the disk, and the replies given then.
    pub(crate) fn after(&self, replies: Vec<Reply>) {
        // Nobody waits for the disk any more: it has failed, and waiting callers get an error.
        let _ = self.commits.send(replies);
    }

    /// The failure since which nothing that is written is durable.
    pub(crate) fn failure(&self) -> Option<&StoreError> {
        self.failed.get()
    }
}

impl<S: Fn() -> Result<(), StoreError>> DiskWait<S> {
    /// Works until the writer has gone or the disk has failed.
    pub(crate) fn run(self) {
        while let Ok(mut replies) = self.commits.recv() {
            let mut until = Instant::now() + UNAWAITED;
            let mut awaited = false;
            loop {
                if !awaited && !replies.is_empty() {
                    awaited = true;
                    until = until.min(Instant::now() + AWAITED);
                }
                let left = until.saturating_duration_since(Instant::now());
                match self.commits.recv_timeout(left) {
                    Ok(more) => replies.extend(more),
                    Err(_) => break,
                }
            }
            if let Err(error) = (self.sync)() {
                tracing::error!(%error, "what was written may be lost");
                let _ = self.failed.set(error);
                return;
            }
            for reply in replies {
                reply();
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicUsize, Ordering};

    use tokio::sync::oneshot;

    use super::*;

    fn answering() -> (Vec<Reply>, oneshot::Receiver<()>) {
        let (sender, answer) = oneshot::channel();
        let reply = move || {
            let _ = sender.send(());
        };
        (vec![Box::new(reply)], answer)
    }

    #[test]
    fn nobody_is_answered_before_the_disk_has_it_and_all_that_wait_share_one_look() {
        let looks = Arc::new(AtomicUsize::new(0));
        let (started, starts) = mpsc::sync_channel(1);
        let (release, released) = mpsc::sync_channel(1);
        let counted = Arc::clone(&looks);
        let (ours, theirs) = durable(move || {
            counted.fetch_add(1, Ordering::SeqCst);
            started.send(()).unwrap();
            released.recv().unwrap();
            Ok(())
        });
        let waiting = std::thread::spawn(|| theirs.run());
        let (first, mut one) = answering();
        ours.after(first);
        starts.recv().unwrap();
        let mut others = Vec::new();
        for _ in 0..WAITING {
            let (replies, answer) = answering();
            ours.after(replies);
            others.push(answer);
        }
        assert!(one.try_recv().is_err(), "the disk has not answered");
        release.send(()).unwrap();
        one.blocking_recv().unwrap();
        starts.recv().unwrap();
        assert!(others.iter_mut().all(|answer| answer.try_recv().is_err()));
        release.send(()).unwrap();
        for answer in others {
            answer.blocking_recv().unwrap();
        }
        assert_eq!(looks.load(Ordering::SeqCst), 2);
        drop(ours);
        waiting.join().unwrap();
    }

    #[test]
    fn what_nobody_waits_for_is_brought_to_the_disk_too_and_many_at_a_time() {
        let looks = Arc::new(AtomicUsize::new(0));
        let counted = Arc::clone(&looks);
        let (ours, theirs) = durable(move || {
            counted.fetch_add(1, Ordering::SeqCst);
            Ok(())
        });
        for _ in 0..WAITING {
            ours.after(Vec::new());
        }
        drop(ours);
        theirs.run();
        assert_eq!(looks.load(Ordering::SeqCst), 1);
    }

    #[test]
    fn after_the_disk_has_failed_nobody_is_answered_and_nobody_hangs() {
        let (ours, theirs) = durable(|| Err(StoreError::NotDurable("input/output error".into())));
        let (replies, answer) = answering();
        assert!(ours.failure().is_none());
        ours.after(replies);
        theirs.run();
        assert!(answer.blocking_recv().is_err());
        assert!(ours.failure().is_some_and(StoreError::is_damaged));
        for _ in 0..=WAITING {
            let (replies, answer) = answering();
            ours.after(replies);
            assert!(answer.blocking_recv().is_err());
        }
    }
}
