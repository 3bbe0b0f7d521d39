//! What an organization sets for Claude Code, which applies to a reader too.

use std::path::Path;

use serde_json::Value;

/// Whether an organization's own settings of Claude Code, which still apply, have hooks.
pub(super) fn managed_hooks() -> bool {
    let folder = Path::new(match cfg!(target_os = "macos") {
        true => "/Library/Application Support/ClaudeCode",
        false => "/etc/claude-code",
    });
    let more = folder
        .join("managed-settings.d")
        .read_dir()
        .into_iter()
        .flatten();
    let more = more.flatten().map(|entry| entry.path());
    let mut files = more.chain([folder.join("managed-settings.json")]);
    files.any(|file| {
        let settings = std::fs::read(file).unwrap_or_default();
        let settings: Value = serde_json::from_slice(&settings).unwrap_or_default();
        !settings["hooks"].is_null()
    })
}
