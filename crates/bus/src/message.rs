//! A message as a stream has it.
//!
//! Subject, headers and bytes are not interpreted: they are data from agents and consoles.

use super::publish::{KEY, SIGNATURE};
use async_nats::HeaderMap;
use bytes::Bytes;
use countersign_wire::ATTESTATION_HEADER;
use std::sync::Arc;
use time::OffsetDateTime;
use tokio::sync::OwnedSemaphorePermit;

/// One message as the stream has it.
#[derive(Debug)]
pub struct StreamMessage {
    /// The stream.
    pub stream: Arc<str>,
    /// Its sequence.
    pub seq: u64,
    /// When the server stored it, by the server's clock.
    pub stamp: OffsetDateTime,
    /// Its subject.
    pub subject: String,
    /// Header `CS-Key`; none where it occurs twice, like the next two.
    pub key: Option<String>,
    /// Header `CS-Sig`.
    pub sig: Option<String>,
    /// Header `CS-Stored`.
    pub attestation: Option<String>,
    /// Header `KV-Operation` (`DEL` or `PURGE`), on key-value streams.
    pub(super) operation: Option<String>,
    /// The bytes.
    pub payload: Bytes,
    /// Whether no client can read its subject or headers from the wire. Such headers count as none; of such a subject
    /// the server has replaced bytes that are not UTF-8.
    pub unreadable: bool,
    /// Its share of the queue, given back when the message is dropped.
    pub(super) share: Option<OwnedSemaphorePermit>,
}

impl StreamMessage {
    /// A message as the stream has it; of a header with two values neither counts.
    pub fn new(
        stream: impl Into<Arc<str>>,
        seq: u64,
        stamp: OffsetDateTime,
        subject: String,
        headers: &HeaderMap,
        payload: Bytes,
    ) -> Self {
        let text = |name| headers.get(name).map(|value| value.as_str().to_owned());
        // Of two values one reader takes the first and another the last.
        let only = |name| text(name).filter(|_| headers.get_all(name).nth(1).is_none());
        Self {
            stream: stream.into(),
            seq,
            stamp,
            subject,
            key: only(KEY),
            sig: only(SIGNATURE),
            attestation: only(ATTESTATION_HEADER),
            operation: text("KV-Operation"),
            payload,
            unreadable: false,
            share: None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn of_a_signature_that_stands_twice_none_is_taken() {
        let mut headers = HeaderMap::new();
        for (name, value) in [
            ("CS-Key", "a"),
            ("CS-Sig", "b"),
            ("CS-Sig", "b"),
            ("CS-Stored", "c"),
            ("CS-Stored", "d"),
        ] {
            headers.append(name, value);
        }
        let subject = "countersign.v1.decision.acme.bot.r1".to_owned();
        let stamp = OffsetDateTime::UNIX_EPOCH;
        let message = StreamMessage::new("CS_DECISIONS", 1, stamp, subject, &headers, Bytes::new());
        assert_eq!(message.key.as_deref(), Some("a"));
        assert_eq!((message.sig, message.attestation), (None, None));
    }
}
