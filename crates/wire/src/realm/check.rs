//! What this implementation makes of a file of vectors, in the shape of what the file expects. It compares nothing.

use std::collections::BTreeMap;

use base64::{Engine as _, engine::general_purpose::URL_SAFE_NO_PAD};
use serde::Deserialize;
use serde_json::{Map, Value, json};
use uuid::Uuid;

use super::{
    Facts, Limits, Mark, Realm, Record, SigningKey, Term, Word, device_may_set, passkey_holds,
    slot_of,
};
use crate::{
    Context, DecisionFault, DecisionVerdict, Effects, Origin, Risk, Sha256Digest, Timestamp,
};

#[derive(Deserialize)]
#[serde(tag = "kind", rename_all = "kebab-case")]
enum Vectors {
    RealmLog { realm: Uuid, logs: Vec<Log> },
    Devices(Devices),
}

#[derive(Deserialize)]
struct Log {
    name: String,
    root: Sha256Digest,
    messages: Vec<Message>,
    decisions: Vec<Asked>,
    votes: Vec<Asked>,
    registers: Vec<Register>,
    anchors: Vec<Anchor>,
}

#[derive(Deserialize)]
struct Message {
    seq: u64,
    subject: String,
    #[serde(default)]
    payload: String,
    payload_base64url: Option<String>,
}

#[derive(Deserialize)]
struct Asked {
    #[serde(default)]
    seq: u64,
    #[serde(default)]
    key: String,
    #[serde(default)]
    keys: Vec<String>,
    verdict: DecisionVerdict,
    #[serde(default = "operator")]
    origin: Origin,
    workspace: String,
    risk: String,
    effects: Option<String>,
    verifies: Vec<String>,
    at: Timestamp,
    /// Of a device that is no part of a log.
    #[serde(default)]
    limits: Value,
    #[serde(default)]
    until: Value,
}

fn operator() -> Origin {
    Origin::Operator
}

#[derive(Deserialize)]
struct Register {
    epoch: String,
    revision: u64,
    key: String,
}

#[derive(Deserialize)]
struct Anchor {
    n: u64,
    digest: Sha256Digest,
}

#[derive(Deserialize)]
struct Devices {
    realm: Uuid,
    signatures: Vec<Signed>,
    decisions: Vec<Asked>,
    values: Vec<Set>,
}

#[derive(Deserialize)]
struct Signed {
    record: Map<String, Value>,
    operator: String,
    context: String,
    subject: String,
    payload: String,
    sig: String,
}

#[derive(Deserialize)]
struct Set {
    device: String,
    key: String,
    value: Value,
}

/// A line for each log of the file, or one for devices; `None` where it is no file of vectors.
pub fn check_vectors(file: &[u8]) -> Option<Vec<Value>> {
    match serde_json::from_slice(file).ok()? {
        Vectors::RealmLog { realm, logs } => logs.iter().map(|log| log.line(realm)).collect(),
        Vectors::Devices(devices) => Some(vec![devices.line()]),
    }
}

impl Log {
    fn line(&self, realm: Uuid) -> Option<Value> {
        let mut state = Realm::new(realm, self.root);
        let mut words = Vec::new();
        let mut slots = BTreeMap::new();
        for message in &self.messages {
            let slot = slot_of(&message.subject);
            let bytes = message.bytes()?;
            words.push(slot.map(|slot| state.apply(slot, message.seq, &bytes)));
            slots.extend(slot.map(|slot| (slot, (message.seq, bytes))));
        }
        let mut by_slot = Realm::new(realm, self.root);
        while let Some((sequence, bytes)) = slots.get(&by_slot.next_slot) {
            by_slot.apply(by_slot.next_slot, *sequence, bytes);
        }
        let mut line = shown(&state);
        let agree = line == shown(&by_slot) && state.has_terms_of(&by_slot);
        line["name"] = json!(self.name);
        let word = |word: &Option<Word>| word.map(Word::as_str);
        line["words"] = words.iter().map(word).collect();
        line["decisions"] = self
            .decisions
            .iter()
            .map(|asked| asked.decision(&state))
            .collect();
        line["votes"] = self.votes.iter().map(|asked| asked.votes(&state)).collect();
        let term = |value: &Register| {
            let term = state.register_term(&value.key, &value.epoch, value.revision)?;
            Some(term.began.n)
        };
        line["registers"] = self.registers.iter().map(term).collect();
        let holds = |anchor: &Anchor| state.holds(anchor.n, &anchor.digest);
        line["anchors"] = self.anchors.iter().map(holds).collect();
        line["orders_agree"] = json!(agree);
        Some(line)
    }
}

impl Message {
    fn bytes(&self) -> Option<Vec<u8>> {
        match &self.payload_base64url {
            Some(bytes) => URL_SAFE_NO_PAD.decode(bytes).ok(),
            None => Some(self.payload.clone().into_bytes()),
        }
    }
}

impl Asked {
    fn facts(&self) -> Facts<'_> {
        Facts {
            verdict: &self.verdict,
            origin: self.origin,
            workspace: &self.workspace,
            risk: Risk::effective(&self.risk),
            effects: Effects::effective(self.effects.as_deref()),
            webauthn: self.verifies.iter().any(|word| word == "webauthn"),
            at: self.at,
        }
    }

    fn decision(&self, state: &Realm) -> Value {
        let console = state.fault(&self.key, Some(self.seq), &self.facts());
        let agent = state.agent_fault(&self.key, self.seq, &self.facts());
        json!({
            "console": console.map(DecisionFault::as_str), "agent": agent.map(DecisionFault::as_str),
        })
    }

    fn votes(&self, state: &Realm) -> Value {
        let (facts, keys) = (self.facts(), self.keys.iter().map(String::as_str));
        let for_agent = keys
            .clone()
            .filter(|key| state.agent_fault(key, self.seq, &facts).is_none());
        json!({
            "console": state.voters(keys, Some(self.seq), &facts).len(),
            "agent": state.voters(for_agent, Some(self.seq), &facts).len(),
        })
    }

    /// Of a device with these limits and this end, whose operator has none.
    fn of_device(&self) -> Option<&'static str> {
        let key = SigningKey::read(&json!({
            "key": format!("W{}", "A".repeat(52)), "role": "device", "proof": "",
            "limits": self.limits, "until": self.until,
        }))?;
        let began = Mark {
            n: 1,
            sequence: 0,
            policy: None,
        };
        let term = Term {
            operator: String::new(),
            limits: None,
            key,
            began,
            ended: None,
        };
        term.fault(&self.facts()).map(DecisionFault::as_str)
    }
}

impl Devices {
    fn line(&self) -> Value {
        let holds = |signed: &Signed| {
            Context::from_word(&signed.context).is_some_and(|context| {
                let place = (context, &self.realm, signed.subject.as_str());
                let payload = signed.payload.as_bytes();
                passkey_holds(
                    &signed.record,
                    &signed.operator,
                    place,
                    payload,
                    &signed.sig,
                )
            })
        };
        let may = |set: &Set| device_may_set(&set.device, &set.key, &set.value);
        json!({
            "signatures": self.signatures.iter().map(holds).collect::<Vec<_>>(),
            "decisions": self.decisions.iter().map(Asked::of_device).collect::<Vec<_>>(),
            "values": self.values.iter().map(may).collect::<Vec<_>>(),
        })
    }
}

fn shown(state: &Realm) -> Value {
    let head = state.chain.last();
    let linked = state.chain.iter().map(|entry| {
        json!({
            "n": entry.n, "digest": entry.digest, "slot": entry.slot, "seq": entry.sequence,
        })
    });
    let operators = state
        .operators
        .iter()
        .map(|(id, record)| (id.clone(), operator_shown(record)));
    json!({
        "head": {"n": state.chain.len(), "digest": head.map(|head| head.digest)},
        "acceptance": state.acceptance,
        "recovery": state.recovery,
        "operators": operators.collect::<Map<_, _>>(),
        "ended": state.ended(),
        "chain": linked.collect::<Vec<_>>(),
        "next_slot": state.next_slot,
    })
}

fn operator_shown(record: &Record) -> Value {
    let key = |key: &SigningKey| {
        let shown = json!({
            "role": key.fields.get("role"), "limits": key.limits.as_ref().map(limits_shown),
            "device": key.device,
        });
        (key.key.clone(), shown)
    };
    json!({
        "name": record.name,
        "admin": record.admin,
        "limits": record.limits.as_ref().map(limits_shown),
        "keys": record.keys.iter().map(key).collect::<Map<_, _>>(),
    })
}

fn limits_shown(limits: &Limits) -> Value {
    json!({"workspaces": limits.workspaces, "max_risk": limits.max_risk})
}
