//! The number of operators who must agree to a request: as many as it asks for, or more where a rule says so.
//!
//! Unreadable rules never lower the number, and another console's decision is judged without it. Two consoles learn of
//! a change of rules at different moments, so what makes a stored decision void is the request's own number, which both
//! read on the stream; the rule's number only says when this console's operators have decided.

use serde_json::json;

use super::automatic::judge;
use super::writer_state::{Tx, WriterState};
use crate::domain::RequestRecord;
use crate::policy::{Asked, Evaluation, Outcome};
use crate::store::{StoreError, pending_evaluation, quorum, requests};
use countersign_realm::InForce;
use countersign_wire::{parse_request, request_subject};

/// How many operators the rules ask for, and the place of the rule that does. Where they were replaced by what does not
/// count, those before it still ask.
fn asked_for(in_force: &InForce, found: &Evaluation) -> (u8, Option<usize>) {
    if in_force.replaced.is_some() {
        return found.most_asked();
    }
    match found.outcome {
        Outcome::Ask {
            rule, approvals, ..
        } => (approvals.max(1), rule),
        Outcome::Approve(_) | Outcome::Deny(_) => (1, None),
    }
}

/// Keeps what the rules ask for. Once somebody has voted the number only rises.
pub(super) fn note(
    writer: &WriterState,
    batch: &mut Tx<'_>,
    record: &mut RequestRecord,
    judged: Option<(&InForce, &Evaluation)>,
) -> Result<(), StoreError> {
    let (wanted, rule) = judged.map_or((1, None), |(of, found)| asked_for(of, found));
    let least = match judged {
        Some((of, _)) if of.replaced.is_some() => record.approvals_needed,
        _ => record.approvals_required,
    };
    let needed = wanted.max(least).max(record.approvals_required);
    if needed == record.approvals_needed {
        return Ok(());
    }
    let own = needed == record.approvals_required;
    if !quorum::note(batch.tx, record.id, if own { 1 } else { needed })? {
        return Ok(());
    }
    record.approvals_needed = needed;
    let mut detail = json!({ "approvals": needed });
    if let Some((in_force, place)) = judged.map(|(of, _)| of).zip(rule) {
        let rule = &in_force.set.rules()[place].rule;
        detail["rule"] = json!({ "id": rule.id, "version": rule.version });
        detail["policy_digest"] = json!(in_force.set.digest().to_string());
    }
    let actor = writer.identity.auto_key().to_string();
    batch.record(actor, "quorum", record.key.to_string(), detail);
    batch.effects.touched.push(record.id);
    Ok(())
}

/// The rules are gone.
pub(super) fn forget(writer: &WriterState, batch: &mut Tx<'_>) -> Result<(), StoreError> {
    let raised = quorum::raised(batch.tx)?;
    for mut record in requests::records_by_id(batch.tx, &raised)? {
        note(writer, batch, &mut record, None)?;
    }
    Ok(())
}

/// Looks again by what is known of the rules here, however old that is: before an operator's approval is taken
/// or signed, and where rules were replaced by what does not count.
pub(super) fn look(
    writer: &WriterState,
    batch: &mut Tx<'_>,
    record: &mut RequestRecord,
) -> Result<(), StoreError> {
    let in_force = writer.judge.registers.of(&record.key.workspace);
    let Some(in_force) = in_force.filter(|of| of.set.may_raise()) else {
        return Ok(());
    };
    let row = pending_evaluation::read(batch.tx, &[(record.id, true)])?.pop();
    let Some(row) = row.flatten() else {
        return Ok(());
    };
    let raw = row.raw.unwrap_or_default();
    let Ok(parsed) = parse_request(&request_subject(&record.key), &raw) else {
        return Ok(());
    };
    let asked = Asked {
        tool_changed_at: row.redefined_at,
        ..Asked::of(&parsed)
    };
    let none = std::collections::HashMap::new();
    // A sum that is not known yet counts as too much, and what is not approved asks for more operators, not fewer.
    let found = judge(writer, batch, record, &asked, &in_force, &none)?.found;
    note(writer, batch, record, Some((&in_force, &found)))
}
