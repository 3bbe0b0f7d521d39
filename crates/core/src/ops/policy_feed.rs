//! Follows `CS_POLICY` and hands each change to who reads its key (protocol, section 8).
//!
//! The policy is known while the last word from the bus is at most 3 s old and everything on it is applied here.
//! Automatic decisions need that.

use std::sync::Arc;
use std::time::Duration;

use countersign_wire::{PolicyKey, SignedEnvelope, Stream};
use tokio::sync::watch;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;
use uuid::Uuid;

use super::realm::asks;
use super::{presence, registers};
use crate::bus::{Bus, PolicyChange, PolicyHeard, time_asleep};
use crate::runtime::Shared;

/// Word from the bus that is older does not count.
const FRESH: Duration = Duration::from_secs(3);
/// How long a value waits until its signer's entry is read.
const SIGNER_LIMIT: Duration = Duration::from_secs(2);
/// A machine that slept this long has missed what the bus said meanwhile. Less is the moment between two clocks.
const SLEPT: Duration = Duration::from_millis(500);

/// The last word of the bus at which the whole policy was known here; none before it was read.
#[derive(Clone)]
pub(crate) struct PolicyKnown(watch::Sender<Option<PolicyHeard>>);

impl PolicyKnown {
    pub(crate) fn new() -> Self {
        Self(watch::Sender::new(None))
    }

    /// Whether automatic decisions may be made now.
    pub(crate) fn is_fresh(&self) -> bool {
        self.is_fresh_after(time_asleep())
    }

    fn is_fresh_after(&self, asleep: Duration) -> bool {
        let word = *self.0.borrow();
        word.is_some_and(|word| {
            let slept = asleep.saturating_sub(word.asleep);
            slept < SLEPT && word.at.elapsed() <= FRESH
        })
    }

    /// Waits until it is known.
    pub(crate) async fn wait(&self) {
        // The sender is here, so that waiting cannot fail.
        let _ = self.0.subscribe().wait_for(Option::is_some).await;
    }

    pub(super) fn set(&self, word: Option<PolicyHeard>) {
        self.0.send_replace(word);
    }
}

/// What is applied, and what the bus had when it was last asked.
#[derive(Default)]
struct Progress {
    applied: u64,
    /// When that was applied.
    applied_at: Option<Instant>,
    /// The oldest word that is not reached: a newer one in its place could be put off for ever.
    behind: Option<PolicyHeard>,
}

impl Progress {
    /// The bus answered. Returns its last word at which everything is known.
    fn heard(&mut self, word: PolicyHeard) -> Option<PolicyHeard> {
        // Asked after that was applied, it would have it: this is another bucket, or an older copy, and what it
        // holds is not known here.
        let rollback = word.last_revision < self.applied
            && self
                .applied_at
                .is_some_and(|applied_at| applied_at < word.at);
        if rollback {
            return None;
        }
        if self.applied >= word.last_revision {
            self.behind = None;
            return Some(word);
        }
        self.behind.get_or_insert(word);
        None
    }

    /// A change is applied. Returns the last word of the bus at which everything is known.
    fn applied(&mut self, revision: u64, now: Instant) -> Option<PolicyHeard> {
        if revision > self.applied {
            (self.applied, self.applied_at) = (revision, Some(now));
        }
        let word = self
            .behind
            .filter(|word| self.applied >= word.last_revision)?;
        self.behind = None;
        Some(word)
    }
}

/// The one watch of a console over the bucket.
pub(crate) struct PolicyFeed {
    pub(crate) shared: Arc<Shared>,
    pub(crate) bus: Bus,
    pub(crate) realm: Uuid,
}

impl PolicyFeed {
    /// Reads every value that the bucket holds and then every change, until it is cancelled.
    pub(crate) async fn run(self, stop: CancellationToken) {
        let shared = &self.shared;
        let write_back = shared
            .registers
            .write_back(&shared.trusted, &shared.reader, &self.bus);
        tokio::select! {
            () = self.follow(stop) => {}
            () = write_back => {}
        }
    }

    async fn follow(&self, stop: CancellationToken) {
        self.shared.policy_known.set(None);
        let mut watch = self.bus.policy_watch(1);
        let mut progress = Progress::default();
        loop {
            let known = tokio::select! {
                () = stop.cancelled() => break,
                change = watch.changes.recv() => {
                    let Some(change) = change else { break };
                    let revision = change.revision;
                    self.apply(change).await;
                    progress.applied(revision, Instant::now())
                }
                heard = watch.heard.changed() => {
                    if heard.is_err() {
                        break;
                    }
                    let word = *watch.heard.borrow_and_update();
                    word.and_then(|word| progress.heard(word))
                }
            };
            if known.is_some() {
                self.shared.policy_known.set(known);
            }
        }
        self.shared.policy_known.set(None);
    }

    async fn apply(&self, change: PolicyChange) {
        match PolicyKey::parse(&change.key) {
            Some(PolicyKey::Ask(key)) => asks::note(&self.shared, &self.realm, &key, &change),
            Some(PolicyKey::Console(id)) => {
                presence::note(&self.shared, &self.realm, &id, &change).await;
            }
            Some(_) => {
                self.know_the_signer(&change).await;
                registers::changed(&self.shared, &self.realm, &change).await;
            }
            // A key of a later version.
            None => {}
        }
    }

    /// Waits, for a limited time, until the log is read as far as it is stored where a value's signer is not known yet:
    /// the entry that let it in may be on its way.
    async fn know_the_signer(&self, change: &PolicyChange) {
        let envelope = change.value.as_deref().map(SignedEnvelope::from_bytes);
        let Some(Ok(envelope)) = envelope else { return };
        let trusted = &self.shared.trusted;
        let signer = envelope.key.as_str();
        if trusted.register_term(signer, change.revision).is_some() {
            return;
        }
        let decisions = Stream::Decisions.name();
        let Ok(last) = self.bus.last_sequence(decisions).await else {
            return;
        };
        let mut places = self.shared.positions.subscribe();
        let read = places.wait_for(|places| places.get(decisions).is_some_and(|at| at.next > last));
        if tokio::time::timeout(SIGNER_LIMIT, read).await.is_err() {
            tracing::warn!(key = change.key, "who signed a value is not known yet");
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn word(seconds: u64, last_revision: u64, start: Instant) -> PolicyHeard {
        PolicyHeard {
            at: start + Duration::from_secs(seconds),
            asleep: Duration::ZERO,
            last_revision,
        }
    }

    #[test]
    fn the_policy_is_known_as_of_the_last_word_whose_revision_is_applied() {
        let start = Instant::now();
        let named = |seconds, revision| Some(word(seconds, revision, start));
        let mut progress = Progress::default();
        assert_eq!(progress.heard(word(1, 3, start)), None);
        assert_eq!(progress.applied(2, start), None);
        assert_eq!(
            progress.heard(word(2, 5, start)),
            None,
            "a word that is still not reached"
        );
        assert_eq!(
            progress.applied(3, start),
            named(1, 3),
            "what the first word named is applied"
        );
        assert_eq!(progress.heard(word(3, 5, start)), None);
        assert_eq!(progress.applied(5, start), named(3, 5));
        assert_eq!(
            progress.heard(word(4, 5, start)),
            named(4, 5),
            "nothing new on the bus"
        );
    }

    #[test]
    fn a_bucket_that_went_back_is_not_known() {
        let start = Instant::now();
        let mut progress = Progress::default();
        assert_eq!(progress.applied(50, start + Duration::from_secs(2)), None);
        let before = word(1, 49, start);
        assert_eq!(
            progress.heard(before),
            Some(before),
            "asked before the last came"
        );
        assert_eq!(progress.heard(word(3, 7, start)), None);
        assert!(progress.heard(word(4, 50, start)).is_some());
    }

    #[test]
    fn an_empty_bucket_is_known_at_the_first_word() {
        let start = Instant::now();
        assert!(Progress::default().heard(word(1, 0, start)).is_some());
    }

    #[tokio::test(start_paused = true)]
    async fn word_that_is_older_than_three_seconds_does_not_count() {
        let known = PolicyKnown::new();
        assert!(!known.is_fresh());
        let now = || PolicyHeard {
            asleep: time_asleep(),
            ..word(0, 1, Instant::now())
        };
        known.set(Some(now()));
        tokio::time::advance(FRESH).await;
        assert!(known.is_fresh());
        tokio::time::advance(Duration::from_millis(1)).await;
        assert!(!known.is_fresh());
        known.set(Some(now()));
        let minute = Duration::from_secs(60);
        assert!(
            !known.is_fresh_after(time_asleep() + minute),
            "the lid was shut"
        );
    }
}
