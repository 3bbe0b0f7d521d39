//! Practice cards: they look and move like any other, and nothing but their own table knows them.

use countersign_core::domain::Timestamp;
use countersign_core::ops::DecideCommand;
use countersign_view::InboxChange;
use countersign_wire::Verdict;
use serde_json::{Value, json};
use sqlx::{Connection, SqliteConnection};

use super::history::decide;
use super::traces::{relay, span};
use super::{Agent, Page};
use crate::gui::practice;

async fn ask(bot: &Agent, id: &str, minutes: i64) {
    let args = json!({"payee": "Hallberg", "iban": "DE89370400440532013000", "amount": 1250, "to": "ana@nordwind.example"});
    let digest = countersign_wire::args_digest(&args).unwrap().to_string();
    let expires = format!("2026-11-21T12:{minutes:02}:00.000Z");
    let more = json!({"args": args, "args_digest": digest, "allowed_verdicts": ["approve", "deny", "skip", "modify"],
        "expires_at": expires});
    bot.ask(id, ("pay", "low"), more).await;
}

/// A console with an approved call, where every real card brings one of practice.
async fn practising() -> (Page, Agent) {
    let page = Page::open().await;
    let bot = page.agent("acme/bot").await;
    ask(&bot, "r1", 30).await;
    decide(&page, "r1", Verdict::Approve, "fine").await;
    let reported = page.call("practice", json!({})).await;
    assert_eq!(reported, json!({"on": false, "oneIn": 40, "operators": []}));
    assert_eq!(practice::news(&page.desk, 1_000).await, []);
    page.call("set_practice", json!({"on": true, "oneIn": 2}))
        .await;
    (page, bot)
}

/// The key of the next practice card.
async fn next(page: &Page) -> String {
    let news = practice::news(&page.desk, 1).await;
    let [InboxChange::Put { row }] = news.as_slice() else {
        panic!("{news:?}");
    };
    row.key.clone()
}

async fn verdict(page: &Page, key: &str, verdict: &str, edited: Option<Value>) -> Value {
    let card = page.call("card", json!({"key": key})).await;
    let mut args = json!({"key": key, "verdict": verdict, "seenRequestDigest": card["origin"]["requestDigest"],
        "seenArgsDigest": card["origin"]["argsDigest"], "edited": null, "seenEditDigest": null, "message": null,
        "answer": null, "typed": null, "revealed": []});
    args["revealed"] = (0..card["reveals"].as_array().unwrap().len()).collect();
    if let Some(edited) = edited {
        let check = page
            .call(
                "check_edit",
                json!({"key": key, "json": edited.to_string()}),
            )
            .await;
        args["edited"] = edited.to_string().into();
        args["seenEditDigest"] = check["argsDigest"].clone();
    }
    page.call("decide", args).await
}

/// Rows of every table that knows requests, decisions, or what was done with them.
async fn rows(page: &Page) -> Vec<i64> {
    let file = format!(
        "sqlite://{}",
        page.data.path().join("countersign.db").display()
    );
    let mut store = SqliteConnection::connect(&file).await.unwrap();
    let mut counts = Vec::new();
    for table in [
        "requests",
        "decisions",
        "outbox",
        "votes",
        "receipts",
        "looked",
        "alarms",
        "audit",
        "rule_uses",
        "rule_notes",
        "quarantine",
        "spans",
        "traces",
    ] {
        let sql = sqlx::AssertSqlSafe(format!("SELECT COUNT(*) FROM {table}"));
        counts.push(sqlx::query_scalar(sql).fetch_one(&mut store).await.unwrap());
    }
    counts
}

/// Messages of every stream.
async fn messages(page: &Page) -> Vec<(String, Option<u64>)> {
    let status = page.desk.app.status().await.unwrap();
    status
        .streams
        .into_iter()
        .map(|(name, at)| (name, at.last_seq))
        .collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn no_code_path_turns_a_practice_card_into_anything() {
    let (page, bot) = practising().await;
    ask(&bot, "r2", 40).await;
    page.in_state("r2", "pending").await;
    let before = (rows(&page).await, messages(&page).await);
    for given in ["approve", "deny", "skip", "modify"] {
        let key = next(&page).await;
        // It is on the list, and a card with everything that one has.
        let snapshot = page.call("inbox_snapshot", json!({})).await;
        let listed: Vec<&str> = snapshot["rows"]
            .as_array()
            .unwrap()
            .iter()
            .filter_map(|row| row["key"].as_str())
            .collect();
        assert_eq!(listed.len(), 2, "{listed:?}");
        assert!(listed.contains(&key.as_str()));
        let card = page.call("card", json!({"key": key})).await;
        let real = page.call("card", json!({"key": "acme/bot/r2"})).await;
        let names = |card: &Value| {
            card.as_object()
                .unwrap()
                .keys()
                .cloned()
                .collect::<Vec<_>>()
        };
        assert_eq!(names(&card), names(&real));
        assert_eq!(
            (&card["state"], &card["tool"], &card["decision"]),
            (&real["state"], &real["tool"], &Value::Null)
        );
        for name in ["editable", "tool_record", "why", "led_here"] {
            page.call(name, json!({"key": key})).await;
        }
        page.call("raw", json!({"key": key, "offset": 0})).await;
        // The core does not know it.
        for name in ["request_story", "undo"] {
            assert_eq!(
                page.code(name, json!({"key": key})).await,
                "not_found",
                "{name}"
            );
        }
        let app = &page.desk.app;
        assert!(app.find(&key).await.is_err() && app.show(&key).await.is_err());
        let command = DecideCommand::by_operator(key.parse().unwrap(), Verdict::Approve);
        assert!(app.decide(command).await.is_err());
        assert_eq!(app.status().await.unwrap().waiting, 1);

        let edited = json!({"payee": "Hallberg", "iban": "DE89370400440532013000", "amount": 7, "to": "ana@nordwind.example"});
        let outcome = verdict(&page, &key, given, (given == "modify").then_some(edited)).await;
        assert_eq!(
            (&outcome["state"], &outcome["releaseMs"]),
            (&json!("decided"), &Value::Null)
        );
        assert!(outcome["practice"]["words"].is_array(), "{outcome}");
        let gone = practice::news(&page.desk, 0).await;
        assert_eq!(gone, [InboxChange::Gone { key: key.clone() }]);
        assert_eq!(page.code("card", json!({"key": key})).await, "not_found");
    }
    assert_eq!((rows(&page).await, messages(&page).await), before);
    let reported = page.call("practice", json!({})).await;
    assert_eq!(reported["operators"][0]["shown"], 4);
    page.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_practice_card_has_the_steps_the_record_and_the_rule_of_its_call() {
    let (page, bot) = practising().await;
    let asked = page.desk.app.find("r1").await.unwrap().stored_at;
    let at = |ms: i64| json!(Timestamp(asked + ms).rfc3339());
    let step = |id: &str, from: i64, to: i64, more: Value| {
        let mut fields = json!({"started_at": at(from), "ended_at": at(to)});
        fields
            .as_object_mut()
            .unwrap()
            .extend(more.as_object().unwrap().clone());
        span("acme/bot", "t1", id, fields)
    };
    let spans = vec![
        step("run", -9_000, 9_000, json!({})),
        step("looks", -8_000, -7_000, json!({"parent_span_id": "run"})),
        step(
            "pays",
            -10,
            3_000,
            json!({"parent_span_id": "run", "request_id": "r1"}),
        ),
        step("mails", 4_000, 5_000, json!({"parent_span_id": "run"})),
    ];
    relay(&page, spans, "t1", 4).await;
    ask(&bot, "r2", 40).await;
    page.in_state("r2", "pending").await;
    let key = next(&page).await;
    let before = (rows(&page).await, messages(&page).await);

    let led = page.call("led_here", json!({"key": key})).await;
    let lines = led["lines"].as_array().unwrap();
    let is: Vec<_> = lines
        .iter()
        .map(|line| (&line["request"], line["look"].as_str().unwrap()))
        .collect();
    assert_eq!(is, [(&Value::Null, "ok"), (&json!(key), "waiting")]);
    let tree = page.call("trace_tree", json!({"key": key})).await;
    let looks: Vec<_> = tree["lines"]
        .as_array()
        .unwrap()
        .iter()
        .map(|line| line["look"].as_str().unwrap())
        .collect();
    assert_eq!(looks, ["running", "ok", "waiting"]);
    assert!(tree["startMs"].as_i64().unwrap() > asked - 9_000, "{tree}");

    assert_eq!(
        page.call("tool_record", json!({"key": key})).await["approved"],
        1
    );
    let drafted = async |key: &str| {
        let text = page
            .call(
                "draft_rule",
                json!({"key": key, "reach": "always", "days": null}),
            )
            .await;
        let text = text["text"].as_str().unwrap().to_owned();
        text.lines()
            .filter(|line| !line.starts_with("expires_at"))
            .map(str::to_owned)
            .collect::<Vec<_>>()
    };
    assert_eq!(drafted(&key).await, drafted("acme/bot/r1").await);
    assert_eq!((rows(&page).await, messages(&page).await), before);
    page.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn real_cards_come_first_and_practice_ends_when_it_is_turned_off() {
    let (page, bot) = practising().await;
    let key = next(&page).await;
    let due = |changes: &[InboxChange]| match changes {
        [InboxChange::Put { row }] => row.deadline_ms,
        other => panic!("{other:?}"),
    };
    // A real one that is due later than practice: that one stays behind it.
    ask(&bot, "r2", 59).await;
    page.in_state("r2", "pending").await;
    let real = page.desk.app.find("r2").await.unwrap().deadline_at;
    let moved = practice::news(&page.desk, 0).await;
    assert!(due(&moved) > real, "{moved:?}");
    let card = page.call("card", json!({"key": key})).await;
    assert_eq!(card["deadlineMs"], due(&moved));
    // None comes while one is due within 5 minutes; it comes once that is decided.
    ask(&bot, "r3", 4).await;
    page.in_state("r3", "pending").await;
    assert_eq!(practice::news(&page.desk, 1).await, []);
    decide(&page, "r3", Verdict::Deny, "no").await;
    assert!(due(&practice::news(&page.desk, 0).await) > real);
    page.call("set_practice", json!({"on": false, "oneIn": 2}))
        .await;
    let gone = practice::news(&page.desk, 0).await;
    let all_gone = gone
        .iter()
        .all(|change| matches!(change, InboxChange::Gone { .. }));
    assert!(all_gone && gone.len() == 2, "{gone:?}");
    let snapshot = page.call("inbox_snapshot", json!({})).await;
    assert_eq!(snapshot["rows"].as_array().unwrap().len(), 1);
    assert_eq!(
        page.code("set_practice", json!({"on": true, "oneIn": 1}))
            .await,
        "invalid_args"
    );
    page.close().await;
}
