//! `panic`, `pause`, `resume` and `stop`.
//!
//! A control is reported as set once the bus has stored it.

use countersign_core::App;
use countersign_core::domain::facts::AgentReport;
use countersign_core::ops::waiting_calls::WaitingCall;
use countersign_wire::{AgentControl, AgentKey};
use serde_json::json;

use super::args::{AcceptWaiting, Agent, OnOff};
use super::config::Settings;
use super::console::deciding_here;
use super::enroll::key;
use super::failure::{Failure, ids};
use super::output::{Output, wrong};

/// Turns automatic approvals off everywhere, or lets them be given again.
pub(crate) async fn panic(
    settings: &Settings,
    out: Output,
    state: OnOff,
    accept: AcceptWaiting,
) -> Result<(), Failure> {
    let on = state == OnOff::On;
    let (set, waiting) = deciding_here(settings, async |app| {
        let waiting = match on {
            true => Vec::new(),
            false => accepted(app.waiting_calls_without(None).await?, accept)?,
        };
        Ok((app.set_panic(on).await?, waiting))
    })
    .await?;
    if out.json {
        let (revision, waiting) = (set.revision, ids(&waiting));
        let line = json!({ "panic": on, "revision": revision, "decides_waiting": waiting });
        return Ok(out.json_line(&line)?);
    }
    let text = match on {
        true => wrong("panic is on: no console approves anything automatically"),
        false => "panic is off".to_owned(),
    };
    Ok(out.line(&text)?)
}

/// The waiting calls that resuming approves; an error where that was not accepted.
fn accepted(calls: Vec<WaitingCall>, accept: AcceptWaiting) -> Result<Vec<WaitingCall>, Failure> {
    match calls.is_empty() || accept.accept_waiting {
        true => Ok(calls),
        false => Err(Failure::Waiting(calls)),
    }
}

/// Turns one agent's automatic approvals off.
pub(crate) async fn pause(settings: &Settings, out: Output, agent: &Agent) -> Result<(), Failure> {
    set(settings, out, agent, (AgentControl::Paused, None)).await
}

/// Ends a pause or a stop.
pub(crate) async fn resume(
    settings: &Settings,
    out: Output,
    agent: &Agent,
    accept: AcceptWaiting,
) -> Result<(), Failure> {
    set(settings, out, agent, (AgentControl::Running, Some(accept))).await
}

/// Terminates what waits of an agent and denies what comes.
pub(crate) async fn stop(settings: &Settings, out: Output, agent: &Agent) -> Result<(), Failure> {
    set(settings, out, agent, (AgentControl::Stopped, None)).await
}

/// A control can be meant for an agent that is yet to come, and be a slip of the pen in an emergency. When the agents
/// cannot be read, the control is set.
pub(super) async fn is_known(app: &App, agent: &AgentKey) -> bool {
    let is = |at: &AgentReport| {
        at.workspace == agent.workspace.as_ref() && at.agent == agent.agent.as_ref()
    };
    match app.agents().await {
        Ok(agents) => agents.iter().any(is),
        Err(_) => true,
    }
}

pub(super) fn unknown(agent: &AgentKey) -> String {
    format!("no agent {agent} is known here, so check the name: `countersign agents` lists them")
}

async fn set(
    settings: &Settings,
    out: Output,
    agent: &Agent,
    (state, accept): (AgentControl, Option<AcceptWaiting>),
) -> Result<(), Failure> {
    let agent = key(settings, agent)?;
    let (waiting, set, known, idle) = deciding_here(settings, async |app| {
        let waiting = match accept {
            Some(accept) => accepted(app.waiting_calls_without(Some(&agent)).await?, accept)?,
            None => Vec::new(),
        };
        let set = app.set_control(&agent, state).await?;
        let known = is_known(app, &agent).await;
        Ok((waiting, set, known, app.why_not_by_itself()))
    })
    .await?;
    let idle = idle.filter(|_| state == AgentControl::Stopped);
    if out.json {
        let (workspace, name) = (agent.workspace.to_string(), agent.agent.to_string());
        return Ok(out.json_line(&json!({
            "workspace": workspace, "agent": name, "state": state, "revision": set.revision,
            "terminated": set.terminated, "left": set.left, "known": known, "not_by_itself": idle,
            "decides_waiting": ids(&waiting),
        }))?);
    }
    if !known {
        out.remark(&unknown(&agent));
    }
    if let Some(why) = idle {
        out.remark(&format!("only other consoles can deny the new ones: {why}"));
    }
    if set.left > 0 {
        out.remark(&format!(
            "{} more calls waited and this command did not end them; the consoles deny them, see `countersign history`",
            set.left
        ));
    }
    let text = match state {
        AgentControl::Running => format!("{agent} is resumed"),
        AgentControl::Paused => {
            format!("{agent} is paused: none of its calls is approved automatically")
        }
        AgentControl::Stopped => format!(
            "{agent} is stopped: {} waiting calls were ended, new ones are denied until `countersign resume {agent}`",
            set.terminated
        ),
    };
    Ok(out.line(&text)?)
}
