//! A file of JSON lines.

use std::fs::OpenOptions;
use std::future::pending;
use std::io::{self, Read as _, Seek as _, SeekFrom, Write as _};
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::{Path, PathBuf};
use std::time::Duration;

use nix::fcntl::OFlag;

use crate::event::Event;
use crate::ordered::Sink;

/// Opened anew for each batch, so that it may be renamed at any time.
pub(crate) struct Lines(PathBuf);

impl Lines {
    pub(crate) fn new(path: &Path) -> Self {
        Self(path.to_owned())
    }
}

impl Sink for Lines {
    const SURE_AFTER: Duration = Duration::ZERO;

    async fn write(&mut self, events: &[Event]) -> Result<(), &'static str> {
        let (path, events) = (self.0.clone(), events.to_vec());
        let written = tokio::task::spawn_blocking(move || append(&path, &events)).await;
        written.map_err(|_| "write")?.map_err(|_| "write")
    }

    async fn lost(&mut self) -> &'static str {
        pending().await
    }
}

/// Adds lines; they are on the disk when it returns. Half a line that a crash left is ended first.
pub(crate) fn append(path: &Path, events: &[Event]) -> io::Result<()> {
    let mut open = OpenOptions::new();
    let mut file = open
        .read(true)
        .append(true)
        .create(true)
        .mode(0o600)
        // Neither through a link, nor until somebody reads a pipe.
        .custom_flags((OFlag::O_NOFOLLOW | OFlag::O_NONBLOCK).bits())
        .open(path)?;
    if !file.metadata()?.is_file() {
        return Err(io::Error::other("not a file"));
    }
    let mut text = String::new();
    if file.metadata()?.len() > 0 {
        file.seek(SeekFrom::End(-1))?;
        let mut last = [0];
        file.read_exact(&mut last)?;
        text.extend((last != *b"\n").then_some('\n'));
    }
    for event in events {
        text.push_str(&event.body);
        text.push('\n');
    }
    file.write_all(text.as_bytes())?;
    file.sync_all()?;
    // The file may be as new as its lines.
    path.parent()
        .map_or(Ok(()), |folder| std::fs::File::open(folder)?.sync_all())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_no_file_is_not_written() {
        let folder = tempfile::tempdir().unwrap();
        let at = |name: &str| folder.path().join(name);
        std::fs::write(at("file"), "").unwrap();
        std::os::unix::fs::symlink(at("file"), at("link")).unwrap();
        nix::unistd::mkfifo(&at("pipe"), nix::sys::stat::Mode::S_IRWXU).unwrap();
        assert!(append(&at("link"), &[]).is_err());
        // Nobody reads it.
        assert!(append(&at("pipe"), &[]).is_err());
        assert!(append(&at("file"), &[]).is_ok());
    }
}
