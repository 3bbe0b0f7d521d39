//! A realm with two real consoles, real agents, and a login of a console with which somebody stores what he likes.

use std::time::Duration;

use countersign_core::App;
use countersign_core::ops::realm::{ListedState, operators_log};
use countersign_sdk::{Ask, Decision, Gate, Timing};
use countersign_testkit::{AgentCredentials, RawAgent, TempData, UserKey};
use countersign_wire::realm::{Realm, SigningKey, Word};
use countersign_wire::{
    AgentKey, Context, PublicKey, RequestKey, Risk, Sha256Digest, Verdict, decision_subject,
    realm_subject, request_subject, vote_subject,
};
use nkeys::KeyPair;
use serde_json::{Map, Value, json};
use sqlx::sqlite::SqliteConnectOptions;
use sqlx::{ConnectOptions, Row};
use tokio::sync::Mutex;
use uuid::Uuid;

use crate::agent::{Desk, LIMIT, colleague, line_when, listed, verdict};
use crate::realm_hand::Hand;
use crate::realm_log::{log_of, promote, sees, signed_entry, until};

/// Limits short enough for tests.
pub(crate) fn quick() -> Timing {
    let mut timing = Timing::default();
    timing.unknown_key = Duration::from_millis(300);
    timing
}

pub(crate) fn copy(pair: &KeyPair) -> KeyPair {
    KeyPair::from_seed(&pair.seed().unwrap()).unwrap()
}

pub(crate) fn text(pair: &KeyPair) -> String {
    pair.public_key()
}

/// A call of risk `high`.
pub(crate) fn call() -> Ask {
    Ask::tool("delete_invoice", json!({"invoice_id": "INV-42"}))
        .allow([Verdict::Approve, Verdict::Deny])
        .timeout(Duration::from_secs(30))
}

pub(crate) struct Scene {
    pub(crate) desk: Desk,
    /// Another administrator's console.
    pub(crate) grace: App,
    of_grace: TempData,
    /// An agent that is there from the start.
    pub(crate) gate: Gate,
    /// As it is on the bus.
    pub(crate) log: Realm,
    raw: Mutex<RawAgent>,
}

impl Scene {
    pub(crate) async fn open() -> Self {
        let desk = Desk::open().await;
        let of_grace = TempData::new();
        let grace = colleague(&desk, &of_grace, "Grace").await;
        let keys = grace.identity().signing();
        sees(&grace, &keys.auto_key, ListedState::InForce).await;
        promote(&desk, &grace).await;
        let seed = desk.app.identity().login.seed().unwrap();
        let login = AgentCredentials {
            url: desk.app.embedded_server().unwrap().url(),
            workspace: "x".into(),
            agent: "y".into(),
            key: UserKey {
                public: desk.app.identity().login.public_key(),
                seed,
            },
        };
        let gate = enrolled(&desk.app, "bot").await;
        Self {
            log: log_of(&desk.app).await,
            raw: Mutex::new(login.connect_raw().await),
            desk,
            grace,
            of_grace,
            gate,
        }
    }

    pub(crate) fn ada(&self) -> KeyPair {
        copy(&self.desk.app.identity().signing().human)
    }

    /// The record of an operator in force, with something else in it.
    pub(crate) fn changed(&self, id: &str, change: impl FnOnce(&mut Map<String, Value>)) -> Value {
        let mut record = self.log.operators[id].fields.clone();
        change(&mut record);
        json!({"operators": [record]})
    }

    /// The same, with one more key.
    pub(crate) fn with_key(&self, id: &str, key: &Value) -> Value {
        self.changed(id, |record| {
            record["keys"].as_array_mut().unwrap().push(key.clone());
        })
    }

    /// A key as records name it.
    pub(crate) fn key(&self, pair: &KeyPair, operator: &str, role: &str) -> Value {
        let operator: PublicKey = operator.parse().unwrap();
        SigningKey::of_pair(pair, self.log.realm(), &operator, role, None).unwrap()
    }

    /// The record of somebody new.
    pub(crate) fn newcomer(&self, pair: &KeyPair, name: &str) -> Value {
        let key = self.key(pair, &text(pair), "human");
        json!({"operators": [{"id": text(pair), "name": name, "keys": [key]}]})
    }

    /// An entry for the head.
    pub(crate) fn entry(&self, by: &KeyPair, change: &Value) -> Vec<u8> {
        signed_entry(&self.log, by, change)
    }

    /// Stores bytes in a slot, by a login alone and with these header lines; what becomes of them.
    pub(crate) async fn store_in(&mut self, slot: u64, headers: &[u8], bytes: &[u8]) -> Word {
        let subject = realm_subject(slot);
        let raw = self.raw.get_mut();
        let seq = raw.store(subject.as_bytes(), headers, bytes).await;
        self.log.apply(slot, seq, bytes)
    }

    /// The same in the next slot that is free.
    pub(crate) async fn store(&mut self, headers: &[u8], bytes: &[u8]) -> Word {
        self.store_in(self.log.next_slot, headers, bytes).await
    }

    /// Signs a change for the head and stores it.
    pub(crate) async fn write(&mut self, by: &KeyPair, change: &Value) -> Word {
        let entry = self.entry(by, change);
        self.store(b"", &entry).await
    }

    /// Somebody without a console.
    pub(crate) async fn let_in(&mut self, name: &str, fields: Value) -> KeyPair {
        let pair = KeyPair::new_user();
        let mut change = self.newcomer(&pair, name);
        for (name, value) in fields.as_object().unwrap() {
            change["operators"][0][name] = value.clone();
        }
        assert_eq!(self.write(&self.ada(), &change).await, Word::Ok);
        pair
    }

    /// The end of an operator.
    pub(crate) async fn end(&mut self, pair: &KeyPair) {
        let change = json!({"operators": [{"id": text(pair), "keys": []}]});
        assert_eq!(self.write(&self.ada(), &change).await, Word::Ok);
    }

    /// What an agent makes of a call that this hand decides, and then both consoles of the decision: `runs`, another
    /// verdict, or why it is void.
    pub(crate) async fn outcome(&self, row: &Attempt<'_>) -> String {
        let id = Uuid::now_v7().to_string();
        let asking = tokio::spawn(
            self.gate
                .ask((row.about)(call()).request_id(id.parse().unwrap())),
        );
        let key = self.key_of(&id);
        self.decide(&key, row).await;
        let decision = asking.await.unwrap().unwrap();
        let word = match (decision.fault(), decision.allowed()) {
            (Some(fault), _) => fault.as_str().to_owned(),
            (None, true) => "runs".to_owned(),
            (None, false) => decision.verdict().as_str().to_owned(),
        };
        let state = if decision.fault().is_some() {
            "void"
        } else {
            "decided"
        };
        for app in [&self.desk.app, &self.grace] {
            line_when(app, &id, |line| line.state == state).await;
        }
        word
    }

    pub(crate) fn key_of(&self, id: &str) -> RequestKey {
        let AgentKey { workspace, agent } = self.gate.agent().clone();
        RequestKey {
            workspace,
            agent,
            request_id: id.parse().unwrap(),
        }
    }

    /// Stores a decision past every console.
    pub(crate) async fn decide(&self, key: &RequestKey, row: &Attempt<'_>) {
        listed(&self.desk.app, key.request_id.as_ref()).await;
        let bus = self.desk.app.bus().unwrap();
        let request = bus.read_last("CS_REQUESTS", &request_subject(key)).await;
        let raw = request.unwrap().unwrap().payload;
        let asked: Value = serde_json::from_slice(&raw).unwrap();
        let digest = Sha256Digest::of_bytes(&raw);
        let realm = self.log.realm();
        let mut body = json!({
            "v": 1, "decision_id": Uuid::now_v7(), "request_id": key.request_id, "request_digest": digest,
            "verdict": row.verdict, "origin": "operator",
            "decided_by": {"name": "x", "key": row.by.public()}, "decided_at": "2026-11-21T12:00:00.000Z",
        });
        if row.verdict == "approve" {
            body["args_digest"] = asked["args_digest"].clone();
        }
        let vote = |hand: &Hand<'_>| {
            let vote = json!({
                "v": 1, "vote_id": Uuid::now_v7(), "request_digest": digest, "verdict": "approve",
                "args_digest": asked["args_digest"],
                "decided_by": {"name": "x", "key": hand.public()}, "decided_at": "2026-11-21T12:00:00.000Z",
            });
            let payload = serde_json::to_vec(&vote).unwrap();
            let subject = vote_subject(key, &hand.public().parse().unwrap());
            let sig = hand.sign(Context::Vote, realm, &subject, &payload);
            json!({"key": hand.public(), "subject": subject, "payload": crate::realm_hand::b64(&payload), "sig": sig})
        };
        if !row.votes.is_empty() {
            body["votes"] = row.votes.iter().map(vote).collect();
        }
        let payload = serde_json::to_vec(&body).unwrap();
        let subject = decision_subject(key);
        let sig = row.by.sign(Context::Decision, realm, &subject, &payload);
        let headers = format!(
            "NATS/1.0\r\nCS-Key: {}\r\nCS-Sig: {sig}\r\n{}\r\n",
            row.by.public(),
            row.headers
        );
        let mut raw = self.raw.lock().await;
        raw.store(subject.as_bytes(), headers.as_bytes(), &payload)
            .await;
    }

    /// Whoever may decide still does, and every reader has the same chain: both consoles, the agent that was there, and
    /// one that is enrolled with the head and starts now.
    pub(crate) async fn goes_on(&self) {
        self.agree().await;
        assert!(self.approved(&self.gate, &self.grace).await.allowed());
        let name = format!("bot-{}", Uuid::now_v7().simple());
        let fresh = enrolled(&self.desk.app, &name).await;
        assert!(self.approved(&fresh, &self.desk.app).await.allowed());
    }

    /// Both consoles read what is on the bus: word for word, slot for slot.
    pub(crate) async fn agree(&self) {
        let on_bus = log_of(&self.desk.app).await;
        let digests: Vec<_> = on_bus.chain.iter().map(|entry| entry.digest).collect();
        let mut words = Vec::new();
        for (app, data) in [
            (&self.desk.app, &self.desk.data),
            (&self.grace, &self.of_grace),
        ] {
            until("the log is read", async || {
                let read = words_of(data).await;
                read.last()
                    .is_some_and(|(seq, ..)| *seq >= i64::try_from(on_bus.sequence()).unwrap())
            })
            .await;
            let chain = operators_log(app).await.unwrap();
            let chain: Vec<Sha256Digest> = chain
                .iter()
                .map(|line| line.digest.parse().unwrap())
                .collect();
            assert_eq!(chain, digests);
            words.push(words_of(data).await);
        }
        assert_eq!(words[0], words[1]);
    }

    /// A person approves at a console.
    pub(crate) async fn approved(&self, gate: &Gate, by: &App) -> Decision {
        let id = Uuid::now_v7().to_string();
        let asking = tokio::spawn(gate.ask(call().request_id(id.parse().unwrap())));
        let AgentKey { workspace, agent } = gate.agent().clone();
        let key = RequestKey {
            workspace,
            agent,
            request_id: id.parse().unwrap(),
        };
        listed(by, &id).await;
        by.decide(verdict(&key, Verdict::Approve)).await.unwrap();
        asking.await.unwrap().unwrap()
    }

    pub(crate) async fn close(self) {
        self.grace.shutdown().await;
        self.desk.app.shutdown().await;
    }
}

/// A real agent that a console enrols now, with the head that it knows.
pub(crate) async fn enrolled(app: &App, name: &str) -> Gate {
    let agent = AgentKey {
        workspace: "acme".parse().unwrap(),
        agent: name.parse().unwrap(),
    };
    let enrolment = app.enroll(&agent).await.unwrap();
    let gate = Gate::builder(enrolment).timing(quick()).connect();
    tokio::time::timeout(LIMIT, gate).await.unwrap().unwrap()
}

/// Sequence, slot and word of each message as a console keeps them.
pub(crate) async fn words_of(data: &TempData) -> Vec<(i64, i64, String)> {
    let file = data.path().join("countersign.db");
    let options = SqliteConnectOptions::new().filename(file).read_only(true);
    let mut store = options.connect().await.unwrap();
    let rows = sqlx::query("SELECT seq, slot, word FROM realm_log ORDER BY seq");
    let rows = rows.fetch_all(&mut store).await.unwrap();
    rows.iter()
        .map(|row| (row.get(0), row.get(1), row.get(2)))
        .collect()
}

/// A decision that somebody stores past every console.
pub(crate) struct Attempt<'a> {
    pub(crate) by: Hand<'a>,
    pub(crate) verdict: &'static str,
    pub(crate) about: fn(Ask) -> Ask,
    pub(crate) votes: Vec<Hand<'a>>,
    /// More header lines, each with its end.
    pub(crate) headers: &'static str,
}

impl<'a> Attempt<'a> {
    /// To approve a call of risk `high`.
    pub(crate) fn of(by: Hand<'a>) -> Self {
        Self {
            by,
            verdict: "approve",
            about: |ask| ask,
            votes: Vec::new(),
            headers: "",
        }
    }

    pub(crate) fn about(self, about: fn(Ask) -> Ask) -> Self {
        Self { about, ..self }
    }

    /// Of a call that needs two people.
    pub(crate) fn of_two(first: Hand<'a>, votes: Vec<Hand<'a>>) -> Self {
        Self {
            votes,
            about: |ask| ask.approvals_required(2).risk(Risk::Medium),
            ..Self::of(first)
        }
    }
}
