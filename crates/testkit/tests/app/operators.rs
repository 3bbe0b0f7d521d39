use std::time::Duration;

use countersign_core::App;
use countersign_core::ops::operators::{Change, Limits, ListedState};
use countersign_testkit::TempData;
use countersign_wire::{
    ApprovalDecision, Context, DecidedBy, DecisionVerdict, KeyRole, OperatorEntry, OperatorList,
    Origin, PublicKey, RequestKey, Risk, Sha256Digest, SignedEnvelope, Timestamp, Verdict,
    decision_subject, policy_subject, sign,
};
use nkeys::KeyPair;

use crate::agent::{Agent, Desk, LIMIT, colleague, in_state, line_when, listed, troubles, verdict};

async fn until(what: &str, mut holds: impl AsyncFnMut() -> bool) {
    let wait = async {
        while !holds().await {
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
    };
    tokio::time::timeout(LIMIT, wait).await.expect(what);
}

fn state_of(app: &App, key: &PublicKey) -> Option<ListedState> {
    let (list, _) = app.operators();
    let line = list.iter().rfind(|line| line.key == *key);
    line.map(|line| line.state)
}

pub(crate) async fn sees(app: &App, key: &PublicKey, state: ListedState) {
    until("the list in time", async || {
        state_of(app, key) == Some(state)
    })
    .await;
}

fn limits(workspaces: Option<&str>, max_risk: Option<Risk>) -> Limits {
    Limits {
        workspaces: workspaces.map(|name| vec![name.parse().unwrap()]),
        max_risk,
    }
}

async fn code(app: &App, key: &RequestKey, wanted: Verdict) -> String {
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

#[tokio::test(flavor = "multi_thread")]
async fn consoles_that_change_the_list_at_once_lose_nothing() {
    let desk = Desk::open().await;
    let data = TempData::new();
    let second = colleague(&desk, &data, "Grace").await;
    let grace = second.identity().human_key();
    sees(&desk.app, &grace, ListedState::InForce).await;
    let keys: Vec<PublicKey> = (0..12)
        .map(|_| PublicKey::of(&KeyPair::new_user()).unwrap())
        .collect();
    let add = |app: App, key: PublicKey| async move {
        let change = Change::Add {
            name: Some("guest".into()),
            role: None,
            limits: Limits::default(),
            key,
        };
        app.change_operators(&change).await.unwrap()
    };
    let changes = keys.iter().enumerate().map(|(place, key)| {
        let app = if place % 2 == 0 { &desk.app } else { &second };
        tokio::spawn(add(app.clone(), key.clone()))
    });
    for change in changes.collect::<Vec<_>>() {
        assert!(change.await.unwrap());
    }
    for app in [&desk.app, &second] {
        for key in &keys {
            sees(app, key, ListedState::InForce).await;
        }
    }
    assert_eq!(troubles(&second).await, []);
    second.shutdown().await;
    desk.app.shutdown().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_retired_operator_looks_and_does_not_decide_and_the_old_decisions_stand() {
    let desk = Desk::open().await;
    let agent = desk.agent("bot").await;
    let data = TempData::new();
    let second = colleague(&desk, &data, "Grace").await;
    let grace = second.identity().human_key();
    sees(&desk.app, &grace, ListedState::InForce).await;
    let before = ask(&desk, &agent, &[&second], "before").await;
    let waits = ask(&desk, &agent, &[&second], "waits").await;
    assert_eq!(code(&second, &before, Verdict::Approve).await, "done");
    let mut held = verdict(&waits, Verdict::Approve);
    held.hold = true;
    second.decide(held).await.unwrap();
    assert!(
        desk.app
            .change_operators(&Change::Retire(grace.clone()))
            .await
            .unwrap()
    );
    sees(&second, &grace, ListedState::Retired).await;
    // What was only held is dropped, not signed with a key that is gone.
    in_state(&second, "waits", "pending").await;
    assert_eq!(code(&second, &waits, Verdict::Deny).await, "read_only");
    let reported = second.status().await.unwrap().read_only.unwrap();
    assert!(reported.contains("retired"), "{reported}");
    assert_eq!(desk.app.status().await.unwrap().read_only, None);
    let retire = Change::Retire(desk.app.identity().human_key());
    let refused = second.change_operators(&retire).await.unwrap_err();
    assert_eq!(refused.code.as_str(), "read_only");
    assert!(
        refused
            .to_string()
            .contains(&format!("operators add {grace}")),
        "{refused}"
    );
    assert_eq!(code(&desk.app, &waits, Verdict::Approve).await, "done");
    // Who joins later judges by the list in force on the day.
    let late = TempData::new();
    let third = colleague(&desk, &late, "Heidi").await;
    for id in ["before", "waits"] {
        assert_eq!(
            in_state(&third, id, "decided").await.verdict.as_deref(),
            Some("approve")
        );
    }
    // Back again, without a restart.
    let change = Change::Add {
        key: grace.clone(),
        name: None,
        role: None,
        limits: Limits::default(),
    };
    assert!(desk.app.change_operators(&change).await.unwrap());
    let after = ask(&desk, &agent, &[&second], "after").await;
    sees(&second, &grace, ListedState::InForce).await;
    assert_eq!(code(&second, &after, Verdict::Approve).await, "done");
    assert_eq!(troubles(&desk.app).await, []);
    for app in [third, second, desk.app] {
        assert_eq!(app.audit_verify(None).await.unwrap().first_bad, None);
        app.shutdown().await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn with_approval_a_new_console_counts_only_after_an_operator_accepted_it() {
    let desk = Desk::open().await;
    let agent = desk.agent("bot").await;
    assert!(
        desk.app
            .change_operators(&Change::Approval(true))
            .await
            .unwrap()
    );
    assert!(
        !desk
            .app
            .change_operators(&Change::Approval(true))
            .await
            .unwrap()
    );
    let data = TempData::new();
    let second = colleague(&desk, &data, "Grace").await;
    let (grace, auto) = (second.identity().human_key(), second.identity().auto_key());
    let (grace, auto) = (&grace, &auto);
    sees(&desk.app, grace, ListedState::Waiting).await;
    until("an alarm", async || {
        has_alarm(&desk.app, "operator_waits", grace.as_str()).await
    })
    .await;
    let key = ask(&desk, &agent, &[&second], "r1").await;
    for wanted in [Verdict::Approve, Verdict::Deny] {
        assert_eq!(code(&second, &key, wanted).await, "read_only");
    }
    let add = Change::Add {
        key: grace.clone(),
        name: None,
        role: None,
        limits: Limits::default(),
    };
    let itself = second.change_operators(&add).await.unwrap_err();
    assert_eq!(itself.code.as_str(), "read_only");
    assert!(desk.app.change_operators(&add).await.unwrap());
    sees(&second, grace, ListedState::InForce).await;
    assert_eq!(
        state_of(&second, auto),
        Some(ListedState::InForce),
        "its console too"
    );
    assert_eq!(code(&second, &key, Verdict::Approve).await, "done");
    in_state(&desk.app, "r1", "decided").await;
    assert_eq!(troubles(&desk.app).await, []);
    second.shutdown().await;
    desk.app.shutdown().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn the_last_operator_without_limits_stays() {
    let desk = Desk::open().await;
    let own = desk.app.identity().human_key();
    for change in [
        Change::Retire(own.clone()),
        Change::Limit(own.clone(), limits(Some("acme"), None)),
    ] {
        let refused = desk.app.change_operators(&change).await.unwrap_err();
        assert_eq!(refused.code.as_str(), "invalid_args");
    }
    assert_eq!(state_of(&desk.app, &own), Some(ListedState::InForce));
    desk.app.shutdown().await;
}

/// Without it the console denies, expires and answers nothing, whatever rules and stops say.
#[tokio::test(flavor = "multi_thread")]
async fn a_console_keeps_its_own_key_and_says_so_where_another_retired_it() {
    let desk = Desk::open().await;
    let data = TempData::new();
    let second = colleague(&desk, &data, "Grace").await;
    let own = second.identity().auto_key();
    sees(&second, &own, ListedState::InForce).await;
    let retire = Change::Retire(own.clone());
    let refused = second.change_operators(&retire).await.unwrap_err();
    assert_eq!(refused.code.as_str(), "invalid_args");
    assert!(refused.to_string().contains("rotate"), "{refused}");
    assert_eq!(state_of(&second, &own), Some(ListedState::InForce));
    assert_eq!(second.why_not_by_itself(), None);
    sees(&desk.app, &own, ListedState::InForce).await;
    assert!(desk.app.change_operators(&retire).await.unwrap());
    sees(&second, &own, ListedState::Retired).await;
    let reported = second.why_not_by_itself().unwrap();
    assert!(
        reported.contains("was retired at") && reported.contains(own.as_str()),
        "{reported}"
    );
    assert_eq!(
        second.status().await.unwrap().read_only,
        None,
        "people decide"
    );
    second.shutdown().await;
    desk.app.shutdown().await;
}

/// An approval that `signer` puts on the stream by hand.
pub(crate) async fn put_approval(app: &App, agent: &Agent, key: &RequestKey, signer: &KeyPair) {
    let raw = serde_json::to_vec(&agent.request(key.request_id.as_ref())).unwrap();
    put_approval_of(app, &raw, key, signer).await;
}

/// The same of a request that is stored in these bytes.
pub(crate) async fn put_approval_of(app: &App, raw: &[u8], key: &RequestKey, signer: &KeyPair) {
    let row = listed(app, key.request_id.as_ref()).await;
    let decision = ApprovalDecision {
        v: 1,
        decision_id: uuid::Uuid::now_v7(),
        request_id: key.request_id.clone(),
        request_digest: Sha256Digest::of_bytes(raw),
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
            key: PublicKey::of(signer).unwrap(),
        },
        decided_at: Timestamp::new(app.now().into()),
        votes: None,
        extra: serde_json::Map::new(),
    };
    let payload = serde_json::to_vec(&decision).unwrap();
    let subject = decision_subject(key);
    let sig = sign(
        signer,
        Context::Decision,
        &app.realm().unwrap(),
        &subject,
        &payload,
    )
    .unwrap();
    let outcome = app
        .bus()
        .unwrap()
        .publish_once(countersign_core::bus::Publication {
            subject,
            payload: payload.into(),
            key: Some(signer.public_key()),
            sig: Some(sig.to_string()),
        })
        .await;
    assert!(matches!(
        outcome,
        countersign_core::bus::PublishOutcome::Stored { .. }
    ));
}

#[tokio::test(flavor = "multi_thread")]
async fn an_approval_beyond_the_limits_is_refused_and_one_that_is_stored_is_void() {
    let desk = Desk::open().await;
    let agent = desk.agent("bot").await;
    let data = TempData::new();
    let second = colleague(&desk, &data, "Grace").await;
    let grace = second.identity().human_key();
    sees(&desk.app, &grace, ListedState::InForce).await;
    let before = ask(&desk, &agent, &[&second], "before").await;
    assert_eq!(code(&second, &before, Verdict::Approve).await, "done");
    for (limit, id, wanted, result) in [
        (
            limits(None, Some(Risk::Low)),
            "a",
            Verdict::Approve,
            "verdict_not_allowed",
        ),
        (
            limits(None, Some(Risk::Low)),
            "b",
            Verdict::Skip,
            "verdict_not_allowed",
        ),
        (limits(None, Some(Risk::Low)), "c", Verdict::Deny, "done"),
        (
            limits(Some("other"), None),
            "d",
            Verdict::Approve,
            "verdict_not_allowed",
        ),
        (limits(Some("other"), None), "e", Verdict::Terminate, "done"),
        (
            limits(Some("acme"), Some(Risk::Medium)),
            "f",
            Verdict::Approve,
            "done",
        ),
    ] {
        let change = Change::Limit(grace.clone(), limit.clone());
        desk.app.change_operators(&change).await.unwrap();
        let key = ask(&desk, &agent, &[&second], id).await;
        until("the limit", async || {
            let (list, _) = second.operators();
            let line = list.iter().rfind(|line| line.key == grace).unwrap().clone();
            line.max_risk == limit.max_risk && line.workspaces == limit.workspaces
        })
        .await;
        assert_eq!(code(&second, &key, wanted).await, result, "{id}");
    }
    let narrow = Change::Limit(grace.clone(), limits(None, Some(Risk::Low)));
    desk.app.change_operators(&narrow).await.unwrap();
    let key = ask(&desk, &agent, &[&second], "forged").await;
    put_approval(&desk.app, &agent, &key, &second.identity().signing().human).await;
    let late = TempData::new();
    let third = colleague(&desk, &late, "Heidi").await;
    for app in [&desk.app, &second, &third] {
        in_state(app, "forged", "void").await;
        assert!(has_alarm(app, "void_decision", &key.to_string()).await);
        // A limit does not reach back.
        for id in ["before", "f"] {
            assert_eq!(
                in_state(app, id, "decided").await.verdict.as_deref(),
                Some("approve")
            );
        }
    }
    // An operator under limits changes nobody's.
    let widen = Change::Limit(grace, Limits::default());
    let refused = second.change_operators(&widen).await.unwrap_err();
    assert_eq!(refused.code.as_str(), "read_only");
    for app in [third, second, desk.app] {
        app.shutdown().await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_vote_is_not_signed_when_its_operator_is_limited_while_it_is_held() {
    let desk = Desk::open().await;
    let agent = desk.agent("bot").await;
    let data = TempData::new();
    let second = colleague(&desk, &data, "Grace").await;
    let grace = second.identity().human_key();
    sees(&desk.app, &grace, ListedState::InForce).await;
    let mut request = agent.request("r1");
    request["approvals_required"] = 2.into();
    let key = agent.ask(&request).await;
    listed(&second, "r1").await;
    let mut held = verdict(&key, Verdict::Approve);
    held.hold = true;
    second.decide(held).await.unwrap();
    let narrow = Change::Limit(grace, limits(None, Some(Risk::Low)));
    desk.app.change_operators(&narrow).await.unwrap();
    let line = line_when(&second, "r1", |line| line.state == "pending").await;
    assert_eq!((line.votes, line.voted), (0, false));
    let vote = format!(
        "countersign.v1.vote.{}.{}",
        key.to_string().replace('/', "."),
        second.identity().human_key()
    );
    let bus = desk.app.bus().unwrap();
    assert!(
        bus.read_last("CS_DECISIONS", &vote)
            .await
            .unwrap()
            .is_none()
    );
    for app in [second, desk.app] {
        app.shutdown().await;
    }
}

/// Writes a list by hand over the one in the bucket.
pub(crate) async fn put_list(app: &App, list: &OperatorList, signer: &KeyPair) {
    let bus = app.bus().unwrap();
    let subject = policy_subject("operators");
    let payload = serde_json::to_vec(list).unwrap();
    let realm = app.realm().unwrap();
    let envelope =
        SignedEnvelope::seal(signer, Context::Policy, &realm, &subject, &payload).unwrap();
    let revision = bus.policy_get("operators").await.unwrap().unwrap().revision;
    let bytes = envelope.to_bytes().unwrap();
    bus.policy_put("operators", revision, bytes.into())
        .await
        .unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn a_list_that_a_stranger_wrote_over_the_realms_is_put_right() {
    let desk = Desk::open().await;
    let agent = desk.agent("bot").await;
    desk.app
        .change_operators(&Change::Approval(true))
        .await
        .unwrap();
    let own = desk.app.identity().human_key();
    let stranger = KeyPair::new_user();
    let theirs = PublicKey::of(&stranger).unwrap();
    let from = Timestamp::new(desk.app.now().into());
    let entry = OperatorEntry::new(theirs.clone(), "Ada".into(), KeyRole::Human, from);
    let mut list = OperatorList::new(vec![entry]);
    list.at = Some(from);
    put_list(&desk.app, &list, &stranger).await;
    sees(&desk.app, &theirs, ListedState::Waiting).await;
    // The list counts before the writer has stored the alarm.
    until("the alarm is stored", async || {
        has_alarm(&desk.app, "operators_refused", theirs.as_str()).await
    })
    .await;
    assert_eq!(state_of(&desk.app, &own), Some(ListedState::InForce));
    let bus = desk.app.bus().unwrap();
    until("the list is the realm's again", async || {
        let value = bus.policy_get("operators").await.unwrap().unwrap();
        SignedEnvelope::from_bytes(&value.value).unwrap().key == own
    })
    .await;
    let key = ask(&desk, &agent, &[], "r1").await;
    put_approval(&desk.app, &agent, &key, &stranger).await;
    line_when(&desk.app, "r1", |row| row.state == "void").await;
    desk.app.shutdown().await;
}
