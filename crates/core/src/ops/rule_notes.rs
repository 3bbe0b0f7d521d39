//! Notes of rules beside a decision: of those in the shadow, and of those that could not be read for sure.
//!
//! The same note of a request is made once.

use countersign_realm::InForce;
use countersign_wire::Sha256Digest;
use serde_json::json;

use super::writer_state::{Tx, WriterState};
use crate::domain::RequestRecord;
use crate::policy::Evaluation;
use crate::store::StoreError;
use crate::store::rule_notes::{self, RuleNote};

/// Keeps what shadow rules would have done, and which rules could not be read for sure.
pub(super) fn keep(
    writer: &WriterState,
    batch: &mut Tx<'_>,
    record: &RequestRecord,
    in_force: &InForce,
    found: &Evaluation,
) -> Result<(), StoreError> {
    let digest: &Sha256Digest = in_force.set.digest();
    let shadows = found.shadows.iter();
    let shadows =
        shadows.map(|(place, says)| (*place, "shadow", says.effect().as_str().to_owned()));
    let troubles = found
        .troubles
        .iter()
        .map(|(place, why)| (*place, "trouble", why.to_string()));
    for (place, kind, detail) in shadows.chain(troubles) {
        let rule = &in_force.set.rules()[place].rule;
        let note = RuleNote {
            request: record.id,
            ws: record.key.workspace.to_string(),
            rule_id: rule.id.clone(),
            rule_version: i64::try_from(rule.version).unwrap_or(i64::MAX),
            kind,
            detail,
            policy_digest: digest.to_string(),
            at: batch.now,
        };
        if rule_notes::insert(batch.tx, &note)? && kind == "shadow" {
            let auto = writer.identity.auto_key().to_string();
            batch.record(
                auto,
                "shadow",
                record.key.to_string(),
                json!({
                    "rule": note.rule_id, "version": rule.version, "would": note.detail,
                    "policy_digest": note.policy_digest,
                }),
            );
        }
    }
    Ok(())
}
