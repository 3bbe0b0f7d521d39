use countersign_core::ops::verdicts::Decided;
use countersign_wire::{Response, Verdict, args_digest};
use serde_json::json;

use crate::agent::{Desk, in_state, inbox_ids, line_when, listed, until, verdict};

#[tokio::test(flavor = "multi_thread")]
async fn an_approval_reaches_the_agent_with_the_digest_of_what_was_asked() {
    let desk = Desk::open().await;
    let agent = desk.agent("bot").await;
    let request = agent.request("r1");
    let key = agent.ask(&request).await;
    listed(&desk.app, "r1").await;
    assert_eq!(inbox_ids(&desk.app).await, ["r1"]);
    let decided = desk
        .app
        .decide(verdict(&key, Verdict::Approve))
        .await
        .unwrap();
    assert!(matches!(
        decided,
        Decided::Stored {
            verdict: Verdict::Approve,
            ..
        }
    ));
    let decision = agent.decision("r1").await;
    assert_eq!(decision["verdict"], "approve");
    assert_eq!(decision["args_digest"], request["args_digest"]);
    assert_eq!(decision["decided_by"]["name"], "Ada");
    let row = in_state(&desk.app, "r1", "decided").await;
    assert_eq!(
        (row.verdict.as_deref(), row.delivery.as_str()),
        (Some("approve"), "on_bus")
    );
    assert!(inbox_ids(&desk.app).await.is_empty());
    let id = decision["decision_id"].as_str().unwrap();
    agent.receipt("r1", id, "received").await;
    agent.receipt("r1", id, "executed").await;
    line_when(&desk.app, "r1", |row| row.delivery == "executed").await;
    desk.app.shutdown().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn an_edit_carries_the_edited_arguments_and_their_digest() {
    let desk = Desk::open().await;
    let agent = desk.agent("bot").await;
    let key = agent.ask(&agent.request("r1")).await;
    listed(&desk.app, "r1").await;
    let edited = json!({"invoice_id": "INV-43"});
    let mut command = verdict(&key, Verdict::Modify);
    command.edited_args = Some(edited.clone());
    desk.app.decide(command).await.unwrap();
    let decision = agent.decision("r1").await;
    assert_eq!(decision["edited_args"], edited);
    assert_eq!(
        decision["args_digest"],
        args_digest(&edited).unwrap().to_string()
    );
    desk.app.shutdown().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn every_verdict_of_a_person_reaches_the_agent() {
    let desk = Desk::open().await;
    let agent = desk.agent("bot").await;
    for wanted in [
        Verdict::Deny,
        Verdict::Skip,
        Verdict::Escalate,
        Verdict::Terminate,
        Verdict::Respond,
    ] {
        let id = wanted.as_str();
        let key = agent.ask(&agent.request(id)).await;
        listed(&desk.app, id).await;
        let mut command = verdict(&key, wanted);
        command.message = Some("because".into());
        command.response = Some(Response {
            content: json!("use the test one"),
            selected_key: None,
        });
        desk.app.decide(command).await.unwrap();
        let decision = agent.decision(id).await;
        assert_eq!(
            (&decision["verdict"], &decision["message"]),
            (&json!(id), &json!("because"))
        );
        assert_eq!(decision["response"].is_object(), wanted == Verdict::Respond);
    }
    desk.app.shutdown().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_held_approval_is_not_sent_and_can_be_taken_back() {
    let desk = Desk::open().await;
    let agent = desk.agent("bot").await;
    let key = agent.ask(&agent.request("r1")).await;
    listed(&desk.app, "r1").await;
    let mut command = verdict(&key, Verdict::Approve);
    command.hold = true;
    let held = desk.app.decide(command.clone()).await.unwrap();
    assert!(matches!(held, Decided::Held { .. }));
    assert_eq!(desk.app.find("r1").await.unwrap().state, "holding");
    let again = desk
        .app
        .decide(verdict(&key, Verdict::Deny))
        .await
        .unwrap_err();
    assert_eq!(again.code.as_str(), "already_decided");
    desk.app.undo(&key).await.unwrap();
    assert_eq!(inbox_ids(&desk.app).await, ["r1"]);
    assert_eq!(
        desk.app.undo(&key).await.unwrap_err().code.as_str(),
        "already_decided"
    );
    desk.app.decide(verdict(&key, Verdict::Deny)).await.unwrap();
    assert_eq!(agent.decision("r1").await["verdict"], "deny");
    desk.app.shutdown().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_held_approval_is_sent_by_itself_when_its_time_has_come() {
    let desk = Desk::open().await;
    let agent = desk.agent("bot").await;
    let mut request = agent.request("r1");
    request["expires_at"] = json!("2026-11-21T12:00:01.000Z");
    let key = agent.ask(&request).await;
    listed(&desk.app, "r1").await;
    let mut command = verdict(&key, Verdict::Approve);
    command.hold = true;
    desk.app.decide(command).await.unwrap();
    assert_eq!(agent.decision("r1").await["verdict"], "approve");
    in_state(&desk.app, "r1", "decided").await;
    desk.app.shutdown().await;
}

/// A console that began without a bus on a machine whose clock ran ahead held by that clock.
#[tokio::test(flavor = "multi_thread")]
async fn an_approval_that_was_held_by_a_clock_that_ran_ahead_is_sent_all_the_same() {
    let desk = Desk::open().await;
    let agent = desk.agent("bot").await;
    let mut request = agent.request("r1");
    request["expires_at"] = json!("2026-11-21T12:00:06.000Z");
    let key = agent.ask(&request).await;
    listed(&desk.app, "r1").await;
    let mut command = verdict(&key, Verdict::Approve);
    command.hold = true;
    desk.app.decide(command).await.unwrap();
    let path = desk.data.path().join("countersign.db");
    let file = sqlx::sqlite::SqliteConnectOptions::new().filename(path);
    let mut raw = sqlx::ConnectOptions::connect(&file).await.unwrap();
    let ahead = "UPDATE outbox SET release_at = release_at + 7200000 WHERE state = 'holding'";
    let moved = sqlx::query(ahead).execute(&mut raw).await.unwrap();
    assert_eq!(moved.rows_affected(), 1);
    agent.ask(&agent.request("another")).await;
    assert_eq!(agent.decision("r1").await["verdict"], "approve");
    in_state(&desk.app, "r1", "decided").await;
    desk.app.shutdown().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_thousand_verdicts_at_once_are_each_stored_once() {
    let desk = Desk::open().await;
    let agent = desk.agent("bot").await;
    let ids: Vec<String> = (0..1_000).map(|i| format!("r{i}")).collect();
    let asked = ids.iter().map(|id| agent.request(id));
    let asked: Vec<_> = asked.collect();
    let keys = futures::future::join_all(asked.iter().map(|request| agent.ask(request))).await;
    listed(&desk.app, "r999").await;
    let all = keys
        .iter()
        .map(|key| desk.app.decide(verdict(key, Verdict::Approve)));
    for decided in futures::future::join_all(all).await {
        assert!(matches!(decided, Ok(Decided::Stored { .. })), "{decided:?}");
    }
    assert!(inbox_ids(&desk.app).await.is_empty());
    assert_eq!(desk.app.audit_verify(None).await.unwrap().first_bad, None);
    desk.app.shutdown().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn an_execution_that_nobody_approved_or_with_other_arguments_is_an_alarm() {
    let desk = Desk::open().await;
    let agent = desk.agent("bot").await;
    let other = args_digest(&json!({})).unwrap().to_string();
    for (id, wanted, ran, code) in [
        (
            "other-args",
            Some(Verdict::Approve),
            Some(other.as_str()),
            "executed_digest_differs",
        ),
        (
            "denied",
            Some(Verdict::Deny),
            None,
            "executed_without_approval",
        ),
        ("undecided", None, None, "executed_without_decision"),
    ] {
        let key = agent.ask(&agent.request(id)).await;
        listed(&desk.app, id).await;
        let mut decision_id = "019aa000-0000-7000-8000-000000000001".to_owned();
        if let Some(wanted) = wanted {
            desk.app.decide(verdict(&key, wanted)).await.unwrap();
            decision_id = agent.decision(id).await["decision_id"]
                .as_str()
                .unwrap()
                .to_owned();
        }
        agent.receipt_of(id, &decision_id, "executed", ran).await;
        let alarmed = async {
            loop {
                let alarms = desk.app.status().await.unwrap().alarms;
                if alarms
                    .iter()
                    .any(|a| a.code == code && a.subject == key.to_string())
                {
                    return;
                }
                tokio::time::sleep(std::time::Duration::from_millis(20)).await;
            }
        };
        tokio::time::timeout(crate::agent::LIMIT, alarmed)
            .await
            .expect(code);
    }
    assert_eq!(desk.app.status().await.unwrap().alarms.len(), 3);
    desk.app.shutdown().await;
}

/// An agent can name any number of its own requests: what it floods the list with must not hide another agent's.
#[tokio::test(flavor = "multi_thread")]
async fn a_flood_of_one_agents_alarms_hides_no_other_alarm() {
    let desk = Desk::open().await;
    let (flooding, other) = (desk.agent("flooding").await, desk.agent("other").await);
    let nothing = uuid::Uuid::now_v7().to_string();
    other.receipt_of("r", &nothing, "executed", None).await;
    let codes = || async {
        let alarms = desk.app.status().await.unwrap().alarms;
        let of = |subject: &str| {
            alarms
                .iter()
                .filter(|alarm| alarm.subject.starts_with(subject))
                .count()
        };
        (
            of("acme/other/"),
            of("acme/flooding/"),
            of("acme/flooding") - of("acme/flooding/"),
        )
    };
    until("the other agent's alarm", || async { codes().await.0 == 1 }).await;
    for nth in 0..400 {
        flooding
            .receipt_of(&format!("r{nth}"), &nothing, "executed", None)
            .await;
    }
    until("one alarm for the rest", || async { codes().await.2 == 1 }).await;
    assert_eq!(codes().await, (1, 25, 1));
    assert_eq!(desk.app.audit_verify(None).await.unwrap().first_bad, None);
    desk.app.shutdown().await;
}
