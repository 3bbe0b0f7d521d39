//! `setup`: the setup keys of agents, and which of them spare a question.
//!
//! Refuses to say that a change stands before the bus has it.

use countersign_core::ops::setup::{Declared, SetupChange, SetupKey};
use countersign_core::policy::read::Problem;
use countersign_wire::AgentKey;
use serde_json::{Value, json};

use super::args::{Agent, Setup};
use super::config::Settings;
use super::console::{deciding, reading};
use super::enroll::key;
use super::failure::Failure;
use super::input;
use super::output::{Output, plain};

/// Runs one of the subcommands.
pub(crate) async fn run(settings: &Settings, out: Output, command: Setup) -> Result<(), Failure> {
    match command {
        Setup::List => list(settings, out).await,
        Setup::Set { agent, key, value } => {
            let value = input::text("VALUE", value)?;
            let value = json_or_text(settings, &agent, &key, &value).await?;
            change(settings, out, &agent, SetupChange::Set(key, value)).await
        }
        Setup::Bind {
            agent,
            key,
            skips_when,
            critical,
        } => {
            let skips_when = input::text("--skips-when", skips_when)?;
            let value = json_or_text(settings, &agent, &key, &skips_when).await?;
            change(
                settings,
                out,
                &agent,
                SetupChange::Bind(key, value, critical),
            )
            .await
        }
        Setup::Unbind { agent, key } => {
            change(settings, out, &agent, SetupChange::Unbind(key)).await
        }
    }
}

/// A text field takes the value as it was typed; the others read it as JSON.
async fn json_or_text(
    settings: &Settings,
    agent: &Agent,
    name: &str,
    typed: &str,
) -> Result<Value, Failure> {
    let agent = key(settings, agent)?;
    let keys = reading(settings, false, async |app| {
        Ok(app.setup(&agent.workspace).await?)
    })
    .await?;
    let mut fields = keys
        .iter()
        .filter(|of| of.agent == agent && of.field.name == name);
    let is_text = fields.next().is_some_and(|of| of.field.kind.is_text());
    if is_text && typed != "null" {
        return Ok(typed.into());
    }
    Ok(serde_json::from_str(typed).unwrap_or_else(|_| typed.into()))
}

async fn list(settings: &Settings, out: Output) -> Result<(), Failure> {
    let workspace = &settings.workspace;
    let (keys, wrong) = reading(settings, false, async |app| {
        let mut wrong = Vec::new();
        for line in app.setups().await? {
            if line.keys.is_none() && line.agent.workspace == *workspace {
                wrong.push(app.setup_of(&line.agent).await?);
            }
        }
        Ok((app.setup(workspace).await?, wrong))
    })
    .await?;
    for setup in &wrong {
        if let Declared::Wrong(problems) = &setup.declared {
            unusable(out, &setup.agent, problems)?;
        }
    }
    for key in &keys {
        let SetupKey {
            agent,
            field,
            value,
            chosen,
            bound,
        } = key;
        if out.json {
            out.json_line(&json!({
                "workspace": agent.workspace.as_ref(), "agent": agent.agent.as_ref(), "key": field.name,
                "type": field.kind.as_str(), "group": field.group, "description": field.description,
                "value": value, "default": field.default,
                "changed_by": chosen.as_ref().map(|chosen| &chosen.by),
                "changed_at": chosen.as_ref().map(|chosen| &chosen.at),
                "skips_when": bound.as_ref().map(|bound| &bound.skips_when),
                "critical": bound.as_ref().map(|bound| bound.critical),
                "bound_by": bound.as_ref().map(|bound| &bound.by),
                "bound_at": bound.as_ref().map(|bound| &bound.at),
                "redeclared": key.is_redeclared(),
            }))?;
            continue;
        }
        let whose = match chosen {
            Some(chosen) => format!("by {} at {}", chosen.by, chosen.at),
            None => "the default".to_owned(),
        };
        let binding = match bound {
            None => "asks".to_owned(),
            Some(bound) => {
                let critical = if bound.critical {
                    ", critical calls too"
                } else {
                    ""
                };
                let redeclared = if key.is_redeclared() {
                    "; its agent declares it otherwise since, so it asks until it is bound or set again"
                } else {
                    ""
                };
                format!(
                    "does not ask when {}{critical}{redeclared}",
                    bound.skips_when
                )
            }
        };
        let text = format!("{agent}  {} = {value} ({whose}): {binding}", field.name);
        out.line(&plain(&text))?;
    }
    if keys.is_empty() && wrong.is_empty() && !out.json {
        out.line(&format!(
            "no agent of workspace {workspace} declares setup keys"
        ))?;
    }
    Ok(())
}

/// One wrong field makes the whole declaration useless.
fn unusable(out: Output, agent: &AgentKey, problems: &[Problem]) -> Result<(), Failure> {
    let told: Vec<String> = problems
        .iter()
        .map(|problem| format!("{}: {}", problem.place(), problem.message))
        .collect();
    if out.json {
        return Ok(out.json_line(&json!({
            "workspace": agent.workspace.as_ref(), "agent": agent.agent.as_ref(), "key": null, "faults": told,
        }))?);
    }
    let text = format!(
        "{agent}  its setup keys cannot be used, and every call that names one asks: {}",
        told.join("; ")
    );
    Ok(out.line(&plain(&text))?)
}

async fn change(
    settings: &Settings,
    out: Output,
    agent: &Agent,
    change: SetupChange,
) -> Result<(), Failure> {
    let agent = key(settings, agent)?;
    let revision = deciding(settings, async |app| {
        Ok(app.change_setup(&agent, &change).await?)
    })
    .await?;
    if out.json {
        return Ok(out.json_line(&json!({
            "workspace": agent.workspace.as_ref(), "agent": agent.agent.as_ref(), "revision": revision,
        }))?);
    }
    let text = match &change {
        SetupChange::Set(key, value) => format!("{agent}: {key} = {value}"),
        SetupChange::Bind(key, value, _) => {
            format!("{agent}: {key} = {value} does not ask any more")
        }
        SetupChange::Unbind(key) => format!("{agent}: {key} asks again"),
    };
    Ok(out.line(&plain(&text))?)
}
