//! What an operator signs for the shared policy, and whether that key counts.

use std::time::Duration;

use countersign_core::App;
use countersign_core::Fault;
use countersign_core::domain::facts::RequestSummary;
use countersign_core::ops::operators::{Change, Limits, ListedState};
use countersign_core::ops::regrets::Denied;
use countersign_core::ops::rules::RulesChange;
use countersign_core::ops::setup::SetupChange;
use countersign_core::policy::read_file;
use countersign_testkit::TempData;
use countersign_wire::{
    AgentControl, AgentKey, KeyRole, OperatorEntry, OperatorList, PublicKey, Risk, SignedEnvelope,
    Timestamp,
};
use nkeys::KeyPair;
use serde_json::json;

use crate::agent::{Desk, colleague, colleague_options, in_state, options, troubles, until};
use crate::operators::{has_alarm, put_list, sees};
use crate::policy::{INVOICES, acme, apply};
use crate::setup_keys::{declared, hello};

const HOUR: Duration = Duration::from_secs(3_600);

fn bot() -> AgentKey {
    "acme/bot".parse().unwrap()
}

/// The revision of every key that an operator signs.
async fn revisions(app: &App) -> Vec<Option<u64>> {
    let bus = app.bus().unwrap();
    let mut all = Vec::new();
    for key in [
        "panic",
        "pause.acme.bot",
        "bypass.acme.bot",
        "rules.acme",
        "setup.acme.bot",
    ] {
        let value = bus.policy_get(key).await.unwrap();
        all.push(value.map(|value| value.revision));
    }
    all
}

/// Tries everything that an operator can sign.
async fn signs_nothing(app: &App, decided: Option<&RequestSummary>) {
    let before = revisions(app).await;
    let key = || "confirm_hire".to_owned();
    let setup = async |change| app.change_setup(&bot(), &change).await.map(drop);
    let control = async |state| app.set_control(&bot(), state).await.map(drop);
    let replace = RulesChange::Replace {
        rules: read_file("schema = 1").unwrap(),
        seen: None,
    };
    let save = [SetupChange::Set(key(), json!(false))];
    let mut tried: Vec<(&str, Result<(), Fault>)> = vec![
        ("panic on", app.set_panic(true).await.map(drop)),
        ("panic off", app.set_panic(false).await.map(drop)),
        ("pause", control(AgentControl::Paused).await),
        ("stop", control(AgentControl::Stopped).await),
        ("resume", control(AgentControl::Running).await),
        (
            "bypass",
            app.set_bypass(&bot(), Risk::Low, HOUR).await.map(drop),
        ),
        ("bypass off", app.end_bypass(&bot()).await.map(drop)),
        ("rules", app.change_rules(&acme(), &replace).await.map(drop)),
        ("set", setup(SetupChange::Set(key(), json!(false))).await),
        (
            "bind",
            setup(SetupChange::Bind(key(), json!(true), false)).await,
        ),
        (
            "form",
            app.save_setup(&bot(), before[4].unwrap_or(0), &save)
                .await
                .map(drop),
        ),
    ];
    if let Some(line) = decided {
        tried.push((
            "regret",
            app.regret(line, None, Denied::Accept).await.map(drop),
        ));
    }
    for (what, done) in tried {
        let refused = done.expect_err(what);
        assert_eq!(refused.code.as_str(), "read_only", "{what}: {refused}");
        assert!(refused.to_string().contains("operators add"), "{refused}");
    }
    assert_eq!(revisions(app).await, before);
}

#[tokio::test(flavor = "multi_thread")]
async fn an_operator_who_is_retired_or_waits_signs_nothing_of_the_shared_policy() {
    let desk = Desk::open().await;
    let agent = desk.agent("bot").await;
    hello(&agent, json!([])).await;
    let (data, late, fresh) = (TempData::new(), TempData::new(), TempData::new());
    let second = colleague(&desk, &data, "Grace").await;
    let grace = second.identity().human_key();
    sees(&desk.app, &grace, ListedState::InForce).await;
    declared(&second).await;
    apply(&desk.app, INVOICES).await;
    agent.ask(&agent.request("r1")).await;
    let decided = in_state(&second, "r1", "decided").await;
    // It knows the list as of now.
    let beside = App::attach(colleague_options(&desk, &data, "Grace"))
        .await
        .unwrap();
    second.set_panic(true).await.unwrap();
    desk.app.set_panic(false).await.unwrap();
    let retire = Change::Retire(grace.clone());
    assert!(desk.app.change_operators(&retire).await.unwrap());
    let late_word = beside.set_panic(true).await.unwrap_err();
    assert_eq!(late_word.code.as_str(), "read_only");
    sees(&second, &grace, ListedState::Retired).await;
    signs_nothing(&second, Some(&decided)).await;
    signs_nothing(&beside, Some(&decided)).await;
    beside.shutdown().await;
    second.shutdown().await;
    let approval = Change::Approval(true);
    assert!(desk.app.change_operators(&approval).await.unwrap());
    let third = colleague(&desk, &late, "Heidi").await;
    declared(&third).await;
    signs_nothing(&third, None).await;
    third.shutdown().await;
    // A command that starts its console.
    let passing = App::attach(colleague_options(&desk, &fresh, "Ivan")).await;
    let passing = passing.unwrap();
    let first_word = passing.set_panic(true).await.unwrap_err();
    assert_eq!(first_word.code.as_str(), "read_only");
    passing.shutdown().await;
    for key in ["panic", "rules.acme"] {
        assert!(!has_alarm(&desk.app, "brake_unverified", key).await);
        assert!(!has_alarm(&desk.app, "rules_unusable", key).await);
    }
    desk.app.shutdown().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn the_first_word_of_a_new_folder_can_be_panic() {
    let data = TempData::new();
    let app = App::attach(options(&data)).await.unwrap();
    assert!(app.set_panic(true).await.unwrap().revision > 0);
    assert!(app.controls().await.unwrap().panic().is_some());
    app.shutdown().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_bypass_beyond_the_limits_of_who_sets_it_is_refused() {
    let desk = Desk::open().await;
    let data = TempData::new();
    let second = colleague(&desk, &data, "Grace").await;
    let grace = second.identity().human_key();
    let limits = Limits {
        workspaces: None,
        max_risk: Some(Risk::Low),
    };
    let change = Change::Limit(grace.clone(), limits);
    until("Grace is known", || async {
        desk.app.change_operators(&change).await.is_ok()
    })
    .await;
    until("the limit is known", || async {
        let listed = second.operators().0;
        listed.iter().any(|line| line.max_risk == Some(Risk::Low))
    })
    .await;
    for (up_to, code) in [
        (Risk::Medium, Some("verdict_not_allowed")),
        (Risk::High, Some("verdict_not_allowed")),
        (Risk::Low, None),
    ] {
        let set = second.set_bypass(&bot(), up_to, HOUR).await;
        assert_eq!(set.err().map(|error| error.code.as_str()), code);
    }
    second.shutdown().await;
    desk.app.shutdown().await;
}

/// The list in force, and when it was stored.
async fn list_that_stands(app: &App) -> (OperatorList, time::OffsetDateTime) {
    let value = app.bus().unwrap().policy_get("operators").await;
    let value = value.unwrap().unwrap();
    let payload = SignedEnvelope::from_bytes(&value.value).unwrap();
    let payload = payload.payload_bytes().unwrap();
    (serde_json::from_slice(&payload).unwrap(), value.stamp)
}

/// When the list in force was signed and stored.
async fn list_times(app: &App) -> (Timestamp, time::OffsetDateTime) {
    let (list, stamp) = list_that_stands(app).await;
    (list.at.unwrap(), stamp)
}

#[tokio::test(flavor = "multi_thread")]
async fn a_list_that_newcomers_have_filled_keeps_room_for_ends_and_rotations() {
    let desk = Desk::open().await;
    let data = TempData::new();
    let second = colleague(&desk, &data, "Grace").await;
    let grace = second.identity().human_key();
    let (mut list, _) = list_that_stands(&desk.app).await;
    let from = Timestamp::new(desk.app.now().into());
    list.at = Some(Timestamp::new(desk.app.now().plus_ms(1_000).into()));
    // Long names: few keys, since this program is slow under test.
    let folders = (0..100).map(|_| {
        let key = PublicKey::of(&KeyPair::new_user()).unwrap();
        OperatorEntry::new(key, "c".repeat(3_000), KeyRole::Auto, from)
    });
    let folders: Vec<OperatorEntry> = folders.collect();
    let last = folders[99].key.clone();
    list.operators.extend(folders);
    put_list(&desk.app, &list, &desk.app.identity().signing().human).await;
    sees(&desk.app, &last, ListedState::InForce).await;
    let fresh = TempData::new();
    let refused = App::start(colleague_options(&desk, &fresh, "ci")).await;
    let refused = refused.map(drop).unwrap_err();
    assert!(refused.to_string().contains("that is kept"), "{refused}");
    // Who is on it goes on, and whoever may edit it ends a key.
    second.rotate_keys().await.unwrap();
    desk.app
        .change_operators(&Change::Retire(grace))
        .await
        .unwrap();
    desk.app
        .change_operators(&Change::Retire(last))
        .await
        .unwrap();
    second.shutdown().await;
    desk.app.shutdown().await;
}

/// Signs the list as it is, so often a good minute later than the time before: as after a server's clock was set back.
async fn signed_ahead(app: &App, steps: i64, step_ms: i64) {
    let (mut list, _) = list_that_stands(app).await;
    let now = app.now();
    for step in 1..=steps {
        list.at = Some(Timestamp::new(now.plus_ms(step * step_ms).into()));
        put_list(app, &list, &app.identity().signing().human).await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_retirement_stands_everywhere_while_the_list_in_force_was_signed_ahead() {
    let desk = Desk::open().await;
    let data = TempData::new();
    let second = colleague(&desk, &data, "Grace").await;
    let grace = second.identity().human_key();
    sees(&desk.app, &grace, ListedState::InForce).await;
    signed_ahead(&desk.app, 3, 55_000).await;
    let retire = Change::Retire(grace.clone());
    assert!(desk.app.change_operators(&retire).await.unwrap());
    for app in [&desk.app, &second] {
        sees(app, &grace, ListedState::Retired).await;
    }
    let (_, stored) = list_times(&desk.app).await;
    assert_eq!(troubles(&desk.app).await, [], "stored at {stored}");
    assert_eq!(troubles(&second).await, []);
    second.shutdown().await;
    desk.app.shutdown().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_list_signed_far_ahead_is_signed_again_when_the_clock_has_caught_up() {
    let desk = Desk::open().await;
    signed_ahead(&desk.app, 2, 30_500).await;
    let ahead = |(at, stored): (Timestamp, time::OffsetDateTime)| at.get() - stored;
    let minute = time::Duration::seconds(60);
    assert!(
        ahead(list_times(&desk.app).await) > minute,
        "nobody who starts takes it"
    );
    until("it can be taken over", || async {
        ahead(list_times(&desk.app).await) <= minute
    })
    .await;
    assert_eq!(troubles(&desk.app).await, []);
    desk.app.shutdown().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_key_that_was_given_up_while_the_clock_was_ahead_ends_once_it_is_right() {
    let desk = Desk::open().await;
    let data = TempData::new();
    let second = colleague(&desk, &data, "Grace").await;
    let grace = second.identity().human_key();
    sees(&desk.app, &grace, ListedState::InForce).await;
    let (mut list, _) = list_that_stands(&desk.app).await;
    let hour = Timestamp::new(desk.app.now().plus_ms(3_600_000).into());
    let mut terms = list.operators.iter_mut();
    terms.find(|term| term.key == grace).unwrap().until = Some(hour);
    list.at = Some(Timestamp::new(desk.app.now().into()));
    put_list(&desk.app, &list, &desk.app.identity().signing().human).await;
    for app in [&desk.app, &second] {
        sees(app, &grace, ListedState::Retired).await;
        assert_eq!(troubles(app).await, []);
    }
    second.shutdown().await;
    desk.app.shutdown().await;
}
