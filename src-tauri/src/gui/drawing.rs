//! Whether the window is drawn: WebKit chooses how, and on some machines nothing comes of it.

use std::time::Duration;

use gtk::cairo::{Context, Format, ImageSurface};
use gtk::prelude::*;
use tauri::WebviewWindow;

use super::page_ended::dialog;

/// A start takes no longer than this before the page is in its window.
const LIMIT: Duration = Duration::from_secs(10);

const EMPTY: &str = "This window shows nothing yet, 10 seconds after its start";
const INSTEAD: &str = "The console runs: rules answer, requests wait and expire. If the window stays empty, close it and start it with WEBKIT_DISABLE_DMABUF_RENDERER=1 in its environment.";

/// Reports a start after which the page is not in its window.
pub(super) fn watch(window: &WebviewWindow) {
    let asked = window.with_webview(|view| {
        let view = view.inner();
        gtk::glib::timeout_add_local_once(LIMIT, move || match has_one_colour(&view) {
            Ok(false) => {}
            Ok(true) => {
                tracing::error!(
                    "the window shows nothing 10 s after its start; start it with WEBKIT_DISABLE_DMABUF_RENDERER=1"
                );
                dialog(&view, [EMPTY, INSTEAD], "Close", || {});
            }
            Err(error) => tracing::warn!(%error, "what the window shows cannot be looked at"),
        });
    });
    if let Err(error) = asked {
        tracing::warn!(%error, "nobody notices when the window is not drawn");
    }
}

/// Whether a widget draws one colour and nothing else: no screen of the desk does.
fn has_one_colour(view: &impl IsA<gtk::Widget>) -> Result<bool, gtk::cairo::Error> {
    let (width, height) = (view.allocated_width(), view.allocated_height());
    let mut drawn = ImageSurface::create(Format::Rgb24, width, height)?;
    view.draw(&Context::new(&drawn)?);
    let pixels = drawn
        .data()
        .map_err(|_| gtk::cairo::Error::SurfaceTypeMismatch)?;
    let (pixels, _) = pixels.as_chunks::<4>();
    let mut colours = pixels
        .iter()
        .map(|[blue, green, red, _]| (blue, green, red));
    let first = colours.next();
    Ok(colours.all(|colour| Some(colour) == first))
}
