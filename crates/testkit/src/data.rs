//! A data folder that is gone after the test.

use std::path::Path;
use tempfile::TempDir;

/// A temporary data folder, removed on drop.
pub struct TempData {
    dir: TempDir,
}

impl TempData {
    /// A new, empty folder.
    pub fn new() -> Self {
        let dir = tempfile::Builder::new()
            .prefix("countersign-")
            .tempdir()
            .expect("the system's folder for temporary files is writable");
        Self { dir }
    }

    /// Its path.
    pub fn path(&self) -> &Path {
        self.dir.path()
    }
}

impl Default for TempData {
    fn default() -> Self {
        Self::new()
    }
}
