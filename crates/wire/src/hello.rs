//! How an agent introduces itself (protocol, section 6).
//!
//! Refuses a name other than the subject's; the rest is the agent's own word.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::{
    AgentInfo, Subject,
    alive::check_version,
    json::parse_document,
    rejection::{RejectionCode, WireError},
};

const MAX_BYTES: usize = 900 * 1024;

/// An agent, its tools and what it needs.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Hello {
    /// The protocol's version, 1.
    #[schemars(schema_with = "crate::alive::version_schema")]
    pub v: u8,
    /// Who it is; its name as in the subject.
    pub agent: AgentInfo,
    /// Which of several running copies.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub instance_id: Option<String>,
    /// The tools that it can call.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tools: Option<Vec<HelloTool>>,
    /// Its setup keys: a list or a map of `bs_*` fields.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub setup_schema: Option<Value>,
    /// The state of its credentials, never their values.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub credentials: Option<Vec<Credential>>,
    /// Its skills, as it describes them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub skills: Option<Value>,
}

/// A tool that an agent can call.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct HelloTool {
    /// Its name.
    pub name: String,
    /// The agent's words about it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub description: Option<String>,
    /// The JSON Schema of its arguments.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub args_schema: Option<Value>,
    /// The risk as the agent says it; an unknown word is critical.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub risk: Option<String>,
    /// Whether the model must keep to the schema.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub strict: Option<bool>,
}

/// The state of a credential, never its value.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Credential {
    /// The tool that needs it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tool_name: Option<String>,
    /// Where it is kept.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub artifact_id: Option<String>,
    /// Its state, in the agent's word.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub status: Option<String>,
    /// Names of values that are missing.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub missing_keys: Option<Vec<String>>,
}

/// Reads a hello; its name must be that of the subject.
pub fn parse_hello(subject: &str, payload: &[u8]) -> Result<Hello, WireError> {
    let Some(Subject::Hello(agent)) = Subject::parse(subject) else {
        return Err(WireError::new(
            RejectionCode::BadSubject,
            "not the subject of a hello",
        ));
    };
    let hello: Hello = parse_document(payload, MAX_BYTES, &[])?;
    check_version(hello.v)?;
    if hello.agent.name == agent.agent {
        Ok(hello)
    } else {
        let detail = "agent.name is not that of the subject";
        Err(WireError::new(RejectionCode::SubjectMismatch, detail))
    }
}
