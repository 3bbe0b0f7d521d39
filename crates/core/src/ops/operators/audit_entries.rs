//! Audit entries for a new list of operators: its differences from the list before.

use countersign_wire::{KeyRole, OperatorEntry, OperatorList, Sha256Digest, TrustedKey};
use serde_json::{Value, json};
use uuid::Uuid;

use super::KEY;
use crate::domain::{AlarmCode, Timestamp};
use crate::store::audit::Entry;

/// One audit entry for the value, one for each change since the list before. `own` are this console's keys,
/// the automatic one last; that they arrived is its own doing and no news, unless one took over.
pub(crate) fn entries(
    before: Option<&OperatorList>,
    (realm, list): (&Uuid, &OperatorList),
    payload: &[u8],
    own: &[TrustedKey; 2],
    now: Timestamp,
) -> Vec<Entry> {
    let digest = Sha256Digest::of_bytes(payload).to_string();
    let entry = |action, subject: String, detail: Value| Entry {
        at: now,
        actor: own[1].key.to_string(),
        action,
        subject,
        detail,
    };
    let mut reported = vec![entry(
        "policy",
        KEY.to_owned(),
        json!({ "payload_digest": digest }),
    )];
    let known = before.map_or(&[][..], |list| &list.operators);
    for operator in list.operators.iter().filter(|now| !known.contains(now)) {
        let earlier = known.iter().any(|before| before.key == operator.key);
        let took_over = operator.predecessor(realm).filter(|_| !earlier);
        if !earlier && took_over.is_none() && own.iter().any(|own| own.key == operator.key) {
            continue;
        }
        let ended = known.iter().any(|before| {
            (&before.key, before.from, before.until) == (&operator.key, operator.from, None)
        });
        let action = match (ended, earlier, &took_over) {
            (_, false, Some(_)) => "operator_rotated",
            (true, ..) => "operator_retired",
            (false, true, _) => "operator_changed",
            (false, false, None) => "operator_arrived",
        };
        let mut detail = json!({
            "role": operator.role.as_str(),
            "from": operator.from,
            "until": operator.until,
            "workspaces": operator.workspaces,
            "max_risk": operator.max_risk,
        });
        if let Some(old) = took_over {
            detail["takes_over"] = json!(old);
        }
        reported.push(entry(action, operator.key.to_string(), detail));
    }
    for waiting in &list.waiting {
        if !before.is_some_and(|list| list.is_waiting(waiting.key.as_str())) {
            let detail = json!({ "role": waiting.role.as_str() });
            reported.push(entry("operator_waits", waiting.key.to_string(), detail));
        }
    }
    let approval = before.is_some_and(|list| list.operator_approval);
    if approval != list.operator_approval {
        let detail = json!({ "on": list.operator_approval });
        reported.push(entry("operator_approval", KEY.to_owned(), detail));
    }
    reported
}

/// The alarms that a list raises, for each key that waits now and for each person who may decide from now on, and the
/// keys that wait no longer. Whom the first list names was there before this console.
pub(crate) fn alarms(
    before: Option<&OperatorList>,
    (realm, list): (&Uuid, &OperatorList),
    own: &[TrustedKey; 2],
) -> (Vec<(AlarmCode, String)>, Vec<String>) {
    let joined = list.operators.iter().filter(|entry| {
        before.is_some_and(|before| joins(before, entry, realm))
            && !own.iter().any(|own| own.key == entry.key)
    });
    let joined = joined.map(|entry| (AlarmCode::OperatorJoined, entry.key.to_string()));
    let waits = list.waiting.iter().map(|waiting| &waiting.key);
    let waits = waits.filter(|key| !before.is_some_and(|list| list.is_waiting(key.as_str())));
    let waits = waits.map(|key| (AlarmCode::OperatorWaits, key.to_string()));
    let gone = before.into_iter().flat_map(|list| &list.waiting);
    let gone = gone.filter(|waiting| !list.is_waiting(waiting.key.as_str()));
    let gone = gone.map(|waiting| waiting.key.to_string());
    (joined.chain(waits).collect(), gone.collect())
}

/// Whether this term lets a person decide whose key had no open term before. A key that takes over from another one is
/// the same person's.
fn joins(before: &OperatorList, entry: &OperatorEntry, realm: &Uuid) -> bool {
    let mut terms = before.operators.iter();
    entry.role == KeyRole::Human
        && entry.until.is_none()
        && !terms.any(|term| term.key == entry.key && term.until.is_none())
        && entry.predecessor(realm).is_none()
}

#[cfg(test)]
mod tests;
