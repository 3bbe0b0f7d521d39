//! Feeds: events of a console for other systems, as signed webhooks, syslog or files. No event is a permission.
//!
//! The audit log is the queue: a feed reads it by a cursor of its own, so nothing is lost and nothing is kept twice.

mod backlog;
mod cef;
pub mod config;
pub mod event;
mod file;
mod kept;
mod ordered;
mod place;
mod queue;
mod rest;
pub mod secret;
mod source;
mod start;
mod syslog;
mod tries;
mod webhook;

use std::fmt::Write as _;
use std::path::Path;
use std::time::Duration;

use countersign_store::Reader;
use countersign_store::feeds::FeedNote;
use serde_json::Value;
use tokio::time::{Instant, sleep};
use tokio_util::sync::CancellationToken;

pub use backlog::Backlog;
use config::{Feed, Target};
use event::{Event, Sender};
pub use source::events_of;
pub use start::{begin, detail};
pub use tries::{RESULTS, tries};

/// The console as feeds need it.
pub trait Desk: Clone + Send + Sync + 'static {
    /// The server's time, ms.
    fn now(&self) -> i64;
    /// The store.
    fn store(&self) -> &Reader;
    /// Who sends.
    fn sender(&self) -> &Sender;
    /// The data folder.
    fn folder(&self) -> &Path;
    /// Whether what the realm had before the console met it is read.
    fn is_caught_up(&self) -> bool;
    /// Returns when something may have been written.
    fn changed(&self) -> impl Future<Output = ()> + Send;
    /// Writes; true once that is durable.
    fn note(&self, note: FeedNote) -> impl Future<Output = bool> + Send;
}

/// After a stop what is under way may take so long to end.
const STOP: Duration = Duration::from_secs(3);

/// Sends the events of one feed until it is stopped. What is under way then is sent again by the next start.
pub async fn run<D: Desk>(desk: D, feed: Feed, stop: CancellationToken) {
    let sending = async {
        match &feed.to {
            Target::Webhook(to) => webhook::run(&desk, &feed, to, &stop).await,
            Target::Syslog(to) => {
                ordered::run(&desk, &feed, syslog::Connection::new(&desk, to), &stop).await
            }
            Target::File(path) => ordered::run(&desk, &feed, file::Lines::new(path), &stop).await,
        }
    };
    tokio::select! {
        () = sending => {}
        () = async { stop.cancelled().await; sleep(STOP).await } => {
            tracing::warn!(feed = feed.name, "the feed did not end in time");
        }
    }
}

/// What came of `feeds test`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Tried {
    /// The status of a webhook.
    pub status: Option<u16>,
    /// How long it took, ms.
    pub ms: u128,
    /// `address_forbidden`, `connect`, `tls`, `timeout`, `status` or `write`; none where it was taken.
    pub error: Option<&'static str>,
}

/// Sends one event now, whatever the state of its feed.
pub async fn send_test(
    folder: &Path,
    feed: &Feed,
    event: &Event,
    console: &str,
    now: i64,
) -> Tried {
    let begun = Instant::now();
    let (status, error) = match &feed.to {
        Target::Webhook(to) => webhook::send_test(folder, &feed.name, to, event, now).await,
        Target::Syslog(to) => (None, syslog::send_test(to, console, event).await.err()),
        Target::File(path) => (
            None,
            file::append(path, std::slice::from_ref(event))
                .err()
                .map(|_| "write"),
        ),
    };
    Tried {
        status,
        ms: begun.elapsed().as_millis(),
        error,
    }
}

/// JSON in ASCII alone, on one line; the value is unchanged.
pub(crate) fn ascii(value: &Value) -> String {
    let json = value.to_string();
    let mut text = String::with_capacity(json.len());
    for character in json.chars() {
        if character.is_ascii() && character != '\u{7f}' {
            text.push(character);
            continue;
        }
        for unit in character.encode_utf16(&mut [0; 2]) {
            // Writing to a String does not fail.
            let _ = write!(text, "\\u{unit:04x}");
        }
    }
    text
}
