use countersign_core::App;
use countersign_core::domain::facts::{Approvals, ShownVote};
use countersign_core::ops::DecideCommand;
use countersign_core::ops::verdicts::Decided;
use countersign_testkit::TempData;
use countersign_wire::{RequestKey, Verdict, args_digest};
use serde_json::{Value, json};

use crate::agent::{
    Agent, Desk, colleague, in_state, inbox_ids, line_when, listed, troubles, until, verdict,
};

/// A request that so many operators must agree to.
fn of_several(agent: &Agent, id: &str, required: u8) -> Value {
    let mut request = agent.request(id);
    request["approvals_required"] = json!(required);
    request
}

async fn approvals(app: &App, id: &str) -> Approvals {
    Approvals::of(&app.find(id).await.unwrap()).unwrap()
}

async fn given(app: &App, id: &str, count: i64) {
    line_when(app, id, |line| line.votes == count).await;
}

/// How many votes this console has read.
async fn voted(app: &App) -> usize {
    let rows = app.audit_after(0, 10_000).await.unwrap();
    rows.iter().filter(|row| row.action == "vote").count()
}

fn edited(key: &RequestKey, args: Value) -> DecideCommand {
    DecideCommand {
        edited_args: Some(args),
        ..verdict(key, Verdict::Modify)
    }
}

fn voters(decision: &Value) -> Vec<&str> {
    let votes = decision["votes"].as_array().unwrap();
    votes
        .iter()
        .map(|vote| vote["key"].as_str().unwrap())
        .collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn two_operators_who_agree_decide_and_one_of_them_does_not() {
    let desk = Desk::open().await;
    let agent = desk.agent("bot").await;
    let data = TempData::new();
    let grace = colleague(&desk, &data, "Grace").await;
    let key = agent.ask(&of_several(&agent, "r1", 2)).await;
    listed(&desk.app, "r1").await;
    listed(&grace, "r1").await;

    let first = desk
        .app
        .decide(verdict(&key, Verdict::Approve))
        .await
        .unwrap();
    assert!(matches!(first, Decided::Voted { .. }), "{first:?}");
    given(&grace, "r1", 1).await;
    for (app, mine) in [(&desk.app, true), (&grace, false)] {
        let (required, given) = (2, 1);
        assert_eq!(
            approvals(app, "r1").await,
            Approvals {
                required,
                given,
                apart: 0,
                mine
            }
        );
        assert_eq!(inbox_ids(app).await, ["r1"]);
        assert_eq!(app.find("r1").await.unwrap().verdict, None);
    }
    let seen = grace.show("r1").await.unwrap().votes;
    assert_eq!(
        seen,
        [ShownVote::Hidden],
        "the second must not see the first verdict"
    );
    assert!(matches!(
        desk.app.show("r1").await.unwrap().votes[..],
        [ShownVote::Open(_)]
    ));

    let second = grace.decide(verdict(&key, Verdict::Approve)).await.unwrap();
    assert!(matches!(second, Decided::Stored { .. }), "{second:?}");
    let decision = agent.decision("r1").await;
    assert_eq!(
        (&decision["verdict"], &decision["origin"]),
        (&json!("approve"), &json!("operator"))
    );
    let keys = [&desk.app, &grace].map(|app| app.identity().human_key().to_string());
    assert_eq!(voters(&decision), [keys[0].as_str(), keys[1].as_str()]);
    assert!(keys.contains(&decision["decided_by"]["key"].as_str().unwrap().to_owned()));
    for app in [&desk.app, &grace] {
        in_state(app, "r1", "decided").await;
        let votes = app.show("r1").await.unwrap().votes;
        assert!(matches!(
            votes[..],
            [ShownVote::Open(_), ShownVote::Open(_)]
        ));
        let status = app.status().await.unwrap();
        assert_eq!((troubles(app).await, status.outbox), (vec![], 0));
    }
    grace.shutdown().await;
    desk.app.shutdown().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn one_deny_decides_at_once_also_after_an_own_vote() {
    let desk = Desk::open().await;
    let agent = desk.agent("bot").await;
    let data = TempData::new();
    let grace = colleague(&desk, &data, "Grace").await;
    for (id, denier) in [("theirs", &grace), ("own", &desk.app)] {
        let key = agent.ask(&of_several(&agent, id, 3)).await;
        listed(&desk.app, id).await;
        listed(&grace, id).await;
        desk.app
            .decide(verdict(&key, Verdict::Approve))
            .await
            .unwrap();
        denier.decide(verdict(&key, Verdict::Deny)).await.unwrap();
        assert_eq!(agent.decision(id).await["verdict"], "deny");
        in_state(&desk.app, id, "decided").await;
    }
    grace.shutdown().await;
    desk.app.shutdown().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn votes_for_different_things_do_not_add_up() {
    let desk = Desk::open().await;
    let agent = desk.agent("bot").await;
    let (data, more) = (TempData::new(), TempData::new());
    let grace = colleague(&desk, &data, "Grace").await;
    let cid = colleague(&desk, &more, "Cid").await;
    let key = agent.ask(&of_several(&agent, "r1", 2)).await;
    for app in [&desk.app, &grace, &cid] {
        listed(app, "r1").await;
    }
    let args = json!({"invoice_id": "INV-43"});
    for (app, other) in [
        (&desk.app, json!({"invoice_id": "INV-44"})),
        (&grace, args.clone()),
    ] {
        let reported = app.decide(edited(&key, other)).await.unwrap();
        assert!(matches!(reported, Decided::Voted { .. }), "{reported:?}");
    }
    for app in [&desk.app, &grace, &cid] {
        until("both votes here", async || voted(app).await == 2).await;
    }
    let (required, given) = (2, 1);
    // Who has yet to vote learns neither what was voted nor that it differs.
    for (app, apart, mine) in [(&desk.app, 1, true), (&grace, 1, true), (&cid, 0, false)] {
        let reported = Approvals {
            required,
            given,
            apart,
            mine,
        };
        assert_eq!(approvals(app, "r1").await, reported);
        assert_eq!(reported.advice().is_some(), mine);
    }
    assert_eq!(
        cid.show("r1").await.unwrap().votes,
        [ShownVote::Hidden],
        "no more than count"
    );
    assert_eq!(grace.show("r1").await.unwrap().votes.len(), 2);
    assert_eq!(
        inbox_ids(&cid).await,
        ["r1"],
        "two votes, but not for the same arguments"
    );
    cid.decide(edited(&key, args.clone())).await.unwrap();
    let decision = agent.decision("r1").await;
    assert_eq!(decision["verdict"], "modify");
    assert_eq!(decision["edited_args"], args);
    assert_eq!(
        decision["args_digest"],
        args_digest(&args).unwrap().to_string()
    );
    let keys = [&grace, &cid].map(|app| app.identity().human_key().to_string());
    assert_eq!(voters(&decision), [keys[0].as_str(), keys[1].as_str()]);
    in_state(&desk.app, "r1", "decided").await;
    for app in [grace, cid, desk.app] {
        assert_eq!(troubles(&app).await, []);
        app.shutdown().await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_vote_of_a_key_that_is_no_longer_in_force_is_told_as_missing_and_given_again() {
    let desk = Desk::open().await;
    let agent = desk.agent("bot").await;
    let data = TempData::new();
    let grace = colleague(&desk, &data, "Grace").await;
    let key = agent.ask(&of_several(&agent, "r1", 2)).await;
    for app in [&desk.app, &grace] {
        listed(app, "r1").await;
    }
    desk.app
        .decide(verdict(&key, Verdict::Approve))
        .await
        .unwrap();
    given(&grace, "r1", 1).await;
    let old = desk.app.identity().human_key();
    let beside = App::attach(crate::agent::options(&desk.data))
        .await
        .unwrap();
    beside.rotate_keys(true).await.unwrap();
    beside.shutdown().await;
    until("the new key in use", async || {
        desk.app.identity().human_key() != old
    })
    .await;
    for app in [&desk.app, &grace] {
        line_when(app, "r1", |line| (line.votes, line.voted) == (0, false)).await;
    }
    grace.decide(verdict(&key, Verdict::Approve)).await.unwrap();
    for (app, mine) in [(&desk.app, false), (&grace, true)] {
        given(app, "r1", 1).await;
        let reported = Approvals {
            required: 2,
            given: 1,
            apart: 0,
            mine,
        };
        assert_eq!(approvals(app, "r1").await, reported);
        assert_eq!(app.show("r1").await.unwrap().votes.len(), 1);
    }
    desk.app
        .decide(verdict(&key, Verdict::Approve))
        .await
        .unwrap();
    for app in [&desk.app, &grace] {
        let line = in_state(app, "r1", "decided").await;
        assert_eq!((line.votes, line.voted), (2, true));
    }
    grace.shutdown().await;
    desk.app.shutdown().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_vote_is_given_once_and_nothing_automatic_gives_one() {
    let desk = Desk::open().await;
    let agent = desk.agent("bot").await;
    let key = agent.ask(&of_several(&agent, "r1", 2)).await;
    listed(&desk.app, "r1").await;
    let by_console = DecideCommand {
        authority: countersign_core::domain::Authority::Console,
        origin: countersign_wire::Origin::Rule,
        ..verdict(&key, Verdict::Approve)
    };
    let refused = desk.app.decide(by_console).await.unwrap_err();
    assert_eq!(refused.code.as_str(), "not_approvable");
    desk.app
        .decide(verdict(&key, Verdict::Approve))
        .await
        .unwrap();
    let again = edited(&key, json!({"invoice_id": "INV-43"}));
    for command in [verdict(&key, Verdict::Approve), again] {
        let refused = desk.app.decide(command).await.unwrap_err();
        assert_eq!(refused.code.as_str(), "already_decided");
        assert!(refused.to_string().contains("voted"), "{refused}");
    }
    assert_eq!(approvals(&desk.app, "r1").await.given, 1);
    desk.app.shutdown().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_vote_can_be_held_and_taken_back_like_a_decision() {
    let desk = Desk::open().await;
    let agent = desk.agent("bot").await;
    let mut request = of_several(&agent, "r1", 2);
    request["expires_at"] = json!("2026-11-21T12:00:04.000Z");
    let key = agent.ask(&request).await;
    listed(&desk.app, "r1").await;
    let held = || DecideCommand {
        hold: true,
        ..verdict(&key, Verdict::Approve)
    };
    for _ in 0..2 {
        let reported = desk.app.decide(held()).await.unwrap();
        assert!(matches!(reported, Decided::Held { .. }), "{reported:?}");
        assert_eq!(desk.app.find("r1").await.unwrap().state, "holding");
        assert_eq!(
            approvals(&desk.app, "r1").await.given,
            0,
            "nothing is signed"
        );
        desk.app.undo(&key).await.unwrap();
        assert_eq!(desk.app.find("r1").await.unwrap().state, "pending");
    }
    desk.app.decide(held()).await.unwrap();
    given(&desk.app, "r1", 1).await;
    let line = desk.app.find("r1").await.unwrap();
    assert_eq!(
        (line.state.as_str(), line.voted, line.verdict),
        ("pending", true, None)
    );
    let refused = desk.app.undo(&key).await.unwrap_err();
    assert_eq!(
        refused.code.as_str(),
        "already_decided",
        "what is sent cannot be taken back"
    );
    assert_eq!(
        agent.decision("r1").await["verdict"],
        "expired",
        "one vote of two"
    );
    desk.app.shutdown().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_console_that_stops_drops_a_held_vote() {
    let desk = Desk::open().await;
    let agent = desk.agent("bot").await;
    let key = agent.ask(&of_several(&agent, "r1", 2)).await;
    listed(&desk.app, "r1").await;
    let held = DecideCommand {
        hold: true,
        ..verdict(&key, Verdict::Approve)
    };
    desk.app.decide(held).await.unwrap();
    let options = crate::agent::options(&desk.data);
    desk.app.shutdown().await;
    let again = App::start(options).await.unwrap();
    crate::agent::caught_up(&again).await;
    let line = again.find("r1").await.unwrap();
    assert_eq!(
        (line.state.as_str(), line.voted, line.votes),
        ("pending", false, 0)
    );
    again.shutdown().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_command_beside_the_console_votes_and_the_last_one_is_told_of_the_decision() {
    let desk = Desk::open().await;
    let agent = desk.agent("bot").await;
    let data = TempData::new();
    let grace = colleague(&desk, &data, "Grace").await;
    let key = agent.ask(&of_several(&agent, "r1", 2)).await;
    listed(&desk.app, "r1").await;
    listed(&grace, "r1").await;
    let first = grace.decide(verdict(&key, Verdict::Approve)).await.unwrap();
    assert!(matches!(first, Decided::Voted { .. }), "{first:?}");
    given(&desk.app, "r1", 1).await;
    let beside = App::attach(crate::agent::options(&desk.data))
        .await
        .unwrap();
    let last = beside
        .decide(verdict(&key, Verdict::Approve))
        .await
        .unwrap();
    assert!(matches!(last, Decided::Stored { .. }), "{last:?}");
    assert_eq!(voters(&agent.decision("r1").await).len(), 2);
    beside.shutdown().await;
    grace.shutdown().await;
    desk.app.shutdown().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn only_consoles_of_those_who_voted_publish_and_the_first_in_rank_begins() {
    let desk = Desk::open().await;
    let agent = desk.agent("bot").await;
    let (data, more) = (TempData::new(), TempData::new());
    let grace = colleague(&desk, &data, "Grace").await;
    let cid = colleague(&desk, &more, "Cid").await;
    for app in [&desk.app, &grace, &cid] {
        until("all are there", async || app.consoles().await.len() == 3).await;
    }
    for round in 0..10 {
        let id = format!("r{round}");
        let key = agent.ask(&of_several(&agent, &id, 2)).await;
        for app in [&desk.app, &grace, &cid] {
            listed(app, &id).await;
        }
        let (one, other) = tokio::join!(
            desk.app.decide(verdict(&key, Verdict::Approve)),
            cid.decide(verdict(&key, Verdict::Approve)),
        );
        one.unwrap();
        other.unwrap();
        let decision = agent.decision(&id).await;
        assert_ne!(
            decision["decided_by"]["name"], "Grace",
            "she did not approve it"
        );
        for app in [&desk.app, &grace, &cid] {
            in_state(app, &id, "decided").await;
        }
    }
    for app in [grace, cid, desk.app] {
        assert_eq!(troubles(&app).await, []);
        app.shutdown().await;
    }
}
