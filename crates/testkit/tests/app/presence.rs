use countersign_core::App;
use countersign_core::domain::presence::LIVE_MS;
use countersign_testkit::TempData;
use countersign_wire::{Context, PolicyKey, Presence, PublicKey, SignedEnvelope, policy_subject};

use crate::agent::{Desk, colleague, colleague_with, until};
use crate::ranks::SetClock;
use crate::realm_log::console_key;

/// The operators of the consoles that this one knows to be there.
async fn known_to(app: &App) -> Vec<String> {
    let mut operators: Vec<String> = app
        .consoles()
        .await
        .into_iter()
        .map(|c| c.operator)
        .collect();
    operators.sort();
    operators
}

#[tokio::test(flavor = "multi_thread")]
async fn consoles_know_each_other_at_once_and_one_that_stops_is_gone() {
    let desk = Desk::open().await;
    let data = TempData::new();
    let second = colleague(&desk, &data, "Grace").await;
    for app in [&desk.app, &second] {
        until("both are there", async || {
            known_to(app).await == ["Ada", "Grace"]
        })
        .await;
        let here: Vec<_> = app
            .consoles()
            .await
            .into_iter()
            .filter(|c| c.is_this)
            .collect();
        assert_eq!(here.len(), 1);
        assert_eq!(here[0].id.as_str(), app.identity().console_id.to_string());
    }
    second.shutdown().await;
    until("Ada is alone", async || {
        known_to(&desk.app).await == ["Ada"]
    })
    .await;
    desk.app.shutdown().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_process_beside_the_console_sees_the_same_consoles() {
    let desk = Desk::open().await;
    until("Ada is there", async || {
        known_to(&desk.app).await == ["Ada"]
    })
    .await;
    let reader = App::read(crate::agent::options(&desk.data), true)
        .await
        .unwrap();
    assert_eq!(known_to(&reader).await, ["Ada"]);
    reader.shutdown().await;
    desk.app.shutdown().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_console_that_is_silent_for_three_signs_is_gone() {
    let clock = SetClock::now();
    let desk = Desk::open_with(|options| options.clock = Some(clock.clone())).await;
    until("Ada is there", async || {
        known_to(&desk.app).await == ["Ada"]
    })
    .await;
    clock.move_on(LIVE_MS + 5_000);
    assert!(known_to(&desk.app).await.is_empty());
    desk.app.shutdown().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn presence_that_its_console_did_not_sign_is_not_believed() {
    let desk = Desk::open().await;
    let (identity, realm) = (desk.app.identity(), desk.app.realm().unwrap());
    let bus = desk.app.bus().unwrap();
    let own = console_key(&desk.app, None).await;
    let presence = |console: &str, auto_key: PublicKey| Presence {
        v: 1,
        console: console.parse().unwrap(),
        operator: "Mallory".into(),
        human_key: identity.human_key(),
        auto_key,
        at: countersign_wire::Timestamp::new(desk.app.now().into()),
        instance_id: None,
        ended: false,
    };
    let keys = identity.signing();
    let stranger = nkeys::KeyPair::new_user();
    // Key, who it says it is, the pair that signs, the key that it is signed for.
    let rows = [
        ("by-a-stranger", "by-a-stranger", &stranger, "by-a-stranger"),
        (
            "by-an-operator",
            "by-an-operator",
            &keys.human,
            "by-an-operator",
        ),
        ("of-another", "another", &own, "of-another"),
        ("for-another", "for-another", &own, "another"),
        ("by-another", "by-another", &keys.auto, "by-another"),
        ("sound", "sound", &own, "sound"),
        ("second", "second", &own, "second"),
    ];
    for (key, says, pair, signed_for) in rows {
        let payload = serde_json::to_vec(&presence(says, PublicKey::of(pair).unwrap())).unwrap();
        let subject = policy_subject(&format!("console.{signed_for}"));
        let value = SignedEnvelope::seal(pair, Context::Policy, &realm, &subject, &payload);
        let key = PolicyKey::Console(key.parse().unwrap()).to_string();
        let value = value.unwrap().to_bytes().unwrap();
        bus.policy_put(&key, 0, value.into()).await.unwrap();
    }
    until("the sound one is there", async || {
        known_to(&desk.app).await.len() == 2
    })
    .await;
    let ids: Vec<String> = desk
        .app
        .consoles()
        .await
        .iter()
        .map(|c| c.id.to_string())
        .collect();
    assert!(ids.contains(&"sound".to_owned()), "{ids:?}");
    assert_eq!(ids.len(), 2, "{ids:?}");
    desk.app.shutdown().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_console_that_starts_again_is_one_console() {
    let desk = Desk::open().await;
    let data = TempData::new();
    let second = colleague(&desk, &data, "Grace").await;
    until("Grace is there", async || {
        known_to(&desk.app).await.len() == 2
    })
    .await;
    second.shutdown().await;
    let again = colleague_with(&desk, &data, "Grace", |_| {}).await;
    until("Grace is there again", async || {
        known_to(&desk.app).await == ["Ada", "Grace"]
    })
    .await;
    again.shutdown().await;
    desk.app.shutdown().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_data_folder_that_was_copied_and_runs_twice_is_an_alarm_at_every_console() {
    let desk = Desk::open().await;
    let (identity, realm) = (desk.app.identity(), desk.app.realm().unwrap());
    let key = PolicyKey::Console("copied".parse().unwrap());
    let auto = console_key(&desk.app, None).await;
    let say = async |run: u128| {
        let presence = Presence {
            v: 1,
            console: "copied".parse().unwrap(),
            operator: "Grace".into(),
            human_key: identity.human_key(),
            auto_key: PublicKey::of(&auto).unwrap(),
            at: countersign_wire::Timestamp::new(desk.app.now().into()),
            instance_id: Some(uuid::Uuid::from_u128(run)),
            ended: false,
        };
        let payload = serde_json::to_vec(&presence).unwrap();
        let value =
            SignedEnvelope::seal(&auto, Context::Policy, &realm, &key.subject(), &payload).unwrap();
        let bus = desk.app.bus().unwrap();
        let before = bus.policy_get(&key.to_string()).await.unwrap();
        let revision = before.map_or(0, |value| value.revision);
        let value = value.to_bytes().unwrap();
        bus.policy_put(&key.to_string(), revision, value.into())
            .await
            .unwrap();
    };
    let reported = async || {
        let status = desk.app.status().await.unwrap();
        let alarms = status.alarms.iter();
        alarms
            .map(|alarm| (alarm.code.clone(), alarm.subject.clone()))
            .collect::<Vec<_>>()
    };
    for run in [1, 2, 3] {
        say(run).await;
    }
    until("it is there", async || known_to(&desk.app).await.len() == 2).await;
    assert_eq!(reported().await, [], "started anew");
    for run in [2, 3] {
        say(run).await;
    }
    let alarm = ("console_runs_twice".to_owned(), "console.copied".to_owned());
    until("it is reported", async || {
        reported().await == [alarm.clone()]
    })
    .await;
    desk.app.shutdown().await;
}

/// Presence of the agent `bot`, and of its copies by name.
async fn bot(app: &App) -> (&'static str, Vec<(String, bool)>) {
    let agents = app.agents().await.unwrap();
    let bot = agents.iter().find(|agent| agent.agent == "bot").unwrap();
    let copies = bot
        .instances
        .iter()
        .map(|copy| (copy.id.clone(), copy.live));
    let mut copies: Vec<_> = copies.collect();
    copies.sort();
    (bot.presence.as_str(), copies)
}

#[tokio::test(flavor = "multi_thread")]
async fn an_agent_that_is_silent_for_three_signs_is_gone_by_the_servers_clock() {
    let clock = SetClock::now();
    let desk = Desk::open_with(|options| options.clock = Some(clock.clone())).await;
    let agent = desk.agent("bot").await;
    assert_eq!(bot(&desk.app).await.0, "unheard");
    let subject = "countersign.v1.alive.acme.bot";
    for copy in ["a", "b"] {
        let sign = format!("{{\"v\":1,\"instance_id\":\"{copy}\"}}");
        agent.client.publish(subject, sign.into()).await.unwrap();
    }
    let live = |copies: [(&str, bool); 2]| copies.map(|(id, live)| (id.to_owned(), live)).to_vec();
    until("both copies are there", async || {
        bot(&desk.app).await == ("live", live([("a", true), ("b", true)]))
    })
    .await;
    clock.move_on(31_000);
    let gone = ("silent", live([("a", false), ("b", false)]));
    assert_eq!(bot(&desk.app).await, gone);
    desk.app.shutdown().await;
}
