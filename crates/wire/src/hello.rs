//! How an agent introduces itself (protocol, section 6).
//!
//! Its name must be the subject's; the rest is the agent's own word, and one fault in it does not lose the others.

mod read;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::{AgentInfo, Sha256Digest, ToolOrigin};

pub use read::{parse_hello, read_definition, read_hello};

/// An agent, its tools and what it needs.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Hello {
    /// The protocol's version, 1.
    #[schemars(schema_with = "crate::heartbeat::version_schema")]
    pub v: u8,
    /// Who it is; its name as in the subject.
    pub agent: AgentInfo,
    /// Which of several running copies.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub instance_id: Option<String>,
    /// It asks once and ends: it is not a running copy.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub one_shot: Option<bool>,
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
    /// Where it comes from, in the words of a request's tool; what is `hosted` or `provider_defined`
    /// runs at the provider and cannot be gated, unless `gated` says otherwise.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub origin: Option<String>,
    /// Whether the agent holds a call of it until a person has answered; where it is absent, `origin` decides.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub gated: Option<bool>,
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

/// Something in a hello that could not be used; the rest of it is kept.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct HelloFault {
    /// Where: a JSON pointer (RFC 6901) into the hello, `""` for the whole.
    pub path: String,
    /// What is wrong, without the hello's own text.
    pub what: String,
}

/// How one tool is described, whatever fields that takes.
#[derive(Debug, Clone, PartialEq)]
pub struct ToolDefinition {
    /// Its place among the tools of the hello, from 0, unreadable ones counted.
    pub place: usize,
    /// Its name.
    pub name: String,
    /// The entry as the agent sent it, unknown fields included: JSON.
    pub text: String,
    /// Digest of its RFC 8785 form; of its bytes where it has none that is certain. Of a name that is listed more than
    /// once with different words it covers all of them.
    pub digest: Sha256Digest,
}

/// A hello as far as it can be read.
#[derive(Debug, Clone, PartialEq)]
pub struct HelloReport {
    /// What has no fault.
    pub hello: Hello,
    /// The definitions of `hello.tools`, in their order.
    pub definitions: Vec<ToolDefinition>,
    /// Something under `tools` could not be read, so that nobody knows how it defines any of them.
    pub tools_unread: bool,
    /// What had to be left out, and where.
    pub faults: Vec<HelloFault>,
}

impl HelloTool {
    /// Whether the agent cannot hold the call until a person has answered: by its own word, else because it runs
    /// at the model's provider.
    pub fn is_beyond_the_gate(&self) -> bool {
        if let Some(gated) = self.gated {
            return !gated;
        }
        let origin = self.origin.as_deref().and_then(ToolOrigin::from_word);
        matches!(
            origin,
            Some(ToolOrigin::Hosted | ToolOrigin::ProviderDefined)
        )
    }
}
