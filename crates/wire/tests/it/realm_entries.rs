//! Entries and asks of the realm log, one at a time: what they change in words, and whose they are.

use countersign_wire::{
    Context, Sha256Digest, SignedEnvelope, policy_subject,
    realm::{Ask, Does, Entry, Realm, Word, slot_of},
};
use serde_json::{Value, json};

use crate::{
    realm_model::{entry, founding, key, recovery, text},
    support::{REALM, pair, published},
};

/// Writes entries one after the other.
struct Pen {
    realm: Realm,
    sequence: u64,
}

impl Pen {
    fn new() -> Self {
        let first = entry(1, 1, None, &founding());
        let mut realm = Realm::new(REALM, Entry::read(&first).unwrap().digest);
        assert_eq!(realm.apply(1, 1, &first), Word::Ok);
        Self { realm, sequence: 1 }
    }

    /// What it changes, in words; the word of what does nothing.
    fn write(&mut self, by: u8, change: &Value) -> Result<Vec<&'static str>, Word> {
        let head: (u64, Option<Sha256Digest>) = self
            .realm
            .chain
            .last()
            .map(|head| (head.n, Some(head.digest)))
            .unwrap();
        let message = entry(by, head.0 + 1, head.1, change);
        let judged = self.realm.judge(&Entry::read(&message).unwrap());
        self.sequence += 1;
        let word = self
            .realm
            .apply(self.realm.next_slot, self.sequence, &message);
        assert_eq!(word, judged);
        match word {
            Word::Ok => Ok(self
                .realm
                .chain
                .last()
                .unwrap()
                .does
                .iter()
                .map(|does| does.as_str())
                .collect()),
            _ => Err(word),
        }
    }

    fn changed(&self, byte: u8, change: impl FnOnce(&mut Value)) -> Value {
        let mut record = Value::Object(self.realm.operators[&text(byte)].fields.clone());
        change(&mut record);
        json!({"operators": [record]})
    }
}

fn newcomer(byte: u8) -> Value {
    json!({"id": text(byte), "name": "N", "keys": [key(byte, "human", &text(byte))]})
}

#[test]
fn what_an_entry_changes_is_said_in_the_words_of_the_audit_log() {
    let mut pen = Pen::new();
    assert_eq!(pen.realm.chain[0].does, [Does::Founded]);
    let two = json!({"operators": [newcomer(2), newcomer(3)], "realm": {"acceptance": true}});
    assert_eq!(pen.write(1, &two), Ok(vec!["let_in", "acceptance_on"]));
    let away = json!({"operators": [{"id": text(4), "keys": []}]});
    assert_eq!(pen.write(1, &away), Ok(vec!["turned_away"]));
    let limited = pen.changed(2, |record| record["limits"] = json!({"max_risk": "low"}));
    assert_eq!(pen.write(1, &limited), Ok(vec!["limited"]));
    let in_other_words = pen.changed(2, |record| {
        record["limits"] = json!({"max_risk": "low", "workspaces": null})
    });
    assert_eq!(pen.write(1, &in_other_words), Ok(vec![]));
    let admin = pen.changed(3, |record| {
        record["admin"] = json!(true);
        record["name"] = json!("M");
    });
    assert_eq!(pen.write(1, &admin), Ok(vec!["renamed", "admin_on"]));
    let keys = pen.changed(3, |record| {
        let keys = record["keys"].as_array_mut().unwrap();
        keys[0]["device"] = json!("a desk");
        keys.push(key(11, "auto", &text(3)));
    });
    assert_eq!(pen.write(3, &keys), Ok(vec!["key_added", "key_changed"]));
    let fewer = pen.changed(3, |record| {
        drop(record["keys"].as_array_mut().unwrap().pop())
    });
    assert_eq!(pen.write(1, &fewer), Ok(vec!["key_ended"]));
    let paper = json!({"realm": {"recovery": recovery(20), "acceptance": false}});
    assert_eq!(
        pen.write(1, &paper),
        Ok(vec!["acceptance_off", "recovery_set"])
    );
    let unknown = pen.changed(3, |record| record["later"] = json!(1));
    assert_eq!(pen.write(1, &unknown), Ok(vec![]));
    let both = json!({"operators": [{"id": text(1), "keys": []}, newcomer(5)]});
    assert_eq!(pen.write(20, &both), Ok(vec!["let_in", "ended"]));
    let off = pen.changed(3, |record| record["admin"] = json!(false));
    assert_eq!(pen.write(20, &off), Err(Word::LastAdmin));
    assert_eq!(pen.write(1, &off), Err(Word::UnknownKey));
}

#[test]
fn a_slot_is_a_decimal_number_and_no_other_subject_is_one() {
    for (slot, number) in [
        ("1", Some(1)),
        ("999999999999999", Some(999_999_999_999_999)),
        ("1000000000000000", None),
        ("0", None),
        ("01", None),
        ("+1", None),
        ("1.2", None),
        ("", None),
        ("one", None),
        ("\u{661}", None),
        (" 1", None),
        ("1\n", None),
    ] {
        assert_eq!(
            slot_of(&format!("countersign.v1.realm.{slot}")),
            number,
            "{slot:?}"
        );
    }
    assert_eq!(slot_of("countersign.v1.realms.1"), None);
}

fn ask(byte: u8, change: impl FnOnce(&mut Value)) -> (String, Vec<u8>) {
    let under = Ask::policy_key(&text(byte));
    let value = ask_under(&under, byte, change);
    (under, value)
}

fn ask_under(under: &str, byte: u8, change: impl FnOnce(&mut Value)) -> Vec<u8> {
    let mut payload = json!({
        "v": 1, "at": "x", "name": "Grace", "operator": text(byte), "key": key(byte, "human", &text(byte)),
        "later": true,
    });
    change(&mut payload);
    let (subject, payload) = (policy_subject(under), serde_json::to_vec(&payload).unwrap());
    let sealed = SignedEnvelope::seal(&pair(byte), Context::Policy, &REALM, &subject, &payload);
    sealed.unwrap().to_bytes().unwrap()
}

#[test]
fn an_ask_is_its_keys_own_and_agreed_to() {
    let (under, value) = ask(2, |_| {});
    let read = Ask::read(&REALM, &under, &value).unwrap();
    assert_eq!(
        (read.name.as_str(), read.operator.as_str()),
        ("Grace", text(2).as_str())
    );
    assert_eq!(Ask::read(&REALM, &Ask::policy_key(&text(3)), &value), None);
    // A key cannot put its ask in the place of another's, nor under another's name.
    let elsewhere = Ask::policy_key(&text(3));
    assert_eq!(
        Ask::read(&REALM, &elsewhere, &ask_under(&elsewhere, 2, |_| {})),
        None
    );
    let named = String::from_utf8(value).unwrap();
    let named = named.replace(
        &format!("\"key\":\"{}", text(2)),
        &format!("\"key\":\"{}", text(3)),
    );
    assert_eq!(Ask::read(&REALM, &under, named.as_bytes()), None);
    let beside = key(2, "auto", &text(1));
    let (under, value) = ask(2, |ask| {
        ask["operator"] = json!(text(1));
        ask["key"] = beside;
    });
    assert!(Ask::read(&REALM, &under, &value).is_some());
    for (field, wrong) in [
        ("v", json!(2)),
        ("at", json!("")),
        ("name", Value::Null),
        ("operator", json!(text(1))),
        ("key", key(3, "human", &text(3))),
        ("key", key(2, "auto", &text(3))),
    ] {
        let (under, value) = ask(2, |ask| ask[field] = wrong.clone());
        assert_eq!(Ask::read(&REALM, &under, &value), None, "{field} {wrong}");
    }
}

#[test]
fn a_device_asks_by_the_record_in_its_ask() {
    use base64::{Engine as _, engine::general_purpose::URL_SAFE_NO_PAD};
    let vectors: Value = serde_json::from_slice(&published("vectors/devices.json")).unwrap();
    let signed = vectors["signatures"].as_array().unwrap();
    let own = signed
        .iter()
        .find(|row| row["name"].as_str().unwrap().starts_with("its own ask"))
        .unwrap();
    let under = own["subject"]
        .as_str()
        .unwrap()
        .strip_prefix("$KV.CS_POLICY.")
        .unwrap();
    let payload = own["payload"].as_str().unwrap();
    let value = |payload: &str| {
        let payload = URL_SAFE_NO_PAD.encode(payload);
        json!({"payload": payload, "key": own["record"]["key"], "sig": own["sig"]}).to_string()
    };
    assert!(Ask::read(&REALM, under, value(payload).as_bytes()).is_some());
    let other = payload.replace("Ada's phone", "Ada's other phone");
    assert_eq!(Ask::read(&REALM, under, value(&other).as_bytes()), None);
}
