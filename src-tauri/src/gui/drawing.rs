//! Drawing of the web view: with the graphics card, where there is one.
//!
//! WebKit finds out itself what a card can do.

use std::path::Path;

use tauri::WebviewWindow;
use webkit2gtk::{HardwareAccelerationPolicy, SettingsExt as _, WebViewExt as _};

/// Where Linux lists what draws.
const DRI: &str = "/dev/dri";
/// How the names of devices begin that draw for a program without a screen of their own.
const RENDERS: &str = "renderD";

/// Lets the page be drawn without layers where no graphics card is.
///
/// WebKit would lay them over each other by OpenGL in software otherwise, which takes three times as long as drawing the page:
/// on such machines, often virtual ones, lists would scroll visibly late.
pub(super) fn suit(window: &WebviewWindow) {
    if renders(Path::new(DRI)) {
        return;
    }
    let asked = window.with_webview(|view| {
        if let Some(settings) = view.inner().settings() {
            settings.set_hardware_acceleration_policy(HardwareAccelerationPolicy::Never);
        }
    });
    match asked {
        Ok(()) => tracing::info!("there is no graphics card: the window is drawn without layers"),
        // It only draws more slowly.
        Err(error) => {
            tracing::warn!(%error, "the web view could not be told that there is no graphics card");
        }
    }
}

/// Whether a device that draws is listed in a folder.
fn renders(dri: &Path) -> bool {
    std::fs::read_dir(dri).is_ok_and(|mut found| {
        found.any(|device| {
            device.is_ok_and(|device| device.file_name().to_string_lossy().starts_with(RENDERS))
        })
    })
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    #[test]
    fn only_a_device_that_draws_is_a_graphics_card() {
        let dri = tempfile::tempdir().unwrap();
        assert!(!renders(&dri.path().join("missing")));
        // What shows a picture only, as many virtual machines have.
        std::fs::write(dri.path().join("card0"), "").unwrap();
        assert!(!renders(dri.path()));
        std::fs::write(dri.path().join("renderD128"), "").unwrap();
        assert!(renders(dri.path()));
    }
}
