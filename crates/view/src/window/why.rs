//! What decided automatically, and the words of its rule.

use countersign_domain::facts::{RequestSummary, StoredDecision};
use countersign_wire::{Shown, json_value};
use serde_json::Value;

use super::hidden::{escape, json_shown};
use crate::WhyDecided;

/// What decided automatically; none where a person or nobody did. Its words are added by who can read them.
pub fn why_decided(line: &RequestSummary, decision: Option<&StoredDecision>) -> Option<WhyDecided> {
    let origin = line.origin.as_deref()?;
    line.rule_id.as_deref()?;
    let payload: Value = decision
        .and_then(|decision| json_value(&decision.payload))
        .unwrap_or_default();
    Some(WhyDecided {
        origin: escape(origin),
        rule: line.rule_id.as_deref().map(escape),
        version: line.rule_version,
        policy_digest: payload["policy_digest"].as_str().map(escape),
        words: None,
    })
}

/// The words of one rule in the canonical JSON of a set.
pub fn words_of(set: &[u8], id: &str) -> Option<Shown> {
    let set: Value = serde_json::from_slice(set).ok()?;
    let rules = set["rules"].as_array()?;
    let rule = rules.iter().find(|rule| rule["id"] == id)?;
    Some(json_shown(rule))
}
