//! The settings with which this console was started, read-only: flags, environment and file change them.

use countersign_view::{FolderView, IpcError, Nothing, SettingsView};

use crate::cli::CONFIG_FILE;
use crate::gui::desk::Desk;
use crate::gui::view::settings_view;

pub(crate) async fn settings(desk: &Desk, _: Nothing) -> Result<SettingsView, IpcError> {
    let data = desk.app.data();
    let mut folders = Vec::new();
    for (what, path) in [
        ("data", data.path().to_owned()),
        ("database", data.database()),
        ("keys", data.keys()),
        ("config", data.path().join(CONFIG_FILE)),
    ] {
        folders.push(FolderView {
            what: what.to_owned(),
            exists: tokio::fs::try_exists(&path).await.unwrap_or(false),
            path: path.display().to_string(),
        });
    }
    let marked = &desk.production;
    Ok(settings_view(&desk.app, folders, desk.otlp.clone(), marked))
}
