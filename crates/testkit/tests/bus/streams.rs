//! Joining and creating the stores, and the shared policy.

use countersign_core::bus::{PublishOutcome, STREAMS};
use countersign_testkit::{PlainServer, TestServer, made};
use std::collections::BTreeSet;
use std::time::Duration;

async fn admin(server: &TestServer) -> async_nats::jetstream::Context {
    let client = async_nats::ConnectOptions::with_nkey(server.console_key().seed.clone())
        .connect(server.url())
        .await
        .unwrap();
    async_nats::jetstream::new(client)
}

#[tokio::test]
async fn nothing_is_created_unless_told() {
    let server = TestServer::start().await;
    let bus = server.console().await;
    for _ in 0..2 {
        let error = bus.ensure(None, 1).await.unwrap_err();
        assert_eq!(error.code(), "bus_streams_missing");
        assert!(
            error.to_string().contains("CS_REQUESTS") && error.to_string().contains("bus init")
        );
    }
}

#[tokio::test]
async fn consoles_which_create_together_agree_on_one_realm_and_its_epochs() {
    let server = TestServer::start().await;
    let mut consoles = Vec::new();
    for _ in 0..6 {
        consoles.push(server.console().await);
    }
    let identities = futures::future::join_all(consoles.iter().map(|bus| made(bus, 1))).await;
    let identities: Vec<_> = identities.into_iter().map(Result::unwrap).collect();
    for identity in &identities {
        assert_eq!(identity, &identities[0]);
    }
    let epochs: BTreeSet<_> = identities[0]
        .streams
        .iter()
        .map(|stream| stream.epoch.unwrap())
        .collect();
    assert_eq!(epochs.len(), STREAMS.len());
}

#[tokio::test]
async fn a_recreated_stream_joins_the_realm_with_another_epoch() {
    let server = TestServer::start().await;
    let bus = server.console_with_streams().await;
    let before = bus.ensure(None, 1).await.unwrap();
    admin(&server)
        .await
        .delete_stream("CS_RECEIPTS")
        .await
        .unwrap();
    let error = bus.ensure(None, 1).await.unwrap_err();
    assert!(error.to_string().contains("CS_RECEIPTS") && !error.to_string().contains("CS_EVENTS"));
    let after = made(&bus, 1).await.unwrap();
    assert_eq!(after.realm, before.realm);
    for (before, after) in before.streams.iter().zip(&after.streams) {
        assert_eq!(before.epoch == after.epoch, before.name != "CS_RECEIPTS");
    }
}

#[tokio::test]
async fn a_changed_stream_is_a_difference_that_names_stream_and_field() {
    let server = TestServer::start().await;
    let bus = server.console_with_streams().await;
    let jetstream = admin(&server).await;
    let mut decisions = jetstream.get_stream("CS_DECISIONS").await.unwrap();
    let mut config = decisions.info().await.unwrap().config.clone();
    config.republish = None;
    config.metadata.remove("countersign-epoch");
    jetstream.update_stream(&config).await.unwrap();
    let differences = bus.ensure(None, 1).await.unwrap().differences;
    let named: Vec<_> = differences
        .iter()
        .map(|one| (&*one.stream, one.field))
        .collect();
    assert_eq!(
        named,
        [("CS_DECISIONS", "republish"), ("CS_DECISIONS", "metadata")]
    );
    assert_eq!(differences[0].found, "none");
    assert_eq!(
        differences[0].expected,
        "countersign.v1.decision.> to countersign.v1.decided.> headers_only false"
    );
}

#[tokio::test]
async fn streams_of_two_realms_are_a_conflict() {
    let server = TestServer::start().await;
    let bus = server.console_with_streams().await;
    let jetstream = admin(&server).await;
    let mut audit = jetstream.get_stream("CS_AUDIT").await.unwrap();
    let mut config = audit.info().await.unwrap().config.clone();
    config
        .metadata
        .insert("countersign-realm".into(), uuid::Uuid::new_v4().to_string());
    jetstream.update_stream(&config).await.unwrap();
    assert_eq!(
        made(&bus, 1).await.unwrap_err().code(),
        "bus_realm_conflict"
    );
}

#[tokio::test]
async fn nobody_can_delete_a_decision() {
    let server = TestServer::start().await;
    let bus = server.console_with_streams().await;
    let outcome = bus
        .publish_once(crate::server::publication(
            "countersign.v1.decision.a.b.1",
            "x",
        ))
        .await;
    assert_eq!(outcome, PublishOutcome::Stored { seq: 1 });
    let decisions = admin(&server)
        .await
        .get_stream("CS_DECISIONS")
        .await
        .unwrap();
    decisions.delete_message(1).await.unwrap_err();
    decisions.purge().await.unwrap_err();
    assert_eq!(bus.last_sequence("CS_DECISIONS").await.unwrap(), 1);
    assert!(
        bus.read_last("CS_DECISIONS", "countersign.v1.decision.a.b.1")
            .await
            .unwrap()
            .is_some()
    );
}

#[tokio::test]
async fn policy_is_written_only_over_the_revision_that_was_seen() {
    let server = TestServer::start().await;
    let bus = server.console_with_streams().await;
    assert_eq!(bus.policy_get("panic").await.unwrap(), None);
    let mut watch = bus.policy_watch(1);
    assert_eq!(
        bus.policy_put("panic", 0, "a".into()).await.unwrap(),
        PublishOutcome::Stored { seq: 1 }
    );
    let refused = bus.policy_put("panic", 0, "b".into()).await.unwrap();
    assert!(
        matches!(refused, PublishOutcome::Refused { code: 10071, .. }),
        "{refused:?}"
    );
    assert_eq!(
        bus.policy_put("rules.acme", 0, "r".into()).await.unwrap(),
        PublishOutcome::Stored { seq: 2 }
    );
    assert_eq!(
        bus.policy_put("panic", 1, "c".into()).await.unwrap(),
        PublishOutcome::Stored { seq: 3 }
    );
    let value = bus.policy_get("panic").await.unwrap().unwrap();
    assert_eq!((&value.value[..], value.revision), (&b"c"[..], 3));
    for (key, text, revision) in [("panic", "a", 1), ("rules.acme", "r", 2), ("panic", "c", 3)] {
        let change = tokio::time::timeout(Duration::from_secs(10), watch.changes.recv())
            .await
            .unwrap()
            .unwrap();
        assert_eq!(
            (&*change.key, change.value.as_deref(), change.revision),
            (key, Some(text.as_bytes()), revision)
        );
    }
    let heard = watch
        .heard
        .wait_for(|heard| heard.is_some_and(|heard| heard.last_revision == 3));
    let heard = tokio::time::timeout(Duration::from_secs(10), heard)
        .await
        .unwrap()
        .unwrap()
        .unwrap();
    assert!(heard.at.elapsed() < Duration::from_secs(3));
}

#[tokio::test]
async fn the_other_clients_of_a_key_value_bucket_can_read_the_policy() {
    let server = TestServer::start().await;
    let bus = server.console_with_streams().await;
    bus.policy_put("operators", 0, "list".into()).await.unwrap();
    let bucket = admin(&server)
        .await
        .get_key_value("CS_POLICY")
        .await
        .unwrap();
    assert_eq!(bucket.get("operators").await.unwrap().unwrap(), "list");
    bucket.delete("operators").await.unwrap();
    assert_eq!(bus.policy_get("operators").await.unwrap(), None);
}

#[tokio::test]
async fn a_bus_without_jetstream_says_so() {
    let server = PlainServer::start_with(
        "accounts { NOJS { users: [{ user: a, password: b }] } }\nno_auth_user: a",
    )
    .await;
    let bus = server.console(false).await.unwrap();
    assert_eq!(made(&bus, 1).await.unwrap_err().code(), "bus_no_jetstream");
}
