//! `enroll` and `revoke`.
//!
//! A seed goes into a file that only its owner can read, and is never printed.

use std::path::Path;

use countersign_core::ops::enroll::{try_enrolment, write_enrolment};
use countersign_wire::{AgentKey, Enrolment, ErrorCode};
use serde_json::json;

use super::args::{Agent, Enroll, Revoke};
use super::config::Settings;
use super::console::{deciding, deciding_here};
use super::failure::Failure;
use super::output::Output;

/// Lets an agent log in.
pub(crate) async fn enroll(
    settings: &Settings,
    out: Output,
    enroll: Enroll,
) -> Result<(), Failure> {
    let agent = key(settings, &enroll.agent)?;
    let (path, replaced, known) = deciding(settings, async |app| {
        let path = match &enroll.out {
            Some(folder) => {
                let path = folder.join("agent.json");
                if !enroll.force {
                    spares_others(&path, &agent)?;
                }
                path
            }
            None => app
                .data()
                .enrolment(agent.workspace.as_ref(), agent.agent.as_ref()),
        };
        try_enrolment(&path)?;
        let replaced = app.is_enrolled(&agent).await?;
        let mut known = app.agents().await?.into_iter();
        let known = known.any(|row| {
            row.workspace == agent.workspace.as_ref() && row.agent == agent.agent.as_ref()
        });
        let enrolment = app.enroll(&agent).await?;
        write_enrolment(&path, &enrolment)?;
        Ok((path, replaced, known))
    })
    .await?;
    let path = path.display().to_string();
    let in_force = lets_in(settings);
    if out.json {
        let (workspace, name) = (agent.workspace.to_string(), agent.agent.to_string());
        let line = json!({
            "workspace": workspace, "agent": name, "agent_json": path, "in_force": in_force,
            "replaced": replaced,
        });
        return Ok(out.json_line(&line)?);
    }
    if replaced {
        out.remark(&format!(
            "{agent} was already enrolled: its old credentials are revoked; replace the old agent.json"
        ));
    }
    if in_force {
        return Ok(out.line(&format!("{agent} can log in with {path}"))?);
    }
    if known && !replaced {
        out.remark(&elsewhere(&agent));
    }
    Ok(out.line(&format!(
        "{agent} is enrolled in {path}; it can log in once the server has the configuration that `countersign bus permissions` prints"
    ))?)
}

/// Refuses to write over the seed of another agent, which nobody else has.
fn spares_others(path: &Path, agent: &AgentKey) -> Result<(), Failure> {
    let Ok(text) = std::fs::read(path) else {
        return Ok(());
    };
    let whose = match countersign_wire::read_json::<Enrolment>(&text) {
        Ok(old) if old.agent_key() == *agent => return Ok(()),
        Ok(old) => old.agent_key().to_string(),
        Err(_) => "something else".to_owned(),
    };
    Err(Failure::environment(format!(
        "{} is there already and holds {whose}; choose another folder, or add --force to replace it",
        path.display()
    )))
}

/// Takes an agent's login away.
pub(crate) async fn revoke(
    settings: &Settings,
    out: Output,
    revoke: &Revoke,
) -> Result<(), Failure> {
    let agent = key(settings, &revoke.agent)?;
    let in_force = lets_in(settings);
    let purged = deciding_here(settings, async |app| match revoke.purge {
        true => Ok(Some(app.purge(&agent).await?)),
        false => match app.revoke(&agent).await {
            Err(error) if error.code == ErrorCode::NotFound && !in_force => Err(Failure::new(
                ErrorCode::NotFound,
                format!("{error}; {}", elsewhere(&agent)),
            )),
            done => done.map(|()| None).map_err(Failure::from),
        },
    })
    .await?;
    let revoked = purged.is_none_or(|purged| purged.revoked);
    if out.json {
        let (workspace, name) = (agent.workspace.to_string(), agent.agent.to_string());
        let mut line = json!({
            "workspace": workspace, "agent": name, "revoked": revoked, "in_force": in_force,
        });
        if let Some(purged) = purged {
            line["removed"] = purged.removed.into();
            line["terminated"] = purged.terminated.into();
        }
        return Ok(out.json_line(&line)?);
    }
    if let Some(purged) = purged {
        out.line(&format!(
            "{agent} is stopped until `countersign resume {agent}`: {} waiting calls were ended; {} messages were removed from the bus, and those that no console had read expire unanswered",
            purged.terminated, purged.removed
        ))?;
    }
    if !revoked {
        return Ok(out.line(&format!(
            "{agent} has no login from here; revoke it where it was enrolled"
        ))?);
    }
    if in_force {
        return Ok(out.line(&format!("{agent} can no longer log in"))?);
    }
    out.remark(&elsewhere(&agent));
    Ok(out.line(&format!(
        "{agent} is revoked here; it can log in until the server has the configuration that `countersign bus permissions` prints"
    ))?)
}

/// On an outside server each console knows the logins alone that it gave itself.
fn elsewhere(agent: &AgentKey) -> String {
    format!(
        "another console may have enrolled it too: that login works until its user, under \"# {agent}\", is out of the server's configuration"
    )
}

/// Only on its own server does the console itself let agents in and shut them out.
fn lets_in(settings: &Settings) -> bool {
    settings.nats_url.is_none()
}

/// `WS/AGENT`, or `AGENT` in the default workspace.
pub(crate) fn key(settings: &Settings, agent: &Agent) -> Result<AgentKey, Failure> {
    let text = match agent.agent.contains('/') {
        true => agent.agent.clone(),
        false => format!("{}/{}", settings.workspace, agent.agent),
    };
    text.parse()
        .map_err(|error| Failure::usage(format!("{text:?}: {error}")))
}
