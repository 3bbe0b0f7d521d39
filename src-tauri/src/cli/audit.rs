//! `audit verify` and `audit head`.
//!
//! A log counts as whole only when it was read to its end.

use countersign_core::ops::audit_verify::Verification;
use countersign_core::store::audit::hex;
use countersign_wire::ErrorCode;
use serde_json::json;

use super::config::Settings;
use super::console::reading;
use super::failure::Failure;
use super::output::{Output, doubtful, plain, wrong};

/// Checks the chain, its anchors and the bytes that it names.
pub(crate) async fn verify(
    settings: &Settings,
    out: Output,
    head: Option<String>,
) -> Result<(), Failure> {
    let head = head.as_deref().map(noted).transpose()?;
    let found = reading(settings, true, async |app| {
        Ok(app.audit_verify(head.as_deref()).await?)
    })
    .await?;
    let answer = match found.first_bad {
        None => Ok(()),
        Some(_) => Err(Failure::Printed(ErrorCode::Failed)),
    };
    Failure::answered(print_verification(out, &found), answer)
}

fn print_verification(out: Output, found: &Verification) -> Result<(), Failure> {
    let ok = found.first_bad.is_none();
    if out.json {
        let first_bad = found.first_bad.as_ref().map(
            |bad| json!({ "table": bad.table, "id": plain(&bad.id), "reason": plain(&bad.reason) }),
        );
        let restores: Vec<_> = found
            .restores
            .iter()
            .map(|at| {
                json!({
                    "row": at.row, "from_seq": at.from_seq, "lost_anchors": at.lost_anchors,
                    "lost_up_to": at.lost_up_to,
                })
            })
            .collect();
        return Ok(out.json_line(&json!({
            "ok": ok, "rows": found.rows, "anchored_seq": found.anchored_seq, "first_bad": first_bad,
            "restores": restores, "anchors_from_bus": found.anchors_from_bus,
        }))?);
    }
    let rows = found.rows;
    match &found.first_bad {
        None => out.line(&format!("{rows} rows, none changed"))?,
        Some(bad) => {
            let (id, reason) = (plain(&bad.id), plain(&bad.reason));
            out.line(&wrong(&format!("{} {id}: {reason}", bad.table)))?;
        }
    }
    for at in &found.restores {
        let lost = match at.lost_up_to.filter(|last| *last > at.from_seq) {
            Some(last) => format!("rows {} to {last} from earlier are lost", at.from_seq + 1),
            None => "nothing is known to be lost".to_owned(),
        };
        let row = at.row;
        out.line(&doubtful(&format!(
            "row {row}: restored from a backup that ended at row {}; {lost}",
            at.from_seq
        )))?;
    }
    let after = rows - found.anchored_seq;
    let place = if found.anchors_from_bus {
        "on the bus"
    } else {
        "here; the bus was not reached, so its anchors were not read"
    };
    out.line(&format!(
        "anchored up to row {} {place}",
        found.anchored_seq
    ))?;
    if after > 0 {
        out.line(&doubtful(&format!(
            "{after} rows lie after the last anchor"
        )))?;
    }
    Ok(())
}

/// A head that a person noted down, without its `sha256:`. A mistyped one must not read as a log that
/// was tampered with.
fn noted(head: &str) -> Result<String, Failure> {
    let hash = head.trim();
    let hash = hash.strip_prefix("sha256:").unwrap_or(hash);
    if hash.len() == 64 && hash.bytes().all(|byte| byte.is_ascii_hexdigit()) {
        return Ok(hash.to_ascii_lowercase());
    }
    Err(Failure::usage(
        "--head must be the 64 hexadecimal digits that `countersign audit head` printed",
    ))
}

/// Prints the end of the chain, to be noted down elsewhere.
pub(crate) async fn head(settings: &Settings, out: Output) -> Result<(), Failure> {
    let head = reading(settings, false, async |app| Ok(app.audit_head().await?)).await?;
    if out.json {
        return Ok(out.json_line(&json!({ "seq": head.seq, "hash": hex(&head.hash) }))?);
    }
    Ok(out.line(&format!("{} {}", head.seq, hex(&head.hash)))?)
}
