//! Files that a process was writing when it ended: `NAME.PID.unfinished`, which may hold seeds and logins.
//!
//! A file of a running process is left alone.

use std::fs;
use std::path::Path;

use nix::errno::Errno;
use nix::sys::signal::kill;
use nix::unistd::Pid;

/// Folders below folders that are looked into: `agents/WORKSPACE/AGENT`.
const DEPTH: usize = 3;

/// Removes what was left in the data folder, its keys and its enrolments; how many files.
pub fn remove(data: &Path) -> usize {
    let here = in_folder(data, 0);
    let below = ["keys", "agents"].map(|name| in_folder(&data.join(name), DEPTH));
    here + below.iter().sum::<usize>()
}

/// Removes what was left of earlier attempts at this file, wherever it is.
pub fn remove_beside(target: &Path) {
    let Some(name) = target.file_name().and_then(|name| name.to_str()) else {
        return;
    };
    let folder = match target.parent() {
        Some(folder) if !folder.as_os_str().is_empty() => folder,
        _ => Path::new("."),
    };
    for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
        let path = entry.path();
        let found = entry.file_name();
        let of = found.to_str().and_then(|found| found.strip_prefix(name));
        let of = of.and_then(|found| found.strip_prefix('.'));
        // SQLite's journal of a backup goes with it.
        let written = of.map(|of| of.strip_suffix("-journal").unwrap_or(of));
        let is_plain = |of: &str| of.split('.').count() == 2;
        if written.is_some_and(|of| is_plain(of) && is_left(Path::new(&format!("f.{of}"))))
            && entry.file_type().is_ok_and(|kind| kind.is_file())
            && fs::remove_file(&path).is_ok()
        {
            tracing::info!(path = %path.display(), "a file that was left unfinished is removed");
        }
    }
}

fn in_folder(folder: &Path, depth: usize) -> usize {
    // What cannot be read now is looked for at the next start.
    let Ok(entries) = fs::read_dir(folder) else {
        return 0;
    };
    let mut removed = 0;
    for entry in entries.flatten() {
        let path = entry.path();
        if entry.file_type().is_ok_and(|kind| kind.is_dir()) {
            removed += depth
                .checked_sub(1)
                .map_or(0, |left| in_folder(&path, left));
        } else if is_left(&path) && fs::remove_file(&path).is_ok() {
            tracing::info!(path = %path.display(), "a file that was left unfinished is removed");
            removed += 1;
        }
    }
    removed
}

fn is_left(path: &Path) -> bool {
    let name = path.file_name().and_then(|name| name.to_str());
    let writer = name
        .and_then(|name| name.strip_suffix(".unfinished"))
        .and_then(|name| name.rsplit_once('.'))
        .and_then(|(_, pid)| pid.parse().ok());
    writer.is_some_and(|pid: i32| pid > 0 && kill(Pid::from_raw(pid), None) == Err(Errno::ESRCH))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_process_left_goes_and_what_a_living_one_writes_stays() {
        let data = tempfile::tempdir().unwrap();
        let agent = data.path().join("agents/acme/bot");
        fs::create_dir_all(&agent).unwrap();
        fs::create_dir(data.path().join("keys")).unwrap();
        let mut ended = std::process::Command::new("true").spawn().unwrap();
        let gone = ended.id();
        ended.wait().unwrap();
        let lives = std::process::id();
        let left = [
            format!("keys/human.{gone}.unfinished"),
            format!("runtime.{gone}.unfinished"),
            format!("agents/acme/bot/agent.{gone}.unfinished"),
        ];
        let stays = [
            format!("keys/auto.{lives}.unfinished"),
            "keys/human.nk".to_owned(),
            "notes.unfinished".to_owned(),
            "keys/a.-1.unfinished".to_owned(),
        ];
        for name in left.iter().chain(&stays) {
            fs::write(data.path().join(name), "seed").unwrap();
        }
        let target = data.path().join("copy");
        let beside = [
            format!("copy.{gone}.unfinished"),
            format!("copy.{gone}.unfinished-journal"),
        ];
        let other = [
            format!("copy.{lives}.unfinished"),
            format!("copy.b.{gone}.unfinished"),
            format!("copy2.{gone}.unfinished"),
            "copy".to_owned(),
        ];
        for name in beside.iter().chain(&other) {
            fs::write(data.path().join(name), "seed").unwrap();
        }
        remove_beside(&target);
        assert!(beside.iter().all(|name| !data.path().join(name).exists()));
        for name in &other {
            assert!(data.path().join(name).exists(), "{name}");
            fs::remove_file(data.path().join(name)).unwrap();
        }
        assert_eq!(remove(data.path()), left.len());
        assert!(left.iter().all(|name| !data.path().join(name).exists()));
        assert!(stays.iter().all(|name| data.path().join(name).exists()));
    }
}
