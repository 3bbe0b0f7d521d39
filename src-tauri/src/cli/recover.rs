//! `bus recover`: gives a bus that lost its streams what this console knows of it.
//!
//! A bus counts as recovered once the console has joined it again.

use countersign_core::ops::realm::LogRecovery;
use countersign_core::ops::recover::Recovery;
use countersign_wire::ErrorCode;
use serde_json::json;

use super::config::Settings;
use super::console::deciding;
use super::failure::Failure;
use super::output::{Output, wrong};

/// How many decisions lie between two remarks about the progress.
const REMARK_EVERY: u64 = 5_000;

/// Recovers, or shows what would be done.
pub(crate) async fn run(settings: &Settings, out: Output, dry_run: bool) -> Result<(), Failure> {
    let recovery = deciding(settings, async |app| {
        let mut reported = 0;
        let progress = |so_far: &Recovery| {
            let done = so_far.decisions.done() + so_far.votes.done();
            if done / REMARK_EVERY > reported {
                reported = done / REMARK_EVERY;
                let known = so_far.decisions.known + so_far.votes.known;
                out.remark(&format!("{done} of {known} decisions and votes looked at"));
            }
        };
        Ok(app.recover(dry_run, progress).await?)
    })
    .await?;
    let answer = match recovery.decisions.conflicts + recovery.votes.conflicts {
        0 => Ok(()),
        _ => Err(Failure::Printed(ErrorCode::Failed)),
    };
    Failure::answered(print_recovery(out, &recovery, dry_run), answer)
}

fn print_recovery(out: Output, recovery: &Recovery, dry_run: bool) -> Result<(), Failure> {
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
            "log": recovery.log.detail(),
            "known": recovery.decisions.known,
            "republished": recovery.decisions.republished,
            "left": recovery.decisions.left,
            "conflicts": recovery.decisions.conflicts,
            "votes": {
                "known": recovery.votes.known,
                "republished": recovery.votes.republished,
                "left": recovery.votes.left,
                "conflicts": recovery.votes.conflicts,
            },
            "conflicting": conflicting,
        }))?;
    } else {
        for line in sentences(recovery, dry_run) {
            out.line(&line)?;
        }
    }
    Ok(())
}

fn sentences(recovery: &Recovery, dry_run: bool) -> Vec<String> {
    if recovery.is_needless() {
        return vec![
            "the bus has everything that this console knows; nothing to recover".to_owned(),
        ];
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
            "recreated or rolled back: {}",
            recovery.changed.join(", ")
        ));
    }
    lines.extend(of_the_log(&recovery.log, will));
    for (kind, count) in [("decisions", recovery.decisions), ("votes", recovery.votes)] {
        if count.known > 0 || kind == "decisions" {
            lines.push(format!(
                "{} {kind} known here: {} {will}published again, {} on the stream already",
                count.known, count.republished, count.left
            ));
        }
    }
    let conflicts = recovery.decisions.conflicts + recovery.votes.conflicts;
    if conflicts > 0 {
        lines.push(wrong(&format!(
            "the stream holds a different one in the place of {conflicts} decisions or votes, and agents read that one; see `countersign status`"
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

fn of_the_log(log: &LogRecovery, will: &str) -> Vec<String> {
    let parted = log.parted.iter().map(|digest| {
        wrong(&format!(
            "the realm log on the bus went on without entry {digest}, which only this console knows"
        ))
    });
    let put_back = (log.put_back > 0).then(|| {
        format!(
            "{} entries of the realm log known here: {} {will}published again",
            log.known, log.put_back
        )
    });
    put_back.into_iter().chain(parted).collect()
}
