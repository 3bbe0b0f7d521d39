//! `agents`: who is there, with which tools, and what is wrong with that.
//!
//! Every word of an agent is escaped.

use countersign_core::domain::StrictFault;
use countersign_core::domain::Timestamp;
use countersign_core::domain::facts::{AgentReport, Instance, ToolReport};
use countersign_wire::{AgentControl, Credential, HelloFault, Risk};
use serde_json::{Value, json};

use super::config::Settings;
use super::console::reading;
use super::failure::Failure;
use super::output::{Output, doubtful, heading, plain, wrong};
use super::{unread, when};

/// Lists every agent that is known.
pub(crate) async fn run(settings: &Settings, out: Output) -> Result<(), Failure> {
    reading(settings, true, async |app| {
        unread::caution(app, out).await?;
        let agents = app.agents().await?;
        if agents.is_empty() {
            out.remark("no agents yet; `countersign enroll WS/AGENT` enrolls one");
        }
        for agent in &agents {
            if out.json {
                out.json_line(&as_json(agent))?;
                continue;
            }
            for line in lines(agent) {
                out.line(&line)?;
            }
        }
        Ok(())
    })
    .await
}

fn text(words: Option<&String>) -> Option<String> {
    words.map(|words| plain(words))
}

fn time(at: Option<Timestamp>) -> Option<String> {
    at.map(Timestamp::rfc3339)
}

fn as_json(agent: &AgentReport) -> Value {
    let info = agent.info.as_ref();
    let control = agent.control.as_ref();
    json!({
        "workspace": agent.workspace,
        "agent": agent.agent,
        "type": text(info.and_then(|info| info.agent_type.as_ref())),
        "framework": text(info.and_then(|info| info.framework.as_ref())),
        "framework_version": text(info.and_then(|info| info.framework_version.as_ref())),
        "presence": agent.presence.as_str(),
        "last_seen": time(agent.last_seen),
        "last_request_at": time(agent.last_request),
        "waiting": agent.waiting,
        "enrolled": agent.enrolled,
        "revoked_at": time(agent.revoked_at),
        "state": control.map_or("running", |(state, ..)| word(*state)),
        "state_by": control.map(|(_, by, _)| plain(by)),
        "state_at": control.map(|(.., at)| at.rfc3339()),
        "gate": agent.gate.as_ref().map(|gate| json!({
            "held_at": time(gate.held_at), "open": text(gate.open.as_ref()),
        })),
        "instances": agent.instances.iter().map(instance).collect::<Vec<_>>(),
        "tools": agent.tools.iter().map(tool).collect::<Vec<_>>(),
        "credentials": agent.credentials.iter().map(credential).collect::<Vec<_>>(),
        "skills": agent.skills.iter().map(|name| plain(name)).collect::<Vec<_>>(),
        "hello_at": time(agent.hello_at),
        "hello_fault": text(agent.hello_fault.as_ref()),
        "faults": agent.faults.iter().map(hello_fault).collect::<Vec<_>>(),
    })
}

fn word(state: AgentControl) -> &'static str {
    match state {
        AgentControl::Running => "running",
        AgentControl::Paused => "paused",
        AgentControl::Stopped => "stopped",
    }
}

fn instance(copy: &Instance) -> Value {
    json!({
        "instance_id": Some(plain(&copy.id)).filter(|id| !id.is_empty()),
        "first_seen": copy.first_seen.rfc3339(),
        "last_seen": copy.last_seen.rfc3339(),
        "live": copy.live,
    })
}

fn tool(tool: &ToolReport) -> Value {
    json!({
        "name": plain(&tool.name),
        "description": text(tool.description.as_ref()),
        "risk": tool.risk.as_deref().map(|word| Risk::effective(word).as_str()),
        "origin": text(tool.origin.as_ref()),
        "gated": tool.gated,
        "listed": tool.listed, "unlisted": tool.unlisted,
        "strict": tool.strict,
        "strict_faults": tool.strict_faults.iter().map(strict_fault).collect::<Vec<_>>(),
        "looks_like": text(tool.looks_like.as_ref()),
        "digest": tool.digest,
        "changed_at": time(tool.changed_at),
        "approved_digest": tool.approved_digest,
        "approved_at": time(tool.approved_at),
        "changed": tool.changed,
    })
}

fn strict_fault(fault: &StrictFault) -> Value {
    json!({ "path": plain(&fault.path), "what": plain(&fault.what) })
}

fn hello_fault(fault: &HelloFault) -> Value {
    json!({ "path": plain(&fault.path), "what": plain(&fault.what) })
}

fn credential(credential: &Credential) -> Value {
    let missing = credential.missing_keys.as_deref().unwrap_or_default();
    json!({
        "tool_name": text(credential.tool_name.as_ref()),
        "artifact_id": text(credential.artifact_id.as_ref()),
        "status": text(credential.status.as_ref()),
        "missing_keys": missing.iter().map(|name| plain(name)).collect::<Vec<_>>(),
    })
}

fn lines(agent: &AgentReport) -> Vec<String> {
    let mut lines = vec![head(agent)];
    if let Some((state, by, at)) = &agent.control {
        lines.push(doubtful(&format!(
            "  {} since {} by {}",
            word(*state),
            when::shown(*at),
            plain(by)
        )));
    }
    if let Some(gate) = &agent.gate {
        lines.push(match (&gate.open, gate.held_at) {
            (Some(why), _) => wrong(&format!("  gate open: {}", plain(why))),
            (None, at) => format!(
                "  gate last held {}",
                at.map(when::shown).unwrap_or_default()
            ),
        });
    }
    for copy in &agent.instances {
        let id = match copy.id.as_str() {
            "" => "an instance without an id".to_owned(),
            id => format!("instance {}", plain(id)),
        };
        let live = if copy.live { "live" } else { "silent" };
        lines.push(format!(
            "  {id}: {live}, last heartbeat {}",
            when::shown(copy.last_seen)
        ));
    }
    for tool in &agent.tools {
        tool_lines(tool, &mut lines);
    }
    for credential in &agent.credentials {
        lines.push(credential_line(credential));
    }
    if !agent.skills.is_empty() {
        let names: Vec<String> = agent.skills.iter().map(|name| plain(name)).collect();
        lines.push(format!("  skills: {}", names.join(", ")));
    }
    if let Some(why) = &agent.hello_fault {
        lines.push(wrong(&format!(
            "  its last hello cannot be read: {}",
            plain(why)
        )));
    }
    for fault in &agent.faults {
        let path = match fault.path.as_str() {
            "" => "the whole".to_owned(),
            path => plain(path),
        };
        lines.push(doubtful(&format!(
            "  ignored in its hello: {path}: {}",
            plain(&fault.what)
        )));
    }
    lines
}

fn head(agent: &AgentReport) -> String {
    let info = agent.info.as_ref();
    let framework = info.and_then(|info| info.framework.as_deref()).map(|name| {
        let version = info.and_then(|info| info.framework_version.as_deref());
        plain(&format!("{name} {}", version.unwrap_or_default()))
    });
    let mut facts: Vec<String> = framework
        .map(|name| name.trim_end().to_owned())
        .into_iter()
        .collect();
    facts.push(match agent.last_seen {
        Some(at) => format!(
            "{}, last heard {}",
            agent.presence.as_str(),
            when::shown(at)
        ),
        None => "not heard yet".to_owned(),
    });
    if agent.revoked_at.is_some() && !agent.enrolled {
        facts.push("login revoked".to_owned());
    }
    if agent.waiting > 0 {
        facts.push(format!("{} waiting", agent.waiting));
    }
    let name = heading(&format!("{}/{}", agent.workspace, agent.agent));
    format!("{name}: {}", facts.join(", "))
}

fn tool_lines(tool: &ToolReport, lines: &mut Vec<String>) {
    let risk = tool
        .risk
        .as_deref()
        .map(|word| format!(" ({})", Risk::effective(word)));
    let listed = if tool.unlisted {
        ", no longer listed"
    } else {
        ""
    };
    lines.push(format!(
        "  tool {}{}{listed}",
        plain(&tool.name),
        risk.unwrap_or_default()
    ));
    if tool.changed {
        let at = tool.changed_at.map(when::shown).unwrap_or_default();
        let approved = tool.approved_at.map(when::shown).unwrap_or_default();
        lines.push(wrong(&format!(
            "    changed at {at}; a person last approved it as it was at {approved}"
        )));
    }
    if !tool.gated {
        let origin = text(tool.origin.as_ref())
            .map_or_else(String::new, |origin| format!(" (origin {origin})"));
        lines.push(doubtful(&format!(
            "    the agent cannot pause its calls{origin}, so nobody can be asked first"
        )));
    }
    if let Some(other) = &tool.looks_like {
        lines.push(doubtful(&format!("    looks like {}", plain(other))));
    }
    for fault in &tool.strict_faults {
        lines.push(doubtful(&format!(
            "    not strict at {}: {}",
            plain(&fault.path),
            plain(&fault.what)
        )));
    }
}

fn credential_line(credential: &Credential) -> String {
    let missing = credential.missing_keys.as_deref().unwrap_or_default();
    let tool = text(credential.tool_name.as_ref()).unwrap_or_else(|| "any tool".to_owned());
    let status = text(credential.status.as_ref()).unwrap_or_else(|| "unknown".to_owned());
    let line = format!("  credential of {tool}: {status}");
    if missing.is_empty() {
        return line;
    }
    let names: Vec<String> = missing.iter().map(|name| plain(name)).collect();
    doubtful(&format!("{line}, missing {}", names.join(", ")))
}
