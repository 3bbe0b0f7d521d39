//! The nats.conf of the server that the console runs.
//!
//! Every path must be quotable, and it listens on loopback only.

use super::BusError;
use super::folder::NatsFolder;
use std::path::Path;

/// Above the protocol's 512 KiB and 900 KiB, so that what is too large is seen and answered
/// (protocol, section 2).
const MAX_PAYLOAD: usize = 4 * 1024 * 1024;
/// The streams reserve 16 GiB; the server's own default, three quarters of the free space, would
/// refuse them on a small disk. A disk that is really full refuses each write.
const MAX_STORE: &str = "1TB";
/// The console's store is on the disk with each commit: what the streams would lose with the machine's power is what
/// makes it read-only at its next start. The server's own default is two minutes.
const SYNC_INTERVAL: &str = "1s";
/// Of one connection; an agent needs two, a console some dozens, and each takes about 1 KB of the server.
const MAX_SUBSCRIPTIONS: usize = 1_000;
const LOG_BYTES: u64 = 1024 * 1024;
const LOG_FILES: u32 = 3;

/// Nearly every subject names one request, so the matches cached for the last subjects are never used again: the server
/// keeps no cache of them.
///
/// `sync_interval` keeps its default: syncing every message costs 99 of 100 publishes a second, and
/// the death of the server's process loses nothing that it acknowledged.
pub(super) fn nats_conf(
    port: u16,
    folder: &NatsFolder,
    accounts: &str,
) -> Result<String, BusError> {
    let store = quoted(folder.root())?;
    let ports = quoted(&folder.ports_dir())?;
    let log = quoted(&folder.log())?;
    Ok(format!(
        "listen: \"127.0.0.1:{port}\"\n\
         ports_file_dir: {ports}\n\
         log_file: {log}\n\
         log_size_limit: {LOG_BYTES}\n\
         logfile_max_num: {LOG_FILES}\n\
         max_payload: {MAX_PAYLOAD}\n\
         max_subscriptions: {MAX_SUBSCRIPTIONS}\n\
         disable_sublist_cache: true\n\
         jetstream {{\n  store_dir: {store}\n  max_file_store: {MAX_STORE}\n  sync_interval: \"{SYNC_INTERVAL}\"\n}}\n\
         {accounts}"
    ))
}

fn quoted(path: &Path) -> Result<String, BusError> {
    let refuse = |rule| BusError::BadName {
        what: "data folder",
        value: path.display().to_string().escape_default().to_string(),
        rule,
    };
    let text = path.to_str().ok_or_else(|| refuse("use a path in UTF-8"))?;
    if text.chars().any(char::is_control) {
        return Err(refuse("use a path without control characters"));
    }
    Ok(format!(
        "\"{}\"",
        text.replace('\\', "\\\\").replace('"', "\\\"")
    ))
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    #[test]
    fn a_path_cannot_end_its_quotes() {
        for (path, expected) in [
            ("/data", Some("\"/data\"")),
            ("/my data", Some("\"/my data\"")),
            ("/a\"b", Some("\"/a\\\"b\"")),
            ("/a\\b", Some("\"/a\\\\b\"")),
            ("/a\nb", None),
        ] {
            assert_eq!(quoted(Path::new(path)).ok().as_deref(), expected, "{path}");
        }
    }

    #[test]
    fn the_server_listens_on_loopback_and_bounds_its_log() {
        let dir = tempfile::tempdir().unwrap();
        let folder = NatsFolder::create(dir.path()).unwrap();
        let conf = nats_conf(4711, &folder, "accounts {}\n").unwrap();
        let conf = conf.replace(dir.path().to_str().unwrap(), "DATA");
        assert_eq!(
            conf,
            "listen: \"127.0.0.1:4711\"\nports_file_dir: \"DATA/nats/ports\"\nlog_file: \"DATA/nats/log\"\n\
             log_size_limit: 1048576\nlogfile_max_num: 3\nmax_payload: 4194304\n\
             max_subscriptions: 1000\ndisable_sublist_cache: true\njetstream {\n  store_dir: \"DATA/nats\"\n  max_file_store: 1TB\n  sync_interval: \"1s\"\n}\naccounts {}\n"
        );
    }
}
