//! Who may change what: before and after are compared, record by record.
//!
//! All or nothing: the first thing that its signer may not is the entry's word.

use std::{collections::HashMap, sync::Arc};

use serde_json::Value;

use super::{
    entry::{Entry, is_text},
    record::{Record, SigningKey, consents},
    state::Realm,
};
use crate::PublicKey;

/// What becomes of a message.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Word {
    /// In a slot although a lower one was free when it was stored.
    Gap,
    /// Too large, or of another form.
    Unreadable,
    /// The signature does not hold, or is another's.
    BadSignature,
    /// Not the number and digest that come next.
    NotNext,
    /// Signed neither by a desk key in force nor by the recovery key.
    UnknownKey,
    /// `operators` or `realm` has another form.
    BadRecord,
    /// A key or an id that was named before.
    KeyTaken,
    /// A key that did not consent.
    BadProof,
    /// A change that its signer may not make.
    NotPermitted,
    /// No administrator would be left.
    LastAdmin,
    /// Nothing would be another.
    NoChange,
    /// It takes effect.
    Ok,
}

crate::words::words!(Word {
    Gap => "gap", Unreadable => "unreadable", BadSignature => "bad_signature", NotNext => "not_next",
    UnknownKey => "unknown_key", BadRecord => "bad_record", KeyTaken => "key_taken",
    BadProof => "bad_proof", NotPermitted => "not_permitted", LastAdmin => "last_admin",
    NoChange => "no_change", Ok => "ok",
});

/// What an entry changes, in words.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Does {
    /// The realm begins.
    Founded,
    /// An operator comes.
    LetIn,
    /// A newcomer is refused.
    TurnedAway,
    /// An operator ends.
    Ended,
    /// Other limits.
    Limited,
    /// Another name.
    Renamed,
    /// An administrator from now on.
    AdminOn,
    /// No administrator any more.
    AdminOff,
    /// A key comes.
    KeyAdded,
    /// A key ends.
    KeyEnded,
    /// A field of a key changes.
    KeyChanged,
    /// Newcomers wait for a person.
    AcceptanceOn,
    /// Newcomers are let in without a person.
    AcceptanceOff,
    /// Another recovery key.
    RecoverySet,
}

crate::words::words!(Does {
    Founded => "founded", LetIn => "let_in", TurnedAway => "turned_away", Ended => "ended",
    Limited => "limited", Renamed => "renamed", AdminOn => "admin_on", AdminOff => "admin_off",
    KeyAdded => "key_added", KeyEnded => "key_ended", KeyChanged => "key_changed",
    AcceptanceOn => "acceptance_on", AcceptanceOff => "acceptance_off",
    RecoverySet => "recovery_set",
});

/// What an entry makes of the state, while it is judged.
pub(super) struct Plan {
    /// The operators that change; `None`: they end.
    pub(super) operators: HashMap<String, Option<Arc<Record>>>,
    /// The keys that come, and whose they are. Nobody's is the recovery key.
    pub(super) owners: HashMap<String, Option<String>>,
    pub(super) acceptance: bool,
    pub(super) recovery: Option<PublicKey>,
    pub(super) does: Vec<Does>,
    changes: bool,
}

/// Who signs an entry.
struct By<'a> {
    key: &'a str,
    /// The operator of that key; none of the recovery key and in entry 1.
    own: Option<&'a str>,
    /// An administrator or the recovery key.
    everything: bool,
}

/// Judges what an entry changes; `own` is the operator whose desk key signed it.
pub(super) fn plan(state: &Realm, entry: &Entry, own: Option<&str>) -> Result<Plan, Word> {
    let records = Record::read_all(entry.fields.get("operators")).ok_or(Word::BadRecord)?;
    let settings = settings(entry.fields.get("realm")).ok_or(Word::BadRecord)?;
    let names_itself = |record: &Record| {
        let id = record.id.as_str();
        record.keys.is_empty() || state.owners.contains_key(id) || record.has_desk(id)
    };
    if !records.iter().all(names_itself) {
        return Err(Word::BadRecord);
    }
    let is_admin = |id: &str| state.operators.get(id).is_some_and(|record| record.admin);
    let by = By {
        key: entry.by.as_str(),
        own,
        everything: own.is_none_or(is_admin),
    };
    let mut plan = Plan {
        operators: HashMap::new(),
        owners: HashMap::new(),
        acceptance: state.acceptance,
        recovery: state.recovery.clone(),
        does: Vec::new(),
        changes: false,
    };
    for record in records {
        plan.record(state, &by, record)?;
    }
    plan.settings(state, &by, settings)?;
    let mut left = plan.operators.values().flatten();
    let mut kept = state
        .operators
        .iter()
        .filter(|(id, _)| !plan.operators.contains_key(*id));
    if !left.any(|record| record.admin) && !kept.any(|(_, record)| record.admin) {
        return Err(Word::LastAdmin);
    }
    if !plan.changes {
        return Err(Word::NoChange);
    }
    plan.does.sort_unstable();
    plan.does.dedup();
    if state.chain.is_empty() {
        plan.does = vec![Does::Founded];
    }
    Ok(plan)
}

/// What `realm` names.
struct Settings<'a> {
    acceptance: Option<bool>,
    recovery: Option<(PublicKey, &'a str)>,
}

fn settings(realm: Option<&Value>) -> Option<Settings<'_>> {
    let mut settings = Settings {
        acceptance: None,
        recovery: None,
    };
    let Some(realm) = realm else {
        return Some(settings);
    };
    let fields = realm.as_object()?;
    if let Some(acceptance) = fields.get("acceptance") {
        settings.acceptance = Some(acceptance.as_bool()?);
    }
    if let Some(recovery) = fields.get("recovery") {
        let proof = recovery
            .get("proof")
            .filter(|proof| is_text(proof, 0, 4096))?;
        let key = recovery.get("key")?.as_str()?.parse().ok()?;
        settings.recovery = Some((key, proof.as_str()?));
    }
    Some(settings)
}

impl Plan {
    /// Whose key it is, or was; the inner `None` is nobody's.
    fn owner<'a>(&'a self, state: &'a Realm, key: &str) -> Option<&'a Option<String>> {
        self.owners.get(key).or_else(|| state.owners.get(key))
    }

    fn record(&mut self, state: &Realm, by: &By<'_>, record: Record) -> Result<(), Word> {
        let id = record.id.as_str();
        let before = state.operators.get(id);
        let had = |key: &str| before.and_then(|before| before.key(key));
        let owner = self.owner(state, id);
        let ended = before.is_none() && owner.is_some();
        let taken =
            |key: &&SigningKey| had(&key.key).is_none() && self.owner(state, &key.key).is_some();
        if owner.is_some_and(|owner| owner.as_deref() != Some(id))
            || record.keys.iter().any(|key| taken(&key))
            || (ended && !record.keys.is_empty())
        {
            return Err(Word::KeyTaken);
        }
        let changed: Vec<&SigningKey> = record
            .keys
            .iter()
            .filter(|key| had(&key.key) != Some(*key))
            .collect();
        if !changed.iter().all(|key| key.agrees(state.realm(), id)) {
            return Err(Word::BadProof);
        }
        if ended {
            return Ok(());
        }
        let does = match before {
            None => let_in(state, by, &record)?,
            Some(before) => changes(by, before, &record, &changed)?,
        };
        let Some(does) = does else { return Ok(()) };
        self.does.extend(does);
        self.changes = true;
        let id = id.to_owned();
        let coming: Vec<String> = record.keys.iter().map(|key| key.key.clone()).collect();
        self.owners
            .extend(coming.into_iter().map(|key| (key, Some(id.clone()))));
        self.owners.insert(id.clone(), Some(id.clone()));
        let after = (!record.keys.is_empty()).then(|| Arc::new(record));
        self.operators.insert(id, after);
        Ok(())
    }

    fn settings(&mut self, state: &Realm, by: &By<'_>, to: Settings<'_>) -> Result<(), Word> {
        if let Some(acceptance) = to.acceptance.filter(|to| *to != state.acceptance) {
            by.needs(by.everything)?;
            self.acceptance = acceptance;
            self.changes = true;
            self.does.push(if acceptance {
                Does::AcceptanceOn
            } else {
                Does::AcceptanceOff
            });
        }
        let Some((key, proof)) = to
            .recovery
            .filter(|(key, _)| Some(key) != state.recovery.as_ref())
        else {
            return Ok(());
        };
        if self.owner(state, key.as_str()).is_some() {
            return Err(Word::KeyTaken);
        }
        if !consents(
            state.realm(),
            key.as_str(),
            &format!("{key}\nrecovery"),
            proof,
        ) {
            return Err(Word::BadProof);
        }
        let own = state
            .recovery
            .as_ref()
            .is_none_or(|known| known.as_str() == by.key);
        by.needs(by.everything && own)?;
        self.owners.insert(key.as_str().to_owned(), None);
        self.recovery = Some(key);
        self.changes = true;
        self.does.push(Does::RecoverySet);
        Ok(())
    }
}

impl By<'_> {
    fn needs(&self, right: bool) -> Result<(), Word> {
        right.then_some(()).ok_or(Word::NotPermitted)
    }
}

/// A new operator: with the own key alone, but for the founder.
fn let_in(state: &Realm, by: &By<'_>, record: &Record) -> Result<Option<Vec<Does>>, Word> {
    let founder = state.chain.is_empty() && record.has_desk(by.key);
    let alone = record.keys.iter().all(|key| key.key == record.id.as_str());
    by.needs(by.everything && (alone || founder))?;
    Ok(Some(vec![if record.keys.is_empty() {
        Does::TurnedAway
    } else {
        Does::LetIn
    }]))
}

/// What is another of a known operator; `None` where nothing is.
fn changes(
    by: &By<'_>,
    before: &Record,
    record: &Record,
    changed: &[&SigningKey],
) -> Result<Option<Vec<Does>>, Word> {
    let himself = by.own == Some(before.id.as_str());
    let ends = record.keys.is_empty();
    let fewer = before.keys.iter().any(|key| record.key(&key.key).is_none());
    let titled = !ends && !record.is_titled_as(before);
    by.needs(changed.is_empty() || himself)?;
    by.needs(!fewer || himself || by.everything)?;
    by.needs(!titled || by.everything)?;
    if !(fewer || titled) && changed.is_empty() {
        return Ok(None);
    }
    if ends {
        return Ok(Some(vec![Does::Ended]));
    }
    let added = |key: &&SigningKey| before.key(&key.key).is_none();
    let words = [
        (record.limits != before.limits, Does::Limited),
        (record.name != before.name, Does::Renamed),
        (record.admin && !before.admin, Does::AdminOn),
        (!record.admin && before.admin, Does::AdminOff),
        (changed.iter().any(added), Does::KeyAdded),
        (fewer, Does::KeyEnded),
        (!changed.iter().all(added), Does::KeyChanged),
    ];
    let said = words.into_iter().filter(|(is, _)| *is);
    Ok(Some(said.map(|(_, does)| does).collect()))
}
