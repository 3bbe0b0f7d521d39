//! Which consoles of the realm are there.
//!
//! Refuses to call a console live that was not heard lately: three missed signs are the end.

use std::collections::BTreeMap;

use countersign_wire::{ConsoleId, PublicKey};

use super::Timestamp;

/// A console writes its presence this often (protocol, section 8).
pub const BEAT_MS: i64 = 5_000;
/// A console that was not heard for so long is gone.
pub const LIVE_MS: i64 = 3 * BEAT_MS;

/// A console as it was last heard.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HeardConsole {
    /// Its operator's name.
    pub operator: String,
    /// The key that signs what its operator decides.
    pub human_key: PublicKey,
    /// The server's stamp of its last sign.
    pub heard_at: Timestamp,
}

/// The consoles that were heard.
#[derive(Debug, Clone, Default)]
pub struct Consoles(BTreeMap<ConsoleId, HeardConsole>);

impl Consoles {
    /// A console gave a sign.
    pub fn heard(&mut self, id: ConsoleId, console: HeardConsole) {
        self.0.insert(id, console);
    }

    /// A console said that it stops.
    pub fn ended(&mut self, id: &ConsoleId) {
        self.0.remove(id);
    }

    /// The consoles that were heard within 15 s before `now`.
    pub fn live(&self, now: Timestamp) -> impl Iterator<Item = (&ConsoleId, &HeardConsole)> {
        self.0
            .iter()
            .filter(move |(_, console)| now.since_ms(console.heard_at) < LIVE_MS)
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::*;

    fn heard(at: i64) -> HeardConsole {
        HeardConsole {
            operator: "Ada".into(),
            human_key: "UCFIRY65OQE7DFP5KLNS2PF2LVZMUZYJX4OZIEQ36N2IQANUB5XVZ45L"
                .parse()
                .unwrap(),
            heard_at: Timestamp(at),
        }
    }

    #[test]
    fn a_console_is_live_until_it_ends_or_three_signs_are_missed() {
        let mut consoles = Consoles::default();
        let [a, b]: [ConsoleId; 2] = ["a", "b"].map(|id| id.parse().unwrap());
        consoles.heard(a.clone(), heard(0));
        consoles.heard(b.clone(), heard(0));
        let live = |consoles: &Consoles, now| {
            let ids = consoles.live(Timestamp(now)).map(|(id, _)| id.to_string());
            ids.collect::<Vec<_>>()
        };
        assert_eq!(live(&consoles, LIVE_MS - 1), ["a", "b"]);
        consoles.heard(a.clone(), heard(BEAT_MS));
        assert_eq!(live(&consoles, LIVE_MS), ["a"]);
        assert!(live(&consoles, LIVE_MS + BEAT_MS).is_empty());
        consoles.ended(&a);
        assert!(live(&consoles, BEAT_MS + 1) == ["b"]);
    }
}
