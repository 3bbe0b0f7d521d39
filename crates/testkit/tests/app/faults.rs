//! What goes wrong around votes, and a bus without room.

use std::time::Duration;

use async_nats::jetstream;
use countersign_core::App;
use countersign_core::bus::{Publication, PublishOutcome};
use countersign_core::domain::StallLimits;
use countersign_core::ops::health;
use countersign_core::ops::verdicts::Decided;
use countersign_testkit::{TempData, halt};
use countersign_wire::{Context, PublicKey, RequestKey, Sha256Digest, Verdict, sign, vote_subject};
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use nkeys::KeyPair;
use serde_json::{Value, json};

use crate::agent::{
    Agent, Desk, colleague, in_state, inbox_ids, line_when, listed, troubles, until, verdict,
};

/// Three pings without an answer, and some room.
const HANGS: Duration = Duration::from_secs(25);

/// A request that two operators must agree to.
fn of_two(agent: &Agent, id: &str) -> Value {
    let mut request = agent.request(id);
    request["approvals_required"] = json!(2);
    request
}

async fn votes_are(app: &App, id: &str, count: i64) {
    line_when(app, id, |line| line.votes == count).await;
}

fn voters(decision: &Value) -> Vec<String> {
    let votes = decision["votes"].as_array().unwrap();
    let keys = votes
        .iter()
        .map(|vote| vote["key"].as_str().unwrap().to_owned());
    keys.collect()
}

fn human(app: &App) -> String {
    app.identity().human_key().to_string()
}

async fn alarm_codes(app: &App) -> Vec<String> {
    let alarms = troubles(app).await;
    alarms.into_iter().map(|alarm| alarm.code).collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_third_console_that_joins_between_two_votes_counts_them_and_casts_the_last() {
    let desk = Desk::open().await;
    let agent = desk.agent("bot").await;
    let (data, more) = (TempData::new(), TempData::new());
    let grace = colleague(&desk, &data, "Grace").await;
    let mut request = of_two(&agent, "r1");
    request["approvals_required"] = json!(3);
    let key = agent.ask(&request).await;
    for app in [&desk.app, &grace] {
        listed(app, "r1").await;
        app.decide(verdict(&key, Verdict::Approve)).await.unwrap();
    }
    let cid = colleague(&desk, &more, "Cid").await;
    let line = listed(&cid, "r1").await;
    assert_eq!(
        (line.state.as_str(), line.votes, line.voted),
        ("pending", 2, false)
    );
    let last = cid.decide(verdict(&key, Verdict::Approve)).await.unwrap();
    assert!(matches!(last, Decided::Stored { .. }), "{last:?}");
    let everybody = [&desk.app, &grace, &cid].map(human);
    assert_eq!(voters(&agent.decision("r1").await), everybody);
    for app in [cid, grace, desk.app] {
        let line = in_state(&app, "r1", "decided").await;
        assert_eq!((line.votes, line.verdict.as_deref()), (3, Some("approve")));
        assert_eq!(alarm_codes(&app).await, [""; 0]);
        app.shutdown().await;
    }
}

/// Lays a vote of `voter` on the stream, signed as given, over the protocol and past every check.
async fn lay(
    desk: &Desk,
    key: &RequestKey,
    voter: &KeyPair,
    request: &Value,
    signed: Option<&str>,
) {
    let digest = Sha256Digest::of_bytes(&serde_json::to_vec(request).unwrap());
    let public = PublicKey::of(voter).unwrap();
    let vote = json!({
        "v": 1, "vote_id": uuid::Uuid::now_v7(), "request_digest": digest, "verdict": "approve",
        "args_digest": request["args_digest"],
        "decided_by": {"name": "Mallory", "key": public}, "decided_at": "2026-11-21T12:00:00.000Z",
    });
    let payload = serde_json::to_vec(&vote).unwrap();
    let subject = vote_subject(key, &public.clone().into());
    let realm = desk.app.realm().unwrap();
    let sig = signed.map(|of| {
        let of = if of.is_empty() { &subject } else { of };
        let sig = sign(voter, Context::Vote, &realm, of, &payload);
        sig.unwrap().to_string()
    });
    let forged = Publication {
        subject,
        payload: payload.into(),
        key: sig.is_some().then(|| public.to_string()),
        sig,
    };
    let outcome = desk.app.bus().unwrap().publish_once(forged).await;
    assert!(
        matches!(outcome, PublishOutcome::Stored { .. }),
        "{outcome:?}"
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn forged_votes_are_an_alarm_and_never_count() {
    let desk = Desk::open().await;
    let agent = desk.agent("bot").await;
    let (data, more) = (TempData::new(), TempData::new());
    let grace = colleague(&desk, &data, "Grace").await;
    let cid = colleague(&desk, &more, "Cid").await;
    let request = of_two(&agent, "r1");
    let key = agent.ask(&request).await;
    for app in [&desk.app, &grace, &cid] {
        listed(app, "r1").await;
    }
    let strangers = [0; 2].map(|_| KeyPair::new_user());
    lay(&desk, &key, &strangers[0], &request, Some("")).await;
    lay(&desk, &key, &strangers[1], &request, None).await;
    // A console's own key, and a person's word on something else.
    let auto = &grace.identity().signing().auto;
    lay(&desk, &key, auto, &request, Some("")).await;
    let person = &cid.identity().signing().human;
    lay(&desk, &key, person, &request, Some("elsewhere")).await;

    let first = desk
        .app
        .decide(verdict(&key, Verdict::Approve))
        .await
        .unwrap();
    assert!(matches!(first, Decided::Voted { .. }), "{first:?}");
    for app in [&desk.app, &grace, &cid] {
        votes_are(app, "r1", 1).await;
        assert_eq!(listed(app, "r1").await.state, "pending");
        assert_eq!(alarm_codes(app).await, ["void_vote"]);
    }
    // The operator whose name was taken reads that, and nothing of a vote that nobody gave.
    let taken = cid.decide(verdict(&key, Verdict::Approve)).await;
    let taken = taken.unwrap_err();
    assert_eq!(taken.code.as_str(), "not_approvable");
    assert!(taken.to_string().contains("does not verify"), "{taken}");
    grace.decide(verdict(&key, Verdict::Approve)).await.unwrap();
    let decision = agent.decision("r1").await;
    assert_eq!(voters(&decision), [&desk.app, &grace].map(human));
    for app in [cid, grace, desk.app] {
        in_state(&app, "r1", "decided").await;
        assert_eq!(app.audit_verify(None).await.unwrap().first_bad, None);
        app.shutdown().await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_vote_given_while_the_bus_does_not_answer_arrives_once_afterwards() {
    let desk = Desk::open().await;
    let agent = desk.agent("bot").await;
    let data = TempData::new();
    let grace = colleague(&desk, &data, "Grace").await;
    let mut request = of_two(&agent, "r1");
    request["expires_at"] = json!("2026-11-21T12:10:00.000Z");
    let key = agent.ask(&request).await;
    for app in [&desk.app, &grace] {
        listed(app, "r1").await;
    }
    let server = desk.app.embedded_server().unwrap().pid().unwrap();
    let server = Pid::from_raw(server.cast_signed());
    halt(server);
    let queued = desk.app.decide(verdict(&key, Verdict::Approve)).await;
    let again = desk.app.decide(verdict(&key, Verdict::Approve)).await;
    kill(server, Signal::SIGCONT).unwrap();
    assert_eq!(queued.unwrap_err().code.as_str(), "bus_unreachable");
    assert!(again.is_err(), "one vote is on its way already");
    for app in [&desk.app, &grace] {
        votes_are(app, "r1", 1).await;
        assert_eq!(listed(app, "r1").await.state, "pending");
    }
    let bus = desk.app.bus().unwrap();
    let entries = 3;
    assert_eq!(
        bus.last_sequence("CS_DECISIONS").await.unwrap(),
        entries + 1
    );
    grace.decide(verdict(&key, Verdict::Approve)).await.unwrap();
    let decision = agent.decision("r1").await;
    assert_eq!(voters(&decision), [&desk.app, &grace].map(human));
    in_state(&desk.app, "r1", "decided").await;
    // Two votes and the decision.
    assert_eq!(
        bus.last_sequence("CS_DECISIONS").await.unwrap(),
        entries + 3
    );
    assert_eq!(desk.app.status().await.unwrap().outbox, 0);
    for app in [grace, desk.app] {
        assert_eq!(app.audit_verify(None).await.unwrap().first_bad, None);
        app.shutdown().await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_bus_that_hangs_is_seen_and_what_was_decided_meanwhile_arrives_when_it_goes_on() {
    let desk = Desk::open().await;
    let agent = desk.agent("bot").await;
    let mut request = agent.request("r1");
    request["expires_at"] = json!("2026-11-21T12:10:00.000Z");
    let key = agent.ask(&request).await;
    listed(&desk.app, "r1").await;
    let server = desk.app.embedded_server().unwrap().pid().unwrap();
    let server = Pid::from_raw(server.cast_signed());
    let mut state = desk.app.bus().unwrap().state();
    halt(server);
    let queued = desk.app.decide(verdict(&key, Verdict::Approve)).await;
    let lost = state.wait_for(|state| !state.connected);
    let lost = tokio::time::timeout(HANGS, lost).await.is_ok();
    let (why, alive) = (health::not_ready(&desk.app), health::is_alive(&desk.app));
    kill(server, Signal::SIGCONT).unwrap();
    assert!(lost, "no connection was lost");
    assert_eq!((why, alive), (vec!["bus_disconnected"], true));
    assert_eq!(queued.unwrap_err().code.as_str(), "bus_unreachable");
    assert_eq!(agent.decision("r1").await["verdict"], "approve");
    in_state(&desk.app, "r1", "decided").await;
    assert!(desk.app.ready(HANGS).await);
    assert_eq!(health::not_ready(&desk.app), [""; 0]);
    let app = desk.app.clone();
    desk.app.shutdown().await;
    assert!(!health::is_alive(&app), "nobody writes any more");
}

/// Gives a stream this much room and no more; none: as much as there is.
pub(crate) async fn room(desk: &Desk, name: &str, more: Option<i64>) {
    let seed = desk.app.identity().login.seed().unwrap();
    let url = desk.app.embedded_server().unwrap().url();
    let client = async_nats::ConnectOptions::with_nkey(seed)
        .connect(url)
        .await
        .unwrap();
    let streams = jetstream::new(client);
    let stream = streams.get_stream(name).await.unwrap();
    let info = stream.cached_info();
    let used = i64::try_from(info.state.bytes).unwrap();
    let config = jetstream::stream::Config {
        max_bytes: more.map_or(-1, |more| used + more),
        ..info.config.clone()
    };
    streams.update_stream(config).await.unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn a_bus_without_room_says_so_to_agents_and_operators_and_nothing_is_lost() {
    let quick = StallLimits {
        on_bus_ms: 200,
        ..StallLimits::default()
    };
    let desk = Desk::open_with(|options| options.stall_limits = quick).await;
    let agent = desk.agent("bot").await;
    let key = agent.ask(&agent.request("r1")).await;
    listed(&desk.app, "r1").await;
    for name in ["CS_REQUESTS", "CS_DECISIONS"] {
        room(&desk, name, Some(100)).await;
    }
    let second = serde_json::to_vec(&agent.request("r2")).unwrap();
    let asked = agent
        .publish(agent.subject("request", "r2"), second.clone())
        .await;
    assert_eq!(
        asked,
        Err(10_077),
        "the agent is informed that it is not stored"
    );
    let refused = desk.app.decide(verdict(&key, Verdict::Approve)).await;
    assert_eq!(refused.unwrap_err().code.as_str(), "bus_unreachable");
    until("the operator is informed", || async {
        alarm_codes(&desk.app).await == ["stalled_not_on_bus"]
    })
    .await;
    assert_eq!(desk.app.status().await.unwrap().outbox, 1);
    assert_eq!(inbox_ids(&desk.app).await, [""; 0], "it is decided here");
    let bus = desk.app.bus().unwrap();
    assert_eq!(
        bus.last_sequence("CS_DECISIONS").await.unwrap(),
        1,
        "the founding"
    );

    for name in ["CS_REQUESTS", "CS_DECISIONS"] {
        room(&desk, name, None).await;
    }
    assert_eq!(agent.decision("r1").await["verdict"], "approve");
    in_state(&desk.app, "r1", "decided").await;
    agent
        .publish(agent.subject("request", "r2"), second)
        .await
        .unwrap();
    listed(&desk.app, "r2").await;
    until("the alarm ends", || async {
        alarm_codes(&desk.app).await.is_empty()
    })
    .await;
    assert_eq!(bus.last_sequence("CS_DECISIONS").await.unwrap(), 2);
    assert_eq!(desk.app.status().await.unwrap().outbox, 0);
    assert_eq!(desk.app.audit_verify(None).await.unwrap().first_bad, None);
    desk.app.shutdown().await;
}
