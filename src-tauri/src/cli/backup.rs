//! `backup` and `restore`.
//!
//! A backup is reported as made once it is on the disk under its name.

use std::io::{IsTerminal, Write};

use countersign_core::App;
use countersign_core::ops::backup::{BackupMade, BackupOptions};
use countersign_core::ops::restore::{Restored, restore};
use serde_json::json;

use super::args::{Backup, Restore};
use super::config::Settings;
use super::console::options;
use super::failure::Failure;
use super::output::{Output, doubtful, wrong};
use super::serve::Stop;

/// Writes a backup, beside a running console or without one.
pub(crate) async fn make(settings: &Settings, out: Output, backup: Backup) -> Result<(), Failure> {
    let app = match App::offline(options(settings)?).await {
        Ok(app) => app,
        // A store that takes no writes can still be copied.
        Err(error) if !backup.include_keys => App::read(options(settings)?, false)
            .await
            .map_err(|_| error)?,
        Err(error) => return Err(error.into()),
    };
    let wanted = BackupOptions {
        file: backup.file,
        include_keys: backup.include_keys,
        replace: backup.force,
    };
    let mut stop = Stop::listen()?;
    let shows = !out.json && std::io::stderr().is_terminal();
    let progress = |done: u64, all: u64| {
        if shows {
            let percent = done * 100 / all.max(1);
            // Progress may go unread.
            let _ = write!(std::io::stderr(), "\r{percent:>3} %");
        }
    };
    let made = tokio::select! {
        made = app.backup(&wanted, &progress) => made.map_err(Failure::from),
        () = stop.asked() => Err(Failure::environment("stopped; no backup was made")),
    };
    app.shutdown().await;
    if shows {
        let _ = write!(std::io::stderr(), "\r     \r");
    }
    print_done(out, &wanted, &made?)
}

fn print_done(out: Output, wanted: &BackupOptions, made: &BackupMade) -> Result<(), Failure> {
    let file = wanted.file.display().to_string();
    let info = &made.info;
    if out.json {
        return Ok(out.json_line(&json!({
            "file": file, "bytes": made.bytes, "digest": made.digest, "console_id": info.console_id,
            "realm": info.realm, "keys": info.keys, "audited": made.audited,
            "audit": { "seq": info.audit_seq, "hash": info.audit_hash },
        }))?);
    }
    out.line(&format!(
        "{file}: {} bytes, audit rows up to {}, {}",
        made.bytes, info.audit_seq, made.digest
    ))?;
    match info.keys {
        true => out.line(&doubtful(
            "it holds the signing keys: whoever has it can approve in your name",
        ))?,
        false => out.line("it holds no keys; keep a copy of the folder keys/ elsewhere")?,
    }
    if !made.audited {
        out.line(&doubtful(
            "the store takes no writes, so the audit log does not name this backup",
        ))?;
    }
    Ok(())
}

/// Makes a backup the store of the data folder.
pub(crate) async fn bring_back(
    settings: &Settings,
    out: Output,
    wanted: Restore,
) -> Result<(), Failure> {
    let done = restore(&options(settings)?, &wanted.file, wanted.replace).await?;
    let kept = done.kept_in.as_ref().map(|path| path.display().to_string());
    if out.json {
        return Ok(out.json_line(&as_json(&done, kept))?);
    }
    out.line(&format!(
        "restored the state of {} ({} audit rows, none changed)",
        done.info.made_at, done.audit_rows
    ))?;
    if let Some(kept) = kept {
        out.line(&format!("the previous contents are kept in {kept}"))?;
    }
    if let Some(why) = &done.read_only {
        out.line(&wrong(&format!("the console will be read-only: {why}")))?;
    }
    Ok(out.line("start the console: it reads what came after the backup from the bus")?)
}

fn as_json(done: &Restored, kept: Option<String>) -> serde_json::Value {
    let replaced = done
        .replaced
        .as_ref()
        .map(|(seq, hash)| json!({ "seq": seq, "hash": hash }));
    json!({
        "made_at": done.info.made_at, "console_id": done.info.console_id, "realm": done.info.realm,
        "audit": { "seq": done.info.audit_seq, "hash": done.info.audit_hash },
        "replaced": replaced, "kept_in": kept, "read_only": done.read_only,
    })
}
