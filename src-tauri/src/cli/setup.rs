//! `setup`: the setup keys of agents, and which of them spare a question.
//!
//! Refuses to say that a change stands before the bus has it.

use countersign_core::ops::setup::{SetupChange, SetupKey};
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
            let (value, default) = json_or_text(settings, &agent, &key, &value).await?;
            let set = SetupChange::Set(key, value);
            change(settings, out, &agent, set, default).await
        }
        Setup::Bind {
            agent,
            key,
            skips_when,
            critical,
        } => {
            let skips_when = input::text("--skips-when", skips_when)?;
            let (value, _) = json_or_text(settings, &agent, &key, &skips_when).await?;
            let bind = SetupChange::Bind(key, value, critical);
            change(settings, out, &agent, bind, None).await
        }
        Setup::Unbind { agent, key } => {
            change(settings, out, &agent, SetupChange::Unbind(key), None).await
        }
    }
}

/// A text field takes the value as it was typed; the others read it as JSON. With the field's default, if it is known.
async fn json_or_text(
    settings: &Settings,
    agent: &Agent,
    name: &str,
    typed: &str,
) -> Result<(Value, Option<Value>), Failure> {
    let agent = key(settings, agent)?;
    let keys = reading(settings, false, async |app| {
        Ok(app.setup(&agent.workspace).await?)
    })
    .await?;
    let field = keys
        .into_iter()
        .find(|of| of.agent == agent && of.field.name == name)
        .map(|of| of.field);
    let is_text = field.as_ref().is_some_and(|field| field.kind.is_text());
    let value = match is_text && typed != "null" {
        true => typed.into(),
        false => serde_json::from_str(typed).unwrap_or_else(|_| typed.into()),
    };
    Ok((value, field.map(|field| field.default)))
}

async fn list(settings: &Settings, out: Output) -> Result<(), Failure> {
    let workspace = &settings.workspace;
    let (keys, unreadable) = reading(settings, false, async |app| {
        Ok((
            app.setup(workspace).await?,
            app.unreadable_setups(workspace).await?,
        ))
    })
    .await?;
    for (agent, problems) in &unreadable {
        tell_unreadable(out, agent, problems)?;
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
                "type": field.kind.as_str(), "group": field.group.as_deref().map(plain),
                "description": field.description.as_deref().map(plain),
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
    if keys.is_empty() && unreadable.is_empty() && !out.json {
        out.line(&format!(
            "no agent of workspace {workspace} declares setup keys"
        ))?;
    }
    Ok(())
}

/// None of the keys of such a declaration counts, so all of it is told, each place by its path.
fn tell_unreadable(out: Output, agent: &AgentKey, problems: &[Problem]) -> Result<(), Failure> {
    if out.json {
        let problems: Vec<Value> = problems
            .iter()
            .map(|of| json!({ "path": plain(&of.place()), "message": plain(&of.message) }))
            .collect();
        return Ok(out.json_line(&json!({
            "workspace": agent.workspace.as_ref(), "agent": agent.agent.as_ref(), "problems": problems,
        }))?);
    }
    out.remark(&format!(
        "the setup keys that {agent} declares cannot be read, so none of them counts:"
    ));
    for of in problems {
        out.remark(&plain(&format!("  {}: {}", of.place(), of.message)));
    }
    Ok(())
}

async fn change(
    settings: &Settings,
    out: Output,
    agent: &Agent,
    change: SetupChange,
    default: Option<Value>,
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
        SetupChange::Set(key, Value::Null) => match default {
            Some(default) => format!("{agent}: {key} = {default} (the default)"),
            None => format!("{agent}: {key} is the default again"),
        },
        SetupChange::Set(key, value) => format!("{agent}: {key} = {value}"),
        SetupChange::Bind(key, value, _) => {
            format!("{agent}: {key} = {value} does not ask any more")
        }
        SetupChange::Unbind(key) => format!("{agent}: {key} asks again"),
    };
    Ok(out.line(&plain(&text))?)
}
