//! `operators`: who may decide in this realm.
//!
//! Names are escaped, and a change is reported once it is on the bus.

use countersign_core::App;
use countersign_core::domain::Timestamp;
use countersign_core::ops::realm::{
    Change, Limits, Listed, ListedDevice, ListedState, LogLine, Written, acceptance, operators_log,
};
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
    let change = match command {
        args::Operators::List { all } => return list(settings, out, all).await,
        args::Operators::Log => return log(settings, out).await,
        args::Operators::Rotate { now } => return rotate(settings, out, now).await,
        args::Operators::Acceptance { state: None } => {
            let on = reading(settings, true, async |app| Ok(acceptance(app))).await?;
            return show_acceptance(out, on);
        }
        args::Operators::Acceptance { state: Some(state) } => {
            Change::Acceptance(state == args::Switch::On)
        }
        args::Operators::Accept {
            key,
            name,
            admin,
            limits,
        } => Change::Accept {
            key: checked(key)?,
            name,
            admin,
            limits: parse_limits(limits)?,
        },
        args::Operators::Retire { keys, key_only } => Change::Retire {
            keys: keys.into_iter().map(checked).collect::<Result<_, _>>()?,
            key_only,
        },
        args::Operators::Limit { key, limits } => {
            Change::Limit(checked(key)?, parse_limits(limits)?)
        }
        args::Operators::Admin { key, state } => {
            Change::Admin(checked(key)?, state == args::Switch::On)
        }
        args::Operators::Rename { key, name } => Change::Rename(checked(key)?, name),
    };
    make(settings, out, &change).await
}

fn checked(key: String) -> Result<String, Failure> {
    match key.parse::<countersign_wire::Signer>() {
        Ok(_) => Ok(key),
        Err(error) => Err(Failure::usage(format!("{key:?}: {error}"))),
    }
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

async fn list(settings: &Settings, out: Output, all: bool) -> Result<(), Failure> {
    let listed = reading(settings, true, async |app| Ok(app.operators(all).await?)).await?;
    if out.json {
        for line in &listed {
            out.json_line(&as_json(line))?;
        }
        return Ok(());
    }
    let mut rows = table(&["KEY", "NAME", "ROLE", "STATE", "SINCE", "LIMITS"]);
    for line in &listed {
        let mine = if line.mine { " (yours)" } else { "" };
        let admin = if line.admin { ", administrator" } else { "" };
        let name = line.name.as_deref().map_or_else(|| "-".to_owned(), plain);
        rows.add_row([
            line.key.clone(),
            format!("{name}{mine}"),
            line.role.as_str().to_owned(),
            format!("{}{admin}", line.state.as_str().replace('_', " ")),
            line.at.map_or_else(|| "-".to_owned(), when::shown),
            limits(line),
        ]);
    }
    out.table(&rows)?;
    let mut waiting = listed.iter();
    if let Some(waiting) = waiting.find(|line| line.state == ListedState::Waiting) {
        out.remark(&format!(
            "let in who waits with `countersign operators accept {0}`, or turn the ask away with `operators retire {0}`",
            waiting.key
        ));
    }
    Ok(())
}

fn limits(line: &Listed) -> String {
    let risk = line.max_risk.map(|risk| format!("up to {}", risk.as_str()));
    let names = line.workspaces.as_ref().map(|all| {
        let names: Vec<&str> = all.iter().map(String::as_str).collect();
        format!("only in {}", names.join(", "))
    });
    let both: Vec<String> = risk.into_iter().chain(names).collect();
    match both.is_empty() {
        true => "-".to_owned(),
        false => both.join(", "),
    }
}

fn as_json(line: &Listed) -> Value {
    let device = |device: &ListedDevice| {
        json!({
            "name": device.name.as_deref().map(plain),
            "workspaces": device.workspaces,
            "max_risk": device.max_risk.map(countersign_wire::Risk::as_str),
            "until": device.until.as_deref().map(plain),
        })
    };
    json!({
        "key": line.key,
        "operator": line.operator,
        "name": line.name.as_deref().map(plain),
        "role": line.role.as_str(),
        "state": line.state.as_str(),
        "admin": line.admin,
        "workspaces": line.workspaces,
        "max_risk": line.max_risk.map(countersign_wire::Risk::as_str),
        "device": line.device.as_ref().map(device),
        "since": line.since,
        "ended": line.ended,
        "by": line.by,
        "at": line.at.map(Timestamp::rfc3339),
        "mine": line.mine,
    })
}

async fn log(settings: &Settings, out: Output) -> Result<(), Failure> {
    let lines = reading(settings, false, async |app| Ok(operators_log(app).await?)).await?;
    if out.json {
        for line in &lines {
            out.json_line(&log_json(line))?;
        }
        return Ok(());
    }
    let mut rows = table(&["N", "STORED", "BY", "DOES"]);
    for line in &lines {
        let name = line.name.as_deref();
        let name = name.map_or_else(|| "the recovery key".to_owned(), plain);
        let by_itself = if line.by_itself { " (no person)" } else { "" };
        rows.add_row([
            line.n.to_string(),
            when::shown(line.stored_at),
            format!("{name}{by_itself}"),
            match line.does.is_empty() {
                true => line.word.as_str().replace('_', " "),
                false => line.does.join(", ").replace('_', " "),
            },
        ]);
    }
    Ok(out.table(&rows)?)
}

fn log_json(line: &LogLine) -> Value {
    json!({
        "n": line.n,
        "digest": line.digest,
        "slot": line.slot,
        "seq": line.seq,
        "stored_at": line.stored_at.rfc3339(),
        "by": line.by,
        "name": line.name.as_deref().map(plain),
        "by_itself": line.by_itself,
        "word": line.word.as_str(),
        "does": line.does,
    })
}

/// Makes a change, and shows the keys that it touched.
async fn make(settings: &Settings, out: Output, change: &Change) -> Result<(), Failure> {
    let (written, touched, on) = deciding(settings, async |app| {
        let written = app.change_operators(change).await?;
        let touched = touched(app, change).await?;
        Ok((written, touched, acceptance(app)))
    })
    .await?;
    if out.json {
        let mut line = changed(&written, &touched);
        if matches!(change, Change::Acceptance(_)) {
            line["acceptance"] = json!(on);
        }
        return Ok(out.json_line(&line)?);
    }
    if matches!(change, Change::Acceptance(_)) {
        return show_acceptance(out, on);
    }
    if !written.changed {
        return Ok(out.line("nothing to change")?);
    }
    for line in &touched {
        let name = line.name.as_deref().map_or_else(String::new, plain);
        let admin = if line.admin { ", administrator" } else { "" };
        let state = line.state.as_str().replace('_', " ");
        out.line(&format!(
            "{} {name}: {state}{admin}, {}",
            line.key,
            limits(line)
        ))?;
    }
    if matches!(change, Change::Retire { .. }) && !on {
        out.remark("whoever has the bus's credentials can still ask with a new key and is let in; `countersign operators acceptance on` lets newcomers wait for a person");
    }
    Ok(())
}

/// The lines of every key whose operator a change names.
async fn touched(app: &App, change: &Change) -> Result<Vec<Listed>, Failure> {
    let keys: Vec<&String> = match change {
        Change::Accept { key, .. }
        | Change::Limit(key, _)
        | Change::Admin(key, _)
        | Change::Rename(key, _) => vec![key],
        Change::Retire { keys, .. } => keys.iter().collect(),
        Change::Acceptance(_) => Vec::new(),
    };
    let mut listed = app.operators(true).await?;
    let named = |line: &&Listed| keys.contains(&&line.key);
    let operators: Vec<String> = listed
        .iter()
        .filter(named)
        .map(|line| line.operator.clone())
        .collect();
    let only = matches!(change, Change::Retire { key_only: true, .. });
    listed.retain(|line| match only {
        true => keys.contains(&&line.key),
        false => operators.contains(&line.operator),
    });
    Ok(listed)
}

fn changed(written: &Written, touched: &[Listed]) -> Value {
    let lines: Vec<Value> = touched.iter().map(as_json).collect();
    json!({
        "changed": written.changed,
        "n": written.n,
        "digest": written.digest,
        "operators": lines,
    })
}

async fn rotate(settings: &Settings, out: Output, now: bool) -> Result<(), Failure> {
    let rotated = deciding(settings, async |app| Ok(app.rotate_keys(now).await?)).await?;
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
    out.remark("older decisions stay valid; a backup with the old keys cannot decide any more, so make a new one");
    Ok(())
}

fn show_acceptance(out: Output, on: bool) -> Result<(), Failure> {
    if out.json {
        return Ok(out.json_line(&json!({ "acceptance": on }))?);
    }
    Ok(out.line(match on {
        true => "newcomers wait until an administrator accepts them",
        false => "newcomers are let in by the console of an administrator",
    })?)
}
