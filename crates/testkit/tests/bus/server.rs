//! The server that the console runs.

use countersign_core::bus::{
    EmbeddedConfig, EmbeddedServer, Publication, PublishOutcome, STREAMS, ServerState,
};
use countersign_testkit::{TempData, TestServer, UserKey, made};
use std::net::TcpListener;
use std::os::unix::fs::PermissionsExt;
use std::time::Duration;

const LIMIT: Duration = Duration::from_secs(20);
/// Set for the copy of this test program which starts a server and then waits to be killed.
const VICTIM: &str = "COUNTERSIGN_TEST_VICTIM";

pub(crate) fn publication(subject: &str, payload: &str) -> Publication {
    Publication {
        subject: subject.into(),
        payload: payload.to_owned().into(),
        key: Some("UKEY".into()),
        sig: Some("sig".into()),
    }
}

/// Asks until the answer is yes.
pub(crate) async fn until(what: &str, mut yes: impl AsyncFnMut() -> bool) {
    let asked = async {
        while !yes().await {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    };
    tokio::time::timeout(LIMIT, asked)
        .await
        .unwrap_or_else(|_| panic!("{what} did not come true"));
}

fn is_running(pid: u32) -> bool {
    // A process that ended but was not waited for is still listed, as Z.
    std::fs::read_to_string(format!("/proc/{pid}/stat")).is_ok_and(|stat| !stat.contains(") Z "))
}

#[tokio::test]
async fn it_starts_connects_creates_and_stores_once() {
    let server = TestServer::start().await;
    let bus = server.console().await;
    let identity = made(&bus, 1).await.unwrap();
    assert_eq!(identity.differences, []);
    let names: Vec<_> = identity.streams.iter().map(|stream| stream.name).collect();
    assert_eq!(names, STREAMS);
    assert!(server.embedded().version().starts_with("2."));
    let state = bus.state().borrow().clone();
    assert_eq!((state.connected, state.insecure.len()), (true, 0));
    assert_eq!(state.server_version, server.embedded().version());
    assert_eq!(bus.max_payload(), 4 * 1024 * 1024);
}

#[tokio::test]
async fn its_configuration_is_readable_by_its_owner_only() {
    let server = TestServer::start().await;
    let folder = server.data().path().join("nats");
    let mode = |path| std::fs::metadata(path).unwrap().permissions().mode() & 0o777;
    assert_eq!(mode(folder.clone()), 0o700);
    assert_eq!(mode(folder.join("nats.conf")), 0o600);
    assert!(folder.join("jetstream").is_dir());
}

#[tokio::test]
async fn a_second_server_on_the_same_store_is_refused() {
    let server = TestServer::start().await;
    let Err(error) = EmbeddedServer::start(server.config()).await else {
        panic!("two servers on one store");
    };
    assert_eq!(error.code(), "bus_store_locked");
}

#[tokio::test]
async fn the_port_and_everything_stored_survive_a_restart() {
    let mut server = TestServer::start().await;
    let url = server.url();
    let bus = server.console_with_streams().await;
    let identity = bus.ensure(None, 1).await.unwrap();
    let stored = bus
        .publish_once(publication("countersign.v1.decision.a.b.1", "x"))
        .await;
    assert_eq!(stored, PublishOutcome::Stored { seq: 1 });
    let mut reconnects = bus.reconnected();
    server.restart().await;
    assert_eq!(server.url(), url);
    tokio::time::timeout(LIMIT, reconnects.changed())
        .await
        .unwrap()
        .unwrap();
    let after = bus.ensure(None, 1).await.unwrap();
    assert_eq!((after.realm, after.differences.len()), (identity.realm, 0));
    for (before, after) in identity.streams.iter().zip(&after.streams) {
        assert_eq!(before.epoch, after.epoch);
    }
    assert_eq!(bus.last_sequence("CS_DECISIONS").await.unwrap(), 1);
}

#[cfg(target_os = "linux")]
#[tokio::test]
async fn a_server_that_met_a_full_disk_stores_again_once_there_is_room() {
    let server = TestServer::start().await;
    let bus = server.console_with_streams().await;
    let store = async |id: u32| {
        let subject = format!("countersign.v1.decision.a.b.{id}");
        bus.publish_once(publication(&subject, "x")).await
    };
    assert_eq!(store(1).await, PublishOutcome::Stored { seq: 1 });
    let pid = server.embedded().pid().unwrap();
    // No file may grow: to the server the same as no space. Only its soft limit, which is lifted again.
    let limit = |bytes: &str| {
        let status = std::process::Command::new("prlimit")
            .args(["--pid", &pid.to_string(), &format!("--fsize={bytes}:")])
            .status();
        assert!(status.expect("prlimit of util-linux").success());
    };
    limit("1");
    let refused = store(2).await;
    assert!(
        !matches!(refused, PublishOutcome::Stored { .. }),
        "{refused:?}"
    );
    limit("unlimited");
    let mut number = 2;
    until("it stores again", async || {
        number += 1;
        matches!(store(number).await, PublishOutcome::Stored { .. })
    })
    .await;
    let first = bus
        .read_last("CS_DECISIONS", "countersign.v1.decision.a.b.1")
        .await;
    assert_eq!(first.unwrap().unwrap().seq, 1);
}

#[tokio::test]
async fn another_port_is_taken_for_as_long_as_the_remembered_one_is_in_use() {
    let server = TestServer::start().await;
    let config = server.config();
    let url = server.url();
    let data = TempData::new();
    let config = EmbeddedConfig {
        data_dir: data.path().into(),
        ..config
    };
    drop(server);
    let port = url.rsplit_once(':').unwrap().1;
    let taken = TcpListener::bind(format!("127.0.0.1:{port}")).unwrap();
    std::fs::create_dir_all(data.path().join("nats")).unwrap();
    std::fs::write(data.path().join("nats/port"), port).unwrap();
    let second = EmbeddedServer::start(config.clone()).await.unwrap();
    let elsewhere = second.url();
    assert_ne!(elsewhere, url);
    assert_eq!(second.moved_from(), Some(format!("127.0.0.1:{port}")));
    second.stop().await;
    let third = EmbeddedServer::start(config.clone()).await.unwrap();
    assert_eq!(third.url(), elsewhere, "the same other one");
    third.stop().await;
    drop(taken);
    let back = EmbeddedServer::start(config).await.unwrap();
    assert_eq!((back.url(), back.moved_from()), (url, None));
    back.stop().await;
}

#[tokio::test]
async fn a_killed_server_comes_back_on_its_port_and_clients_reconnect() {
    let server = TestServer::start().await;
    let url = server.url();
    let bus = server.console_with_streams().await;
    let mut state = server.embedded().state();
    let mut connection = bus.state();
    for number in 1..=3 {
        let mut reconnects = bus.reconnected();
        let killed = server.kill9();
        let down = state.wait_for(|state| matches!(state, ServerState::Restarting { .. }));
        tokio::time::timeout(LIMIT, down).await.unwrap().unwrap();
        let up =
            state.wait_for(|state| matches!(state, ServerState::Running { pid } if *pid != killed));
        tokio::time::timeout(LIMIT, up).await.unwrap().unwrap();
        tokio::time::timeout(LIMIT, reconnects.changed())
            .await
            .unwrap()
            .unwrap();
        let connected = connection.wait_for(|state| state.connected);
        tokio::time::timeout(LIMIT, connected)
            .await
            .unwrap()
            .unwrap();
        let subject = format!("countersign.v1.decision.a.b.{number}");
        let outcome = bus.publish_once(publication(&subject, "x")).await;
        assert_eq!(outcome, PublishOutcome::Stored { seq: number });
    }
    assert_eq!(server.url(), url);
}

#[tokio::test]
async fn stop_and_drop_end_the_process_and_free_the_store() {
    let data = TempData::new();
    let config = config(&data);
    let server = EmbeddedServer::start(config.clone()).await.unwrap();
    let mut state = server.state();
    let first = server.pid().unwrap();
    server.stop().await;
    assert!(!is_running(first));
    assert_eq!(*state.borrow_and_update(), ServerState::Stopped);
    let server = EmbeddedServer::start(config.clone()).await.unwrap();
    let second = server.pid().unwrap();
    drop(server);
    assert!(!is_running(second));
    EmbeddedServer::start(config).await.unwrap().stop().await;
}

#[tokio::test]
async fn enrolment_is_effective_when_reload_returns_and_survives_a_kill() {
    let mut server = TestServer::start().await;
    let _bus = server.console_with_streams().await;
    for number in 0..5 {
        let agent = server.agent("acme", &format!("bot{number}")).await;
        let client = agent.options().connect(&agent.url).await.unwrap();
        let answer = client
            .request(agent.subject("request", "1"), "{}".into())
            .await
            .unwrap();
        assert!(answer.payload.starts_with(br#"{"stream":"CS_REQUESTS""#));
        if number == 4 {
            let killed = server.kill9();
            until("a restart", async || {
                server.embedded().pid().is_some_and(|pid| pid != killed)
            })
            .await;
            until("the agent's login", async || {
                agent.options().connect(&agent.url).await.is_ok()
            })
            .await;
        }
    }
}

#[tokio::test]
async fn a_program_that_is_no_nats_server_is_refused_with_advice() {
    let data = TempData::new();
    for program in ["/bin/true", "/nonexistent/nats-server"] {
        let config = EmbeddedConfig {
            data_dir: data.path().into(),
            binary: Some(program.into()),
            console_user: UserKey::new().public,
            agents: Vec::new(),
        };
        let Err(error) = EmbeddedServer::start(config).await else {
            panic!("{program} ran")
        };
        assert_eq!(error.code(), "bus_server_unusable");
        assert!(
            error.to_string().contains("install nats-server 2.10"),
            "{error}"
        );
    }
}

/// Not a test of its own: the copy of this program that the next test kills.
#[tokio::test]
async fn victim() {
    let Ok(folder) = std::env::var(VICTIM) else {
        return;
    };
    let config = EmbeddedConfig {
        data_dir: folder.into(),
        binary: None,
        console_user: UserKey::new().public,
        agents: Vec::new(),
    };
    let server = EmbeddedServer::start(config.clone()).await.unwrap();
    let pid = server.pid().unwrap().to_string();
    let beside = config.data_dir.join("pid.new");
    std::fs::write(&beside, pid).unwrap();
    std::fs::rename(beside, config.data_dir.join("pid")).unwrap();
    tokio::time::sleep(LIMIT * 3).await;
}

/// A console's process with its server's process id.
async fn start_victim(data: &TempData) -> (std::process::Child, u32) {
    let console = std::process::Command::new(std::env::current_exe().unwrap())
        .args(["--exact", "server::victim"])
        .env(VICTIM, data.path())
        .stdout(std::process::Stdio::null())
        .spawn()
        .unwrap();
    let file = data.path().join("pid");
    until("the console's server", async || file.exists()).await;
    let pid = std::fs::read_to_string(&file).unwrap().parse().unwrap();
    assert!(is_running(pid));
    (console, pid)
}

fn config(data: &TempData) -> EmbeddedConfig {
    EmbeddedConfig {
        data_dir: data.path().into(),
        binary: None,
        console_user: UserKey::new().public,
        agents: Vec::new(),
    }
}

#[tokio::test]
async fn a_killed_console_takes_its_server_with_it_and_the_next_one_can_start_at_once() {
    let data = TempData::new();
    let (mut console, pid) = start_victim(&data).await;
    console.kill().unwrap();
    console.wait().unwrap();
    let next = EmbeddedServer::start(config(&data)).await.unwrap();
    assert!(!is_running(pid));
    next.stop().await;
}

#[tokio::test]
async fn the_store_stays_locked_while_a_dead_consoles_server_still_ends() {
    let data = TempData::new();
    let (mut console, pid) = start_victim(&data).await;
    let signal = |name: &str| {
        let sent = std::process::Command::new("kill")
            .args([name, &pid.to_string()])
            .status();
        assert!(sent.unwrap().success());
    };
    // Stopped, the server cannot follow the console's death.
    signal("-STOP");
    console.kill().unwrap();
    console.wait().unwrap();
    let early = EmbeddedServer::start(config(&data)).await;
    let still_there = is_running(pid);
    signal("-CONT");
    let Err(error) = early else {
        panic!("two servers on one store")
    };
    assert!(still_there);
    assert_eq!(error.code(), "bus_store_locked");
    let next = EmbeddedServer::start(config(&data)).await.unwrap();
    assert!(!is_running(pid));
    next.stop().await;
}
