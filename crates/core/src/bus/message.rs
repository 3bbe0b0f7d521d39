//! A message as a stream has it.
//!
//! Refuses to interpret subject, headers or bytes: they are data from agents and consoles.

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
    /// Header `CS-Key`.
    pub key: Option<String>,
    /// Header `CS-Sig`.
    pub sig: Option<String>,
    /// Header `CS-Stored`.
    pub attestation: Option<String>,
    /// Header `KV-Operation` (`DEL` or `PURGE`), on key-value streams.
    pub(super) operation: Option<String>,
    /// The bytes.
    pub payload: Bytes,
    /// Its share of the queue, given back when the message is dropped.
    pub(super) share: Option<OwnedSemaphorePermit>,
}

impl StreamMessage {
    pub(crate) fn new(
        stream: impl Into<Arc<str>>,
        seq: u64,
        stamp: OffsetDateTime,
        subject: String,
        headers: &HeaderMap,
        payload: Bytes,
    ) -> Self {
        let text = |name| headers.get(name).map(|value| value.as_str().to_owned());
        Self {
            stream: stream.into(),
            seq,
            stamp,
            subject,
            key: text(KEY),
            sig: text(SIGNATURE),
            attestation: text(ATTESTATION_HEADER),
            operation: text("KV-Operation"),
            payload,
            share: None,
        }
    }
}
