use std::path::Path;
use std::time::Duration;

use countersign_core::App;
use countersign_core::bus::{Publication, PublishOutcome};
use countersign_core::ops::health;
use countersign_core::ops::recover::Recovery;
use countersign_testkit::TempData;
use countersign_wire::{Attestation, Sha256Digest, Timestamp, Verdict};
use serde_json::{Value, json};

use crate::agent::{
    Agent, Desk, LIMIT, caught_up, colleague, in_state, inbox_ids, line_when, listed, options,
    troubles, verdict,
};
use crate::operators::{remade, remade_with, root_of, slots_of};

pub(crate) async fn recovered(app: &App) -> Recovery {
    app.recover(false, |_| {}).await.unwrap()
}

/// Published again, left and in conflict, of the decisions.
pub(crate) fn counts(done: &Recovery) -> (u64, u64, u64) {
    let of = done.decisions;
    (of.republished, of.left, of.conflicts)
}

pub(crate) async fn delete_stream(desk: &Desk, name: &str) {
    let seed = desk.app.identity().login.seed().unwrap();
    let url = desk.app.embedded_server().unwrap().url();
    let client = async_nats::ConnectOptions::with_nkey(seed)
        .connect(url)
        .await
        .unwrap();
    let streams = async_nats::jetstream::new(client);
    streams.delete_stream(name).await.unwrap();
}

/// Deletes a stream and starts the first console again.
pub(crate) async fn loses(desk: Desk, name: &str) -> Desk {
    delete_stream(&desk, name).await;
    desk.app.shutdown().await;
    let app = App::start(options(&desk.data)).await.unwrap();
    becomes_read_only(&app).await;
    Desk {
        data: desk.data,
        app,
    }
}

pub(crate) async fn becomes_read_only(app: &App) {
    let mut health = app.health();
    let noticed = health.wait_for(|health| health.read_only.is_some());
    let noticed = tokio::time::timeout(LIMIT, noticed).await;
    drop(noticed.unwrap().unwrap());
    assert!(health::not_ready(app).contains(&"read_only"));
}

fn lose_the_store(desk: &Path) {
    std::fs::remove_dir_all(desk.join("nats/jetstream")).unwrap();
}

pub(crate) fn copy_all(from: &Path, to: &Path) {
    std::fs::create_dir_all(to).unwrap();
    for entry in std::fs::read_dir(from).unwrap() {
        let entry = entry.unwrap();
        let target = to.join(entry.file_name());
        if entry.file_type().unwrap().is_dir() {
            copy_all(&entry.path(), &target);
        } else {
            std::fs::copy(entry.path(), target).unwrap();
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_bus_that_lost_its_store_has_every_decision_again_and_what_waited_still_waits() {
    let desk = Desk::open().await;
    let agent = desk.agent("bot").await;
    for id in ["yes", "no", "waits"] {
        agent.ask(&agent.request(id)).await;
        listed(&desk.app, id).await;
    }
    let before = verdict(&agent.key("yes"), Verdict::Approve);
    desk.app.decide(before).await.unwrap();
    desk.app
        .decide(verdict(&agent.key("no"), Verdict::Deny))
        .await
        .unwrap();
    in_state(&desk.app, "no", "decided").await;
    let stored = agent.decision("yes").await;
    desk.app.shutdown().await;
    lose_the_store(desk.data.path());

    let app = App::start(options(&desk.data)).await.unwrap();
    becomes_read_only(&app).await;
    let beside = App::attach(options(&desk.data)).await.unwrap();
    let reported = beside.recover(true, |_| {}).await.unwrap();
    assert_eq!(
        (
            reported.created.len(),
            reported.decisions.known,
            reported.decisions.republished
        ),
        (7, 2, 2)
    );
    assert!(app.status().await.unwrap().read_only.is_some(), "only told");
    // As a recovery that was killed half-way leaves it.
    let half = app.bus().unwrap();
    remade(&half, &app, app.realm().unwrap()).await;
    let done = recovered(&beside).await;
    assert_eq!(counts(&done), (2, 0, 0));
    caught_up(&app).await;
    assert_eq!(app.status().await.unwrap().read_only, None);
    assert_eq!(agent.decision("yes").await, stored, "the same bytes");
    assert_eq!(inbox_ids(&app).await, ["waits"]);
    app.decide(verdict(&agent.key("waits"), Verdict::Approve))
        .await
        .unwrap();
    assert_eq!(agent.decision("waits").await["verdict"], "approve");
    assert!(recovered(&beside).await.is_needless());
    agent.ask(&agent.request("later")).await;
    listed(&app, "later").await;
    // An agent that asks again gets the answer that it had, and is not asked about twice.
    agent.ask(&agent.request("yes")).await;
    agent.ask(&agent.request("last")).await;
    listed(&app, "last").await;
    assert_eq!(inbox_ids(&app).await, ["later", "last"]);
    assert_eq!(
        in_state(&app, "yes", "decided").await.verdict.as_deref(),
        Some("approve")
    );
    assert_eq!(app.audit_verify(None).await.unwrap().first_bad, None);
    beside.shutdown().await;
    app.shutdown().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn consoles_that_recover_at_once_agree_and_a_late_joiner_sees_the_old_decisions() {
    let desk = Desk::open().await;
    let agent = desk.agent("bot").await;
    let data = TempData::new();
    let second = colleague(&desk, &data, "Grace").await;
    for number in 0..40 {
        let id = format!("r{number}");
        let key = agent.ask(&agent.request(&id)).await;
        let app = if number % 2 == 0 { &desk.app } else { &second };
        listed(app, &id).await;
        app.decide(verdict(&key, Verdict::Approve)).await.unwrap();
    }
    for app in [&desk.app, &second] {
        in_state(app, "r39", "decided").await;
    }
    let seed = desk.app.identity().login.seed().unwrap();
    let url = desk.app.embedded_server().unwrap().url();
    let client = async_nats::ConnectOptions::with_nkey(seed)
        .connect(url)
        .await
        .unwrap();
    let streams = async_nats::jetstream::new(client);
    streams.delete_stream("CS_DECISIONS").await.unwrap();
    desk.app.shutdown().await;
    let app = App::start(options(&desk.data)).await.unwrap();
    becomes_read_only(&second).await;
    let (ours, theirs) = tokio::join!(recovered(&app), recovered(&second));
    for one in [&ours, &theirs] {
        assert_eq!((one.decisions.known, one.decisions.conflicts), (40, 0));
        assert_eq!(one.decisions.done(), 40);
    }
    assert_eq!(
        ours.decisions.republished + theirs.decisions.republished,
        40,
        "each is there once"
    );
    let late = TempData::new();
    let desk = Desk {
        data: desk.data,
        app,
    };
    let third = colleague(&desk, &late, "Heidi").await;
    for app in [&desk.app, &second, &third] {
        for number in 0..40 {
            let row = line_when(app, &format!("r{number}"), |row| row.state == "decided").await;
            assert_eq!(row.verdict.as_deref(), Some("approve"));
        }
        assert_eq!(app.status().await.unwrap().read_only, None);
    }
    for app in [third, second, desk.app] {
        assert_eq!(app.audit_verify(None).await.unwrap().first_bad, None);
        app.shutdown().await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn streams_that_went_back_get_their_decisions_and_new_requests_are_not_taken_for_lost_ones() {
    let desk = Desk::open().await;
    let agent = desk.agent("bot").await;
    agent.ask(&agent.request("kept")).await;
    listed(&desk.app, "kept").await;
    desk.app.shutdown().await;
    let store = desk.data.path().join("nats/jetstream");
    let older = TempData::new();
    copy_all(&store, &older.path().join("js"));
    let app = App::start(options(&desk.data)).await.unwrap();
    for id in ["gone", "kept"] {
        if id == "gone" {
            agent.ask(&agent.request(id)).await;
        }
        listed(&app, id).await;
        app.decide(verdict(&agent.key(id), Verdict::Approve))
            .await
            .unwrap();
        in_state(&app, id, "decided").await;
    }
    app.shutdown().await;
    std::fs::remove_dir_all(&store).unwrap();
    copy_all(&older.path().join("js"), &store);
    let app = App::start(options(&desk.data)).await.unwrap();
    becomes_read_only(&app).await;
    let done = recovered(&app).await;
    assert!(done.changed.contains(&"CS_DECISIONS"), "{done:?}");
    assert_eq!(counts(&done), (2, 0, 0));
    for id in ["fresh", "fresher"] {
        agent.ask(&agent.request(id)).await;
        listed(&app, id).await;
    }
    assert_eq!(inbox_ids(&app).await, ["fresh", "fresher"]);
    for id in ["gone", "kept"] {
        assert_eq!(agent.decision(id).await["verdict"], "approve");
    }
    assert_eq!(app.audit_verify(None).await.unwrap().first_bad, None);
    app.shutdown().await;
}

/// The shared policy, the anchors and the spans are remembered by their epochs as decisions are.
#[tokio::test(flavor = "multi_thread")]
async fn a_stream_that_somebody_made_anew_makes_the_console_read_only_until_it_is_recovered() {
    let desk = Desk::open().await;
    let human = desk.app.identity().human_key();
    let Desk { data, mut app } = desk;
    for name in ["KV_CS_POLICY", "CS_AUDIT", "CS_EVENTS"] {
        let seed = app.identity().login.seed().unwrap();
        let url = app.embedded_server().unwrap().url();
        let client = async_nats::ConnectOptions::with_nkey(seed)
            .connect(url)
            .await
            .unwrap();
        let streams = async_nats::jetstream::new(client);
        streams.delete_stream(name).await.unwrap();
        let (bus, realm) = (app.bus().unwrap(), app.realm().unwrap());
        remade(&bus, &app, realm).await;
        app.shutdown().await;
        app = App::start(options(&data)).await.unwrap();
        becomes_read_only(&app).await;
        let why = app.status().await.unwrap().read_only.unwrap();
        assert!(why.contains(name) && why.contains("recreated"), "{why}");
        let done = recovered(&app).await;
        assert_eq!(done.changed, [name]);
        caught_up(&app).await;
        assert_eq!(app.status().await.unwrap().read_only, None, "{name}");
        let list = app.operators(false).await.unwrap();
        assert!(list.iter().any(|line| line.key == human.as_str()), "{name}");
        assert_eq!(app.audit_verify(None).await.unwrap().first_bad, None);
    }
    app.shutdown().await;
    let app = App::start(options(&data)).await.unwrap();
    caught_up(&app).await;
    assert_eq!(app.status().await.unwrap().read_only, None);
    app.shutdown().await;
}

/// A request that expires a second after it is stored.
fn short(agent: &Agent, id: &str) -> Value {
    let mut request = agent.request(id);
    request["expires_at"] = json!("2026-11-21T12:00:01.500Z");
    request
}

#[tokio::test(flavor = "multi_thread")]
async fn a_late_joiner_reads_a_recovered_decision_as_who_lived_through_it_also_past_its_deadline() {
    let desk = Desk::open().await;
    let agent = desk.agent("bot").await;
    let answered = ["yes", "no", "never"];
    for id in answered {
        agent.ask(&short(&agent, id)).await;
        listed(&desk.app, id).await;
    }
    for (id, given) in [("yes", Verdict::Approve), ("no", Verdict::Deny)] {
        desk.app
            .decide(verdict(&agent.key(id), given))
            .await
            .unwrap();
    }
    let decision = agent.decision("yes").await;
    let decision_id = decision["decision_id"].as_str().unwrap();
    agent.receipt("yes", decision_id, "received").await;
    let ran = decision["args_digest"].as_str();
    agent.receipt_of("yes", decision_id, "executed", ran).await;
    in_state(&desk.app, "never", "expired").await;
    line_when(&desk.app, "yes", |row| row.delivery == "executed").await;
    line_when(&desk.app, "never", |row| row.delivery == "on_bus").await;
    let lines = async |app: &App| {
        let mut seen = Vec::new();
        for id in answered {
            let row = listed(app, id).await;
            seen.push((row.state, row.verdict, row.decided_at, row.delivery));
        }
        seen
    };
    let before = lines(&desk.app).await;
    // Twice: what is attested once is attested again from hearsay.
    let mut desk = desk;
    let mut late = Vec::new();
    for operator in ["Grace", "Heidi"] {
        desk = loses(desk, "CS_DECISIONS").await;
        let done = recovered(&desk.app).await;
        assert_eq!(counts(&done), (3, 0, 0));
        caught_up(&desk.app).await;
        let data = TempData::new();
        let joined = colleague(&desk, &data, operator).await;
        line_when(&joined, "yes", |row| row.delivery == "executed").await;
        assert_eq!(lines(&joined).await, before, "{operator}");
        assert_eq!(lines(&desk.app).await, before);
        for app in [&desk.app, &joined] {
            assert_eq!(troubles(app).await, [], "{operator}");
            assert_eq!(app.audit_verify(None).await.unwrap().first_bad, None);
        }
        late.push((data, joined));
    }
    assert_eq!(agent.decision("yes").await, decision, "the same bytes");
    for (_, app) in late {
        app.shutdown().await;
    }
    desk.app.shutdown().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_console_that_says_another_stamp_than_was_seen_is_noted_and_changes_nothing() {
    let desk = Desk::open().await;
    let agent = desk.agent("bot").await;
    let data = TempData::new();
    let liar = colleague(&desk, &data, "Grace").await;
    let key = agent.ask(&agent.request("r1")).await;
    listed(&desk.app, "r1").await;
    desk.app
        .decide(verdict(&key, Verdict::Approve))
        .await
        .unwrap();
    let before = in_state(&desk.app, "r1", "decided").await;
    let subject = agent.subject("decision", "r1");
    let bus = desk.app.bus().unwrap();
    let stored = bus.read_last("CS_DECISIONS", &subject).await.unwrap();
    let stored = stored.unwrap();
    let slots = slots_of(&desk.app).await;
    let desk = loses(desk, "CS_DECISIONS").await;
    let (bus, realm) = (desk.app.bus().unwrap(), desk.app.realm().unwrap());
    remade_with(&bus, &desk.app, slots).await;
    let said = Attestation {
        v: 1,
        payload_digest: Sha256Digest::of_bytes(&stored.payload),
        stored_at: Timestamp::new(stored.stamp - Duration::from_secs(5)),
        epoch: uuid::Uuid::new_v4(),
        seq: stored.seq,
        n: 1,
        digest: root_of(&desk.app).await,
    };
    let word = said.seal(&liar.identity().signing().auto, &realm, &subject);
    let publication = Publication {
        subject,
        payload: stored.payload,
        key: stored.key,
        sig: stored.sig,
    };
    let outcome = bus.publish_again(publication, &word.unwrap()).await;
    assert!(matches!(outcome, PublishOutcome::Stored { .. }));
    assert_eq!(counts(&recovered(&desk.app).await), (0, 1, 0));
    caught_up(&desk.app).await;
    assert_eq!(troubles(&desk.app).await, []);
    let rows = desk.app.audit_after(0, 1_000).await.unwrap();
    let mut noted = rows
        .iter()
        .filter(|row| row.action == "attestation_differs");
    assert_eq!(noted.next().unwrap().subject, "acme/bot/r1");
    let after = listed(&desk.app, "r1").await;
    assert_eq!(
        (after.state, after.decided_at),
        (before.state, before.decided_at)
    );
    liar.shutdown().await;
    desk.app.shutdown().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn votes_are_on_a_recovered_bus_again_and_count_there() {
    let desk = Desk::open().await;
    let agent = desk.agent("bot").await;
    let data = TempData::new();
    let grace = colleague(&desk, &data, "Grace").await;
    for id in ["done", "open"] {
        let mut request = agent.request(id);
        request["approvals_required"] = json!(2);
        let key = agent.ask(&request).await;
        for app in [&desk.app, &grace] {
            listed(app, id).await;
        }
        desk.app
            .decide(verdict(&key, Verdict::Approve))
            .await
            .unwrap();
        line_when(&grace, id, |line| line.votes == 1).await;
    }
    let approve = |id: &str| verdict(&agent.key(id), Verdict::Approve);
    grace.decide(approve("done")).await.unwrap();
    in_state(&desk.app, "done", "decided").await;
    let decision = agent.decision("done").await;
    let desk = loses(desk, "CS_DECISIONS").await;
    becomes_read_only(&grace).await;
    let done = recovered(&desk.app).await;
    assert_eq!(counts(&done), (1, 0, 0));
    assert_eq!((done.votes.known, done.votes.republished), (3, 3));
    let again = recovered(&grace).await;
    assert_eq!((again.votes.left, again.votes.conflicts), (3, 0));
    caught_up(&desk.app).await;
    let late = TempData::new();
    let cid = colleague(&desk, &late, "Cid").await;
    let everybody = [&desk.app, &grace, &cid];
    for app in everybody {
        let row = line_when(app, "done", |row| row.state == "decided").await;
        assert_eq!(row.votes, 2);
        assert_eq!(listed(app, "open").await.votes, 1);
    }
    assert_eq!(agent.decision("done").await, decision);
    cid.decide(approve("open")).await.unwrap();
    assert_eq!(
        agent.decision("open").await["votes"]
            .as_array()
            .unwrap()
            .len(),
        2
    );
    for app in everybody {
        in_state(app, "open", "decided").await;
        assert_eq!(troubles(app).await, []);
        assert_eq!(app.audit_verify(None).await.unwrap().first_bad, None);
    }
    for app in [cid, grace, desk.app] {
        app.shutdown().await;
    }
}
