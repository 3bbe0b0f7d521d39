//! How much room the account has for streams.

use serde::{Deserialize, Serialize};

use super::connection::Bus;
use super::error::BusError;
use super::leader::ask;

/// From this part on a person should know.
const NEARLY: f64 = 0.9;

/// What the account's streams take, and may take.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Storage {
    /// Bytes of all streams in files.
    pub used: u64,
    /// The account's limit; none where the administrator set none.
    pub most: Option<u64>,
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

#[derive(Deserialize)]
struct Account {
    storage: u64,
    limits: Limits,
}

#[derive(Deserialize)]
struct Limits {
    /// -1: none.
    max_storage: i64,
}

#[derive(Serialize)]
struct Nothing {}

impl Bus {
    /// How much room the consoles' account has. Errors as [`Bus::read_last`].
    pub async fn storage(&self) -> Result<Storage, BusError> {
        let account: Account = ask(self, "$JS.API.INFO", &Nothing {}).await?;
        Ok(Storage {
            used: account.storage,
            most: u64::try_from(account.limits.max_storage).ok(),
        })
    }
}

/// Whether JetStream's code says that there is no room: of the account, of the server, of its disk.
pub(super) fn is_room(code: u64) -> bool {
    matches!(code, 10_002 | 10_023 | 10_047)
}

/// Why JetStream did not store something, in words that say what to do where that is known.
#[must_use]
pub(crate) fn refusal(code: u64, description: &str) -> String {
    let what = match code {
        10_002 => RAISE,
        10_023 | 10_047 => {
            "whoever runs nats-server raises max_file_store of its jetstream block, or gives it a larger disk"
        }
        10_077 if description.contains("maximum bytes") => {
            "whoever runs nats-server raises max_bytes of the stream"
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
        let told = |used, most| Storage { used, most }.words();
        assert_eq!(told(u64::MAX, None), None);
        assert_eq!(told(899, Some(1_000)), None);
        assert!(told(900, Some(1_000)).is_some_and(|words| words.contains("soon")));
        for used in [1_000, 2_000] {
            let words = told(used, Some(1_000)).unwrap_or_default();
            assert!(
                words.contains("max_file") && !words.contains("soon"),
                "{words}"
            );
        }
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
            (10_077, "maximum bytes exceeded", "max_bytes"),
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
