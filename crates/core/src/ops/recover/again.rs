//! One decision or vote on its way back to the stream.
//!
//! Stored messages stay as they are, and only the server's word counts as done.

use std::time::Duration;

use countersign_wire::{
    Attestation, ErrorCode, RequestKey, Sha256Digest, Signer, Stream, decision_subject,
    vote_subject,
};
use nkeys::KeyPair;
use tokio::time::sleep;
use uuid::Uuid;

use crate::Fault;
use crate::bus::{Bus, Publication, PublishOutcome};
use crate::domain::Timestamp;
use crate::store::republish::StoredMessage;
use crate::store::{Reader, realm_log};

const TRIES: u32 = 6;
const FIRST_WAIT: Duration = Duration::from_millis(200);

/// What a message's subject holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum SubjectState {
    Empty,
    Same,
    Other,
}

/// A message and its subject.
pub(super) struct Again {
    pub(super) request: RequestKey,
    pub(super) row: StoredMessage,
    subject: String,
}

impl Again {
    /// None where the row names no request or no voter; then no stream holds it either.
    pub(super) fn of(row: StoredMessage) -> Option<Self> {
        let request: RequestKey = format!("{}/{}/{}", row.ws, row.agent, row.request_id)
            .parse()
            .ok()?;
        let subject = match &row.voter {
            None => decision_subject(&request),
            Some(voter) => vote_subject(&request, &voter.parse::<Signer>().ok()?),
        };
        Some(Self {
            request,
            row,
            subject,
        })
    }

    pub(super) async fn look(&self, bus: &Bus) -> Result<SubjectState, Fault> {
        let stored = bus
            .read_last(Stream::Decisions.name(), &self.subject)
            .await?;
        Ok(match stored {
            None => SubjectState::Empty,
            Some(message) if message.payload == self.row.payload && message.sig == self.row.sig => {
                SubjectState::Same
            }
            Some(_) => SubjectState::Other,
        })
    }

    /// Publishes it, or says what is stored in its place. `Empty`: it was published.
    pub(super) async fn put(
        &self,
        bus: &Bus,
        realm: &Uuid,
        (reader, signer): (&Reader, &KeyPair),
    ) -> Result<SubjectState, Fault> {
        let attestation = self.attestation(reader, realm, signer).await;
        let mut wait = FIRST_WAIT;
        let mut why = String::new();
        for _ in 0..TRIES {
            let publication = Publication {
                subject: self.subject.clone(),
                payload: self.row.payload.clone().into(),
                key: self.row.key.clone(),
                sig: self.row.sig.clone(),
            };
            let outcome = match &attestation {
                Some(word) => bus.publish_again(publication, word).await,
                None => bus.publish_once(publication).await,
            };
            match outcome {
                PublishOutcome::Stored { .. } => return Ok(SubjectState::Empty),
                PublishOutcome::Refused { code, description } => {
                    why = format!("{code} {description}");
                }
                PublishOutcome::NoAnswer => "no acknowledgement".clone_into(&mut why),
            }
            match self.look(bus).await {
                Ok(SubjectState::Empty) => {}
                Err(fault) if fault.code == ErrorCode::BusUnreachable => {}
                other => return other,
            }
            sleep(wait).await;
            wait *= 2;
        }
        Err(Fault::bus_unreachable(format!(
            "what is known of {} could not be stored ({why}); what is stored stays, run `countersign bus recover` again",
            self.request
        )))
    }

    /// This console's word on when it was stored first. Without one the new stamp counts, which may make
    /// it late and never early.
    async fn attestation(&self, reader: &Reader, realm: &Uuid, signer: &KeyPair) -> Option<String> {
        let (epoch, seq) = (&self.row.stream_epoch, self.row.stream_seq);
        let head = realm_log::head_at(reader, epoch, seq)
            .await
            .ok()
            .flatten()?;
        let (n, digest) = (u64::try_from(head.0).ok()?, head.1.parse().ok()?);
        let said = Attestation {
            v: 1,
            payload_digest: Sha256Digest::of_bytes(&self.row.payload),
            stored_at: countersign_wire::Timestamp::new(Timestamp(self.row.stored_at).into()),
            epoch: self.row.stream_epoch.parse().ok()?,
            seq: u64::try_from(self.row.stream_seq).ok()?,
            n,
            digest,
        };
        said.seal(signer, realm, &self.subject).ok()
    }
}
