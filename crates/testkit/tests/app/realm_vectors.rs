//! Logs of the published vectors on a real bus: a console that joins it and an agent read what the vectors say.

use std::collections::BTreeMap;
use std::path::Path;

use countersign_core::bus::{Credentials, Founding};
use countersign_core::ops::realm::operators_log;
use countersign_core::{App, Options};
use countersign_sdk::{Enrolment, Gate};
use countersign_testkit::{AgentCredentials, TempData, TestServer};
use countersign_wire::{
    AgentKey, Context, LogHead, NkeySeed, RequestKey, Sha256Digest, decision_subject, sign,
};
use nkeys::{KeyPair, KeyPairType};
use serde_json::{Value, json};
use uuid::Uuid;

use crate::agent::{LIMIT, listed, options};
use crate::realm_log::until;
use crate::realm_scene::{call, quick, words_of};

fn text(value: &Value) -> String {
    value.as_str().unwrap().to_owned()
}

fn digest(value: &Value) -> Sha256Digest {
    value.as_str().unwrap().parse().unwrap()
}

/// The keys of the vectors, whose secrets are one byte 32 times.
fn keys() -> BTreeMap<String, KeyPair> {
    let pairs = (0..=255).map(|byte| KeyPair::new_from_raw(KeyPairType::User, [byte; 32]).unwrap());
    pairs.map(|pair| (pair.public_key(), pair)).collect()
}

async fn reads_as_the_vectors_say(realm: Uuid, log: &Value, keys: &BTreeMap<String, KeyPair>) {
    let name = log["name"].as_str().unwrap();
    let mut server = TestServer::start().await;
    let founding = Founding {
        realm,
        root: digest(&log["root"]),
    };
    let bus = server.console().await;
    bus.ensure(Some(&founding), 1).await.unwrap();
    let agent = server.agent("acme", "bot").await;
    let login = AgentCredentials {
        key: server.console_key().clone(),
        ..agent.clone()
    };
    let mut raw = login.connect_raw().await;
    let messages = log["messages"].as_array().unwrap();
    for message in messages {
        let payload = match message["payload_base64url"].as_str() {
            Some(_) => b"\xff\xfe".to_vec(),
            None => message["payload"].as_str().unwrap_or("x").into(),
        };
        let subject = message["subject"].as_str().unwrap().as_bytes();
        let seq = raw.store(subject, b"", &payload).await;
        assert_eq!(json!(seq), message["seq"], "{name}");
    }
    let data = TempData::new();
    let app = App::start(Options {
        nats_url: Some(server.url()),
        credentials: Credentials::NkeySeed(server.console_key().seed.clone()),
        operator: "Nobody".into(),
        ..options(&data)
    });
    let app = app.await.unwrap();
    let slots = messages
        .iter()
        .filter(|message| message["word"].is_string());
    let right: Vec<(i64, i64, String)> = slots
        .map(|message| {
            let subject = text(&message["subject"]);
            let slot = subject.rsplit('.').next().unwrap().parse().unwrap();
            (
                message["seq"].as_i64().unwrap(),
                slot,
                text(&message["word"]),
            )
        })
        .collect();
    until("the log is read", async || {
        words_of(&data).await.len() >= right.len()
    })
    .await;
    assert_eq!(words_of(&data).await, right, "{name}");
    let expected = &log["expect"];
    let chain = operators_log(&app).await.unwrap();
    let chain: Vec<Value> = chain
        .iter()
        .map(|line| json!({"n": line.n, "digest": line.digest, "slot": line.slot, "seq": line.seq}))
        .collect();
    assert_eq!(json!(chain), expected["chain"], "{name}");
    let head = LogHead {
        root: founding.root,
        n: expected["head"]["n"].as_u64().unwrap(),
        digest: digest(&expected["head"]["digest"]),
    };
    let gate = Gate::builder(enrolment(&server, &agent, realm, head));
    let gate = gate.timing(quick()).connect().await.unwrap();
    let mut hands: BTreeMap<&str, &str> = BTreeMap::new();
    for key in expected["ended"].as_array().unwrap() {
        hands.insert(key.as_str().unwrap(), "unknown_key");
    }
    for record in expected["operators"].as_object().unwrap().values() {
        for (key, of) in record["keys"].as_object().unwrap() {
            if of["role"] == "human" && record["limits"].is_null() {
                hands.insert(key, "runs");
            }
        }
    }
    assert!(hands.values().any(|outcome| *outcome == "runs"), "{name}");
    let outcomes = hands.iter().filter_map(|(key, outcome)| {
        let pair = keys.get(*key)?;
        let (app, gate, login) = (&app, &gate, &login);
        Some(async move {
            let seen = outcome_of(app, gate, login, (realm, pair)).await;
            assert_eq!(seen, *outcome, "{name} {key}");
        })
    });
    futures::future::join_all(outcomes).await;
    app.shutdown().await;
}

fn enrolment(
    server: &TestServer,
    agent: &AgentCredentials,
    realm: Uuid,
    log: LogHead,
) -> Enrolment {
    Enrolment {
        nats_url: server.url(),
        workspace: agent.workspace.parse().unwrap(),
        agent: agent.agent.parse().unwrap(),
        nkey_seed: NkeySeed::new(&agent.key.seed),
        inbox_prefix: agent.inbox_prefix(),
        realm,
        log: Some(log),
        tls: Default::default(),
        nats_creds: None,
    }
}

/// What the agent makes of an approval by this key.
async fn outcome_of(
    app: &App,
    gate: &Gate,
    login: &AgentCredentials,
    (realm, pair): (Uuid, &KeyPair),
) -> String {
    let id = Uuid::now_v7().to_string();
    let asking = tokio::spawn(gate.ask(call().request_id(id.parse().unwrap())));
    let line = listed(app, &id).await;
    let AgentKey { workspace, agent } = gate.agent().clone();
    let key = RequestKey {
        workspace,
        agent,
        request_id: id.parse().unwrap(),
    };
    let body = json!({
        "v": 1, "decision_id": Uuid::now_v7(), "request_id": id, "verdict": "approve", "origin": "operator",
        "request_digest": Sha256Digest::of_bytes(&line.raw), "args_digest": line.args_digest,
        "decided_by": {"name": "x", "key": pair.public_key()}, "decided_at": "2026-11-21T12:00:00.000Z",
    });
    let (subject, payload) = (decision_subject(&key), body.to_string());
    let sig = sign(
        pair,
        Context::Decision,
        &realm,
        &subject,
        payload.as_bytes(),
    )
    .unwrap();
    let headers = format!(
        "NATS/1.0\r\nCS-Key: {}\r\nCS-Sig: {sig}\r\n\r\n",
        pair.public_key()
    );
    let mut raw = login.connect_raw().await;
    raw.store(subject.as_bytes(), headers.as_bytes(), payload.as_bytes())
        .await;
    let answered = tokio::time::timeout(LIMIT, asking).await;
    let decision = answered.unwrap().unwrap().unwrap();
    match decision.fault() {
        Some(fault) => fault.as_str().to_owned(),
        None if decision.allowed() => "runs".to_owned(),
        None => decision.verdict().as_str().to_owned(),
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn consoles_and_agents_read_the_published_logs_as_they_say() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let file = std::fs::read(root.join("docs/protocol/vectors/realm-log.json")).unwrap();
    let vectors: Value = serde_json::from_slice(&file).unwrap();
    let realm = text(&vectors["realm"]).parse().unwrap();
    let (logs, keys) = (vectors["logs"].as_array().unwrap(), keys());
    for name in ["junk", "rights", "leaving", "put-back", "recovery-key"] {
        let log = logs.iter().find(|log| log["name"] == name).unwrap();
        reads_as_the_vectors_say(realm, log, &keys).await;
    }
}
