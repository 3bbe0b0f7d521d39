//! Desktop notifications: that something waits or went wrong, without its content.
//!
//! A notification carries neither arguments nor an agent's sentences, and only a plain tool name: servers read markup
//! in the body. It offers nothing to decide. One notification reports what waits, and the next replaces it.

mod words;

use std::collections::HashSet;
use std::time::Duration;

use countersign_core::AppEvent;
use countersign_core::domain::facts::Alarm;
use countersign_view::NotifyLevel;
use notify_rust::{Hint, Notification, Timeout, Urgency};
use tauri::{AppHandle, Manager as _};
use tokio::sync::broadcast::Receiver;
use tokio::sync::broadcast::error::{RecvError, TryRecvError};

use super::desk::Desk;
use words::Words;

/// What comes within this time is reported together; also the shortest time between two notifications.
const GATHER: Duration = Duration::from_secs(1);
/// A desktop that does not answer is not waited for.
const LIMIT: Duration = Duration::from_secs(5);
/// Rows that are read to name the riskiest of them.
const ROWS: usize = 500;
/// Alarms reported at once; the window lists them all.
const ALARMS: usize = 3;
/// The notification of what waits: the next one takes its place on the screen.
const WAITING: u32 = 0x00C0_5167;

/// What happened since the last notification.
#[derive(Default)]
struct News {
    rows: Vec<i64>,
    status: bool,
}

impl News {
    fn take(&mut self, event: AppEvent) {
        match event {
            AppEvent::Changed { rows, arrived, .. } => {
                if !arrived.is_empty() && self.rows.len() < ROWS {
                    self.rows.extend(rows.iter().take(ROWS));
                }
                self.status = true;
            }
            AppEvent::Status => self.status = true,
        }
    }
}

/// Reports arrivals and alarms until it is ended.
pub(crate) async fn run(shell: AppHandle) {
    let desk = shell.state::<Desk>();
    let mut events = desk.app.subscribe();
    // What was active before the window opened is shown in the window.
    let mut announced = Announced::default();
    announced.fresh(desk.app.standing_alarms().await.ok());
    loop {
        let mut news = News::default();
        match events.recv().await {
            Ok(event) => news.take(event),
            Err(RecvError::Lagged(_)) => news.status = true,
            Err(RecvError::Closed) => return,
        }
        tokio::time::sleep(GATHER).await;
        drain(&mut events, &mut news);
        let level = *desk.notify_level.borrow();
        if news.status {
            let fresh = announced.fresh(desk.app.standing_alarms().await.ok());
            if level != NotifyLevel::Off {
                for alarm in fresh.iter().take(ALARMS) {
                    show(words::alarm(alarm), Urgency::Critical, None).await;
                }
            }
        }
        if !news.rows.is_empty() && !in_front(&shell) {
            let lines = desk.app.lines(&news.rows).await.unwrap_or_default();
            if let Some(words) = words::waiting(&lines, level) {
                show(words, Urgency::Normal, Some(WAITING)).await;
            }
        }
    }
}

/// Reports, whatever the level, that something the operator asked for was not done.
pub(super) async fn trouble(summary: &str, body: &str) {
    let words = Words {
        summary: summary.to_owned(),
        body: body.to_owned(),
    };
    show(words, Urgency::Critical, None).await;
}

fn drain(events: &mut Receiver<AppEvent>, news: &mut News) {
    loop {
        match events.try_recv() {
            Ok(event) => news.take(event),
            Err(TryRecvError::Lagged(_)) => news.status = true,
            Err(TryRecvError::Empty | TryRecvError::Closed) => return,
        }
    }
}

/// The active alarms when they were read last; none before that.
#[derive(Default)]
struct Announced(Option<HashSet<(String, String)>>);

impl Announced {
    /// Those that are new. None when they could not be read, so that nothing is reported twice.
    fn fresh(&mut self, now: Option<Vec<Alarm>>) -> Vec<Alarm> {
        let Some(now) = now else { return Vec::new() };
        let name = |alarm: &Alarm| (alarm.code.clone(), alarm.subject.clone());
        let current = now.iter().map(name).collect();
        match self.0.replace(current) {
            Some(before) => {
                let fresh = now.into_iter();
                fresh
                    .filter(|alarm| !before.contains(&name(alarm)))
                    .collect()
            }
            None => Vec::new(),
        }
    }
}

/// Whoever looks at the window needs no notification of what arrives in it.
fn in_front(shell: &AppHandle) -> bool {
    shell
        .get_webview_window("main")
        .and_then(|window| window.is_focused().ok())
        .unwrap_or(false)
}

async fn show(words: Words, urgency: Urgency, id: Option<u32>) {
    let mut notification = Notification::new();
    notification
        .appname("Countersign")
        .summary(&words.summary)
        .body(&words.body)
        .hint(Hint::Urgency(urgency));
    if urgency == Urgency::Critical {
        notification.timeout(Timeout::Never);
    }
    if let Some(id) = id {
        notification.id(id);
    }
    // A machine may lack a notification service: the window shows it all.
    match tokio::time::timeout(LIMIT, notification.show_async()).await {
        Ok(Ok(_)) => {}
        Ok(Err(error)) => tracing::debug!(%error, "the desktop shows no notification"),
        Err(_) => tracing::debug!("the desktop did not take a notification in time"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn alarm(code: &str) -> Alarm {
        Alarm {
            id: 1,
            code: code.to_owned(),
            subject: "acme/bot/r1".to_owned(),
            at: 0,
            acknowledged_at: None,
            acknowledged_by: None,
        }
    }

    #[test]
    fn an_alarm_is_told_once_also_where_it_could_not_be_read_in_between() {
        let mut announced = Announced::default();
        for (now, fresh) in [
            (None, &[][..]),
            (Some(&["before"][..]), &[]),
            (Some(&["before", "new"]), &["new"]),
            (None, &[]),
            (Some(&["before", "new"]), &[]),
            (Some(&["before"]), &[]),
            (Some(&["before", "new"]), &["new"]),
        ] {
            let now = now.map(|codes| codes.iter().map(|code| alarm(code)).collect());
            let codes: Vec<String> = announced
                .fresh(now)
                .into_iter()
                .map(|alarm| alarm.code)
                .collect();
            assert_eq!(codes, fresh);
        }
    }
}
