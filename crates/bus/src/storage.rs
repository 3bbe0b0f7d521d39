//! How much room the account has for streams, and each stream for messages.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::connection::Bus;
use super::error::BusError;
use super::leader::{self, ask};
use super::stream_config::Store;
use async_nats::jetstream::stream::DiscardPolicy;
use countersign_wire::{REQUEST_MAX_BYTES, Stream};

/// From this part on a person should know.
const NEARLY: f64 = 0.9;
/// The same of one stream, which may be filled within minutes.
const STREAM_NEARLY: f64 = 0.8;
/// From this part of a stream on it is an alarm.
const STREAM_ALARM: f64 = 0.95;

/// What the account's streams take, and may take.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Storage {
    /// Bytes of all streams in files.
    pub used: u64,
    /// The account's limit; none where the administrator set none.
    pub most: Option<u64>,
    /// Whether its limits are tiers by replicas: these count each stream once.
    pub tiered: bool,
}

impl Storage {
    /// Whether nothing more is stored.
    #[must_use]
    pub fn is_full(&self) -> bool {
        self.most.is_some_and(|most| self.used >= most)
    }

    /// What is to be done about it; none while there is room.
    #[must_use]
    pub fn words(&self) -> Option<String> {
        let most = self.most?;
        let (used, full) = (self.used, self.is_full());
        if !full && (used as f64) < most as f64 * NEARLY {
            return None;
        }
        let so = if full {
            "nothing more is stored"
        } else {
            "soon nothing more is stored"
        };
        Some(format!(
            "the streams take {used} of the {most} bytes that the account may have, and {so}; {RAISE}"
        ))
    }
}

const RAISE: &str =
    "whoever runs nats-server raises max_file of the account that the consoles are in";

/// What a stream holds that takes nothing more when it is full.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct StreamRoom {
    /// Its name.
    pub stream: &'static str,
    /// Bytes that it holds.
    pub used: u64,
    /// Its `max_bytes`.
    pub most: u64,
}

impl StreamRoom {
    /// Whether the largest request that the protocol allows finds no room.
    #[must_use]
    pub fn is_full(&self) -> bool {
        self.most.saturating_sub(self.used) < REQUEST_MAX_BYTES as u64
    }

    /// Whether a person must look now.
    #[must_use]
    pub fn is_alarming(&self) -> bool {
        self.is_full() || self.is_beyond(STREAM_ALARM)
    }

    /// What is to be done about it; none while there is room.
    #[must_use]
    pub fn words(&self) -> Option<String> {
        if !self.is_full() && !self.is_beyond(STREAM_NEARLY) {
            return None;
        }
        let Self { stream, used, most } = self;
        let way = if *stream == Stream::Requests.name() {
            "set a larger requests_max_mib in config.toml and start the console again"
        } else {
            "whoever runs nats-server raises its max_bytes"
        };
        Some(format!(
            "{stream} holds {used} of {most} bytes, and takes nothing more when it is full; {way}"
        ))
    }

    fn is_beyond(&self, part: f64) -> bool {
        self.used as f64 >= self.most as f64 * part
    }
}

#[derive(Deserialize)]
struct Account {
    storage: u64,
    limits: Limits,
    /// By replicas, `R1` and so on; then nothing else counts.
    #[serde(default)]
    tiers: BTreeMap<String, Tier>,
}

#[derive(Deserialize)]
struct Tier {
    storage: u64,
    limits: Limits,
}

impl Account {
    /// An account without a tier of so many replicas has no room for them, and no limit to show.
    fn room(&self, replicas: usize) -> Storage {
        let tier = self.tiers.get(&format!("R{replicas}"));
        let (used, limits) = match tier {
            Some(tier) => (tier.storage, Some(&tier.limits)),
            None if self.tiers.is_empty() => (self.storage, Some(&self.limits)),
            None => (0, None),
        };
        Storage {
            used,
            most: limits.and_then(|limits| u64::try_from(limits.max_storage).ok()),
            tiered: !self.tiers.is_empty(),
        }
    }
}

#[derive(Deserialize)]
struct Limits {
    /// -1: none.
    max_storage: i64,
}

#[derive(Serialize)]
struct Nothing {}

impl Bus {
    /// How much room the consoles' account has for streams of so many replicas. Errors as [`Bus::read_last`].
    pub async fn storage(&self, replicas: usize) -> Result<Storage, BusError> {
        let account: Account = ask(self, "$JS.API.INFO", &Nothing {}).await?;
        Ok(account.room(replicas))
    }

    /// How much room each stream has that discards what is new and has a limit. Errors as [`Bus::read_last`].
    pub async fn rooms(&self) -> Result<Vec<StreamRoom>, BusError> {
        let mut rooms = Vec::new();
        for store in Store::ALL {
            let stream = store.name();
            let Some(info) = leader::stream_info(self, stream).await? else {
                continue;
            };
            let refuses = info.config.discard == DiscardPolicy::New;
            let most = u64::try_from(info.config.max_bytes).unwrap_or(0);
            if refuses && most > 0 {
                let used = info.state.bytes;
                rooms.push(StreamRoom { stream, used, most });
            }
        }
        Ok(rooms)
    }

    /// Gives the stream of requests this limit where it has a lower one. Errors as [`Bus::read_last`].
    pub async fn widen_requests(&self, most: u64) -> Result<(), BusError> {
        let info = leader::stream_info(self, Stream::Requests.name()).await?;
        let has = info.map_or(0, |info| u64::try_from(info.config.max_bytes).unwrap_or(0));
        // 0: it has no limit.
        match (1..most).contains(&has) {
            true => self.limit_requests(most).await,
            false => Ok(()),
        }
    }

    /// Gives the stream of requests this limit. Less than it holds is refused: what waits must not be lost. Errors:
    /// `bus_bad_options`, and as [`Bus::read_last`].
    pub async fn limit_requests(&self, most: u64) -> Result<(), BusError> {
        let name = Stream::Requests.name();
        let Some(info) = leader::stream_info(self, name).await? else {
            return Ok(());
        };
        let mut config = info.config;
        let wanted = i64::try_from(most).unwrap_or(i64::MAX);
        if config.max_bytes == wanted {
            return Ok(());
        }
        if most < info.state.bytes {
            return Err(BusError::BadOptions {
                why: format!(
                    "requests_max_mib is less than the {} bytes that {name} holds; it keeps its limit",
                    info.state.bytes
                ),
            });
        }
        config.max_bytes = wanted;
        leader::update_stream(self, &config).await?;
        tracing::info!(
            stream = name,
            max_bytes = wanted,
            "the stream has another limit"
        );
        Ok(())
    }
}

/// A cluster found no servers for a stream; which of several reasons it has is in the description.
const NO_PEERS: u64 = 10_005;

/// Whether JetStream reports a lack of room: of the account, of the server, of its disk.
pub(super) fn is_room(code: u64, description: &str) -> bool {
    matches!(code, 10_002 | 10_023 | 10_047)
        || code == NO_PEERS && description.contains("insufficient storage")
}

/// What to do where JetStream names a limit that keeps the console's streams away.
pub(super) fn stream_limit(code: u64, description: &str) -> Option<&'static str> {
    Some(match code {
        NO_PEERS if description.contains("offline") => {
            "a server of the cluster is away, and without it they are too few for so many replicas; start it again, or set stream_replicas in config.toml to no more than there are servers with JetStream"
        }
        10_113 => {
            "CS_DECISIONS and CS_AUDIT have no limit, so that nothing is removed; whoever runs nats-server sets max_bytes_required: false for the consoles' account"
        }
        10_122 => {
            "whoever runs nats-server raises disk_max_stream_bytes of the consoles' account to 8 GiB or more"
        }
        10_027 => {
            "whoever runs nats-server raises max_streams of the consoles' account to 7 or more"
        }
        10_120 => {
            "the account has tiers and none for so many replicas; set stream_replicas in config.toml to those of a tier that it has (R3: 3), or have it given one"
        }
        NO_PEERS | 10_074 => {
            "the servers are too few for so many replicas; set stream_replicas in config.toml to no more than there are servers with JetStream"
        }
        _ => return None,
    })
}

/// Why JetStream did not store something, in words that say what to do where that is known.
#[must_use]
pub fn refusal(code: u64, description: &str) -> String {
    let what = match code {
        10_002 => RAISE,
        10_023 | 10_047 => {
            "whoever runs nats-server raises max_file_store of its jetstream block, or gives it a larger disk"
        }
        10_077 if description.contains("maximum bytes") => {
            "the stream is full: requests_max_mib in config.toml raises the limit of CS_REQUESTS, and whoever runs nats-server max_bytes of any other"
        }
        _ => return format!("{code}: {description}"),
    };
    format!("the bus has no room ({code}: {description}); {what}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_account_that_is_nearly_full_is_told_of_and_one_without_a_limit_never() {
        let reported = |used, most| {
            let room = Storage {
                used,
                most,
                tiered: false,
            };
            room.words()
        };
        assert_eq!(reported(u64::MAX, None), None);
        assert_eq!(reported(899, Some(1_000)), None);
        assert!(reported(900, Some(1_000)).is_some_and(|words| words.contains("soon")));
        for used in [1_000, 2_000] {
            let words = reported(used, Some(1_000)).unwrap_or_default();
            assert!(
                words.contains("max_file") && !words.contains("soon"),
                "{words}"
            );
        }
    }

    #[test]
    fn in_an_account_with_tiers_the_one_of_the_replicas_counts() {
        let plain = r#"{"storage":5,"limits":{"max_storage":-1}}"#;
        let tiers = r#"{"storage":0,"limits":{"max_storage":0},"tiers":{
            "R1":{"storage":5,"limits":{"max_storage":9}},"R3":{"storage":7,"limits":{"max_storage":-1}}}}"#;
        for (text, replicas, used, most, tiered) in [
            (plain, 1, 5, None, false),
            (tiers, 1, 5, Some(9), true),
            (tiers, 3, 7, None, true),
            (tiers, 5, 0, None, true),
        ] {
            let account: Account = serde_json::from_str(text).unwrap_or_else(|_| unreachable!());
            let room = account.room(replicas);
            let expected = Storage { used, most, tiered };
            assert_eq!(room, expected, "{replicas} of {text}");
        }
    }

    #[test]
    fn a_stream_is_told_of_from_four_fifths_on_and_is_an_alarm_before_it_is_full() {
        const MIB: u64 = 1 << 20;
        for (used, reported, alarming, full) in [
            (79, false, false, false),
            (80, true, false, false),
            (94, true, false, false),
            (95, true, true, false),
            (100, true, true, true),
            (101, true, true, true),
        ] {
            let room = |stream| StreamRoom {
                stream,
                used: used * MIB,
                most: 100 * MIB,
            };
            let requests = room("CS_REQUESTS");
            let words = requests.words();
            assert_eq!(words.is_some(), reported, "{used}");
            assert_eq!(requests.is_alarming(), alarming, "{used}");
            assert_eq!(requests.is_full(), full, "{used}");
            assert!(words.is_none_or(|words| words.contains("requests_max_mib")));
            let other = room("CS_DECISIONS").words();
            assert!(other.is_none_or(|words| words.contains("whoever runs nats-server")));
        }
    }

    #[test]
    fn a_cluster_that_finds_no_servers_for_a_stream_says_why() {
        let placed = |why: &str| format!("no suitable peers for placement{why}");
        for (why, is_full, way) in [
            ("", false, "too few for so many replicas; set"),
            (", peer offline", false, "is away"),
            (", insufficient storage", true, ""),
            (", peer offline, insufficient storage", true, ""),
        ] {
            let description = placed(why);
            assert_eq!(is_room(NO_PEERS, &description), is_full, "{why}");
            let words = stream_limit(NO_PEERS, &description).unwrap_or_default();
            assert!(words.contains(way), "{why}: {words}");
        }
        assert!(!is_room(10_074, &placed(", insufficient storage")));
    }

    #[test]
    fn a_bus_without_room_says_what_to_do_and_any_other_refusal_what_the_server_said() {
        for (code, description, expected) in [
            (
                10_002,
                "resource limits exceeded for account",
                "max_file of the account",
            ),
            (10_023, "insufficient resources", "max_file_store"),
            (10_077, "maximum bytes exceeded", "requests_max_mib"),
            (
                10_077,
                "maximum messages per subject exceeded",
                "10077: maximum messages",
            ),
            (
                10_071,
                "wrong last sequence: 4",
                "10071: wrong last sequence: 4",
            ),
        ] {
            let words = refusal(code, description);
            assert!(words.contains(expected), "{words}");
            assert!(words.contains(description), "{words}");
        }
    }
}
