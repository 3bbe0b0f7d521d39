//! Publishing into the streams, each message once.
//!
//! A message counts as stored only with the server's acknowledgement. `Nats-Msg-Id` is never sent: its deduplication is
//! stream-wide (protocol, section 1 "Write once").

use super::connection::Bus;
use async_nats::HeaderMap;
use bytes::Bytes;
use countersign_wire::{ATTESTATION_HEADER, AgentKey, event_subject};
use serde::Deserialize;

const EXPECTED_LAST: &str = "Nats-Expected-Last-Subject-Sequence";
pub(super) const KEY: &str = "CS-Key";
pub(super) const SIGNATURE: &str = "CS-Sig";

/// One message to store.
#[derive(Debug, Clone)]
pub struct Publication {
    /// Its subject.
    pub subject: String,
    /// Its bytes, as signed.
    pub payload: Bytes,
    /// Public key for the header `CS-Key`.
    pub key: Option<String>,
    /// Signature for the header `CS-Sig`.
    pub sig: Option<String>,
}

/// What became of a publication.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum PublishOutcome {
    /// The server stored it.
    Stored {
        /// Its sequence in the stream.
        seq: u64,
    },
    /// The server answered with an error.
    Refused {
        /// JetStream's code; 10071 and 10077 when the subject is taken, 0 when the client refused it.
        code: u64,
        /// JetStream's words.
        description: String,
    },
    /// No acknowledgement within 2 s, or no connection. It may or may not be stored.
    NoAnswer,
}

#[derive(Deserialize)]
#[serde(untagged)]
enum Acknowledgement {
    Refused { error: RefusedBecause },
    Stored { seq: u64 },
}

/// JetStream's error object.
#[derive(Deserialize)]
pub(super) struct RefusedBecause {
    #[serde(default)]
    pub(super) err_code: u64,
    #[serde(default)]
    pub(super) description: String,
}

impl Bus {
    /// Stores a message on a subject that never had one. Many may be in flight: the futures are
    /// independent of each other.
    pub async fn publish_once(&self, publication: Publication) -> PublishOutcome {
        self.publish_expecting(publication, Some(0)).await
    }

    /// Stores a message that a stream has lost, with a console's word on when it was stored first
    /// ([`countersign_wire::Attestation`]).
    pub async fn publish_again(
        &self,
        publication: Publication,
        attestation: &str,
    ) -> PublishOutcome {
        self.publish_with(publication, Some(0), Some(attestation))
            .await
    }

    /// Stores a signed head of this console's audit chain on `countersign.v1.audit.{console}`, which
    /// holds many.
    pub async fn publish_anchor(&self, console: &str, payload: Bytes) -> PublishOutcome {
        let anchor = Publication {
            subject: format!("countersign.v1.audit.{console}"),
            payload,
            key: None,
            sig: None,
        };
        self.publish_expecting(anchor, None).await
    }

    /// Stores an event on its agent's subject, which holds many.
    pub async fn publish_event(&self, agent: &AgentKey, payload: Bytes) -> PublishOutcome {
        let event = Publication {
            subject: event_subject(agent),
            payload,
            key: None,
            sig: None,
        };
        self.publish_expecting(event, None).await
    }

    /// Stores a message if `expected` is the last sequence on its subject (0: none).
    pub(super) async fn publish_expecting(
        &self,
        publication: Publication,
        expected: Option<u64>,
    ) -> PublishOutcome {
        self.publish_with(publication, expected, None).await
    }

    async fn publish_with(
        &self,
        publication: Publication,
        expected: Option<u64>,
        attestation: Option<&str>,
    ) -> PublishOutcome {
        let mut headers = HeaderMap::new();
        if let Some(expected) = expected {
            headers.insert(EXPECTED_LAST, expected.to_string());
        }
        let named = [
            (KEY, publication.key.as_deref()),
            (SIGNATURE, publication.sig.as_deref()),
            (ATTESTATION_HEADER, attestation),
        ];
        for (name, value) in named {
            if let Some(value) = value {
                // A line break would start another header.
                if value.chars().any(char::is_control) {
                    return client_refusal(format!("{name} holds a control character"));
                }
                headers.insert(name, value);
            }
        }
        let answer = self
            .request(&publication.subject, Some(headers), publication.payload)
            .await;
        match answer {
            Ok(reply) => outcome(&reply.payload),
            Err(super::BusError::Refused { description, .. }) => client_refusal(description),
            Err(_) => PublishOutcome::NoAnswer,
        }
    }
}

fn client_refusal(description: String) -> PublishOutcome {
    PublishOutcome::Refused {
        code: 0,
        description,
    }
}

fn outcome(payload: &[u8]) -> PublishOutcome {
    match serde_json::from_slice(payload) {
        Ok(Acknowledgement::Stored { seq }) => PublishOutcome::Stored { seq },
        Ok(Acknowledgement::Refused { error }) => PublishOutcome::Refused {
            code: error.err_code,
            description: error.description,
        },
        // Somebody else than JetStream answered; that proves nothing.
        Err(_) => PublishOutcome::NoAnswer,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_an_acknowledgement_with_a_sequence_means_stored() {
        let refused = |code, description: &str| PublishOutcome::Refused {
            code,
            description: description.into(),
        };
        for (payload, expected) in [
            (
                r#"{"stream":"CS_DECISIONS","seq":7}"#,
                PublishOutcome::Stored { seq: 7 },
            ),
            (
                r#"{"error":{"code":400,"err_code":10071,"description":"wrong last sequence: 1"},"stream":"S","seq":0}"#,
                refused(10071, "wrong last sequence: 1"),
            ),
            (
                r#"{"error":{"code":503,"err_code":10077,"description":"maximum"}}"#,
                refused(10077, "maximum"),
            ),
            (r#"{"stream":"CS_DECISIONS"}"#, PublishOutcome::NoAnswer),
            ("", PublishOutcome::NoAnswer),
            ("+OK", PublishOutcome::NoAnswer),
        ] {
            assert_eq!(outcome(payload.as_bytes()), expected, "{payload}");
        }
    }
}
