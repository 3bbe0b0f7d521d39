//! The lock of the desktop session, as its screen saver and logind report it.
//!
//! A silent desktop counts as unlocked, and the window's own focus counts either way.

use std::num::NonZeroUsize;
use std::time::Duration;

use futures::StreamExt as _;
use tauri::{AppHandle, Manager as _};
use tokio::sync::watch;
use zbus::{Connection, MatchRule, Message, MessageStream, OwnedVariant, Variant};

use super::desk::{Desk, Locked};

/// A desktop that does not answer is not waited for.
const LIMIT: Duration = Duration::from_secs(5);
/// Signals that wait to be read.
const QUEUED: NonZeroUsize = NonZeroUsize::MIN.saturating_add(15);
/// How the interfaces of screen savers end: freedesktop.org's, GNOME's, MATE's, Cinnamon's and Xfce's have the same signal.
const SAVER: &str = ".ScreenSaver";
const PROPERTIES: &str = "org.freedesktop.DBus.Properties";
const LOGIND: &str = "org.freedesktop.login1";
const SESSION: &str = "org.freedesktop.login1.Session";
/// The session that this process belongs to.
const OWN_SESSION: &str = "/org/freedesktop/login1/session/auto";

/// Follows both until it is ended.
pub(crate) async fn run(shell: AppHandle) {
    let reported = &shell.state::<Desk>().locked;
    let (saver, logind) = tokio::join!(follow_saver(reported), follow_logind(reported));
    for ended in [saver, logind] {
        // No session bus, no logind: a console under a window manager alone has neither.
        if let Err(error) = ended {
            tracing::debug!(%error, "the desktop does not report whether its session is locked");
        }
    }
}

async fn follow_saver(reported: &watch::Sender<Locked>) -> Result<(), zbus::Error> {
    let Some(bus) = connected(Connection::session()).await? else {
        return Ok(());
    };
    let rule = MatchRule::builder()
        .msg_type(zbus::message::Type::Signal)
        .member("ActiveChanged")
        .build()?;
    let mut signals = MessageStream::for_match_rule(rule, &bus, Some(QUEUED)).await?;
    while let Some(signal) = signals.next().await {
        if let Some(active) = saver_active(&signal?) {
            set(reported, |reported| reported.by_saver = active);
        }
    }
    Ok(())
}

async fn follow_logind(reported: &watch::Sender<Locked>) -> Result<(), zbus::Error> {
    let Some(bus) = connected(Connection::system()).await? else {
        return Ok(());
    };
    let rule = MatchRule::builder()
        .msg_type(zbus::message::Type::Signal)
        .sender(LOGIND)
        .interface(PROPERTIES)
        .member("PropertiesChanged")
        .arg(0, SESSION)
        .build()?;
    let mut signals = MessageStream::for_match_rule(rule, &bus, Some(QUEUED)).await?;
    loop {
        let hint = locked_hint(&bus).await?;
        set(reported, |reported| reported.by_logind = hint);
        // The session that it names does not matter: the own one is looked at.
        match signals.next().await {
            Some(signal) => drop(signal?),
            None => return Ok(()),
        }
    }
}

async fn connected(
    bus: impl Future<Output = zbus::Result<Connection>>,
) -> Result<Option<Connection>, zbus::Error> {
    match tokio::time::timeout(LIMIT, bus).await {
        Ok(bus) => bus.map(Some),
        Err(_) => Ok(None),
    }
}

async fn locked_hint(bus: &Connection) -> Result<bool, zbus::Error> {
    let asked = (SESSION, "LockedHint");
    let reply = bus
        .call_method(Some(LOGIND), OWN_SESSION, Some(PROPERTIES), "Get", &asked)
        .await?;
    let hint: OwnedVariant = reply.body().deserialize()?;
    Ok(matches!(*hint, Variant::Bool(true)))
}

/// What a signal says of the screen saver; none for one that is none of its own.
fn saver_active(signal: &Message) -> Option<bool> {
    let header = signal.header();
    let is_saver = header.interface()?.as_str().ends_with(SAVER);
    is_saver.then(|| signal.body().deserialize().ok()).flatten()
}

fn set(reported: &watch::Sender<Locked>, change: impl FnOnce(&mut Locked)) {
    reported.send_if_modified(|reported| {
        let before = *reported;
        change(reported);
        *reported != before
    });
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    fn signal(
        interface: &str,
        body: &(impl serde::Serialize + zbus::zvariant::DynamicType),
    ) -> Message {
        Message::signal("/org/freedesktop/ScreenSaver", interface, "ActiveChanged")
            .build(body)
            .unwrap()
    }

    #[test]
    fn only_a_screen_saver_that_says_so_locks() {
        let saver = "org.gnome.ScreenSaver";
        assert_eq!(saver_active(&signal(saver, &true)), Some(true));
        assert_eq!(saver_active(&signal(saver, &false)), Some(false));
        assert_eq!(saver_active(&signal(saver, &"true")), None);
        assert_eq!(saver_active(&signal("org.kde.KWin", &true)), None);
    }

    #[test]
    fn either_of_the_two_is_enough_and_an_end_of_one_is_no_end_of_the_other() {
        let (reported, seen) = watch::channel(Locked::default());
        set(&reported, |reported| reported.by_saver = true);
        set(&reported, |reported| reported.by_logind = true);
        set(&reported, |reported| reported.by_saver = false);
        assert!(seen.borrow().is_on());
        set(&reported, |reported| reported.by_logind = false);
        assert!(!seen.borrow().is_on());
    }
}
