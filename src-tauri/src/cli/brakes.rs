//! `panic`, `pause`, `resume` and `stop`.
//!
//! Refuses to say that a brake is set before the bus has it.

use countersign_core::App;
use countersign_core::ops::agents::AgentReport;
use countersign_wire::{AgentBrake, AgentKey};
use serde_json::json;

use super::args::{Agent, OnOff};
use super::config::Settings;
use super::console::deciding_here;
use super::enroll::key;
use super::failure::Failure;
use super::output::{Output, wrong};

/// Turns automatic approvals off everywhere, or lets them be given again.
pub(crate) async fn panic(settings: &Settings, out: Output, state: OnOff) -> Result<(), Failure> {
    let on = state == OnOff::On;
    let set = deciding_here(settings, async |app| Ok(app.set_panic(on).await?)).await?;
    if out.json {
        return Ok(out.json_line(&json!({ "panic": on, "revision": set.revision }))?);
    }
    let text = match on {
        true => wrong("panic is on: no console approves anything automatically"),
        false => "panic is off".to_owned(),
    };
    Ok(out.line(&text)?)
}

/// Turns one agent's automatic approvals off.
pub(crate) async fn pause(settings: &Settings, out: Output, agent: &Agent) -> Result<(), Failure> {
    set(settings, out, agent, AgentBrake::Paused).await
}

/// Ends a pause or a stop.
pub(crate) async fn resume(settings: &Settings, out: Output, agent: &Agent) -> Result<(), Failure> {
    set(settings, out, agent, AgentBrake::Running).await
}

/// Terminates what waits of an agent and denies what comes.
pub(crate) async fn stop(settings: &Settings, out: Output, agent: &Agent) -> Result<(), Failure> {
    set(settings, out, agent, AgentBrake::Stopped).await
}

/// A brake can be meant for an agent that is yet to come, and be a slip of the pen in an emergency. What
/// cannot be read is no slip: the brake is set.
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
    format!(
        "nobody called {agent} has enrolled, been heard or asked here; see `countersign agents` for the names"
    )
}

async fn set(
    settings: &Settings,
    out: Output,
    agent: &Agent,
    state: AgentBrake,
) -> Result<(), Failure> {
    let agent = key(settings, agent)?;
    let (set, known, idle) = deciding_here(settings, async |app| {
        let set = app.set_brake(&agent, state).await?;
        Ok((set, is_known(app, &agent).await, app.why_not_by_itself()))
    })
    .await?;
    let idle = idle.filter(|_| state == AgentBrake::Stopped);
    if out.json {
        let (workspace, name) = (agent.workspace.to_string(), agent.agent.to_string());
        return Ok(out.json_line(&json!({
            "workspace": workspace, "agent": name, "state": state, "revision": set.revision,
            "terminated": set.terminated, "left": set.left, "known": known, "not_by_itself": idle,
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
        AgentBrake::Running => format!("{agent} goes on"),
        AgentBrake::Paused => format!("{agent} is paused: nothing of it is approved automatically"),
        AgentBrake::Stopped => format!(
            "{agent} is stopped: {} waiting calls were ended, new ones are denied until `countersign resume {agent}`",
            set.terminated
        ),
    };
    Ok(out.line(&text)?)
}
