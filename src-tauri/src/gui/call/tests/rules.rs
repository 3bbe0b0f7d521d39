//! Changes of the rules against what people denied.

use countersign_core::ops::rules::RulesChange;
use countersign_core::policy::read_file;
use countersign_wire::Verdict;
use serde_json::{Value, json};

use super::Page;
use super::history::decide;

const RULES: &str = r#"
schema = 1
[[rule]]
id = "pays"
effect = "approve"
expires_at = "2999-01-01T00:00:00Z"
tool = ["pay"]

[[rule]]
id = "never"
effect = "deny"
tool = ["pay"]
"#;

/// A call that a person denied, and a rule that denies such calls over one that approves them.
async fn denied() -> Page {
    let page = Page::open().await;
    let bot = page.agent("acme/bot").await;
    bot.ask("r1", ("pay", "low"), json!({})).await;
    decide(&page, "r1", Verdict::Deny, "not this quarter").await;
    let acme = "acme".parse().unwrap();
    let rules = read_file(RULES).unwrap();
    let change = RulesChange::Replace { rules, seen: None };
    page.desk.app.change_rules(&acme, &change).await.unwrap();
    page
}

async fn states(page: &Page) -> Vec<(String, String)> {
    let view = page.call("rules_list", json!({"workspace": "acme"})).await;
    let rows = view["rules"].as_array().unwrap().iter();
    let text = |value: &Value| value.as_str().unwrap().to_owned();
    rows.map(|row| (text(&row["id"]), text(&row["state"])))
        .collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn what_a_person_denied_is_let_run_by_no_rule_that_ends_until_the_operator_was_shown_it() {
    let page = denied().await;
    let before = states(&page).await;
    let never = "id = \"never\"\neffect = \"deny\"\ntool = [\"pay\"]\n";
    let elsewhere = never.replace("pay", "refund");
    let save = |text: &str, state: &str, shown: bool| {
        json!({"workspace": "acme", "text": text, "state": state, "seenVersion": 1, "sure": false,
            "acceptLimits": false, "acceptDenied": shown, "acceptWaiting": []})
    };
    let remove = |shown: bool| json!({"workspace": "acme", "id": "never", "acceptLimits": false, "acceptDenied": shown, "acceptWaiting": []});
    for (name, args) in [
        ("save_rule", save(never, "off", false)),
        ("save_rule", save(never, "shadow", false)),
        ("save_rule", save(&elsewhere, "on", false)),
        ("remove_rule", remove(false)),
    ] {
        let denied = page.call(name, args.clone()).await["denied"].clone();
        assert_eq!(denied["count"], 1, "{name} {args}");
        let call = &denied["calls"][0];
        assert_eq!(
            (&call["row"]["requestId"], &call["rule"]),
            (&json!("r1"), &json!("approve"))
        );
        assert_eq!(states(&page).await, before, "{name} {args}");
    }
    let saved = page.call("save_rule", save(never, "off", true)).await;
    assert_eq!(
        (&saved["version"], &saved["denied"]),
        (&json!(2), &json!(null))
    );
    // It is off: what it denied is let run already.
    let removed = page.call("remove_rule", remove(false)).await;
    assert_eq!(removed["denied"], json!(null));
    assert_eq!(states(&page).await, [("pays".to_owned(), "on".to_owned())]);
    page.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn what_a_person_denied_is_let_run_by_no_regret_until_the_operator_was_shown_it() {
    let page = denied().await;
    let bot = page.agent("acme/dog").await;
    bot.ask("r2", ("pay", "low"), json!({})).await;
    page.in_state("r2", "decided").await;
    let before = states(&page).await;
    let regret = |shown: bool| json!({"key": "acme/dog/r2", "reason": "it was right", "acceptDenied": shown});
    let asked = page.call("regret", regret(false)).await;
    assert_eq!(asked["suspended"], json!(null));
    let calls = &asked["denied"];
    assert_eq!(
        (&calls["count"], &calls["calls"][0]["row"]["requestId"]),
        (&json!(1), &json!("r1"))
    );
    assert_eq!(states(&page).await, before);
    let done = page.call("regret", regret(true)).await;
    assert_eq!(
        (&done["suspended"]["what"], &done["denied"]),
        (&json!("rule"), &json!(null))
    );
    let off = ("never".to_owned(), "off".to_owned());
    assert!(states(&page).await.contains(&off));
    page.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_rule_approves_only_the_waiting_calls_that_the_operator_was_shown() {
    let page = Page::open().await;
    let bot = page.agent("acme/bot").await;
    bot.ask("r1", ("pay", "low"), json!({})).await;
    page.in_state("r1", "pending").await;
    let pays = "id = \"pays\"\neffect = \"approve\"\ntool = [\"pay\"]\nexpires_at = \"2999-01-01T00:00:00Z\"\n";
    let save = |shown: &Value| {
        json!({"workspace": "acme", "text": pays, "state": "on", "seenVersion": null, "sure": true,
            "acceptLimits": false, "acceptDenied": false, "acceptWaiting": shown})
    };
    let asked = page.call("save_rule", save(&json!([]))).await;
    assert_eq!(asked["version"], json!(null));
    let keys = &asked["waiting"]["keys"];
    assert_eq!(keys, &json!(["acme/bot/r1"]));
    assert_eq!(asked["waiting"]["calls"][0]["row"]["requestId"], "r1");
    // Another one came, which nobody was shown.
    bot.ask("r2", ("pay", "low"), json!({})).await;
    page.in_state("r2", "pending").await;
    let asked = page.call("save_rule", save(keys)).await;
    let keys = &asked["waiting"]["keys"];
    assert_eq!(keys, &json!(["acme/bot/r1", "acme/bot/r2"]));
    assert_eq!(states(&page).await, []);
    let saved = page.call("save_rule", save(keys)).await;
    assert_eq!(
        (&saved["version"], &saved["waiting"]),
        (&json!(1), &json!(null))
    );
    page.in_state("r1", "decided").await;
    page.in_state("r2", "decided").await;
    page.close().await;
}
