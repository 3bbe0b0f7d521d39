//! Signs the head of the audit chain and lays it on the bus, where nobody can take it back.

use std::sync::Arc;
use std::time::Duration;

use countersign_wire::{Anchor, ConsoleId, Context, SignedEnvelope, Stream, audit_subject};
use tokio_util::sync::CancellationToken;
use uuid::Uuid;

use super::job::Job;
use crate::Fault;
use crate::bus::{Bus, PublishOutcome};
use crate::runtime::Shared;
use crate::runtime::{joined, stopped};
use crate::store::audit::{self, StoredAnchor, hex};

/// The schema page: every 60 s, and at each approval of a high or critical call by a person.
const EVERY: Duration = Duration::from_secs(60);

/// Anchors the head if it has moved since the last anchor.
pub(crate) async fn publish(shared: &Shared, bus: &Bus, realm: &Uuid) -> Result<(), Fault> {
    let head = audit::current_head(&shared.reader).await?;
    if head.seq == 0 || head.seq == audit::anchored_seq(&shared.reader).await? {
        return Ok(());
    }
    // An anchor ahead of what a power cut leaves would accuse this console of having lost its past.
    let log = shared.reader.log()?;
    tokio::task::spawn_blocking(move || log.sync())
        .await
        .map_err(joined)??;
    let console = ConsoleId::from(shared.identity.console_id);
    let anchor = Anchor {
        seq: u64::try_from(head.seq).unwrap_or(0),
        hash: hex(&head.hash),
        at: countersign_wire::Timestamp::new(shared.clock.now().into()),
    };
    let failed = |_| {
        Fault::failed(
            "the audit head could not be signed; check this console's keys with `countersign doctor`",
        )
    };
    let payload = serde_json::to_vec(&anchor)
        .map_err(|_| Fault::failed("the audit head could not be written"))?;
    let envelope = SignedEnvelope::seal(
        &shared.identity.signing().auto,
        Context::Audit,
        realm,
        &audit_subject(&console),
        &payload,
    )
    .map_err(failed)?;
    let bytes = envelope.to_bytes().map_err(failed)?;
    match bus.publish_anchor(console.as_str(), bytes.into()).await {
        PublishOutcome::Stored { seq } => {
            // Without it the anchor is checked where it is found, and not missed where it is not.
            let epoch = bus.epoch(Stream::Audit.name()).await.ok().flatten();
            let anchor = StoredAnchor {
                seq: head.seq,
                payload,
                sig: envelope.sig.to_string(),
                stream_seq: i64::try_from(seq).unwrap_or(i64::MAX),
                epoch: epoch.map(|epoch| epoch.to_string()),
            };
            shared
                .jobs
                .send(Job::kept(move |_, batch| {
                    audit::insert_anchor(batch.tx, &anchor)
                }))
                .await
                .map_err(|_| stopped())
        }
        PublishOutcome::Refused { code, description } => Err(Fault::failed(format!(
            "the audit head was refused: {code} {description}; check with `countersign doctor` that this console may write CS_AUDIT"
        ))),
        PublishOutcome::NoAnswer => Err(Fault::bus_unreachable(
            "the audit head was not acknowledged; it is anchored again automatically",
        )),
    }
}

/// Anchors regularly.
pub(crate) async fn run(shared: Arc<Shared>, bus: Bus, stop: CancellationToken) {
    loop {
        tokio::select! {
            () = stop.cancelled() => return,
            () = tokio::time::sleep(EVERY) => {}
        }
        let Some(realm) = shared.realm() else {
            continue;
        };
        if let Err(error) = publish(&shared, &bus, &realm).await {
            tracing::warn!(%error, "the audit head is not anchored");
        }
    }
}
