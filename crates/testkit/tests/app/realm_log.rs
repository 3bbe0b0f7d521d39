//! The realm log from beside a console: what is written by hand, and what is there.

use std::time::Duration;

use countersign_core::App;
use countersign_core::bus::{Bus, Founding, Publication};
use countersign_core::data_dir::DataDir;
use countersign_core::identity::{Identity, KeyChoice};
use countersign_core::ops::realm::{Change, Limits, ListedState, operators_log};
use countersign_testkit::TempData;
use countersign_wire::realm::{Entry, Realm, SigningKey};
use countersign_wire::{
    ApprovalDecision, Context, DecidedBy, DecisionVerdict, Origin, PublicKey, RequestKey,
    Sha256Digest, Timestamp, Verdict, decision_subject, realm_subject, sign,
};
use nkeys::KeyPair;
use serde_json::{Value, json};
use uuid::Uuid;

use crate::agent::{Agent, Desk, LIMIT, listed, verdict};

pub(crate) async fn until(what: &str, mut holds: impl AsyncFnMut() -> bool) {
    let wait = async {
        while !holds().await {
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
    };
    tokio::time::timeout(LIMIT, wait).await.expect(what);
}

pub(crate) async fn state_of(app: &App, key: &str) -> Option<ListedState> {
    let list = app.operators(true).await.unwrap();
    let line = list.iter().rfind(|line| line.key == key);
    line.map(|line| line.state)
}

pub(crate) async fn sees(app: &App, key: &PublicKey, state: ListedState) {
    until("the list in time", async || {
        state_of(app, key.as_str()).await == Some(state)
    })
    .await;
}

/// The end of the operator of a key.
pub(crate) fn retirement(key: &PublicKey) -> Change {
    Change::Retire {
        keys: vec![key.to_string()],
        key_only: false,
    }
}

pub(crate) fn acceptance(key: &PublicKey) -> Change {
    Change::Accept {
        key: key.to_string(),
        name: None,
        admin: false,
        limits: Limits::default(),
    }
}

/// Makes a colleague an administrator.
pub(crate) async fn promote(desk: &Desk, colleague: &App) {
    let key = colleague.identity().human_key().to_string();
    let change = Change::Admin(key.clone(), true);
    assert!(desk.app.change_operators(&change).await.unwrap().changed);
    until("an administrator", async || {
        let lines = colleague.operators(false).await.unwrap();
        lines.iter().any(|line| line.key == key && line.admin)
    })
    .await;
}

pub(crate) async fn root_of(app: &App) -> Sha256Digest {
    let log = operators_log(app).await.unwrap();
    log[0].digest.parse().unwrap()
}

/// Makes the stores that are missing anew, as this console remembers them.
pub(crate) async fn remade(bus: &Bus, app: &App, realm: Uuid) {
    let root = root_of(app).await;
    bus.ensure(Some(&Founding { realm, root }), 1)
        .await
        .unwrap();
}

/// The same, with these slots of the log.
pub(crate) async fn remade_with(bus: &Bus, app: &App, slots: Vec<Vec<u8>>) {
    remade(bus, app, app.realm().unwrap()).await;
    for (bytes, slot) in slots.into_iter().zip(1..) {
        put_slot(app, slot, bytes).await;
    }
}

/// The log as it is on the bus.
pub(crate) async fn log_of(app: &App) -> Realm {
    let bus = app.bus().unwrap();
    let mut log = Realm::new(app.realm().unwrap(), root_of(app).await);
    while let Some(message) = bus
        .read_last("CS_DECISIONS", &realm_subject(log.next_slot))
        .await
        .unwrap()
    {
        log.apply(log.next_slot, message.seq, &message.payload);
    }
    log
}

/// Stores bytes on the next free slot, by a login alone.
pub(crate) async fn put_slot(app: &App, slot: u64, bytes: Vec<u8>) {
    let publication = Publication {
        subject: realm_subject(slot),
        payload: bytes.into(),
        key: None,
        sig: None,
    };
    app.bus().unwrap().publish_once(publication).await;
}

/// An entry for the head, signed by this pair.
pub(crate) fn signed_entry(log: &Realm, signer: &KeyPair, fields: &Value) -> Vec<u8> {
    let head = log.chain.last().unwrap();
    let by = PublicKey::of(signer).unwrap();
    let mut payload = Entry::frame(
        head.n + 1,
        Some(head.digest),
        "2026-11-25T12:00:00.000Z",
        &by,
    );
    for (name, value) in fields.as_object().unwrap() {
        payload[name] = value.clone();
    }
    Entry::seal(signer, log.realm(), &payload).unwrap()
}

/// A console key of the operator of `app`, whose console does not exist.
pub(crate) async fn console_key(app: &App, console: Option<&str>) -> KeyPair {
    let pair = KeyPair::new_user();
    let keys = app.identity().signing();
    loop {
        let log = log_of(app).await;
        let term = log.term(keys.human_key.as_str(), None).unwrap();
        let record = &log.operators[&term.operator];
        let mut fields = record.fields.clone();
        let key = SigningKey::of_pair(&pair, log.realm(), &record.id, "auto", console);
        fields["keys"].as_array_mut().unwrap().push(key.unwrap());
        let entry = signed_entry(&log, &keys.human, &json!({"operators": [fields]}));
        put_slot(app, log.next_slot, entry.clone()).await;
        let key = PublicKey::of(&pair).unwrap();
        if log_of(app).await.term(key.as_str(), None).is_some() {
            sees(app, &key, ListedState::InForce).await;
            return pair;
        }
    }
}

/// Lets in whose console has this folder and was never started: nobody asks.
pub(crate) async fn admit(app: &App, data: &TempData, name: &str) {
    let identity = {
        let data = DataDir::open(data.path()).unwrap();
        Identity::open(&data, name, KeyChoice::File).unwrap()
    };
    let (log, keys) = (log_of(app).await, identity.signing());
    let own = &keys.human_key;
    let key = SigningKey::of_pair(&keys.human, log.realm(), own, "human", None).unwrap();
    let record = json!({"id": own, "name": name, "keys": [key]});
    let entry = signed_entry(
        &log,
        &app.identity().signing().human,
        &json!({"operators": [record]}),
    );
    put_slot(app, log.next_slot, entry).await;
    sees(app, own, ListedState::InForce).await;
}

/// The slots of the log, to be stored again on a stream that was made anew.
pub(crate) async fn slots_of(app: &App) -> Vec<Vec<u8>> {
    let bus = app.bus().unwrap();
    let mut slots = Vec::new();
    loop {
        let subject = realm_subject(slots.len() as u64 + 1);
        match bus.read_last("CS_DECISIONS", &subject).await.unwrap() {
            Some(message) => slots.push(message.payload.to_vec()),
            None => return slots,
        }
    }
}

pub(crate) async fn code(app: &App, key: &RequestKey, wanted: Verdict) -> String {
    match app.decide(verdict(key, wanted)).await {
        Ok(_) => "done".to_owned(),
        Err(error) => error.code.as_str().to_owned(),
    }
}

pub(crate) async fn has_alarm(app: &App, code: &str, subject: &str) -> bool {
    let status = app.status().await.unwrap();
    status
        .alarms
        .iter()
        .any(|alarm| alarm.code == code && alarm.subject == subject)
}

pub(crate) async fn ask(desk: &Desk, agent: &Agent, apps: &[&App], id: &str) -> RequestKey {
    let key = agent.ask(&agent.request(id)).await;
    listed(&desk.app, id).await;
    for app in apps {
        listed(app, id).await;
    }
    key
}

/// An approval that `signer` puts on the stream by hand.
pub(crate) async fn put_approval(app: &App, agent: &Agent, key: &RequestKey, signer: &KeyPair) {
    let raw = serde_json::to_vec(&agent.request(key.request_id.as_ref())).unwrap();
    let row = listed(app, key.request_id.as_ref()).await;
    let own = PublicKey::of(signer).unwrap();
    let decision = ApprovalDecision {
        v: 1,
        decision_id: Uuid::now_v7(),
        request_id: key.request_id.clone(),
        request_digest: Sha256Digest::of_bytes(&raw),
        verdict: DecisionVerdict::Approve,
        message: None,
        args_digest: row.args_digest.map(|digest| digest.parse().unwrap()),
        edited_args: None,
        response: None,
        scope: None,
        origin: Origin::Operator,
        rule: None,
        policy_digest: None,
        decided_by: DecidedBy {
            name: "Grace".into(),
            key: own.clone().into(),
        },
        decided_at: Timestamp::new(app.now().into()),
        votes: None,
        extra: serde_json::Map::new(),
    };
    let payload = serde_json::to_vec(&decision).unwrap();
    let subject = decision_subject(key);
    let realm = app.realm().unwrap();
    let sig = sign(signer, Context::Decision, &realm, &subject, &payload).unwrap();
    let publication = Publication {
        subject,
        payload: payload.into(),
        key: Some(own.to_string()),
        sig: Some(sig.to_string()),
    };
    app.bus().unwrap().publish_once(publication).await;
}
