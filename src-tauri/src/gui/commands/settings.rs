//! The settings with which this console was started, read-only: flags, environment and file change them. And the one
//! that the audit log must know of.

use countersign_view::{FolderView, HasteArgs, HasteView, IpcError, Nothing, SettingsView};
use serde_json::json;

use crate::cli::CONFIG_FILE;
use crate::gui::desk::Desk;
use crate::gui::view::settings_view;
use countersign_view::window::fault;

/// What the console remembers of the slowdown, and its word in the audit log.
const HASTE: &str = "haste_brake";
const OFF: &str = "off";

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
    Ok(settings_view(desk, folders))
}

pub(crate) async fn haste_brake(desk: &Desk, args: HasteArgs) -> Result<HasteView, IpcError> {
    let kept = desk.app.remembered(HASTE).await.map_err(fault)?;
    let is_on = kept.as_deref() != Some(OFF);
    let wanted = args.on.unwrap_or(is_on);
    if wanted != is_on {
        // Written first: nothing is switched that the log does not know of.
        let detail = json!({ "on": wanted });
        let logged = desk.app.record(HASTE, "console".to_owned(), detail);
        logged.await.map_err(fault)?;
        let word = if wanted { "on" } else { OFF };
        let kept = desk.app.remember(HASTE, word.to_owned());
        kept.await.map_err(fault)?;
    }
    Ok(HasteView { on: wanted })
}
