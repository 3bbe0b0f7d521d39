//! What is remarkable about a call, from what its agent said before and what a person has approved.
//!
//! An unknown word never counts as a good one.

use countersign_wire::{ApprovalRequest, Credential};

use super::{CallWarning, ToldBy};

/// Words of agents for a credential that is as it should be.
const COMPLETE: [&str; 11] = [
    "active",
    "available",
    "complete",
    "configured",
    "connected",
    "not_required",
    "ok",
    "present",
    "ready",
    "set",
    "valid",
];

/// How a tool is described now, and how it was when a person last approved a call of it.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Described<'a> {
    /// Digest in the agent's hello; none when no hello lists it.
    pub hello: Option<&'a str>,
    /// Digest of the hello's description at that time; none when there was none.
    pub approved_hello: Option<&'a str>,
    /// Digest in this call; none when it gives only the name.
    pub call: Option<&'a str>,
    /// Whether a person has approved a call of the tool.
    pub call_approved: bool,
    /// Digest in the approved call; none when it gave only the name.
    pub approved_call: Option<&'a str>,
}

/// Which descriptions differ from the approved ones. A tool without an approved call has not changed: there is nothing
/// to compare.
#[must_use]
pub fn changes(described: &Described<'_>) -> Vec<CallWarning> {
    let text = |digest: Option<&str>| digest.map(str::to_owned);
    let mut found = Vec::new();
    if described.approved_hello.is_some() && described.approved_hello != described.hello {
        found.push(CallWarning::ToolChanged {
            told_by: ToldBy::Hello,
            approved_digest: text(described.approved_hello),
            digest: text(described.hello),
        });
    }
    if described.call_approved && described.approved_call != described.call {
        found.push(CallWarning::ToolChanged {
            told_by: ToldBy::Call,
            approved_digest: text(described.approved_call),
            digest: text(described.call),
        });
    }
    found
}

/// A call that the active skill does not list. A skill that says nothing of tools allows all of them;
/// one with an empty list allows none.
#[must_use]
pub fn outside_skill(request: &ApprovalRequest) -> Option<CallWarning> {
    let tool = &request.tool.as_ref()?.name;
    let skill = request.skill.as_ref()?;
    let allowed = skill.allowed_tools.as_ref()?;
    (!allowed.contains(tool)).then(|| CallWarning::OutsideSkill {
        skill: skill.name.clone(),
        tool: tool.clone(),
    })
}

/// The tool's credentials that are not complete: something is missing, or their state does not mean a complete one.
#[must_use]
pub fn incomplete(tool: &str, credentials: &[Credential]) -> Vec<CallWarning> {
    let of_tool = credentials
        .iter()
        .filter(|credential| credential.tool_name.as_deref() == Some(tool));
    of_tool
        .filter(|credential| {
            let missing = credential
                .missing_keys
                .as_ref()
                .is_some_and(|keys| !keys.is_empty());
            let status = credential.status.as_deref().map(str::to_lowercase);
            missing || status.is_some_and(|word| !COMPLETE.contains(&word.as_str()))
        })
        .map(|credential| CallWarning::CredentialIncomplete {
            artifact_id: credential.artifact_id.clone(),
            status: credential.status.clone(),
            missing_keys: credential.missing_keys.clone().unwrap_or_default(),
        })
        .collect()
}

/// Whether the request says that it came through a gateway.
#[must_use]
pub fn through_gateway(request: &ApprovalRequest) -> Option<CallWarning> {
    let native = request.native.as_ref()?.value()?;
    let host = native.pointer("/gateway/host")?.as_str()?.to_owned();
    let framework = request.agent.framework.as_deref();
    (framework == Some("http-gateway")).then_some(CallWarning::ThroughGateway { host })
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn reported(described: Described<'_>) -> Vec<ToldBy> {
        let by = |warning| match warning {
            CallWarning::ToolChanged { told_by, .. } => told_by,
            other => panic!("{other:?}"),
        };
        changes(&described).into_iter().map(by).collect()
    }

    #[test]
    fn only_what_was_approved_can_have_changed_each_description_for_itself() {
        let new = Described {
            hello: Some("h1"),
            call: Some("c1"),
            ..Described::default()
        };
        assert_eq!(reported(new), []);
        let approved = Described {
            approved_hello: Some("h1"),
            approved_call: Some("c1"),
            call_approved: true,
            ..new
        };
        assert_eq!(reported(approved), []);
        let table = [
            (
                Described {
                    hello: Some("h2"),
                    ..approved
                },
                vec![ToldBy::Hello],
            ),
            (
                Described {
                    hello: None,
                    ..approved
                },
                vec![ToldBy::Hello],
            ),
            (
                Described {
                    call: Some("c2"),
                    ..approved
                },
                vec![ToldBy::Call],
            ),
            // Describing less than before is a change too, and so is describing more.
            (
                Described {
                    call: None,
                    ..approved
                },
                vec![ToldBy::Call],
            ),
            (
                Described {
                    approved_call: None,
                    ..approved
                },
                vec![ToldBy::Call],
            ),
            (
                Described {
                    hello: Some("h2"),
                    call: Some("c2"),
                    ..approved
                },
                vec![ToldBy::Hello, ToldBy::Call],
            ),
            // A hello that came only after the approval has nothing to be compared with.
            (
                Described {
                    approved_hello: None,
                    ..approved
                },
                vec![],
            ),
        ];
        for (described, expected) in table {
            assert_eq!(reported(described), expected, "{described:?}");
        }
    }

    #[test]
    fn a_call_is_outside_a_skill_that_names_its_tools_and_not_this_one() {
        let call = |skill: serde_json::Value| {
            let request = json!({
                "v": 1, "kind": "tool_call", "request_id": "r1", "workspace": "acme", "agent": {"name": "bot"},
                "tool": {"name": "send"}, "args": {}, "risk": "low", "allowed_verdicts": [], "skill": skill,
                "args_digest": "sha256:44136fa355b3678a1146ad16f7e8649e94fb4fc21fe77e8310c060f61caaff8a",
                "requested_at": "2026-11-21T12:00:00.000Z",
            });
            serde_json::from_value::<ApprovalRequest>(request).unwrap()
        };
        for (skill, outside) in [
            (json!(null), false),
            (json!({"name": "s"}), false),
            (
                json!({"name": "s", "allowed_tools": ["read", "send"]}),
                false,
            ),
            (json!({"name": "s", "allowed_tools": ["read"]}), true),
            (json!({"name": "s", "allowed_tools": ["Send"]}), true),
            (json!({"allowed_tools": []}), true),
        ] {
            assert_eq!(
                outside_skill(&call(skill.clone())).is_some(),
                outside,
                "{skill}"
            );
        }
    }

    #[test]
    fn a_credential_is_told_when_a_value_is_missing_or_its_state_is_no_good_word() {
        let credential = |tool: &str, status: Option<&str>, missing: &[&str]| Credential {
            tool_name: Some(tool.to_owned()),
            artifact_id: None,
            status: status.map(str::to_owned),
            missing_keys: Some(missing.iter().map(|key| (*key).to_owned()).collect()),
        };
        for (credential, expected) in [
            (credential("send", Some("ok"), &[]), 0),
            (credential("send", Some("Configured"), &[]), 0),
            (credential("send", None, &[]), 0),
            (credential("send", Some("not_required"), &[]), 0),
            (credential("send", Some("NOT_REQUIRED"), &[]), 0),
            (credential("send", Some("required"), &[]), 1),
            (credential("send", Some("pending_credentials"), &["K"]), 1),
            (credential("send", Some("ok"), &["K"]), 1),
            (credential("send", Some("expired"), &[]), 1),
            (credential("other", Some("expired"), &["K"]), 0),
        ] {
            assert_eq!(
                incomplete("send", std::slice::from_ref(&credential)).len(),
                expected,
                "{credential:?}"
            );
        }
    }
}
