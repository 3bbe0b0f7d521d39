//! What a card and the matrix show of rules, in the console and beside it.

use countersign_core::App;
use countersign_core::ops::realm::{Change, Limits};
use countersign_core::ops::why::Why;
use countersign_core::policy::matrix::RISKS;
use countersign_testkit::TempData;
use countersign_wire::Risk;
use serde_json::json;

use crate::agent::{Agent, Desk, colleague, listed, options, until};
use crate::policy::{INVOICES, Unreadable, acme, apply, break_rules};

async fn hello(desk: &Desk, agent: &Agent) {
    let hello = json!({"v": 1, "agent": {"name": "bot"}, "tools": [{"name": "delete_invoice"}]});
    let subject = "countersign.v1.hello.acme.bot";
    let reply = agent.client.request(subject, hello.to_string().into());
    reply.await.unwrap();
    until("the tool is known", async || {
        let agents = desk.app.agents().await.unwrap();
        agents.iter().any(|agent| !agent.tools.is_empty())
    })
    .await;
}

async fn why(app: &App, id: &str) -> Why {
    let line = listed(app, id).await;
    app.why(&line).await.unwrap().unwrap()
}

/// Outcome, and whether something holds approves back, in the order of the risks.
async fn cells(app: &App) -> Vec<(&'static str, bool)> {
    let matrix = app.matrix(&acme()).await.unwrap();
    let cells = &matrix.rows[0].cells;
    assert_eq!(cells.len(), RISKS.len());
    cells
        .iter()
        .map(|cell| (cell.outcome.as_str(), cell.held.is_some()))
        .collect()
}

async fn ask_at(agent: &Agent, risk: &str) {
    let mut request = agent.request(risk);
    request["risk"] = json!(risk);
    agent.ask(&request).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_rule_whose_signer_is_limited_is_told_to_approve_no_more_than_that() {
    let desk = Desk::open().await;
    let agent = desk.agent("bot").await;
    hello(&desk, &agent).await;
    let data = TempData::new();
    let junior = colleague(&desk, &data, "Grace").await;
    let limits = Limits {
        workspaces: None,
        max_risk: Some(Risk::Low),
    };
    let limit = Change::Limit(junior.identity().human_key().to_string(), limits);
    assert!(desk.app.change_operators(&limit).await.unwrap().changed);
    for app in [&desk.app, &junior] {
        until("the limit is known", async || {
            let list = app.operators(false).await.unwrap();
            list.iter().any(|line| line.max_risk == Some(Risk::Low))
        })
        .await;
    }
    apply(&junior, INVOICES).await;
    until("the rules are known", async || {
        desk.app.rules(&acme()).await.unwrap().rules.len() == 1
    })
    .await;
    ask_at(&agent, "low").await;
    assert_eq!(agent.decision("low").await["rule"]["id"], "invoices");
    ask_at(&agent, "high").await;
    listed(&junior, "high").await;
    let beside = App::read(options(&desk.data), false).await.unwrap();
    for app in [&desk.app, &junior, &beside] {
        let why = why(app, "high").await;
        assert_eq!(why.outcome.as_str(), "ask");
        let near: Vec<_> = why
            .near_misses
            .iter()
            .map(|near| near.matcher.as_str())
            .collect();
        assert_eq!(near, ["author_limit"]);
    }
    for app in [&desk.app, &beside] {
        let words = [
            ("approve", false),
            ("approve", false),
            ("ask", false),
            ("ask", false),
            ("ask", false),
        ];
        assert_eq!(cells(app).await, words);
    }
    beside.shutdown().await;
    junior.shutdown().await;
    desk.app.shutdown().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn rules_that_cannot_be_read_are_told_to_decide_nothing() {
    for how in [Unreadable::Unsigned, Unreadable::Signed] {
        let desk = Desk::open().await;
        let agent = desk.agent("bot").await;
        hello(&desk, &agent).await;
        apply(&desk.app, INVOICES).await;
        agent.ask(&agent.request("before")).await;
        assert_eq!(agent.decision("before").await["rule"]["id"], "invoices");
        break_rules(&desk.app, how).await;
        agent.ask(&agent.request("after")).await;
        listed(&desk.app, "after").await;
        let beside = App::read(options(&desk.data), false).await.unwrap();
        for app in [&desk.app, &beside] {
            let why = why(app, "after").await;
            assert_eq!((why.outcome.as_str(), why.rule), ("ask", None), "{how:?}");
            assert_eq!(why.held.as_deref(), Some("the rules cannot be read"));
            assert_eq!((why.matched, why.near_misses), (Vec::new(), Vec::new()));
            assert_eq!(cells(app).await, [("ask", true); 5], "{how:?}");
        }
        beside.shutdown().await;
        desk.app.shutdown().await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn the_matrix_has_the_tools_that_asked_beside_those_of_hellos() {
    let desk = Desk::open().await;
    let agent = desk.agent("bot").await;
    let mut request = agent.request("r1");
    request["risk"] = json!("high");
    request["tool"]["origin"] = json!("mcp");
    agent.ask(&request).await;
    listed(&desk.app, "r1").await;
    let rule = "schema = 1\n[[rule]]\nid = \"no-mcp\"\neffect = \"deny\"\ntool = \"*\"\norigin = \"mcp\"\n";
    apply(&desk.app, rule).await;
    let rows = async || desk.app.matrix(&acme()).await.unwrap().rows;
    until("the rule is known", async || {
        let rows = rows().await;
        rows.iter()
            .all(|row| row.cells.iter().all(|cell| cell.outcome.as_str() == "deny"))
    })
    .await;
    let asked = rows().await;
    assert_eq!(asked.len(), 1);
    assert_eq!(
        (asked[0].tool.as_str(), asked[0].risk),
        ("delete_invoice", Some(Risk::High))
    );
    // Once its hello lists it, that counts, and it is there once.
    hello(&desk, &agent).await;
    let both = rows().await;
    assert_eq!((both.len(), both[0].risk), (1, None));
    desk.app.shutdown().await;
}
