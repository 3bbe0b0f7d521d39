//! The tray: how many wait and which controls are on, and panic without the window.
//!
//! It decides nothing, and panic is turned off only after a question in the window. A desktop may lack a tray: the
//! window shows it all.

mod face;
mod item;

use std::time::Duration;

use ksni::{Handle, TrayMethods as _};
use tauri::{AppHandle, Manager as _};
use tokio::sync::broadcast::error::RecvError;
use tokio::sync::mpsc;
use tokio::time::{Instant, sleep_until, timeout};

use super::desk::Desk;
use super::notify;
use face::Face;
use item::{Click, Item};

/// The shortest time between two looks at the console.
const GATHER: Duration = Duration::from_secs(1);
/// The longest: the remaining time of a bypass is shown in minutes.
const AGAIN: Duration = Duration::from_secs(30);
/// A desktop that does not answer is not waited for.
const LIMIT: Duration = Duration::from_secs(5);
/// Clicks that wait to be done.
const CLICKS: usize = 4;

/// Shows the icon until it is ended, where the desktop has a place for it.
pub(crate) async fn run(shell: AppHandle) {
    let desk = shell.state::<Desk>();
    let mut events = desk.app.subscribe();
    let (clicks, mut clicked) = mpsc::channel(CLICKS);
    let item = Item {
        face: look(&desk).await.unwrap_or_default(),
        clicks,
    };
    let mut shown = item.face.clone();
    let spawned = timeout(LIMIT, item.assume_sni_available(true).spawn()).await;
    let tray = match spawned {
        Ok(Ok(tray)) => tray,
        Ok(Err(error)) => {
            tracing::debug!(%error, "the desktop takes no tray icon");
            return;
        }
        Err(_) => {
            tracing::debug!("the desktop did not take a tray icon in time");
            return;
        }
    };
    let mut looked = Instant::now();
    let mut next = looked + AGAIN;
    loop {
        tokio::select! {
            click = clicked.recv() => match click {
                Some(click) => act(&shell, &desk, click).await,
                None => return,
            },
            event = events.recv() => match event {
                Ok(_) | Err(RecvError::Lagged(_)) => next = next.min(looked + GATHER),
                Err(RecvError::Closed) => return,
            },
            () = sleep_until(next) => {
                if let Some(face) = look(&desk).await.filter(|face| *face != shown) {
                    shown = face.clone();
                    show(&tray, face).await;
                }
                looked = Instant::now();
                next = looked + AGAIN;
            }
        }
    }
}

async fn look(desk: &Desk) -> Option<Face> {
    let waiting = desk.app.waiting().await.ok()?;
    let stopped = desk.app.stopped_by_findings().await.ok()?;
    let controls = desk.app.controls().await.ok()?;
    Some(Face {
        stopped,
        ..Face::of(waiting, &controls, desk.app.now())
    })
}

async fn show(tray: &Handle<Item>, face: Face) {
    let reported = timeout(LIMIT, tray.update(|item| item.face = face)).await;
    if !matches!(reported, Ok(Some(()))) {
        tracing::debug!("the desktop did not take the tray's news");
    }
}

async fn act(shell: &AppHandle, desk: &Desk, click: Click) {
    match click {
        Click::Open => open(shell),
        Click::Quit => shell.exit(0),
        Click::Panic => panic(shell, desk).await,
    }
}

/// On at once; off only after a question in the window.
async fn panic(shell: &AppHandle, desk: &Desk) {
    let is_on = desk
        .app
        .controls()
        .await
        .is_ok_and(|controls| controls.panic().is_some());
    if is_on {
        open(shell);
        desk.panic_asked.notify_one();
    } else if let Err(error) = desk.app.set_panic(true).await {
        open(shell);
        notify::trouble("Panic is not on", &error.to_string()).await;
    }
}

fn open(shell: &AppHandle) {
    let Some(window) = shell.get_webview_window("main") else {
        return;
    };
    let raised = window
        .unminimize()
        .and_then(|()| window.show())
        .and_then(|()| window.set_focus());
    if let Err(error) = raised {
        tracing::debug!(%error, "the window could not be brought to the front");
    }
}
