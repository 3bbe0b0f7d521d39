//! `operators`: who may decide in this realm.
//!
//! Names are escaped, and a change is reported once it is on the bus.

use countersign_core::ops::operators::{Change, Limits, Listed, ListedState};
use countersign_wire::{KeyRole, PublicKey};
use serde_json::{Value, json};

use super::args;
use super::config::Settings;
use super::console::{deciding, reading};
use super::failure::Failure;
use super::output::{Output, plain, table};
use super::when;

/// Runs one of the commands.
pub(crate) async fn run(
    settings: &Settings,
    out: Output,
    command: args::Operators,
) -> Result<(), Failure> {
    match command {
        args::Operators::List => list(settings, out).await,
        args::Operators::Add {
            key,
            name,
            role,
            limits,
        } => {
            let key = parse(&key)?;
            let change = Change::Add {
                key: key.clone(),
                name,
                role: role.map(|role| match role {
                    args::Role::Human => KeyRole::Human,
                    args::Role::Auto => KeyRole::Auto,
                }),
                limits: parse_limits(limits)?,
            };
            change_list(settings, out, (&key, change), "is active from now on").await
        }
        args::Operators::Retire { key, keep_console } => {
            let key = parse(&key)?;
            let change = match keep_console {
                true => Change::Retire(key.clone()),
                false => Change::Leave(key.clone()),
            };
            change_list(settings, out, (&key, change), "is retired").await
        }
        args::Operators::Rotate => rotate(settings, out).await,
        args::Operators::Limit { key, limits } => {
            let key = parse(&key)?;
            let change = Change::Limit(key.clone(), parse_limits(limits)?);
            change_list(
                settings,
                out,
                (&key, change),
                "has these limits from now on",
            )
            .await
        }
        args::Operators::Approval { state: None } => {
            let on = reading(settings, false, async |app| Ok(app.operators().1)).await?;
            approval(out, on)
        }
        args::Operators::Approval { state: Some(state) } => {
            let on = state == args::Switch::On;
            let change = Change::Approval(on);
            deciding(settings, async |app| {
                Ok(app.change_operators(&change).await?)
            })
            .await?;
            approval(out, on)
        }
    }
}

fn parse(key: &str) -> Result<PublicKey, Failure> {
    key.parse()
        .map_err(|error| Failure::usage(format!("{key:?}: {error}")))
}

fn parse_limits(limits: args::Limits) -> Result<Limits, Failure> {
    let workspaces = limits.workspaces.map(|names| {
        let parse = |name: &String| {
            name.parse()
                .map_err(|error| Failure::usage(format!("{name:?}: {error}")))
        };
        names.iter().map(parse).collect::<Result<Vec<_>, _>>()
    });
    Ok(Limits {
        workspaces: workspaces.transpose()?,
        max_risk: limits.max_risk.map(Into::into),
    })
}

async fn list(settings: &Settings, out: Output) -> Result<(), Failure> {
    let (listed, _) = reading(settings, false, async |app| Ok(app.operators())).await?;
    if out.json {
        for line in &listed {
            out.json_line(&as_json(line))?;
        }
        return Ok(());
    }
    let mut rows = table(&["KEY", "NAME", "ROLE", "STATE", "FROM", "UNTIL", "LIMITS"]);
    for line in &listed {
        let mine = if line.mine { " (yours)" } else { "" };
        let until = line.until.map_or_else(|| "-".to_owned(), when::shown);
        rows.add_row([
            line.key.to_string(),
            format!("{}{mine}", plain(&line.name)),
            line.role.as_str().to_owned(),
            line.state.as_str().replace('_', " "),
            when::shown(line.from),
            until,
            limits(line),
        ]);
    }
    out.table(&rows)?;
    if let Some(waiting) = listed
        .iter()
        .find(|line| line.state == ListedState::Waiting)
    {
        out.remark(&format!(
            "accept a waiting key with `countersign operators add {}`, or reject it with `operators retire`",
            waiting.key
        ));
    }
    Ok(())
}

fn limits(line: &Listed) -> String {
    let risk = line.max_risk.map(|risk| format!("up to {}", risk.as_str()));
    let names = line.workspaces.as_ref().map(|all| {
        let names: Vec<&str> = all.iter().map(AsRef::as_ref).collect();
        format!("only in {}", names.join(", "))
    });
    let both: Vec<String> = risk.into_iter().chain(names).collect();
    match both.is_empty() {
        true => "-".to_owned(),
        false => both.join(", "),
    }
}

fn as_json(line: &Listed) -> Value {
    json!({
        "key": line.key,
        "name": plain(&line.name),
        "role": line.role.as_str(),
        "from": line.from.rfc3339(),
        "until": line.until.map(countersign_core::domain::Timestamp::rfc3339),
        "state": line.state.as_str(),
        "mine": line.mine,
        "workspaces": line.workspaces,
        "max_risk": line.max_risk.map(countersign_wire::Risk::as_str),
        "console": line.console.as_deref().map(plain),
    })
}

async fn change_list(
    settings: &Settings,
    out: Output,
    (key, change): (&PublicKey, Change),
    done: &str,
) -> Result<(), Failure> {
    let (changed, listed, approval) = deciding(settings, async |app| {
        // The console of who retires the own key goes on until another operator ends it.
        let change = match &change {
            Change::Leave(key) if *key == app.identity().human_key() => Change::Retire(key.clone()),
            change => change.clone(),
        };
        let changed = app.change_operators(&change).await?;
        let (listed, approval) = app.operators();
        Ok((changed, listed, approval))
    })
    .await?;
    let terms: Vec<&Listed> = listed.iter().filter(|line| line.key == *key).collect();
    let term = terms.last().copied();
    let own = own_keys(term, &listed);
    let along: Vec<&&Listed> = own
        .iter()
        .filter(|own| changed && term.is_some_and(|term| goes_along(&change, term, own)))
        .collect();
    if out.json {
        let with: Vec<&PublicKey> = along.iter().map(|own| &own.key).collect();
        let term = term.map(as_json);
        return Ok(
            out.json_line(&json!({ "changed": changed, "operator": term, "console_keys": with }))?
        );
    }
    match changed {
        true => out.line(&format!("{key} {done}"))?,
        false => out.line(&format!("{key}: nothing to change"))?,
    }
    for own in &along {
        out.line(&format!("with its console's own key {}", own.key))?;
    }
    let limited = term.is_some_and(|line| line.workspaces.is_some() || line.max_risk.is_some());
    let ends = matches!(change, Change::Retire(_) | Change::Leave(_));
    if !approval && (limited || ends) {
        out.remark("anybody with the bus's credentials can still add a new key of their own; `countersign operators approval on` lets new keys wait for an operator");
    }
    if let Some(console) = term
        .filter(|term| ends && changed && term.role == KeyRole::Human && !term.mine)
        .and_then(|term| term.console.as_deref())
        .filter(|_| settings.nats_url.is_some())
    {
        out.remark(&format!(
            "the login of that console still reads everything on the bus: take the user under \"# console of …, {}\" out of the server's configuration",
            plain(console)
        ));
    }
    for own in own {
        let key = &own.key;
        match own.state {
            ListedState::InForce if ends => out.remark(&format!(
                "the same console's own key {key} is still active: whoever holds that console's folder can still approve calls as a rule; retire it too if the console is gone",
            )),
            ListedState::Waiting if matches!(change, Change::Add { .. }) => out.remark(&format!(
                "{key} waits and claims to be that console's own key; accept it with `countersign operators add {key}` if it is",
            )),
            _ => {}
        }
    }
    Ok(())
}

/// The keys that say that they are the own ones of the console of a person's key.
fn own_keys<'l>(person: Option<&Listed>, listed: &'l [Listed]) -> Vec<&'l Listed> {
    let console = person
        .filter(|person| person.role == KeyRole::Human)
        .and_then(|person| person.console.as_ref());
    let own = listed.iter().filter(|line| {
        line.role == KeyRole::Auto && console.is_some() && line.console.as_ref() == console
    });
    own.collect()
}

/// Whether the change of a person's term was one of this key's, too.
fn goes_along(change: &Change, person: &Listed, own: &Listed) -> bool {
    match change {
        Change::Retire(_) | Change::Leave(_) => own.until.is_some() && own.until == person.until,
        _ => own.state == ListedState::InForce && own.from == person.from,
    }
}

async fn rotate(settings: &Settings, out: Output) -> Result<(), Failure> {
    let rotated = deciding(settings, async |app| Ok(app.rotate_keys().await?)).await?;
    if out.json {
        let lines: Vec<Value> = rotated
            .iter()
            .map(|key| json!({ "role": key.role.as_str(), "old": key.old, "new": key.new }))
            .collect();
        return Ok(out.json_line(&json!({ "rotated": lines }))?);
    }
    for key in &rotated {
        out.line(&format!(
            "{} key {} takes over from {}",
            key.role.as_str(),
            key.new,
            key.old
        ))?;
    }
    if rotated.iter().all(|key| key.role == KeyRole::Human) {
        out.remark("the console's own key stays: an operator without limits replaces it");
    }
    out.remark("older decisions stay valid; a backup with the old keys cannot decide any more, so make a new one");
    Ok(())
}

fn approval(out: Output, on: bool) -> Result<(), Failure> {
    if out.json {
        return Ok(out.json_line(&json!({ "operator_approval": on }))?);
    }
    Ok(out.line(match on {
        true => "new keys wait until an operator accepts them",
        false => "new keys are active at once",
    })?)
}
