//! How long the gate waits for what, and when it looks for an answer unprompted.
//!
//! By default it looks as often as the protocol says; tests may shorten everything.

use std::time::Duration;

use tokio::time::Instant;

/// Limits and intervals. The default is the protocol's.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct Timing {
    /// How long connecting may take, its retries included. 5 s.
    pub connect: Duration,
    /// How long one exchange with the bus may take. 2 s: a forbidden one is never answered.
    pub exchange: Duration,
    /// When to look for an answer without a hint, after the publish. 1, 2 and 5 s.
    pub looks: Vec<Duration>,
    /// And then every so often. 15 s.
    pub look_every: Duration,
    /// How long to wait for an operator's console to sign for a key that appeared just now. 2 s.
    pub unknown_key: Duration,
    /// How often to send a heartbeat. 10 s.
    pub alive_every: Duration,
    /// How long closing waits for what is still to be sent. 5 s.
    pub close: Duration,
}

impl Default for Timing {
    fn default() -> Self {
        Self {
            connect: Duration::from_secs(5),
            exchange: Duration::from_secs(2),
            looks: [1, 2, 5].map(Duration::from_secs).to_vec(),
            look_every: Duration::from_secs(15),
            unknown_key: Duration::from_secs(2),
            alive_every: Duration::from_secs(10),
            close: Duration::from_secs(5),
        }
    }
}

const AFTER_PUBLISH: Duration = Duration::from_millis(100);
const SHORTEST_PAUSE: Duration = Duration::from_millis(50);
const LONGEST_PAUSE: Duration = Duration::from_secs(1);

/// When to look next.
pub(crate) struct Pace<'a> {
    timing: &'a Timing,
    started: Instant,
    looked: usize,
    again: Option<(Instant, Duration)>,
    /// The look after the publish.
    first: Option<Instant>,
}

impl<'a> Pace<'a> {
    pub(crate) fn new(timing: &'a Timing) -> Self {
        Self {
            timing,
            started: Instant::now(),
            looked: 0,
            again: None,
            first: None,
        }
    }

    /// The request is stored. A rule answers within milliseconds, and its hint
    /// brings a look anyway, so this one waits a moment for it.
    pub(crate) fn placed(&mut self) {
        self.first = Some(Instant::now() + AFTER_PUBLISH);
    }

    /// When to look without a hint.
    pub(crate) fn next(&self) -> Instant {
        let regular = self.started + self.at(self.looked);
        let again = self.again.map(|(at, _)| at);
        [again, self.first]
            .into_iter()
            .flatten()
            .fold(regular, Instant::min)
    }

    /// Whether a hint is worth a look right now, and not at the next one.
    pub(crate) fn takes_hints(&self) -> bool {
        self.again.is_none()
    }

    /// Somebody looked and found nothing that counts; `soon` if there should be something.
    pub(crate) fn looked(&mut self, soon: bool) {
        let now = Instant::now();
        self.first = None;
        while self.started + self.at(self.looked) <= now {
            self.looked += 1;
        }
        self.again = match self.again {
            // A look that came for another reason does not use up the pause.
            Some((at, pause)) if at > now => Some((at, pause)),
            Some((_, pause)) if soon => {
                let pause = (pause * 2).min(LONGEST_PAUSE);
                Some((now + pause, pause))
            }
            // One more, because a replica may lag behind a hint.
            Some((_, pause)) if pause < LONGEST_PAUSE / 2 => Some((now + pause * 2, pause * 2)),
            None if soon => Some((now + SHORTEST_PAUSE, SHORTEST_PAUSE)),
            _ => None,
        };
    }

    fn at(&self, index: usize) -> Duration {
        let listed = &self.timing.looks;
        match listed.get(index) {
            Some(at) => *at,
            None => {
                let more = u32::try_from(index - listed.len() + 1).unwrap_or(u32::MAX);
                let every = self.timing.look_every.max(Duration::from_millis(1));
                listed.last().copied().unwrap_or_default() + every.saturating_mul(more)
            }
        }
    }
}
