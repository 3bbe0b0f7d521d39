//! The folder and what may be deleted in it.
//!
//! Refuses every name that is not a plain name of this folder: what comes back
//! from a person may have been edited, and a link may point anywhere.

use std::fs::{self, File};
use std::io;
use std::path::{Component, Path, PathBuf};
use std::time::{Duration, SystemTime};

use serde::Deserialize;
use serde_json::Value;
use tempfile::TempDir;

const DAY: Duration = Duration::from_secs(24 * 60 * 60);
const OLD: Duration = Duration::from_secs(30 * 24 * 60 * 60);

/// Age in days of each file that it makes, and its bytes.
const FILES: [(&str, u32, usize); 5] = [
    ("build-2026-08.log", 95, 48_000),
    ("build-2026-09.log", 64, 51_000),
    ("build-2026-10.log", 34, 47_000),
    ("build-2026-11.log", 2, 12_000),
    ("notes.txt", 1, 900),
];
const BACKUPS: [(&str, u32, usize); 3] = [
    ("backup-1.tar", 210, 300_000),
    ("backup-2.tar", 120, 300_000),
    ("backup-3.tar", 30, 300_000),
];

/// Why nothing, or not everything, was deleted.
#[derive(Debug)]
pub(crate) struct Refused(String);

impl std::fmt::Display for Refused {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.0)
    }
}

/// Works in a folder that it made; the folder is gone when it is dropped.
pub(crate) struct Janitor {
    folder: TempDir,
    now: SystemTime,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct DeleteFiles {
    names: Vec<String>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct DeleteArchive {
    folder: String,
    keep_newest: usize,
}

impl Janitor {
    /// Makes a folder with files of different ages.
    pub(crate) fn move_in() -> io::Result<Self> {
        let folder = tempfile::Builder::new().prefix("janitor-").tempdir()?;
        #[expect(
            clippy::disallowed_methods,
            reason = "the age of files is shown by this clock"
        )]
        let now = SystemTime::now();
        let janitor = Self { folder, now };
        for (name, days, bytes) in FILES {
            janitor.make(&janitor.folder().join(name), days, bytes)?;
        }
        let archive = janitor.folder().join("archive");
        fs::create_dir(&archive)?;
        for (name, days, bytes) in BACKUPS {
            janitor.make(&archive.join(name), days, bytes)?;
        }
        Ok(janitor)
    }

    pub(crate) fn folder(&self) -> &Path {
        self.folder.path()
    }

    /// Names of the files to which nobody has written for 30 days.
    pub(crate) fn old_files(&self) -> io::Result<Vec<String>> {
        let mut names = Vec::new();
        for (at, path) in plain_files(self.folder())? {
            let age = self.now.duration_since(at).unwrap_or_default();
            if let (true, Some(name)) = (age >= OLD, path.file_name()) {
                names.push(name.to_string_lossy().into_owned());
            }
        }
        Ok(names)
    }

    /// Deletes files of the folder; all names are checked before the first is gone.
    pub(crate) fn delete_files(&self, args: Value) -> Result<Vec<String>, Refused> {
        let args: DeleteFiles = read(args)?;
        let paths: Vec<PathBuf> = args
            .names
            .iter()
            .map(|name| inside(self.folder(), name))
            .collect::<Result<_, _>>()?;
        paths.iter().try_for_each(|path| check_plain(path))?;
        paths.iter().try_for_each(|path| delete(path))?;
        Ok(args.names)
    }

    /// Deletes the backups of a folder, the newest ones excepted.
    pub(crate) fn delete_archive(&self, args: Value) -> Result<Vec<String>, Refused> {
        let args: DeleteArchive = read(args)?;
        let archive = inside(self.folder(), &args.folder)?;
        let is_folder = fs::symlink_metadata(&archive).is_ok_and(|about| about.is_dir());
        if !is_folder {
            return Err(Refused(format!("{} is not a folder here", args.folder)));
        }
        let mut backups = plain_files(&archive).map_err(|error| Refused(error.to_string()))?;
        let keep = backups.len().saturating_sub(args.keep_newest);
        backups.truncate(keep);
        backups.iter().try_for_each(|(_, path)| delete(path))?;
        let name =
            |(_, path): (_, PathBuf)| path.file_name().map(|n| n.to_string_lossy().into_owned());
        Ok(backups.into_iter().filter_map(name).collect())
    }

    fn make(&self, path: &Path, days: u32, bytes: usize) -> io::Result<()> {
        fs::write(path, vec![b'.'; bytes])?;
        let age = DAY.saturating_mul(days);
        File::options()
            .write(true)
            .open(path)?
            .set_modified(self.now - age)
    }
}

/// Files that are no links, the oldest first.
fn plain_files(folder: &Path) -> io::Result<Vec<(SystemTime, PathBuf)>> {
    let mut files = Vec::new();
    for entry in fs::read_dir(folder)? {
        let path = entry?.path();
        let about = fs::symlink_metadata(&path)?;
        if about.is_file() {
            files.push((about.modified()?, path));
        }
    }
    files.sort();
    Ok(files)
}

/// The path of a plain name in the folder.
fn inside(folder: &Path, name: &str) -> Result<PathBuf, Refused> {
    let mut parts = Path::new(name).components();
    match (parts.next(), parts.next()) {
        (Some(Component::Normal(only)), None) if only == name => Ok(folder.join(only)),
        _ => Err(Refused(format!("{name:?} is not a name in this folder"))),
    }
}

fn check_plain(path: &Path) -> Result<(), Refused> {
    let about = fs::symlink_metadata(path);
    let about = about.map_err(|error| Refused(format!("{}: {error}", path.display())))?;
    if about.is_file() {
        Ok(())
    } else {
        Err(Refused(format!("{} is not a plain file", path.display())))
    }
}

fn delete(path: &Path) -> Result<(), Refused> {
    check_plain(path)?;
    fs::remove_file(path).map_err(|error| Refused(format!("{}: {error}", path.display())))
}

fn read<T: for<'de> Deserialize<'de>>(args: Value) -> Result<T, Refused> {
    serde_json::from_value(args).map_err(|error| Refused(error.to_string()))
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::disallowed_methods)]

    use serde_json::json;

    use super::*;

    #[test]
    fn it_finds_what_is_older_than_thirty_days_and_deletes_what_is_named() {
        let janitor = Janitor::move_in().unwrap();
        let old = janitor.old_files().unwrap();
        assert_eq!(
            old,
            [
                "build-2026-08.log",
                "build-2026-09.log",
                "build-2026-10.log"
            ]
        );
        let gone = janitor.delete_files(json!({ "names": [old[0]] })).unwrap();
        assert_eq!(gone, old[..1]);
        assert_eq!(janitor.old_files().unwrap(), old[1..]);
        let gone = janitor.delete_archive(json!({ "folder": "archive", "keep_newest": 1 }));
        assert_eq!(gone.unwrap(), ["backup-1.tar", "backup-2.tar"]);
        let folder = janitor.folder().to_owned();
        drop(janitor);
        assert!(!folder.exists());
    }

    #[test]
    fn nothing_outside_its_folder_is_touched_and_one_bad_name_stops_all() {
        let janitor = Janitor::move_in().unwrap();
        let elsewhere = tempfile::NamedTempFile::new().unwrap();
        let outside = elsewhere.path().to_str().unwrap();
        std::os::unix::fs::symlink(outside, janitor.folder().join("link")).unwrap();
        let beside = elsewhere.path().file_name().unwrap().to_str().unwrap();
        for name in [
            outside,
            &format!("../{beside}"),
            "..",
            ".",
            "",
            "archive",
            "link",
            "archive/backup-1.tar",
            "notes.txt/",
        ] {
            let args = json!({ "names": ["notes.txt", name] });
            assert!(janitor.delete_files(args).is_err(), "{name}");
            assert!(janitor.folder().join("notes.txt").exists(), "{name}");
        }
        for folder in ["..", "/", "link", "notes.txt", "archive/.."] {
            let args = json!({ "folder": folder, "keep_newest": 0 });
            assert!(janitor.delete_archive(args).is_err(), "{folder}");
        }
        assert!(elsewhere.path().exists());
    }
}
