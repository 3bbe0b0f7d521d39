//! The shared policy: raw values in KV `CS_POLICY` (protocol, section 8).
//!
//! Values are not verified or interpreted here. A revision that the writer has not seen is never overwritten.

use super::connection::Bus;
use super::message::StreamMessage;
use super::publish::{Publication, PublishOutcome};
use super::unix::time_asleep;
use super::{BusError, batch};
use bytes::Bytes;
use std::time::Duration;
use time::OffsetDateTime;
use tokio::sync::{mpsc, watch};
use tokio::time::Instant;

/// The stream behind the bucket.
pub const POLICY_STREAM: &str = "KV_CS_POLICY";
const PREFIX: &str = "$KV.CS_POLICY.";
const QUEUE: usize = 256;
/// Automatic decisions need word from the bus that is at most 3 s old.
const ASK_EVERY: Duration = Duration::from_millis(500);

/// A value and its revision.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PolicyValue {
    /// The bytes, unverified.
    pub value: Bytes,
    /// Stream sequence of this value; a writer names it as the one it replaces.
    pub revision: u64,
    /// When the server stored it.
    pub stamp: OffsetDateTime,
}

/// One change, in the order of the bus.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PolicyChange {
    /// The key, such as `rules.acme`.
    pub key: String,
    /// The new value; none when the key was deleted.
    pub value: Option<Bytes>,
    /// Its revision.
    pub revision: u64,
    /// When the server stored it; operators count by this time.
    pub stamp: OffsetDateTime,
}

/// The last word from the bus about the policy.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PolicyHeard {
    /// When it was asked for, by this machine's monotonic clock, which stops while the machine sleeps.
    pub at: Instant,
    /// How long the machine had slept by then.
    pub asleep: Duration,
    /// The newest revision at that time.
    pub last_revision: u64,
}

/// Every change from a revision on, and how fresh that knowledge is.
///
/// The reader is caught up when it has applied `last_revision` of a [`PolicyHeard`] that is at most
/// 3 s old.
pub struct PolicyWatch {
    /// The changes.
    pub changes: mpsc::Receiver<PolicyChange>,
    /// None until the bus answered first.
    pub heard: watch::Receiver<Option<PolicyHeard>>,
}

impl Bus {
    /// The last change of a key, read from the leader; none when it never had a value.
    pub async fn policy_last(&self, key: &str) -> Result<Option<PolicyChange>, BusError> {
        let last = self.read_last(POLICY_STREAM, &subject(key)?).await?;
        Ok(last.and_then(change))
    }

    /// The value of a key, read from the leader; none when it has none.
    pub async fn policy_get(&self, key: &str) -> Result<Option<PolicyValue>, BusError> {
        let last = self.policy_last(key).await?;
        Ok(last.and_then(|last| {
            Some(PolicyValue {
                value: last.value?,
                revision: last.revision,
                stamp: last.stamp,
            })
        }))
    }

    /// Replaces the value that has `expected` as its revision (0: the key has none yet).
    ///
    /// `Stored.seq` is the new revision; `Refused` with code 10071 means that somebody else wrote in
    /// between; after `NoAnswer` read the key. Errors: `bus_bad_name`.
    pub async fn policy_put(
        &self,
        key: &str,
        expected: u64,
        value: Bytes,
    ) -> Result<PublishOutcome, BusError> {
        let publication = Publication {
            subject: subject(key)?,
            payload: value,
            key: None,
            sig: None,
        };
        Ok(self.publish_expecting(publication, Some(expected)).await)
    }

    /// Every change from `next_revision` on, for as long as the watch is kept.
    pub fn policy_watch(&self, next_revision: u64) -> PolicyWatch {
        let mut messages = self.subscribe(POLICY_STREAM, next_revision);
        let (changes_tx, changes) = mpsc::channel(QUEUE);
        let (heard_tx, heard) = watch::channel(None);
        tokio::spawn(async move {
            loop {
                let batch = batch::drain_batch(&mut messages, QUEUE).await;
                if batch.is_empty() {
                    return;
                }
                for message in batch {
                    if let Some(change) = change(message)
                        && changes_tx.send(change).await.is_err()
                    {
                        return;
                    }
                }
            }
        });
        let bus = self.clone();
        let closing = self.closing().clone();
        let ask = async move {
            loop {
                let (at, asleep) = (Instant::now(), time_asleep());
                if let Ok(last_revision) = bus.last_sequence(POLICY_STREAM).await {
                    heard_tx.send_replace(Some(PolicyHeard {
                        at,
                        asleep,
                        last_revision,
                    }));
                }
                tokio::select! {
                    () = tokio::time::sleep(ASK_EVERY) => {}
                    () = heard_tx.closed() => return,
                }
            }
        };
        tokio::spawn(async move {
            tokio::select! {
                () = closing.cancelled() => {}
                () = ask => {}
            }
        });
        PolicyWatch { changes, heard }
    }
}

fn change(message: StreamMessage) -> Option<PolicyChange> {
    Some(PolicyChange {
        key: message.subject.strip_prefix(PREFIX)?.to_owned(),
        value: message.operation.is_none().then_some(message.payload),
        revision: message.seq,
        stamp: message.stamp,
    })
}

/// Keys consist of the names of the protocol joined by dots.
fn subject(key: &str) -> Result<String, BusError> {
    let plain = |part: &str| {
        !part.is_empty()
            && part
                .bytes()
                .all(|b| b.is_ascii_alphanumeric() || b == b'_' || b == b'-')
    };
    if key.len() <= 200 && key.split('.').all(plain) {
        return Ok(format!("{PREFIX}{key}"));
    }
    Err(BusError::BadName {
        what: "policy key",
        value: key.escape_default().to_string(),
        rule: "use names of letters, digits, _ and - joined by dots",
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_key_cannot_be_a_wildcard() {
        for (key, valid) in [
            ("operators", true),
            ("rules.acme", true),
            ("setup.acme.billing-bot", true),
            ("console.0198f6c2-aaaa", true),
            ("", false),
            ("rules.", false),
            ("rules.*", false),
            (">", false),
            ("a b", false),
        ] {
            assert_eq!(subject(key).is_ok(), valid, "{key}");
        }
    }
}
