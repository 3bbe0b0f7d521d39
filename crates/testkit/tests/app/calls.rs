//! What is known of a call beyond itself: changed tools, the same call asked again, a console without room.

use countersign_core::App;
use countersign_core::domain::rank::{TURN_MS, rank};
use countersign_core::domain::{CallWarning, ToldBy};
use countersign_core::ops::DecideCommand;
use countersign_testkit::TempData;
use countersign_wire::{Scope, Verdict};
use serde_json::{Value, json};

use crate::agent::{
    Agent, Desk, LIMIT, colleague, colleague_with, in_state, line_when, listed, troubles, until,
    verdict,
};
use crate::policy::{INVOICES, apply};
use crate::ranks::SetClock;

/// Says hello with one tool, and waits until the console reads it so.
async fn hello(desk: &Desk, agent: &Agent, description: &str) {
    let hello = json!({"v": 1, "agent": {"name": "bot"},
        "tools": [{"name": "delete_invoice", "description": description}],
        "credentials": [{"tool_name": "delete_invoice", "status": "partial", "missing_keys": ["API_KEY"]}]});
    let subject = "countersign.v1.hello.acme.bot";
    agent
        .client
        .publish(subject, hello.to_string().into())
        .await
        .unwrap();
    hello_is_read(&desk.app, description).await;
}

async fn hello_is_read(app: &App, description: &str) {
    until("the hello is read", async || {
        let agents = app.agents().await.unwrap();
        let mut tools = agents.iter().flat_map(|agent| &agent.tools);
        tools.any(|tool| tool.description.as_deref() == Some(description))
    })
    .await;
}

async fn asked(app: &App, agent: &Agent, id: &str, change: impl FnOnce(&mut Value)) {
    let mut request = agent.request(id);
    change(&mut request);
    agent.ask(&request).await;
    listed(app, id).await;
}

async fn decided(app: &App, agent: &Agent, id: &str, given: Verdict) {
    app.decide(verdict(&agent.key(id), given)).await.unwrap();
    in_state(app, id, "decided").await;
}

async fn row_of(app: &App, id: &str) -> i64 {
    app.show(id).await.unwrap().line.id
}

/// The codes of what is remarkable about a call.
async fn reported(app: &App, id: &str) -> Vec<&'static str> {
    let story = app.show(id).await.unwrap();
    story.cautions.iter().map(CallWarning::code).collect()
}

async fn changed(app: &App, id: &str) -> Vec<ToldBy> {
    let story = app.show(id).await.unwrap();
    let reported = |warning: &CallWarning| match warning {
        CallWarning::ToolChanged { told_by, .. } => Some(*told_by),
        _ => None,
    };
    story.cautions.iter().filter_map(reported).collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_tool_that_reads_otherwise_than_when_a_person_approved_it_is_told_until_one_approves_again()
 {
    let desk = Desk::open().await;
    let agent = desk.agent("bot").await;
    let described = |text: &'static str| {
        move |request: &mut Value| request["tool"]["description"] = json!(text)
    };
    hello(&desk, &agent, "deletes one").await;
    asked(&desk.app, &agent, "a", described("one")).await;
    assert_eq!(
        changed(&desk.app, "a").await,
        [],
        "nothing was approved yet"
    );
    decided(&desk.app, &agent, "a", Verdict::Approve).await;
    asked(&desk.app, &agent, "b", described("one")).await;
    assert_eq!(changed(&desk.app, "b").await, []);
    asked(&desk.app, &agent, "c", described("all")).await;
    assert_eq!(changed(&desk.app, "c").await, [ToldBy::Call]);
    let mut ids = Vec::new();
    for id in ["a", "b", "c"] {
        ids.push(row_of(&desk.app, id).await);
    }
    let marks = desk.app.marks(&ids).await.unwrap();
    assert_eq!(marks.changed, [ids[2]].into());
    // What came after a call was asked is not approved by it.
    hello(&desk, &agent, "deletes everything").await;
    assert_eq!(changed(&desk.app, "b").await, [ToldBy::Hello]);
    assert!(
        desk.app
            .marks(&ids)
            .await
            .unwrap()
            .changed
            .contains(&ids[1])
    );
    decided(&desk.app, &agent, "b", Verdict::Approve).await;
    asked(&desk.app, &agent, "d", described("one")).await;
    assert_eq!(changed(&desk.app, "d").await, [ToldBy::Hello]);
    let tools = desk.app.agents().await.unwrap().remove(0).tools;
    assert!(tools[0].changed && tools[0].approved_definition.is_some());
    // A denial accepts nothing, an approval does.
    decided(&desk.app, &agent, "d", Verdict::Deny).await;
    asked(&desk.app, &agent, "e", described("one")).await;
    assert_eq!(changed(&desk.app, "e").await, [ToldBy::Hello]);
    decided(&desk.app, &agent, "e", Verdict::Approve).await;
    asked(&desk.app, &agent, "f", described("one")).await;
    assert_eq!(changed(&desk.app, "f").await, []);
    let story = desk.app.show("f").await.unwrap();
    let codes: Vec<_> = story.cautions.iter().map(CallWarning::code).collect();
    assert_eq!(codes, ["re_ask", "credential_incomplete"]);
    desk.app.shutdown().await;
}

/// The stream keeps the last hello of an agent alone: a console that joins later never sees that a tool was changed.
#[tokio::test(flavor = "multi_thread")]
async fn a_console_that_joins_later_lets_no_tool_run_that_may_have_changed_since_its_rule() {
    let desk = Desk::open().await;
    let agent = desk.agent("bot").await;
    hello(&desk, &agent, "deletes one").await;
    apply(&desk.app, INVOICES).await;
    agent.ask(&agent.request("covered")).await;
    assert_eq!(agent.decision("covered").await["origin"], "rule");
    hello(&desk, &agent, "deletes everything").await;
    asked(&desk.app, &agent, "changed", |_| ()).await;
    let data = TempData::new();
    let second = colleague(&desk, &data, "Grace").await;
    hello_is_read(&second, "deletes everything").await;
    for app in [&desk.app, &second] {
        let line = listed(app, "changed").await;
        assert_eq!(line.state, "pending");
        let why = app.why(&line).await.unwrap().unwrap();
        assert_eq!(why.outcome.as_str(), "ask");
    }
    // A rule that is made now covers the tool as it is.
    let again = INVOICES.replace("999", "998");
    apply(&second, &again).await;
    assert_eq!(agent.decision("changed").await["origin"], "rule");
    second.shutdown().await;
    desk.app.shutdown().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn the_same_call_asked_again_is_linked_and_waits_like_any_other() {
    let desk = Desk::open().await;
    let agent = desk.agent("bot").await;
    let other = desk.agent("cat").await;
    asked(&desk.app, &agent, "first", |_| ()).await;
    asked(&desk.app, &agent, "beside", |_| ()).await;
    let denial = DecideCommand {
        message: Some("not this one".into()),
        ..verdict(&agent.key("first"), Verdict::Deny)
    };
    desk.app.decide(denial).await.unwrap();
    in_state(&desk.app, "first", "decided").await;
    asked(&desk.app, &agent, "again", |request| {
        request["call_id"] = json!("another")
    })
    .await;
    asked(&desk.app, &agent, "tool", |request| {
        request["tool"]["name"] = json!("other")
    })
    .await;
    let args = json!({"invoice_id": "INV-43"});
    asked(&desk.app, &agent, "args", |request| {
        request["args_digest"] = json!(countersign_wire::args_digest(&args).unwrap().to_string());
        request["args"] = args;
    })
    .await;
    asked(&desk.app, &other, "other", |_| ()).await;
    let story = desk.app.show("again").await.unwrap();
    let earlier = story.repeats.unwrap();
    assert_eq!(
        (
            earlier.request_id.as_str(),
            earlier.verdict.as_deref(),
            earlier.message.as_deref()
        ),
        ("first", Some("deny"), Some("not this one"))
    );
    assert_eq!(reported(&desk.app, "again").await, ["denied_before"]);
    let denied = &desk.app.show("again").await.unwrap().cautions[0];
    assert_eq!(
        denied.words(3_600_000),
        (
            "Ada",
            "denied this exact call 1 h ago: not this one".to_owned()
        )
    );
    // A request from before the decision does not repeat it, nor does another tool, argument or agent.
    for id in ["first", "beside", "tool", "args", "other"] {
        let story = desk.app.show(id).await.unwrap();
        assert_eq!(
            (story.repeats, story.line.state.as_str() == "decided"),
            (None, id == "first"),
            "{id}"
        );
    }
    decided(&desk.app, &agent, "again", Verdict::Approve).await;
    asked(&desk.app, &agent, "third", |_| ()).await;
    let story = desk.app.show("third").await.unwrap();
    assert_eq!(
        story.repeats.unwrap().request_id,
        "again",
        "the newest one is linked"
    );
    assert_eq!(story.line.state, "pending");
    // A person has approved it since.
    assert_eq!(reported(&desk.app, "third").await, ["re_ask"]);
    // What says neither yes nor no ends no denial.
    decided(&desk.app, &agent, "third", Verdict::Deny).await;
    asked(&desk.app, &agent, "fourth", |_| ()).await;
    decided(&desk.app, &agent, "fourth", Verdict::Skip).await;
    asked(&desk.app, &agent, "fifth", |_| ()).await;
    assert_eq!(
        reported(&desk.app, "fifth").await,
        ["denied_before", "re_ask"]
    );
    let mut ids = Vec::new();
    for id in [
        "first", "again", "third", "fourth", "fifth", "tool", "args", "other",
    ] {
        ids.push(row_of(&desk.app, id).await);
    }
    let marks = desk.app.marks(&ids).await.unwrap();
    assert_eq!(marks.denied, [ids[1], ids[3], ids[4]].into());
    assert!(marks.changed.is_empty());
    desk.app.shutdown().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_console_without_room_takes_what_another_one_decided_first() {
    let clock = SetClock::now();
    let narrow = Desk::open_with(|options| {
        options.clock = Some(clock.clone());
        options.waiting_limit = 1;
    })
    .await;
    let agent = narrow.agent("bot").await;
    let data = TempData::new();
    let set = |options: &mut countersign_core::Options| options.clock = Some(clock.clone());
    let wide = colleague_with(&narrow, &data, "Grace", set).await;
    for app in [&narrow.app, &wide] {
        until("both consoles are there", async || {
            app.consoles().await.len() == 2
        })
        .await;
    }
    // The one without room looks again after its turn, which does not come: the clock is stopped.
    let id_of = |app: &App| countersign_wire::ConsoleId::from(app.identity().console_id);
    let live = [id_of(&narrow.app), id_of(&wide)];
    let mut later = (0..100)
        .map(|n| format!("r{n}"))
        .filter(|id| rank(&live[0], &live, &agent.key(id)) == 1);
    let ids: Vec<String> = (0..3).map(|_| later.next().unwrap()).collect();
    for id in &ids {
        asked(&narrow.app, &agent, id, |_| ()).await;
        listed(&wide, id).await;
    }
    for id in &ids[1..] {
        let row = in_state(&narrow.app, id, "rejected").await;
        assert_eq!(row.error_code.as_deref(), Some("too_many_waiting"));
        assert_eq!(row.tool.as_deref(), Some("delete_invoice"));
        let refused = narrow
            .app
            .decide(verdict(&agent.key(id), Verdict::Approve))
            .await
            .unwrap_err();
        assert_eq!(refused.code.as_str(), "not_approvable");
    }
    let scoped = DecideCommand {
        scope: Scope::Session,
        ..verdict(&agent.key(&ids[1]), Verdict::Approve)
    };
    wide.decide(scoped).await.unwrap();
    wide.decide(verdict(&agent.key(&ids[2]), Verdict::Deny))
        .await
        .unwrap();
    for (id, given) in [(&ids[1], "approve"), (&ids[2], "deny")] {
        let row = line_when(&narrow.app, id, |row| row.state == "decided").await;
        assert_eq!(
            (row.verdict.as_deref(), row.error_code),
            (Some(given), None)
        );
        assert_eq!(agent.decision(id).await["verdict"], given);
    }
    assert_eq!(agent.decision(&ids[1]).await["scope"], "session");
    clock.move_on(TURN_MS);
    assert_eq!(troubles(&narrow.app).await, []);
    wide.shutdown().await;
    narrow.app.shutdown().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn receipts_that_cannot_be_read_are_one_warning_and_one_row_of_the_log_under_their_request() {
    let desk = Desk::open().await;
    let agent = desk.agent("bot").await;
    for id in ["told", "silent"] {
        asked(&desk.app, &agent, id, |_| ()).await;
    }
    for junk in [&b"{}"[..], b"{\"v\":1,\"stage\":\"executed\"}", b"\xff"] {
        let subject = agent.subject("receipt", "told");
        agent.client.request(subject, junk.into()).await.unwrap();
    }
    // Names that no request has: each would be a row.
    for id in ["made-up", "made-up-2"] {
        let subject = agent.subject("receipt", id);
        agent.client.request(subject, "{}".into()).await.unwrap();
    }
    agent.receipt("told", "invented", "received").await;
    let read = async {
        while desk.app.show("told").await.unwrap().receipts.is_empty() {
            tokio::time::sleep(std::time::Duration::from_millis(5)).await;
        }
    };
    tokio::time::timeout(LIMIT, read).await.unwrap();
    for (id, warnings) in [("told", &["receipt_unreadable"][..]), ("silent", &[])] {
        let story = desk.app.show(id).await.unwrap();
        let codes: Vec<_> = story.cautions.iter().map(CallWarning::code).collect();
        let codes: Vec<_> = codes
            .into_iter()
            .filter(|code| *code != "credential_incomplete")
            .collect();
        assert_eq!(codes, warnings, "{id}");
    }
    let log = desk.app.audit_after(0, 10_000).await.unwrap();
    let rows = log.iter().filter(|row| row.action == "receipt_unreadable");
    let subjects: Vec<_> = rows.map(|row| row.subject.as_str()).collect();
    assert_eq!(subjects, ["acme/bot/told"]);
    desk.app.shutdown().await;
}
