use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};
use std::time::Duration;

use countersign_core::App;
use countersign_core::clock::{BusClock, Clock};
use countersign_core::domain::Timestamp;
use countersign_core::domain::rank::{TURN_MS, rank};
use countersign_testkit::TempData;
use countersign_wire::{
    ConsoleId, Context, PolicyKey, Presence, PublicKey, RequestKey, SignedEnvelope,
};
use serde_json::{Value, json};

use crate::agent::{Agent, Desk, colleague_with, in_state, listed, troubles, until};
use crate::realm_log::console_key;

/// A clock that is stopped until it is moved.
pub(crate) struct SetClock(AtomicI64);

impl SetClock {
    pub(crate) fn now() -> Arc<Self> {
        let now = BusClock::new().now();
        Arc::new(Self(AtomicI64::new(now.0)))
    }

    pub(crate) fn move_on(&self, ms: i64) {
        self.0.fetch_add(ms, Ordering::SeqCst);
    }
}

impl Clock for SetClock {
    fn now(&self) -> Timestamp {
        Timestamp(self.0.load(Ordering::SeqCst))
    }
}

fn id_of(app: &App) -> ConsoleId {
    app.identity().console_id.into()
}

/// A request that ends 2 s after it is stored.
fn short(agent: &Agent, id: &str) -> Value {
    let mut request = agent.request(id);
    request["expires_at"] = json!("2026-11-21T12:00:02.000Z");
    request
}

/// How many answers this console has queued, by its audit log.
async fn answers(app: &App) -> usize {
    let rows = app.audit_after(0, 100_000).await.unwrap();
    rows.iter().filter(|row| row.action == "answer").count()
}

async fn both_are_there(app: &App) {
    until("both consoles are there", async || {
        app.consoles().await.len() == 2
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn of_two_consoles_the_first_in_rank_answers_and_the_other_waits_its_turn() {
    let clock = SetClock::now();
    let desk = Desk::open_with(|options| options.clock = Some(clock.clone())).await;
    let agent = desk.agent("bot").await;
    let data = TempData::new();
    let set = |options: &mut countersign_core::Options| options.clock = Some(clock.clone());
    let second = colleague_with(&desk, &data, "Grace", set).await;
    both_are_there(&desk.app).await;
    both_are_there(&second).await;

    let ids: Vec<String> = (0..40).map(|number| format!("r{number}")).collect();
    for id in &ids {
        agent.ask(&short(&agent, id)).await;
    }
    for app in [&desk.app, &second] {
        listed(app, "r39").await;
    }
    clock.move_on(6_000);
    let live = [id_of(&desk.app), id_of(&second)];
    let mut expected = [0, 0];
    for id in &ids {
        let first = usize::from(rank(&live[0], &live, &agent.key(id)) != 0);
        expected[first] += 1;
        let by = agent.decision(id).await["decided_by"]["key"].clone();
        let app = [&desk.app, &second][first];
        assert_eq!(by, json!(app.identity().auto_key().as_str()), "{id}");
    }
    assert!(expected.iter().all(|count| *count > 5), "{expected:?}");
    for app in [&desk.app, &second] {
        for id in &ids {
            line_on_bus(app, id).await;
        }
    }
    // The turn of the other one comes, and everything is answered.
    clock.move_on(TURN_MS);
    tokio::time::sleep(Duration::from_millis(500)).await;
    assert_eq!([answers(&desk.app).await, answers(&second).await], expected);
    for app in [&desk.app, &second] {
        assert_eq!(troubles(app).await, []);
    }
    second.shutdown().await;
    desk.app.shutdown().await;
}

async fn line_on_bus(app: &App, id: &str) {
    crate::agent::line_when(app, id, |row| row.delivery == "on_bus").await;
}

/// Writes the presence of a console that never answers.
async fn haunt(app: &App, ghost: &ConsoleId) {
    let (identity, realm) = (app.identity(), app.realm().unwrap());
    let own = console_key(app, Some(ghost.as_str())).await;
    let key = PolicyKey::Console(ghost.clone());
    let presence = Presence {
        v: 1,
        console: ghost.clone(),
        operator: "Nobody".into(),
        human_key: identity.human_key(),
        auto_key: PublicKey::of(&own).unwrap(),
        at: countersign_wire::Timestamp::new(app.now().into()),
        instance_id: None,
        ended: false,
    };
    let payload = serde_json::to_vec(&presence).unwrap();
    let value = SignedEnvelope::seal(&own, Context::Policy, &realm, &key.subject(), &payload);
    let value = value.unwrap().to_bytes().unwrap();
    let bus = app.bus().unwrap();
    bus.policy_put(&key.to_string(), 0, value.into())
        .await
        .unwrap();
    both_are_there(app).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_silent_console_of_rank_0_costs_one_turn() {
    let clock = SetClock::now();
    let desk = Desk::open_with(|options| options.clock = Some(clock.clone())).await;
    let agent = desk.agent("bot").await;
    let ghost: ConsoleId = "ghost".parse().unwrap();
    haunt(&desk.app, &ghost).await;
    let me = id_of(&desk.app);
    let behind = |key: &RequestKey| rank(&me, [&ghost], key) == 1;
    let ids: Vec<String> = (0..20)
        .map(|n| format!("r{n}"))
        .filter(|id| behind(&agent.key(id)))
        .collect();
    assert!(!ids.is_empty());
    for id in &ids {
        agent.ask(&short(&agent, id)).await;
    }
    listed(&desk.app, ids.last().unwrap()).await;
    clock.move_on(6_000);
    for id in &ids {
        in_state(&desk.app, id, "expired").await;
    }
    clock.move_on(TURN_MS - 1);
    tokio::time::sleep(Duration::from_millis(300)).await;
    assert_eq!(answers(&desk.app).await, 0, "before its turn");
    clock.move_on(1);
    for id in &ids {
        assert_eq!(agent.decision(id).await["verdict"], "expired");
    }
    desk.app.shutdown().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn withdrawn_and_rejected_ones_are_answered_by_rank_too() {
    let clock = SetClock::now();
    let desk = Desk::open_with(|options| options.clock = Some(clock.clone())).await;
    let agent = desk.agent("bot").await;
    let ghost: ConsoleId = "ghost".parse().unwrap();
    haunt(&desk.app, &ghost).await;
    let me = id_of(&desk.app);
    let of_rank = |wanted: u32, word: &str| {
        let mut ids = (0..100).map(|n| format!("{word}{n}"));
        ids.find(|id| rank(&me, [&ghost], &agent.key(id)) == wanted)
            .unwrap()
    };
    for (turn, delay) in [(0, 0), (1, TURN_MS)] {
        let (withdrawn, rejected) = (of_rank(turn, "w"), of_rank(turn, "x"));
        agent.ask(&agent.request(&withdrawn)).await;
        listed(&desk.app, &withdrawn).await;
        let before = answers(&desk.app).await;
        agent
            .publish(agent.subject("withdraw", &withdrawn), b"{}".to_vec())
            .await
            .unwrap();
        agent
            .publish(agent.subject("request", &rejected), b"?".to_vec())
            .await
            .unwrap();
        in_state(&desk.app, &withdrawn, "withdrawn").await;
        in_state(&desk.app, &rejected, "rejected").await;
        if delay > 0 {
            tokio::time::sleep(Duration::from_millis(300)).await;
            assert_eq!(answers(&desk.app).await, before, "before its turn");
        }
        clock.move_on(delay);
        assert_eq!(agent.decision(&withdrawn).await["verdict"], "withdrawn");
        assert_eq!(agent.decision(&rejected).await["verdict"], "rejected");
    }
    desk.app.shutdown().await;
}
