//! The data folder and the files that hold secrets: who may read them, and whether there is room.
//!
//! Only their metadata is read.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use countersign_reader::config::read_in;
use nix::unistd::{AccessFlags, access};

use super::super::config::{Login, Settings};
use super::Check;
use super::Verdict::{Failed, Ok as Fine, Warning};

/// SQLite needs room for its log beside the store, the server for its streams.
const LITTLE: u64 = 1024 * 1024 * 1024;
const TOO_LITTLE: u64 = 64 * 1024 * 1024;
/// Deeper than anything of ours.
const DEPTH: usize = 4;

/// Everything about the folder.
pub(super) fn checks(settings: &Settings) -> Vec<Check> {
    let folder = &settings.data_dir;
    if !folder.exists() {
        return vec![to_be_made(folder)];
    }
    vec![private(settings), space(folder)]
}

/// Where a second reader sends arguments of calls; none where no reader is on.
pub(super) fn reader(settings: &Settings) -> Option<Check> {
    let (verdict, detail) = match read_in(&settings.data_dir) {
        Ok(None) => return None,
        Ok(Some(config)) if config.outside().is_some() || config.command.is_some() => {
            (Warning, config.sentence())
        }
        Ok(Some(config)) => (Fine, config.sentence()),
        Err(fault) => (Failed, format!("config.toml, {fault}; the reader is off")),
    };
    Some(Check::new("reader", verdict, detail))
}

/// Whether the first start can make the folder.
fn to_be_made(folder: &Path) -> Check {
    let standing = folder.ancestors().skip(1).find(|above| above.exists());
    // Of a relative path the last one is empty: the folder in which the command runs.
    let above = standing.unwrap_or(Path::new("."));
    let detail = format!("{} does not exist yet", folder.display());
    let Err(error) = access(above, AccessFlags::W_OK | AccessFlags::X_OK) else {
        let detail = format!("{detail}; the first start creates it");
        return Check::new("data_folder", Fine, detail);
    };
    let detail = format!(
        "{detail} and cannot be created in {}: {}; give another one (--data-dir)",
        above.display(),
        error.desc()
    );
    Check::new("data_folder", Failed, detail)
}

fn private(settings: &Settings) -> Check {
    let folder = &settings.data_dir;
    let mut open = Vec::new();
    let mut all = vec![folder.clone()];
    for name in ["keys", "agents", "nats", "config.toml", "countersign.db"] {
        all.push(folder.join(name));
    }
    for name in ["keys", "agents"] {
        below(&folder.join(name), DEPTH, &mut all);
    }
    match &settings.login {
        Login::Creds(file) | Login::Nkey(file) => all.push(file.clone()),
        Login::Url => {}
    }
    all.extend(settings.tls.key.clone());
    for path in &all {
        // What is not there yet will be made private.
        let Ok(about) = fs::metadata(path) else {
            continue;
        };
        if about.permissions().mode() & 0o077 != 0 {
            open.push(path.display().to_string());
        }
    }
    if open.is_empty() {
        let detail = format!("only you can read {}", folder.display());
        return Check::new("data_folder", Fine, detail);
    }
    let detail = format!(
        "others can read {}; run chmod go-rwx on them",
        open.join(", ")
    );
    Check::new("data_folder", Failed, detail)
}

fn below(folder: &Path, depth: usize, all: &mut Vec<PathBuf>) {
    let Ok(entries) = fs::read_dir(folder) else {
        return;
    };
    for entry in entries.flatten() {
        let path = entry.path();
        if depth > 0 && entry.file_type().is_ok_and(|kind| kind.is_dir()) {
            below(&path, depth - 1, all);
        }
        all.push(path);
    }
}

fn space(folder: &Path) -> Check {
    let about = match nix::sys::statvfs::statvfs(folder) {
        Ok(about) => about,
        Err(error) => {
            let detail = format!("{}: {error}", folder.display());
            return Check::new("disk", Failed, detail);
        }
    };
    let free = about
        .blocks_available()
        .saturating_mul(about.fragment_size());
    let verdict = match free {
        free if free < TOO_LITTLE => Failed,
        free if free < LITTLE => Warning,
        _ => Fine,
    };
    let room = format!("{} MiB free at {}", free / (1024 * 1024), folder.display());
    let detail = match verdict {
        Fine => room,
        _ => format!("{room}; make room before requests are refused"),
    };
    Check::new("disk", verdict, detail)
}
