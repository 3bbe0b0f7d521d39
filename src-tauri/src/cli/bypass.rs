//! `bypass`: calls of one agent that run without asking for a while.
//!
//! A bypass is reported as set, or as over, once the bus has stored it.

use countersign_wire::Risk;
use serde_json::json;

use super::args::{Agent, Bypass, EndBypass};
use super::config::Settings;
use super::console::deciding_here;
use super::controls::{is_known, unknown};
use super::enroll::key;
use super::failure::Failure;
use super::output::{Output, doubtful};
use super::when;

/// Sets or ends a bypass.
pub(crate) async fn run(settings: &Settings, out: Output, command: Bypass) -> Result<(), Failure> {
    match command {
        Bypass {
            end: Some(EndBypass::Off(agent)),
            ..
        } => off(settings, out, &agent).await,
        Bypass {
            agent: Some(agent),
            up_to: Some(up_to),
            lasting: Some(lasting),
            ..
        } => on(settings, out, (agent, &up_to, &lasting)).await,
        _ => Err(Failure::usage(
            "name an agent, --up-to RISK and --for TIME, or `off` and an agent".to_owned(),
        )),
    }
}

async fn on(
    settings: &Settings,
    out: Output,
    (agent, up_to, lasting): (String, &str, &str),
) -> Result<(), Failure> {
    let agent = key(settings, &Agent { agent })?;
    let risk = Risk::from_word(up_to);
    let up_to = risk.ok_or_else(|| {
        let words = "safe, low, medium, high, critical";
        Failure::usage(format!(
            "--up-to: unknown risk {up_to:?}; use one of {words}"
        ))
    })?;
    let lasting = when::lasting("--for", lasting)?;
    let (set, until, known) = deciding_here(settings, async |app| {
        let set = app.set_bypass(&agent, up_to, lasting).await?;
        let controls = app.controls().await?;
        let until = controls
            .bypass_of(&agent, app.now())
            .map(|(_, bypass)| bypass.until);
        Ok((set, until, is_known(app, &agent).await))
    })
    .await?;
    if out.json {
        return Ok(out.json_line(&json!({
            "workspace": agent.workspace.to_string(), "agent": agent.agent.to_string(),
            "up_to": up_to, "until": until.map(|until| until.rfc3339()), "revision": set.revision,
            "known": known,
        }))?);
    }
    if !known {
        out.remark(&unknown(&agent));
    }
    let until = until.map_or_else(String::new, |until| {
        format!(" until {}", when::shown(until))
    });
    let text = format!(
        "calls of {agent} up to {} do not ask{until}; `countersign bypass off {agent}` ends it",
        up_to.as_str()
    );
    Ok(out.line(&doubtful(&text))?)
}

async fn off(settings: &Settings, out: Output, agent: &Agent) -> Result<(), Failure> {
    let agent = key(settings, agent)?;
    let set = deciding_here(settings, async |app| Ok(app.end_bypass(&agent).await?)).await?;
    if out.json {
        return Ok(out.json_line(&json!({
            "workspace": agent.workspace.to_string(), "agent": agent.agent.to_string(),
            "up_to": null, "until": null, "revision": set.revision,
        }))?);
    }
    Ok(out.line(&format!("the bypass of {agent} has ended"))?)
}
