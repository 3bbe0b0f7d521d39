//! What a model reads of a call that did not run, or ran edited (integrations, section 1): the same in every SDK.

use std::io;

use countersign_wire::{DecisionFault, DecisionVerdict, Origin};
use serde::Serialize as _;
use serde_json::Value;
use serde_json::ser::Formatter;

use crate::{Decision, GateError};

/// Why the call of tool `name` did not run. `outcome` is what [`Gate::ask`](crate::Gate::ask) gave.
///
/// A `respond` includes its content: where that can take the place of the tool's result, use the content alone.
pub fn refusal_text(name: &str, outcome: Result<&Decision, &GateError>) -> String {
    let decision = match outcome {
        Ok(decision) => decision,
        Err(error) => {
            let text = match error {
                // Its own words name the file with the seed.
                GateError::BadEnrolment { .. } => "cannot use the enrolment".to_owned(),
                error => error.to_string(),
            };
            return no_approval(name, error.code(), &text);
        }
    };
    if let Some(fault) = decision.fault()
        && fault != DecisionFault::Late
    {
        return no_approval(name, fault.as_str(), &fault.to_string());
    }
    let who = decider(decision);
    let sentence = match decision.verdict() {
        DecisionVerdict::Deny => match decision.signed().map(|signed| &signed.verdict) {
            Some(DecisionVerdict::Other(word)) => format!("not allowed ({word})"),
            _ => format!("denied by {who}"),
        },
        DecisionVerdict::Terminate => format!("denied by {who}, who ended the run"),
        DecisionVerdict::Skip => format!("skipped by {who} (not a refusal)"),
        DecisionVerdict::Escalate => format!("escalated by {who} to the next approver"),
        DecisionVerdict::Respond => format!("answered by {who} instead: {}", content(decision)),
        DecisionVerdict::Expired => "expired: nobody answered in time".to_owned(),
        DecisionVerdict::Withdrawn => "withdrawn before anybody answered".to_owned(),
        DecisionVerdict::Rejected => "rejected: the console could not read the request".to_owned(),
        other => format!("not allowed ({other})"),
    };
    let message = decision
        .signed()
        .and_then(|signed| signed.message.as_deref());
    match message.filter(|message| !message.is_empty()) {
        Some(message) => format!("{name} was not run, {sentence}: {message}"),
        None => format!("{name} was not run, {sentence}"),
    }
}

/// What a model reads before the result of a call whose arguments a person changed; none where nobody did.
pub fn edit_notice(decision: &Decision) -> Option<String> {
    let args = match decision.verdict() {
        DecisionVerdict::Modify => decision.args()?,
        _ => return None,
    };
    let args = spaced(args);
    Some(format!(
        "A person changed this call before it ran. It ran with {args}.\n"
    ))
}

fn no_approval(name: &str, code: &str, text: &str) -> String {
    format!("{name} was not run: could not get approval ({code}): {text}")
}

/// Who decided, as a model reads it.
pub fn decider(decision: &Decision) -> String {
    let name = decision.decided_by().map(|by| by.name.as_str());
    match (decision.origin(), decision.rule()) {
        (Some(Origin::SetupKey), _) => "a setup key".to_owned(),
        (Some(Origin::Rule), Some(rule)) => {
            format!("the rule {}", rule.name.as_deref().unwrap_or(&rule.id))
        }
        _ => name
            .filter(|name| !name.is_empty())
            .unwrap_or("the console")
            .to_owned(),
    }
}

/// What a person answered in the call's place: a text as it is, anything else as JSON.
fn content(decision: &Decision) -> String {
    match decision.response().map(|response| &response.content) {
        Some(Value::String(text)) => text.clone(),
        Some(other) => spaced(other),
        None => String::new(),
    }
}

/// One line of JSON with `, ` and `: ` between.
fn spaced(value: &Value) -> String {
    let mut text = Vec::new();
    let mut writer = serde_json::Serializer::with_formatter(&mut text, Spaced);
    match value.serialize(&mut writer) {
        Ok(()) => String::from_utf8_lossy(&text).into_owned(),
        Err(_) => value.to_string(),
    }
}

struct Spaced;

impl Formatter for Spaced {
    fn begin_array_value<W: ?Sized + io::Write>(
        &mut self,
        out: &mut W,
        first: bool,
    ) -> io::Result<()> {
        out.write_all(if first { b"" } else { b", " })
    }

    fn begin_object_key<W: ?Sized + io::Write>(
        &mut self,
        out: &mut W,
        first: bool,
    ) -> io::Result<()> {
        out.write_all(if first { b"" } else { b", " })
    }

    fn begin_object_value<W: ?Sized + io::Write>(&mut self, out: &mut W) -> io::Result<()> {
        out.write_all(b": ")
    }
}
