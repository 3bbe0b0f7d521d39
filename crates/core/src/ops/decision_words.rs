//! A stored decision or vote, valid or void, in words for a person and for what depends on it.

use countersign_wire::{AgentKey, Subject, Verdict, json_value};

use crate::domain::{Timestamp, ends_the_call};

/// Who lets an agent go on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum GivenBy {
    Person,
    Console,
}

/// Whose call a decision does not end, and who gave it; none where it ends the call.
pub(crate) fn goes_on(subject: &str, payload: &[u8]) -> Option<(AgentKey, GivenBy)> {
    let Some(Subject::Decision(key)) = Subject::parse(subject) else {
        return None;
    };
    let value = json_value(payload)?;
    let verdict = Verdict::from_word(value["verdict"].as_str()?)?;
    let by = match value["origin"] == "operator" {
        true => GivenBy::Person,
        false => GivenBy::Console,
    };
    (!ends_the_call(verdict)).then(|| (key.agent_key(), by))
}

/// The verdict of a decision, where it is one.
pub(crate) fn given(payload: &[u8]) -> Option<Verdict> {
    Verdict::from_word(json_value(payload)?["verdict"].as_str()?)
}

/// The id of a decision, and a sentence about who decided what; escaped, since anything can be stored. The time is the
/// one that lists show, by the server's clock.
pub(crate) fn decision_summary(payload: &[u8], at: Timestamp) -> (Option<String>, String) {
    let value = json_value(payload).unwrap_or_default();
    let word = |value: &serde_json::Value| {
        let text: String = value
            .as_str()
            .unwrap_or("unknown")
            .chars()
            .take(80)
            .collect();
        countersign_wire::escape(&text).plain()
    };
    let who = format!(
        "{} by {} at {}",
        word(&value["verdict"]),
        word(&value["decided_by"]["name"]),
        at.rfc3339()
    );
    (value["decision_id"].as_str().map(str::to_owned), who)
}

/// The id of a vote, and a sentence about who gave it.
pub(crate) fn vote_summary(payload: &[u8]) -> (Option<String>, String) {
    let value = json_value(payload).unwrap_or_default();
    let id = value["vote_id"].as_str().map(str::to_owned);
    (id, "another vote of this key counts".to_owned())
}
