//! `rules regret`: an automatic decision was wrong.
//!
//! A rule is reported as suspended once the bus has stored it. One that overrode an approval goes only with a word
//! about what people denied.

use countersign_core::ops::regrets::{Denied, Regrets, Regretting, Suspended};
use serde_json::{Value, json};

use super::flips;
use crate::cli::config::Settings;
use crate::cli::console::deciding_here;
use crate::cli::failure::Failure;
use crate::cli::input;
use crate::cli::output::{Output, plain};

/// Suspends what decided a request.
pub(super) async fn run(
    settings: &Settings,
    out: Output,
    id: &str,
    (reason, accept_flips): (Option<String>, bool),
) -> Result<(), Failure> {
    let reason = input::optional_text("--reason", reason)?;
    let (line, done) = deciding_here(settings, async |app| {
        let line = app.find(id).await?;
        let denied = match accept_flips {
            true => Denied::Accept,
            false => Denied::Refuse(flips::LIMIT),
        };
        match app.regret(&line, reason, denied).await? {
            Regretting::Done(done) => Ok((line, done)),
            Regretting::Denied(found) => Err(flips::refusal(found.as_deref())),
        }
    })
    .await?;
    if out.json {
        return Ok(out.json_line(&json!({
            "request_id": line.request_id, "workspace": line.ws, "agent": line.agent,
            "suspended": done.suspended, "id": done.id, "version": done.version,
            "revision": done.revision,
        }))?);
    }
    let id = plain(&done.id);
    Ok(out.line(&match done.suspended {
        Suspended::Rule => {
            let workspace = plain(&line.ws);
            let again = format!(
                "`countersign rules enable {id} --workspace {workspace}` turns it on again"
            );
            format!("rule {id} is off; {again}. The decision remains")
        }
        Suspended::SetupKey => {
            format!("setup key {id} no longer skips asking. The decision remains")
        }
        Suspended::Bypass => "the bypass is over. The decision remains".to_owned(),
    })?)
}

/// A rule's regrets below its line.
pub(super) fn regrets_line(regrets: &Regrets) -> String {
    let last = regrets.last.last().map(|last| {
        let reason = last
            .reason
            .as_deref()
            .map_or_else(String::new, |of| format!(": {of}"));
        format!("; the last by {} at {}{reason}", last.by, last.at)
    });
    let text = format!("{} regrets{}", regrets.count, last.unwrap_or_default());
    format!("{:<24} {}", "", plain(&text))
}

/// `{count, last: [{request, version, reason, by, at}]}`.
pub(super) fn listed(regrets: Option<&Regrets>) -> Value {
    json!(regrets.cloned().unwrap_or_default())
}
