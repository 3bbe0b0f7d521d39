//! A tool that may have been defined otherwise since a rule was made is left to people, whichever way a console
//! could have missed it.

use countersign_core::App;
use countersign_testkit::TempData;
use serde_json::{Value, json};

use crate::agent::{Agent, Desk, colleague, colleague_options, listed, until};
use crate::policy::{INVOICES, apply};

/// A call of this agent is denied by rule: once it is, everything that was asked before was judged.
const DENY: &str = "[[rule]]\nid = \"no-rogue\"\neffect = \"deny\"\nagent = [\"rogue\"]\n";

/// Hellos of an agent that names a tool no more: it has none, or says nothing of them.
const NAMES_IT_NO_MORE: [&str; 2] = [r#"{"v": 1, "tools": []}"#, r#"{"v": 1}"#];

pub(crate) fn tool(name: &str, description: &str) -> Value {
    json!({"name": name, "description": description})
}

/// As many tools as are read of one hello.
fn others(prefix: &str) -> Vec<Value> {
    let others = (0..1_000).map(|n| tool(&format!("{prefix}{n}"), "another"));
    others.collect()
}

/// Says hello and waits until the stream holds it; its sequence.
async fn hello(agent: &Agent, version: u64, tools: &[Value]) -> u64 {
    say(agent, json!({"v": version, "tools": tools})).await
}

async fn say(agent: &Agent, mut hello: Value) -> u64 {
    let name = &agent.enrolment.agent;
    hello["agent"] = json!({"name": name});
    let subject = format!("countersign.v1.hello.acme.{name}");
    let reply = agent.client.request(subject, hello.to_string().into());
    let reply: Value = serde_json::from_slice(&reply.await.unwrap().payload).unwrap();
    reply["seq"].as_u64().unwrap()
}

/// Waits until the console has read the hello that it is sent now.
pub(crate) async fn introduce(app: &App, agent: &Agent, version: u64, tools: &[Value]) {
    is_read(app, hello(agent, version, tools).await).await;
}

async fn is_read(app: &App, seq: u64) {
    until("the hello is read", async || {
        let streams = app.status().await.unwrap().streams;
        streams["CS_AGENTS"].projected_seq >= seq
    })
    .await;
}

async fn matcher(app: &App, id: &str) -> Option<String> {
    let line = listed(app, id).await;
    let why = app.why(&line).await.unwrap().unwrap();
    assert_eq!(why.outcome.as_str(), "ask", "{id}");
    why.near_misses.into_iter().next().map(|near| near.matcher)
}

#[tokio::test(flavor = "multi_thread")]
async fn a_hello_that_is_not_read_whole_hides_no_change_of_a_tool_from_a_rule() {
    let desk = Desk::open().await;
    let rogue = desk.agent("rogue").await;
    let changed = tool("delete_invoice", "deletes everything");
    let mut deep = changed.clone();
    let schema = "{\"a\":".repeat(80) + "1" + &"}".repeat(80);
    deep["args_schema"] = serde_json::from_str(&schema).unwrap();
    let cut_off = [others("o"), vec![changed.clone()]].concat();
    let twice = vec![tool("delete_invoice", "deletes one"), changed.clone()];
    let cases = [
        ("cut-off", vec![(1, cut_off)]),
        (
            "forgotten",
            vec![
                (1, others("a")),
                (1, others("b")),
                (1, vec![changed.clone()]),
            ],
        ),
        ("too-deep", vec![(1, vec![deep])]),
        ("twice", vec![(1, twice)]),
        ("another-version", vec![(2, vec![changed])]),
    ];
    let mut agents = Vec::new();
    for (name, hellos) in cases {
        let agent = desk.agent(name).await;
        introduce(
            &desk.app,
            &agent,
            1,
            &[tool("delete_invoice", "deletes one")],
        )
        .await;
        agents.push((agent, hellos));
    }
    apply(&desk.app, &format!("{INVOICES}{DENY}")).await;
    for (agent, hellos) in &agents {
        let name = agent.enrolment.agent.as_ref();
        let (before, after) = (format!("{name}-1"), format!("{name}-2"));
        agent.ask(&agent.request(&before)).await;
        assert_eq!(agent.decision(&before).await["origin"], "rule", "{name}");
        for (version, tools) in hellos {
            introduce(&desk.app, agent, *version, tools).await;
        }
        agent.ask(&agent.request(&after)).await;
        let missed = matcher(&desk.app, &after).await;
        assert_eq!(missed.as_deref(), Some("tool_changed"), "{name}");
    }
    rogue.ask(&rogue.request("last")).await;
    rogue.decision("last").await;
    for (agent, _) in &agents {
        let after = format!("{}-2", agent.enrolment.agent);
        assert_eq!(listed(&desk.app, &after).await.state, "pending", "{after}");
    }
    desk.app.shutdown().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_console_that_joined_while_a_tool_was_missing_lets_it_not_run_when_it_comes_back_otherwise()
 {
    let desk = Desk::open().await;
    let agent = desk.agent("bot").await;
    introduce(
        &desk.app,
        &agent,
        1,
        &[tool("delete_invoice", "deletes one")],
    )
    .await;
    apply(&desk.app, INVOICES).await;
    agent.ask(&agent.request("covered")).await;
    assert_eq!(agent.decision("covered").await["origin"], "rule");
    introduce(&desk.app, &agent, 1, &[]).await;
    let data = TempData::new();
    let second = colleague(&desk, &data, "Grace").await;
    let changed = [tool("delete_invoice", "deletes everything")];
    introduce(&second, &agent, 1, &changed).await;
    agent.ask(&agent.request("changed")).await;
    for app in [&desk.app, &second] {
        let missed = matcher(app, "changed").await;
        assert_eq!(missed.as_deref(), Some("tool_changed"));
    }
    // A rule that is made now covers the tool as it is.
    apply(&second, &INVOICES.replace("999", "998")).await;
    assert_eq!(agent.decision("changed").await["origin"], "rule");
    second.shutdown().await;
    desk.app.shutdown().await;
}

/// Keeps the console's reading of `CS_AGENTS` back, or lets it go on.
async fn hold_hellos_back(desk: &Desk, back: bool) {
    let login = &desk.app.identity().login;
    let client = async_nats::ConnectOptions::with_nkey(login.seed().unwrap())
        .custom_inbox_prefix(format!("_INBOX_{}", login.public_key()))
        .connect(desk.app.embedded_server().unwrap().url())
        .await
        .unwrap();
    let ask = async |subject: String, body: Value| {
        let reply = client.request(subject, body.to_string().into()).await;
        let reply: Value = serde_json::from_slice(&reply.unwrap().payload).unwrap();
        assert!(reply["error"].is_null(), "{reply}");
        reply
    };
    let names = "$JS.API.CONSUMER.NAMES.CS_AGENTS".to_owned();
    let names = ask(names, json!({})).await;
    let until = match back {
        true => json!({"pause_until": "2999-01-01T00:00:00Z"}),
        false => json!({}),
    };
    for name in names["consumers"].as_array().unwrap() {
        let name = name.as_str().unwrap();
        ask(
            format!("$JS.API.CONSUMER.PAUSE.CS_AGENTS.{name}"),
            until.clone(),
        )
        .await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn no_rule_lets_a_call_run_before_every_hello_is_read_that_was_stored_before_it() {
    let desk = Desk::open().await;
    let (bot, other) = (desk.agent("bot").await, desk.agent("other").await);
    let rogue = desk.agent("rogue").await;
    introduce(&desk.app, &bot, 1, &[tool("delete_invoice", "deletes one")]).await;
    apply(&desk.app, &format!("{INVOICES}{DENY}")).await;
    bot.ask(&bot.request("covered")).await;
    assert_eq!(bot.decision("covered").await["origin"], "rule");
    hold_hellos_back(&desk, true).await;
    hello(&bot, 1, &[tool("delete_invoice", "deletes everything")]).await;
    bot.ask(&bot.request("changed")).await;
    other.ask(&other.request("meanwhile")).await;
    rogue.ask(&rogue.request("denied")).await;
    assert_eq!(rogue.decision("denied").await["verdict"], "deny");
    for id in ["changed", "meanwhile"] {
        assert_eq!(listed(&desk.app, id).await.state, "pending", "{id}");
    }
    hold_hellos_back(&desk, false).await;
    assert_eq!(other.decision("meanwhile").await["origin"], "rule");
    let missed = matcher(&desk.app, "changed").await;
    assert_eq!(missed.as_deref(), Some("tool_changed"));
    assert_eq!(listed(&desk.app, "changed").await.state, "pending");
    desk.app.shutdown().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_hello_that_was_replaced_before_it_was_read_counts_as_one_that_changed_a_tool() {
    for last in NAMES_IT_NO_MORE {
        replaced_before_it_was_read(&serde_json::from_str(last).unwrap()).await;
    }
}

async fn replaced_before_it_was_read(last: &Value) {
    let desk = Desk::open().await;
    let (bot, other) = (desk.agent("bot").await, desk.agent("other").await);
    let one = [tool("delete_invoice", "deletes one")];
    introduce(&desk.app, &bot, 1, &one).await;
    introduce(&desk.app, &other, 1, &one).await;
    apply(&desk.app, INVOICES).await;
    bot.ask(&bot.request("covered")).await;
    assert_eq!(bot.decision("covered").await["origin"], "rule");
    hold_hellos_back(&desk, true).await;
    hello(&bot, 1, &[tool("delete_invoice", "deletes everything")]).await;
    say(&bot, last.clone()).await;
    hold_hellos_back(&desk, false).await;
    bot.ask(&bot.request("changed")).await;
    // Whoever says nothing new meanwhile is asked about nothing; once it is answered, the hellos before it are read.
    other.ask(&other.request("same")).await;
    assert_eq!(other.decision("same").await["origin"], "rule");
    let missed = matcher(&desk.app, "changed").await;
    assert_eq!(missed.as_deref(), Some("tool_changed"));
    assert_eq!(listed(&desk.app, "changed").await.state, "pending");
    desk.app.shutdown().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_console_that_was_away_while_a_tool_changed_and_went_asks_like_those_that_saw_it() {
    for last in NAMES_IT_NO_MORE {
        away_while_it_changed(&serde_json::from_str(last).unwrap()).await;
    }
}

async fn away_while_it_changed(last: &Value) {
    let desk = Desk::open().await;
    let agent = desk.agent("bot").await;
    let data = TempData::new();
    let second = colleague(&desk, &data, "Grace").await;
    introduce(&second, &agent, 1, &[tool("delete_invoice", "deletes one")]).await;
    apply(&desk.app, INVOICES).await;
    agent.ask(&agent.request("covered")).await;
    assert_eq!(agent.decision("covered").await["origin"], "rule");
    listed(&second, "covered").await;
    second.shutdown().await;
    let changed = [tool("delete_invoice", "deletes everything")];
    introduce(&desk.app, &agent, 1, &changed).await;
    let seq = say(&agent, last.clone()).await;
    is_read(&desk.app, seq).await;
    let second = App::start(colleague_options(&desk, &data, "Grace")).await;
    let second = second.unwrap();
    agent.ask(&agent.request("changed")).await;
    for app in [&second, &desk.app] {
        // Until then it decides nothing, and says why by what it has read.
        is_read(app, seq).await;
        let missed = matcher(app, "changed").await;
        assert_eq!(missed.as_deref(), Some("tool_changed"));
    }
    assert_eq!(listed(&second, "changed").await.state, "pending");
    second.shutdown().await;
    desk.app.shutdown().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn of_hellos_that_come_at_once_each_counts() {
    let desk = Desk::open().await;
    let bot = desk.agent("bot").await;
    let one = [tool("delete_invoice", "deletes one")];
    introduce(&desk.app, &bot, 1, &one).await;
    apply(&desk.app, INVOICES).await;
    let changed = json!({"v": 1, "agent": {"name": "bot"},
        "tools": [tool("delete_invoice", "deletes everything")]});
    let silent = json!({"v": 1, "agent": {"name": "bot"}});
    for hello in [changed, silent] {
        let subject = "countersign.v1.hello.acme.bot";
        let publish = bot.client.publish(subject, hello.to_string().into());
        publish.await.unwrap();
    }
    bot.client.flush().await.unwrap();
    is_read(&desk.app, say(&bot, json!({"v": 1})).await).await;
    bot.ask(&bot.request("changed")).await;
    let missed = matcher(&desk.app, "changed").await;
    assert_eq!(missed.as_deref(), Some("tool_changed"));
    desk.app.shutdown().await;
}
