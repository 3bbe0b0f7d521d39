//! What this implementation makes of a file of vectors, in the shape of what the file expects. It compares nothing.

use std::collections::BTreeMap;

use base64::{Engine as _, engine::general_purpose::URL_SAFE_NO_PAD};
use serde_json::{Map, Value, json};
use uuid::Uuid;

use super::{
    Facts, Limits, Realm, SigningKey, Standing, Term, Word, device_may_set, passkey_holds, slot_of,
};
use crate::{
    Context, DecisionFault, DecisionVerdict, Effects, Origin, Risk, Sha256Digest, Timestamp,
};

/// A line for each log of the file, or one for devices; `None` where it is no file of vectors.
pub fn check_vectors(file: &[u8]) -> Option<Vec<Value>> {
    let vectors: Value = serde_json::from_slice(file).ok()?;
    let realm = text(&vectors, "realm")?.parse().ok()?;
    match text(&vectors, "kind")? {
        "realm-log" => rows(&vectors, "logs", |log| log_line(realm, log)),
        "devices" => devices_line(&realm, &vectors).map(|line| vec![line]),
        _ => None,
    }
}

fn text<'v>(row: &'v Value, name: &str) -> Option<&'v str> {
    row[name].as_str()
}

/// What is made of each row of a list.
fn rows<T>(of: &Value, list: &str, row: impl FnMut(&Value) -> Option<T>) -> Option<Vec<T>> {
    of[list].as_array()?.iter().map(row).collect()
}

fn log_line(realm: Uuid, log: &Value) -> Option<Value> {
    let root: Sha256Digest = text(log, "root")?.parse().ok()?;
    let (mut state, mut by_slot) = (Realm::new(realm, root), Realm::new(realm, root));
    let mut slots = BTreeMap::new();
    let words = rows(log, "messages", |message| {
        let Some(slot) = slot_of(text(message, "subject")?) else {
            return Some(None);
        };
        let bytes = match text(message, "payload_base64url") {
            Some(bytes) => URL_SAFE_NO_PAD.decode(bytes).ok()?,
            None => text(message, "payload")?.as_bytes().to_vec(),
        };
        let word = state.apply(slot, message["seq"].as_u64()?, &bytes);
        slots.insert(slot, (message["seq"].as_u64()?, bytes));
        Some(Some(word))
    })?;
    while let Some((sequence, bytes)) = slots.get(&by_slot.next_slot) {
        by_slot.apply(by_slot.next_slot, *sequence, bytes);
    }
    let mut line = shown(&state);
    let agree = line == shown(&by_slot) && state.has_terms_of(&by_slot);
    line["name"] = log["name"].clone();
    line["words"] = words
        .into_iter()
        .map(|word| word.map(Word::as_str))
        .collect();
    line["decisions"] = json!(rows(log, "decisions", |asked| decision(&state, asked))?);
    line["votes"] = json!(rows(log, "votes", |asked| votes(&state, asked))?);
    line["registers"] = json!(rows(log, "registers", |value| {
        let (key, epoch) = (text(value, "key")?, text(value, "epoch")?);
        let term = state.register_term(key, epoch, value["revision"].as_u64()?);
        Some(term.map(|term| term.began.n))
    })?);
    line["anchors"] = json!(rows(log, "anchors", |anchor| {
        let digest = text(anchor, "digest")?.parse().ok()?;
        Some(state.holds(anchor["n"].as_u64()?, &digest))
    })?);
    line["orders_agree"] = json!(agree);
    Some(line)
}

/// Asks with the facts of a row.
fn with_facts<T>(asked: &Value, ask: impl FnOnce(&Facts<'_>) -> T) -> Option<T> {
    let verdict = DecisionVerdict::from_word(text(asked, "verdict")?);
    let verifies = asked["verifies"].as_array()?;
    Some(ask(&Facts {
        verdict: &verdict,
        // A vote has none: it is a person's.
        origin: text(asked, "origin").map_or(Some(Origin::Operator), Origin::from_word)?,
        workspace: text(asked, "workspace")?,
        risk: Risk::effective(text(asked, "risk")?),
        effects: Effects::effective(text(asked, "effects")),
        webauthn: verifies.iter().any(|word| word == "webauthn"),
        at: text(asked, "at")?.parse::<Timestamp>().ok()?,
    }))
}

fn decision(state: &Realm, asked: &Value) -> Option<Value> {
    let (key, sequence) = (text(asked, "key")?, asked["seq"].as_u64()?);
    with_facts(asked, |facts| {
        let console = state.at(Some(sequence)).fault(key, facts);
        let agent = state.for_agent(sequence).fault(key, facts);
        json!({
            "console": console.map(DecisionFault::as_str),
            "agent": agent.map(DecisionFault::as_str),
        })
    })
}

fn votes(state: &Realm, asked: &Value) -> Option<Value> {
    let keys: Vec<&str> = asked["keys"]
        .as_array()?
        .iter()
        .filter_map(Value::as_str)
        .collect();
    let sequence = asked["seq"].as_u64()?;
    with_facts(asked, |facts| {
        let count = |standing: Standing<'_>| standing.voters(keys.iter().copied(), facts).len();
        let (console, agent) = (state.at(Some(sequence)), state.for_agent(sequence));
        json!({"console": count(console), "agent": count(agent)})
    })
}

fn devices_line(realm: &Uuid, vectors: &Value) -> Option<Value> {
    let signatures = rows(vectors, "signatures", |row| {
        let context = Context::from_word(text(row, "context")?)?;
        let place = (context, realm, text(row, "subject")?);
        let (operator, payload) = (text(row, "operator")?, text(row, "payload")?.as_bytes());
        let record = row["record"].as_object()?;
        Some(passkey_holds(
            record,
            operator,
            place,
            payload,
            text(row, "sig")?,
        ))
    })?;
    let decisions = rows(vectors, "decisions", |row| {
        let key = SigningKey::read(&json!({
            "key": format!("W{}", "A".repeat(52)), "role": "device", "proof": "",
            "limits": row["limits"], "until": row["until"],
        }))?;
        let term = Term::of_device(key);
        with_facts(row, |facts| term.fault(facts).map(DecisionFault::as_str))
    })?;
    let values = rows(vectors, "values", |row| {
        let (device, key) = (text(row, "device")?, text(row, "key")?);
        Some(device_may_set(device, key, &row["value"]))
    })?;
    Some(json!({"signatures": signatures, "decisions": decisions, "values": values}))
}

fn shown(state: &Realm) -> Value {
    let linked = state.chain.iter().map(|entry| {
        json!({
            "n": entry.n, "digest": entry.digest, "slot": entry.slot, "seq": entry.sequence,
        })
    });
    let limits = |limits: &Option<Limits>| {
        let shown =
            |limits: &Limits| json!({"workspaces": limits.workspaces, "max_risk": limits.max_risk});
        limits.as_ref().map_or(Value::Null, shown)
    };
    let operators = state.operators.iter().map(|(id, record)| {
        let keys = record.keys.iter().map(|key| {
            let (role, device) = (&key.fields["role"], &key.device);
            let key_limits = limits(&key.limits);
            (
                key.key.clone(),
                json!({"role": role, "limits": key_limits, "device": device}),
            )
        });
        let shown = json!({
            "name": record.name, "admin": record.admin, "limits": limits(&record.limits),
            "keys": keys.collect::<Map<_, _>>(),
        });
        (id.clone(), shown)
    });
    json!({
        "head": {
            "n": state.chain.len(), "digest": state.chain.last().map(|head| head.digest),
        },
        "acceptance": state.acceptance,
        "recovery": state.recovery,
        "operators": operators.collect::<Map<_, _>>(),
        "ended": state.ended(),
        "chain": linked.collect::<Vec<_>>(),
        "next_slot": state.next_slot,
    })
}
