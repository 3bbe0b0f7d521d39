//! The fold of the realm log against a second writing of it: whole states, one for each entry, compared as JSON.

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::{LazyLock, Mutex},
};

use countersign_wire::{
    Context, Sha256Digest, canonical_json,
    realm::{Entry, REALM_SUBJECT, Realm},
    sign,
};
use nkeys::KeyPair;
use proptest::prelude::*;
use serde_json::{Map, Value, json};

use crate::support::{REALM, pair, public};

const EPOCH: &str = "0b7c9c9e-1d4c-4a54-9a53-0d7d3c1f2a11";
const DESKS: u8 = 6;

pub(crate) fn text(byte: u8) -> String {
    static TEXTS: LazyLock<Vec<String>> = LazyLock::new(|| {
        let texts = (0..40).map(|byte| public(byte).to_string());
        texts.collect()
    });
    TEXTS[usize::from(byte)].clone()
}

fn proof(byte: u8, payload: &str) -> Value {
    static PROOFS: LazyLock<Mutex<BTreeMap<(u8, String), Value>>> = LazyLock::new(Mutex::default);
    let mut proofs = PROOFS.lock().unwrap();
    let signed = || {
        sign(
            &pair(byte),
            Context::Key,
            &REALM,
            REALM_SUBJECT,
            payload.as_bytes(),
        )
    };
    let known = proofs.entry((byte, payload.to_owned()));
    known.or_insert_with(|| json!(signed().unwrap())).clone()
}

pub(crate) fn key(byte: u8, role: &str, operator: &str) -> Value {
    json!({"key": text(byte), "role": role, "proof": proof(byte, &format!("{operator}\n{role}"))})
}

pub(crate) fn recovery(byte: u8) -> Value {
    let key = text(byte);
    json!({"key": key, "proof": proof(byte, &format!("{key}\nrecovery"))})
}

/// Signs what an entry changes for the place after `prev`.
pub(crate) fn entry(by: u8, n: u64, prev: Option<Sha256Digest>, change: &Value) -> Vec<u8> {
    let mut payload = Entry::frame(n, prev, "2026-11-25T12:00:00.000Z", &public(by));
    payload["policy"] = json!({"epoch": EPOCH, "seq": n * 3});
    for (name, value) in change.as_object().unwrap() {
        payload[name] = value.clone();
    }
    let signer: KeyPair = pair(by);
    Entry::seal(&signer, &REALM, &payload).unwrap()
}

/// What one entry made of the operators. `named` has whose each key is; nobody's is a recovery key.
#[derive(Clone, Default)]
struct Whole {
    operators: BTreeMap<String, Value>,
    named: BTreeMap<String, String>,
    acceptance: bool,
    recovery: Option<String>,
}

fn keys(record: Option<&Value>) -> BTreeMap<String, Value> {
    let keys = record
        .and_then(|record| record["keys"].as_array())
        .into_iter()
        .flatten();
    keys.map(|key| (key["key"].as_str().unwrap().to_owned(), key.clone()))
        .collect()
}

fn title(record: &Value) -> String {
    let mut fields: Map<String, Value> = record.as_object().unwrap().clone();
    fields.remove("id");
    fields.remove("keys");
    canonical_json(&Value::Object(fields)).unwrap()
}

fn consents(id: &str, key: &Value) -> bool {
    let byte = (1..30).find(|byte| text(*byte) == key["key"]);
    byte.is_some_and(|byte| {
        self::key(byte, key["role"].as_str().unwrap(), id)["proof"] == key["proof"]
    })
}

impl Whole {
    fn signer(&self, by: &str) -> Option<&str> {
        let has = |record: &Value| {
            keys(Some(record))
                .get(by)
                .is_some_and(|key| key["role"] == "human")
        };
        let found = self.operators.iter().find(|(_, record)| has(record));
        found.map(|(id, _)| id.as_str())
    }

    /// The word of an entry whose records have their form, and what it leaves.
    fn judge(&self, by: &str, change: &Value, first: bool) -> Result<Self, &'static str> {
        let own = self.signer(by);
        if !first && own.is_none() && self.recovery.as_deref() != Some(by) {
            return Err("unknown_key");
        }
        let admin = own.is_none_or(|own| self.operators[own]["admin"] == true);
        let records = change["operators"].as_array().cloned().unwrap_or_default();
        for record in &records {
            let (id, keys) = (record["id"].as_str().unwrap(), keys(Some(record)));
            let new = !self.named.contains_key(id) && !keys.is_empty();
            if new && keys.get(id).is_none_or(|key| key["role"] != "human") {
                return Err("bad_record");
            }
        }
        let (mut after, mut same) = (self.clone(), true);
        for record in &records {
            let id = record["id"].as_str().unwrap();
            let (before, now) = (self.operators.get(id), keys(Some(record)));
            let had = keys(before);
            let come: Vec<_> = now.keys().filter(|key| !had.contains_key(*key)).collect();
            let known = after.named.get(id).cloned();
            if known.as_deref().is_some_and(|owner| owner != id)
                || come.iter().any(|key| after.named.contains_key(*key))
                || (known.is_some() && before.is_none() && !now.is_empty())
            {
                return Err("key_taken");
            }
            let other: Vec<_> = now
                .iter()
                .filter(|(name, key)| had.get(*name) != Some(*key))
                .collect();
            if other
                .iter()
                .any(|(_, key)| key["role"] != "module" && !consents(id, key))
            {
                return Err("bad_proof");
            }
            let fewer = had.keys().any(|key| !now.contains_key(key));
            let titled =
                !now.is_empty() && before.is_some_and(|before| title(before) != title(record));
            let right = match (before, known) {
                (None, Some(_)) => continue,
                (None, None) => {
                    admin && (now.keys().all(|key| key == id) || (first && now.contains_key(by)))
                }
                (Some(_), _) if other.is_empty() && !fewer && !titled => continue,
                (Some(_), _) => {
                    let himself = own == Some(id);
                    (other.is_empty() || himself)
                        && (!fewer || himself || admin)
                        && (!titled || admin)
                }
            };
            if !right {
                return Err("not_permitted");
            }
            same = false;
            after.named.insert(id.to_owned(), id.to_owned());
            after
                .named
                .extend(come.into_iter().map(|key| (key.clone(), id.to_owned())));
            after.operators.remove(id);
            if !now.is_empty() {
                after.operators.insert(id.to_owned(), record.clone());
            }
        }
        if let Some(acceptance) = change["realm"]["acceptance"]
            .as_bool()
            .filter(|to| *to != self.acceptance)
        {
            if !admin {
                return Err("not_permitted");
            }
            (after.acceptance, same) = (acceptance, false);
        }
        let paper = change["realm"]["recovery"]["key"].as_str();
        if let Some(paper) = paper.filter(|paper| self.recovery.as_deref() != Some(*paper)) {
            if after.named.contains_key(paper) {
                return Err("key_taken");
            }
            if !(1..30).any(|byte| recovery(byte) == change["realm"]["recovery"]) {
                return Err("bad_proof");
            }
            if !admin || (self.recovery.is_some() && self.recovery.as_deref() != Some(by)) {
                return Err("not_permitted");
            }
            after.named.insert(paper.to_owned(), String::new());
            (after.recovery, same) = (Some(paper.to_owned()), false);
        }
        if !after
            .operators
            .values()
            .any(|record| record["admin"] == true)
        {
            return Err("last_admin");
        }
        if same { Err("no_change") } else { Ok(after) }
    }
}

/// What a random change is made of.
type Bytes = [u8; 8];

/// The record of an operator as it is, or a new one's, with something else about it.
fn change(now: &Whole, bytes: &Bytes) -> Value {
    let [_, whom, what, which, ..] = *bytes;
    let id = text(1 + whom % DESKS);
    let id = match now.operators.keys().nth(usize::from(whom / DESKS) % 8) {
        Some(known) => known.clone(),
        None => id,
    };
    let fresh = json!({"id": id, "name": "N", "keys": [key(1 + whom % DESKS, "human", &id)]});
    let mut record = now.operators.get(&id).cloned().unwrap_or(fresh);
    let extra = 10 + which % 8;
    match what % 14 {
        0 | 1 => {}
        2 => record["keys"] = json!([]),
        3 => record["name"] = json!(if which % 2 == 0 { "N" } else { "M" }),
        4 if record["limits"].is_null() => record["admin"] = json!(true),
        5 => record["admin"] = json!(false),
        6 if record["admin"] != true => {
            record["limits"] = json!({"max_risk": if which % 2 == 0 { "low" } else { "high" }});
        }
        7 => drop(record.as_object_mut().unwrap().remove("limits")),
        8 | 9 => record["keys"]
            .as_array_mut()
            .unwrap()
            .push(key(extra, "auto", &id)),
        10 => record["keys"]
            .as_array_mut()
            .unwrap()
            .push(key(extra, "human", &id)),
        11 => record["keys"]
            .as_array_mut()
            .unwrap()
            .push(key(extra, "auto", "for another")),
        12 => record["keys"]
            .as_array_mut()
            .unwrap()
            .retain(|key| key["key"] != text(extra)),
        _ => record["later"] = json!({"n": which % 3}),
    }
    let named: BTreeSet<_> = keys(Some(&record)).into_keys().collect();
    let listed = record["keys"].as_array().unwrap();
    // The forms of records are tested elsewhere: here each key is there once, and one is a desk key.
    if named.len() != listed.len()
        || !(listed.is_empty() || listed.iter().any(|key| key["role"] == "human"))
    {
        return json!({});
    }
    json!({"operators": [record]})
}

/// Mostly a desk key in force: of an administrator, or of the operator that changes.
fn signer(now: &Whole, changes: &Value, bytes: &Bytes) -> u8 {
    let [who, .., by, _] = *bytes;
    match by % 16 {
        0 => return 20 + who % 3,
        1 => return 10 + who % 8,
        2 => return 1 + who % DESKS,
        _ => {}
    }
    let whose = &changes["operators"][0]["id"];
    let own = |record: &Value| {
        if by % 2 == 0 {
            record["admin"] == true
        } else {
            record["id"] == *whose
        }
    };
    let signs = |byte: &u8| {
        let record = now.signer(&text(*byte)).map(|id| &now.operators[id]);
        record.is_some_and(own)
    };
    let desks: Vec<u8> = (1..20).filter(signs).collect();
    if desks.is_empty() {
        1
    } else {
        desks[usize::from(who) % desks.len()]
    }
}

fn message(now: &Whole, head: (u64, Option<Sha256Digest>), bytes: &Bytes) -> Vec<u8> {
    let [who, whom, _, _, second, setting, by, late] = *bytes;
    let mut changes = change(now, bytes);
    if second % 4 == 0 && whom % DESKS != second % DESKS {
        let more = change(now, &[who, second, setting, by, 0, 0, 0, 0]);
        for record in more["operators"].as_array().into_iter().flatten() {
            let taken = |known: &Value| {
                keys(Some(known))
                    .keys()
                    .any(|key| keys(Some(record)).contains_key(key))
            };
            let listed = changes["operators"].as_array().cloned().unwrap_or_default();
            if !listed
                .iter()
                .any(|known| known["id"] == record["id"] || taken(known))
            {
                changes["operators"] = json!([listed, vec![record.clone()]].concat());
            }
        }
    }
    match setting % 12 {
        0 => changes["realm"] = json!({"acceptance": true}),
        1 => changes["realm"] = json!({"acceptance": false}),
        2 => changes["realm"] = json!({"recovery": recovery(20 + by % 3)}),
        3 => changes["realm"] = json!({"recovery": {"key": text(20 + by % 3), "proof": "x"}}),
        _ => {}
    }
    let signer = signer(now, &changes, bytes);
    let n = if late % 11 == 0 { head.0 } else { head.0 + 1 };
    entry(signer, n, head.1, &changes)
}

pub(crate) fn founding() -> Value {
    let record = json!({
        "id": text(1), "name": "Ada", "admin": true,
        "keys": [key(1, "human", &text(1)), key(10, "auto", &text(1))],
    });
    json!({"operators": [record], "realm": {"acceptance": false}})
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn a_log_folds_as_the_second_writing_of_the_rules_folds_it(steps in prop::collection::vec(any::<Bytes>(), 1..40)) {
        let first = entry(1, 1, None, &founding());
        let root = Entry::read(&first).unwrap().digest;
        let mut realm = Realm::new(REALM, root);
        // What was stored above each sequence is judged by the state beside it.
        let mut wholes = vec![(0, 0, Whole::default())];
        let mut head = (0, None);
        let mut stored = vec![(1, first)];
        let mut sequence = 0;
        for bytes in &steps {
            let (slot, sent) = stored.pop().unwrap();
            sequence += 1 + u64::from(bytes[7] % 3);
            let word = realm.apply(slot, sequence, &sent).as_str();
            let now = wholes.last().unwrap().2.clone();
            let read = Entry::read(&sent).unwrap();
            let next = read.n == head.0 + 1 && read.prev == head.1;
            let change = Value::Object(read.fields.clone());
            let judged = if next { now.judge(read.by.as_str(), &change, head.0 == 0) } else { Err("not_next") };
            prop_assert_eq!(word, judged.as_ref().err().copied().unwrap_or("ok"), "{}", change);
            if !matches!(word, "not_next" | "unknown_key") {
                head = (read.n, Some(read.digest));
                wholes.extend(judged.ok().map(|after| (sequence, read.n, after)));
            }
            let now = &wholes.last().unwrap().2;
            stored.push((slot + 1, message(now, head, bytes)));
        }
        let last = &wholes.last().unwrap().2;
        prop_assert_eq!(head, realm.chain.last().map_or((0, None), |head| (head.n, Some(head.digest))));
        prop_assert_eq!(last.acceptance, realm.acceptance);
        prop_assert_eq!(last.recovery.as_deref(), realm.recovery.as_ref().map(|key| key.as_str()));
        prop_assert!(last.operators.keys().eq(realm.operators.keys()));
        for byte in 1..30 {
            let key = text(byte);
            let at = |whole: &Whole| whole.operators.values().find_map(|record| {
                let found = keys(Some(record)).remove(&key)?;
                Some((record["id"].clone(), record["limits"]["max_risk"].clone(), found))
            });
            let term = |sequence| realm.term(&key, sequence).map(|term| {
                let risk = term.limits.as_ref().and_then(|limits| limits.max_risk);
                (json!(term.operator), json!(risk), Value::Object(term.key.fields.clone()))
            });
            let seen: Vec<_> = wholes.iter().map(|(since, n, whole)| (*since, *n, at(whole))).collect();
            prop_assert_eq!(&seen.last().unwrap().2, &term(None), "{}", byte);
            for sequence in 1..=sequence + 1 {
                let there = seen.iter().rev().find(|(since, _, _)| *since < sequence);
                prop_assert_eq!(there.and_then(|(_, _, there)| there.clone()), term(Some(sequence)), "{}", byte);
            }
            for revision in 0..(head.0 + 2) * 3 {
                let found = realm.register_term(&key, EPOCH, revision).map(|term| term.began.n);
                prop_assert_eq!(naive_term(&seen, revision), found, "{} {}", byte, revision);
            }
        }
    }
}

/// The stretches in which a key is the same, one after the other; each entry had read its number times three.
fn naive_term<T: PartialEq>(seen: &[(u64, u64, Option<T>)], revision: u64) -> Option<u64> {
    let mut stretches: Vec<(u64, Option<u64>)> = Vec::new();
    for ((_, _, before), (_, n, after)) in seen.iter().zip(&seen[1..]) {
        if before != after {
            if let Some(last) = stretches.last_mut() {
                last.1.get_or_insert(*n);
            }
            stretches.extend(after.as_ref().map(|_| (*n, None)));
        }
    }
    let fits = |(began, ended): &(u64, Option<u64>)| {
        began * 3 < revision && ended.is_none_or(|ended| ended * 3 >= revision)
    };
    stretches
        .into_iter()
        .rev()
        .find(fits)
        .map(|(began, _)| began)
}
