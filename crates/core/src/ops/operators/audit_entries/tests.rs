#![allow(clippy::unwrap_used)]
//! Which new list is an alarm.

use countersign_wire::{Handover, PublicKey, Risk, Timestamp as Stamp, WaitingKey};
use nkeys::KeyPair;

use super::*;

const NOW: Timestamp = Timestamp(1_000_000);

fn stamp(at: i64) -> Stamp {
    Stamp::new(Timestamp(at).into())
}

fn key() -> PublicKey {
    PublicKey::of(&KeyPair::new_user()).unwrap()
}

fn term(key: &PublicKey, role: KeyRole, from: i64) -> OperatorEntry {
    OperatorEntry::new(key.clone(), "lena".into(), role, stamp(from))
}

fn person(key: &PublicKey) -> OperatorEntry {
    term(key, KeyRole::Human, NOW.0)
}

fn ended(entry: OperatorEntry) -> OperatorEntry {
    OperatorEntry {
        until: Some(stamp(NOW.0)),
        ..entry
    }
}

fn with(list: &OperatorList, entries: Vec<OperatorEntry>) -> OperatorList {
    let mut next = list.clone();
    next.operators.extend(entries);
    next
}

/// The keys of the alarms that say that somebody joined.
fn reported(
    before: Option<&OperatorList>,
    list: &OperatorList,
    own: &[TrustedKey; 2],
) -> Vec<String> {
    let (raised, _) = alarms(before, (&Uuid::nil(), list), own);
    let joined = raised.into_iter();
    let joined = joined
        .filter(|(code, _)| *code == AlarmCode::OperatorJoined)
        .map(|(_, subject)| subject);
    joined.collect()
}

#[test]
fn somebody_who_may_decide_and_could_not_before_is_an_alarm_and_nobody_else_is() {
    let pair = KeyPair::new_user();
    let [ada, auto, grace, lena] = [key(), key(), PublicKey::of(&pair).unwrap(), key()];
    let trusted = |key: &PublicKey, role| TrustedKey {
        key: key.clone(),
        name: "ada".into(),
        role,
    };
    let own = [trusted(&ada, KeyRole::Human), trusted(&auto, KeyRole::Auto)];
    let ours = vec![term(&ada, KeyRole::Human, 0), term(&auto, KeyRole::Auto, 0)];
    let first = OperatorList::new(ours);
    let known = with(&first, vec![term(&grace, KeyRole::Human, 0)]);
    let without_grace = {
        let mut list = first.clone();
        list.operators.push(ended(term(&grace, KeyRole::Human, 0)));
        list
    };
    let word = Handover::seal(&pair, &Uuid::nil(), &lena, stamp(NOW.0)).unwrap();
    let heir = OperatorEntry {
        takes_over: Some(word),
        ..person(&lena)
    };
    let limited = |entry| OperatorEntry {
        max_risk: Some(Risk::Low),
        ..entry
    };
    let mut waits = known.clone();
    waits.waiting.push(WaitingKey {
        key: lena.clone(),
        name: "lena".into(),
        role: KeyRole::Human,
        asked_at: stamp(NOW.0),
        console: None,
        extra: serde_json::Map::new(),
    });
    let mut accepted = known.clone();
    accepted.operators.push(person(&lena));
    let is = |key: &PublicKey| vec![key.to_string()];
    let table = [
        (
            "the first list that this console reads",
            None,
            &known,
            vec![],
        ),
        (
            "its own keys",
            Some(&OperatorList::new(vec![])),
            &first,
            vec![],
        ),
        ("nothing new", Some(&known), &known, vec![]),
        (
            "a new person",
            Some(&known),
            &with(&known, vec![person(&lena)]),
            is(&lena),
        ),
        (
            "one under limits",
            Some(&known),
            &with(&known, vec![limited(person(&lena))]),
            is(&lena),
        ),
        (
            "a console's own key",
            Some(&known),
            &with(&known, vec![term(&lena, KeyRole::Auto, NOW.0)]),
            vec![],
        ),
        (
            "a term that has ended already",
            Some(&known),
            &with(&known, vec![ended(person(&lena))]),
            vec![],
        ),
        ("a key that waits", Some(&known), &waits, vec![]),
        (
            "one that waited and was accepted",
            Some(&waits),
            &accepted,
            is(&lena),
        ),
        (
            "a person's next key",
            Some(&known),
            &with(&known, vec![heir]),
            vec![],
        ),
        (
            "other limits",
            Some(&known),
            &with(&without_grace, vec![limited(person(&grace))]),
            vec![],
        ),
        ("somebody who left", Some(&known), &without_grace, vec![]),
        (
            "who comes back",
            Some(&without_grace),
            &with(&without_grace, vec![person(&grace)]),
            is(&grace),
        ),
    ];
    for (what, before, list, keys) in table {
        assert_eq!(reported(before, list, &own), keys, "{what}");
    }
}
