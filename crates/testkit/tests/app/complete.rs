//! Every change of state has its audit row.

use std::fs::Permissions;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::time::Duration;

use countersign_core::bus::{Credentials, Publication, server_program};
use countersign_core::{App, Options};
use countersign_testkit::TempData;
use countersign_wire::{Verdict, args_digest};
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use rand::rngs::SmallRng;
use rand::{RngExt, SeedableRng};
use serde_json::{Value, json};

use crate::agent::{Agent, Desk, LIMIT, caught_up, in_state, listed, options, until, verdict};
use crate::spy::{Logged, connect, log_of, spy, unexplained};

/// One random step of an agent, a person or time.
async fn step(desk: &Desk, agent: &Agent, rng: &mut SmallRng, at: usize) {
    let id = format!("r{}", rng.random_range(0..=at / 3));
    let key = agent.key(&id);
    let payload = |value: Value| serde_json::to_vec(&value).unwrap();
    match rng.random_range(0..14) {
        0..3 => {
            let mut request = agent.request(&id);
            match rng.random_range(0..6) {
                4 | 5 => request["approvals_required"] = json!(2),
                0 => request["expires_at"] = json!("2026-11-21T12:00:00.150Z"),
                1 => request["v"] = json!(2),
                _ => {}
            }
            // Taken already by an earlier step: refused by the server.
            let _ = agent
                .publish(agent.subject("request", &id), payload(request))
                .await;
        }
        3 => {
            let _ = agent
                .publish(agent.subject("withdraw", &id), b"{}".to_vec())
                .await;
        }
        4 => {
            let earlier = json!({"v": 1, "expires_at": "2026-11-21T12:00:20.000Z"});
            let unreadable = json!({"v": 1});
            let body = if rng.random() { earlier } else { unreadable };
            {
                let _ = agent
                    .publish(agent.subject("tighten", &id), payload(body))
                    .await;
            };
        }
        5..8 => {
            let wanted = [Verdict::Approve, Verdict::Deny, Verdict::Skip][rng.random_range(0..3)];
            let mut command = verdict(&key, wanted);
            command.hold = rng.random_bool(0.4);
            drop(desk.app.decide(command).await);
        }
        8 => drop(desk.app.undo(&key).await),
        9..11 => {
            let stored = desk
                .app
                .show(&id)
                .await
                .ok()
                .and_then(|story| story.decision?.decision_id);
            let decision_id =
                stored.unwrap_or_else(|| "019aa000-0000-7000-8000-000000000001".into());
            let stage = ["received", "executed", "refused"][rng.random_range(0..3)];
            let ran = args_digest(&json!({})).unwrap().to_string();
            agent
                .receipt_of(
                    &id,
                    &decision_id,
                    stage,
                    rng.random_bool(0.5).then_some(ran.as_str()),
                )
                .await;
        }
        11 => {
            // Void, or one that waits for its request.
            forge(desk, agent, &id).await;
        }
        12 => {
            let known = json!({"v": 1, "agent": {"name": "bot"}, "instance_id": "i"});
            hello(agent, if rng.random() { known } else { json!("?") }).await;
        }
        _ => {
            let other = format!("acme/other-{at}").parse().unwrap();
            desk.app.enroll(&other).await.unwrap();
            desk.app.revoke(&other).await.unwrap();
        }
    }
}

async fn quiet(desk: &Desk, agent: &Agent, id: &str) {
    agent.ask(&agent.request(id)).await;
    listed(&desk.app, id).await;
    let settled = async {
        while desk.app.status().await.unwrap().outbox > 0 {
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    };
    tokio::time::timeout(LIMIT, settled)
        .await
        .expect("nothing is held or on its way");
}

#[tokio::test(flavor = "multi_thread")]
async fn no_change_of_state_is_without_its_audit_row() {
    let data = TempData::new();
    spy(&data).await;
    let app = App::start(options(&data)).await.unwrap();
    caught_up(&app).await;
    let desk = Desk { data, app };
    let seed = std::env::var("SEED")
        .ok()
        .and_then(|seed| seed.parse().ok())
        .unwrap_or(20_261_122);
    let mut rng = SmallRng::seed_from_u64(seed);
    let agent = desk.agent("bot").await;
    for at in 0..150 {
        step(&desk, &agent, &mut rng, at).await;
    }
    quiet(&desk, &agent, "last").await;
    assert_eq!(desk.app.audit_verify(None).await.unwrap().first_bad, None);
    let mut held = verdict(&agent.key("last"), Verdict::Approve);
    held.hold = true;
    desk.app.decide(held).await.unwrap();
    desk.app.clone().shutdown().await;
    let log = log_of(&desk.data).await;
    let missing = unexplained(&log);
    assert!(missing.is_empty(), "seed {seed}: {missing:#?}");
}

/// Deletes a message, as an outside administrator can, so that its subject is free again.
async fn delete_request(desk: &Desk, seq: u64) {
    let seed = desk.app.identity().login.seed().unwrap();
    let url = desk.app.embedded_server().unwrap().url();
    let client = async_nats::ConnectOptions::with_nkey(seed)
        .custom_inbox_prefix(format!("_INBOX_{}", desk.app.identity().login.public_key()))
        .connect(url)
        .await
        .unwrap();
    let body = json!({"seq": seq}).to_string();
    let reply = client
        .request("$JS.API.STREAM.MSG.DELETE.CS_REQUESTS", body.into())
        .await
        .unwrap();
    let reply: Value = serde_json::from_slice(&reply.payload).unwrap();
    assert_eq!(reply["success"], true, "{reply}");
}

#[tokio::test(flavor = "multi_thread")]
async fn what_agents_and_people_do_is_written_under_its_own_word() {
    let data = TempData::new();
    spy(&data).await;
    let folder = TempData::new();
    let mut options = options(&data);
    options.nats_server = Some(slow_to_restart(folder.path()).await);
    let app = App::start(options).await.unwrap();
    caught_up(&app).await;
    let desk = Desk { data, app };
    let agent = desk.agent("bot").await;
    let other = "acme/other".parse().unwrap();
    desk.app.enroll(&other).await.unwrap();
    desk.app.revoke(&other).await.unwrap();
    let send = async |word: &str, id: &str, body: Value| {
        let body = serde_json::to_vec(&body).unwrap();
        agent.publish(agent.subject(word, id), body).await.unwrap()
    };
    hello(
        &agent,
        json!({"v": 1, "agent": {"name": "bot"}, "instance_id": "i"}),
    )
    .await;
    // The stream keeps only the last hello of an agent: the next one would replace it unread.
    until("the hello is read", async || {
        let agents = desk.app.agents().await.unwrap();
        agents.iter().any(|agent| agent.info.is_some())
    })
    .await;
    hello(&agent, json!("?")).await;
    let mut bad = agent.request("bad");
    bad["v"] = json!(2);
    send("request", "bad", bad).await;
    send("withdraw", "early", json!({})).await;
    send(
        "tighten",
        "early",
        json!({"v": 1, "expires_at": "2026-11-21T12:00:40.000Z"}),
    )
    .await;
    forge(&desk, &agent, "forged").await;
    // Before its request, whichever stream is faster.
    until("the decision is read", async || {
        let log = log_of(&desk.data).await;
        log.iter()
            .any(|row| row.2.as_deref() == Some("acme/bot/forged"))
    })
    .await;
    for id in ["early", "forged", "held", "denied"] {
        agent.ask(&agent.request(id)).await;
    }
    for expires_at in [json!("2026-11-21T12:00:30.000Z"), json!(null)] {
        let id = if expires_at.is_null() {
            "denied"
        } else {
            "held"
        };
        send("tighten", id, json!({"v": 1, "expires_at": expires_at})).await;
    }
    let mut short = agent.request("short");
    short["expires_at"] = json!("2026-11-21T12:00:00.100Z");
    agent.ask(&short).await;
    let seq = send("request", "twice", agent.request("twice")).await;
    listed(&desk.app, "twice").await;
    delete_request(&desk, seq).await;
    send("request", "twice", agent.request("twice")).await;
    in_state(&desk.app, "short", "expired").await;
    let mut held = verdict(&agent.key("held"), Verdict::Approve);
    held.hold = true;
    desk.app.decide(held.clone()).await.unwrap();
    desk.app.undo(&agent.key("held")).await.unwrap();
    desk.app
        .decide(verdict(&agent.key("denied"), Verdict::Deny))
        .await
        .unwrap();
    let decided = agent.decision("denied").await;
    agent
        .receipt(
            "denied",
            decided["decision_id"].as_str().unwrap(),
            "received",
        )
        .await;
    quiet(&desk, &agent, "last").await;
    too_late(&desk, &agent).await;
    desk.app.decide(held).await.unwrap();
    desk.app.shutdown().await;
    let log = log_of(&desk.data).await;
    assert_eq!(unexplained(&log), Vec::<String>::new());
    let written = |action: &str, subject: &str| {
        log.iter()
            .any(|row| row.1.as_deref() == Some(action) && row.2.as_deref() == Some(subject))
    };
    for (action, id) in [
        ("request", "held"),
        ("rejected", "bad"),
        ("conflict", "twice"),
        ("withdraw_early", "early"),
        ("withdraw", "early"),
        ("tighten_early", "early"),
        ("tighten", "early"),
        ("tighten", "held"),
        ("tighten_ignored", "denied"),
        ("hold", "held"),
        ("undo", "held"),
        ("hold_dropped", "held"),
        ("decide", "denied"),
        ("decision", "denied"),
        ("receipt", "denied"),
        ("decision", "forged"),
        ("judged", "forged"),
        ("alarm", "forged"),
        ("expire", "short"),
        ("answer", "short"),
        ("late", "too-late"),
        ("answer", "too-late"),
    ] {
        assert!(
            written(action, &format!("acme/bot/{id}")),
            "{action} {id}: {log:?}"
        );
    }
    for (action, subject) in [
        ("hello", "acme/bot"),
        ("enroll", "acme/bot"),
        ("enroll", "acme/other"),
        ("revoke", "acme/other"),
        ("quarantine", "CS_AGENTS/2"),
        ("operators", "1"),
    ] {
        assert!(written(action, subject), "{action} {subject}: {log:?}");
    }
}

async fn hello(agent: &Agent, body: Value) {
    let subject = format!("countersign.v1.hello.acme.{}", agent.enrolment.agent);
    let body = serde_json::to_vec(&body).unwrap();
    let reply = agent.client.request(subject, body.into()).await.unwrap();
    assert!(serde_json::from_slice::<Value>(&reply.payload).unwrap()["seq"].is_u64());
}

/// A decision that nobody signed.
async fn forge(desk: &Desk, agent: &Agent, id: &str) {
    let forged = Publication {
        subject: agent.subject("decision", id),
        payload: b"{}".to_vec().into(),
        key: None,
        sig: None,
    };
    let _ = desk.app.bus().unwrap().publish_once(forged).await;
}

/// The server, and the second time a server that takes its time to start.
async fn slow_to_restart(folder: &Path) -> PathBuf {
    let (program, _) = server_program(None).await.unwrap();
    let script = folder.join("nats-server");
    let text = format!(
        "#!/bin/sh\nif [ \"$1\" != --version ] && [ \"$1\" != -v ]; then\n\
         [ -e \"$0.started\" ] && sleep 1\ntouch \"$0.started\"\nfi\nexec \"{}\" \"$@\"\n",
        program.display()
    );
    std::fs::write(&script, text).unwrap();
    std::fs::set_permissions(&script, Permissions::from_mode(0o700)).unwrap();
    script
}

/// A decision that the bus does not take before the deadline.
async fn too_late(desk: &Desk, agent: &Agent) {
    let mut request = agent.request("too-late");
    request["expires_at"] = json!("2026-11-21T12:00:00.900Z");
    let key = agent.ask(&request).await;
    listed(&desk.app, "too-late").await;
    let pid = desk.app.embedded_server().unwrap().pid().unwrap();
    kill(Pid::from_raw(pid.cast_signed()), Signal::SIGKILL).unwrap();
    // A signal is delivered a moment later: until then the server may store the decision.
    until("the server is dead", async || {
        let stat = std::fs::read_to_string(format!("/proc/{pid}/stat"));
        stat.map_or(true, |stat| stat.contains(") Z"))
    })
    .await;
    let refused = desk
        .app
        .decide(verdict(&key, Verdict::Deny))
        .await
        .unwrap_err();
    assert!(
        ["bus_unreachable", "expired"].contains(&refused.code.as_str()),
        "{refused}"
    );
    in_state(&desk.app, "too-late", "expired").await;
    assert_eq!(agent.decision("too-late").await["verdict"], "expired");
}

#[tokio::test(flavor = "multi_thread")]
async fn starting_stopping_and_a_bus_that_changed_are_audited() {
    let Desk { data, app } = Desk::open().await;
    app.shutdown().await;
    std::fs::remove_dir_all(data.path().join("nats/jetstream")).unwrap();
    let app = App::start(options(&data)).await.unwrap();
    let mut health = app.health();
    tokio::time::timeout(LIMIT, health.wait_for(|health| health.read_only.is_some()))
        .await
        .unwrap()
        .unwrap();
    app.shutdown().await;
    let mut raw = connect(&data).await;
    let actions: Vec<String> = sqlx::query_scalar("SELECT action FROM audit ORDER BY seq")
        .fetch_all(&mut raw)
        .await
        .unwrap();
    let counted = |action: &str| actions.iter().filter(|word| *word == action).count();
    assert_eq!(
        (counted("console_start"), counted("console_stop")),
        (2, 2),
        "{actions:?}"
    );
    assert_eq!(
        (counted("read_only"), counted("realm")),
        (1, 1),
        "{actions:?}"
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn a_decision_of_a_colleague_that_came_first_is_audited_as_lost_or_refused() {
    let desk = Desk::open().await;
    let agent = desk.agent("bot").await;
    let data = TempData::new();
    spy(&data).await;
    let seed = desk.app.identity().login.seed().unwrap();
    let second = App::start(Options {
        nats_url: Some(desk.app.embedded_server().unwrap().url()),
        credentials: Credentials::NkeySeed(seed),
        operator: "Grace".into(),
        ..options(&data)
    })
    .await
    .unwrap();
    second.ready(LIMIT).await;
    caught_up(&second).await;
    for round in 0..20 {
        let id = format!("r{round}");
        let key = agent.ask(&agent.request(&id)).await;
        listed(&desk.app, &id).await;
        listed(&second, &id).await;
        let (ours, theirs) = tokio::join!(
            desk.app.decide(verdict(&key, Verdict::Approve)),
            second.decide(verdict(&key, Verdict::Deny)),
        );
        assert_ne!(ours.is_ok(), theirs.is_ok());
    }
    second.shutdown().await;
    let log = log_of(&data).await;
    let missing = unexplained(&log);
    assert!(missing.is_empty(), "{missing:#?}");
    let entry = |row: &&Logged| row.1.as_deref() == Some("operators");
    assert_eq!(
        log.iter().filter(entry).count(),
        3,
        "the founding, the colleague, and the key of her console"
    );
    desk.app.shutdown().await;
}
