//! Files of the folder: for their owner alone, all of it or nothing, flushed where that is wanted.

use std::fs::{self, DirBuilder, File, Permissions};
use std::io::{self, Write as _};
use std::os::unix::fs::{DirBuilderExt as _, PermissionsExt as _};
use std::path::Path;

use countersign_wire::read_json;
use serde::Serialize;
use serde::de::DeserializeOwned;
use tempfile::NamedTempFile;

/// Makes a folder for its owner alone.
pub(crate) fn make_private(folder: &Path) -> io::Result<()> {
    DirBuilder::new()
        .recursive(true)
        .mode(0o700)
        .create(folder)?;
    fs::set_permissions(folder, Permissions::from_mode(0o700))
}

pub(crate) fn read<T: DeserializeOwned>(path: &Path) -> io::Result<T> {
    let text = fs::read(path)?;
    read_json(&text).map_err(|error| {
        // Its words would quote the file.
        let (line, column) = (error.line(), error.column());
        io::Error::other(format!(
            "damaged at line {line}, column {column}; move it away"
        ))
    })
}

/// All of it or nothing.
pub(crate) fn written(path: &Path, value: &impl Serialize, flush: bool) -> io::Result<()> {
    prepared(path, value, flush)?.persist(path)?;
    flushed(path, flush)
}

/// As [`written`], where nothing is there yet.
pub(crate) fn written_anew(path: &Path, value: &impl Serialize) -> io::Result<()> {
    prepared(path, value, true)?.persist_noclobber(path)?;
    flushed(path, true)
}

fn prepared(path: &Path, value: &impl Serialize, flush: bool) -> io::Result<NamedTempFile> {
    let folder = path.parent().unwrap_or(Path::new("."));
    let mut file = NamedTempFile::new_in(folder)?;
    file.write_all(&serde_json::to_vec(value)?)?;
    if flush {
        file.as_file().sync_all()?;
    }
    Ok(file)
}

fn flushed(path: &Path, flush: bool) -> io::Result<()> {
    match flush {
        true => flush_folder_of(path),
        false => Ok(()),
    }
}

/// What is in the folder of this path is on the disk.
pub(crate) fn flush_folder_of(path: &Path) -> io::Result<()> {
    File::open(path.parent().unwrap_or(Path::new(".")))?.sync_all()
}
