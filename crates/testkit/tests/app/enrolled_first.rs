//! An agent that was enrolled while its realm had one operator, and the operators who came after him.

use countersign_core::App;
use countersign_core::bus::POLICY_STREAM;
use countersign_core::ops::operators::{Change, Limits, ListedState};
use countersign_sdk::{Ask, Decision, Enrolment, Gate};
use countersign_testkit::TempData;
use countersign_wire::{
    DecisionFault, OperatorList, RequestKey, Risk, SignedEnvelope, Stream, Timestamp, Verdict,
    Vouch, read_json, request_subject, time_to_sign,
};
use serde_json::json;

use crate::agent::{
    Desk, caught_up, colleague, colleague_options, listed, troubles, until, verdict,
};
use crate::operators::{put_approval_of, put_list, sees};

/// The list in the bucket, and who signed it.
async fn current(app: &App) -> (u64, OperatorList, String) {
    let value = app.bus().unwrap().policy_get("operators").await;
    let value = value.unwrap().unwrap();
    let envelope = SignedEnvelope::from_bytes(&value.value).unwrap();
    let list = read_json(&envelope.payload_bytes().unwrap()).unwrap();
    (value.revision, list, envelope.key.to_string())
}

/// Waits until so many operators are vouched for.
async fn vouched(app: &App, words: usize) -> u64 {
    until("everybody is vouched for", || async {
        current(app).await.1.vouched.len() == words
    })
    .await;
    current(app).await.0
}

async fn open(enrolment: &Enrolment) -> Gate {
    Gate::builder(enrolment.clone()).connect().await.unwrap()
}

/// A question of the agent, and what `answer` makes of it.
async fn asked(gate: &Gate, app: &App, id: &str, answer: impl AsyncFnOnce(RequestKey)) -> Decision {
    let ask = Ask::tool("delete_invoice", json!({"invoice_id": "INV-42"}))
        .allow([Verdict::Approve, Verdict::Deny])
        .risk(Risk::Medium)
        .request_id(id.parse().unwrap());
    let asking = tokio::spawn(gate.ask(ask));
    listed(app, id).await;
    answer(format!("acme/bot/{id}").parse().unwrap()).await;
    asking.await.unwrap().unwrap()
}

async fn approved_by(gate: &Gate, app: &App, id: &str) -> Decision {
    asked(gate, app, id, async |key| {
        app.decide(verdict(&key, Verdict::Approve)).await.unwrap();
    })
    .await
}

#[tokio::test(flavor = "multi_thread")]
async fn an_agent_of_the_first_console_runs_what_later_operators_approve_and_nothing_of_a_retired_one()
 {
    let desk = Desk::open().await;
    let ann = &desk.app;
    let first = ann.enroll(&"acme/bot".parse().unwrap()).await.unwrap();
    assert_eq!(first.trusted_keys.len(), 2, "she is the only one");
    let (bea_data, cem_data) = (TempData::new(), TempData::new());
    let bea = colleague(&desk, &bea_data, "Bea").await;
    let cem = colleague(&desk, &cem_data, "Cem").await;
    vouched(ann, 2).await;
    // Bea is the last who signs the list; from now on no agent of the first day knows its signer.
    let changed = bea.change_operators(&Change::Approval(true)).await;
    assert!(changed.unwrap());
    let bea_key = bea.identity().human_key();
    assert_eq!(current(ann).await.2, bea_key.as_str());
    let gate = open(&first).await;
    for (app, id) in [(ann, "by-ann"), (&bea, "by-bea"), (&cem, "by-cem")] {
        let decision = approved_by(&gate, app, id).await;
        assert!(decision.allowed(), "{id}: {:?}", decision.fault());
    }
    let (gone, key) = (ann.identity().signing(), ann.identity().human_key());
    assert!(
        bea.change_operators(&Change::Retire(key.clone()))
            .await
            .unwrap()
    );
    sees(ann, &key, ListedState::Retired).await;
    assert_eq!(current(ann).await.2, bea_key.as_str());
    for (what, gate) in [("goes on", gate), ("starts", open(&first).await)] {
        let id = format!("{}-stolen", &what[..1]);
        let decision = asked(&gate, &bea, &id, async |key| {
            let subject = request_subject(&key);
            let stored = bea.bus().unwrap();
            let stored = stored.read_last(Stream::Requests.name(), &subject).await;
            let raw = stored.unwrap().unwrap().payload;
            put_approval_of(&bea, &raw, &key, &gone.human).await;
        })
        .await;
        assert_eq!(decision.fault(), Some(DecisionFault::UnknownKey), "{what}");
        assert!(!decision.allowed());
        let decision = approved_by(&gate, &cem, &format!("{}-by-cem", &what[..1])).await;
        assert!(decision.allowed(), "{what}: {:?}", decision.fault());
    }
    for app in [cem, bea, desk.app] {
        app.shutdown().await;
    }
}

/// Nobody's words are on the list any more.
#[tokio::test(flavor = "multi_thread")]
async fn a_console_that_starts_vouches_for_those_who_came_after_it_and_then_the_list_is_left_alone()
{
    let desk = Desk::open().await;
    let (bea_data, cem_data) = (TempData::new(), TempData::new());
    let bea = colleague(&desk, &bea_data, "Bea").await;
    let cem = colleague(&desk, &cem_data, "Cem").await;
    vouched(&desk.app, 2).await;
    let ann = desk.app.identity().human_key();
    let retire = Change::Retire(ann.clone());
    assert!(bea.change_operators(&retire).await.unwrap());
    for app in [&desk.app, &cem] {
        sees(app, &ann, ListedState::Retired).await;
    }
    let signer = bea.identity().signing();
    bea.shutdown().await;
    let (_, list, _) = current(&cem).await;
    let before = OperatorList {
        vouched: Vec::new(),
        at: Some(time_to_sign(Timestamp::new(cem.now().into()), list.at)),
        ..list
    };
    put_list(&cem, &before, &signer.human).await;
    let bea = App::start(colleague_options(&desk, &bea_data, "Bea")).await;
    let bea = bea.unwrap();
    caught_up(&bea).await;
    let revision = vouched(&cem, 1).await;
    let (_, list, by) = current(&cem).await;
    assert_eq!(by, signer.human_key.as_str());
    let said = Vouch::said(&list.vouched[0]).unwrap();
    assert_eq!(said.by, signer.human_key);
    assert_eq!(said.key, cem.identity().human_key());
    // Nobody has signed it again in between.
    assert!(cem.change_operators(&Change::Approval(true)).await.unwrap());
    let bus = cem.bus().unwrap();
    let next = bus.read_next(POLICY_STREAM, "$KV.CS_POLICY.operators", revision + 1);
    assert_eq!(next.await.unwrap().unwrap().seq, current(&cem).await.0);
    for app in [&cem, &bea] {
        assert_eq!(troubles(app).await, []);
    }
    for app in [cem, bea, desk.app] {
        app.shutdown().await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn what_an_operator_under_limits_signed_is_signed_again_by_one_without() {
    let desk = Desk::open().await;
    let first = desk.app.enroll(&"acme/bot".parse().unwrap()).await.unwrap();
    let data = TempData::new();
    let bea = colleague(&desk, &data, "Bea").await;
    vouched(&desk.app, 1).await;
    let limits = Limits {
        workspaces: None,
        max_risk: Some(Risk::Medium),
    };
    let limit = Change::Limit(bea.identity().human_key(), limits);
    assert!(desk.app.change_operators(&limit).await.unwrap());
    until("the limit", || async {
        let (list, _) = bea.operators();
        list.iter().any(|line| line.mine && line.max_risk.is_some())
    })
    .await;
    let trusted = desk.app.enroll(&"acme/later".parse().unwrap()).await;
    assert_eq!(
        trusted.unwrap().trusted_keys.len(),
        2,
        "no agent knows limits before it has read the list"
    );
    bea.rotate_keys().await.unwrap();
    let own = desk.app.identity().human_key();
    until("it is signed again", || async {
        current(&desk.app).await.2 == own.as_str()
    })
    .await;
    let gate = open(&first).await;
    let decision = approved_by(&gate, &bea, "by-bea").await;
    assert!(decision.allowed(), "{:?}", decision.fault());
    for app in [bea, desk.app] {
        app.shutdown().await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn while_nobody_without_limits_is_there_agents_that_start_follow_the_last_list_and_no_key_changes()
 {
    let desk = Desk::open().await;
    let (bea_data, cem_data) = (TempData::new(), TempData::new());
    let bea = colleague(&desk, &bea_data, "Bea").await;
    vouched(&desk.app, 1).await;
    let limits = Limits {
        workspaces: None,
        max_risk: Some(Risk::Medium),
    };
    let key = desk.app.identity().human_key();
    for change in [Change::Limit(key.clone(), limits), Change::Approval(true)] {
        assert!(bea.change_operators(&change).await.unwrap());
    }
    until("the limit", || async {
        let (list, approval) = desk.app.operators();
        approval && list.iter().any(|line| line.mine && line.max_risk.is_some())
    })
    .await;
    let later = desk.app.enroll(&"acme/bot".parse().unwrap()).await.unwrap();
    assert!(later.trusted_keys.iter().all(|trusted| trusted.key != key));
    let bea_key = bea.identity().human_key();
    bea.shutdown().await;
    until("she is gone", || async {
        desk.app
            .consoles()
            .await
            .iter()
            .all(|console| console.is_this)
    })
    .await;
    assert!(
        desk.app.rotate_keys().await.is_err(),
        "no agent would follow"
    );
    assert_eq!(desk.app.identity().human_key(), key);
    // Cem waits, and signed the list that says so.
    let cem = App::start(colleague_options(&desk, &cem_data, "Cem")).await;
    let cem = cem.unwrap();
    let cem_key = cem.identity().human_key();
    sees(&desk.app, &cem_key, ListedState::Waiting).await;
    let (_, list, signer) = current(&desk.app).await;
    assert_eq!(signer, cem_key.as_str());
    assert_eq!(list.base.unwrap().key, bea_key);
    let gate = open(&later).await;
    let decision = approved_by(&gate, &desk.app, "by-ann").await;
    assert!(decision.allowed(), "{:?}", decision.fault());
    for app in [cem, desk.app] {
        app.shutdown().await;
    }
}
