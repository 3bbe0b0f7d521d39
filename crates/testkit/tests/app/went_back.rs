//! A bus that was put back to an older copy and went on before this console saw it again.

use countersign_core::bus::{AgentAccess, Credentials, EmbeddedConfig, EmbeddedServer};
use countersign_core::{App, Options};
use countersign_testkit::TempData;
use countersign_wire::Verdict;

use crate::agent::{Agent, Desk, in_state, inbox_ids, listed, options, verdict};
use crate::recover::{becomes_read_only, copy_all, recovered};

fn access(agent: &Agent) -> AgentAccess {
    let login = nkeys::KeyPair::from_seed(agent.enrolment.nkey_seed.reveal()).unwrap();
    AgentAccess {
        workspace: agent.enrolment.workspace.to_string(),
        agent: agent.enrolment.agent.to_string(),
        nkey: login.public_key(),
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn an_older_copy_of_the_bus_that_went_on_is_noticed_and_nothing_of_either_is_lost() {
    let desk = Desk::open().await;
    let agent = desk.agent("bot").await;
    agent.ask(&agent.request("kept")).await;
    listed(&desk.app, "kept").await;
    let login = desk.app.identity().login.seed().unwrap();
    let login = nkeys::KeyPair::from_seed(&login).unwrap();
    desk.app.shutdown().await;
    let older = TempData::new();
    std::fs::remove_dir(older.path()).unwrap();
    copy_all(desk.data.path(), older.path());

    let app = App::start(options(&desk.data)).await.unwrap();
    agent.ask(&agent.request("here")).await;
    listed(&app, "here").await;
    app.decide(verdict(&agent.key("here"), Verdict::Approve))
        .await
        .unwrap();
    in_state(&app, "here", "decided").await;
    app.shutdown().await;

    // While this console is away the same numbers are given to other messages, and more.
    let server = EmbeddedServer::start(EmbeddedConfig {
        data_dir: older.path().to_owned(),
        binary: None,
        console_user: login.public_key(),
        agents: vec![access(&agent)],
    });
    let server = server.await.unwrap();
    let second = TempData::new();
    let app = App::start(Options {
        nats_url: Some(server.url()),
        credentials: Credentials::NkeySeed(login.seed().unwrap()),
        operator: "Grace".into(),
        ..options(&second)
    });
    let app = app.await.unwrap();
    for id in ["there", "there-too", "last"] {
        agent.ask(&agent.request(id)).await;
        listed(&app, id).await;
    }
    app.decide(verdict(&agent.key("there"), Verdict::Deny))
        .await
        .unwrap();
    in_state(&app, "there", "decided").await;
    app.shutdown().await;
    server.stop().await;
    let store = desk.data.path().join("nats/jetstream");
    std::fs::remove_dir_all(&store).unwrap();
    copy_all(&older.path().join("nats/jetstream"), &store);

    let app = App::start(options(&desk.data)).await.unwrap();
    becomes_read_only(&app).await;
    let why = app.status().await.unwrap().read_only.unwrap();
    assert!(
        why.contains("stream_went_back") && why.contains("not the one that was read here"),
        "{why}"
    );
    let done = recovered(&app).await;
    assert!(done.changed.contains(&"CS_REQUESTS"), "{done:?}");
    assert!(done.changed.contains(&"CS_DECISIONS"), "{done:?}");
    in_state(&app, "here", "decided").await;
    let denied = in_state(&app, "there", "decided").await;
    assert_eq!(denied.verdict.as_deref(), Some("deny"));
    listed(&app, "last").await;
    let mut waiting = inbox_ids(&app).await;
    waiting.sort();
    assert_eq!(waiting, ["kept", "last", "there-too"]);
    assert_eq!(agent.decision("here").await["verdict"], "approve");
    assert_eq!(app.audit_verify(None).await.unwrap().first_bad, None);
    assert!(recovered(&app).await.is_needless());
    app.shutdown().await;
}
