//! `bus recover`: gives a bus that lost its streams what this console knows of it.
//!
//! Refuses to call a bus recovered before the console has joined it again.

use countersign_core::ops::recover::Recovery;
use countersign_wire::ErrorCode;
use serde_json::json;

use super::config::Settings;
use super::console::deciding;
use super::failure::Failure;
use super::output::{Output, wrong};

/// How many decisions lie between two remarks about the progress.
const REMARK_EVERY: u64 = 5_000;

/// Recovers, or tells what would be done.
pub(crate) async fn run(settings: &Settings, out: Output, dry_run: bool) -> Result<(), Failure> {
    let recovery = deciding(settings, async |app| {
        let mut told = 0;
        let progress = |so_far: &Recovery| {
            let done = so_far.republished + so_far.left + so_far.conflicts;
            if done / REMARK_EVERY > told {
                told = done / REMARK_EVERY;
                out.remark(&format!("{done} of {} decisions looked at", so_far.known));
            }
        };
        Ok(app.recover(dry_run, progress).await?)
    })
    .await?;
    if out.json {
        let conflicting: Vec<String> = recovery
            .conflicting
            .iter()
            .map(ToString::to_string)
            .collect();
        out.json_line(&json!({
            "dry_run": dry_run,
            "created": recovery.created,
            "changed": recovery.changed,
            "known": recovery.known,
            "republished": recovery.republished,
            "left": recovery.left,
            "conflicts": recovery.conflicts,
            "conflicting": conflicting,
        }))?;
    } else {
        for line in sentences(&recovery, dry_run) {
            out.line(&line)?;
        }
    }
    match recovery.conflicts {
        0 => Ok(()),
        _ => Err(Failure::Told(ErrorCode::Failed)),
    }
}

fn sentences(recovery: &Recovery, dry_run: bool) -> Vec<String> {
    if recovery.is_needless() {
        return vec!["the bus is as this console remembers it; nothing to recover".to_owned()];
    }
    let (will, made) = match dry_run {
        true => ("would be ", "would make"),
        false => ("", "made"),
    };
    let mut lines = Vec::new();
    if !recovery.created.is_empty() {
        lines.push(format!("{made} {}", recovery.created.join(", ")));
    }
    if !recovery.changed.is_empty() {
        lines.push(format!(
            "made anew or gone back: {}",
            recovery.changed.join(", ")
        ));
    }
    lines.push(format!(
        "{} decisions known here: {} {will}published again, {} on the stream already",
        recovery.known, recovery.republished, recovery.left
    ));
    if recovery.conflicts > 0 {
        lines.push(wrong(&format!(
            "{} requests have another decision on the stream, which is the one that agents read now; see `countersign status`",
            recovery.conflicts
        )));
        lines.extend(
            recovery
                .conflicting
                .iter()
                .map(|key| wrong(&key.to_string())),
        );
    }
    lines
}
