//! A bus that was put back to an older copy and went on before this console saw it again.

use std::path::{Path, PathBuf};
use std::time::Duration;

use countersign_core::bus::{
    AgentAccess, Credentials, EmbeddedConfig, EmbeddedServer, PublishOutcome,
};
use countersign_core::domain::AlarmCode;
use countersign_core::ops::realm::{Change, Limits, ListedState};
use countersign_core::ops::rules::{Accepted, RulesChange};
use countersign_core::policy::read_file;
use countersign_core::{App, Options};
use countersign_testkit::TempData;
use countersign_wire::{Risk, SignedEnvelope, Verdict};

use crate::agent::{
    Agent, Desk, LIMIT, caught_up, colleague, in_state, inbox_ids, listed, options, until, verdict,
};
use crate::operators::{admit, retirement, sees};
use crate::policy::{INVOICES, acme, apply};
use crate::recover::{becomes_read_only, copy_all, loses, recovered};
use crate::redefined::{introduce, tool};

/// The bus as it was once, and who may use it.
pub(crate) struct Older {
    data: TempData,
    /// The folder of a colleague whom its founder has let in.
    grace: TempData,
    pub(crate) login: nkeys::KeyPair,
}

impl Older {
    /// Copies the folder of a console, which ends with it.
    pub(crate) async fn of(desk: Desk) -> (Self, TempData) {
        let login = desk.app.identity().login.seed().unwrap();
        let (data, grace) = (TempData::new(), TempData::new());
        admit(&desk.app, &grace, "Grace").await;
        desk.app.shutdown().await;
        std::fs::remove_dir(data.path()).unwrap();
        copy_all(desk.data.path(), data.path());
        let login = nkeys::KeyPair::from_seed(&login).unwrap();
        (Self { data, grace, login }, desk.data)
    }

    pub(crate) async fn server(&self, agents: &[&Agent]) -> EmbeddedServer {
        let access = |agent: &&Agent| {
            let bot = nkeys::KeyPair::from_seed(agent.enrolment.nkey_seed.reveal()).unwrap();
            AgentAccess {
                workspace: agent.enrolment.workspace.to_string(),
                agent: agent.enrolment.agent.to_string(),
                nkey: bot.public_key(),
            }
        };
        let server = EmbeddedServer::start(EmbeddedConfig {
            data_dir: self.data.path().to_owned(),
            binary: None,
            console_user: self.login.public_key(),
            agents: agents.iter().map(access).collect(),
        });
        server.await.unwrap()
    }

    pub(crate) async fn console(
        &self,
        server: &EmbeddedServer,
        data: &TempData,
        operator: &str,
    ) -> App {
        let app = App::start(Options {
            nats_url: Some(server.url()),
            credentials: Credentials::NkeySeed(self.login.seed().unwrap()),
            operator: operator.into(),
            ..options(data)
        });
        let app = app.await.unwrap();
        app.ready(LIMIT).await;
        caught_up(&app).await;
        app
    }

    /// Runs its server, and another console on it.
    pub(crate) async fn goes_on(&self, agents: &[&Agent], work: impl AsyncFnOnce(&App)) {
        let server = self.server(agents).await;
        let app = self.console(&server, &self.grace, "Grace").await;
        work(&app).await;
        app.shutdown().await;
        server.stop().await;
    }

    /// Puts its bus in the place of this folder's.
    pub(crate) fn put_back(&self, data: &TempData) {
        let store = data.path().join("nats/jetstream");
        std::fs::remove_dir_all(&store).unwrap();
        copy_all(&self.data.path().join("nats/jetstream"), &store);
    }

    /// The same, but for the anchors: a console that was killed had written none.
    fn put_back_under_anchors(&self, data: &TempData) {
        let (older, store) = ("nats/jetstream", data.path().join("nats/jetstream"));
        let kept = anchors(&self.data.path().join(older));
        std::fs::remove_dir_all(&kept).unwrap();
        copy_all(&anchors(&store), &kept);
        self.put_back(data);
    }
}

/// Where a store keeps the anchors.
fn anchors(store: &Path) -> PathBuf {
    let accounts = std::fs::read_dir(store.join("jetstream")).or_else(|_| std::fs::read_dir(store));
    let mut kept = accounts
        .unwrap()
        .map(|account| account.unwrap().path().join("streams/CS_AUDIT"));
    kept.find(|path| path.exists()).unwrap()
}

pub(crate) async fn decide(app: &App, agent: &Agent, id: &str, given: Verdict) {
    listed(app, id).await;
    app.decide(verdict(&agent.key(id), given)).await.unwrap();
    in_state(app, id, "decided").await;
}

async fn is_read_only(app: &App) {
    becomes_read_only(app).await;
    let why = app.status().await.unwrap().read_only.unwrap();
    assert!(
        why.contains("stream_went_back") && why.contains("not the one that was read here"),
        "{why}"
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn an_older_copy_of_the_bus_that_went_on_is_noticed_and_nothing_of_either_is_lost() {
    let desk = Desk::open().await;
    let agent = desk.agent("bot").await;
    agent.ask(&agent.request("kept")).await;
    listed(&desk.app, "kept").await;
    let (older, data) = Older::of(desk).await;
    let app = App::start(options(&data)).await.unwrap();
    agent.ask(&agent.request("here")).await;
    decide(&app, &agent, "here", Verdict::Approve).await;
    app.shutdown().await;
    // The same numbers are given to other messages, and more.
    older
        .goes_on(&[&agent], async |app| {
            for id in ["there", "there-too", "last"] {
                agent.ask(&agent.request(id)).await;
                listed(app, id).await;
            }
            decide(app, &agent, "there", Verdict::Deny).await;
        })
        .await;
    older.put_back(&data);

    let app = App::start(options(&data)).await.unwrap();
    is_read_only(&app).await;
    let done = recovered(&app).await;
    for name in ["CS_REQUESTS", "CS_DECISIONS"] {
        assert!(done.changed.contains(&name), "{done:?}");
    }
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

#[tokio::test(flavor = "multi_thread")]
async fn a_panic_that_an_older_copy_of_the_shared_policy_lost_is_on_again_after_the_recovery() {
    let desk = Desk::open().await;
    let agent = desk.agent("bot").await;
    let (older, data) = Older::of(desk).await;
    let app = App::start(options(&data)).await.unwrap();
    caught_up(&app).await;
    app.set_panic(true).await.unwrap();
    app.shutdown().await;
    older
        .goes_on(&[&agent], async |app| {
            for _ in 0..4 {
                apply(app, INVOICES).await;
                apply(app, "schema = 1\n").await;
            }
            assert!(app.controls().await.unwrap().panic().is_none());
        })
        .await;
    older.put_back(&data);

    let app = App::start(options(&data)).await.unwrap();
    is_read_only(&app).await;
    let done = recovered(&app).await;
    assert!(done.changed.contains(&"KV_CS_POLICY"), "{done:?}");
    caught_up(&app).await;
    assert!(app.controls().await.unwrap().panic().is_some());
    app.shutdown().await;
    let data = &data;
    let app = App::start(options(data)).await.unwrap();
    caught_up(&app).await;
    assert_eq!(app.status().await.unwrap().read_only, None);
    let current = app.bus().unwrap().policy_get("panic").await.unwrap();
    assert!(current.is_some(), "whoever joins reads it too");
    app.shutdown().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn an_older_copy_of_the_shared_policy_is_noticed_when_what_took_the_place_of_the_last_value_is_gone()
 {
    let desk = Desk::open().await;
    let agent = desk.agent("bot").await;
    let (older, data) = Older::of(desk).await;
    let app = App::start(options(&data)).await.unwrap();
    caught_up(&app).await;
    for on in [true, false, true, false, true, false, true] {
        app.set_panic(on).await.unwrap();
    }
    app.shutdown().await;
    // The bucket keeps 64 values of a key: the first ones are removed again.
    older
        .goes_on(&[&agent], async |app| {
            let (bus, mut last) = (app.bus().unwrap(), 0);
            for _ in 0..100 {
                let put = bus.policy_put("later.key", last, "{}".into()).await;
                let PublishOutcome::Stored { seq } = put.unwrap() else {
                    panic!("it was not stored");
                };
                last = seq;
            }
        })
        .await;
    older.put_back(&data);

    let app = App::start(options(&data)).await.unwrap();
    becomes_read_only(&app).await;
    let done = recovered(&app).await;
    assert!(done.changed.contains(&"KV_CS_POLICY"), "{done:?}");
    caught_up(&app).await;
    let current = app.bus().unwrap().policy_get("panic").await.unwrap();
    assert!(current.is_some(), "whoever joins reads it too");
    assert!(app.controls().await.unwrap().panic().is_some());
    app.shutdown().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn the_bypass_of_an_operator_who_was_retired_is_listed_no_more_and_no_recovery_brings_it_back()
 {
    let desk = Desk::open().await;
    let agent = desk.agent("bot").await;
    let data = TempData::new();
    let second = colleague(&desk, &data, "Grace").await;
    let grace = second.identity().human_key();
    sees(&desk.app, &grace, ListedState::InForce).await;
    let (bot, hour) = ("acme/bot".parse().unwrap(), Duration::from_secs(3_600));
    second.set_bypass(&bot, Risk::High, hour).await.unwrap();
    let bypasses = async |app: &App| {
        let status = app.status().await.unwrap();
        status.controls.bypasses(app.now()).count()
    };
    until("the bypass is known", async || {
        bypasses(&desk.app).await == 1
    })
    .await;
    second.shutdown().await;
    let retire = retirement(&grace);
    desk.app.change_operators(&retire).await.unwrap();
    sees(&desk.app, &grace, ListedState::Ended).await;
    assert_eq!(bypasses(&desk.app).await, 0);
    let desk = loses(desk, "KV_CS_POLICY").await;
    recovered(&desk.app).await;
    caught_up(&desk.app).await;
    let data = TempData::new();
    let joined = colleague(&desk, &data, "Heidi").await;
    for app in [&desk.app, &joined] {
        assert_eq!(bypasses(app).await, 0);
    }
    agent.ask(&agent.request("asks")).await;
    for app in [&desk.app, &joined] {
        assert_eq!(listed(app, "asks").await.state, "pending");
    }
    joined.shutdown().await;
    desk.app.shutdown().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn what_an_operator_signed_before_a_rotation_is_in_force_again_after_a_recovery() {
    let desk = Desk::open().await;
    desk.app.set_panic(true).await.unwrap();
    desk.app.set_panic(false).await.unwrap();
    apply(&desk.app, INVOICES).await;
    let rotated = desk.app.rotate_keys(true).await.unwrap();
    sees(&desk.app, &rotated[0].old, ListedState::Ended).await;
    let desk = loses(desk, "KV_CS_POLICY").await;
    recovered(&desk.app).await;
    caught_up(&desk.app).await;
    for key in ["panic", "rules.acme"] {
        let current = desk.app.bus().unwrap().policy_get(key).await.unwrap();
        let current = SignedEnvelope::from_bytes(&current.unwrap().value).unwrap();
        assert_eq!(current.key, rotated[0].new, "{key}");
    }
    // Who joins knows what the bus says, and nothing else.
    let data = TempData::new();
    let joined = colleague(&desk, &data, "Grace").await;
    for app in [&desk.app, &joined] {
        let status = app.status().await.unwrap();
        assert!(status.controls.panic().is_none());
        let codes: Vec<&str> = status
            .alarms
            .iter()
            .map(|alarm| alarm.code.as_str())
            .collect();
        for wrong in [AlarmCode::ControlUnverified, AlarmCode::RulesUnusable] {
            assert!(!codes.contains(&wrong.as_str()), "{codes:?}");
        }
        assert_eq!(app.rules(&acme()).await.unwrap().rules.len(), 1);
    }
    joined.shutdown().await;
    let agent = desk.agent("bot").await;
    agent.ask(&agent.request("covered")).await;
    assert_eq!(agent.decision("covered").await["origin"], "rule");
    desk.app.shutdown().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn what_an_operator_under_limits_signed_is_not_signed_anew_by_one_without() {
    let desk = Desk::open().await;
    let approval = Change::Acceptance(true);
    desk.app.change_operators(&approval).await.unwrap();
    let data = TempData::new();
    let second = colleague(&desk, &data, "Grace").await;
    let grace = second.identity().human_key();
    sees(&desk.app, &grace, ListedState::Waiting).await;
    let add = Change::Accept {
        key: grace.to_string(),
        name: None,
        admin: false,
        limits: Limits {
            workspaces: None,
            max_risk: Some(Risk::Low),
        },
    };
    desk.app.change_operators(&add).await.unwrap();
    sees(&second, &grace, ListedState::InForce).await;
    let rules = read_file(INVOICES).unwrap();
    let change = RulesChange::Replace { rules, seen: None };
    second
        .change_rules_accepting(
            &acme(),
            &change,
            Accepted {
                limits: true,
                ..Accepted::default()
            },
        )
        .await
        .unwrap();
    until("the rules are read", async || {
        let rules = desk.app.rules(&acme()).await;
        rules.is_ok_and(|rules| rules.rules.len() == 1)
    })
    .await;
    second.shutdown().await;
    let retire = retirement(&grace);
    desk.app.change_operators(&retire).await.unwrap();
    sees(&desk.app, &grace, ListedState::Ended).await;
    let desk = loses(desk, "KV_CS_POLICY").await;
    recovered(&desk.app).await;
    caught_up(&desk.app).await;
    let current = desk.app.bus().unwrap().policy_get("rules.acme").await;
    let current = SignedEnvelope::from_bytes(&current.unwrap().unwrap().value).unwrap();
    assert_eq!(current.key, grace);
    let agent = desk.agent("bot").await;
    agent.ask(&agent.request("asks")).await;
    assert_eq!(listed(&desk.app, "asks").await.state, "pending");
    desk.app.shutdown().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn no_tool_that_changed_on_an_older_copy_is_approved_where_every_agent_said_hello_again() {
    for decided in [false, true] {
        let desk = Desk::open().await;
        let (bot, other) = (desk.agent("bot").await, desk.agent("other").await);
        let reads = [tool("delete_invoice", "reads")];
        for agent in [&bot, &other] {
            introduce(&desk.app, agent, 1, &reads).await;
        }
        apply(&desk.app, INVOICES).await;
        bot.ask(&bot.request("covered")).await;
        assert_eq!(bot.decision("covered").await["origin"], "rule");
        in_state(&desk.app, "covered", "decided").await;
        let (older, data) = Older::of(desk).await;
        let app = App::start(options(&data)).await.unwrap();
        caught_up(&app).await;
        for agent in [&other, &bot, &other] {
            introduce(&app, agent, 1, &reads).await;
        }
        if decided {
            other.ask(&other.request("lost")).await;
            in_state(&app, "lost", "decided").await;
        }
        app.shutdown().await;
        // The last one takes a number that is not known, and those before it are gone but for the change.
        older
            .goes_on(&[&bot, &other], async |app| {
                introduce(
                    app,
                    &bot,
                    1,
                    &[tool("delete_invoice", "deletes everything")],
                )
                .await;
                for _ in 0..3 {
                    introduce(app, &other, 1, &reads).await;
                }
            })
            .await;
        older.put_back_under_anchors(&data);
        let app = App::start(options(&data)).await.unwrap();
        if decided {
            becomes_read_only(&app).await;
            recovered(&app).await;
        }
        caught_up(&app).await;
        assert_eq!(app.status().await.unwrap().read_only, None);
        bot.ask(&bot.request("changed")).await;
        assert_eq!(listed(&app, "changed").await.state, "pending");
        other.ask(&other.request("same")).await;
        assert_eq!(other.decision("same").await["origin"], "rule");
        assert_eq!(listed(&app, "changed").await.state, "pending", "{decided}");
        app.shutdown().await;
    }
}
