//! Whether a list of operators may replace the one that is known.
//!
//! Refuses everything that its signer may not do: a newcomer adds its own keys and nothing else, an
//! operator under limits edits nobody, a retired key signs no list, and nobody takes back what a term has been.

use countersign_wire::{KeyRole, OperatorEntry, OperatorList};

use crate::domain::Timestamp;

/// A newcomer's keys count from about now: its clock is an estimate, and its list may have waited.
const NEWCOMER_SLACK_MS: i64 = 60_000;
/// Terms begin by an estimate of the server's time.
const CLOCK_SLACK_MS: i64 = 5_000;

/// Ends are set by such an estimate, too, and the list that says so may have waited.
const END_SLACK_MS: i64 = 60_000;

/// How long a key that has handed over may count beside the one after it.
const HANDOVER_MS: i64 = 10_000;

/// What a list is to the one before it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Lawful {
    /// Signed by an operator in force without limits; it keeps every term that is known, or ends it.
    ByOperator,
    /// It only adds what anybody who may write the bucket can add; the signer is an operator in force.
    ByLimited,
    /// The same, and the signer is none: agents cannot take it over before an operator signs it again.
    ByNewcomer,
    /// It does what its signer may not do.
    No,
}

/// Whether `key` is a person's key that counts at `at`.
pub(crate) fn is_operator(list: &OperatorList, key: &str, at: Timestamp) -> bool {
    role(list, key, at) == Some(KeyRole::Human)
}

/// Whether `key` may edit the list: a person's key in force, without limits.
pub(crate) fn may_edit(list: &OperatorList, key: &str, at: Timestamp) -> bool {
    is_operator(list, key, at) && terms(list, key, at).all(|term| !term.is_limited())
}

fn terms<'l>(
    list: &'l OperatorList,
    key: &'l str,
    at: Timestamp,
) -> impl Iterator<Item = &'l OperatorEntry> {
    let soon = at.plus_ms(CLOCK_SLACK_MS);
    list.operators.iter().filter(move |entry| {
        entry.key.as_str() == key && (entry.counts_at(at.into()) || entry.counts_at(soon.into()))
    })
}

fn role(list: &OperatorList, key: &str, at: Timestamp) -> Option<KeyRole> {
    list.role_at(key, at.into())
        .or_else(|| list.role_at(key, at.plus_ms(CLOCK_SLACK_MS).into()))
}

/// Judges `next`, signed by `signer` and stored at `stored_at`, against the list before it.
pub(crate) fn judge(
    known: &OperatorList,
    next: &OperatorList,
    signer: &str,
    stored_at: Timestamp,
) -> Lawful {
    if may_edit(known, signer, stored_at) {
        return match known
            .operators
            .iter()
            .all(|entry| stays(known, entry, (next, stored_at)))
        {
            true => Lawful::ByOperator,
            false => Lawful::No,
        };
    }
    let operator = is_operator(known, signer, stored_at);
    let own = |entry: &&OperatorEntry| operator && entry.key.as_str() == signer;
    let kept = known.operators.iter().all(|entry| {
        next.operators.contains(entry)
            || (own(&entry)
                && next
                    .operators
                    .iter()
                    .any(|after| ends(entry, after, stored_at)))
    });
    let rotates = operator && hands_over(next, signer, stored_at);
    let own_next = |entry: &OperatorEntry| {
        entry.role == KeyRole::Human
            && terms(known, signer, stored_at)
                .all(|term| term.workspaces == entry.workspaces && term.max_risk == entry.max_risk)
    };
    let mut heirs = 0;
    let mut added = next.operators.iter().filter(|entry| {
        !known.operators.contains(entry)
            && !known
                .operators
                .iter()
                .any(|before| own(&before) && ends(before, entry, stored_at))
    });
    let fresh = added.all(|entry| {
        let from = Timestamp::from(entry.from.get());
        // One key takes over from one: with two of them a person would vote twice.
        let heir = rotates && heirs == 0 && own_next(entry);
        heirs += usize::from(heir);
        from.plus_ms(NEWCOMER_SLACK_MS) >= stored_at && (heir || !known.operator_approval)
    });
    let waits = known.waiting.iter().all(|waiting| {
        next.waiting.contains(waiting)
            || (!known.operator_approval && has_key(next, waiting.key.as_str()))
    });
    let setting = known.operator_approval == next.operator_approval;
    match kept && fresh && waits && setting {
        true if operator => Lawful::ByLimited,
        true => Lawful::ByNewcomer,
        false => Lawful::No,
    }
}

/// Whether a known term stands in `next` as it was, or with its end: one that was not there, or came later, and that
/// takes nothing from the time up to the known list. That may have been signed ahead of the server's clock: what
/// ends when it is stored takes nothing either.
fn stays(
    known: &OperatorList,
    before: &OperatorEntry,
    (next, stored_at): (&OperatorList, Timestamp),
) -> bool {
    let ended = |after: &OperatorEntry| {
        let Some(until) = after.until else {
            return false;
        };
        let reaches_back = known.at.is_some_and(|at| {
            let passed = Timestamp::from(at.get()).min(stored_at);
            Timestamp::from(until.get()).plus_ms(END_SLACK_MS) < passed
        });
        let begun = OperatorEntry {
            until: before.until,
            ..after.clone()
        };
        begun == *before && before.until.is_none_or(|end| until <= end) && !reaches_back
    };
    let mut after = next.operators.iter();
    after.any(|after| after == before || ended(after))
}

/// Whether a key counts no longer, or only for a moment more.
fn hands_over(list: &OperatorList, key: &str, stored_at: Timestamp) -> bool {
    let soon = stored_at.plus_ms(HANDOVER_MS);
    list.terms_at(key, soon.into()).next().is_none()
}

pub(super) fn has_key(list: &OperatorList, key: &str) -> bool {
    list.operators.iter().any(|entry| entry.key.as_str() == key)
}

/// Whether `after` is `before` with an end that was set about now.
fn ends(before: &OperatorEntry, after: &OperatorEntry, stored_at: Timestamp) -> bool {
    let Some(until) = after.until else {
        return false;
    };
    let same = OperatorEntry {
        until: None,
        ..after.clone()
    };
    before.until.is_none()
        && *before == same
        && Timestamp::from(until.get()).plus_ms(NEWCOMER_SLACK_MS) >= stored_at
}

/// Whether `next` leaves out or changes what is known, so that older decisions could lose their signer.
pub(crate) fn loses(known: &OperatorList, next: &OperatorList) -> bool {
    !known
        .operators
        .iter()
        .all(|entry| next.operators.contains(entry))
        || known.operator_approval != next.operator_approval
}

/// What is known, with the keys that a refused list would have added, as newcomers.
pub(crate) fn merged(
    known: &OperatorList,
    refused: &OperatorList,
    stored_at: Timestamp,
) -> OperatorList {
    let mut list = known.clone();
    for entry in &refused.operators {
        if has_key(&list, entry.key.as_str()) || list.is_waiting(entry.key.as_str()) {
            continue;
        }
        let from = Timestamp::from(entry.from.get()).max(stored_at);
        super::change::arrive(&mut list, entry.clone(), from);
    }
    for waiting in &refused.waiting {
        let key = waiting.key.as_str();
        if !has_key(&list, key) && !list.is_waiting(key) {
            list.waiting.push(waiting.clone());
        }
    }
    list
}

#[cfg(test)]
mod tests {
    use super::super::change::{Change, Limits, apply, arrive};
    use super::*;
    use countersign_wire::{PublicKey, Risk, Timestamp as Stamp};
    use nkeys::KeyPair;

    const NOW: Timestamp = Timestamp(1_000_000);

    fn key() -> PublicKey {
        PublicKey::of(&KeyPair::new_user()).unwrap()
    }

    fn entry(key: &PublicKey, from: i64) -> OperatorEntry {
        let from = Stamp::new(Timestamp(from).into());
        OperatorEntry::new(key.clone(), "Ada".into(), KeyRole::Human, from)
    }

    /// Ada without limits, Grace up to low risk, Mallory retired.
    fn realm(approval: bool) -> (OperatorList, [PublicKey; 3]) {
        let [ada, grace, mallory] = [key(), key(), key()];
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
        (list, [ada, grace, mallory])
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
        let (mut list, [ada, grace, _]) = realm(false);
        for (ahead, ends, lawful) in [
            (0, 0, Lawful::ByOperator),
            (165_000, 0, Lawful::ByOperator),
            (3_600_000, 0, Lawful::ByOperator),
            (165_000, -60_000, Lawful::ByOperator),
            (165_000, -60_001, Lawful::No),
            (0, -60_001, Lawful::No),
        ] {
            list.at = Some(Stamp::new(NOW.plus_ms(ahead).into()));
            let mut next = list.clone();
            apply(&mut next, &Change::Retire(grace.clone()), NOW.plus_ms(ends)).unwrap();
            assert_eq!(
                judge(&list, &next, ada.as_str(), NOW),
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
            let (list, [ada, grace, mallory]) = realm(approval);
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
            let switched = after(&list, Change::Approval(!approval));
            let rotated = Change::Rotate {
                old: grace.clone(),
                new: new.clone(),
                word: None,
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
                    open,
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
                ("rotates Grace", after(&list, rotated), "yes", "yes", "no"),
                ("rotates her wider", wider, "yes", open, "no"),
                ("rotates her into two", twice, "yes", open, "no"),
                ("gives her a second key", beside, "yes", open, open),
            ];
            for (what, next, full, limited, stranger) in table {
                let word = |signer: &PublicKey| match judge(&list, &next, signer.as_str(), NOW) {
                    Lawful::No => "no",
                    _ => "yes",
                };
                assert_eq!(word(&ada), full, "Ada {what}");
                assert_eq!(word(&grace), limited, "Grace {what}, approval {approval}");
                for signer in [&mallory, &new] {
                    assert_eq!(
                        word(signer),
                        stranger,
                        "a stranger {what}, approval {approval}"
                    );
                }
            }
        }
    }

    #[test]
    fn what_a_refused_list_would_have_added_waits_or_arrives_now() {
        let new = key();
        for approval in [false, true] {
            let (list, [ada, ..]) = realm(approval);
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
            assert_eq!(judge(&list, &merged, ada.as_str(), NOW), Lawful::ByOperator);
        }
    }
}
