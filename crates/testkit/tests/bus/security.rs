//! What an agent's login can do on the bus, and what it cannot (protocol, section 1 "Accounts").

use crate::server::publication;
use crate::wiretap::Wiretap;
use bytes::Bytes;
use countersign_core::bus::{
    Bus, BusEvent, BusOptions, Credentials, Insecure, Publication, PublishOutcome, STREAMS,
};
use countersign_testkit::{AgentCredentials, PlainServer, TestServer, UserKey, made};
use futures::StreamExt;
use std::time::Duration;

const GET: &str = "$JS.API.DIRECT.GET.CS_DECISIONS.";
const GET_POLICY: &str = "$JS.API.DIRECT.GET.KV_CS_POLICY.$KV.CS_POLICY.";

struct Scene {
    server: TestServer,
    bus: Bus,
    own: AgentCredentials,
    stranger: AgentCredentials,
    wire: Wiretap,
}

async fn scene() -> Scene {
    let mut server = TestServer::start().await;
    let own = server.agent("acme", "bot").await;
    let stranger = server.agent("acme", "victim").await;
    let bus = server.console_with_streams().await;
    let wire = Wiretap::connect(&own).await;
    Scene {
        server,
        bus,
        own,
        stranger,
        wire,
    }
}

async fn decide(bus: &Bus, agent: &AgentCredentials, id: &str) -> String {
    let subject = agent.subject("decision", id);
    let outcome = bus.publish_once(publication(&subject, "signed")).await;
    assert!(
        matches!(outcome, PublishOutcome::Stored { .. }),
        "{outcome:?}"
    );
    subject
}

#[tokio::test]
async fn an_allowed_agent_gets_acknowledgement_decision_and_direct_get() {
    let Scene {
        server: _server,
        bus,
        own,
        wire,
        ..
    } = scene().await;
    let mut decided = wire
        .client
        .subscribe(own.subject("decided", "*"))
        .await
        .unwrap();
    let unused = format!("{GET}{}", own.subject("decision", "none"));
    let barrier = wire.client.request(unused, Bytes::new()).await.unwrap();
    assert_eq!(barrier.status.unwrap().as_u16(), 404);
    for word in ["request", "withdraw", "tighten", "receipt"] {
        let answer = wire.store(&own.subject(word, "1"), "{}").await;
        assert!(answer.contains(r#""seq":"#), "{word}: {answer}");
    }
    for word in ["event", "hello"] {
        let answer = wire
            .client
            .request(own.subject(word, ""), "{}".into())
            .await
            .unwrap();
        assert!(
            std::str::from_utf8(&answer.payload)
                .unwrap()
                .contains(r#""seq":"#)
        );
    }
    let again = wire.store(&own.subject("request", "1"), "{}").await;
    assert!(again.contains("10071"), "{again}");
    let subject = decide(&bus, &own, "1").await;
    let heard = tokio::time::timeout(Duration::from_secs(5), decided.next())
        .await
        .unwrap()
        .unwrap();
    assert_eq!(
        (heard.subject.as_str(), &heard.payload[..]),
        (&*own.subject("decided", "1"), &b"signed"[..])
    );
    let stored = wire
        .client
        .request(format!("{GET}{subject}"), Bytes::new())
        .await
        .unwrap();
    assert_eq!(&stored.payload[..], b"signed");
}

#[tokio::test]
async fn an_agent_reads_the_realm_log_and_nothing_of_the_policy() {
    let Scene {
        server: _server,
        bus,
        mut wire,
        ..
    } = scene().await;
    let slot = "countersign.v1.realm.1";
    let stored = bus.publish_once(Publication {
        subject: slot.into(),
        payload: "entry".into(),
        key: None,
        sig: None,
    });
    assert!(matches!(stored.await, PublishOutcome::Stored { .. }));
    let read = wire
        .client
        .request(format!("{GET}{slot}"), Bytes::new())
        .await
        .unwrap();
    assert_eq!(&read.payload[..], b"entry");
    wire.publish_refused("countersign.v1.realm.2").await;
    let ask = "ask.UCFIRY65OQE7DFP5KLNS2PF2LVZMUZYJX4OZIEQ36N2IQANUB5XVZ45L";
    for key in ["rules.acme", "setup.acme.bot", "panic", "operators", ask] {
        bus.policy_put(key, 0, "secret".into()).await.unwrap();
        wire.publish_refused(&format!("{GET_POLICY}{key}")).await;
        wire.publish_refused(&format!("$KV.CS_POLICY.{key}")).await;
    }
    wire.publish_refused(&format!("{GET_POLICY}>")).await;
    wire.publish_refused("$JS.API.DIRECT.GET.KV_CS_POLICY")
        .await;
    wire.publish_refused("$JS.API.STREAM.MSG.GET.KV_CS_POLICY")
        .await;
    wire.subscribe_refused("$KV.CS_POLICY.>").await;
}

#[tokio::test]
async fn an_agent_cannot_publish_a_decision_or_a_vote_or_speak_for_another() {
    let Scene {
        server: _server,
        bus,
        own,
        stranger,
        mut wire,
    } = scene().await;
    for agent in [&own, &stranger] {
        for word in ["decision", "vote", "decided"] {
            wire.publish_refused(&agent.subject(word, "1")).await;
        }
    }
    wire.publish_refused(&own.subject("vote", "1.UKEY")).await;
    for word in ["request", "withdraw", "tighten", "receipt"] {
        wire.publish_refused(&stranger.subject(word, "1")).await;
    }
    for word in ["event", "hello", "alive"] {
        wire.publish_refused(&stranger.subject(word, "")).await;
    }
    wire.publish_refused("countersign.v1.audit.console").await;
    for stream in STREAMS {
        assert_eq!(bus.last_sequence(stream).await.unwrap(), 0, "{stream}");
    }
}

#[tokio::test]
async fn an_agent_cannot_reach_jetstream_or_the_system() {
    let Scene {
        server: _server,
        mut wire,
        ..
    } = scene().await;
    for subject in [
        "$JS.API.INFO",
        "$JS.API.STREAM.NAMES",
        "$JS.API.STREAM.CREATE.MINE",
        "$JS.API.STREAM.UPDATE.CS_DECISIONS",
        "$JS.API.STREAM.DELETE.CS_DECISIONS",
        "$JS.API.STREAM.PURGE.CS_REQUESTS",
        "$JS.API.STREAM.MSG.GET.CS_DECISIONS",
        "$JS.API.STREAM.MSG.DELETE.CS_DECISIONS",
        "$JS.API.CONSUMER.CREATE.CS_DECISIONS",
        "$JS.API.CONSUMER.CREATE.CS_DECISIONS.mine",
        "$JS.API.CONSUMER.DURABLE.CREATE.CS_DECISIONS.mine",
        "$JS.API.CONSUMER.MSG.NEXT.CS_DECISIONS.mine",
        "$JS.ACK.CS_REQUESTS.c.1.1.1.1.1",
        "$SYS.REQ.USER.INFO",
        "$SYS.REQ.SERVER.PING",
        "_INBOX.someone.1",
        "_R_.someone.1",
    ] {
        wire.publish_refused(subject).await;
    }
}

#[tokio::test]
async fn an_agent_cannot_read_what_is_for_another() {
    let Scene {
        server: _server,
        bus,
        own,
        stranger,
        mut wire,
    } = scene().await;
    let theirs = decide(&bus, &stranger, "1").await;
    wire.publish_refused(&format!("{GET}{theirs}")).await;
    wire.publish_refused("$JS.API.DIRECT.GET.CS_DECISIONS")
        .await;
    wire.publish_refused(&format!("{GET}countersign.v1.decision.>"))
        .await;
    wire.publish_refused(&format!("{GET}{}", own.subject("vote", "1")))
        .await;
    for subject in [
        ">",
        "_INBOX.>",
        "_R_.>",
        "$SYS.>",
        "$JS.>",
        "countersign.>",
        "countersign.v1.decided.>",
        "countersign.v1.decided.acme.*.*",
        "countersign.v1.request.>",
        "countersign.v1.decision.>",
    ] {
        wire.subscribe_refused(subject).await;
    }
    wire.subscribe_refused(&stranger.subject("decided", "*"))
        .await;
    wire.subscribe_refused(&own.subject("decision", "*")).await;
    wire.subscribe_refused(&format!("{}.>", stranger.inbox_prefix()))
        .await;
}

/// A request's body must not override the subject which the permission was checked on.
#[tokio::test]
async fn a_direct_get_answers_for_its_subject_whatever_its_body_asks() {
    let Scene {
        server: _server,
        bus,
        own,
        stranger,
        wire,
    } = scene().await;
    let theirs = decide(&bus, &stranger, "1").await;
    let mine = format!("{GET}{}", own.subject("decision", "1"));
    let inbox = wire.client.new_inbox();
    let mut answers = wire.client.subscribe(inbox.clone()).await.unwrap();
    let bodies = [
        r#"{"seq":1}"#.to_owned(),
        format!(r#"{{"last_by_subj":"{theirs}"}}"#),
        format!(r#"{{"seq":1,"next_by_subj":"{theirs}"}}"#),
        format!(r#"{{"multi_last":["{theirs}"]}}"#),
        r#"{"multi_last":["countersign.v1.decision.>"],"batch":10}"#.to_owned(),
        r#"{"seq":1,"batch":10}"#.to_owned(),
        r#"{"batch":10}"#.to_owned(),
    ];
    for body in &bodies {
        wire.client
            .publish_with_reply(mine.clone(), inbox.clone(), body.clone().into())
            .await
            .unwrap();
    }
    for body in &bodies {
        let answer = tokio::time::timeout(Duration::from_secs(5), answers.next())
            .await
            .unwrap()
            .unwrap();
        assert!(
            answer.status.is_some() && answer.payload.is_empty(),
            "{body}: {answer:?}"
        );
    }
    let more = tokio::time::timeout(Duration::from_millis(100), answers.next()).await;
    assert!(more.is_err(), "{more:?}");
}

/// Sends every kind of message that the server answers, with `reply` as its reply subject.
async fn bait(wire: &Wiretap, own: &AgentCredentials, number: usize, reply: &str) {
    let subjects = [
        own.subject("request", &format!("bait{number}")),
        own.subject("withdraw", &format!("bait{number}")),
        own.subject("event", ""),
        own.subject("hello", ""),
        own.subject("receipt", "bait"),
        format!("{GET}{}", own.subject("decision", "mine")),
    ];
    for subject in subjects {
        wire.client
            .publish_with_reply(subject, reply.to_owned(), "{}".into())
            .await
            .unwrap();
    }
}

/// NATS does not check the reply subject of a message: the server itself would publish its answer there.
#[tokio::test]
async fn an_agent_cannot_have_the_servers_answer_stored_on_a_subject_it_may_not_publish_on() {
    let Scene {
        server: _server,
        bus,
        own,
        stranger,
        wire,
    } = scene().await;
    decide(&bus, &own, "mine").await;
    let mut poison: Vec<String> = [
        "decision", "vote", "request", "withdraw", "tighten", "receipt",
    ]
    .map(|word| stranger.subject(word, "poison"))
    .into();
    poison.push(own.subject("decision", "poison"));
    poison.push(stranger.subject("event", ""));
    poison.push(stranger.subject("hello", ""));
    poison.push("$KV.CS_POLICY.operators".into());
    poison.push("countersign.v1.audit.console".into());
    poison.push("$JS.API.STREAM.PURGE.CS_REQUESTS".into());
    for (number, reply) in poison.iter().enumerate() {
        bait(&wire, &own, number, reply).await;
    }
    let count = u64::try_from(poison.len()).unwrap();
    let all_baits = async {
        while bus.last_sequence("CS_RECEIPTS").await.unwrap() < count {
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
    };
    tokio::time::timeout(Duration::from_secs(5), all_baits)
        .await
        .unwrap();
    // Nothing that an answer could still do takes longer than the same way once more.
    for word in ["request", "withdraw"] {
        wire.store(&own.subject(word, "last"), "{}").await;
    }
    for reply in &poison {
        for stream in STREAMS {
            let found = bus.read_last(stream, reply).await.unwrap();
            assert!(
                found.is_none(),
                "{stream} stored the server's answer on {reply}"
            );
        }
    }
    assert_eq!(bus.last_sequence("CS_DECISIONS").await.unwrap(), 1);
    assert_eq!(
        bus.last_sequence("CS_REQUESTS").await.unwrap(),
        2 * count + 2
    );
    assert_eq!(bus.last_sequence("CS_EVENTS").await.unwrap(), count);
}

/// The reason for the accounts, and the proof that the test above can fail.
#[tokio::test]
async fn in_one_account_the_servers_answer_can_become_the_stored_decision() {
    let server = PlainServer::start().await;
    let bus = server.console(true).await.unwrap();
    made(&bus, 1).await.unwrap();
    let agent = async_nats::connect(server.url()).await.unwrap();
    let decision = "countersign.v1.decision.acme.victim.1";
    agent
        .publish_with_reply("countersign.v1.request.acme.bot.1", decision, "{}".into())
        .await
        .unwrap();
    let stored = async {
        loop {
            if let Some(found) = bus.read_last("CS_DECISIONS", decision).await.unwrap() {
                return found;
            }
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    };
    let stored = tokio::time::timeout(Duration::from_secs(5), stored)
        .await
        .unwrap();
    assert!(stored.payload.starts_with(br#"{"stream":"CS_REQUESTS""#));
}

#[tokio::test]
async fn a_removed_agent_is_disconnected_and_others_notice_nothing() {
    let Scene {
        mut server,
        bus,
        own,
        stranger,
        wire,
    } = scene().await;
    let other = Wiretap::connect(&stranger).await;
    server.remove(&own).await;
    let gone = async {
        while wire.client.connection_state() == async_nats::connection::State::Connected {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    };
    tokio::time::timeout(Duration::from_secs(5), gone)
        .await
        .unwrap();
    let answer = other.store(&stranger.subject("request", "1"), "{}").await;
    assert!(answer.contains(r#""seq":1"#), "{answer}");
    assert_eq!(bus.last_sequence("CS_REQUESTS").await.unwrap(), 1);
    assert_eq!(*bus.reconnected().borrow(), 0);
}

#[tokio::test]
async fn a_login_that_is_not_enrolled_is_refused() {
    let server = TestServer::start().await;
    let mut options = server.console_options();
    options.credentials = Credentials::NkeySeed(UserKey::new().seed);
    let Err(error) = Bus::connect(options.clone()).await else {
        panic!("a stranger connected")
    };
    assert_eq!(error.code(), "bus_auth_refused");
    options.credentials = Credentials::None;
    let Err(error) = Bus::connect(options).await else {
        panic!("nobody connected")
    };
    assert_eq!(error.code(), "bus_auth_refused");
}

#[tokio::test]
async fn the_default_account_is_refused_unless_allowed_and_then_shown() {
    let server = PlainServer::start().await;
    let Err(error) = server.console(false).await else {
        panic!("the default account was accepted")
    };
    assert_eq!(error.code(), "bus_single_account");
    let bus = server.console(true).await.unwrap();
    let state = bus.state().borrow().clone();
    assert!(state.connected);
    assert_eq!(
        state.insecure,
        [Insecure::SingleAccount, Insecure::OpenPermissions]
    );
    made(&bus, 1).await.unwrap();
}

#[tokio::test]
async fn an_agents_login_is_no_consoles_login() {
    let mut server = TestServer::start().await;
    let agent = server.agent("acme", "bot").await;
    let mut options = server.console_options();
    options.credentials = Credentials::NkeySeed(agent.key.seed.clone());
    let Err(error) = Bus::connect(options).await else {
        panic!("an agent connected as a console")
    };
    assert_eq!(error.code(), "bus_account_unknown");
}

#[tokio::test]
async fn a_forbidden_publish_is_no_answer_and_an_event_that_names_it() {
    let users = r#"authorization { users: [{
        user: console, password: "p@ss", permissions: { publish: { deny: ["countersign.v1.decision.>"] } }
    }] }"#;
    let server = PlainServer::start_with(users).await;
    let bus = Bus::connect(BusOptions {
        url: server.url().replace("nats://", "nats://console:p%40ss@"),
        credentials: Credentials::UrlUserPassword,
        tls: Default::default(),
        console_id: "test".into(),
        allow_single_account: true,
    })
    .await
    .unwrap();
    assert_eq!(bus.state().borrow().insecure, [Insecure::SingleAccount]);
    assert_eq!(bus.state().borrow().url_without_secrets, server.url());
    let mut events = bus.events();
    let forbidden = "countersign.v1.decision.acme.bot.1";
    let outcome = bus.publish_once(publication(forbidden, "x")).await;
    assert_eq!(outcome, PublishOutcome::NoAnswer);
    let named = std::iter::from_fn(|| events.try_recv().ok()).any(
        |event| matches!(event, BusEvent::PermissionsViolation(text) if text.contains(forbidden)),
    );
    assert!(named);
}
