//! One agent with its copies, tools and credentials.

use crate::{
    AgentToolView, AgentView, ControlView, CredentialView, GateView, HelloFaultView, InstanceView,
    ToolTarget,
};
use countersign_domain::Timestamp;
use countersign_domain::facts::{AgentReport, ToolReport};
use countersign_wire::{AgentControl, Risk, Shown, is_hostile, json_value, read_definition};

use super::hidden::{escape, escape_lines, json_shown};
use super::target::offered;

/// As the screen shows it.
pub fn agent_view(agent: &AgentReport) -> AgentView {
    let info = agent.info.as_ref();
    let key = format!("{}/{}", agent.workspace, agent.agent);
    let framework = info.and_then(|info| info.framework.as_deref()).map(|name| {
        let version = info.and_then(|info| info.framework_version.as_deref());
        escape(format!("{name} {}", version.unwrap_or_default()).trim_end())
    });
    let ms = |at: Option<Timestamp>| at.map(|at| at.0);
    AgentView {
        brake: agent.control.as_ref().map(|(state, by, _)| ControlView {
            agent: key.clone(),
            stopped: *state == AgentControl::Stopped,
            by: escape(by),
        }),
        key,
        workspace: agent.workspace.clone(),
        agent: agent.agent.clone(),
        kind: text(info.and_then(|info| info.agent_type.as_ref())),
        framework,
        presence: agent.presence,
        last_seen_ms: ms(agent.last_seen),
        last_request_ms: ms(agent.last_request),
        waiting: agent.waiting,
        enrolled: agent.enrolled,
        revoked_ms: ms(agent.revoked_at),
        gate: agent.gate.as_ref().map(|gate| GateView {
            held_ms: ms(gate.held_at),
            open: text(gate.open.as_ref()),
        }),
        instances: agent
            .instances
            .iter()
            .map(|copy| InstanceView {
                id: escape(&copy.id),
                first_seen_ms: copy.first_seen.0,
                last_seen_ms: copy.last_seen.0,
                live: copy.live,
            })
            .collect(),
        tools: agent.tools.iter().map(tool).collect(),
        credentials: agent
            .credentials
            .iter()
            .map(|credential| CredentialView {
                tool: text(credential.tool_name.as_ref()),
                artifact: text(credential.artifact_id.as_ref()),
                status: text(credential.status.as_ref()),
                missing_keys: credential
                    .missing_keys
                    .iter()
                    .flatten()
                    .map(|name| escape(name))
                    .collect(),
            })
            .collect(),
        skills: agent.skills.iter().map(|name| escape(name)).collect(),
        hello_ms: ms(agent.hello_at),
        hello_fault: text(agent.hello_fault.as_ref()),
        faults: agent
            .faults
            .iter()
            .map(|fault| place(&fault.path, &fault.what))
            .collect(),
    }
}

fn tool(tool: &ToolReport) -> AgentToolView {
    let word = tool.risk.as_deref();
    let differs = |definition: &Option<String>| {
        let text = definition.as_deref().filter(|_| tool.changed)?;
        Some(indented(text))
    };
    AgentToolView {
        name: escape(&tool.name),
        description: tool.description.as_deref().map(escape_lines),
        risk: word.map(Risk::effective),
        unknown_risk: word
            .filter(|word| Risk::from_word(word).is_none())
            .map(escape),
        origin: text(tool.origin.as_ref()),
        gated: tool.gated,
        unlisted: tool.unlisted,
        strict: tool.strict,
        strict_faults: tool
            .strict_faults
            .iter()
            .map(|fault| place(&fault.path, &fault.what))
            .collect(),
        looks_like: text(tool.looks_like.as_ref()),
        digest: tool.digest.clone(),
        approved_ms: tool.approved_at.map(|at| at.0),
        changed: tool.changed,
        before: differs(&tool.approved_definition),
        now: differs(&tool.definition),
        typed: target(tool),
    }
}

/// A name with confusable characters could name another tool.
fn target(tool: &ToolReport) -> Option<ToolTarget> {
    let named = !tool.name.chars().any(is_hostile);
    named.then(|| {
        let definition = tool.definition.as_deref().and_then(read_definition);
        ToolTarget {
            pointer: tool.typed_target.clone(),
            offered: offered(definition.and_then(|tool| tool.args_schema).as_ref()),
        }
    })
}

fn text(words: Option<&String>) -> Option<Shown> {
    words.map(|words| escape(words))
}

fn place(path: &str, what: &str) -> HelloFaultView {
    HelloFaultView {
        path: escape(path),
        what: escape(what),
    }
}

fn indented(json: &str) -> Shown {
    match json_value(json.as_bytes()) {
        Some(value) => json_shown(&value),
        None => escape_lines(json),
    }
}
