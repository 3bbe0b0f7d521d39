use countersign_core::App;
use countersign_core::ops::rules::RulesChange;
use countersign_core::ops::setup::SetupChange;
use countersign_core::policy::read_file;
use countersign_wire::AgentKey;
use serde_json::{Value, json};

use crate::agent::{Agent, Desk, in_state, listed, until};

fn bot() -> AgentKey {
    "acme/bot".parse().unwrap()
}

pub(crate) async fn hello(agent: &Agent, tools: Value) {
    let hello = json!({
        "v": 1, "agent": {"name": "bot"}, "tools": tools,
        "setup_schema": [
            {"bs_name": "allow_dangerous", "bs_type": "bool", "bs_default": false, "bs_group": "Safety"},
            {"bs_name": "confirm_hire", "bs_type": "bool", "bs_default": true, "bs_group": "Safety"},
        ],
    });
    let subject = "countersign.v1.hello.acme.bot".to_owned();
    let reply = agent
        .client
        .request(subject, hello.to_string().into())
        .await
        .unwrap();
    let reply: Value = serde_json::from_slice(&reply.payload).unwrap();
    assert!(reply["seq"].is_u64(), "{reply}");
}

pub(crate) async fn declared(app: &App) {
    until("the keys are declared", async || {
        app.setup(&"acme".parse().unwrap()).await.unwrap().len() == 2
    })
    .await;
}

fn with_key(agent: &Agent, id: &str, key: &str) -> Value {
    let mut request = agent.request(id);
    request["confirm"] = json!({"setup_key": key, "command": "rm", "explanation": "why"});
    request
}

#[tokio::test(flavor = "multi_thread")]
async fn a_declared_key_that_nobody_set_or_bound_is_bound_to_nothing() {
    let desk = Desk::open().await;
    let agent = desk.agent("bot").await;
    hello(&agent, json!([])).await;
    declared(&desk.app).await;
    agent.ask(&with_key(&agent, "r1", "confirm_hire")).await;
    agent.ask(&with_key(&agent, "r2", "unheard_of")).await;
    let state = async |id: &str| {
        let why = desk.app.why(&listed(&desk.app, id).await).await.unwrap();
        why.unwrap().setup.unwrap().state
    };
    assert_eq!(state("r1").await, "unbound");
    assert_eq!(state("r2").await, "undeclared");
    let set = SetupChange::Set("allow_dangerous".into(), json!(true));
    desk.app.change_setup(&bot(), &set).await.unwrap();
    assert_eq!(state("r1").await, "unbound");
    assert_eq!(state("r2").await, "undeclared");
    desk.app.shutdown().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_key_of_a_held_call_says_its_own_state_and_value() {
    let desk = Desk::open().await;
    let agent = desk.agent("bot").await;
    hello(&agent, json!([])).await;
    declared(&desk.app).await;
    let key = agent.ask(&with_key(&agent, "r1", "allow_dangerous")).await;
    listed(&desk.app, "r1").await;
    let mut denial = crate::agent::verdict(&key, countersign_wire::Verdict::Deny);
    denial.message = Some("not this one".into());
    desk.app.decide(denial).await.unwrap();
    in_state(&desk.app, "r1", "decided").await;
    for change in [
        SetupChange::Set("allow_dangerous".into(), json!(true)),
        SetupChange::Bind("allow_dangerous".into(), json!(true), false),
    ] {
        desk.app.change_setup(&bot(), &change).await.unwrap();
    }
    agent.ask(&with_key(&agent, "r2", "allow_dangerous")).await;
    let row = listed(&desk.app, "r2").await;
    let why = desk.app.why(&row).await.unwrap().unwrap();
    assert!(why.held.is_some_and(|held| held.contains("denied_before")));
    let setup = why.setup.unwrap();
    assert_eq!((setup.state, setup.value), ("passes", Some(json!(true))));
    assert_eq!(listed(&desk.app, "r2").await.state, "pending");
    desk.app.shutdown().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_bound_key_lets_a_call_pass_in_either_polarity_and_an_unbound_one_asks() {
    let desk = Desk::open().await;
    let agent = desk.agent("bot").await;
    hello(&agent, json!([])).await;
    declared(&desk.app).await;
    let change = async |change: SetupChange| desk.app.change_setup(&bot(), &change).await;
    // Waits with the value that will spare it: unbound, it asks.
    change(SetupChange::Set("allow_dangerous".into(), json!(true)))
        .await
        .unwrap();
    agent.ask(&with_key(&agent, "r1", "allow_dangerous")).await;
    agent.ask(&with_key(&agent, "r2", "confirm_hire")).await;
    agent.ask(&with_key(&agent, "r3", "unheard_of")).await;
    for id in ["r1", "r2", "r3"] {
        assert_eq!(listed(&desk.app, id).await.state, "pending");
    }
    change(SetupChange::Bind(
        "allow_dangerous".into(),
        json!(true),
        false,
    ))
    .await
    .unwrap();
    let decision = agent.decision("r1").await;
    assert_eq!(
        (&decision["verdict"], &decision["origin"]),
        (&json!("approve"), &json!("setup_key"))
    );
    assert_eq!(decision["rule"]["id"], "allow_dangerous");
    let row = in_state(&desk.app, "r1", "decided").await;
    assert_eq!(row.origin.as_deref(), Some("setup_key"));
    // The default counts as the value, and it asks.
    change(SetupChange::Bind(
        "confirm_hire".into(),
        json!(false),
        false,
    ))
    .await
    .unwrap();
    let why = desk
        .app
        .why(&listed(&desk.app, "r2").await)
        .await
        .unwrap()
        .unwrap();
    let setup = why.setup.unwrap();
    assert_eq!(
        (setup.state, setup.skips_when),
        ("differs", Some(json!(false)))
    );
    assert_eq!(listed(&desk.app, "r2").await.state, "pending");
    change(SetupChange::Set("confirm_hire".into(), json!(false)))
        .await
        .unwrap();
    assert_eq!(agent.decision("r2").await["origin"], "setup_key");
    assert_eq!(
        listed(&desk.app, "r3").await.state,
        "pending",
        "an undeclared key asks"
    );
    let mut critical = with_key(&agent, "r4", "allow_dangerous");
    critical["risk"] = json!("critical");
    agent.ask(&critical).await;
    assert_eq!(listed(&desk.app, "r4").await.state, "pending");
    for (wrong, code) in [
        (
            SetupChange::Set("allow_dangerous".into(), json!(1)),
            "invalid_args",
        ),
        (
            SetupChange::Bind("allow_dangerous".into(), json!("true"), false),
            "invalid_args",
        ),
        (SetupChange::Set("unheard_of".into(), json!(1)), "not_found"),
        (SetupChange::Unbind("unheard_of".into()), "not_found"),
    ] {
        assert_eq!(change(wrong).await.unwrap_err().code.as_str(), code);
    }
    assert_eq!(desk.app.audit_verify(None).await.unwrap().first_bad, None);
    desk.app.shutdown().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_tool_whose_definition_changed_since_the_rule_was_made_asks_and_why_tells_it() {
    let desk = Desk::open().await;
    let agent = desk.agent("bot").await;
    let tool = |says: &str| json!([{"name": "delete_invoice", "description": says}]);
    hello(&agent, tool("one")).await;
    declared(&desk.app).await;
    let file = "schema = 1\n[[rule]]\nid = \"a\"\neffect = \"approve\"\ntool = \"delete_invoice\"\n\
                expires_at = \"2999-01-01T00:00:00Z\"\n";
    let rules = || RulesChange::Replace {
        rules: read_file(file).unwrap(),
        seen: None,
    };
    let workspace = "acme".parse().unwrap();
    desk.app.change_rules(&workspace, &rules()).await.unwrap();
    agent.ask(&agent.request("r1")).await;
    assert_eq!(agent.decision("r1").await["origin"], "rule");
    hello(&agent, tool("another")).await;
    until("the new definition is known", async || {
        agent.ask(&agent.request(&format!("p{}", rand_id()))).await;
        let rows = desk.app.inbox(&Default::default()).await.unwrap();
        !rows.is_empty()
    })
    .await;
    let rows = desk.app.inbox(&Default::default()).await.unwrap();
    let row = listed(&desk.app, &rows[0].request_id).await;
    assert_eq!(row.state, "pending");
    desk.app.shutdown().await;
}

fn rand_id() -> uuid::Uuid {
    uuid::Uuid::new_v4()
}
