//! Operators as a log: who comes in, who leaves, and what their keys count for.

use countersign_core::App;
use countersign_core::ops::realm::{
    Change, Limits, ListedState, change_shown, log_head, operators_log,
};
use countersign_testkit::TempData;
use countersign_wire::realm::SigningKey;
use countersign_wire::{KeyRole, PublicKey, Risk, Verdict, realm_subject};
use nkeys::KeyPair;
use serde_json::json;

use crate::agent::{Desk, LIMIT, colleague, in_state, listed, troubles, verdict};
use crate::realm_log::{
    acceptance, ask, code, has_alarm, log_of, put_approval, put_slot, retirement, sees,
    signed_entry, state_of, until,
};

#[tokio::test(flavor = "multi_thread")]
async fn a_realm_begins_with_its_founder_and_lets_newcomers_in_by_itself() {
    let desk = Desk::open().await;
    let data = TempData::new();
    let second = colleague(&desk, &data, "Grace").await;
    let keys = [desk.app.identity().signing(), second.identity().signing()];
    for app in [&desk.app, &second] {
        for key in keys
            .iter()
            .flat_map(|keys| [&keys.human_key, &keys.auto_key])
        {
            sees(app, key, ListedState::InForce).await;
        }
    }
    let log = operators_log(&desk.app).await.unwrap();
    let does: Vec<_> = log
        .iter()
        .map(|line| (line.does.clone(), line.by_itself))
        .collect();
    assert_eq!(
        does,
        [
            (vec!["founded"], false),
            (vec!["let_in"], true),
            (vec!["key_added"], false)
        ]
    );
    assert_eq!(log, operators_log(&second).await.unwrap());
    let lines = desk.app.operators(false).await.unwrap();
    assert_eq!(
        lines.iter().filter(|line| line.admin).count(),
        2,
        "Ada's keys"
    );
    assert_eq!(lines[0].name.as_deref(), Some("Ada"));
    assert!(has_alarm(&desk.app, "operator_joined", keys[1].human_key.as_str()).await);
    assert_eq!(troubles(&second).await, []);
    // Restarted, each knows the same.
    second.shutdown().await;
    let Desk { data, app } = desk;
    app.shutdown().await;
    let app = App::start(crate::agent::options(&data)).await.unwrap();
    app.ready(LIMIT).await;
    assert_eq!(log, operators_log(&app).await.unwrap());
    assert_eq!(app.audit_verify(None).await.unwrap().first_bad, None);
    app.shutdown().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn who_was_retired_looks_and_does_not_decide_and_the_old_decisions_count() {
    let desk = Desk::open().await;
    let agent = desk.agent("bot").await;
    let data = TempData::new();
    let second = colleague(&desk, &data, "Grace").await;
    let grace = second.identity().human_key();
    sees(&desk.app, &grace, ListedState::InForce).await;
    let before = ask(&desk, &agent, &[&second], "before").await;
    let waits = ask(&desk, &agent, &[&second], "waits").await;
    assert_eq!(code(&second, &before, Verdict::Approve).await, "done");
    let mut held = verdict(&waits, Verdict::Approve);
    held.hold = true;
    second.decide(held).await.unwrap();
    let written = desk
        .app
        .change_operators(&retirement(&grace))
        .await
        .unwrap();
    assert!(written.changed);
    let again = desk
        .app
        .change_operators(&retirement(&grace))
        .await
        .unwrap();
    assert!(!again.changed && again.n == written.n);
    sees(&second, &grace, ListedState::Ended).await;
    sees(&second, &second.identity().auto_key(), ListedState::Ended).await;
    // What was only held is dropped, not signed with a key that is gone.
    in_state(&second, "waits", "pending").await;
    assert_eq!(code(&second, &waits, Verdict::Deny).await, "read_only");
    let reported = second.status().await.unwrap().read_only.unwrap();
    assert!(reported.contains("was ended by entry 4"), "{reported}");
    assert_eq!(desk.app.status().await.unwrap().read_only, None);
    let human = desk.app.identity().human_key();
    let refused = second
        .change_operators(&retirement(&human))
        .await
        .unwrap_err();
    assert_eq!(refused.code.as_str(), "read_only");
    // What the key signs by hand from now on counts nowhere.
    let forged = ask(&desk, &agent, &[], "forged").await;
    put_approval(
        &desk.app,
        &agent,
        &forged,
        &second.identity().signing().human,
    )
    .await;
    in_state(&desk.app, "forged", "void").await;
    assert_eq!(code(&desk.app, &waits, Verdict::Approve).await, "done");
    let late = TempData::new();
    let third = colleague(&desk, &late, "Heidi").await;
    for (id, state) in [
        ("before", "decided"),
        ("waits", "decided"),
        ("forged", "void"),
    ] {
        in_state(&third, id, state).await;
    }
    // A key that was named once never comes in again.
    let back = desk
        .app
        .change_operators(&acceptance(&grace))
        .await
        .unwrap_err();
    assert_eq!(back.code.as_str(), "invalid_args", "{back}");
    for app in [third, second, desk.app] {
        assert_eq!(app.audit_verify(None).await.unwrap().first_bad, None);
        app.shutdown().await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn with_acceptance_a_newcomer_counts_only_after_an_administrator_accepted() {
    let desk = Desk::open().await;
    let agent = desk.agent("bot").await;
    let on = Change::Acceptance(true);
    assert!(desk.app.change_operators(&on).await.unwrap().changed);
    assert!(!desk.app.change_operators(&on).await.unwrap().changed);
    let data = TempData::new();
    let second = colleague(&desk, &data, "Grace").await;
    let (grace, auto) = (second.identity().human_key(), second.identity().auto_key());
    sees(&desk.app, &grace, ListedState::Waiting).await;
    until("an alarm", async || {
        has_alarm(&desk.app, "operator_waits", grace.as_str()).await
    })
    .await;
    let key = ask(&desk, &agent, &[&second], "r1").await;
    for wanted in [Verdict::Approve, Verdict::Deny] {
        assert_eq!(code(&second, &key, wanted).await, "read_only");
    }
    let accept = acceptance(&grace);
    let itself = second.change_operators(&accept).await.unwrap_err();
    assert_eq!(itself.code.as_str(), "read_only");
    assert!(desk.app.change_operators(&accept).await.unwrap().changed);
    assert!(!desk.app.change_operators(&accept).await.unwrap().changed);
    sees(&second, &grace, ListedState::InForce).await;
    sees(&second, &auto, ListedState::InForce).await;
    assert_eq!(code(&second, &key, Verdict::Approve).await, "done");
    in_state(&desk.app, "r1", "decided").await;
    assert_eq!(troubles(&desk.app).await, []);
    // Not an administrator: she changes no others.
    let refused = second
        .change_operators(&Change::Acceptance(false))
        .await
        .unwrap_err();
    assert_eq!(refused.code.as_str(), "read_only", "{refused}");
    // Another newcomer is turned away and does not ask again.
    let more = TempData::new();
    let third = colleague(&desk, &more, "Heidi").await;
    let heidi = third.identity().human_key();
    sees(&desk.app, &heidi, ListedState::Waiting).await;
    assert!(
        desk.app
            .change_operators(&retirement(&heidi))
            .await
            .unwrap()
            .changed
    );
    sees(&third, &heidi, ListedState::Ended).await;
    for app in [third, second, desk.app] {
        app.shutdown().await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn the_last_administrator_stays_and_has_no_limits() {
    let desk = Desk::open().await;
    let own = desk.app.identity().human_key();
    let limits = Limits {
        workspaces: Some(vec!["acme".parse().unwrap()]),
        max_risk: None,
    };
    for change in [
        retirement(&own),
        Change::Limit(own.to_string(), limits),
        Change::Admin(own.to_string(), false),
    ] {
        let refused = desk.app.change_operators(&change).await.unwrap_err();
        assert_eq!(refused.code.as_str(), "invalid_args", "{refused}");
    }
    let unknown = KeyPair::new_user().public_key();
    let nobody = Change::Rename(unknown, "x".into());
    let refused = desk.app.change_operators(&nobody).await.unwrap_err();
    assert_eq!(refused.code.as_str(), "not_found");
    assert_eq!(log_of(&desk.app).await.chain.len(), 1);
    desk.app.shutdown().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_console_whose_own_key_ended_answers_nothing_and_people_decide() {
    let desk = Desk::open().await;
    let data = TempData::new();
    let second = colleague(&desk, &data, "Grace").await;
    let own = second.identity().auto_key();
    sees(&desk.app, &own, ListedState::InForce).await;
    assert_eq!(second.why_not_by_itself(), None);
    let end = Change::Retire {
        keys: vec![own.to_string()],
        key_only: true,
    };
    assert!(desk.app.change_operators(&end).await.unwrap().changed);
    sees(&second, &own, ListedState::Ended).await;
    let reported = second.why_not_by_itself().unwrap();
    assert!(reported.contains("was ended by entry 4"), "{reported}");
    assert_eq!(
        second.status().await.unwrap().read_only,
        None,
        "people decide"
    );
    sees(
        &second,
        &second.identity().human_key(),
        ListedState::InForce,
    )
    .await;
    second.shutdown().await;
    desk.app.shutdown().await;
}

/// Whoever has a console's login alone fills slots; everybody goes on, and nobody comes in.
#[tokio::test(flavor = "multi_thread")]
async fn junk_in_slots_changes_nothing_and_stops_nobody() {
    let desk = Desk::open().await;
    let agent = desk.agent("bot").await;
    let data = TempData::new();
    let second = colleague(&desk, &data, "Grace").await;
    sees(
        &desk.app,
        &second.identity().auto_key(),
        ListedState::InForce,
    )
    .await;
    let log = log_of(&desk.app).await;
    let stranger = KeyPair::new_user();
    let own = PublicKey::of(&stranger).unwrap();
    let key = SigningKey::of_pair(&stranger, log.realm(), &own, "human", None).unwrap();
    let record = json!({"operators": [{"id": own, "name": "Ada", "keys": [key], "admin": true}]});
    let by_stranger = signed_entry(&log, &stranger, &record);
    let founding = {
        let bus = desk.app.bus().unwrap();
        let first = bus
            .read_last("CS_DECISIONS", &realm_subject(1))
            .await
            .unwrap();
        first.unwrap().payload.to_vec()
    };
    let next = log.next_slot;
    for (slot, bytes) in [
        (next, b"junk".to_vec()),
        (next + 1, by_stranger),
        (next + 2, founding),
        // Early: others are free before it.
        (next + 9, b"early".to_vec()),
    ] {
        put_slot(&desk.app, slot, bytes).await;
    }
    let rename = Change::Rename(second.identity().human_key().to_string(), "Gracie".into());
    assert!(desk.app.change_operators(&rename).await.unwrap().changed);
    for app in [&desk.app, &second] {
        until("the change and an alarm", async || {
            let lines = app.operators(false).await.unwrap();
            let renamed = lines
                .iter()
                .any(|line| line.name.as_deref() == Some("Gracie"));
            renamed && has_alarm(app, "log_junk", "CS_DECISIONS").await
        })
        .await;
        assert_eq!(state_of(app, own.as_str()).await, None);
        assert_eq!(operators_log(app).await.unwrap().len(), log.chain.len() + 1);
    }
    let key = ask(&desk, &agent, &[&second], "r1").await;
    assert_eq!(code(&second, &key, Verdict::Approve).await, "done");
    // A newcomer and a restart come to the same state.
    let more = TempData::new();
    let third = colleague(&desk, &more, "Heidi").await;
    in_state(&third, "r1", "decided").await;
    second.shutdown().await;
    let Desk { data, app } = desk;
    app.shutdown().await;
    drop(third);
    let app = App::start(crate::agent::options(&data)).await.unwrap();
    app.ready(LIMIT).await;
    let on_bus = log_of(&app).await;
    assert_eq!(operators_log(&app).await.unwrap().len(), on_bus.chain.len());
    let again = Change::Rename(app.identity().human_key().to_string(), "Ada L.".into());
    assert!(app.change_operators(&again).await.unwrap().changed);
    app.shutdown().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn new_keys_take_over_and_the_old_ones_end() {
    let desk = Desk::open().await;
    let agent = desk.agent("bot").await;
    let before = ask(&desk, &agent, &[], "before").await;
    assert_eq!(code(&desk.app, &before, Verdict::Approve).await, "done");
    let old = desk.app.identity().signing();
    let rotated = desk.app.rotate_keys(true).await.unwrap();
    assert_eq!(rotated.len(), 2);
    for (of, old) in rotated.iter().zip([&old.human_key, &old.auto_key]) {
        assert_eq!(of.old, *old);
        sees(&desk.app, &of.old, ListedState::Ended).await;
        sees(&desk.app, &of.new, ListedState::InForce).await;
    }
    assert_eq!(desk.app.identity().human_key(), rotated[0].new);
    in_state(&desk.app, "before", "decided").await;
    let after = ask(&desk, &agent, &[], "after").await;
    assert_eq!(code(&desk.app, &after, Verdict::Approve).await, "done");
    assert_eq!(
        agent.decision("after").await["decided_by"]["key"],
        json!(rotated[0].new)
    );
    // One operator: no other vote, no other name.
    let log = log_of(&desk.app).await;
    assert_eq!(log.operators.len(), 1);
    let Desk { data, app } = desk;
    app.shutdown().await;
    let app = App::start(crate::agent::options(&data)).await.unwrap();
    app.ready(LIMIT).await;
    assert_eq!(app.status().await.unwrap().read_only, None);
    assert_eq!(app.identity().human_key(), rotated[0].new);
    app.shutdown().await;
}

/// The process that rotated ended when its first entry was stored: new keys and old ones are in force.
#[tokio::test(flavor = "multi_thread")]
async fn a_rotation_that_was_cut_off_goes_on_at_the_console() {
    let desk = Desk::open().await;
    let (identity, log) = (desk.app.identity(), log_of(&desk.app).await);
    let old = identity.signing();
    let console = identity.console_id.to_string();
    let mut record = log.operators[old.human_key.as_str()].fields.clone();
    let mut new = Vec::new();
    for role in [KeyRole::Human, KeyRole::Auto] {
        let pair = identity.next(role).unwrap();
        let key = SigningKey::of_pair(
            &pair,
            log.realm(),
            &old.human_key,
            role.as_str(),
            Some(&console),
        );
        record["keys"].as_array_mut().unwrap().push(key.unwrap());
        new.push(PublicKey::of(&pair).unwrap());
    }
    let entry = signed_entry(&log, &old.human, &json!({"operators": [record]}));
    put_slot(&desk.app, log.next_slot, entry).await;
    for key in [&old.human_key, &old.auto_key] {
        sees(&desk.app, key, ListedState::Ended).await;
    }
    let now = desk.app.identity().signing();
    assert_eq!([&now.human_key, &now.auto_key], [&new[0], &new[1]]);
    let log = log_of(&desk.app).await;
    assert_eq!((log.chain.len(), log.operators.len()), (3, 1));
    assert_eq!(desk.app.status().await.unwrap().read_only, None);
    // The next one ends all that came before it.
    let rotated = desk.app.rotate_keys(false).await.unwrap();
    sees(&desk.app, &rotated[1].old, ListedState::Ended).await;
    let keys = &log_of(&desk.app).await.operators[old.human_key.as_str()].keys;
    assert_eq!(keys.len(), 2);
    desk.app.shutdown().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn what_an_operator_beyond_limits_signs_by_hand_is_void() {
    let desk = Desk::open().await;
    let agent = desk.agent("bot").await;
    let data = TempData::new();
    let second = colleague(&desk, &data, "Grace").await;
    let grace = second.identity().human_key();
    let limits = Limits {
        workspaces: None,
        max_risk: Some(Risk::Low),
    };
    let limit = Change::Limit(grace.to_string(), limits);
    assert!(desk.app.change_operators(&limit).await.unwrap().changed);
    let mut critical = agent.request("r1");
    critical["risk"] = json!("critical");
    let key = agent.ask(&agent.request("r2")).await;
    listed(&desk.app, "r2").await;
    put_approval(&desk.app, &agent, &key, &second.identity().signing().human).await;
    in_state(&desk.app, "r2", "void").await;
    second.shutdown().await;
    desk.app.shutdown().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_change_that_was_shown_at_an_older_head_writes_nothing() {
    let desk = Desk::open().await;
    let own = desk.app.identity().human_key().to_string();
    let rename = |name: &str| Change::Rename(own.clone(), name.to_owned());
    let shown = log_head(&desk.app).digest.unwrap();
    let first = change_shown(&desk.app, &rename("Ada L."), &shown).await;
    let head = first.unwrap();
    assert!(head.changed);
    // What changes nothing now is refused, too: it was shown as it no longer is.
    for name in ["Eve", "Ada L."] {
        let late = change_shown(&desk.app, &rename(name), &shown).await;
        let late = late.unwrap_err();
        assert_eq!(late.code.as_str(), "invalid_args");
        assert!(late.message.contains("nothing was written"), "{late}");
    }
    assert_eq!(log_of(&desk.app).await.chain.len(), 2);
    let again = change_shown(&desk.app, &rename("Ada"), &head.digest.unwrap()).await;
    assert!(again.unwrap().changed);
    // A command names none.
    let command = desk.app.change_operators(&rename("Ada L.")).await;
    assert!(command.unwrap().changed);
    desk.app.shutdown().await;
}
