//! Changes of the list of operators, as pure functions.
//!
//! Terms are only added and, once, ended, so that every older decision is judged for ever as on its day. A realm always
//! keeps an operator.

use countersign_wire::{
    KeyRole, OperatorEntry, OperatorList, PublicKey, Risk, SignedEnvelope, WaitingKey,
    WorkspaceName,
};

use super::console_keys::{limits_of, own_key_of, own_keys};
use super::lawful;
use crate::Fault;
use crate::domain::Timestamp;

/// A key that enters automatically counts from a moment ago: the server's clock is an estimate.
const FROM_SLACK_MS: i64 = 5_000;

/// What is signed with the old key while the list is being written stays good.
const ROTATE_GRACE_MS: i64 = 2_000;

/// In which workspaces, and up to which risk, an operator may say more than no.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Limits {
    /// None: all.
    pub workspaces: Option<Vec<WorkspaceName>>,
    /// None: any.
    pub max_risk: Option<Risk>,
}

/// One change of the list.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Change {
    /// Accepts a waiting key, with a person's the one own key of its console that asked with it, or enters one.
    Add {
        /// Which.
        key: PublicKey,
        /// None: the name that it gave itself.
        name: Option<String>,
        /// None: the role that it asked for, `human` for one that did not ask.
        role: Option<KeyRole>,
        /// For a person's key.
        limits: Limits,
    },
    /// Ends a key for decisions stored later, or turns a waiting one away.
    Retire(PublicKey),
    /// The same, and with a person's key the own key of its console: whoever holds that folder could still answer.
    Leave(PublicKey),
    /// Begins a new term with these limits, which bind the own key of a person's console, too.
    Limit(PublicKey, Limits),
    /// Whether new keys wait until they are accepted.
    Approval(bool),
    /// An own new key takes over from the old one, with its term's name and limits.
    Rotate {
        /// In force now, and for a moment longer.
        old: PublicKey,
        /// In force from now on.
        new: PublicKey,
        /// The old key's word for the new one: [`countersign_wire::Handover`].
        word: Option<Box<SignedEnvelope>>,
    },
}

/// Why a change is not made.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ChangeError {
    /// Not on the list.
    #[error("no operator has the key {0}; see `countersign operators list`")]
    NoSuchKey(PublicKey),
    /// Nothing is known about a key that is to be entered.
    #[error("{0} is not waiting to be accepted; add --name to enter it anyway")]
    NoName(PublicKey),
    /// It counts already.
    #[error("{0} is already active; `countersign operators limit` changes what it may do")]
    Counts(PublicKey),
    /// It does not count.
    #[error("{0} is not active; accept it with `countersign operators add` first")]
    DoesNotCount(PublicKey),
    /// It is a console's key.
    #[error("{0} is a console's own key, and limits are for persons: limit the person's key")]
    NotAPerson(PublicKey),
    /// The last one who may change the list.
    #[error(
        "{0} is the last operator without limits; add another one first, so that somebody can still change the list"
    )]
    Last(PublicKey),
}

impl From<ChangeError> for Fault {
    fn from(error: ChangeError) -> Self {
        let message = error.to_string();
        match error {
            ChangeError::NoSuchKey(_) => Self::not_found(message),
            _ => Self::invalid_args(message),
        }
    }
}

/// Applies a change. False when everything is so already.
pub(crate) fn apply(
    list: &mut OperatorList,
    change: &Change,
    now: Timestamp,
) -> Result<bool, ChangeError> {
    match change {
        Change::Add {
            key,
            name,
            role,
            limits,
        } => add(list, key, name.as_deref(), *role, limits, now),
        Change::Retire(key) => retire(list, key, now),
        Change::Leave(key) => leave(list, key, now),
        Change::Limit(key, limits) => limit(list, key, limits, now),
        Change::Approval(on) => Ok(std::mem::replace(&mut list.operator_approval, *on) != *on),
        Change::Rotate { old, new, word } => rotate(list, old, new, word.as_deref(), now),
    }
}

/// A newcomer: on the list at once, or waiting where the realm wants that.
pub(crate) fn arrive(list: &mut OperatorList, entry: OperatorEntry, now: Timestamp) {
    if list.operator_approval {
        list.waiting.push(WaitingKey {
            key: entry.key,
            name: entry.name,
            role: entry.role,
            asked_at: wire(now),
            console: entry.console,
            extra: serde_json::Map::new(),
        });
    } else {
        list.waiting.retain(|waiting| waiting.key != entry.key);
        list.operators.push(OperatorEntry {
            from: wire(now.plus_ms(-FROM_SLACK_MS)),
            until: None,
            ..entry
        });
    }
}

/// A term as it begins now.
pub(super) fn from_now(term: &OperatorEntry, now: Timestamp) -> OperatorEntry {
    OperatorEntry {
        from: wire(now.plus_ms(-FROM_SLACK_MS)),
        ..term.clone()
    }
}

fn wire(at: Timestamp) -> countersign_wire::Timestamp {
    countersign_wire::Timestamp::new(at.into())
}

fn counts(list: &OperatorList, key: &PublicKey, now: Timestamp) -> bool {
    list.terms_at(key.as_str(), now.into()).next().is_some()
}

/// Whether a term has not ended yet: it counts, or will.
pub(super) fn is_open(entry: &OperatorEntry, now: Timestamp) -> bool {
    let open = |until: countersign_wire::Timestamp| Timestamp::from(until.get()) > now;
    entry.until.is_none_or(open)
}

/// The last term of a key that has not ended yet.
fn open_term(list: &OperatorList, key: &PublicKey, now: Timestamp) -> Option<OperatorEntry> {
    let mut terms = list.operators.iter();
    terms
        .rfind(|entry| entry.key == *key && is_open(entry, now))
        .cloned()
}

/// The same term with other limits, from now on or from when it begins.
fn with_limits(term: OperatorEntry, limits: &Limits, now: Timestamp) -> OperatorEntry {
    OperatorEntry {
        from: term.from.max(wire(now)),
        workspaces: limits.workspaces.clone(),
        max_risk: limits.max_risk,
        ..term
    }
}

fn add(
    list: &mut OperatorList,
    key: &PublicKey,
    name: Option<&str>,
    role: Option<KeyRole>,
    limits: &Limits,
    now: Timestamp,
) -> Result<bool, ChangeError> {
    if counts(list, key, now) {
        return Err(ChangeError::Counts(key.clone()));
    }
    let waiting = list
        .waiting
        .iter()
        .find(|waiting| waiting.key == *key)
        .cloned();
    let before = list
        .operators
        .iter()
        .rfind(|entry| entry.key == *key)
        .cloned();
    let known = waiting
        .as_ref()
        .map(|waiting| (&waiting.name, waiting.role));
    let known = known.or_else(|| before.as_ref().map(|entry| (&entry.name, entry.role)));
    let named = name.or(known.map(|(name, _)| name.as_str()));
    let named = named
        .ok_or_else(|| ChangeError::NoName(key.clone()))?
        .to_owned();
    let role = role
        .or(known.map(|(_, role)| role))
        .unwrap_or(KeyRole::Human);
    let limited = *limits != Limits::default();
    if limited && role != KeyRole::Human {
        return Err(ChangeError::NotAPerson(key.clone()));
    }
    // Terms of one key do not overlap. What was signed before this counts nowhere, also not for who joins later.
    let ended = before.as_ref().and_then(|entry| entry.until);
    let from = ended.map_or(now, |until| Timestamp::from(until.get()).max(now));
    list.waiting.retain(|waiting| waiting.key != *key);
    let console = waiting.as_ref().and_then(|waiting| waiting.console.clone());
    let console = console.or_else(|| before.and_then(|entry| entry.console));
    let limits = match role {
        KeyRole::Human => limits.clone(),
        KeyRole::Auto => limits_of(list, console.as_deref(), now),
    };
    list.operators.push(OperatorEntry {
        workspaces: limits.workspaces.clone(),
        max_risk: limits.max_risk,
        console: console.clone(),
        ..OperatorEntry::new(key.clone(), named, role, wire(from))
    });
    if role == KeyRole::Auto {
        return Ok(true);
    }
    // A person without the console's own key would see nothing answered in time by that console.
    if let Some(own) = waiting.and_then(|waiting| own_key_of(list, &waiting)) {
        list.waiting.retain(|waiting| waiting.key != own.key);
        list.operators.push(OperatorEntry {
            console: own.console,
            workspaces: limits.workspaces.clone(),
            max_risk: limits.max_risk,
            ..OperatorEntry::new(own.key, own.name, own.role, wire(from))
        });
    }
    bind_console(list, key, console.as_deref(), &limits, now);
    Ok(true)
}

/// A console answers automatically only what its person may allow. False when everything was so already.
fn bind_console(
    list: &mut OperatorList,
    person: &PublicKey,
    console: Option<&str>,
    limits: &Limits,
    now: Timestamp,
) -> bool {
    let mut changed = false;
    for term in own_keys(list, person, console, now) {
        if term.workspaces == limits.workspaces && term.max_risk == limits.max_risk {
            continue;
        }
        changed = true;
        end(list, &term.key, now);
        list.operators.push(with_limits(term, limits, now));
    }
    changed
}

fn leave(list: &mut OperatorList, key: &PublicKey, now: Timestamp) -> Result<bool, ChangeError> {
    let term = open_term(list, key, now);
    let changed = retire(list, key, now)?;
    let Some(term) = term.filter(|term| term.role == KeyRole::Human) else {
        return Ok(changed);
    };
    for own in own_keys(list, key, term.console.as_deref(), now) {
        end(list, &own.key, now);
    }
    Ok(changed)
}

fn retire(list: &mut OperatorList, key: &PublicKey, now: Timestamp) -> Result<bool, ChangeError> {
    let waiting = list.waiting.iter().position(|waiting| waiting.key == *key);
    let turned_away = waiting.map(|place| list.waiting.remove(place));
    if !list.operators.iter().any(|entry| entry.key == *key) {
        let asked = turned_away.ok_or_else(|| ChangeError::NoSuchKey(key.clone()))?;
        // What was turned away stays on the list, or it would register again.
        list.operators.push(OperatorEntry {
            until: Some(wire(now)),
            console: asked.console,
            ..OperatorEntry::new(asked.key, asked.name, asked.role, wire(now))
        });
        return Ok(true);
    }
    if open_term(list, key, now).is_none() {
        return Ok(turned_away.is_some());
    }
    end(list, key, now);
    keep_an_operator(list, key, now)?;
    Ok(true)
}

fn end(list: &mut OperatorList, key: &PublicKey, now: Timestamp) {
    for entry in &mut list.operators {
        if entry.key == *key && is_open(entry, now) {
            entry.until = Some(wire(now));
        }
    }
}

fn keep_an_operator(
    list: &OperatorList,
    key: &PublicKey,
    now: Timestamp,
) -> Result<(), ChangeError> {
    let left = list.operators.iter().any(|entry| {
        // One that ends in a moment is not left.
        entry.until.is_none()
            && entry.counts_at(now.into())
            && lawful::may_edit(list, entry.key.as_str(), now)
    });
    left.then_some(())
        .ok_or_else(|| ChangeError::Last(key.clone()))
}

fn limit(
    list: &mut OperatorList,
    key: &PublicKey,
    limits: &Limits,
    now: Timestamp,
) -> Result<bool, ChangeError> {
    if !list.operators.iter().any(|entry| entry.key == *key) && !list.is_waiting(key.as_str()) {
        return Err(ChangeError::NoSuchKey(key.clone()));
    }
    let Some(term) = open_term(list, key, now) else {
        return Err(ChangeError::DoesNotCount(key.clone()));
    };
    if term.role != KeyRole::Human {
        return Err(ChangeError::NotAPerson(key.clone()));
    }
    let console = term.console.clone();
    if term.workspaces == limits.workspaces && term.max_risk == limits.max_risk {
        // Its console's own key may be without them.
        return Ok(bind_console(list, key, console.as_deref(), limits, now));
    }
    end(list, key, now);
    // With its end: a key that has handed over does not come back.
    list.operators.push(with_limits(term, limits, now));
    bind_console(list, key, console.as_deref(), limits, now);
    keep_an_operator(list, key, now)?;
    Ok(true)
}

fn rotate(
    list: &mut OperatorList,
    old: &PublicKey,
    new: &PublicKey,
    word: Option<&SignedEnvelope>,
    now: Timestamp,
) -> Result<bool, ChangeError> {
    if counts(list, new, now) {
        return Ok(false);
    }
    let term = list.terms_at(old.as_str(), now.into()).last().cloned();
    let Some(term) = term.filter(|term| term.until.is_none()) else {
        return Err(ChangeError::DoesNotCount(old.clone()));
    };
    end(list, old, now.plus_ms(ROTATE_GRACE_MS));
    list.operators.push(OperatorEntry {
        key: new.clone(),
        from: wire(now.plus_ms(-FROM_SLACK_MS)),
        until: None,
        takes_over: word.cloned(),
        ..term
    });
    Ok(true)
}

#[cfg(test)]
mod tests {
    use super::*;
    use nkeys::KeyPair;
    use proptest::prelude::*;

    fn key() -> PublicKey {
        PublicKey::of(&KeyPair::new_user()).unwrap()
    }

    /// What every key may do at every second, as a later console reads it.
    fn history(list: &OperatorList, keys: &[PublicKey], until: i64) -> Vec<String> {
        let mut seen = Vec::new();
        for second in 0..until {
            let at = Timestamp(second * 1_000).into();
            for key in keys {
                let terms: Vec<_> = list
                    .terms_at(key.as_str(), at)
                    .map(|term| (term.role, &term.workspaces, term.max_risk))
                    .collect();
                seen.push(format!("{second} {terms:?}"));
            }
        }
        seen
    }

    #[test]
    fn a_key_that_begins_later_is_limited_and_ended_as_one_that_counts() {
        let [founder, person, own] = [key(), key(), key()];
        let entry = |key: &PublicKey, role, from| OperatorEntry {
            console: Some(if *key == founder { "c0" } else { "c1" }.into()),
            ..OperatorEntry::new(key.clone(), "x".into(), role, wire(Timestamp(from)))
        };
        let (now, later) = (Timestamp(100_000), Timestamp(200_000));
        for begins in [[0, 200_000], [200_000, 0], [200_000, 200_000]] {
            let mut list = OperatorList::new(vec![
                entry(&founder, KeyRole::Human, 0),
                entry(&person, KeyRole::Human, begins[0]),
                entry(&own, KeyRole::Auto, begins[1]),
            ]);
            let limits = Limits {
                max_risk: Some(Risk::Low),
                workspaces: None,
            };
            let limit = Change::Limit(person.clone(), limits);
            assert_eq!(apply(&mut list, &limit, now), Ok(true), "{begins:?}");
            for key in [&person, &own] {
                let terms: Vec<_> = list.terms_at(key.as_str(), later.into()).collect();
                assert_eq!(terms.len(), 1, "{begins:?}");
                assert_eq!(terms[0].max_risk, Some(Risk::Low), "{begins:?}");
            }
            let leave = Change::Leave(person.clone());
            assert_eq!(apply(&mut list, &leave, now), Ok(true), "{begins:?}");
            for key in [&person, &own] {
                assert!(!counts(&list, key, later), "{begins:?}");
            }
        }
    }

    proptest! {
        /// Decisions are judged by the list in force when they were stored: no later change may read
        /// differently there, and somebody can always change the list.
        #[test]
        fn no_change_reaches_back_and_an_operator_without_limits_is_always_left(
            steps in prop::collection::vec((0_usize..7, 0_usize..4, any::<bool>()), 1..25),
        ) {
            let keys: Vec<PublicKey> = (0..4).map(|_| key()).collect();
            let from = wire(Timestamp(0));
            let founder = OperatorEntry::new(keys[0].clone(), "Ada".into(), KeyRole::Human, from);
            let mut list = OperatorList::new(vec![founder]);
            for (place, (what, which, flag)) in steps.into_iter().enumerate() {
                let second = i64::try_from(place + 1).unwrap() * 20;
                let now = Timestamp(second * 1_000);
                let key = keys[which].clone();
                let limits = Limits {
                    max_risk: flag.then_some(Risk::Low),
                    workspaces: None,
                };
                let change = match what {
                    0 => Change::Add { key, name: Some("x".into()), role: None, limits },
                    1 => Change::Retire(key),
                    5 => Change::Leave(key),
                    2 => Change::Limit(key, limits),
                    3 => Change::Approval(flag),
                    4 => Change::Rotate { old: key, new: keys[(which + 1) % 4].clone(), word: None },
                    _ => {
                        let current = list.operators.iter().any(|entry| entry.key == key);
                        if !current && !list.is_waiting(key.as_str()) {
                            arrive(&mut list, OperatorEntry::new(key, "x".into(), KeyRole::Human, from), now);
                        }
                        continue;
                    }
                };
                let mut next = list.clone();
                if apply(&mut next, &change, now).is_err() {
                    continue;
                }
                // Terms begin a moment ago, for the sake of estimated clocks.
                let settled = second - 6;
                prop_assert_eq!(history(&list, &keys, settled), history(&next, &keys, settled));
                prop_assert!(keys.iter().any(|key| lawful::may_edit(&next, key.as_str(), now)));
                list = next;
            }
        }
    }
}
