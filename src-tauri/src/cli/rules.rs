//! `rules`: what runs without asking.
//!
//! A file applies as a whole or leaves the rules as they are, and a change is reported once the bus has stored it.

mod flips;
mod import;
mod regret;
mod shown;
mod suggest;

use std::io::{IsTerminal as _, Write as _};
use std::path::Path;

use countersign_core::App;
use countersign_core::clock::{BusClock, Clock as _};
use countersign_core::ops::rules::{Accepted, RulesChange, RulesChanged, RulesFault};
use countersign_core::ops::simulate::Progress;
use countersign_core::ops::waiting_calls::AcceptWaiting;
use countersign_core::policy::remarks::remarks;
use countersign_core::policy::simulate::Report;
use countersign_core::policy::{Enabled, FileProblem, Rule, read_file};
use countersign_wire::{ErrorCode, WorkspaceName};
use serde_json::{Value, json};

use super::args::{AcceptFile, Rules};
use super::config::Settings;
use super::console::{deciding, reading};
use super::failure::{Failure, ids};
use super::input;
use super::output::{Output, plain, wrong};
use super::{unread, when};

/// Runs one of the subcommands.
pub(crate) async fn run(settings: &Settings, out: Output, command: Rules) -> Result<(), Failure> {
    match command {
        Rules::List => list(settings, out).await,
        Rules::Show { id } => show(settings, out, &id).await,
        Rules::Check { file } => check(out, &file),
        Rules::Apply { file, accept } => {
            let rules = read(&file)?;
            let all = RulesChange::Replace { rules, seen: None };
            change(settings, out, all, accept).await
        }
        Rules::Remove { id, accept } => {
            change(settings, out, RulesChange::Remove(id), accept.into()).await
        }
        Rules::Enable { id, accept } => {
            let on = RulesChange::Enable(id, Enabled::On);
            change(settings, out, on, accept.into()).await
        }
        Rules::Disable { id, accept } => {
            let off = RulesChange::Enable(id, Enabled::Off);
            change(settings, out, off, accept.into()).await
        }
        Rules::Regret {
            id,
            reason,
            accept_flips,
        } => regret::run(settings, out, &id, (reason, accept_flips)).await,
        Rules::Import(command) => import::run(settings, out, command).await,
        Rules::Suggest => suggest::run(settings, out).await,
        Rules::Simulate { file, since } => simulate(settings, out, &file, since).await,
    }
}

fn read(file: &Path) -> Result<Vec<Rule>, Failure> {
    let text = input::text_of(file)?;
    read_file(&text)
        .map_err(|problems| Failure::new(ErrorCode::InvalidArgs, problems_line(file, &problems)))
}

fn problems_line(file: &Path, problems: &[FileProblem]) -> String {
    let lines: Vec<String> = problems.iter().map(ToString::to_string).collect();
    format!("{}: {}", file.display(), lines.join("; "))
}

fn check(out: Output, file: &Path) -> Result<(), Failure> {
    let rules = read(file)?;
    // No bus is asked, so this machine's clock has to do.
    let now = BusClock::new().now();
    let remarks: Vec<String> = rules.iter().flat_map(|rule| remarks(rule, now)).collect();
    if out.json {
        let line = json!({ "ok": true, "rules": rules.len(), "remarks": remarks });
        return Ok(out.json_line(&line)?);
    }
    out.line(&format!("{} rules, no problems", rules.len()))?;
    for remark in &remarks {
        out.remark(remark);
    }
    Ok(())
}

async fn list(settings: &Settings, out: Output) -> Result<(), Failure> {
    let workspace = &settings.workspace;
    reading(settings, false, async |app| {
        let set = app.rules(workspace).await?;
        let mut records = app.rule_records(workspace, app.now()).await?;
        for rule in &set.rules {
            let (record, _) = records.remove(&rule.id).unwrap_or_default();
            let last_used = record.last_used.map(|at| at.rfc3339());
            if out.json {
                let mut line = rule.to_json();
                line["workspace"] = json!(workspace.as_ref());
                line["uses"] = json!(record.uses);
                line["last_used"] = json!(last_used);
                line["shadows"] = json!(record.shadows);
                line["last_error"] = json!(record.last_error);
                let regrets = set.regrets.get(&rule.id).map_or(0, |of| of.count);
                line["regrets"] = json!(regrets);
                out.json_line(&line)?;
                continue;
            }
            let state = match rule.enabled {
                Enabled::Off => " (off)",
                // It reads like one that lets calls run, and none will.
                _ if rule.is_over(app.now()) => " (over)",
                Enabled::On => "",
                Enabled::Shadow => " (shadow)",
            };
            out.line(&format!(
                "{:<24} {:<8} v{}{state}  {} uses  {}",
                rule.id,
                rule.effect.as_str(),
                rule.version,
                record.uses,
                plain(&rule.name)
            ))?;
            if let Some(error) = record.last_error {
                out.line(&format!("{:<24} last error: {}", "", plain(&error)))?;
            }
            if let Some(regrets) = set.regrets.get(&rule.id) {
                out.line(&regret::regrets_line(regrets))?;
            }
        }
        if set.rules.is_empty() && !out.json {
            out.line(&format!(
                "workspace {workspace} has no rules: every request asks"
            ))?;
        }
        Ok(())
    })
    .await
}

async fn show(settings: &Settings, out: Output, id: &str) -> Result<(), Failure> {
    let workspace = &settings.workspace;
    reading(settings, false, async |app| {
        let set = app.rules(workspace).await?;
        let Some(rule) = set.rules.iter().find(|rule| rule.id == id) else {
            let why =
                format!("workspace {workspace} has no rule {id}; see `countersign rules list --workspace {workspace}`");
            return Err(Failure::new(ErrorCode::NotFound, why));
        };
        let record = app.rule_record(workspace, id).await?;
        let mut whole = rule.to_json();
        whole["workspace"] = json!(workspace.as_ref());
        whole["revision"] = json!(set.revision);
        whole["uses"] = json!(record.uses);
        whole["last_used"] = json!(record.last_used.map(|at| at.rfc3339()));
        whole["shadows"] = json!(record.shadows);
        whole["last_error"] = json!(record.last_error);
        whole["regrets"] = regret::listed(set.regrets.get(id));
        if out.json {
            return Ok(out.json_line(&whole)?);
        }
        let text = serde_json::to_string_pretty(&whole).map_err(|error| {
            Failure::new(
                ErrorCode::Failed,
                format!("the rule cannot be shown: {error}"),
            )
        })?;
        for line in text.lines() {
            out.line(line)?;
        }
        Ok(())
    })
    .await
}

/// Changes the set; refuses what would change other rules, approve what people denied, or turn on what they
/// called wrong, unless that was accepted.
pub(super) async fn changed(
    app: &App,
    workspace: &WorkspaceName,
    change: &RulesChange,
    accept: AcceptFile,
) -> Result<RulesChanged, Failure> {
    if !accept.change.accept_flips {
        flips::refuse(app, workspace, change).await?;
    }
    let accepted = Accepted {
        limits: accept.change.accept_limits,
        regrets: accept.accept_regrets,
        waiting: match accept.change.accept_waiting {
            true => AcceptWaiting::All,
            false => AcceptWaiting::None,
        },
    };
    let or = match change {
        RulesChange::Replace { seen: None, .. } => "write enabled = false into the file, or ",
        _ => "",
    };
    let done = app
        .change_rules_accepting(workspace, change, accepted)
        .await;
    done.map_err(|error| match error {
        RulesFault::Regretted(_) => Failure::new(
            ErrorCode::VerdictNotAllowed,
            format!("{error}. Nothing was changed; {or}add --accept-regrets"),
        ),
        RulesFault::DecidesWaiting(calls) => Failure::Waiting(calls),
        RulesFault::Other(fault) if fault.code == ErrorCode::VerdictNotAllowed => Failure::new(
            fault.code,
            format!("{fault}. Ask an operator without that limit, or add --accept-limits"),
        ),
        RulesFault::Other(fault) => fault.into(),
    })
}

async fn change(
    settings: &Settings,
    out: Output,
    change: RulesChange,
    accepted: AcceptFile,
) -> Result<(), Failure> {
    let workspace = &settings.workspace;
    let done = deciding(settings, async |app| {
        changed(app, workspace, &change, accepted).await
    })
    .await?;
    let RulesChanged {
        revision,
        rules,
        added,
        changed,
        removed,
        unchanged,
        turned_on,
        restored,
        shift,
        decides_waiting,
    } = done;
    let waiting = ids(&decides_waiting);
    // Only a rule that was removed before comes with a later version.
    let is_again = |rule: &Rule| rule.version > 1 && added.contains(&rule.id);
    let again: Vec<&str> = rules
        .iter()
        .filter(|rule| is_again(rule))
        .map(|rule| rule.id.as_str())
        .collect();
    if out.json {
        return Ok(out.json_line(&json!({
            "workspace": workspace.as_ref(), "revision": revision, "added": added, "changed": changed,
            "removed": removed, "unchanged": unchanged.len(), "turned_on": turned_on, "restored": restored,
            "approve_less": shift.loses, "approve_more": shift.gains, "decides_waiting": waiting,
            "added_again": again,
        }))?);
    }
    for (word, ids) in [
        ("added", &added),
        ("changed", &changed),
        ("removed", &removed),
        ("turned on again:", &turned_on),
    ] {
        for id in ids {
            out.line(&format!("{word} {id}"))?;
        }
    }
    out.remark(&format!(
        "{} added, {} changed, {} removed, {} unchanged",
        added.len(),
        changed.len(),
        removed.len(),
        unchanged.len()
    ));
    if restored {
        out.line("in force again; they replace rules that were not valid")?;
    } else if added.is_empty() && changed.is_empty() && removed.is_empty() {
        out.line("nothing to change")?;
    }
    for (word, ids) in [("less", &shift.loses), ("more", &shift.gains)] {
        for id in ids {
            out.line(&format!("approves {word} than before: {id}"))?;
        }
    }
    for id in again {
        out.line(&format!(
            "{id} was removed before: its versions, uses and regrets continue"
        ))?;
    }
    for id in &waiting {
        out.line(&format!("approves {}, which was waiting", plain(id)))?;
    }
    Ok(())
}

async fn simulate(
    settings: &Settings,
    out: Output,
    file: &Path,
    since: Option<String>,
) -> Result<(), Failure> {
    let rules = read(file)?;
    let workspace = &settings.workspace;
    unread::caution_soon(settings, out).await?;
    reading(settings, false, async |app| {
        let at = |text: String| when::parse("--since", &text, app.now());
        let since = since.map(at).transpose()?;
        let terminal = !out.json && std::io::stderr().is_terminal();
        let print_progress = |Progress { done, of }: Progress| {
            if terminal {
                // Progress may go unread.
                let _ = write!(std::io::stderr(), "\r{done} of {of} requests");
            }
            true
        };
        let found = app
            .simulate_rules(workspace, rules, since, print_progress)
            .await;
        if terminal {
            let _ = writeln!(std::io::stderr());
        }
        report(out, &found?)
    })
    .await
}

fn report(out: Output, found: &Report) -> Result<(), Failure> {
    if out.json {
        let flips: Vec<Value> = found
            .flips
            .iter()
            .map(|flip| {
                json!({
                    "request_id": flip.request_id, "person": flip.person.as_str(),
                    "rule": flip.rule.as_str(), "rule_id": flip.rule_id,
                })
            })
            .collect();
        return Ok(out.json_line(&json!({
            "total": found.total,
            "matched": { "approve": found.approve, "ask": found.ask, "deny": found.deny },
            "flips": flips,
            "newly_approved": { "high": found.newly_high, "critical": found.newly_critical },
        }))?);
    }
    let Report {
        total,
        approve,
        ask,
        deny,
        ..
    } = found;
    out.line(&format!(
        "{total} requests: {approve} would run, {deny} would be denied, {ask} would ask"
    ))?;
    let (high, critical) = (found.newly_high, found.newly_critical);
    if high + critical > 0 {
        let text =
            format!("would run, although nobody approved them: {high} high, {critical} critical");
        out.line(&wrong(&text))?;
    }
    for flip in &found.flips {
        let (id, person, rule) = (&flip.request_id, flip.person.as_str(), flip.rule.as_str());
        out.line(&format!(
            "{}: a person said {person}, rule {} says {rule}",
            plain(id),
            plain(&flip.rule_id)
        ))?;
    }
    Ok(())
}
