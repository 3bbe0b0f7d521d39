//! The question where a file is to be saved, asked by the toolkit's own dialog.
//!
//! Only a path that a person chose here is written; the page cannot name one.

use std::cell::Cell;
use std::path::PathBuf;

use gtk::prelude::*;
use gtk::{FileChooserAction, FileChooserDialog, ResponseType};
use tokio::sync::oneshot::{self, Sender};

/// Asks for a file; none where the person chose none.
pub(crate) async fn ask(title: &'static str, name: String) -> Option<PathBuf> {
    let (chosen, answer) = oneshot::channel();
    // Always on the thread of the toolkit, and never on the one that asks.
    gtk::glib::idle_add_once(move || open(title, &name, chosen));
    answer.await.ok().flatten()
}

fn open(title: &str, name: &str, chosen: Sender<Option<PathBuf>>) {
    let window = gtk::Window::list_toplevels()
        .into_iter()
        .filter_map(|top| top.downcast::<gtk::Window>().ok())
        .find(|top| top.is_visible());
    let buttons = [
        ("Cancel", ResponseType::Cancel),
        ("Save", ResponseType::Accept),
    ];
    let dialog = FileChooserDialog::with_buttons(
        Some(title),
        window.as_ref(),
        FileChooserAction::Save,
        &buttons,
    );
    dialog.set_modal(true);
    dialog.set_default_response(ResponseType::Accept);
    dialog.set_do_overwrite_confirmation(true);
    dialog.set_current_name(name);
    let chosen = Cell::new(Some(chosen));
    dialog.connect_response(move |dialog, answer| {
        let file = dialog.filename();
        let file = file.filter(|_| answer == ResponseType::Accept);
        if let Some(chosen) = chosen.take() {
            // Whoever asked may be gone with the page.
            let _ = chosen.send(file);
        }
        dialog.close();
    });
    dialog.show_all();
}
