//! Which consoles of the realm are there.
//!
//! A console is live while it was heard lately: three missed heartbeats are the end. A second console of one key does
//! not count: each one more makes the others wait for their turn.

use std::collections::VecDeque;
use std::collections::btree_map::{BTreeMap, Entry};

use countersign_wire::{ConsoleId, PublicKey};

use super::Timestamp;

/// A console writes its presence this often (protocol, section 8).
pub const BEAT_MS: i64 = 5_000;
/// A console that was not heard for so long is gone.
pub const LIVE_MS: i64 = 3 * BEAT_MS;

/// One run of a console's program, a new one at each start.
pub type RunId = u128;
/// Runs of a console that are remembered: to notice more than two at once, one is enough.
const RUNS: usize = 8;
/// A run that is heard again after another one took its place so many times goes on beside it. Once may be a sign
/// that a run wrote before it was killed, and that came late.
const RETURNS: u32 = 2;

/// A console as it was last heard.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HeardConsole {
    /// Its operator's name.
    pub operator: String,
    /// The key that signs what its operator decides.
    pub human_key: PublicKey,
    /// The key that signs its automatic answers and its heartbeats.
    pub auto_key: PublicKey,
    /// Which run of its program; none where it does not say.
    pub instance_id: Option<RunId>,
    /// The server's stamp of its last sign.
    pub heard_at: Timestamp,
    /// That sign's revision in the bucket.
    pub revision: u64,
}

impl HeardConsole {
    /// Whether it is a heartbeat after this one: a bucket is read from its beginning after each connect, one that is
    /// made anew counts its revisions anew, and a server's clock may be set back.
    fn precedes(&self, next: &Self) -> bool {
        self.revision < next.revision || self.heard_at < next.heard_at
    }
}

/// The consoles that were heard.
#[derive(Debug, Clone, Default)]
pub struct Consoles {
    heard: BTreeMap<ConsoleId, Heard>,
    /// The last sign of those that said that they stop.
    gone: BTreeMap<ConsoleId, HeardConsole>,
}

#[derive(Debug, Clone)]
struct Heard {
    last: HeardConsole,
    runs: Runs,
}

/// The runs of one console.
#[derive(Debug, Clone)]
struct Runs {
    /// Those that another one has replaced, the newest at the end.
    replaced: VecDeque<RunId>,
    /// How often one of them was heard again, with less than 15 s between two times.
    returned: u32,
    /// Since when nothing of that kind was heard.
    quiet_since: Timestamp,
}

impl Runs {
    fn since(at: Timestamp) -> Self {
        Self {
            replaced: VecDeque::new(),
            returned: 0,
            quiet_since: at,
        }
    }

    fn next(&mut self, before: RunId, run: RunId, at: Timestamp) {
        if at.since_ms(self.quiet_since) >= LIVE_MS {
            self.returned = 0;
        }
        if before == run {
            return;
        }
        if self.replaced.contains(&run) {
            self.returned = self.returned.saturating_add(1);
            self.quiet_since = at;
            self.replaced.retain(|known| *known != run);
        }
        if self.replaced.len() == RUNS {
            self.replaced.pop_front();
        }
        self.replaced.push_back(before);
    }
}

impl Consoles {
    /// A console gave a sign.
    pub fn heard(&mut self, id: ConsoleId, console: HeardConsole) {
        let at = console.heard_at;
        let mut others = self.heard.iter().filter(|(other, _)| **other != id);
        if others.any(|(_, heard)| heard.last.auto_key == console.auto_key) {
            return;
        }
        match self.heard.entry(id) {
            Entry::Vacant(place) => {
                place.insert(Heard {
                    last: console,
                    runs: Runs::since(at),
                });
            }
            Entry::Occupied(place) => {
                let heard = place.into_mut();
                if !heard.last.precedes(&console) {
                    return;
                }
                if let (Some(before), Some(run)) = (heard.last.instance_id, console.instance_id) {
                    heard.runs.next(before, run, at);
                }
                heard.last = console;
            }
        }
    }

    /// A console stopped; `said` is its word for it.
    pub fn ended(&mut self, id: &ConsoleId, said: Option<HeardConsole>) {
        self.heard.remove(id);
        if let Some(said) = said {
            self.gone.insert(id.clone(), said);
        }
    }

    /// When an operator's console was last heard, also one that is gone: by its id, or by the key where the list names
    /// no console.
    #[must_use]
    pub fn last_heard(&self, console: Option<&str>, key: &PublicKey) -> Option<Timestamp> {
        let there = self.heard.iter().map(|(id, heard)| (id, &heard.last));
        let is_its = |(id, heard): &(&ConsoleId, &HeardConsole)| match console {
            Some(console) => id.as_str() == console,
            None => [&heard.human_key, &heard.auto_key].contains(&key),
        };
        let own = there.chain(&self.gone).filter(is_its);
        own.map(|(_, heard)| heard.heard_at).max()
    }

    /// The consoles that were heard within 15 s before `now`.
    pub fn live(&self, now: Timestamp) -> impl Iterator<Item = (&ConsoleId, &HeardConsole)> {
        self.heard
            .iter()
            .map(|(id, heard)| (id, &heard.last))
            .filter(move |(_, console)| now.since_ms(console.heard_at) < LIVE_MS)
    }

    /// Whether two programs speak as this console; none while it was not heard for long enough to know.
    #[must_use]
    pub fn runs_twice(&self, id: &ConsoleId) -> Option<bool> {
        let Heard { last, runs } = self.heard.get(id)?;
        if runs.returned >= RETURNS {
            return Some(true);
        }
        (last.heard_at.since_ms(runs.quiet_since) >= LIVE_MS).then_some(false)
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::*;

    fn key(byte: u8) -> PublicKey {
        let pair = nkeys::KeyPair::new_from_raw(nkeys::KeyPairType::User, [byte; 32]).unwrap();
        PublicKey::of(&pair).unwrap()
    }

    fn heard(at: i64) -> HeardConsole {
        HeardConsole {
            operator: "Ada".into(),
            human_key: "UCFIRY65OQE7DFP5KLNS2PF2LVZMUZYJX4OZIEQ36N2IQANUB5XVZ45L"
                .parse()
                .unwrap(),
            auto_key: key(1),
            instance_id: None,
            heard_at: Timestamp(at),
            revision: 0,
        }
    }

    /// What is known after each sign of these runs, one every 5 s.
    fn runs(of: &str) -> Vec<Option<bool>> {
        let id: ConsoleId = "a".parse().unwrap();
        let mut consoles = Consoles::default();
        let signs = of.bytes().zip((0..).step_by(5_000));
        signs
            .map(|(run, at)| {
                let instance_id = (run != b'-').then(|| u128::from(run));
                let sign = HeardConsole {
                    instance_id,
                    ..heard(at)
                };
                consoles.heard(id.clone(), sign);
                consoles.runs_twice(&id)
            })
            .collect()
    }

    #[test]
    fn two_runs_that_take_turns_are_told_until_one_was_heard_alone_for_three_signs() {
        const NO: Option<bool> = Some(false);
        const TWICE: Option<bool> = Some(true);
        for (signs, known) in [
            ("aaaa", vec![None, None, None, NO]),
            // Started anew, again and again.
            ("abcdb", vec![None, None, None, NO, None]),
            // Killed and started anew, and a late heartbeat of the one that was killed.
            ("abab", vec![None, None, None, TWICE]),
            ("abaaaa", vec![None, None, None, None, None, NO]),
            ("ababbbb", vec![None, None, None, TWICE, TWICE, TWICE, NO]),
            // Three at once.
            ("abcabc", vec![None, None, None, None, TWICE, TWICE]),
            // One that does not say.
            ("----a-b-", vec![None, None, None, NO, NO, NO, NO, NO]),
        ] {
            assert_eq!(runs(signs), known, "{signs}");
        }
        let many: String = (b'a'..=b'z').map(char::from).collect();
        assert!(
            !runs(&format!("{many}{many}")).contains(&TWICE),
            "more than are remembered"
        );
    }

    #[test]
    fn a_bucket_that_is_read_again_from_its_beginning_tells_nothing_new() {
        let id: ConsoleId = "a".parse().unwrap();
        let mut consoles = Consoles::default();
        let mut signs: Vec<HeardConsole> = "aabb"
            .bytes()
            .zip(1_u8..)
            .map(|(run, place)| HeardConsole {
                instance_id: Some(u128::from(run)),
                revision: u64::from(place),
                ..heard(i64::from(place) * BEAT_MS)
            })
            .collect();
        for sign in signs.iter().chain(&signs).chain(&signs) {
            consoles.heard(id.clone(), sign.clone());
            assert_ne!(consoles.runs_twice(&id), Some(true));
        }
        let now = Timestamp(4 * BEAT_MS);
        assert_eq!(consoles.live(now).next().unwrap().1.heard_at, now);
        // The server's clock was set back; then the bucket was made anew.
        for (revision, at) in [(5, 0), (1, BEAT_MS)] {
            let last = signs.last_mut().unwrap();
            *last = HeardConsole {
                revision,
                heard_at: Timestamp(at),
                ..last.clone()
            };
            consoles.heard(id.clone(), last.clone());
            assert_eq!(
                consoles.live(Timestamp(at)).next().unwrap().1.heard_at,
                Timestamp(at)
            );
        }
    }

    #[test]
    fn a_key_speaks_for_the_first_console_that_it_was_heard_of() {
        let mut consoles = Consoles::default();
        let ids = (0..300).map(|_| uuid::Uuid::now_v7().to_string());
        let ids: Vec<ConsoleId> = ids.map(|id| id.parse().unwrap()).collect();
        for id in &ids {
            consoles.heard(id.clone(), heard(0));
        }
        let live: Vec<_> = consoles.live(Timestamp(1)).map(|(id, _)| id).collect();
        assert_eq!(live, [&ids[0]]);
        consoles.ended(&ids[0], None);
        consoles.heard(ids[1].clone(), heard(1));
        assert!(consoles.live(Timestamp(2)).any(|(id, _)| *id == ids[1]));
    }

    #[test]
    fn a_console_is_live_until_it_ends_or_three_signs_are_missed() {
        let mut consoles = Consoles::default();
        let [a, b]: [ConsoleId; 2] = ["a", "b"].map(|id| id.parse().unwrap());
        consoles.heard(a.clone(), heard(0));
        let of_b = HeardConsole {
            auto_key: key(2),
            ..heard(0)
        };
        consoles.heard(b.clone(), of_b);
        let live = |consoles: &Consoles, now| {
            let ids = consoles.live(Timestamp(now)).map(|(id, _)| id.to_string());
            ids.collect::<Vec<_>>()
        };
        assert_eq!(live(&consoles, LIVE_MS - 1), ["a", "b"]);
        consoles.heard(a.clone(), heard(BEAT_MS));
        assert_eq!(live(&consoles, LIVE_MS), ["a"]);
        assert!(live(&consoles, LIVE_MS + BEAT_MS).is_empty());
        assert_eq!(
            consoles.last_heard(Some("a"), &key(9)),
            Some(Timestamp(BEAT_MS))
        );
        consoles.ended(&a, Some(heard(BEAT_MS + 1)));
        assert!(live(&consoles, BEAT_MS + 1) == ["b"]);
        // Who is gone was seen all the same, and is known by the key where the list names no console.
        for (console, of, at) in [
            (Some("a"), 9, Some(BEAT_MS + 1)),
            (Some("c"), 1, None),
            (None, 1, Some(BEAT_MS + 1)),
            (None, 2, Some(0)),
            (None, 9, None),
        ] {
            let seen = consoles.last_heard(console, &key(of));
            assert_eq!(seen, at.map(Timestamp), "{console:?} {of}");
        }
    }
}
