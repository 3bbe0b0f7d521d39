use std::time::Duration;

use countersign_core::App;
use countersign_core::domain::facts::Approvals;
use countersign_core::ops::rules::RulesChange;
use countersign_core::ops::verdicts::Decided;
use countersign_core::policy::{Enabled, read_file};
use countersign_testkit::TempData;
use countersign_wire::{Verdict, WorkspaceName};
use serde_json::json;

use crate::agent::{
    Desk, caught_up, colleague, in_state, line_when, listed, options, troubles, until, verdict,
};
use crate::policy::{Unreadable, alarmed, break_rules};

fn acme() -> WorkspaceName {
    "acme".parse().unwrap()
}

const TWO: &str = r#"
schema = 1
[[rule]]
id = "two-for-invoices"
effect = "ask"
tool = ["delete_invoice"]
approvals = 2
"#;

async fn apply(app: &App, file: &str) {
    let rules = read_file(file).unwrap();
    let change = RulesChange::Replace { rules, seen: None };
    app.change_rules(&acme(), &change).await.unwrap();
}

async fn required(app: &App, id: &str, wanted: i64) {
    line_when(app, id, |line| line.approvals_required == wanted).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_rule_asks_for_a_second_operator_and_both_consoles_hold_to_it() {
    let desk = Desk::open().await;
    let agent = desk.agent("bot").await;
    let data = TempData::new();
    let grace = colleague(&desk, &data, "Grace").await;
    let key = agent.ask(&agent.request("r1")).await;
    listed(&grace, "r1").await;
    required(&desk.app, "r1", 1).await;
    apply(&desk.app, TWO).await;
    for app in [&desk.app, &grace] {
        required(app, "r1", 2).await;
    }
    let first = grace.decide(verdict(&key, Verdict::Approve)).await.unwrap();
    assert!(matches!(first, Decided::Voted { .. }), "{first:?}");
    line_when(&desk.app, "r1", |line| line.votes == 1).await;
    assert_eq!(listed(&desk.app, "r1").await.state, "pending");
    let approvals = Approvals::of(&desk.app.find("r1").await.unwrap()).unwrap();
    assert_eq!(
        (approvals.required, approvals.given, approvals.mine),
        (2, 1, false)
    );

    // A vote was given under two: that the rule goes does not make it the decision.
    apply(&desk.app, "schema = 1\n").await;
    until("the other one knows", async || {
        grace.rules(&acme()).await.unwrap().rules.is_empty()
    })
    .await;
    let other = agent.ask(&agent.request("r2")).await;
    for app in [&desk.app, &grace] {
        required(app, "r2", 1).await;
        required(app, "r1", 2).await;
        assert_eq!(listed(app, "r1").await.state, "pending");
    }
    let second = desk
        .app
        .decide(verdict(&key, Verdict::Approve))
        .await
        .unwrap();
    assert!(matches!(second, Decided::Stored { .. }), "{second:?}");
    let decision = agent.decision("r1").await;
    assert_eq!(
        (&decision["verdict"], &decision["origin"]),
        (&json!("approve"), &json!("operator"))
    );
    assert_eq!(decision["votes"].as_array().unwrap().len(), 2);
    desk.app
        .decide(verdict(&other, Verdict::Approve))
        .await
        .unwrap();
    for app in [&desk.app, &grace] {
        for id in ["r1", "r2"] {
            let row = in_state(app, id, "decided").await;
            assert_eq!(row.verdict.as_deref(), Some("approve"), "{id}");
        }
        assert_eq!(troubles(app).await, []);
        assert_eq!(app.audit_verify(None).await.unwrap().first_bad, None);
        let rows = app.audit_after(0, 10_000).await.unwrap();
        let raised: Vec<_> = rows.iter().filter(|row| row.action == "quorum").collect();
        assert_eq!(raised.len(), 1, "raised once, never lowered");
        assert!(
            raised[0].detail.contains("two-for-invoices"),
            "{}",
            raised[0].detail
        );
    }
    grace.shutdown().await;
    desk.app.shutdown().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_decision_of_a_console_that_did_not_know_the_rule_yet_stands_everywhere() {
    let desk = Desk::open().await;
    let agent = desk.agent("bot").await;
    let data = TempData::new();
    let grace = colleague(&desk, &data, "Grace").await;
    // Grace's console holds an approval when the rule comes here: what it sends is stored later.
    let key = agent.ask(&agent.request("r1")).await;
    listed(&grace, "r1").await;
    let decided = grace.decide(verdict(&key, Verdict::Approve)).await.unwrap();
    assert!(matches!(decided, Decided::Stored { .. }));
    desk.app.shutdown().await;
    grace.shutdown().await;

    // A console that reads the stream for the first time knows the rule before the decision.
    let app = App::start(crate::agent::options(&desk.data)).await.unwrap();
    crate::agent::caught_up(&app).await;
    apply(&app, TWO).await;
    let late_data = TempData::new();
    let desk = Desk {
        data: desk.data,
        app,
    };
    let late = colleague(&desk, &late_data, "Late").await;
    let row = in_state(&late, "r1", "decided").await;
    assert_eq!(
        row.verdict.as_deref(),
        Some("approve"),
        "one operator was enough when it was decided"
    );
    assert_eq!(troubles(&late).await, []);
    late.shutdown().await;
    desk.app.shutdown().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn an_approval_that_is_held_when_the_rule_comes_is_not_sent_alone() {
    let desk = Desk::open().await;
    let agent = desk.agent("bot").await;
    let key = agent.ask(&agent.request("r1")).await;
    listed(&desk.app, "r1").await;
    let mut held = verdict(&key, Verdict::Approve);
    held.hold = true;
    desk.app.decide(held).await.unwrap();
    apply(&desk.app, TWO).await;
    until("the hold is over", async || {
        let rows = desk.app.audit_after(0, 10_000).await.unwrap();
        rows.iter().any(|row| row.action == "hold_dropped")
    })
    .await;
    let row = in_state(&desk.app, "r1", "pending").await;
    assert_eq!((row.approvals_required, row.voted), (2, false));
    let off = RulesChange::Enable("two-for-invoices".into(), Enabled::Off);
    desk.app.change_rules(&acme(), &off).await.unwrap();
    required(&desk.app, "r1", 1).await;
    tokio::time::sleep(Duration::from_millis(50)).await;
    assert_eq!(listed(&desk.app, "r1").await.state, "pending");
    desk.app.shutdown().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn rules_that_cannot_be_read_any_more_lower_no_number_of_operators() {
    for how in [Unreadable::Unsigned, Unreadable::Signed] {
        let desk = Desk::open().await;
        let agent = desk.agent("bot").await;
        let key = agent.ask(&agent.request("r1")).await;
        apply(&desk.app, TWO).await;
        required(&desk.app, "r1", 2).await;
        break_rules(&desk.app, how).await;
        let other = agent.ask(&agent.request("r2")).await;
        required(&desk.app, "r2", 2).await;
        required(&desk.app, "r1", 2).await;
        let first = desk.app.decide(verdict(&other, Verdict::Approve)).await;
        assert!(
            matches!(first, Ok(Decided::Voted { .. })),
            "{how:?}: {first:?}"
        );

        // Nor does a console that begins with them.
        desk.app.shutdown().await;
        let app = App::start(options(&desk.data)).await.unwrap();
        caught_up(&app).await;
        alarmed(&app).await;
        let url = app.embedded_server().unwrap().url();
        let agent = crate::agent::Agent::connect(countersign_wire::Enrolment {
            nats_url: url,
            ..agent.enrolment
        })
        .await;
        agent.ask(&agent.request("r3")).await;
        for id in ["r1", "r2", "r3"] {
            required(&app, id, 2).await;
        }
        let vote = app.decide(verdict(&key, Verdict::Approve)).await;
        assert!(
            matches!(vote, Ok(Decided::Voted { .. })),
            "{how:?}: {vote:?}"
        );

        // Readable ones do, where nobody has voted.
        apply(&app, "schema = 1\n").await;
        required(&app, "r3", 1).await;
        required(&app, "r1", 2).await;
        app.shutdown().await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn what_is_answered_and_not_approved_needs_one_operator_whatever_it_or_rules_ask() {
    let desk = Desk::open().await;
    let agent = desk.agent("bot").await;
    apply(&desk.app, TWO).await;
    let question = json!({
        "v": 1, "kind": "question", "request_id": "q1", "workspace": "acme", "agent": {"name": "bot"},
        "question": {"text": "Go?"}, "risk": "low", "allowed_verdicts": ["deny"], "approvals_required": 3,
        "requested_at": "2026-11-21T12:00:00.000Z", "expires_at": "2026-11-21T12:01:00.000Z",
    });
    agent.ask(&question).await;
    agent.ask(&agent.request("r1")).await;
    // It came after the question, and the rule is seen to ask.
    required(&desk.app, "r1", 2).await;
    assert_eq!(listed(&desk.app, "q1").await.approvals_required, 1);
    assert_eq!(Approvals::of(&desk.app.find("q1").await.unwrap()), None);
    desk.app.shutdown().await;
}
