//! The writer's queues: people's jobs, messages of the streams, and spans.
//!
//! A request or a decision waits behind one batch of spans at most, and spans always advance: of two transactions one
//! has a batch.

use std::time::Duration;

use tokio::sync::mpsc::{self, Receiver, Sender};

use super::job::Job;

/// Jobs taken into one transaction.
const BATCH: usize = 500;
/// Callers that wait for the writer.
const JOBS: usize = 2_048;
/// Batches of messages that wait for the writer; a full queue holds the intake of the streams up.
const STREAM_BATCHES: usize = 8;
/// Jobs that wait for a store that fails.
const BACKLOG: usize = 4_096;
/// Batches of spans that wait for the writer.
const SPAN_BATCHES: usize = 2;

/// The ends that fill the queues.
#[derive(Clone)]
pub(crate) struct Senders {
    /// What people and the console itself ask for.
    pub(crate) jobs: Sender<Job>,
    /// What the streams bring; people's jobs do not wait behind it.
    pub(crate) streams: Sender<Job>,
    /// Spans; nothing else waits behind them.
    pub(crate) spans: Sender<Job>,
}

/// The writer's ends.
pub(crate) struct Queues {
    jobs: Receiver<Job>,
    streams: Receiver<Job>,
    spans: Receiver<Job>,
    /// The next batch of spans, once it was looked at.
    next_spans: Option<Job>,
    /// It was left out of the last transaction for something else.
    passed_over: bool,
}

/// All three queues, empty.
pub(crate) fn queues() -> (Senders, Queues) {
    let (jobs_in, jobs) = mpsc::channel(JOBS);
    let (streams_in, streams) = mpsc::channel(STREAM_BATCHES);
    let (spans_in, spans) = mpsc::channel(SPAN_BATCHES);
    let senders = Senders {
        jobs: jobs_in,
        streams: streams_in,
        spans: spans_in,
    };
    let queues = Queues {
        jobs,
        streams,
        spans,
        next_spans: None,
        passed_over: false,
    };
    (senders, queues)
}

impl Queues {
    /// Waits for something to do, no longer than `sleep`; none when every handle is gone. People come first.
    ///
    /// `backlog` is what failed before: it is taken alone, in its order, before anything that came later. While the
    /// store is to be left alone (`resting`), only people's jobs are taken, and those of the console itself.
    pub(crate) async fn take(
        &mut self,
        backlog: &mut Vec<Job>,
        resting: bool,
        sleep: Duration,
    ) -> Option<Vec<Job>> {
        if !resting && !backlog.is_empty() {
            // Nothing with it: what the streams bring would grow with every attempt that fails.
            return Some(std::mem::take(backlog));
        }
        let mut jobs = Vec::new();
        let calls = tokio::task::unconstrained(self.jobs.recv_many(&mut jobs, BATCH));
        let mut message = None;
        tokio::select! {
            biased;
            taken = calls => if taken == 0 { return None },
            job = self.streams.recv(), if !resting => message = job,
            () = std::future::ready(()), if !resting && self.next_spans.is_some() => {}
            job = self.spans.recv(), if !resting => self.next_spans = job,
            () = tokio::time::sleep(sleep) => {}
        }
        jobs.extend(message);
        if !resting {
            while jobs.len() < BATCH {
                let Ok(job) = self.streams.try_recv() else {
                    break;
                };
                jobs.push(job);
            }
            self.add_spans(&mut jobs);
        }
        Some(jobs)
    }

    fn add_spans(&mut self, jobs: &mut Vec<Job>) {
        if let Some(at) = jobs.iter().position(|job| matches!(job, Job::Lagging)) {
            // What the lost connection brought is judged by what was known then.
            let mut old: Vec<Job> = self.next_spans.take().into_iter().collect();
            while let Ok(job) = self.spans.try_recv() {
                old.push(job);
            }
            jobs.splice(at..at, old);
            return;
        }
        if self.next_spans.is_none() {
            self.next_spans = self.spans.try_recv().ok();
        }
        let others = !jobs.is_empty();
        self.passed_over = others && self.next_spans.is_some() && !self.passed_over;
        if !self.passed_over {
            jobs.extend(self.next_spans.take());
        }
    }
}

/// Puts what the console itself wants written behind what failed before, and gives back what somebody waits for: that
/// is tried while the store rests too. What is sent again anyway, such as a heartbeat, is dropped.
pub(crate) fn put_by(backlog: &mut Vec<Job>, jobs: Vec<Job>) -> Vec<Job> {
    let mut awaited = Vec::new();
    for job in jobs {
        if job.is_awaited() {
            awaited.push(job);
            continue;
        }
        let needless =
            matches!(job, Job::Rescan) && backlog.iter().any(|job| matches!(job, Job::Rescan));
        if job.for_backlog().is_none() || needless {
            continue;
        }
        if backlog.len() < BACKLOG {
            backlog.push(job);
        } else {
            tracing::error!(
                "the store fails for so long that a change of the console's own is lost"
            );
        }
    }
    awaited
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;
    use crate::ops::job::Again;
    use crate::ops::writer_state::{Tx, WriterState};

    const LONG: Duration = Duration::from_secs(3_600);

    fn spans() -> Job {
        Job::Spans(Arc::default())
    }

    /// One letter a job: spans, a request of the streams, a person's job, the end of a session.
    fn letters(jobs: &[Job]) -> String {
        let letter = |job: &Job| match job {
            Job::Spans(_) => 's',
            Job::Requests(_) => 'r',
            Job::Rescan => 'p',
            Job::Lagging => 'L',
            _ => '?',
        };
        jobs.iter().map(letter).collect()
    }

    async fn taken(queues: &mut Queues) -> String {
        letters(&queues.take(&mut Vec::new(), false, LONG).await.unwrap())
    }

    #[tokio::test(start_paused = true)]
    async fn spans_go_alone_or_in_every_second_transaction_and_never_two_batches_in_one() {
        let (senders, mut queues) = queues();
        for _ in 0..SPAN_BATCHES {
            senders.spans.try_send(spans()).unwrap();
        }
        let mut seen = Vec::new();
        for _ in 0..4 {
            senders
                .streams
                .try_send(Job::Requests(Arc::default()))
                .unwrap();
            senders.jobs.try_send(Job::Rescan).unwrap();
            seen.push(taken(&mut queues).await);
        }
        assert_eq!(seen, ["pr", "prs", "pr", "prs"]);
        senders.spans.try_send(spans()).unwrap();
        senders.spans.try_send(spans()).unwrap();
        assert_eq!(taken(&mut queues).await, "s");
        senders.jobs.try_send(Job::Rescan).unwrap();
        assert_eq!(taken(&mut queues).await, "p", "a person is not held up");
        assert_eq!(
            taken(&mut queues).await,
            "s",
            "what was passed over waits for nobody"
        );
    }

    #[tokio::test(start_paused = true)]
    async fn spans_of_a_lost_connection_come_before_the_next_session_and_after_what_failed() {
        let (senders, mut queues) = queues();
        senders.spans.try_send(spans()).unwrap();
        senders.spans.try_send(spans()).unwrap();
        senders.jobs.try_send(Job::Rescan).unwrap();
        assert_eq!(taken(&mut queues).await, "p");
        senders.streams.try_send(Job::Lagging).unwrap();
        let mut backlog = vec![Job::Requests(Arc::default()), spans()];
        let jobs = queues.take(&mut backlog, false, LONG).await.unwrap();
        assert_eq!(letters(&jobs), "rs");
        assert!(backlog.is_empty());
        assert_eq!(taken(&mut queues).await, "ssL");
    }

    #[tokio::test(start_paused = true)]
    async fn what_failed_is_tried_again_alone_and_does_not_grow_by_what_the_streams_bring() {
        let (senders, mut queues) = queues();
        let mut backlog = vec![Job::Requests(Arc::default())];
        for _ in 0..STREAM_BATCHES {
            let more = Job::Requests(Arc::default());
            senders.streams.try_send(more).unwrap();
        }
        senders.jobs.try_send(Job::Rescan).unwrap();
        for _ in 0..3 {
            let jobs = queues.take(&mut backlog, false, LONG).await.unwrap();
            assert_eq!(letters(&jobs), "r");
            backlog = jobs;
        }
        backlog.clear();
        let jobs = queues.take(&mut backlog, false, LONG).await.unwrap();
        assert_eq!(letters(&jobs), "prrrrrrrr");
    }

    #[test]
    fn while_the_store_rests_the_consoles_own_changes_wait_in_their_order_and_callers_are_answered()
    {
        let nothing = || -> Again { Arc::new(|_: &mut WriterState, _: &mut Tx<'_>| Ok(())) };
        let (up, down) = (nothing(), nothing());
        let names = |jobs: &[Job]| -> String {
            let name = |job: &Job| match job {
                Job::Requests(_) => 'r',
                Job::Kept(work) if Arc::ptr_eq(work, &up) => '+',
                Job::Kept(work) if Arc::ptr_eq(work, &down) => '-',
                Job::Rescan => 'p',
                Job::Asked(_) => 'a',
                Job::Passing(_) => 'i',
                _ => '?',
            };
            jobs.iter().map(name).collect()
        };
        let kept = |work: &Again| Job::Kept(Arc::clone(work));
        let mut backlog = vec![Job::Requests(Arc::default()), kept(&up)];
        let came = vec![
            Job::Rescan,
            Job::asked(|_, _| Ok(())).0,
            kept(&down),
            Job::passing(|_, _| Ok(())),
            kept(&up),
            Job::Rescan,
        ];
        let awaited = put_by(&mut backlog, came);
        assert_eq!(
            (names(&backlog), names(&awaited)),
            ("r+p-+".into(), "a".into())
        );
        for _ in 0..2 * BACKLOG {
            assert_eq!(names(&put_by(&mut backlog, vec![kept(&up)])), "");
        }
        assert_eq!(backlog.len(), BACKLOG);
    }

    #[tokio::test(start_paused = true)]
    async fn a_store_at_rest_takes_people_only_and_the_end_of_all_handles_is_told() {
        let (senders, mut queues) = queues();
        senders.spans.try_send(spans()).unwrap();
        senders.streams.try_send(Job::Lagging).unwrap();
        let mut backlog = vec![spans()];
        let mut rest = async || queues.take(&mut backlog, true, LONG).await;
        assert_eq!(
            letters(&rest().await.unwrap()),
            "",
            "nothing until the time is over"
        );
        senders.jobs.try_send(Job::Rescan).unwrap();
        assert_eq!(letters(&rest().await.unwrap()), "p");
        drop(senders);
        assert!(rest().await.is_none());
    }
}
