//! What a person should know of a call beyond what it says itself.
//!
//! Refuses to calm: a warning is a reason to look, its absence proves nothing. Texts are the agent's
//! and go through the escaper before they are shown.

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
    /// The tool is no longer described as when a person last approved a call of it.
    ToolChanged {
        /// Which description.
        told_by: ToldBy,
        /// Digest of the approved one; none where it told no more than the name.
        approved_digest: Option<String>,
        /// Digest of the one now; none where it tells no more than the name.
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
    /// The very same call was decided before it was asked again. It is linked, never approved by itself.
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
            Self::TightenUnreadable => "tighten_unreadable",
            Self::ReceiptUnreadable => "receipt_unreadable",
        }
    }

    /// What it is about and what is to be said of that, for a person. Not escaped.
    pub fn words(&self) -> (&'static str, String) {
        match self {
            Self::ToolChanged { told_by, .. } => {
                let told = match told_by {
                    ToldBy::Hello => "its agent describes it",
                    ToldBy::Call => "this call describes it",
                };
                let why = format!(
                    "has changed: {told} otherwise than when a person last approved a call of it."
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
                    "was answered with {verdict}{by} {} before: {request}. Nothing follows from that by itself.",
                    span(*before_ms)
                );
                ("The very same call", why)
            }
            Self::TightenUnreadable => (
                "The deadline",
                "was to be an earlier one, but what the agent sent cannot be read; it stays."
                    .to_owned(),
            ),
            Self::ReceiptUnreadable => (
                "A receipt",
                "of the agent cannot be read: whether it says that the call ran is not known."
                    .to_owned(),
            ),
        }
    }
}

/// A span of time in the largest unit of which it holds at least one.
fn span(ms: i64) -> String {
    let seconds = ms.max(0) / 1_000;
    match seconds {
        0..60 => format!("{seconds} s"),
        60..3_600 => format!("{} min", seconds / 60),
        3_600..86_400 => format!("{} h", seconds / 3_600),
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
        ];
        for warning in &all {
            assert_eq!(
                serde_json::to_value(warning).unwrap()["code"],
                warning.code()
            );
        }
        assert_eq!(
            all[2].words().1,
            "is not complete, missing K, L (kept in a)."
        );
        assert!(
            all[3]
                .words()
                .1
                .starts_with("was answered with deny by Ada 2 min before: acme/bot/r1.")
        );
    }

    #[test]
    fn a_span_is_told_in_its_largest_whole_unit() {
        let table = [
            (-1, "0 s"),
            (59_999, "59 s"),
            (60_000, "1 min"),
            (3_599_999, "59 min"),
            (3_600_000, "1 h"),
            (86_400_000, "1 days"),
        ];
        for (ms, told) in table {
            assert_eq!(span(ms), told);
        }
    }
}
