use countersign_core::bus::{Credentials, ServerState};
use countersign_core::{App, Options};
use countersign_testkit::TempData;
use countersign_wire::Verdict;
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;

use crate::agent::{
    Desk, LIMIT, caught_up, colleague, in_state, inbox_ids, line_when, listed, options, verdict,
};

#[tokio::test(flavor = "multi_thread")]
async fn after_a_restart_everything_waits_once_and_can_still_be_answered() {
    let desk = Desk::open().await;
    let agent = desk.agent("bot").await;
    for id in ["a", "b", "c"] {
        agent.ask(&agent.request(id)).await;
    }
    listed(&desk.app, "c").await;
    let mut held = verdict(&agent.key("b"), Verdict::Approve);
    held.hold = true;
    desk.app.decide(held).await.unwrap();
    desk.app.shutdown().await;

    let app = App::start(options(&desk.data)).await.unwrap();
    caught_up(&app).await;
    assert_eq!(
        inbox_ids(&app).await,
        ["a", "b", "c"],
        "the held one waits again"
    );
    app.decide(verdict(&agent.key("b"), Verdict::Deny))
        .await
        .unwrap();
    // The agent has reconnected to the same port automatically.
    assert_eq!(agent.decision("b").await["verdict"], "deny");
    assert_eq!(app.audit_verify(None).await.unwrap().first_bad, None);
    app.shutdown().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_stop_ends_the_server_in_order_and_frees_the_folder_whoever_still_has_a_handle() {
    let desk = Desk::open().await;
    let other = desk.app.clone();
    desk.app.shutdown().await;
    let server = other.embedded_server().unwrap();
    assert_eq!(*server.state().borrow(), ServerState::Stopped);
    assert_eq!(server.pid(), None);
    let log = std::fs::read_to_string(other.data().path().join("nats/log")).unwrap();
    assert!(log.contains("Server Exiting"), "{log}");
    let again = App::start(options(&desk.data)).await.unwrap();
    caught_up(&again).await;
    again.shutdown().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_killed_server_is_started_again_and_nothing_is_lost() {
    let desk = Desk::open().await;
    let agent = desk.agent("bot").await;
    agent.ask(&agent.request("before")).await;
    listed(&desk.app, "before").await;
    let pid = desk.app.embedded_server().unwrap().pid().unwrap();
    kill(Pid::from_raw(pid.cast_signed()), Signal::SIGKILL).unwrap();
    let key = agent.key("before");
    // Given while the server is away: queued, and sent when it is back.
    match desk.app.decide(verdict(&key, Verdict::Deny)).await {
        Ok(_) => {}
        Err(error) => assert_eq!(error.code.as_str(), "bus_unreachable"),
    }
    in_state(&desk.app, "before", "decided").await;
    assert_eq!(agent.decision("before").await["verdict"], "deny");
    agent.ask(&agent.request("after")).await;
    listed(&desk.app, "after").await;
    desk.app.shutdown().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn after_a_lost_connection_nothing_is_called_known_before_it_is_read_again() {
    let desk = Desk::open().await;
    let agent = desk.agent("bot").await;
    let key = agent.ask(&agent.request("r1")).await;
    listed(&desk.app, "r1").await;
    let mut known = desk.app.caught_up();
    let pid = desk.app.embedded_server().unwrap().pid().unwrap();
    kill(Pid::from_raw(pid.cast_signed()), Signal::SIGKILL).unwrap();
    let forgotten = tokio::time::timeout(LIMIT, known.wait_for(|known| !*known)).await;
    forgotten.expect("the past is unknown").unwrap();
    caught_up(&desk.app).await;
    assert_eq!(inbox_ids(&desk.app).await, ["r1"]);
    desk.app
        .decide(verdict(&key, Verdict::Approve))
        .await
        .unwrap();
    desk.app.shutdown().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_console_that_is_cut_off_shows_what_it_knew_and_takes_decisions_for_later() {
    let desk = Desk::open().await;
    let agent = desk.agent("bot").await;
    let data = TempData::new();
    let away = colleague(&desk, &data, "Grace").await;
    let key = agent.ask(&agent.request("r1")).await;
    listed(&away, "r1").await;
    let mut known = away.caught_up();
    desk.app.shutdown().await;
    let forgotten = tokio::time::timeout(LIMIT, known.wait_for(|known| !*known)).await;
    forgotten.expect("the past is unknown").unwrap();
    assert!(!away.reads_the_past());
    assert_eq!(inbox_ids(&away).await, ["r1"]);
    let given = away.decide(verdict(&key, Verdict::Deny)).await;
    assert_eq!(given.unwrap_err().code.as_str(), "bus_unreachable");
    in_state(&away, "r1", "queued").await;
    away.shutdown().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_console_knows_the_past_also_where_the_newest_request_was_removed_from_the_stream() {
    let desk = Desk::open().await;
    let agent = desk.agent("bot").await;
    for id in ["first", "kept", "removed", "removed-too"] {
        agent.ask(&agent.request(id)).await;
        listed(&desk.app, id).await;
    }
    let seed = desk.app.identity().login.seed().unwrap();
    let url = desk.app.embedded_server().unwrap().url();
    let admin = async_nats::ConnectOptions::with_nkey(seed).connect(url);
    let streams = async_nats::jetstream::new(admin.await.unwrap());
    let requests = streams.get_stream("CS_REQUESTS").await.unwrap();
    for seq in [3, 4] {
        assert!(requests.delete_message(seq).await.unwrap());
    }
    let bus = desk.app.bus().unwrap();
    let newest = bus.last_stored("CS_REQUESTS", 1, 4).await.unwrap();
    assert_eq!(newest, Some(2));
    let data = TempData::new();
    let joins = colleague(&desk, &data, "Grace").await;
    assert_eq!(inbox_ids(&joins).await, ["first", "kept"]);
    let beside = App::read(
        Options {
            nats_url: Some(desk.app.embedded_server().unwrap().url()),
            credentials: Credentials::NkeySeed(desk.app.identity().login.seed().unwrap()),
            ..options(&data)
        },
        true,
    );
    assert!(beside.await.unwrap().status().await.unwrap().caught_up);
    joins.shutdown().await;
    desk.app.shutdown().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn one_folder_runs_one_console() {
    let desk = Desk::open().await;
    let second = App::start(options(&desk.data)).await.err().unwrap();
    assert_eq!(second.code.as_str(), "environment");
    desk.app.shutdown().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_command_beside_the_console_decides_and_the_console_learns_of_it() {
    let desk = Desk::open().await;
    let agent = desk.agent("bot").await;
    let key = agent.ask(&agent.request("r1")).await;
    listed(&desk.app, "r1").await;
    let beside = App::attach(options(&desk.data)).await.unwrap();
    assert_eq!(beside.role(), countersign_core::Role::Beside);
    beside
        .decide(verdict(&key, Verdict::Approve))
        .await
        .unwrap();
    beside.shutdown().await;
    line_when(&desk.app, "r1", |row| {
        row.state == "decided" && row.stream_seq.is_some()
    })
    .await;
    assert_eq!(agent.decision("r1").await["verdict"], "approve");
    desk.app.shutdown().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn an_agent_enrolled_beside_the_console_can_ask_at_once_and_a_revoked_one_cannot() {
    let desk = Desk::open().await;
    let beside = App::attach(options(&desk.data)).await.unwrap();
    let name = "acme/newcomer".parse().unwrap();
    let agent = crate::agent::Agent::connect(beside.enroll(&name).await.unwrap()).await;
    agent.ask(&agent.request("r1")).await;
    listed(&desk.app, "r1").await;
    beside.revoke(&name).await.unwrap();
    let again =
        async_nats::ConnectOptions::with_nkey(agent.enrolment.nkey_seed.reveal().to_owned())
            .connect(&agent.enrolment.nats_url)
            .await;
    assert!(again.is_err(), "revoked when the command returns");
    beside.shutdown().await;
    desk.app.shutdown().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn streams_that_are_not_the_remembered_ones_make_the_console_read_only() {
    let desk = Desk::open().await;
    let agent = desk.agent("bot").await;
    let key = agent.ask(&agent.request("r1")).await;
    listed(&desk.app, "r1").await;
    desk.app.shutdown().await;
    std::fs::remove_dir_all(desk.data.path().join("nats/jetstream")).unwrap();

    let app = App::start(options(&desk.data)).await.unwrap();
    let refused = app
        .decide(verdict(&key, Verdict::Approve))
        .await
        .unwrap_err();
    assert_eq!(refused.code.as_str(), "read_only");
    let status = app.status().await.unwrap();
    assert!(status.read_only.is_some());
    assert_eq!(status.alarms[0].code, "read_only");
    assert_eq!(
        inbox_ids(&app).await,
        ["r1"],
        "what is known is still shown"
    );
    app.shutdown().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn readers_do_not_keep_a_console_from_starting() {
    let desk = Desk::open().await;
    let data = options(&desk.data);
    desk.app.shutdown().await;
    let reading = tokio::spawn({
        let data = data.clone();
        async move {
            loop {
                App::read(data.clone(), false).await.unwrap();
            }
        }
    });
    for _ in 0..3 {
        App::start(data.clone()).await.unwrap().shutdown().await;
    }
    reading.abort();
}

async fn raw_sql(desk: &Desk, sql: &'static str) {
    let path = desk.data.path().join("countersign.db");
    let options = sqlx::sqlite::SqliteConnectOptions::new().filename(path);
    let mut raw = sqlx::ConnectOptions::connect(&options).await.unwrap();
    sqlx::raw_sql(sql).execute(&mut raw).await.unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn a_store_that_fails_loses_no_message_and_tells_who_waits() {
    let desk = Desk::open().await;
    let agent = desk.agent("bot").await;
    let first = agent.ask(&agent.request("first")).await;
    listed(&desk.app, "first").await;
    raw_sql(
        &desk,
        "CREATE TRIGGER full BEFORE INSERT ON requests BEGIN SELECT RAISE(ABORT, 'no space'); END;
         CREATE TRIGGER full_too BEFORE INSERT ON outbox BEGIN SELECT RAISE(ABORT, 'no space'); END;",
    )
    .await;
    for id in ["a", "b", "c"] {
        agent.ask(&agent.request(id)).await;
    }
    let refused = desk
        .app
        .decide(verdict(&first, Verdict::Approve))
        .await
        .unwrap_err();
    assert_eq!(refused.code.as_str(), "read_only");
    assert_eq!(
        inbox_ids(&desk.app).await,
        ["first"],
        "nothing was half done"
    );
    raw_sql(&desk, "DROP TRIGGER full; DROP TRIGGER full_too;").await;
    listed(&desk.app, "c").await;
    assert_eq!(inbox_ids(&desk.app).await, ["first", "a", "b", "c"]);
    desk.app
        .decide(verdict(&first, Verdict::Approve))
        .await
        .unwrap();
    assert_eq!(desk.app.audit_verify(None).await.unwrap().first_bad, None);
    desk.app.shutdown().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn reconnects_under_load_lose_nothing_and_are_no_alarm() {
    let desk = Desk::open().await;
    let agent = desk.agent("bot").await;
    let pid = || desk.app.embedded_server().unwrap().pid();
    let mut asked = 0;
    for round in 0..3 {
        for i in 0..150 {
            let id = format!("r{round}-{i}");
            let payload = serde_json::to_vec(&agent.request(&id)).unwrap();
            let published = agent
                .client
                .publish(agent.subject("request", &id), payload.into());
            asked += usize::from(published.await.is_ok());
        }
        agent.client.flush().await.unwrap();
        kill(Pid::from_raw(pid().unwrap().cast_signed()), Signal::SIGKILL).unwrap();
        // The agent's own connection is the sign that the server is back.
        let back = async {
            loop {
                let marker = format!("back-{round}");
                let payload = serde_json::to_vec(&agent.request(&marker)).unwrap();
                let asked = agent
                    .client
                    .request(agent.subject("request", &marker), payload.into());
                let limit = std::time::Duration::from_millis(500);
                if matches!(tokio::time::timeout(limit, asked).await, Ok(Ok(_))) {
                    return;
                }
                tokio::time::sleep(std::time::Duration::from_millis(50)).await;
            }
        };
        tokio::time::timeout(crate::agent::LIMIT, back)
            .await
            .unwrap();
        listed(&desk.app, &format!("back-{round}")).await;
    }
    assert!(asked > 0);
    let stored = desk
        .app
        .bus()
        .unwrap()
        .last_sequence("CS_REQUESTS")
        .await
        .unwrap();
    let status = desk.app.status().await.unwrap();
    assert_eq!(status.streams["CS_REQUESTS"].projected_seq, stored);
    assert_eq!((status.read_only, status.alarms), (None, vec![]));
    caught_up(&desk.app).await;
    let ids = inbox_ids(&desk.app).await;
    let unique: std::collections::HashSet<&String> = ids.iter().collect();
    assert_eq!((ids.len() as u64, unique.len()), (stored, ids.len()));
    desk.app.shutdown().await;
}
