use std::time::Duration;

use countersign_core::App;
use countersign_core::ops::realm::{Change, Limits};
use countersign_core::ops::regrets::Regret;
use countersign_core::ops::rules::{Accepted, RulesChange};
use countersign_core::policy::{Enabled, read_file};
use countersign_testkit::TempData;
use countersign_wire::{Risk, Sha256Digest, Verdict};
use serde_json::json;

use crate::agent::{
    Desk, caught_up, colleague, in_state, line_when, listed, options, troubles, until, verdict,
};
use crate::policy::{Unreadable, acme, apply, break_rules, delete_key};

/// Lets test invoices go.
const INVOICES: &str = r#"
schema = 1
[[rule]]
id = "test-invoices"
effect = "approve"
expires_at = "2999-01-01T00:00:00Z"
tool = ["delete_invoice"]
args."/invoice_id" = { glob = "INV-*" }
"#;

/// Lets reading go.
const READS: &str = r#"
[[rule]]
id = "reads"
effect = "approve"
expires_at = "2999-01-01T00:00:00Z"
tool = ["read"]
"#;

const DENY: &str = r#"
[[rule]]
id = "no-bots"
effect = "deny"
agent = ["rogue"]
message = "Not this bot."
"#;

#[tokio::test(flavor = "multi_thread")]
async fn a_rule_decides_and_says_so_everywhere() {
    let desk = Desk::open().await;
    let (bot, rogue) = (desk.agent("bot").await, desk.agent("rogue").await);
    bot.ask(&bot.request("before")).await;
    listed(&desk.app, "before").await;
    let done = apply(&desk.app, &format!("{INVOICES}{DENY}")).await;
    assert_eq!(done.added, ["test-invoices", "no-bots"]);
    bot.ask(&bot.request("r1")).await;
    rogue.ask(&rogue.request("r2")).await;
    let mut other = bot.request("r3");
    other["tool"]["name"] = json!("drop_table");
    bot.ask(&other).await;
    for id in ["r1", "before"] {
        let decision = bot.decision(id).await;
        assert_eq!(decision["verdict"], "approve", "{id}");
        assert_eq!(decision["origin"], "rule");
        assert_eq!(decision["rule"]["id"], "test-invoices");
        assert_eq!(decision["rule"]["version"], 1);
        let auto = desk.app.identity().auto_key().to_string();
        assert_eq!(decision["decided_by"]["key"], auto);
        let digest = decision["policy_digest"].as_str().unwrap();
        let body = desk.app.policy_version(digest).await.unwrap().unwrap();
        assert_eq!(
            Sha256Digest::of_bytes(&body).to_string(),
            digest,
            "the words are kept"
        );
    }
    let denied = rogue.decision("r2").await;
    assert_eq!(
        (&denied["verdict"], &denied["message"]),
        (&json!("deny"), &json!("Not this bot."))
    );
    let row = in_state(&desk.app, "r1", "decided").await;
    assert_eq!(row.rule_id.as_deref(), Some("test-invoices"));
    assert_eq!(
        (row.origin.as_deref(), row.rule_version),
        (Some("rule"), Some(1))
    );
    assert_eq!(
        listed(&desk.app, "r3").await.state,
        "pending",
        "no match asks"
    );
    let record = desk
        .app
        .rule_record(&acme(), "test-invoices")
        .await
        .unwrap();
    assert_eq!(record.uses, 2);
    assert_eq!(troubles(&desk.app).await, []);
    assert_eq!(desk.app.audit_verify(None).await.unwrap().first_bad, None);
    desk.app.shutdown().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn under_panic_approvals_wait_and_denials_go_out() {
    let desk = Desk::open().await;
    let (bot, rogue) = (desk.agent("bot").await, desk.agent("rogue").await);
    apply(&desk.app, &format!("{INVOICES}{DENY}")).await;
    desk.app.set_panic(true).await.unwrap();
    bot.ask(&bot.request("r1")).await;
    rogue.ask(&rogue.request("r2")).await;
    assert_eq!(rogue.decision("r2").await["verdict"], "deny");
    tokio::time::sleep(Duration::from_millis(500)).await;
    assert_eq!(listed(&desk.app, "r1").await.state, "pending");
    desk.app.set_panic(false).await.unwrap();
    assert_eq!(
        bot.decision("r1").await["origin"],
        "rule",
        "judged again when it is over"
    );
    desk.app.shutdown().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn of_two_consoles_with_rules_each_request_is_decided_once_and_nobody_is_alarmed() {
    let desk = Desk::open().await;
    let agent = desk.agent("bot").await;
    let data = TempData::new();
    let second = colleague(&desk, &data, "Grace").await;
    until("both consoles are there", async || {
        desk.app.consoles().await.len() == 2
    })
    .await;
    apply(&desk.app, INVOICES).await;
    until("the other one has the rules", async || {
        second.rules(&acme()).await.unwrap().rules.len() == 1
    })
    .await;
    let ids: Vec<String> = (0..60).map(|n| format!("r{n}")).collect();
    for id in &ids {
        agent.ask(&agent.request(id)).await;
    }
    let mut by = std::collections::BTreeSet::new();
    for id in &ids {
        let decision = agent.decision(id).await;
        assert_eq!(decision["origin"], "rule");
        by.insert(decision["decided_by"]["key"].as_str().unwrap().to_owned());
    }
    assert_eq!(by.len(), 2, "both take their share");
    let mut decided = 0;
    for app in [&desk.app, &second] {
        for id in &ids {
            line_when(app, id, |row| row.delivery == "on_bus").await;
        }
        let rows = app.audit_after(0, 100_000).await.unwrap();
        decided += rows.iter().filter(|row| row.action == "decide").count();
        // That a colleague joined is an alarm of its own.
        assert!(rows.iter().all(|row| {
            !matches!(row.action.as_str(), "lost" | "alarm" | "conflict")
                || row.detail.contains("operator_joined")
        }));
        let record = app.rule_record(&acme(), "test-invoices").await.unwrap();
        assert_eq!(record.uses, 60, "each counts what both decided");
        assert_eq!(troubles(app).await, []);
    }
    assert_eq!(decided, 60);
    second.shutdown().await;
    desk.app.shutdown().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn two_consoles_together_keep_a_limit() {
    let desk = Desk::open().await;
    let agent = desk.agent("bot").await;
    let data = TempData::new();
    let second = colleague(&desk, &data, "Grace").await;
    until("both consoles are there", async || {
        desk.app.consoles().await.len() == 2
    })
    .await;
    apply(
        &desk.app,
        &format!("{INVOICES}limit = {{ count = 5, per = \"1h\" }}\n"),
    )
    .await;
    until("the other one has the rules", async || {
        second.rules(&acme()).await.unwrap().rules.len() == 1
    })
    .await;
    let ids: Vec<String> = (0..30).map(|n| format!("r{n}")).collect();
    let asked = ids
        .iter()
        .map(|id| async { agent.ask(&agent.request(id)).await });
    futures::future::join_all(asked).await;
    for id in &ids {
        listed(&desk.app, id).await;
    }
    let decided = async || {
        let mut decided = 0;
        for id in &ids {
            decided += usize::from(listed(&desk.app, id).await.state == "decided");
        }
        decided
    };
    until("the rule has done what it may", async || {
        decided().await >= 5
    })
    .await;
    tokio::time::sleep(Duration::from_millis(1_500)).await;
    assert_eq!(decided().await, 5);
    desk.app.shutdown().await;
    second.shutdown().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn edits_of_two_operators_at_once_are_both_kept() {
    let desk = Desk::open().await;
    let data = TempData::new();
    let second = colleague(&desk, &data, "Grace").await;
    let many: String = (0..10)
        .map(|n| format!("[[rule]]\nid = \"r{n}\"\neffect = \"ask\"\n"))
        .collect();
    apply(&desk.app, &format!("schema = 1\n{many}")).await;
    for n in 0..5 {
        let ours = RulesChange::Enable(format!("r{n}"), Enabled::Off);
        let theirs = RulesChange::Remove(format!("r{}", n + 5));
        let workspace = acme();
        let (a, b) = tokio::join!(
            desk.app.change_rules(&workspace, &ours),
            second.change_rules(&workspace, &theirs),
        );
        a.unwrap();
        b.unwrap();
    }
    until("all agree", async || {
        let (a, b) = (
            desk.app.rules(&acme()).await.unwrap(),
            second.rules(&acme()).await.unwrap(),
        );
        a == b && a.rules.len() == 5
    })
    .await;
    let rules = desk.app.rules(&acme()).await.unwrap().rules;
    assert!(
        rules
            .iter()
            .all(|rule| rule.enabled == Enabled::Off && rule.version == 2)
    );
    let stale = RulesChange::Replace {
        rules: Vec::new(),
        seen: Some(1),
    };
    let refused = desk.app.change_rules(&acme(), &stale).await.unwrap_err();
    assert_eq!(refused.code.as_str(), "invalid_args");
    // An id that comes back is another version.
    let back = "schema = 1\n[[rule]]\nid = \"r9\"\neffect = \"deny\"\n";
    apply(&desk.app, back).await;
    assert_eq!(desk.app.rules(&acme()).await.unwrap().rules[0].version, 2);
    second.shutdown().await;
    desk.app.shutdown().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn who_signs_under_a_limit_is_asked_before_the_rules_of_others_lose_by_it_and_a_regret_never_waits()
 {
    let desk = Desk::open().await;
    let data = TempData::new();
    let junior = colleague(&desk, &data, "Grace").await;
    apply(&desk.app, &format!("{INVOICES}{READS}")).await;
    until("the rules are known", async || {
        junior.rules(&acme()).await.unwrap().rules.len() == 2
    })
    .await;
    let key = junior.identity().human_key();
    let limits = Limits {
        workspaces: None,
        max_risk: Some(Risk::Low),
    };
    let limit = Change::Limit(key.to_string(), limits);
    assert!(desk.app.change_operators(&limit).await.unwrap().changed);
    let limited = async || {
        let list = junior.operators(false).await.unwrap();
        list.iter().any(|line| line.max_risk == Some(Risk::Low))
    };
    until("the limit is known", limited).await;
    let off = RulesChange::Enable("reads".to_owned(), Enabled::Off);
    let refused = junior.change_rules(&acme(), &off).await.unwrap_err();
    assert_eq!(refused.code.as_str(), "verdict_not_allowed", "{refused}");
    assert!(refused.to_string().contains("test-invoices"), "{refused}");
    let still = desk.app.rules(&acme()).await.unwrap();
    assert_eq!(
        still.revision,
        junior.rules(&acme()).await.unwrap().revision
    );
    let done = junior
        .change_rules_accepting(
            &acme(),
            &off,
            Accepted {
                limits: true,
                ..Accepted::default()
            },
        )
        .await
        .unwrap();
    assert_eq!(done.shift.loses, ["test-invoices"]);
    // The other way: what was held back would run under a signer without a limit.
    until("the change is known", async || {
        desk.app.rules(&acme()).await.unwrap().revision == done.revision
    })
    .await;
    let on = RulesChange::Enable("reads".to_owned(), Enabled::On);
    let refused = desk.app.change_rules(&acme(), &on).await.unwrap_err();
    assert!(refused.to_string().contains("approve more"), "{refused}");
    let changes = desk.app.rule_changes(&acme(), "reads").await.unwrap();
    let reported: Vec<_> = changes
        .changes
        .iter()
        .map(|of| (of.change.version, of.change.state, of.by.as_str()))
        .collect();
    let owner = desk.app.identity().operator.clone();
    assert_eq!(
        reported,
        [
            (2, Some(Enabled::Off), "Grace"),
            (1, Some(Enabled::On), owner.as_str())
        ]
    );
    let regret = RulesChange::Regret(
        "test-invoices".to_owned(),
        Regret {
            request: "acme/bot/r1".to_owned(),
            version: 1,
            reason: None,
            by: "Grace".to_owned(),
            at: desk.app.now().rfc3339(),
        },
    );
    let done = junior.change_rules(&acme(), &regret).await.unwrap();
    assert_eq!(done.changed, ["test-invoices"]);
    junior.shutdown().await;
    desk.app.shutdown().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn rules_outlive_their_console_and_judge_what_came_meanwhile() {
    let desk = Desk::open().await;
    let agent = desk.agent("bot").await;
    apply(&desk.app, INVOICES).await;
    desk.app.shutdown().await;
    let app = App::start(options(&desk.data)).await.unwrap();
    caught_up(&app).await;
    let agent = crate::agent::Agent::connect(countersign_wire::Enrolment {
        nats_url: app.embedded_server().unwrap().url(),
        ..agent.enrolment
    })
    .await;
    agent.ask(&agent.request("r1")).await;
    assert_eq!(agent.decision("r1").await["rule"]["id"], "test-invoices");
    app.shutdown().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_simulation_tells_what_would_have_differed() {
    let desk = Desk::open().await;
    let agent = desk.agent("bot").await;
    for (id, given) in [
        ("r1", Verdict::Deny),
        ("r2", Verdict::Approve),
        ("r3", Verdict::Approve),
    ] {
        let mut request = agent.request(id);
        if id == "r3" {
            request["tool"]["name"] = json!("drop_table");
        }
        let key = agent.ask(&request).await;
        listed(&desk.app, id).await;
        desk.app.decide(verdict(&key, given)).await.unwrap();
        in_state(&desk.app, id, "decided").await;
    }
    let mut high = agent.request("r4");
    high["risk"] = json!("high");
    agent.ask(&high).await;
    listed(&desk.app, "r4").await;
    let file =
        format!("{INVOICES}[[rule]]\nid = \"no-drop\"\neffect = \"deny\"\ntool = \"drop_*\"\n");
    let rules = read_file(&file).unwrap();
    let report = desk
        .app
        .simulate_rules(&acme(), rules.clone(), None, |_| true)
        .await
        .unwrap();
    assert_eq!(
        (report.total, report.approve, report.deny, report.ask),
        (4, 3, 1, 0)
    );
    assert_eq!((report.newly_high, report.newly_critical), (1, 0));
    let flips: Vec<(&str, &str)> = report
        .flips
        .iter()
        .map(|flip| (flip.request_id.as_str(), flip.rule_id.as_str()))
        .collect();
    assert_eq!(flips, [("r1", "test-invoices"), ("r3", "no-drop")]);
    assert!(
        desk.app
            .simulate_rules(&acme(), rules, None, |_| false)
            .await
            .is_err()
    );
    assert_eq!(
        listed(&desk.app, "r4").await.state,
        "pending",
        "nothing was decided"
    );
    desk.app.shutdown().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn versions_go_on_where_rules_are_put_in_the_place_of_deleted_or_unreadable_ones() {
    let rule = |id: &str, message: &str| {
        format!(
            "[[rule]]\nid = \"{id}\"\neffect = \"deny\"\ntool = \"x\"\nmessage = \"{message}\"\n"
        )
    };
    let file = |rules: &[String]| format!("schema = 1\n{}", rules.concat());
    for how in [Some(Unreadable::Unsigned), Some(Unreadable::Signed), None] {
        let desk = Desk::open().await;
        apply(&desk.app, &file(&[rule("lim", "1"), rule("gone", "1")])).await;
        apply(&desk.app, &file(&[rule("lim", "2"), rule("same", "1")])).await;
        let regret = Regret {
            request: "acme/bot/r1".to_owned(),
            version: 2,
            reason: None,
            by: "Ada".to_owned(),
            at: desk.app.now().rfc3339(),
        };
        let regret = RulesChange::Regret("lim".to_owned(), regret);
        let done = desk.app.change_rules(&acme(), &regret).await.unwrap();
        until("the regret is kept", async || {
            desk.app.rules(&acme()).await.unwrap().revision == done.revision
        })
        .await;
        match how {
            Some(how) => break_rules(&desk.app, how).await,
            None => delete_key(&desk, "rules.acme").await,
        }
        let one = RulesChange::Enable("same".to_owned(), Enabled::Off);
        let refused = desk.app.change_rules(&acme(), &one).await;
        assert!(refused.is_err(), "{how:?}: there is no such rule to read");
        let all = [rule("lim", "3"), rule("gone", "2"), rule("same", "1")];
        let done = apply(&desk.app, &file(&all)).await;
        assert!(done.revision > 0);
        assert!(done.restored, "{how:?}");
        until("they are known", async || {
            desk.app
                .rules(&acme())
                .await
                .is_ok_and(|set| set.rules.len() == 3)
        })
        .await;
        let set = desk.app.rules(&acme()).await.unwrap();
        let versions: Vec<(&str, u64)> = set
            .rules
            .iter()
            .map(|rule| (rule.id.as_str(), rule.version))
            .collect();
        let current = [("gone", 2), ("lim", 4), ("same", 1)];
        assert_eq!(versions, current, "{how:?}");
        assert!(set.regrets.contains_key("lim"), "{how:?}");
        let again = apply(&desk.app, &file(&all)).await;
        assert_eq!(again.revision, done.revision, "nothing is written twice");
        assert!(!again.restored);
        desk.app.shutdown().await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_rule_in_the_shadow_counts_what_it_would_have_approved() {
    let desk = Desk::open().await;
    let agent = desk.agent("bot").await;
    let limit = "enabled = \"shadow\"\nlimit = { count = 1, per = \"1h\" }\n";
    apply(&desk.app, &format!("{INVOICES}{limit}")).await;
    for id in ["r1", "r2", "r3"] {
        agent.ask(&agent.request(id)).await;
    }
    let would = async || -> Vec<String> {
        let rows = desk.app.audit_after(0, 1_000).await.unwrap();
        let shadows = rows.iter().filter(|row| row.action == "shadow");
        let detail = |detail: &str| serde_json::from_str::<serde_json::Value>(detail).unwrap();
        shadows
            .map(|row| detail(&row.detail)["would"].as_str().unwrap().to_owned())
            .collect()
    };
    until("all three are judged", async || would().await.len() == 3).await;
    assert_eq!(would().await, ["approve", "ask", "ask"]);
    desk.app.shutdown().await;
}
