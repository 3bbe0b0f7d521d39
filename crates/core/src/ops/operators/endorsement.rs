//! Endorsements of operators by those who came before them, so that agents which know only the older ones can follow
//! the list.
//!
//! Operators under limits, the founding operator and the already endorsed get none. Only one eligible console writes.

use std::collections::HashSet;

use countersign_wire::{KeyRole, OperatorEntry, OperatorList, PublicKey, Timestamp, Vouch};
use nkeys::KeyPair;
use uuid::Uuid;

use super::Operators;

/// Since when an operator counts without limits and without a break, with the place on the list.
type Rank = (i64, usize);

/// The last stretch of a key's terms without limits and without a break between them.
struct Stretch<'l> {
    place: usize,
    first: &'l OperatorEntry,
    until: Option<Timestamp>,
}

impl Stretch<'_> {
    fn rank(&self) -> Rank {
        (self.first.from.unix_millis(), self.place)
    }
}

impl Operators {
    /// Adds this operator's endorsements to the list, and removes useless ones. Whether there are new ones.
    pub(super) fn endorse(&self, list: &mut OperatorList) -> bool {
        let now = Timestamp::new(self.shared.clock.now().into());
        let keys = self.shared.identity.signing();
        endorse(list, &self.realm, &keys.human, now)
    }
}

fn endorse(list: &mut OperatorList, realm: &Uuid, own: &KeyPair, now: Timestamp) -> bool {
    let Ok(key) = PublicKey::of(own) else {
        return false;
    };
    if !list.may_edit_at(key.as_str(), now.get()) {
        return false;
    }
    let Some(mine) = rank(list, realm, key.as_str()) else {
        return false;
    };
    tidy(list, realm);
    let mut later: Vec<(Rank, PublicKey)> = list
        .operators
        .iter()
        .filter(|entry| {
            entry.role == KeyRole::Human && entry.until.is_none() && !entry.is_limited()
        })
        .filter_map(|entry| Some((rank(list, realm, entry.key.as_str())?, entry.key.clone())))
        .filter(|(rank, _)| *rank > mine)
        .collect();
    // Elders first: the endorsement of one who is endorsed here may serve others.
    later.sort();
    later.dedup();
    let mut vouched = false;
    // Each signature is looked at once: anybody may fill an open realm's list.
    let words = list.vouched.iter();
    let mut words: Vec<Vouch> = words.filter_map(|word| list.vouch(realm, word)).collect();
    for (_, key) in later {
        if is_endorsed(list, realm, &words, (key.as_str(), mine)) {
            continue;
        }
        let Some(since) = stretch(list, key.as_str()) else {
            continue;
        };
        let at = now.max(since.first.from);
        let word = Vouch::seal(own, realm, &key, at).ok();
        let said = word.and_then(|word| Some((list.vouch(realm, &word)?, word)));
        if let Some((said, word)) = said {
            // Beside the earlier endorsements: who was endorsed over this key is followed along them.
            list.vouched.push(word);
            words.push(said);
            vouched = true;
        }
    }
    vouched
}

/// Keeps each word that holds once.
fn tidy(list: &mut OperatorList, realm: &Uuid) {
    let mut kept = HashSet::new();
    let words = std::mem::take(&mut list.vouched);
    let holds = |word: &countersign_wire::SignedEnvelope| {
        list.vouch(realm, word).is_some() && kept.insert(word.sig.as_str().to_owned())
    };
    list.vouched = words.into_iter().filter(holds).collect();
}

/// Whether somebody who came no later than `mine` leads to this key by words that were given since it counts: the
/// agents that were enrolled before know him, or follow the words for him.
fn is_endorsed(
    list: &OperatorList,
    realm: &Uuid,
    words: &[Vouch],
    (key, mine): (&str, Rank),
) -> bool {
    let elder = |key: &str| {
        rank(list, realm, key)
            .filter(|at| *at <= mine)
            .map(|_| true)
    };
    let keys = line(list, realm, key);
    let mut since = words.iter().filter(|said| {
        keys.iter().any(|own| {
            own.first.key == said.key && own.first.from.unix_millis() <= said.at.unix_millis()
        })
    });
    since.any(|said| list.descends(realm, said.by.as_str(), elder))
}

fn rank(list: &OperatorList, realm: &Uuid, key: &str) -> Option<Rank> {
    line(list, realm, key).last().map(Stretch::rank)
}

/// The stretches of a key and of those from which it took over without a break, the first one last.
fn line<'l>(list: &'l OperatorList, realm: &Uuid, key: &str) -> Vec<Stretch<'l>> {
    let mut line: Vec<Stretch<'l>> = stretch(list, key).into_iter().collect();
    while let Some(last) = line.last() {
        let before = last.first.predecessor(realm);
        let before = before
            .and_then(|before| stretch(list, before.as_str()))
            .filter(|before| {
                // Always further back, or a circle had no end.
                before.rank() < last.rank()
                    && before.until.is_none_or(|until| last.first.from <= until)
            });
        match before {
            Some(before) => line.push(before),
            None => break,
        }
    }
    line
}

fn stretch<'l>(list: &'l OperatorList, key: &str) -> Option<Stretch<'l>> {
    let mut terms: Vec<(usize, &OperatorEntry)> = list
        .operators
        .iter()
        .enumerate()
        .filter(|(_, entry)| entry.key.as_str() == key)
        .collect();
    terms.sort_by_key(|(place, entry)| (entry.from, *place));
    let mut stretch: Option<Stretch<'l>> = None;
    for (place, term) in terms {
        if term.role != KeyRole::Human || term.is_limited() {
            stretch = None;
            continue;
        }
        let before = stretch.filter(|before| before.until.is_none_or(|until| term.from <= until));
        stretch = Some(Stretch {
            until: term.until,
            ..before.unwrap_or(Stretch {
                place,
                first: term,
                until: None,
            })
        });
    }
    stretch
}

#[cfg(test)]
mod tests {
    use countersign_wire::{Handover, Risk};
    use proptest::prelude::*;

    use super::super::change::{self, Change, Limits, arrive};
    use super::*;
    use crate::domain::Timestamp as Moment;

    fn realm() -> Uuid {
        Uuid::from_u128(7)
    }

    fn key(pair: &KeyPair) -> PublicKey {
        PublicKey::of(pair).unwrap()
    }

    fn wire(at: Moment) -> Timestamp {
        Timestamp::new(at.into())
    }

    fn editors(list: &OperatorList, now: Moment) -> Vec<PublicKey> {
        let open = list
            .operators
            .iter()
            .filter(|entry| entry.until.is_none())
            .map(|entry| entry.key.clone());
        open.filter(|key| list.may_edit_at(key.as_str(), now.into()))
            .collect()
    }

    /// Every console that may has its turn until none has anything to add, each on the list of the one before.
    fn settle(list: &mut OperatorList, pairs: &[KeyPair], now: Moment) {
        for _ in 0..100 {
            let mut wrote = false;
            for pair in pairs {
                let open = |entry: &OperatorEntry| entry.key == key(pair) && entry.until.is_none();
                if list.operators.iter().any(open) {
                    wrote |= endorse(list, &realm(), pair, wire(now));
                }
            }
            if !wrote {
                return;
            }
        }
        panic!("they write against each other");
    }

    fn changed(what: usize, (old, new): (&KeyPair, &KeyPair), flag: bool, now: Moment) -> Change {
        let limits = Limits {
            max_risk: flag.then_some(Risk::Low),
            workspaces: None,
        };
        match what {
            0 => Change::Retire(key(old)),
            1 => Change::Add {
                key: key(old),
                name: Some("x".into()),
                role: None,
                limits,
            },
            2 => Change::Limit(key(old), limits),
            _ => Change::Rotate {
                old: key(old),
                new: key(new),
                word: Handover::seal(old, &realm(), &key(new), wire(now))
                    .ok()
                    .map(Box::new),
            },
        }
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(48))]

        /// An agent knows the operators without limits of the day when it was enrolled, and a later operator without
        /// limits can sign the list for it, whoever has left, came back or has new keys meanwhile.
        #[test]
        fn an_agent_of_any_day_can_follow_every_later_operator(
            steps in prop::collection::vec((0_usize..5, 0_usize..5, any::<bool>()), 1..16),
        ) {
            let pairs: Vec<KeyPair> = (0..12).map(|_| KeyPair::new_user()).collect();
            let from = wire(Moment(0));
            let entry = |pair: &KeyPair| OperatorEntry::new(key(pair), "x".into(), KeyRole::Human, from);
            let mut list = OperatorList::new(vec![entry(&pairs[0])]);
            let mut enrolled = vec![editors(&list, Moment(1_000))];
            let mut fresh = 5;
            for (place, (what, which, flag)) in steps.into_iter().enumerate() {
                let now = Moment(i64::try_from(place + 1).unwrap() * 20_000);
                let mut next = list.clone();
                let listed = list.operators.iter().any(|entry| entry.key == key(&pairs[which]));
                if !listed {
                    arrive(&mut next, entry(&pairs[which]), now);
                } else if what == 4 && fresh == pairs.len() {
                    continue;
                } else {
                    let both = (&pairs[which], &pairs[fresh.min(pairs.len() - 1)]);
                    if change::apply(&mut next, &changed(what, both, flag, now), now).is_err() {
                        continue;
                    }
                    fresh += usize::from(what > 2);
                }
                // A key that hands over counts for a moment more.
                let now = now.plus_ms(10_000);
                settle(&mut next, &pairs, now);
                list = next;
                enrolled.push(editors(&list, now));
                for signer in editors(&list, now) {
                    for (day, known) in enrolled.iter().enumerate() {
                        let known = |key: &str| known.iter().any(|own| own.as_str() == key).then_some(true);
                        prop_assert!(
                            list.descends(&realm(), signer.as_str(), known),
                            "{signer} for an agent of {day}: {list:#?}"
                        );
                    }
                }
                // Whoever is the first after one who left vouches for all who came later.
                prop_assert!(list.vouched.len() <= list.operators.len().pow(2));
            }
        }
    }

    #[test]
    fn a_word_is_for_operators_without_limits_who_came_later_and_have_none() {
        let [ann, bea, cem, dan] = [0, 1, 2, 3].map(|_| KeyPair::new_user());
        let at = |second: i64| wire(Moment(second * 1_000));
        let entry = |pair: &KeyPair, second| {
            OperatorEntry::new(key(pair), "x".into(), KeyRole::Human, at(second))
        };
        let mut list = OperatorList::new(vec![entry(&bea, 10), entry(&cem, 20), entry(&ann, 0)]);
        list.operators.push(OperatorEntry {
            max_risk: Some(Risk::High),
            ..entry(&dan, 5)
        });
        list.operators.push(OperatorEntry {
            role: KeyRole::Auto,
            ..entry(&KeyPair::new_user(), 30)
        });
        let said = |list: &OperatorList| -> Vec<(PublicKey, PublicKey)> {
            let said = list.vouched.iter().filter_map(Vouch::said);
            said.map(|said| (said.by, said.key)).collect()
        };
        for (who, pair, words) in [
            ("limits", &dan, vec![]),
            ("the last", &cem, vec![]),
            ("a stranger", &KeyPair::new_user(), vec![]),
            ("between", &bea, vec![(key(&bea), key(&cem))]),
            // Nobody leads to Bea yet, and then her word for Cem does for the first one, too.
            (
                "the first",
                &ann,
                vec![(key(&bea), key(&cem)), (key(&ann), key(&bea))],
            ),
            (
                "once more",
                &bea,
                vec![(key(&bea), key(&cem)), (key(&ann), key(&bea))],
            ),
        ] {
            let before = said(&list);
            assert_eq!(
                endorse(&mut list, &realm(), pair, at(60)),
                said(&list) != before,
                "{who}"
            );
            assert_eq!(said(&list), words, "{who}");
        }
        // A returning operator came after those who stayed, what does not hold goes, and earlier endorsements stay.
        list.operators[2].until = Some(at(70));
        list.operators.push(entry(&ann, 80));
        let stray = Vouch::seal(&cem, &realm(), &key(&KeyPair::new_user()), at(60)).unwrap();
        list.vouched.push(stray);
        assert!(endorse(&mut list, &realm(), &bea, at(90)));
        let last = (key(&bea), key(&ann));
        assert_eq!(said(&list).last(), Some(&last));
        assert_eq!(list.vouched.len(), 4);
    }
}
