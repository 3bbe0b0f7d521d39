//! `setup`: the setup keys of agents, and which of them spare a question.
//!
//! A change is reported once the bus has stored it.

use std::collections::BTreeSet;

use countersign_core::ops::setup::{Chosen, SetupChange, SetupKey};
use countersign_core::policy::read::Problem;
use countersign_core::policy::setup::{Field, cast, left_out};
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
            let (value, field) = json_or_text(settings, &agent, &key, &value).await?;
            let set = SetupChange::Set(key, value);
            change(settings, out, &agent, set, field).await
        }
        Setup::Bind {
            agent,
            key,
            skips_when,
            critical,
        } => {
            let skips_when = input::text("--skips-when", skips_when)?;
            let (value, field) = json_or_text(settings, &agent, &key, &skips_when).await?;
            let bind = SetupChange::Bind(key, value, critical);
            change(settings, out, &agent, bind, field).await
        }
        Setup::Unbind { agent, key } => {
            change(settings, out, &agent, SetupChange::Unbind(key), None).await
        }
    }
}

/// A text field takes the value as it was typed; the others read it as JSON. With the field, if it is known.
async fn json_or_text(
    settings: &Settings,
    agent: &Agent,
    name: &str,
    typed: &str,
) -> Result<(Value, Option<Field>), Failure> {
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
    Ok((value, field))
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
        print_unreadable(out, agent, problems)?;
    }
    for key in &keys {
        let SetupKey {
            agent,
            field,
            value,
            chosen,
            bound,
        } = key;
        let chosen = chosen.as_ref().filter(|of| of.fits(field));
        if out.json {
            out.json_line(&json!({
                "workspace": agent.workspace.as_ref(), "agent": agent.agent.as_ref(), "key": field.name,
                "type": field.kind.as_str(), "group": field.group.as_deref().map(plain),
                "description": field.description.as_deref().map(plain),
                "value": value, "default": field.default,
                "changed_by": chosen.map(|chosen| &chosen.by),
                "changed_at": chosen.map(|chosen| &chosen.at),
                "unfit": key.unfit().map(|chosen| &chosen.value),
                "skips_when": bound.as_ref().map(|bound| &bound.skips_when),
                "critical": bound.as_ref().map(|bound| bound.critical),
                "bound_by": bound.as_ref().map(|bound| &bound.by),
                "bound_at": bound.as_ref().map(|bound| &bound.at),
                "redeclared": key.is_redeclared(),
            }))?;
            continue;
        }
        let whose = match (chosen, key.unfit()) {
            (Some(chosen), _) => format!("by {} at {}", chosen.by, chosen.at),
            (None, Some(Chosen { value, by, at, .. })) => {
                format!("the default, since {value} by {by} at {at} is not valid")
            }
            (None, None) => "the default".to_owned(),
        };
        let binding = match bound {
            None => "asks".to_owned(),
            Some(bound) => {
                let critical = if bound.critical {
                    ", critical calls too"
                } else {
                    ""
                };
                let redeclared = match (key.unfit(), key.is_redeclared()) {
                    (Some(_), _) => {
                        "; the chosen value is not valid, so it asks until it is set again"
                    }
                    (None, true) => {
                        "; the agent has changed its declaration, so it asks until it is bound or set again"
                    }
                    (None, false) => "",
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
            "no agent of workspace {workspace} declares setup keys; `countersign agents` shows problems in a hello"
        ))?;
    }
    Ok(())
}

/// None of the keys of such a declaration counts, so all of it is reported, each place by its path.
fn print_unreadable(out: Output, agent: &AgentKey, problems: &[Problem]) -> Result<(), Failure> {
    if out.json {
        let faults: Vec<Value> = problems
            .iter()
            .map(|of| json!({ "path": plain(&of.place()), "what": plain(&of.message) }))
            .collect();
        return Ok(out.json_line(&json!({
            "workspace": agent.workspace.as_ref(), "agent": agent.agent.as_ref(), "key": null, "faults": faults,
        }))?);
    }
    out.remark(&format!(
        "the setup keys that {agent} declares cannot be read, so none of them applies:"
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
    field: Option<Field>,
) -> Result<(), Failure> {
    let agent = key(settings, agent)?;
    let revision = deciding(settings, async |app| {
        Ok(app.change_setup(&agent, &change).await?)
    })
    .await?;
    let (given, dropped) = match (&change, &field) {
        (SetupChange::Set(_, value) | SetupChange::Bind(_, value, _), Some(field)) => {
            (cast(field, value).ok(), left_out(field, value))
        }
        _ => (None, BTreeSet::new()),
    };
    if out.json {
        return Ok(out.json_line(&json!({
            "workspace": agent.workspace.as_ref(), "agent": agent.agent.as_ref(), "revision": revision,
            "left_out": dropped,
        }))?);
    }
    let text = match &change {
        SetupChange::Set(key, Value::Null) => match field.map(|field| field.default) {
            Some(default) => format!("{agent}: {key} = {default} (the default)"),
            None => format!("{agent}: {key} is the default again"),
        },
        SetupChange::Set(key, value) => {
            format!("{agent}: {key} = {}", given.as_ref().unwrap_or(value))
        }
        SetupChange::Bind(key, value, _) => {
            let value = given.as_ref().unwrap_or(value);
            format!("{agent}: {key} = {value} does not ask any more")
        }
        SetupChange::Unbind(key) => format!("{agent}: {key} asks again"),
    };
    out.line(&plain(&text))?;
    for name in dropped {
        out.remark(&plain(&format!(
            "{name} is not declared by the agent and was left out"
        )));
    }
    Ok(())
}
