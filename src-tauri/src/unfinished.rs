//! A file that appears under its name only when it is whole.

use std::fs::{self, File};
use std::io;
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

use countersign_core::Fault;

/// A file that is not whole yet; removed unless it is finished.
pub(crate) struct Unfinished {
    path: PathBuf,
    file: File,
}

impl Unfinished {
    /// Makes it beside `target`, readable by nobody else.
    pub(crate) fn create(target: &Path) -> Result<Self, Fault> {
        countersign_core::unfinished::remove_beside(target);
        let mut path = target.as_os_str().to_owned();
        path.push(format!(".{}.unfinished", std::process::id()));
        let path = PathBuf::from(path);
        let file = File::options()
            .create_new(true)
            .write(true)
            .mode(0o600)
            .open(&path)
            .map_err(|error| {
                Fault::environment(format!(
                    "{}: {error}; choose a folder that exists and that you may write to",
                    path.display()
                ))
            })?;
        Ok(Self { path, file })
    }

    /// A handle to write through.
    pub(crate) fn open(&self) -> io::Result<File> {
        self.file.try_clone()
    }

    /// Gives it its name, once everything is on the disk.
    pub(crate) fn finish(self, target: &Path) -> io::Result<()> {
        self.file.sync_all()?;
        fs::rename(&self.path, target)
    }
}

impl Drop for Unfinished {
    fn drop(&mut self) {
        // After the rename there is nothing of this name.
        let _ = fs::remove_file(&self.path);
    }
}
