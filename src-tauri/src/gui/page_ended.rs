//! Reloads the page when its process has ended: killed for memory, or by a fault of the web view.
//!
//! Its last picture must not stay: nothing counts down on it, and the keys are dead.

use std::cell::RefCell;
use std::rc::Rc;
use std::time::Duration;

use gtk::prelude::*;
use tauri::WebviewWindow;
use tokio::time::Instant;
use webkit2gtk::{WebView, WebViewExt as _};

/// So often the page is loaded again within [`WITHIN`]; then a person is asked first.
const RELOADS: usize = 3;
const WITHIN: Duration = Duration::from_secs(60);

const ENDED: &str = "This window’s page crashed several times";
const MEANWHILE: &str = "The console keeps running: rules answer, requests wait and expire. `countersign inbox` in a terminal lists the waiting requests.";

/// When the page was reloaded automatically.
#[derive(Debug, Default)]
struct Reloads(Vec<Instant>);

impl Reloads {
    /// Whether one more is due at `now`; it is counted.
    fn allows(&mut self, now: Instant) -> bool {
        self.0.retain(|at| now.duration_since(*at) < WITHIN);
        let allowed = self.0.len() < RELOADS;
        if allowed {
            self.0.push(now);
        }
        allowed
    }
}

/// Loads the page again whenever its process ends.
pub(super) fn watch(window: &WebviewWindow) {
    let asked = window.with_webview(|view| {
        let reloads = Rc::new(RefCell::new(Reloads::default()));
        view.inner().connect_web_process_terminated(move |view, why| {
            if reloads.borrow_mut().allows(Instant::now()) {
                tracing::error!(?why, "the page of the window ended; it is loaded again");
                view.reload();
                return;
            }
            tracing::error!(?why, "the page of the window ended once more; it is loaded again when the operator says so");
            let (again, reloads) = (view.clone(), Rc::clone(&reloads));
            dialog(view, [ENDED, MEANWHILE], "Reload", move || {
                *reloads.borrow_mut() = Reloads::default();
                again.reload();
            });
        });
    });
    if let Err(error) = asked {
        tracing::warn!(%error, "nobody notices when the page of the window ends");
    }
}

/// Says what happened without the page: its title, its words, and one button.
pub(super) fn dialog(
    view: &WebView,
    [title, words]: [&str; 2],
    button: &str,
    read: impl Fn() + 'static,
) {
    let window = view
        .toplevel()
        .and_then(|top| top.downcast::<gtk::Window>().ok());
    let dialog = gtk::MessageDialog::new(
        window.as_ref(),
        gtk::DialogFlags::MODAL | gtk::DialogFlags::DESTROY_WITH_PARENT,
        gtk::MessageType::Error,
        gtk::ButtonsType::None,
        title,
    );
    dialog.set_secondary_text(Some(words));
    dialog.add_button(button, gtk::ResponseType::Accept);
    dialog.connect_response(move |dialog, _| {
        read();
        dialog.close();
    });
    dialog.show_all();
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_page_is_loaded_again_three_times_a_minute_and_no_more() {
        let mut reloads = Reloads::default();
        let start = Instant::now();
        let allowed = [0, 1, 59, 59, 60, 60, 61, 118, 119]
            .map(|seconds| reloads.allows(start + Duration::from_secs(seconds)));
        assert_eq!(
            allowed,
            [true, true, true, false, true, false, true, false, true]
        );
    }
}
