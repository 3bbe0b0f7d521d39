//! Anchors on the bus that lie beyond a restored chain.
//!
//! Only a restore excuses them: a chain that was cut without one stays wrong.

use std::sync::Arc;

use countersign_wire::realm::Realm;
use countersign_wire::{
    Anchor, ConsoleId, Context, KeyRole, PublicKey, Sha256Digest, Stream, audit_subject, read_json,
    verify,
};
use serde_json::{Value, json};

use super::job::Job;
use super::verify_anchors::anchor_of;
use crate::Fault;
use crate::bus::{Bus, BusError};
use crate::runtime::Shared;
use crate::runtime::stopped;
use crate::store::audit::{self, StoredAnchor, hex};

/// The audit action that names the anchors lost by a restore.
pub(crate) const ACTION: &str = "anchors_lost";

/// The anchors of a console as they lie on the bus, oldest first.
pub(super) async fn on_the_bus(bus: &Bus, console: &str) -> Result<Vec<StoredAnchor>, BusError> {
    let Ok(subject) = console.parse().map(|id| audit_subject(&id)) else {
        return Ok(Vec::new());
    };
    let (mut anchors, mut next) = (Vec::new(), 1);
    while let Some(message) = bus.read_next(Stream::Audit.name(), &subject, next).await? {
        next = message.seq + 1;
        anchors.push(anchor_of(&message));
    }
    Ok(anchors)
}

/// What ties an audit row to the anchors it names: their number, and a digest over all of them.
pub(crate) fn named(anchors: &[&StoredAnchor]) -> Value {
    let mut lines = String::new();
    for anchor in anchors {
        lines.push_str(&format!(
            "{} {}\n",
            anchor.stream_seq,
            Sha256Digest::of_bytes(&anchor.payload)
        ));
    }
    json!({
        "count": anchors.len(),
        "last": anchors.last().map(|last| json!({ "seq": last.seq, "stream_seq": last.stream_seq })),
        "digest": Sha256Digest::of_bytes(lines.as_bytes()).to_string(),
    })
}

/// The key of this console that signed an anchor: the present one, or one before it.
pub(super) fn signer(shared: &Shared, anchor: &StoredAnchor) -> Option<PublicKey> {
    let (realm, id) = (shared.realm()?, shared.identity.console_id);
    let subject = audit_subject(&ConsoleId::from(id));
    let holds = |key: &PublicKey| {
        let (payload, sig) = (&anchor.payload, &anchor.sig);
        verify(key.as_str(), Context::Audit, &realm, &subject, payload, sig).is_ok()
    };
    let keys = console_keys(&shared.trusted.log(), &id.to_string());
    std::iter::once(shared.identity.auto_key())
        .chain(keys)
        .find(holds)
}

/// Every key that is, or was, a console's.
pub(super) fn console_keys(log: &Realm, console: &str) -> Vec<PublicKey> {
    let terms = log.all_terms().map(|term| &term.key);
    let own = terms.filter(|key| {
        key.role.known() == Some(KeyRole::Auto) && key.device.as_deref() == Some(console)
    });
    own.filter_map(|key| key.key.parse().ok()).collect()
}

/// After a restore, writes down once which anchors on the bus are not of this chain.
pub(super) async fn note(shared: &Arc<Shared>, bus: &Bus) -> Result<(), Fault> {
    let console = shared.identity.console_id.to_string();
    let Some(restore) = audit::last_of(&shared.reader, &console, &["restore", ACTION])
        .await?
        .filter(|row| row.action == "restore")
    else {
        return Ok(());
    };
    let detail: Value = serde_json::from_str(&restore.detail).unwrap_or_default();
    let from = detail["audit_seq"].as_i64().unwrap_or(0);
    let anchors = on_the_bus(bus, &console).await?;
    let mut lost = Vec::new();
    for anchor in anchors.iter().filter(|anchor| anchor.seq > from) {
        let hash = audit::hash_at(&shared.reader, anchor.seq).await?;
        let named = read_json::<Anchor>(&anchor.payload).ok();
        if hash.map(|hash| hex(&hash)) != named.map(|anchor| anchor.hash) {
            lost.push(anchor);
        }
    }
    let mut detail = named(&lost);
    detail["restore"] = json!(restore.seq);
    let (job, written) = Job::asked(move |writer, batch| {
        let me = writer.identity.human_key().to_string();
        batch.record(me, ACTION, console, detail);
        Ok(())
    });
    shared.jobs.send(job).await.map_err(|_| stopped())?;
    written.await.map_err(|_| stopped())
}
