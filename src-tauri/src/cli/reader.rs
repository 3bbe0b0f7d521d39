//! `reader`: a second reader of waiting calls, from being found to being tried.

mod desk;
mod edit;
mod http;
mod managed;
mod names;
mod shown;
pub(crate) mod switch;
mod tries;

use std::process::ExitCode;

use countersign_core::App;
use countersign_reader::config::read_in;
use countersign_reader::{Asker, guard};
use countersign_wire::ErrorCode;
use serde_json::{Value, json};

use super::args::Reader;
use super::config::{FILE, Settings};
use super::console::{deciding, options};
use super::failure::Failure;
use super::output::{Output, plain};
use countersign_view::secrets;
use managed::managed_hooks;
use switch::{Found, found, source, switch_off, switch_on, try_cards};

pub use desk::SecondReader;
#[cfg(feature = "gui")]
pub(crate) use shown::marks_of;
pub(crate) use shown::{lines_of_show, of_request, of_status, sentence_of_status};

/// Guards a reading program, before any settings are read.
pub(super) fn guarded(line: &[std::ffi::OsString]) -> ExitCode {
    guard::run(line).into()
}

/// Finds, switches on or off, or tries.
pub(crate) async fn run(settings: &Settings, out: Output, what: Reader) -> Result<(), Failure> {
    match what {
        Reader::List => list(out).await,
        Reader::Use {
            name,
            workspaces,
            model,
        } => {
            let wanted = (name, workspaces, model);
            with_log(settings, async |app| use_one(app, out, wanted).await).await
        }
        Reader::Off => off(settings, out),
        Reader::Try => with_log(settings, async |app| try_all(app, out).await).await,
        // Answered before the settings are read.
        Reader::Guard { .. } => Err(Failure::usage("guard takes a program")),
    }
}

/// Works on the store alone, beside a running console too. In a folder where no console has been, one is made.
async fn with_log(
    settings: &Settings,
    work: impl AsyncFnOnce(&App) -> Result<(), Failure>,
) -> Result<(), Failure> {
    if !settings.data_dir.join("countersign.db").is_file() {
        return deciding(settings, work).await;
    }
    let app = App::offline(options(settings)?).await?;
    secrets::hide_under(app.identity().hiding());
    let done = work(&app).await;
    app.shutdown().await;
    done
}

async fn list(out: Output) -> Result<(), Failure> {
    for one in found().await {
        if out.json {
            out.json_line(&as_json(&one))?;
            continue;
        }
        let place = match &one.place {
            Some(place) => plain(place),
            None => "not found".to_owned(),
        };
        let models: Vec<String> = one.models.iter().map(|model| plain(model)).collect();
        let to = match one.outside {
            Some(host) => format!("arguments leave this machine, to {host}"),
            None => "arguments stay on this machine".to_owned(),
        };
        out.line(&format!(
            "{:<12} {place}; {to} {}",
            one.name,
            models.join(", ")
        ))?;
    }
    out.remark("A reader of another maker than the agent's is the better one.");
    Ok(())
}

fn as_json(of: &Found) -> Value {
    json!({
        "name": of.name, "found": of.place.is_some(), "where": of.place, "outside": of.outside.is_some(),
        "models": of.models,
    })
}

async fn use_one(
    app: &App,
    out: Output,
    (name, workspaces, model): (String, Vec<String>, Option<String>),
) -> Result<(), Failure> {
    let (config, copy) = switch_on(app, &name, &workspaces, model.as_deref()).await?;
    let copy = copy.map(|copy| copy.display().to_string());
    let managed = name == "claude-code" && managed_hooks();
    if out.json {
        return Ok(out.json_line(&json!({
            "to": config.to(), "outside": config.outside().is_some(), "workspaces": config.workspaces,
            "copy": copy, "managed_hooks": managed,
        }))?);
    }
    let text = std::fs::read_to_string(app.data().path().join(FILE))?;
    let section = text
        .lines()
        .skip_while(|line| !line.starts_with("[reader]"));
    let rest = section
        .enumerate()
        .take_while(|(at, line)| *at == 0 || !line.starts_with('['));
    for (_, line) in rest {
        out.line(line)?;
    }
    out.line(&config.sentence())?;
    if name == "claude-code" {
        out.line("It adds a folder with a random name, your system, your account and your device to what it sends. Stop it with: countersign reader off")?;
    }
    if managed {
        out.line("Your organization's settings of Claude Code have hooks; they still run, and may see what is sent.")?;
    }
    if let Some(copy) = copy {
        out.remark(&format!("a copy of config.toml is at {copy}"));
    }
    Ok(())
}

fn off(settings: &Settings, out: Output) -> Result<(), Failure> {
    let was_on = switch_off(&settings.data_dir)?;
    if out.json {
        return Ok(out.json_line(&json!({ "on": false, "was_on": was_on }))?);
    }
    let words = match was_on {
        true => "the second reader is off; a running console follows within 2 s",
        false => "no second reader was on",
    };
    Ok(out.line(words)?)
}

async fn try_all(app: &App, out: Output) -> Result<(), Failure> {
    let source = source(app.data().path());
    let config = read_in(app.data().path())
        .map_err(|fault| Failure::environment(format!("config.toml, {fault}")))?;
    let Some(config) = config else {
        return Err(Failure::usage(
            "no second reader is on; see countersign reader list",
        ));
    };
    let score = try_cards(app, &Asker::new(config, source)).await?;
    let seconds = score.seconds_p50();
    let printed = match out.json {
        true => out.json_line(&json!({
            "found": score.found, "of": score.of, "false_marks": score.false_marks, "of_good": score.of_good,
            "seconds_p50": seconds, "failed": score.failed,
        })),
        false => out.line(&format!(
            "{} of {} bad cards marked at the place, {} of {} good ones marked, {:.1} s in the middle, {} failed",
            score.found,
            score.of,
            score.false_marks,
            score.of_good,
            seconds.unwrap_or_default(),
            score.failed
        )),
    };
    let answer = match score.why {
        None => Ok(()),
        Some(why) => {
            out.remark(&format!("the reader failed: {why}"));
            Err(Failure::Printed(ErrorCode::Failed))
        }
    };
    Failure::answered(printed.map_err(Failure::from), answer)
}
