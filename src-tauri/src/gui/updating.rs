//! The console's start, with a window of its own while the store is updated.
//!
//! The desk opens after it: until then there is nothing that it could read.

use std::cell::Cell;
use std::pin::pin;
use std::rc::Rc;
use std::time::Duration;

use countersign_core::store::UpdateStep;
use countersign_core::{App, Fault, Options};
use gtk::glib::Propagation;
use gtk::prelude::*;
use tokio::runtime::Runtime;

/// The window is drawn, and listened to, this often.
const LOOK: Duration = Duration::from_millis(50);
const SPACE_PX: i32 = 24;

/// Starts the console. Whoever closes the window of the update stops it.
///
/// # Errors
/// As [`App::start`]; `ErrorCode::Environment` when the update was stopped.
pub(super) fn started(runtime: &Runtime, options: Options) -> Result<App, Fault> {
    let reported = options.updates.subscribe();
    let mut start = pin!(App::start(options));
    let mut window: Option<Notice> = None;
    loop {
        let ended = runtime.block_on(async { tokio::time::timeout(LOOK, &mut start).await });
        if let Ok(ended) = ended {
            if let Some(window) = window {
                window.close();
            }
            return ended;
        }
        let step = reported.borrow().clone();
        if let Some(step) = &step {
            if window.is_none() {
                window = Notice::open();
            }
            if let Some(window) = &window {
                window.say(step);
            }
        }
        draw(window.is_some());
        if window.as_ref().is_some_and(|window| window.closed.get()) {
            return Err(Fault::environment(
                "the update of the store was stopped; nothing is lost, and the next start goes on with it",
            ));
        }
    }
}

fn draw(open: bool) {
    while open && gtk::events_pending() {
        gtk::main_iteration_do(false);
    }
}

/// What is to be read, and for how long it has gone on.
fn words(step: &UpdateStep) -> [String; 2] {
    let UpdateStep { number, of, .. } = step;
    [
        format!("Updating the store… step {number} of {of}"),
        format!("{}, since {} s", step.what, step.since.elapsed().as_secs()),
    ]
}

/// A small window of the toolkit: the web view is not there yet.
struct Notice {
    window: gtk::Window,
    lines: [gtk::Label; 2],
    closed: Rc<Cell<bool>>,
}

impl Notice {
    /// None where it cannot be opened; the log says the same.
    fn open() -> Option<Self> {
        if let Err(error) = gtk::init() {
            tracing::warn!(%error, "the progress of the update cannot be shown in a window");
            return None;
        }
        let window = gtk::Window::new(gtk::WindowType::Toplevel);
        window.set_title("Countersign");
        window.set_resizable(false);
        window.set_position(gtk::WindowPosition::Center);
        let column = gtk::Box::new(gtk::Orientation::Vertical, SPACE_PX / 3);
        column.set_margin(SPACE_PX);
        let lines = [gtk::Label::new(None), gtk::Label::new(None)];
        let end = gtk::Label::new(Some(
            "Closing this window stops it. Nothing is lost: the next start goes on.",
        ));
        for label in lines.iter().chain([&end]) {
            label.set_xalign(0.0);
            column.add(label);
        }
        window.add(&column);
        let closed = Rc::new(Cell::new(false));
        let seen = Rc::clone(&closed);
        window.connect_delete_event(move |_, _| {
            seen.set(true);
            Propagation::Proceed
        });
        window.show_all();
        Some(Self {
            window,
            lines,
            closed,
        })
    }

    fn say(&self, step: &UpdateStep) {
        for (label, words) in self.lines.iter().zip(words(step)) {
            label.set_text(&words);
        }
    }

    fn close(self) {
        self.window.close();
        draw(true);
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;
    use tokio::time::Instant;

    #[tokio::test(start_paused = true)]
    async fn a_person_reads_which_step_of_how_many_goes_on_and_since_when() {
        let step = UpdateStep {
            number: 2,
            of: 3,
            what: "create span times".to_owned(),
            since: Instant::now(),
        };
        tokio::time::advance(Duration::from_secs(12)).await;
        assert_eq!(
            words(&step),
            [
                "Updating the store… step 2 of 3",
                "create span times, since 12 s"
            ]
        );
    }
}
