//! Starts nats-server and starts it again whenever it ends unasked, and when it has stopped storing.
//!
//! The port stays the same while running: agents know the URL. It never gives up, because the store is intact and a
//! person may free the port or the disk; the waits grow to 10 s.

use super::binary::ServerBinary;
use super::folder::NatsFolder;
use super::process::{ProcessSlot, ProcessThread, Started};
use super::{BusError, ServerState};
use std::fs::File;
use std::process::{Command, Stdio};
use std::time::Duration;
use tokio::sync::watch;

/// A store of many gigabytes takes its time.
const START_LIMIT: Duration = Duration::from_secs(60);
const POLL: Duration = Duration::from_millis(10);
const FIRST_PAUSE: Duration = Duration::from_millis(100);
const LONGEST_PAUSE: Duration = Duration::from_secs(10);
/// A server that ran this long is not failing in a loop.
const STEADY: Duration = Duration::from_secs(30);
/// How often to look whether it still stores.
const STORES_LOOK: Duration = Duration::from_secs(1);
/// What nats-server logs when it cannot write a message. A stream that met such an error refuses every
/// message from then on, also when there is room again, until the server is started again.
const WRITE_ERRORS: [&str; 2] = ["JetStream failed to store a msg", "ritical write error"];

pub(super) struct Launcher {
    pub(super) folder: NatsFolder,
    pub(super) binary: ServerBinary,
    pub(super) lock: File,
    pub(super) slot: ProcessSlot,
    pub(super) thread: ProcessThread,
}

impl Launcher {
    /// Starts the server on the configuration in the folder; returns it with its port once it listens.
    pub(super) async fn launch(&self) -> Result<(Started, u16), BusError> {
        self.folder.clear_ports()?;
        let log_from = self.folder.log_size();
        let mut started = self
            .thread
            .start(self.command()?)
            .await
            .map_err(|error| self.failed(error.to_string()))?;
        let give_up = tokio::time::Instant::now() + START_LIMIT;
        loop {
            if let Some(port) = self.folder.announced_port(started.pid) {
                return Ok((started, port));
            }
            tokio::select! {
                _ = &mut started.exited => {
                    return Err(self.failed(last_words(&self.folder.log_since(log_from))));
                }
                () = tokio::time::sleep(POLL) => {}
            }
            if tokio::time::Instant::now() >= give_up {
                self.slot.signal(super::unix::Signal::SIGKILL);
                return Err(self.failed(format!(
                    "it did not listen within {} s",
                    START_LIMIT.as_secs()
                )));
            }
        }
    }

    fn command(&self) -> Result<Command, BusError> {
        let lock = self
            .lock
            .try_clone()
            .map_err(|error| BusError::store(self.folder.root(), error))?;
        let mut command = Command::new(&self.binary.path);
        command
            .arg("--config")
            .arg(self.folder.conf())
            .current_dir(self.folder.root())
            // As its standard input the server holds the lock on the store until it has ended,
            // even when the console died before it.
            .stdin(Stdio::from(lock))
            .stdout(Stdio::null())
            .stderr(Stdio::null());
        Ok(command)
    }

    /// Why it ended; none when its thread ended first. One that has stopped storing is ended as soon as
    /// there is room again.
    async fn until_it_ends(&self, mut started: Started) -> Option<String> {
        let mut read_to = self.folder.log_size();
        let mut failed = false;
        let mut asked = false;
        loop {
            tokio::select! {
                ended = &mut started.exited => {
                    let status = ended.ok()?;
                    return Some(match asked {
                        true => "nats-server had stopped storing after a full disk".to_owned(),
                        false => format!("nats-server ended: {status}"),
                    });
                }
                () = tokio::time::sleep(STORES_LOOK) => {}
            }
            let size = self.folder.log_size();
            if size != read_to {
                failed |= reports_write_error(&self.folder.log_since(read_to));
                read_to = size;
            }
            if failed && !asked && self.folder.has_room() {
                tracing::warn!(
                    "nats-server has stopped storing; there is room, so it is started again"
                );
                asked = self.slot.signal(super::unix::Signal::SIGTERM);
            }
        }
    }

    fn failed(&self, why: String) -> BusError {
        BusError::ServerStart {
            why,
            log: self.folder.log(),
        }
    }
}

/// Restarts the server until the slot is closed.
pub(super) async fn supervise(
    launcher: Launcher,
    first: Started,
    state: watch::Sender<ServerState>,
) {
    let mut running = Some(first);
    let mut since = tokio::time::Instant::now();
    let mut attempt = 0_u32;
    let mut why = String::new();
    loop {
        if let Some(started) = running.take() {
            why = match launcher.until_it_ends(started).await {
                Some(why) => why,
                None => return,
            };
            if launcher.slot.is_closed() {
                return;
            }
            if since.elapsed() >= STEADY {
                attempt = 0;
            }
        }
        tracing::warn!(attempt, why, "nats-server is down, starting it again");
        state.send_replace(ServerState::Restarting {
            attempt,
            why: why.clone(),
        });
        tokio::time::sleep(pause(attempt)).await;
        attempt = attempt.saturating_add(1);
        match launcher.launch().await {
            Ok((started, _)) => {
                state.send_replace(ServerState::Running { pid: started.pid });
                since = tokio::time::Instant::now();
                running = Some(started);
            }
            Err(error) => why = error.to_string(),
        }
    }
}

fn reports_write_error(log: &str) -> bool {
    WRITE_ERRORS.iter().any(|words| log.contains(words))
}

fn pause(attempt: u32) -> Duration {
    FIRST_PAUSE
        .saturating_mul(1_u32 << attempt.min(16))
        .min(LONGEST_PAUSE)
}

/// The last error lines of a log, or its last line.
pub(super) fn last_words(log: &str) -> String {
    let errors: Vec<&str> = log
        .lines()
        .filter(|line| line.contains("[FTL]") || line.contains("[ERR]"))
        .collect();
    let chosen = if errors.is_empty() {
        log.lines().last().unwrap_or("it ended without a message")
    } else {
        return errors[errors.len().saturating_sub(3)..].join("; ");
    };
    chosen.to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_pause_grows_and_stays_bounded() {
        let mut last = Duration::ZERO;
        for attempt in 0..40 {
            let next = pause(attempt);
            assert!(next >= last && next <= LONGEST_PAUSE, "{attempt}: {next:?}");
            last = next;
        }
        assert_eq!(pause(0), FIRST_PAUSE);
        assert_eq!(pause(u32::MAX), LONGEST_PAUSE);
    }

    #[test]
    fn a_write_that_failed_is_found_in_the_log() {
        let line = "[18] [ERR] JetStream failed to store a msg on stream 'CORE > CS_REQUESTS': write 1.blk: no space left on device\n";
        assert!(reports_write_error(line));
        assert!(reports_write_error(
            "[18] [ERR] Filestore [CS_DECISIONS] Critical write error: x"
        ));
        assert!(!reports_write_error("[18] [INF] Server is ready\n"));
    }

    #[test]
    fn the_reason_of_a_failed_start_is_its_error_line() {
        let log = "[1] [INF] Starting\n[1] [FTL] Error listening on port\n[1] [INF] bye\n";
        assert_eq!(last_words(log), "[1] [FTL] Error listening on port");
        assert_eq!(last_words(""), "it ended without a message");
    }
}
