//! Files that a process was writing when it ended: `NAME.PID.unfinished`, which may hold seeds and logins.
//!
//! Refuses to touch one of a process that still runs.

use std::fs;
use std::path::Path;

use nix::errno::Errno;
use nix::sys::signal::kill;
use nix::unistd::Pid;

/// Folders below folders that are looked into: `agents/WORKSPACE/AGENT`.
const DEPTH: usize = 3;

/// Removes what was left in the data folder, its keys and its enrolments; how many files.
pub(crate) fn remove(data: &Path) -> usize {
    let here = in_folder(data, 0);
    let below = ["keys", "agents"].map(|name| in_folder(&data.join(name), DEPTH));
    here + below.iter().sum::<usize>()
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
        assert_eq!(remove(data.path()), left.len());
        assert!(left.iter().all(|name| !data.path().join(name).exists()));
        assert!(stays.iter().all(|name| data.path().join(name).exists()));
    }
}
