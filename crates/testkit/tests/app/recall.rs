//! Automatic approvals that meet panic, a pause or a stop before the bus has them.

use std::time::Duration;

use async_nats::jetstream;
use countersign_core::App;
use countersign_core::ops::realm::{Change, Limits};
use countersign_testkit::TempData;
use countersign_wire::{AgentControl, Risk, Verdict, args_digest};
use serde_json::json;

use crate::agent::{
    Agent, Desk, caught_up, colleague, in_state, line_when, listed, options, until, verdict,
};
use crate::faults::room;
use crate::operators::{promote, retirement};
use crate::policy::{INVOICES, acme, apply};

/// What `taken_back` says of a request, in order.
async fn taken_back(desk: &Desk, id: &str) -> Vec<String> {
    let rows = desk.app.audit_after(0, 1_000).await.unwrap();
    rows.iter()
        .filter(|row| row.action == "taken_back" && row.subject.ends_with(&format!("/{id}")))
        .map(|row| {
            let detail: serde_json::Value = serde_json::from_str(&row.detail).unwrap();
            detail["why"].as_str().unwrap().to_owned()
        })
        .collect()
}

/// A rule approved while the bus had no room, and before somebody panicked: it must not run under the panic,
/// and people decide what it would have let run.
#[tokio::test(flavor = "multi_thread")]
async fn an_approval_of_a_rule_that_meets_panic_before_the_bus_goes_back_to_people() {
    let desk = Desk::open().await;
    let agent = desk.agent("bot").await;
    apply(&desk.app, INVOICES).await;
    room(&desk, "CS_DECISIONS", Some(100)).await;
    let mut short = agent.request("short");
    short["expires_at"] = json!("2026-11-21T12:00:12.000Z");
    agent.ask(&short).await;
    // Of another invoice: what a person denied, no rule approves afterwards.
    let mut other = agent.request("denied");
    other["args"] = json!({"invoice_id": "INV-43"});
    other["args_digest"] = json!(args_digest(&other["args"]).unwrap().to_string());
    let denied = agent.ask(&other).await;
    agent.ask(&agent.request("later")).await;
    agent.ask(&agent.request("gone")).await;
    until("all wait for the bus", || async {
        desk.app.status().await.unwrap().outbox == 4
    })
    .await;
    let withdraw = agent.subject("withdraw", "gone");
    agent
        .publish(withdraw, b"{\"v\":1}".to_vec())
        .await
        .unwrap();
    desk.app.set_panic(true).await.unwrap();
    for id in ["short", "denied", "later"] {
        let line = in_state(&desk.app, id, "pending").await;
        assert_eq!((line.verdict, line.origin), (None, None), "{id}");
        assert_eq!(taken_back(&desk, id).await, ["panic is on"]);
    }
    in_state(&desk.app, "gone", "withdrawn").await;
    room(&desk, "CS_DECISIONS", None).await;
    assert_eq!(agent.decision("gone").await["origin"], "agent");
    desk.app
        .decide(verdict(&denied, Verdict::Deny))
        .await
        .unwrap();
    let decision = agent.decision("denied").await;
    assert_eq!(
        (&decision["verdict"], &decision["origin"]),
        (&json!("deny"), &json!("operator"))
    );
    assert_eq!(agent.decision("short").await["origin"], "timeout");
    assert_eq!(listed(&desk.app, "later").await.state, "pending");

    desk.app.set_panic(false).await.unwrap();
    let decision = agent.decision("later").await;
    assert_eq!(
        (&decision["verdict"], &decision["origin"]),
        (&json!("approve"), &json!("rule"))
    );
    in_state(&desk.app, "later", "decided").await;
    let record = desk.app.rule_record(&acme(), "invoices").await.unwrap();
    assert_eq!(
        record.uses, 1,
        "what was taken back is not a use of the rule"
    );
    let bus = desk.app.bus().unwrap();
    assert_eq!(bus.last_sequence("CS_DECISIONS").await.unwrap(), 1 + 4);
    assert_eq!(desk.app.status().await.unwrap().outbox, 0);
    assert_eq!(desk.app.audit_verify(None).await.unwrap().first_bad, None);
    desk.app.shutdown().await;
}

/// The same of one agent, and of a bypass that ends before its approval is on the bus.
#[tokio::test(flavor = "multi_thread")]
async fn a_pause_a_stop_and_the_end_of_a_bypass_take_back_what_the_bus_does_not_have() {
    let desk = Desk::open().await;
    apply(&desk.app, INVOICES).await;
    let mut agents = Vec::new();
    for name in ["paused", "stopped", "other", "passed"] {
        agents.push(desk.agent(name).await);
    }
    let [paused, stopped, other, passed] = &agents[..] else {
        unreachable!();
    };
    let key = |agent: &Agent| agent.enrolment.agent_key();
    let minute = Duration::from_secs(60);
    desk.app
        .set_bypass(&key(passed), Risk::Medium, minute)
        .await
        .unwrap();
    room(&desk, "CS_DECISIONS", Some(100)).await;
    for agent in [paused, stopped, other] {
        agent
            .ask(&agent.request(agent.enrolment.agent.as_ref()))
            .await;
    }
    let mut by_bypass = passed.request("passed");
    by_bypass["tool"]["name"] = json!("drop_table");
    passed.ask(&by_bypass).await;
    until("all wait for the bus", || async {
        desk.app.status().await.unwrap().outbox == 4
    })
    .await;
    desk.app.end_bypass(&key(passed)).await.unwrap();
    desk.app
        .set_control(&key(paused), AgentControl::Paused)
        .await
        .unwrap();
    desk.app
        .set_control(&key(stopped), AgentControl::Stopped)
        .await
        .unwrap();
    for (id, why) in [
        ("paused", "the agent is paused"),
        ("passed", "the bypass that it names is over"),
    ] {
        in_state(&desk.app, id, "pending").await;
        assert_eq!(taken_back(&desk, id).await, [why]);
    }
    until("the stopped agent's call is denied here", || async {
        let line = listed(&desk.app, "stopped").await;
        line.verdict.as_deref() == Some("deny")
    })
    .await;
    assert_eq!(taken_back(&desk, "stopped").await, ["the agent is stopped"]);
    room(&desk, "CS_DECISIONS", None).await;
    let decision = stopped.decision("stopped").await;
    assert_eq!(
        (&decision["verdict"], &decision["origin"]),
        (&json!("deny"), &json!("system"))
    );
    assert_eq!(
        other.decision("other").await["verdict"],
        "approve",
        "nothing holds it back"
    );
    for id in ["paused", "passed"] {
        assert_eq!(listed(&desk.app, id).await.state, "pending", "{id}");
    }
    desk.app.shutdown().await;
}

#[derive(sqlx::FromRow)]
struct Waiting {
    subject: String,
    payload: Vec<u8>,
    key: String,
    sig: String,
}

async fn waiting(desk: &Desk, id: &str) -> Waiting {
    let path = desk.data.path().join("countersign.db");
    let file = sqlx::sqlite::SqliteConnectOptions::new().filename(path);
    let mut raw = sqlx::ConnectOptions::connect(&file).await.unwrap();
    let of = "SELECT subject, payload, signer AS key, sig FROM outbox
              WHERE request = (SELECT id FROM requests WHERE request_id = ?)";
    sqlx::query_as(of)
        .bind(id)
        .fetch_one(&mut raw)
        .await
        .unwrap()
}

/// A console that is started under panic does not know whether its last life sent what lies in the outbox: what the
/// stream holds counts, the rest goes back.
#[tokio::test(flavor = "multi_thread")]
async fn after_a_restart_under_panic_what_the_stream_holds_stands_and_the_rest_goes_back() {
    let mut desk = Desk::open().await;
    let agent = desk.agent("bot").await;
    apply(&desk.app, INVOICES).await;
    room(&desk, "CS_DECISIONS", Some(100)).await;
    agent.ask(&agent.request("sent")).await;
    agent.ask(&agent.request("kept")).await;
    until("both wait for the bus", || async {
        desk.app.status().await.unwrap().outbox == 2
    })
    .await;
    let sent = waiting(&desk, "sent").await;
    desk.app.set_panic(true).await.unwrap();
    desk.app.shutdown().await;

    desk.app = App::start(options(&desk.data)).await.unwrap();
    caught_up(&desk.app).await;
    assert_eq!(desk.app.status().await.unwrap().outbox, 2);
    room(&desk, "CS_DECISIONS", None).await;
    // What the last life had sent arrives now.
    let login = desk.app.identity().login.seed().unwrap();
    let url = desk.app.embedded_server().unwrap().url();
    let client = async_nats::ConnectOptions::with_nkey(login);
    let client = client.connect(url).await.unwrap();
    let mut headers = async_nats::HeaderMap::new();
    headers.insert("CS-Key", sent.key.as_str());
    headers.insert("CS-Sig", sent.sig.as_str());
    let streams = jetstream::new(client);
    let stored = streams
        .publish_with_headers(sent.subject, headers, sent.payload.into())
        .await
        .unwrap();
    let stored = stored.await;
    assert!(stored.is_ok(), "{stored:?}");
    in_state(&desk.app, "sent", "decided").await;
    in_state(&desk.app, "kept", "pending").await;
    assert_eq!(taken_back(&desk, "sent").await, [""; 0]);
    assert_eq!(taken_back(&desk, "kept").await.len(), 1);
    assert_eq!(desk.app.status().await.unwrap().outbox, 0);
    assert_eq!(desk.app.audit_verify(None).await.unwrap().first_bad, None);
    desk.app.shutdown().await;
}

/// What an operator signed and could not send is void once the key may no longer say it; a denial it may always say.
#[tokio::test(flavor = "multi_thread")]
async fn what_an_operator_signed_who_is_limited_meanwhile_waits_for_people_again() {
    let desk = Desk::open().await;
    let agent = desk.agent("bot").await;
    let data = TempData::new();
    let second = colleague(&desk, &data, "Grace").await;
    promote(&desk, &second).await;
    let mut asked = Vec::new();
    for (id, risk) in [("beyond", "high"), ("within", "low"), ("denied", "high")] {
        let mut request = agent.request(id);
        request["risk"] = json!(risk);
        asked.push(agent.ask(&request).await);
        listed(&desk.app, id).await;
    }
    // Enough for entries of the realm log, and not for these decisions.
    room(&desk, "CS_DECISIONS", Some(5_000)).await;
    for (key, given) in asked
        .iter()
        .zip([Verdict::Approve, Verdict::Approve, Verdict::Deny])
    {
        let (app, mut verdict) = (desk.app.clone(), verdict(key, given));
        verdict.message = Some("x".repeat(6_000));
        tokio::spawn(async move { app.decide(verdict).await });
    }
    until("all wait for the bus", || async {
        desk.app.status().await.unwrap().outbox == 3
    })
    .await;
    let limits = Limits {
        max_risk: Some(Risk::Low),
        ..Limits::default()
    };
    let own = desk.app.identity().human_key().clone();
    for change in [
        Change::Admin(own.to_string(), false),
        Change::Limit(own.to_string(), limits),
    ] {
        second.change_operators(&change).await.unwrap();
    }
    let line = line_when(&desk.app, "beyond", |line| line.state == "pending").await;
    assert_eq!((line.verdict, line.origin), (None, None));
    assert_eq!(
        taken_back(&desk, "beyond").await,
        ["its key may no longer decide this"]
    );
    room(&desk, "CS_DECISIONS", None).await;
    for id in ["within", "denied"] {
        in_state(&desk.app, id, "decided").await;
        assert_eq!(taken_back(&desk, id).await, [""; 0]);
    }
    second
        .decide(verdict(&asked[0], Verdict::Approve))
        .await
        .unwrap();
    in_state(&desk.app, "beyond", "decided").await;
    assert_eq!(desk.app.audit_verify(None).await.unwrap().first_bad, None);
    second.shutdown().await;
    desk.app.shutdown().await;
}

/// What a key signed and could not send is void once that key is retired: the request waits again, whoever
/// signed, and what needs no person is answered with the key of now.
#[tokio::test(flavor = "multi_thread")]
async fn what_a_key_signed_that_is_retired_meanwhile_waits_for_people_again() {
    let desk = Desk::open().await;
    let agent = desk.agent("bot").await;
    let data = TempData::new();
    let second = colleague(&desk, &data, "Grace").await;
    promote(&desk, &second).await;
    apply(&desk.app, INVOICES).await;
    let mut critical = agent.request("person");
    critical["risk"] = json!("critical");
    let person = agent.ask(&critical).await;
    listed(&desk.app, "person").await;
    // Enough for an entry of the realm log, and not for these decisions.
    room(&desk, "CS_DECISIONS", Some(950)).await;
    let app = desk.app.clone();
    let mut approve = verdict(&person, Verdict::Approve);
    approve.message = Some("x".repeat(1_000));
    let given = tokio::spawn(async move { app.decide(approve).await });
    let rule = format!("rule-{}", "x".repeat(59));
    let rule = rule.as_str();
    agent.ask(&agent.request(rule)).await;
    until("both wait for the bus", || async {
        desk.app.status().await.unwrap().outbox == 2
    })
    .await;
    let own = desk.app.identity().signing();
    for key in [&own.auto_key, &own.human_key] {
        second.change_operators(&retirement(key)).await.unwrap();
    }
    for id in ["person", rule] {
        let line = line_when(&desk.app, id, |line| line.state == "pending").await;
        assert_eq!((line.verdict, line.origin), (None, None), "{id}");
        assert_eq!(taken_back(&desk, id).await, ["its key is retired"]);
    }
    let reported = given.await.unwrap().unwrap_err();
    assert!(
        matches!(reported.code.as_str(), "not_approvable" | "bus_unreachable"),
        "{reported}"
    );
    room(&desk, "CS_DECISIONS", None).await;
    for id in ["person", rule] {
        let decide = || second.decide(verdict(&agent.key(id), Verdict::Deny));
        match decide().await {
            Ok(_) => {}
            // A rule of the other console was first.
            Err(error) => assert_eq!(error.code.as_str(), "already_decided", "{error}"),
        }
        let decision = agent.decision(id).await;
        let signer = &decision["decided_by"]["key"];
        assert!(*signer != own.auto_key.as_str() && *signer != own.human_key.as_str());
        in_state(&desk.app, id, "decided").await;
    }
    assert_eq!(desk.app.status().await.unwrap().outbox, 0);
    assert_eq!(desk.app.audit_verify(None).await.unwrap().first_bad, None);
    second.shutdown().await;
    desk.app.shutdown().await;
}

/// A decision of several operators that could not be sent is void once one of the voters is retired: the request
/// waits again, and the votes that still count go on counting.
#[tokio::test(flavor = "multi_thread")]
async fn a_decision_whose_voter_is_retired_before_the_bus_has_it_waits_for_another_vote() {
    let desk = Desk::open().await;
    let agent = desk.agent("bot").await;
    let (data, more) = (TempData::new(), TempData::new());
    let dan = colleague(&desk, &data, "Dan").await;
    let grace = colleague(&desk, &more, "Grace").await;
    promote(&desk, &grace).await;
    let mut request = agent.request("r1");
    request["approvals_required"] = json!(2);
    let key = agent.ask(&request).await;
    listed(&desk.app, "r1").await;
    listed(&dan, "r1").await;
    dan.decide(verdict(&key, Verdict::Approve)).await.unwrap();
    line_when(&desk.app, "r1", |line| line.votes == 1).await;
    let retired = dan.identity().human_key();
    // He is gone, and this console makes the decision.
    dan.shutdown().await;
    // Enough for a vote and an entry, and not for the decision with two votes.
    room(&desk, "CS_DECISIONS", Some(2_400)).await;
    let (app, command) = (desk.app.clone(), verdict(&key, Verdict::Approve));
    let given = tokio::spawn(async move { app.decide(command).await });
    line_when(&desk.app, "r1", |line| line.state == "queued").await;
    grace.change_operators(&retirement(&retired)).await.unwrap();
    let line = line_when(&desk.app, "r1", |line| line.state == "pending").await;
    assert_eq!((line.verdict, line.voted), (None, true));
    assert_eq!(
        taken_back(&desk, "r1").await,
        ["an operator who voted for it may no longer vote on it"]
    );
    drop(given.await.unwrap());
    room(&desk, "CS_DECISIONS", None).await;
    grace.decide(verdict(&key, Verdict::Approve)).await.unwrap();
    let decision = agent.decision("r1").await;
    let votes = decision["votes"].as_array().unwrap();
    assert_eq!(votes.len(), 2);
    assert!(votes.iter().all(|vote| vote["key"] != retired.as_str()));
    for app in [&desk.app, &grace] {
        in_state(app, "r1", "decided").await;
        assert_eq!(app.status().await.unwrap().outbox, 0);
    }
    assert_eq!(desk.app.audit_verify(None).await.unwrap().first_bad, None);
    grace.shutdown().await;
    desk.app.shutdown().await;
}
