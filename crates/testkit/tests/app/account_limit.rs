//! An outside server whose administrator gave the consoles' account less room than it needs.

use async_nats::jetstream;
use countersign_core::App;
use countersign_core::Options;
use countersign_core::bus::{Bus, PublishOutcome};
use countersign_core::domain::StallLimits;
use countersign_core::ops::DecideCommand;
use countersign_testkit::{PlainServer, TempData};
use countersign_wire::{AgentKey, Verdict, args_digest};
use serde_json::{Value, json};

use crate::agent::{LIMIT, caught_up, in_state, line_when, options, until, verdict};
use crate::policy::apply;

const GIB: u64 = 1 << 30;

/// One account for everybody, with so much room.
fn account(max_file: u64) -> String {
    format!(
        "accounts {{ HOUSE {{ jetstream: {{ max_file: {max_file} }}, users: [{{ user: all, password: all }}] }} }}\n\
         no_auth_user: all"
    )
}

fn request(id: &str, lasts: &str) -> Vec<u8> {
    let request = json!({
        "v": 1, "kind": "question", "request_id": id, "workspace": "acme", "agent": {"name": "bot"},
        "question": {"text": "Go?"}, "risk": "low", "allowed_verdicts": ["deny"],
        "requested_at": "2026-11-21T12:00:00.000Z", "expires_at": lasts,
    });
    serde_json::to_vec(&request).unwrap()
}

async fn ask(client: &async_nats::Client, id: &str, lasts: &str) -> Value {
    let subject = format!("countersign.v1.request.acme.bot.{id}");
    let answer = client.request(subject, request(id, lasts).into()).await;
    serde_json::from_slice(&answer.unwrap().payload).unwrap()
}

/// What is stored, as whoever runs the server sees it.
async fn used(client: &async_nats::Client) -> u64 {
    let account = jetstream::new(client.clone())
        .query_account()
        .await
        .unwrap();
    account.storage
}

#[tokio::test(flavor = "multi_thread")]
async fn an_account_without_room_keeps_decisions_in_the_outbox_and_says_what_to_do() {
    let server = PlainServer::start_with(&account(64 * GIB)).await;
    let data = TempData::new();
    let outside = Options {
        nats_url: Some(server.url().to_owned()),
        allow_single_account: true,
        stall_limits: StallLimits {
            on_bus_ms: 200,
            ..StallLimits::default()
        },
        ..options(&data)
    };
    let app = App::start(outside).await.unwrap();
    caught_up(&app).await;
    let client = async_nats::connect(server.url()).await.unwrap();
    for (id, lasts) in [
        ("kept", "2026-11-21T12:01:00.000Z"),
        ("short", "2026-11-21T12:00:10.000Z"),
    ] {
        let stored = ask(&client, id, lasts).await;
        assert!(stored["seq"].is_u64(), "{stored}");
        in_state(&app, id, "pending").await;
    }
    let room = app.bus().unwrap().storage(1).await.unwrap();
    assert_eq!(room.most, Some(64 * GIB));
    assert!(room.used > 0 && room.words().is_none(), "{room:?}");

    server.reconfigure(&account(used(&client).await)).await;
    let given = ["kept", "short"].map(|id| {
        let key = format!("acme/bot/{id}").parse().unwrap();
        app.decide(verdict(&key, Verdict::Deny))
    });
    for refused in futures::future::join_all(given).await {
        assert!(
            matches!(&refused, Err(fault) if fault.is_queued()),
            "{refused:?}"
        );
    }
    until("the message says what to do", || async {
        let alarms = app.status().await.unwrap().alarms;
        let why = app.not_taken().await.unwrap().unwrap_or_default();
        alarms.len() == 2 && why.contains("max_file of the account")
    })
    .await;
    let room = app.bus().unwrap().storage(1).await.unwrap();
    assert!(room.is_full(), "{room:?}");
    assert!(room.words().is_some_and(|words| words.contains("max_file")));
    let alarms = app.status().await.unwrap().alarms;
    assert!(
        alarms
            .iter()
            .all(|alarm| alarm.code == "stalled_not_on_bus")
    );
    assert_eq!(app.status().await.unwrap().outbox, 2);
    let asked = ask(&client, "r3", "2026-11-21T12:01:00.000Z").await;
    assert!(asked["error"].is_object(), "the agent is informed: {asked}");
    // Its deadline passes with the decision here.
    in_state(&app, "short", "expired").await;

    server.reconfigure(&account(64 * GIB)).await;
    let line = in_state(&app, "kept", "decided").await;
    assert_eq!(line.verdict.as_deref(), Some("deny"));
    until("everything is sent", || async {
        let status = app.status().await.unwrap();
        status.outbox == 0 && status.alarms.is_empty()
    })
    .await;
    let bus = app.bus().unwrap();
    // Both decisions, behind the entry that founded the realm.
    assert_eq!(bus.last_sequence("CS_DECISIONS").await.unwrap(), 3);
    assert_eq!(app.not_taken().await.unwrap(), None);
    assert_eq!(app.audit_verify(None).await.unwrap().first_bad, None);
    app.shutdown().await;
}

/// As much as the server says that it takes, and less than the protocol allows.
#[tokio::test(flavor = "multi_thread")]
async fn a_verdict_that_the_account_does_not_take_is_given_back_and_then_refused_at_once() {
    let server = PlainServer::start_with(
        "accounts { HOUSE { jetstream: enabled, limits: { max_payload: 100000 }, users: [{ user: all, password: all }] } }\n\
         no_auth_user: all",
    )
    .await;
    let data = TempData::new();
    let outside = Options {
        nats_url: Some(server.url().to_owned()),
        allow_single_account: true,
        ..options(&data)
    };
    let app = App::start(outside).await.unwrap();
    caught_up(&app).await;
    let client = async_nats::connect(server.url()).await.unwrap();
    let args = json!({"to": "x"});
    let request = json!({
        "v": 1, "kind": "tool_call", "request_id": "r1", "workspace": "acme", "agent": {"name": "bot"},
        "tool": {"name": "send"}, "args": args, "args_digest": args_digest(&args).unwrap().to_string(),
        "risk": "low", "allowed_verdicts": ["modify", "deny"],
        "requested_at": "2026-11-21T12:00:00.000Z", "expires_at": "2026-11-21T12:01:00.000Z",
    });
    let subject = "countersign.v1.request.acme.bot.r1";
    let payload = serde_json::to_vec(&request).unwrap();
    client.request(subject, payload.into()).await.unwrap();
    in_state(&app, "r1", "pending").await;
    let key = "acme/bot/r1".parse().unwrap();
    let modify = || DecideCommand {
        edited_args: Some(json!({"to": "x".repeat(150_000)})),
        ..verdict(&key, Verdict::Modify)
    };
    let first = app.decide(modify()).await;
    assert!(first.is_err(), "{first:?}");
    until("it is given back", || async {
        app.find("r1").await.unwrap().state == "pending"
    })
    .await;
    let again = app.decide(modify()).await.unwrap_err();
    assert_eq!(again.code.as_str(), "invalid_args");
    assert!(again.to_string().contains("the bus takes"), "{again}");
    app.decide(verdict(&key, Verdict::Deny)).await.unwrap();
    in_state(&app, "r1", "decided").await;
    app.shutdown().await;
}

/// The first vote is measured by two operators; then a rule asks for a third, and all three together are too large.
#[tokio::test(flavor = "multi_thread")]
async fn a_decision_of_several_operators_that_the_bus_does_not_take_is_made_no_second_time() {
    let server = PlainServer::start_with("max_payload: 100000").await;
    let folders = [(); 3].map(|()| TempData::new());
    let mut apps = Vec::new();
    for (data, operator) in folders.iter().zip(["Ada", "Grace", "Hedy"]) {
        let outside = Options {
            nats_url: Some(server.url().to_owned()),
            allow_single_account: true,
            operator: operator.into(),
            ..options(data)
        };
        let app = App::start(outside).await.unwrap();
        caught_up(&app).await;
        apps.push(app);
    }
    let client = async_nats::connect(server.url()).await.unwrap();
    let args = json!({"to": "x"});
    let request = json!({
        "v": 1, "kind": "tool_call", "request_id": "r1", "workspace": "acme", "agent": {"name": "bot"},
        "tool": {"name": "delete_invoice"}, "args": args, "args_digest": args_digest(&args).unwrap().to_string(),
        "risk": "low", "allowed_verdicts": ["approve", "deny"], "approvals_required": 2,
        "requested_at": "2026-11-21T12:00:00.000Z", "expires_at": "2026-11-21T12:01:00.000Z",
    });
    let subject = "countersign.v1.request.acme.bot.r1";
    let payload = serde_json::to_vec(&request).unwrap();
    client.request(subject, payload.into()).await.unwrap();
    let key = "acme/bot/r1".parse().unwrap();
    let votes = |bytes: usize| DecideCommand {
        message: Some("x".repeat(bytes)),
        ..verdict(&key, Verdict::Approve)
    };
    for app in &apps {
        in_state(app, "r1", "pending").await;
    }
    apps[0].decide(votes(19_000)).await.unwrap();
    let three = "schema = 1\n[[rule]]\nid = \"three\"\neffect = \"ask\"\ntool = [\"delete_invoice\"]\napprovals = 3\n";
    apply(&apps[0], three).await;
    for app in &apps {
        line_when(app, "r1", |line| {
            line.approvals_required == 3 && line.votes == 1
        })
        .await;
    }
    let too_long = apps[1].decide(votes(14_000)).await.unwrap_err();
    assert!(too_long.to_string().contains("the bus takes"), "{too_long}");
    for app in &apps[1..] {
        app.decide(votes(12_000)).await.unwrap();
    }
    for app in &apps {
        line_when(app, "r1", |line| line.votes == 3).await;
    }
    tokio::time::sleep(std::time::Duration::from_millis(300)).await;
    for app in &apps {
        let rows = app.audit_after(0, 10_000).await.unwrap();
        let made = |row: &&countersign_core::store::audit::Row| {
            ["decide", "taken_back"].contains(&row.action.as_str())
        };
        assert_eq!(rows.iter().filter(made).count(), 0);
        assert_eq!(app.find("r1").await.unwrap().state, "pending");
    }
    apps[2].decide(verdict(&key, Verdict::Deny)).await.unwrap();
    for app in apps {
        in_state(&app, "r1", "decided").await;
        app.shutdown().await;
    }
}

/// Until the bus takes it.
async fn ask_small(bus: Bus, agent: AgentKey) {
    while !matches!(
        bus.publish_event(&agent, "{}".into()).await,
        PublishOutcome::Stored { .. }
    ) {
        tokio::task::yield_now().await;
    }
}

/// Most of them are sent only after the reconnect, with nothing else on its way than small questions.
#[tokio::test(flavor = "multi_thread")]
async fn many_messages_that_the_account_does_not_take_keep_no_smaller_decision_back() {
    let server = PlainServer::start_with(
        "accounts { HOUSE { jetstream: enabled, limits: { max_payload: 100000 }, users: [{ user: all, password: all }] } }\n\
         no_auth_user: all",
    )
    .await;
    let data = TempData::new();
    let outside = Options {
        nats_url: Some(server.url().to_owned()),
        allow_single_account: true,
        ..options(&data)
    };
    let app = App::start(outside).await.unwrap();
    caught_up(&app).await;
    let client = async_nats::connect(server.url()).await.unwrap();
    ask(&client, "r1", "2026-11-21T12:30:00.000Z").await;
    in_state(&app, "r1", "pending").await;
    let bus = app.bus().unwrap();
    let bot: AgentKey = "acme/bot".parse().unwrap();
    let large = bytes::Bytes::from(vec![b' '; 150_000]);
    for _ in 0..4 {
        let events = (0..1_024).map(|_| bus.publish_event(&bot, large.clone()));
        let reported = futures::future::join_all(events).await;
        assert!(
            reported
                .iter()
                .all(|reported| *reported == PublishOutcome::NoAnswer)
        );
        // What was not sent before the connection was lost is sent once it is there again, a few at a time, and each
        // time something small is asked meanwhile.
        let asking = (0..4).map(|_| tokio::spawn(ask_small(bus.clone(), bot.clone())));
        let asked = futures::future::try_join_all(asking);
        let asked = tokio::time::timeout(6 * LIMIT, asked).await;
        asked.unwrap().unwrap();
    }
    assert!(bus.max_payload() >= 100_000, "{}", bus.max_payload());
    let key = "acme/bot/r1".parse().unwrap();
    app.decide(verdict(&key, Verdict::Deny)).await.unwrap();
    in_state(&app, "r1", "decided").await;
    app.shutdown().await;
}
