//! What each signer may do to the list, and what of it is kept.

use super::super::change::{Change, Limits, apply, arrive};
use super::*;
use countersign_wire::{Handover, PublicKey, Risk, SignedEnvelope, Timestamp as Stamp, WaitingKey};
use nkeys::KeyPair;

const NOW: Timestamp = Timestamp(1_000_000);

fn key() -> PublicKey {
    PublicKey::of(&KeyPair::new_user()).unwrap()
}

fn entry(key: &PublicKey, from: i64) -> OperatorEntry {
    let from = Stamp::new(Timestamp(from).into());
    OperatorEntry::new(key.clone(), "Ada".into(), KeyRole::Human, from)
}

/// The handover that an old key signs for the new one.
fn word(old: &KeyPair, new: &PublicKey) -> Option<Box<SignedEnvelope>> {
    let at = Stamp::new(NOW.into());
    Some(Box::new(
        Handover::seal(old, &Uuid::nil(), new, at).unwrap(),
    ))
}

/// Whose it is, and for whom, does not matter in these tests.
fn vouched() -> SignedEnvelope {
    let at = Stamp::new(NOW.into());
    countersign_wire::Vouch::seal(&KeyPair::new_user(), &Uuid::nil(), &key(), at).unwrap()
}

/// Ada without limits, Grace up to low risk, Mallory retired.
fn realm(approval: bool) -> (OperatorList, [PublicKey; 3], KeyPair) {
    let pair = KeyPair::new_user();
    let [ada, grace, mallory] = [key(), PublicKey::of(&pair).unwrap(), key()];
    let mut list = OperatorList::new(vec![
        entry(&ada, 0),
        OperatorEntry {
            max_risk: Some(Risk::Low),
            ..entry(&grace, 0)
        },
        OperatorEntry {
            until: Some(Stamp::new(Timestamp(500_000).into())),
            ..entry(&mallory, 0)
        },
    ]);
    list.operator_approval = approval;
    list.at = Some(Stamp::new(Timestamp(600_000).into()));
    list.vouched = vec![vouched()];
    (list, [ada, grace, mallory], pair)
}

fn after(list: &OperatorList, change: Change) -> OperatorList {
    let mut next = list.clone();
    apply(&mut next, &change, NOW).unwrap();
    next
}

fn added(list: &OperatorList, entry: OperatorEntry) -> OperatorList {
    let mut next = list.clone();
    next.operators.push(entry);
    next
}

#[test]
fn a_key_ends_now_also_while_the_list_in_force_was_signed_ahead_of_the_servers_clock() {
    let (mut list, [ada, grace, _], _) = realm(false);
    for (ahead, ends, lawful) in [
        (0, 0, Permission::Operator),
        (165_000, 0, Permission::Operator),
        (3_600_000, 0, Permission::Operator),
        (165_000, -60_000, Permission::Operator),
        (165_000, -60_001, Permission::Denied),
        (0, -60_001, Permission::Denied),
    ] {
        list.at = Some(Stamp::new(NOW.plus_ms(ahead).into()));
        let mut next = list.clone();
        apply(&mut next, &Change::Retire(grace.clone()), NOW.plus_ms(ends)).unwrap();
        assert_eq!(
            judge(&Uuid::nil(), &list, &next, ada.as_str(), NOW),
            lawful,
            "{ahead} {ends}"
        );
    }
}

#[test]
fn each_signer_may_do_so_much_and_no_more() {
    let new = key();
    let fresh = entry(&new, NOW.0);
    for approval in [false, true] {
        let (list, [ada, grace, mallory], pair) = realm(approval);
        let mut arrived = list.clone();
        arrive(&mut arrived, fresh.clone(), NOW);
        let mut dropped = list.clone();
        dropped.operators.remove(0);
        let mut ended = list.clone();
        ended.operators[0].until = Some(Stamp::new(NOW.into()));
        let mut revived = list.clone();
        revived.operators[2].until = None;
        let mut earlier = list.clone();
        earlier.operators[2].until = Some(Stamp::new(Timestamp(400_000).into()));
        let mut renamed = list.clone();
        renamed.operators[1].name = "Mallory".into();
        let mut spoken = list.clone();
        spoken.vouched.push(vouched());
        let mut silenced = list.clone();
        silenced.vouched = vec![vouched()];
        let switched = after(&list, Change::Approval(!approval));
        let rotated = Change::Rotate {
            old: grace.clone(),
            new: new.clone(),
            word: word(&pair, &new),
        };
        let mut twice = after(&list, rotated.clone());
        twice.operators.push(OperatorEntry {
            key: key(),
            ..twice.operators.last().unwrap().clone()
        });
        let mut beside = after(&list, rotated.clone());
        for entry in &mut beside.operators {
            if entry.key == grace {
                entry.until = None;
            }
        }
        let mut wider = after(&list, rotated.clone());
        wider.operators.last_mut().unwrap().max_risk = None;
        let open = if approval { "no" } else { "yes" };
        let table = [
            ("arrives", arrived, "yes", "yes", "yes"),
            (
                "enters itself",
                added(&list, fresh.clone()),
                "yes",
                open,
                open,
            ),
            (
                "enters next month",
                added(&list, entry(&new, NOW.0 + 60_001)),
                "yes",
                "no",
                "no",
            ),
            (
                "enters the past",
                added(&list, entry(&new, 0)),
                "yes",
                "no",
                "no",
            ),
            ("retires Ada", ended, "yes", "no", "no"),
            (
                "retires Grace",
                after(&list, Change::Retire(grace.clone())),
                "yes",
                "yes",
                "no",
            ),
            (
                "frees Grace",
                after(&list, Change::Limit(grace.clone(), Limits::default())),
                "yes",
                "no",
                "no",
            ),
            ("leaves one out", dropped, "no", "no", "no"),
            (
                "takes Mallory back by an old term",
                revived,
                "no",
                "no",
                "no",
            ),
            ("has Mallory end earlier", earlier, "no", "no", "no"),
            ("renames Grace", renamed, "no", "no", "no"),
            ("switches", switched, "yes", "no", "no"),
            ("adds a word", spoken, "yes", "yes", "yes"),
            (
                "has another word in one's place",
                silenced,
                "yes",
                "no",
                "no",
            ),
            ("rotates Grace", after(&list, rotated), "yes", "yes", "no"),
            ("rotates her wider", wider, "yes", open, "no"),
            ("rotates her into two", twice, "yes", open, "no"),
            ("gives her a second key", beside, "yes", open, open),
        ];
        for (what, next, full, limited, stranger) in table {
            let may = |signer: &PublicKey| match judge(
                &Uuid::nil(),
                &list,
                &next,
                signer.as_str(),
                NOW,
            ) {
                Permission::Denied => "no",
                _ => "yes",
            };
            assert_eq!(may(&ada), full, "Ada {what}");
            assert_eq!(may(&grace), limited, "Grace {what}, approval {approval}");
            for signer in [&mallory, &new] {
                assert_eq!(
                    may(signer),
                    stranger,
                    "a stranger {what}, approval {approval}"
                );
            }
        }
    }
}

#[test]
fn who_may_not_edit_adds_no_term_of_a_key_that_is_known() {
    for approval in [false, true] {
        let (mut list, [ada, grace, mallory], pair) = realm(approval);
        let [console, desk, asks, new] = [key(), key(), key(), key()];
        list.operators.push(OperatorEntry {
            role: KeyRole::Auto,
            ..entry(&console, 0)
        });
        for (key, console) in [(&asks, "c1"), (&desk, "c2")] {
            let mut arrived = list.clone();
            arrived.operator_approval = true;
            let entry = OperatorEntry {
                console: Some(console.into()),
                ..entry(key, 0)
            };
            arrive(&mut arrived, entry, NOW);
            list.waiting = arrived.waiting;
        }
        let term = |key: &PublicKey| OperatorEntry {
            max_risk: Some(Risk::Low),
            takes_over: word(&pair, key).map(|word| *word),
            ..entry(key, NOW.0)
        };
        let rotated = |heir: OperatorEntry| {
            let mut next = added(&list, heir);
            next.operators[1].until = Some(Stamp::new(NOW.into()));
            next
        };
        let known = [&ada, &console, &mallory, &asks];
        let taken = known.map(|key| (format!("rotates onto {key}"), rotated(term(key))));
        let free = known.map(|key| {
            let free = added(&list, entry(key, NOW.0));
            (format!("enters {key}"), free)
        });
        let auto = OperatorEntry {
            role: KeyRole::Auto,
            ..term(&new)
        };
        let mut asks_again = list.clone();
        asks_again.waiting.insert(
            0,
            WaitingKey {
                role: KeyRole::Auto,
                ..list.waiting[0].clone()
            },
        );
        let odd = [
            (
                "an unnamed heir",
                OperatorEntry {
                    takes_over: None,
                    ..term(&new)
                },
            ),
            (
                "another name",
                OperatorEntry {
                    name: "Mallory".into(),
                    ..term(&new)
                },
            ),
            (
                "another console",
                OperatorEntry {
                    console: Some("c1".into()),
                    ..term(&new)
                },
            ),
            ("another role", auto),
        ];
        // With approval off, anybody may add a new key: it is not an heir.
        let odd = odd.map(|(what, heir)| (what.to_owned(), rotated(heir)));
        let odd = odd.into_iter().filter(|_| approval);
        let asks_again = [("asks as another".to_owned(), asks_again)];
        for (what, next) in taken.into_iter().chain(free).chain(odd).chain(asks_again) {
            let judged = judge(&Uuid::nil(), &list, &next, grace.as_str(), NOW);
            assert_eq!(
                judged,
                Permission::Denied,
                "Grace, approval {approval}: {what}"
            );
            let judged = judge(&Uuid::nil(), &list, &next, desk.as_str(), NOW);
            assert_eq!(
                judged,
                Permission::Denied,
                "a newcomer, approval {approval}: {what}"
            );
        }
        let heir = rotated(term(&new));
        let judged = judge(&Uuid::nil(), &list, &heir, grace.as_str(), NOW);
        assert_eq!(judged, Permission::Newcomer);
        // The old key counts for a moment more, and has its heir.
        let mut second = heir.clone();
        second.operators.push(term(&key()));
        let mut late = heir;
        late.operators[1].until = Some(Stamp::new(NOW.plus_ms(2_000).into()));
        second.operators[1].until = late.operators[1].until;
        let judged = judge(&Uuid::nil(), &late, &second, grace.as_str(), NOW);
        assert_eq!(judged == Permission::Denied, approval, "a second heir");
        // A pending key becomes active once approval is off, as it asked.
        if approval {
            continue;
        }
        let mut own = list.clone();
        arrive(
            &mut own,
            OperatorEntry {
                console: Some("c2".into()),
                ..entry(&desk, 0)
            },
            NOW,
        );
        let judged = judge(&Uuid::nil(), &list, &own, desk.as_str(), NOW);
        assert_eq!(judged, Permission::Newcomer, "enters itself");
    }
}

#[test]
fn a_key_that_begins_only_later_may_begin_now_and_as_nothing_else() {
    let later = NOW.plus_ms(7_200_000);
    let (new, ended, grown) = (key(), key(), key());
    let mut list = OperatorList::new(vec![
        entry(&new, later.0),
        OperatorEntry {
            until: Some(Stamp::new(later.into())),
            ..entry(&ended, later.0)
        },
        entry(&grown, 0),
        entry(&grown, later.0),
    ]);
    for approval in [false, true] {
        list.operator_approval = approval;
        for (what, term, lawful) in [
            ("now", entry(&new, NOW.0), true),
            ("long ago", entry(&new, 0), false),
            (
                "under limits",
                OperatorEntry {
                    max_risk: Some(Risk::Low),
                    ..entry(&new, NOW.0)
                },
                false,
            ),
            (
                "as a console",
                OperatorEntry {
                    role: KeyRole::Auto,
                    ..entry(&new, NOW.0)
                },
                false,
            ),
            (
                "renamed",
                OperatorEntry {
                    name: "Bea".into(),
                    ..entry(&new, NOW.0)
                },
                false,
            ),
            ("one that was turned away", entry(&ended, NOW.0), false),
            ("one that counted before", entry(&grown, NOW.0), false),
        ] {
            let next = added(&list, term);
            let judged = judge(&Uuid::nil(), &list, &next, new.as_str(), NOW);
            assert_eq!(judged != Permission::Denied, lawful, "{what}");
        }
    }
}

#[test]
fn what_a_refused_list_would_have_added_waits_or_arrives_now() {
    let new = key();
    for approval in [false, true] {
        let (list, [ada, ..], _) = realm(approval);
        let theirs = OperatorList::new(vec![entry(&new, 0)]);
        assert!(loses(&list, &theirs));
        let merged = merged(&list, &theirs, NOW);
        assert!(!loses(&list, &merged));
        assert_eq!(merged.is_waiting(new.as_str()), approval);
        let moment_ago = NOW.plus_ms(-6_000);
        assert!(!is_operator(
            &merged,
            new.as_str(),
            moment_ago.plus_ms(-5_001)
        ));
        assert_eq!(
            judge(&Uuid::nil(), &list, &merged, ada.as_str(), NOW),
            Permission::Operator
        );
    }
}
