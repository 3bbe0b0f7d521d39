//! What a person should know of a call beyond what it says itself.
//!
//! A warning is a reason to look; its absence proves nothing. Texts are the agent's and go through the escaper before
//! they are shown.

use serde::{Deserialize, Serialize};

/// Where the description of a tool was found.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ToldBy {
    /// In the agent's hello.
    Hello,
    /// In the request itself.
    Call,
}

/// A reason to look twice at a call.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "code", rename_all = "snake_case")]
pub enum CallWarning {
    /// The tool is described otherwise than when a person last approved a call of it.
    ToolChanged {
        /// Which description.
        told_by: ToldBy,
        /// Digest of the approved one; none where it gave only the name.
        approved_digest: Option<String>,
        /// Digest of the one now; none where it gives only the name.
        digest: Option<String>,
    },
    /// The active skill does not list the tool.
    OutsideSkill {
        /// The skill's name.
        skill: Option<String>,
        /// The tool's name.
        tool: String,
    },
    /// A credential that the tool needs is not complete.
    CredentialIncomplete {
        /// Where it is kept.
        artifact_id: Option<String>,
        /// Its state, in the agent's word.
        status: Option<String>,
        /// Names of values that are missing.
        missing_keys: Vec<String>,
    },
    /// The same call was decided before it was asked again. It is linked, never approved automatically.
    ReAsk {
        /// The newest earlier one, `WORKSPACE/AGENT/ID`.
        request: String,
        /// Its verdict.
        verdict: String,
        /// Who gave it.
        by: Option<String>,
        /// How long before this one was stored, ms.
        before_ms: i64,
    },
    /// A person denied the same call, and none has approved it since: the window approves it in the way of high risk.
    DeniedBefore {
        /// The denied one, `WORKSPACE/AGENT/ID`.
        request: String,
        /// Who denied it.
        by: Option<String>,
        /// Why, in the words that the agent received.
        reason: Option<String>,
        /// How long before this one was stored, ms.
        before_ms: i64,
    },
    /// It was asked through a gateway, which verifies the answer for the agent.
    ThroughGateway {
        /// The machine that the gateway runs on, as it says.
        host: String,
    },
    /// The agent wanted an earlier deadline, and what it sent cannot be read; the deadline stays.
    TightenUnreadable,
    /// The agent reported what became of the answer, and what it sent cannot be read.
    ReceiptUnreadable,
}

impl CallWarning {
    /// Its code, the word of the wire.
    pub fn code(&self) -> &'static str {
        match self {
            Self::ToolChanged { .. } => "tool_changed",
            Self::OutsideSkill { .. } => "outside_skill",
            Self::CredentialIncomplete { .. } => "credential_incomplete",
            Self::ReAsk { .. } => "re_ask",
            Self::DeniedBefore { .. } => "denied_before",
            Self::ThroughGateway { .. } => "through_gateway",
            Self::TightenUnreadable => "tighten_unreadable",
            Self::ReceiptUnreadable => "receipt_unreadable",
        }
    }

    /// Whether it marks the call in a list: most calls carry none of these.
    pub fn has_weight(&self) -> bool {
        matches!(
            self,
            Self::ToolChanged { .. } | Self::OutsideSkill { .. } | Self::DeniedBefore { .. }
        )
    }

    /// What it is about and what is to be said of that, for a person who reads it so long after the call was
    /// stored. Not escaped.
    pub fn words(&self, asked_ms_ago: i64) -> (&str, String) {
        let ago = |before_ms: i64| span(before_ms.saturating_add(asked_ms_ago.max(0)));
        match self {
            Self::ToolChanged { told_by, .. } => {
                let source = match told_by {
                    ToldBy::Hello => "its agent describes it",
                    ToldBy::Call => "this call describes it",
                };
                let why = format!(
                    "has changed: {source} differently from when a person last approved it."
                );
                ("The tool", why)
            }
            Self::OutsideSkill { skill, tool } => {
                let skill = skill.as_deref().unwrap_or("without a name");
                let why =
                    format!("does not list {tool} among the tools that it may call: {skill}.");
                ("The active skill", why)
            }
            Self::CredentialIncomplete {
                artifact_id,
                status,
                missing_keys,
            } => {
                let mut why = match status {
                    Some(status) => format!("is {status}"),
                    None => "is not complete".to_owned(),
                };
                if !missing_keys.is_empty() {
                    why.push_str(", missing ");
                    why.push_str(&missing_keys.join(", "));
                }
                if let Some(artifact) = artifact_id {
                    why.push_str(&format!(" (kept in {artifact})"));
                }
                ("A credential of the tool", format!("{why}."))
            }
            Self::ReAsk {
                request,
                verdict,
                by,
                before_ms,
            } => {
                let by = by
                    .as_ref()
                    .map_or_else(String::new, |by| format!(" by {by}"));
                let why = format!(
                    "as {request} ({}{by}, {} ago).",
                    past(verdict),
                    ago(*before_ms)
                );
                ("Same call", why)
            }
            Self::DeniedBefore {
                by,
                reason,
                before_ms,
                ..
            } => {
                let reason = reason
                    .as_ref()
                    .map_or_else(|| ".".to_owned(), |reason| format!(": {reason}"));
                let why = format!("denied this exact call {} ago{reason}", ago(*before_ms));
                (by.as_deref().unwrap_or("An operator"), why)
            }
            Self::ThroughGateway { host } => {
                let why = format!(
                    "through an HTTP gateway on {host}: the agent trusts the gateway, not the signature."
                );
                ("Asked", why)
            }
            Self::TightenUnreadable => (
                "The deadline",
                "stays as it was: the agent asked for an earlier one, but its message cannot be read."
                    .to_owned(),
            ),
            Self::ReceiptUnreadable => (
                "A receipt",
                "of the agent cannot be read, so nobody knows whether it reports that the call ran."
                    .to_owned(),
            ),
        }
    }
}

/// A verdict as what was done.
fn past(verdict: &str) -> &str {
    match verdict {
        "approve" => "approved",
        "modify" => "approved with edits",
        "deny" => "denied",
        "skip" => "skipped",
        "respond" => "answered",
        "escalate" => "escalated",
        "terminate" => "denied, agent stopped",
        other => other,
    }
}

/// A span of time in its largest full unit.
#[must_use]
pub fn span(ms: i64) -> String {
    let seconds = ms.max(0) / 1_000;
    match seconds {
        0..60 => format!("{seconds} s"),
        60..3_600 => format!("{} min", seconds / 60),
        3_600..86_400 => format!("{} h", seconds / 3_600),
        86_400..172_800 => "1 day".to_owned(),
        _ => format!("{} days", seconds / 86_400),
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    #[test]
    fn a_warning_is_told_by_the_code_that_it_has_on_the_wire() {
        let all = [
            CallWarning::ToolChanged {
                told_by: ToldBy::Call,
                approved_digest: None,
                digest: None,
            },
            CallWarning::OutsideSkill {
                skill: None,
                tool: "t".to_owned(),
            },
            CallWarning::CredentialIncomplete {
                artifact_id: Some("a".to_owned()),
                status: None,
                missing_keys: vec!["K".to_owned(), "L".to_owned()],
            },
            CallWarning::ReAsk {
                request: "acme/bot/r1".to_owned(),
                verdict: "deny".to_owned(),
                by: Some("Ada".to_owned()),
                before_ms: 130_000,
            },
            denied(Some("Ada"), Some("wrong account")),
        ];
        for warning in &all {
            assert_eq!(
                serde_json::to_value(warning).unwrap()["code"],
                warning.code()
            );
        }
    }

    fn denied(by: Option<&str>, reason: Option<&str>) -> CallWarning {
        CallWarning::DeniedBefore {
            request: "acme/bot/r1".to_owned(),
            by: by.map(str::to_owned),
            reason: reason.map(str::to_owned),
            before_ms: 3_500_000,
        }
    }

    #[test]
    fn a_warning_says_who_did_what_and_how_long_ago_that_is_now() {
        let credential = CallWarning::CredentialIncomplete {
            artifact_id: Some("a".to_owned()),
            status: None,
            missing_keys: vec!["K".to_owned(), "L".to_owned()],
        };
        let re_ask = |verdict: &str| CallWarning::ReAsk {
            request: "acme/bot/r1".to_owned(),
            verdict: verdict.to_owned(),
            by: Some("Ada".to_owned()),
            before_ms: 130_000,
        };
        let table = [
            (
                credential,
                "A credential of the tool is not complete, missing K, L (kept in a).",
            ),
            (
                re_ask("approve"),
                "Same call as acme/bot/r1 (approved by Ada, 3 min ago).",
            ),
            (
                re_ask("skip"),
                "Same call as acme/bot/r1 (skipped by Ada, 3 min ago).",
            ),
            (
                denied(Some("operator"), None),
                "operator denied this exact call 1 h ago.",
            ),
            (
                denied(None, Some("wrong account")),
                "An operator denied this exact call 1 h ago: wrong account",
            ),
        ];
        for (warning, announced) in table {
            let (what, words) = warning.words(100_000);
            assert_eq!(format!("{what} {words}"), announced);
        }
        // A clock that went back makes nothing younger than it was.
        assert!(re_ask("deny").words(-9_000_000).1.ends_with("2 min ago)."));
    }

    #[test]
    fn a_span_is_told_in_its_largest_whole_unit() {
        let table = [
            (-1, "0 s"),
            (59_999, "59 s"),
            (60_000, "1 min"),
            (3_599_999, "59 min"),
            (3_600_000, "1 h"),
            (86_400_000, "1 day"),
            (172_800_000, "2 days"),
        ];
        for (ms, announced) in table {
            assert_eq!(span(ms), announced);
        }
    }
}
