//! Streams in memory: the first message on a subject counts.

use bytes::Bytes;
use countersign_wire::Stream;

use crate::bus::StreamMessage;
use crate::domain::Timestamp;

#[derive(Clone)]
pub(super) struct Stored {
    pub(super) seq: u64,
    pub(super) stamp: Timestamp,
    pub(super) subject: String,
    pub(super) payload: Vec<u8>,
    pub(super) key: Option<String>,
    pub(super) sig: Option<String>,
}

#[derive(Default)]
pub(super) struct MemoryBus {
    requests: Vec<Stored>,
    decisions: Vec<Stored>,
    receipts: Vec<Stored>,
}

impl MemoryBus {
    pub(super) fn of(&self, stream: Stream) -> &[Stored] {
        match stream {
            Stream::Requests => &self.requests,
            Stream::Decisions => &self.decisions,
            Stream::Receipts => &self.receipts,
            _ => &[],
        }
    }

    /// Stores a message, unless the subject is write-once and taken.
    pub(super) fn store(
        &mut self,
        stream: Stream,
        stamp: Timestamp,
        subject: String,
        payload: Vec<u8>,
        signed: Option<(String, String)>,
    ) -> bool {
        if stream != Stream::Receipts && self.last(stream, &subject).is_some() {
            return false;
        }
        let messages = match stream {
            Stream::Requests => &mut self.requests,
            Stream::Decisions => &mut self.decisions,
            _ => &mut self.receipts,
        };
        let (key, sig) = signed.unzip();
        messages.push(Stored {
            seq: messages.len() as u64 + 1,
            stamp,
            subject,
            payload,
            key,
            sig,
        });
        true
    }

    pub(super) fn last(&self, stream: Stream, subject: &str) -> Option<&Stored> {
        self.of(stream)
            .iter()
            .rev()
            .find(|message| message.subject == subject)
    }
}

impl Stored {
    pub(super) fn message(&self, stream: Stream) -> StreamMessage {
        let mut headers = async_nats::HeaderMap::new();
        if let (Some(key), Some(sig)) = (&self.key, &self.sig) {
            headers.insert("CS-Key", key.as_str());
            headers.insert("CS-Sig", sig.as_str());
        }
        StreamMessage::new(
            stream.name(),
            self.seq,
            self.stamp.into(),
            self.subject.clone(),
            &headers,
            Bytes::from(self.payload.clone()),
        )
    }
}
