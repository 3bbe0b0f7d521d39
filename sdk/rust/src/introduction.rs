//! How the agent introduces itself (protocol, section 6).
//!
//! It carries a credential's state, never its value.

use bytes::Bytes;
use countersign_wire::{
    AgentInfo, AgentKey, Credential, Hello, HelloTool, hello_subject, tool_slug,
};
use serde_json::Value;

use crate::GateError;

/// What the agent says about itself; every field may stay empty.
#[derive(Debug, Clone, Default)]
pub struct Introduction {
    /// What kind of agent it is.
    pub agent_type: Option<String>,
    /// The framework it is built with, and its version.
    pub framework: Option<(String, String)>,
    /// The agent that started it.
    pub parent: Option<String>,
    /// The name of a process that asks once and ends, the same each time. None: a running copy with an id of its own.
    pub one_shot: Option<String>,
    /// The tools that it can call.
    pub tools: Vec<HelloTool>,
    /// Its setup keys: a list or a map of `bs_*` fields.
    pub setup_schema: Option<Value>,
    /// The state of its credentials, never their values.
    pub credentials: Vec<Credential>,
    /// Its skills, as it describes them.
    pub skills: Option<Value>,
}

/// As its calls name it.
fn spelt(tool: &HelloTool) -> HelloTool {
    let name = tool_slug(&tool.name).into_owned();
    HelloTool {
        name,
        ..tool.clone()
    }
}

impl Introduction {
    pub(crate) fn agent(&self, key: &AgentKey, instance_id: &str) -> AgentInfo {
        let (framework, framework_version) = self.framework.clone().unzip();
        AgentInfo {
            name: key.agent.clone(),
            agent_type: self.agent_type.clone(),
            instance_id: Some(instance_id.to_owned()),
            framework,
            framework_version: framework_version.filter(|version| !version.is_empty()),
            parent: self.parent.clone(),
        }
    }

    /// Subject and payload of its hello.
    pub(crate) fn hello(
        &self,
        key: &AgentKey,
        info: &AgentInfo,
    ) -> Result<(String, Bytes), GateError> {
        let instance_id = info.instance_id.clone();
        let hello = Hello {
            v: 1,
            agent: self.agent(key, instance_id.as_deref().unwrap_or_default()),
            instance_id,
            one_shot: self.one_shot.is_some().then_some(true),
            tools: (!self.tools.is_empty()).then(|| self.tools.iter().map(spelt).collect()),
            setup_schema: self.setup_schema.clone(),
            credentials: (!self.credentials.is_empty()).then(|| self.credentials.clone()),
            skills: self.skills.clone(),
        };
        let payload = serde_json::to_vec(&hello).map_err(|error| GateError::InvalidRequest {
            code: "not_json",
            detail: error.to_string(),
        })?;
        Ok((hello_subject(key), Bytes::from(payload)))
    }
}
