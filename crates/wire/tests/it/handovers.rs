//! Keys that hand over to the next one.

use countersign_wire::{Handover, KeyRole, OperatorEntry, OperatorList, PublicKey};
use nkeys::KeyPair;
use time::macros::datetime;
use uuid::Uuid;

pub(crate) const REALM: Uuid = Uuid::from_u128(7);

pub(crate) fn public(pair: &KeyPair) -> PublicKey {
    PublicKey::of(pair).unwrap()
}

pub(crate) fn entry(pair: &KeyPair, role: KeyRole) -> OperatorEntry {
    let from = datetime!(2026-01-01 0:00 UTC).into();
    OperatorEntry::new(public(pair), "Ada".into(), role, from)
}

pub(crate) fn heir(old: &KeyPair, realm: &Uuid, new: &KeyPair) -> OperatorEntry {
    let at = datetime!(2026-02-01 0:00 UTC).into();
    OperatorEntry {
        takes_over: Some(Handover::seal(old, realm, &public(new), at).unwrap()),
        ..entry(new, KeyRole::Human)
    }
}

/// A reader who knows this key and no other.
pub(crate) fn only(known: &PublicKey) -> impl Fn(&str) -> Option<bool> + use<> {
    let known = known.clone();
    move |key| (key == known.as_str()).then_some(true)
}

#[test]
fn a_key_descends_from_the_first_over_any_number_of_handovers_and_from_nobody_else() {
    let keys: Vec<KeyPair> = (0..20).map(|_| KeyPair::new_user()).collect();
    let mut entries = vec![entry(&keys[0], KeyRole::Human)];
    entries.extend(keys.windows(2).map(|pair| heir(&pair[0], &REALM, &pair[1])));
    entries.reverse();
    let list = OperatorList::new(entries);
    let last = public(&keys[19]);
    for known in &keys {
        let known = public(known);
        assert!(list.descends(&REALM, last.as_str(), only(&known)));
    }
    assert!(!list.descends(&REALM, last.as_str(), |_| None));
    let first = public(&keys[0]);
    assert!(
        !list.descends(&REALM, first.as_str(), only(&last)),
        "an old key does not descend from a newer one"
    );
}

#[test]
fn only_the_old_keys_own_word_for_this_key_in_this_realm_hands_over() {
    let [old, new, stranger] = [0, 1, 2].map(|_| KeyPair::new_user());
    let good = heir(&old, &REALM, &new);
    assert_eq!(good.predecessor(&REALM), Some(public(&old)));
    let mut claimed = heir(&stranger, &REALM, &new);
    claimed.takes_over.as_mut().unwrap().key = public(&old);
    let moved = OperatorEntry {
        takes_over: good.takes_over.clone(),
        ..entry(&stranger, KeyRole::Human)
    };
    let mut auto = good.clone();
    auto.role = KeyRole::Auto;
    for (what, entry, realm) in [
        ("no word", entry(&new, KeyRole::Human), REALM),
        ("another signer", claimed, REALM),
        ("for another key", moved, REALM),
        ("of another realm", good.clone(), Uuid::from_u128(8)),
    ] {
        assert_eq!(entry.predecessor(&realm), None, "{what}");
        let key = entry.key.clone();
        let list = OperatorList::new(vec![entry]);
        let trusted = only(&public(&old));
        assert!(!list.descends(&realm, key.as_str(), trusted), "{what}");
    }
    let list = OperatorList::new(vec![auto]);
    assert!(
        !list.descends(&REALM, public(&new).as_str(), only(&public(&old))),
        "a console's key makes no operator"
    );
}

#[test]
fn a_circle_of_handovers_ends() {
    let [one, two] = [0, 1].map(|_| KeyPair::new_user());
    let list = OperatorList::new(vec![heir(&one, &REALM, &two), heir(&two, &REALM, &one)]);
    assert!(!list.descends(&REALM, public(&one).as_str(), |_| None));
}

/// The same table as in the Python SDK.
#[test]
fn keys_that_took_over_from_each_other_vote_as_one_person() {
    let pairs = [0, 1, 2].map(|_| KeyPair::new_user());
    let stranger = KeyPair::new_user();
    let now = datetime!(2026-11-21 12:00 UTC);
    let later = datetime!(2027-01-01 0:00 UTC).into();
    for (chain, one) in [
        ("0>1", vec!["01"]),
        ("0>1 1>2", vec!["01", "02", "12"]),
        ("0>1 0>2", vec!["01", "02", "12"]),
        ("0>1 1>0", vec!["01"]),
        ("0>1 1>0 1>2", vec!["01", "02", "12"]),
        ("", vec![]),
        ("0>1 not yet", vec![]),
        ("0>1 unsaid", vec![]),
    ] {
        let mut entries: Vec<_> = pairs.iter().map(|p| entry(p, KeyRole::Human)).collect();
        for (old, new) in chain.split(' ').filter_map(|link| link.split_once('>')) {
            let [old, new] = [old, new].map(|place| &pairs[place.parse::<usize>().unwrap()]);
            let mut heir = heir(old, &REALM, new);
            if chain.contains("not yet") {
                heir.from = later;
            }
            if let (Some(word), true) = (&mut heir.takes_over, chain.contains("unsaid")) {
                word.key = public(&stranger);
            }
            entries.push(heir);
        }
        let list = OperatorList::new(entries);
        let voter = |place: usize| list.voter_at(&REALM, public(&pairs[place]).as_str(), now);
        for (first, second) in [(0, 1), (0, 2), (1, 2)] {
            let same = one.contains(&format!("{first}{second}").as_str());
            assert_eq!(
                voter(first) == voter(second),
                same,
                "{chain}: {first} {second}"
            );
        }
    }
}
