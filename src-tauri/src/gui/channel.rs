//! News for the page: numbered batches over one channel.
//!
//! What happens within a few milliseconds travels together.

use std::collections::BTreeSet;
use std::time::Duration;

use countersign_core::AppEvent;
use countersign_core::domain::facts::{Marks, RequestSummary};
use countersign_view::{DecidedNotice, InboxBatch, InboxChange, InboxRow, IpcError, StatusView};
use tauri::ipc::Channel;
use tauri::{AppHandle, Manager as _, State};
use tokio::sync::broadcast::Receiver;
use tokio::sync::broadcast::error::RecvError;
use tokio::task::JoinHandle;
use tokio::time::{Instant, timeout_at};

use super::desk::Desk;
use super::practice;
use super::view::status_view;
use countersign_view::window::{inbox_row, mark, notice};

/// A batch is closed when nothing more came for this long.
const GATHER: Duration = Duration::from_millis(4);
/// And this long after its first event, however much comes.
const LONGEST: Duration = Duration::from_millis(16);
/// Rows in one batch at most.
const ROWS: usize = 1_000;
/// The status is read no more often than this.
const STATUS_EVERY: Duration = Duration::from_millis(250);

/// Sends news from now on, in place of the channel before.
#[tauri::command]
pub(crate) async fn subscribe(
    shell: AppHandle,
    desk: State<'_, Desk>,
    channel: Channel<InboxBatch>,
) -> Result<(), IpcError> {
    let events = desk.app.subscribe();
    desk.listen(Some(tokio::spawn(send(shell, events, channel))));
    tracing::info!("a page listens");
    Ok(())
}

/// What is known to have changed and has not been sent.
#[derive(Default)]
struct News {
    rows: BTreeSet<i64>,
    status: bool,
    resync: bool,
    panic_asked: bool,
    /// Real cards that came.
    arrived: usize,
}

impl News {
    fn take(&mut self, event: AppEvent) {
        match event {
            AppEvent::Changed { rows, arrived, .. } => {
                self.arrived += arrived.len();
                self.rows.extend(rows.iter().copied());
                self.status = true;
            }
            AppEvent::Status => self.status = true,
        }
    }

    fn missed(&mut self) {
        self.resync = true;
        self.status = true;
    }
}

async fn send(shell: AppHandle, mut events: Receiver<AppEvent>, channel: Channel<InboxBatch>) {
    let desk = shell.state::<Desk>();
    let mut locked = desk.locked.subscribe();
    let mut status_read: Option<Instant> = None;
    let mut reading: Option<JoinHandle<Option<StatusView>>> = None;
    let mut status = None;
    let mut news = News::default();
    let mut caught_up = desk.app.caught_up();
    let mut hidden = desk.app.reads_the_past();
    loop {
        // A status that was put off is sent even when nothing else happens.
        let first = tokio::select! {
            event = events.recv() => Some(event),
            () = desk.panic_asked.notified() => {
                news.panic_asked = true;
                None
            }
            changed = caught_up.changed() => {
                if changed.is_err() {
                    return;
                }
                news.status = true;
                None
            }
            () = desk.practice.answered() => None,
            // Sent at once: what is armed must not stay so.
            Ok(()) = locked.changed() => {
                news.status = true;
                status_read = None;
                None
            }
            read = next_status(&mut reading) => {
                status = read;
                None
            }
            () = tokio::time::sleep(STATUS_EVERY), if news.status && reading.is_none() => None,
        };
        match first {
            None => {}
            Some(Ok(event)) => news.take(event),
            Some(Err(RecvError::Lagged(_))) => news.missed(),
            Some(Err(RecvError::Closed)) => return,
        }
        gather(&mut events, &mut news).await;
        let hides = desk.app.reads_the_past();
        if std::mem::replace(&mut hidden, hides) != hides {
            // Waiting rows are not sent one by one then: the list becomes known or unknown.
            news.missed();
        }
        let fresh = status_read.is_none_or(|at| at.elapsed() >= STATUS_EVERY);
        if news.status && fresh && reading.is_none() {
            status_read = Some(Instant::now());
            news.status = false;
            // Beside the rows: it asks the bus, and what happens here is sent while that does not answer.
            reading = Some(tokio::spawn(read_status(shell.clone())));
        }
        let status = status.take();
        let rows = std::mem::take(&mut news.rows);
        let resync = std::mem::take(&mut news.resync);
        let panic_asked = std::mem::take(&mut news.panic_asked);
        let practice = practice::news(&desk, std::mem::take(&mut news.arrived)).await;
        if rows.is_empty() && practice.is_empty() && !resync && !panic_asked && status.is_none() {
            continue;
        }
        let mut batch = InboxBatch {
            panic_asked,
            ..batch(&desk, rows, resync, status).await
        };
        batch.changes.extend(practice);
        if channel.send(batch).is_err() {
            return;
        }
    }
}

async fn read_status(shell: AppHandle) -> Option<StatusView> {
    let desk = shell.state::<Desk>();
    let status = desk.app.status().await.ok()?;
    Some(status_view(&desk.app, status, desk.locked.borrow().is_on()))
}

/// What is read, once it is; waits for ever where nothing is.
async fn next_status(reading: &mut Option<JoinHandle<Option<StatusView>>>) -> Option<StatusView> {
    let Some(running) = reading else {
        return std::future::pending().await;
    };
    let read = running.await.ok().flatten();
    *reading = None;
    read
}

async fn gather(events: &mut Receiver<AppEvent>, news: &mut News) {
    let closes = Instant::now() + LONGEST;
    while news.rows.len() < ROWS {
        let now = Instant::now();
        if now >= closes {
            return;
        }
        match timeout_at(closes.min(now + GATHER), events.recv()).await {
            Ok(Ok(event)) => news.take(event),
            Ok(Err(RecvError::Lagged(_))) => news.missed(),
            Ok(Err(RecvError::Closed)) | Err(_) => return,
        }
    }
}

async fn batch(
    desk: &Desk,
    ids: BTreeSet<i64>,
    resync: bool,
    status: Option<StatusView>,
) -> InboxBatch {
    let ids: Vec<i64> = ids.into_iter().collect();
    let (rows, unread) = match desk.app.lines(&ids).await {
        Ok(rows) => (rows, false),
        Err(error) => {
            tracing::warn!(%error, "changed rows could not be read");
            (Vec::new(), true)
        }
    };
    let mut changes: Vec<InboxChange> = rows.iter().filter_map(change).collect();
    // Only what is in the list is marked; a mark that cannot be read must not be missed.
    let listed: Vec<_> = changes.iter_mut().filter_map(listed_row).collect();
    let ids: Vec<i64> = listed.iter().map(|row| row.seq).collect();
    let marks = match ids.is_empty() {
        true => Ok(Marks::default()),
        false => desk.app.marks(&ids).await,
    };
    let unmarked = marks.is_err();
    match marks {
        Ok(marks) => mark(listed, &marks),
        Err(error) => tracing::warn!(%error, "the marks of changed rows could not be read"),
    }
    InboxBatch {
        number: desk.next_batch(),
        changes,
        touched: rows.iter().filter_map(|row| touched(desk, row)).collect(),
        status,
        resync: resync || unread || unmarked,
        panic_asked: false,
        server_ms: desk.app.now().0,
    }
}

fn change(row: &RequestSummary) -> Option<InboxChange> {
    let key = row.key()?.to_string();
    Some(match inbox_row(row) {
        Some(row) => InboxChange::Put { row: Box::new(row) },
        None => InboxChange::Gone { key },
    })
}

fn listed_row(change: &mut InboxChange) -> Option<&mut InboxRow> {
    match change {
        InboxChange::Put { row } => Some(row.as_mut()),
        InboxChange::Gone { .. } => None,
    }
}

fn touched(desk: &Desk, row: &RequestSummary) -> Option<DecidedNotice> {
    notice(row, desk.app.identity().human_key().as_str())
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use tokio::sync::broadcast;
    use tokio::time::{sleep, timeout};

    use super::*;

    /// How long a batch stays open while `event` comes every millisecond, `times` times.
    async fn open_for(event: AppEvent, times: usize) -> Option<Duration> {
        let (reported, mut events) = broadcast::channel(256);
        let flow = async {
            for _ in 0..times {
                let _ = reported.send(event.clone());
                sleep(Duration::from_millis(1)).await;
            }
            std::future::pending::<()>().await;
        };
        let began = Instant::now();
        let mut news = News::default();
        let gathered = async {
            tokio::select! {
                () = gather(&mut events, &mut news) => {}
                () = flow => {}
            }
        };
        let ended = timeout(Duration::from_secs(1), gathered).await;
        ended.ok().map(|()| began.elapsed())
    }

    fn changed() -> AppEvent {
        AppEvent::Changed {
            number: 1,
            rows: [7].into(),
            arrived: [].into(),
        }
    }

    #[tokio::test(start_paused = true)]
    async fn a_flow_without_a_gap_does_not_hold_its_batch_back() {
        for event in [AppEvent::Status, changed()] {
            let open = open_for(event.clone(), usize::MAX).await;
            assert!(
                open.is_some_and(|open| open <= LONGEST),
                "{event:?}: {open:?}"
            );
        }
    }

    #[tokio::test(start_paused = true)]
    async fn what_happens_within_a_few_milliseconds_travels_together_and_no_later() {
        let open = open_for(changed(), 3).await;
        let gap = Duration::from_millis(2) + GATHER;
        assert!(
            open.is_some_and(|open| (gap..LONGEST).contains(&open)),
            "{open:?}"
        );
    }
}
