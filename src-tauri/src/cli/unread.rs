//! Messages on the bus that are unread in this folder.
//!
//! The wait is short: somebody may look just because the bus hangs.

use std::time::Duration;

use countersign_core::App;
use countersign_core::data_dir::DataDir;
use countersign_core::ops::status::Unread;

use super::config::Settings;
use super::console::reading;
use super::failure::Failure;
use super::output::Output;

/// How long a console that works may take to read what has just arrived.
const PATIENCE: Duration = Duration::from_millis(500);

/// How long the bus may take to say what is not read, [`PATIENCE`] included.
const BUS_LIMIT: Duration = Duration::from_secs(1);

/// The same for a command that needs no bus. Nobody asks in a folder whose own server does not run: nothing can have
/// come there.
pub(crate) async fn caution_soon(settings: &Settings, out: Output) -> Result<(), Failure> {
    let folder = &settings.data_dir;
    let runs = folder.is_dir() && DataDir::open(folder).is_ok_and(|data| data.is_running());
    if !runs && settings.nats_url.is_none() {
        return Ok(());
    }
    let read = reading(settings, true, async |app| caution(app, out).await);
    tokio::time::timeout(BUS_LIMIT, read)
        .await
        .unwrap_or(Ok(()))
}

/// A list that lacks what the bus holds must not read as if it were whole.
pub(crate) async fn caution(app: &App, out: Output) -> Result<(), Failure> {
    let (patience, then) = match app.data().is_running() {
        true => (PATIENCE, "`countersign doctor` says why"),
        // Nobody reads them before a console runs.
        false => (Duration::ZERO, "`countersign serve` reads them"),
    };
    if let Some(Unread { messages, .. }) = app.unread(patience).await? {
        out.caution(&format!(
            "up to {messages} messages on the bus are not read here yet; {then}"
        ));
    }
    Ok(())
}
