//! `rules suggest`: what people approve again and again.
//!
//! Refuses to change anything: a suggestion is text until somebody applies it.

use countersign_core::ops::suggest::Suggestion;
use serde_json::json;

use super::shown::toml_of;
use crate::cli::config::Settings;
use crate::cli::console::reading;
use crate::cli::failure::Failure;
use crate::cli::output::{Output, plain};

/// Lists what the workspace's rules could take over, the most frequent first.
pub(super) async fn run(settings: &Settings, out: Output) -> Result<(), Failure> {
    let workspace = &settings.workspace;
    reading(settings, false, async |app| {
        let found = app.suggest_rules(workspace, |_| true).await?;
        for of in &found {
            one(out, of)?;
        }
        if found.is_empty() && !out.json {
            out.line(
                "nothing was approved by people at least 5 times in 30 days without a denial",
            )?;
        }
        Ok(())
    })
    .await
}

fn one(out: Output, of: &Suggestion) -> Result<(), Failure> {
    let (since, until) = (of.first.rfc3339(), of.last.rfc3339());
    if out.json {
        return Ok(out.json_line(&json!({
            "rule": of.rule.to_json(), "approvals": of.approvals, "operators": of.operators.len(),
            "first": since, "last": until, "requests": of.requests,
        }))?);
    }
    let who = format!(
        "{} approvals by {} operators",
        of.approvals,
        of.operators.len()
    );
    let requests: Vec<String> = of.requests.iter().map(|id| plain(id)).collect();
    out.line(&format!(
        "# {who}, {since} to {until}, such as {}",
        requests.join(", ")
    ))?;
    Ok(out.line(&format!("{}\n", toml_of(std::slice::from_ref(&of.rule))?))?)
}
