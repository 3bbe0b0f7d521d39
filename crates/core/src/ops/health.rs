//! Whether a console works, from what it has in memory: nothing is read for the answer.

use crate::runtime::App;

/// Whether what writes runs.
#[must_use]
pub fn is_alive(app: &App) -> bool {
    !app.inner.shared.jobs.is_closed()
}

/// Why it does not decide now, in stable words.
#[must_use]
pub fn not_ready(app: &App) -> Vec<&'static str> {
    let health = app.health().borrow().clone();
    let is_connected = app.bus().is_some_and(|bus| bus.state().borrow().connected);
    let is_read_only = health.read_only.is_some() || app.why_no_decision().is_some();
    let faults = [
        ("bus_disconnected", !is_connected),
        ("catching_up", app.reads_the_past()),
        ("read_only", is_read_only),
        ("store_failed", health.store_failed.is_some()),
    ];
    let found = faults.into_iter().filter(|(_, is_so)| *is_so);
    found.map(|(word, _)| word).collect()
}
