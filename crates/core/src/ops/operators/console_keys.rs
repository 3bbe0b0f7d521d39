//! A console's own key goes with its person: it is accepted, limited and ended along.
//!
//! Only a certain owner counts: anybody can claim any console's key.

use countersign_wire::{KeyRole, OperatorEntry, OperatorList, PublicKey, WaitingKey};

use super::change::{Limits, is_open};
use crate::domain::Timestamp;

/// The own key of the console of a person who waits: the only one that says so, and it asked in the same list.
/// Anybody can name any console.
pub(super) fn own_key_of(list: &OperatorList, person: &WaitingKey) -> Option<WaitingKey> {
    let console = person.console.as_ref()?;
    let is_own = |role: KeyRole, of: Option<&String>| role == KeyRole::Auto && of == Some(console);
    let mut waiting = list.waiting.iter();
    let first = waiting.find(|other| is_own(other.role, other.console.as_ref()))?;
    let other = waiting.any(|other| is_own(other.role, other.console.as_ref()))
        || list
            .operators
            .iter()
            .any(|entry| is_own(entry.role, entry.console.as_ref()));
    (!other && first.asked_at == person.asked_at).then(|| first.clone())
}

/// The persons whose console it is.
fn persons<'l>(
    list: &'l OperatorList,
    console: Option<&'l str>,
    now: Timestamp,
) -> impl Iterator<Item = &'l OperatorEntry> {
    let theirs = list.operators.iter().filter(move |entry| {
        entry.role == KeyRole::Human && console.is_some() && entry.console.as_deref() == console
    });
    theirs.filter(move |entry| entry.until.is_none() && entry.counts_at(now.into()))
}

/// What a console's own key may do: as much as its person.
pub(super) fn limits_of(list: &OperatorList, console: Option<&str>, now: Timestamp) -> Limits {
    let mut persons = persons(list, console, now);
    match persons.next() {
        Some(person) if persons.all(OperatorEntry::is_limited) => Limits {
            workspaces: person.workspaces.clone(),
            max_risk: person.max_risk,
        },
        _ => Limits::default(),
    }
}

/// The own keys of a person's console that count or will; none where somebody else says that it is theirs.
pub(super) fn own_keys(
    list: &OperatorList,
    person: &PublicKey,
    console: Option<&str>,
    now: Timestamp,
) -> Vec<OperatorEntry> {
    if console.is_none() || persons(list, console, now).any(|other| other.key != *person) {
        return Vec::new();
    }
    // Nor where somebody else was the first who did, and has gone: his console may have been left to itself.
    let of_console = |entry: &&OperatorEntry| {
        entry.role == KeyRole::Human && entry.console.as_deref() == console
    };
    let first = list.operators.iter().find(of_console);
    let heir = |entry: &OperatorEntry| entry.key == *person && entry.takes_over.is_some();
    if first.is_some_and(|first| first.key != *person) && !list.operators.iter().any(heir) {
        return Vec::new();
    }
    let own = list.operators.iter().filter(|entry| {
        entry.role == KeyRole::Auto && entry.console.as_deref() == console && is_open(entry, now)
    });
    own.cloned().collect()
}

#[cfg(test)]
mod tests {
    use countersign_wire::Risk;
    use nkeys::KeyPair;

    use super::super::change::{Change, apply};
    use super::*;

    fn key() -> PublicKey {
        PublicKey::of(&KeyPair::new_user()).unwrap()
    }

    fn wire(at: Timestamp) -> countersign_wire::Timestamp {
        countersign_wire::Timestamp::new(at.into())
    }

    const NOW: Timestamp = Timestamp(1_000_000);

    fn asks(key: &PublicKey, role: KeyRole, at: i64) -> WaitingKey {
        WaitingKey {
            key: key.clone(),
            name: "x".into(),
            role,
            asked_at: wire(Timestamp(at)),
            console: Some("c1".into()),
            extra: serde_json::Map::new(),
        }
    }

    /// The founder, whose console is not `c1`.
    fn founded() -> OperatorList {
        let founder = OperatorEntry::new(key(), "Ada".into(), KeyRole::Human, wire(Timestamp(0)));
        let mut list = OperatorList::new(vec![founder]);
        list.operator_approval = true;
        list
    }

    fn add(key: &PublicKey, max_risk: Option<Risk>) -> Change {
        let workspaces = None;
        Change::Add {
            key: key.clone(),
            name: None,
            role: None,
            limits: Limits {
                workspaces,
                max_risk,
            },
        }
    }

    /// The highest risk in each term in force; none for a key that does not count.
    fn binds(list: &OperatorList, key: &PublicKey, at: i64) -> Vec<Option<Risk>> {
        let terms = list.terms_at(key.as_str(), Timestamp(at).into());
        terms.map(|term| term.max_risk).collect()
    }

    #[test]
    fn a_person_brings_the_own_key_of_the_console_along_only_where_nobody_else_claims_to_be_it() {
        let [person, own, other] = [key(), key(), key()];
        for (what, others, listed, comes) in [
            ("alone", vec![], false, true),
            (
                "another one waits, too",
                vec![asks(&other, KeyRole::Auto, 7)],
                false,
                false,
            ),
            (
                "another one asked at once",
                vec![asks(&other, KeyRole::Auto, 5)],
                false,
                false,
            ),
            ("there is one", vec![], true, false),
        ] {
            let mut list = founded();
            list.waiting = vec![
                asks(&person, KeyRole::Human, 5),
                asks(&own, KeyRole::Auto, 5),
            ];
            list.waiting.extend(others);
            if listed {
                list.operators.push(OperatorEntry {
                    console: Some("c1".into()),
                    ..OperatorEntry::new(
                        other.clone(),
                        "x".into(),
                        KeyRole::Auto,
                        wire(Timestamp(0)),
                    )
                });
            }
            apply(&mut list, &add(&person, None), NOW).unwrap();
            assert_eq!(binds(&list, &person, NOW.0), [None], "{what}");
            assert_eq!(!binds(&list, &own, NOW.0).is_empty(), comes, "{what}");
            assert_eq!(list.is_waiting(own.as_str()), !comes, "{what}");
        }
        let mut list = founded();
        list.waiting = vec![
            asks(&person, KeyRole::Human, 5),
            asks(&own, KeyRole::Auto, 7),
        ];
        apply(&mut list, &add(&person, None), NOW).unwrap();
        assert!(list.is_waiting(own.as_str()), "asked in another list");
    }

    #[test]
    fn a_console_may_allow_by_itself_what_its_person_may_and_leaves_with_the_person() {
        let [person, own, late] = [key(), key(), key()];
        let mut list = founded();
        list.waiting = vec![
            asks(&person, KeyRole::Human, 5),
            asks(&own, KeyRole::Auto, 5),
        ];
        apply(&mut list, &add(&person, Some(Risk::Low)), NOW).unwrap();
        assert_eq!(binds(&list, &own, NOW.0), [Some(Risk::Low)]);
        list.waiting = vec![asks(&late, KeyRole::Auto, 9)];
        apply(&mut list, &add(&late, None), NOW).unwrap();
        assert_eq!(binds(&list, &late, NOW.0), [Some(Risk::Low)]);
        for (second, max_risk) in [(10, Some(Risk::High)), (20, None), (30, Some(Risk::Safe))] {
            let limits = Limits {
                workspaces: None,
                max_risk,
            };
            let at = NOW.plus_ms(second * 1_000);
            apply(&mut list, &Change::Limit(person.clone(), limits), at).unwrap();
            for key in [&person, &own, &late] {
                assert_eq!(binds(&list, key, at.0), [max_risk]);
            }
        }
        let at = NOW.plus_ms(40_000);
        let (mut alone, mut shared) = (list.clone(), list.clone());
        apply(&mut alone, &Change::Retire(person.clone()), at).unwrap();
        assert_eq!(binds(&alone, &own, at.0), [Some(Risk::Safe)]);
        // Somebody else says that the console is theirs: nobody's answers are ended for that.
        shared.operators.push(OperatorEntry {
            console: Some("c1".into()),
            ..OperatorEntry::new(key(), "x".into(), KeyRole::Human, wire(Timestamp(0)))
        });
        apply(&mut shared, &Change::Leave(person.clone()), at).unwrap();
        assert_eq!(binds(&shared, &own, at.0), [Some(Risk::Safe)]);
        apply(&mut list, &Change::Leave(person.clone()), at).unwrap();
        for key in [&person, &own, &late] {
            assert!(binds(&list, key, at.0).is_empty());
        }
        let again = at.plus_ms(20_000);
        apply(&mut list, &add(&own, None), again).unwrap();
        assert_eq!(
            list.operators.last().unwrap().console.as_deref(),
            Some("c1")
        );
    }
}
