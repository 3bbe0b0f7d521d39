//! Pages of the history, its filter values, a request's details.

use countersign_core::domain::haste::InFront;
use countersign_core::ops::rules::RulesChange;
use countersign_core::ops::{DecideCommand, Look};
use countersign_core::policy::read_file;
use countersign_wire::Verdict;
use serde_json::{Value, json};

use super::Page;

const RULES: &str = r#"
schema = 1
[[rule]]
id = "lookups"
name = "Look-ups"
effect = "approve"
expires_at = "2999-01-01T00:00:00Z"
tool = ["lookup"]
"#;

pub(super) async fn decide(page: &Page, id: &str, verdict: Verdict, message: &str) {
    decide_after(page, id, verdict, (message, None)).await;
}

/// With the card in front and armed for so long; none for what is not decided in the window.
pub(super) async fn decide_after(
    page: &Page,
    id: &str,
    verdict: Verdict,
    (message, front): (&str, Option<InFront>),
) {
    page.in_state(id, "pending").await;
    let app = &page.desk.app;
    let key = app.resolve(id).await.unwrap();
    app.decide(DecideCommand {
        message: Some(message.to_owned()),
        look: Look::in_window(front),
        ..DecideCommand::by_operator(key, verdict)
    })
    .await
    .unwrap();
    page.in_state(id, "decided").await;
}

/// One request of every fate, asked in the order of their names.
pub(super) async fn lived() -> Page {
    let page = Page::open().await;
    let acme = "acme".parse().unwrap();
    let rules = read_file(RULES).unwrap();
    let change = RulesChange::Replace { rules, seen: None };
    page.desk.app.change_rules(&acme, &change).await.unwrap();
    let bot = page.agent("acme/bot").await;
    let clerk = page.agent("acme/clerk").await;
    let other = page.agent("other/bot").await;
    bot.ask("r1", ("delete_invoice", "medium"), json!({})).await;
    decide(&page, "r1", Verdict::Approve, "fine by me").await;
    clerk.ask("r2", ("pay", "low"), json!({})).await;
    decide_after(
        &page,
        "r2",
        Verdict::Deny,
        (
            "not this quarter",
            Some(InFront {
                front_ms: 700,
                read_ms: 1_000,
            }),
        ),
    )
    .await;
    bot.ask("r3", ("lookup", "low"), json!({})).await;
    page.in_state("r3", "decided").await;
    bot.ask("r4", ("pay", "high"), json!({})).await;
    page.in_state("r4", "pending").await;
    bot.publish("withdraw", "r4", b"{}".to_vec()).await;
    page.in_state("r4", "withdrawn").await;
    bot.publish("request", "r5", b"{".to_vec()).await;
    page.in_state("r5", "rejected").await;
    other.ask("r6", ("pay", "critical"), json!({})).await;
    page.in_state("r6", "pending").await;
    page
}

async fn rows(page: &Page, filter: &Value) -> Vec<Value> {
    rows_of(page, json!({"filter": filter})).await
}

/// All pages: one that takes long comes with what was found by then.
async fn rows_of(page: &Page, mut arguments: Value) -> Vec<Value> {
    let mut rows = Vec::new();
    loop {
        let answer = page.call("history_page", arguments.clone()).await;
        rows.extend(answer["rows"].as_array().unwrap().clone());
        arguments["after"] = answer["next"].clone();
        if answer["next"].is_null() {
            return rows;
        }
    }
}

pub(super) async fn found(page: &Page, filter: &Value) -> Vec<String> {
    let rows = rows(page, filter).await;
    rows.iter()
        .map(|row| row["requestId"].as_str().unwrap().to_owned())
        .collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn each_part_of_a_filter_holds_and_all_of_them_together() {
    let page = lived().await;
    let own = page.desk.app.identity().human_key().to_string();
    let table: Vec<(Value, &[&str])> = vec![
        (json!({}), &["r6", "r5", "r4", "r3", "r2", "r1"]),
        (json!({"workspace": "other"}), &["r6"]),
        (json!({"agent": "acme/bot"}), &["r5", "r4", "r3", "r1"]),
        (json!({"agent": "bot"}), &["r6", "r5", "r4", "r3", "r1"]),
        (json!({"agent": "bot", "workspace": "other"}), &["r6"]),
        (
            json!({"agent": "acme/bot", "workspace": "acme"}),
            &["r5", "r4", "r3", "r1"],
        ),
        (json!({"agent": "acme/bot", "workspace": "other"}), &[]),
        (json!({"tool": "pay"}), &["r6", "r4", "r2"]),
        (json!({"tool": "pa"}), &[]),
        (json!({"risk": "low"}), &["r3", "r2"]),
        (json!({"state": "pending"}), &["r6"]),
        (json!({"state": "decided"}), &["r3", "r2", "r1"]),
        (json!({"state": "withdrawn"}), &["r4"]),
        (json!({"state": "rejected"}), &["r5"]),
        (json!({"state": "expired"}), &[]),
        (json!({"state": "waiting"}), &["r6"]),
        (json!({"state": "waiting", "workspace": "acme"}), &[]),
        (json!({"verdict": "deny"}), &["r2"]),
        (json!({"verdict": "refused"}), &["r2"]),
        (json!({"verdict": "allowed"}), &["r3", "r1"]),
        (json!({"verdict": "caught"}), &["r2"]),
        (json!({"verdict": "allowed", "origin": "operator"}), &["r1"]),
        (json!({"origin": "automatic"}), &["r3"]),
        (json!({"hasty": true}), &["r2"]),
        (json!({"agent": "acme/bot", "hasty": true}), &[]),
        (json!({"overdue": true}), &[]),
        (json!({"origin": "rule"}), &["r3"]),
        (json!({"origin": "operator"}), &["r2", "r1"]),
        (json!({"operator": own}), &["r2", "r1"]),
        (json!({"operator": "UNOBODY"}), &[]),
        (json!({"rule": "lookups"}), &["r3"]),
        (json!({"tool": "pay", "risk": "critical"}), &["r6"]),
        (
            json!({"tool": "pay", "origin": "operator", "agent": "clerk", "text": "quarter"}),
            &["r2"],
        ),
        (json!({"tool": "pay", "origin": "rule"}), &[]),
        (json!({"text": "quarter"}), &["r2"]),
        (json!({"text": "\"this quarter\""}), &["r2"]),
        (json!({"text": "\"quarter this\""}), &[]),
        (json!({"text": "fin*"}), &["r1"]),
        (json!({"text": "about r6"}), &["r6"]),
        (json!({"text": " "}), &["r6", "r5", "r4", "r3", "r2", "r1"]),
        (json!({"sinceMs": 2, "untilMs": 1}), &[]),
        (
            json!({"sinceMs": i64::MIN, "untilMs": i64::MAX}),
            &["r6", "r5", "r4", "r3", "r2", "r1"],
        ),
    ];
    for (filter, ids) in table {
        assert_eq!(found(&page, &filter).await, ids, "{filter}");
        let count = page.call("history_count", filter.clone()).await;
        let wanted = json!({"requests": ids.len(), "whole": true});
        assert_eq!(count, wanted, "{filter}");
    }
    // A time holds its beginning and not its end.
    let all = rows(&page, &json!({})).await;
    let at = all[3]["storedMs"].as_i64().unwrap();
    let of = |holds: &dyn Fn(i64) -> bool| -> Vec<String> {
        let rows = all
            .iter()
            .filter(|row| holds(row["storedMs"].as_i64().unwrap()));
        rows.map(|row| row["requestId"].as_str().unwrap().to_owned())
            .collect()
    };
    assert_eq!(
        found(&page, &json!({"sinceMs": at})).await,
        of(&|stored| stored >= at)
    );
    assert_eq!(
        found(&page, &json!({"untilMs": at})).await,
        of(&|stored| stored < at)
    );
    page.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_line_sums_its_call_up_and_each_column_that_sorts_does_so_both_ways() {
    let page = lived().await;
    let lines = rows(&page, &json!({})).await;
    let summaries: Vec<Value> = lines.iter().map(|row| row["summary"].clone()).collect();
    let of =
        |id: &str| json!([{"kind": "text", "text": format!("invoice: {id}, note: about {id}")}]);
    let wanted = ["r6", "r4", "r3", "r2", "r1"].map(of);
    assert_eq!(summaries[1], json!(null), "what was no request");
    assert_eq!([&summaries[..1], &summaries[2..]].concat(), wanted);
    let ids = |rows: &[Value]| -> Vec<String> {
        let ids = rows.iter().map(|row| row["requestId"].as_str().unwrap());
        ids.map(str::to_owned).collect()
    };
    for ascending in [false, true] {
        let of = async |by| {
            let sort = json!({"by": by, "ascending": ascending});
            rows_of(&page, json!({"filter": {}, "sort": sort})).await
        };
        let mut wanted = ids(&lines);
        if ascending {
            wanted.reverse();
        }
        assert_eq!(ids(&of("stored").await), wanted);
        // Automatic answers are stored a moment after what they answer.
        let found = of("decided").await;
        let decided: Vec<i64> = found
            .iter()
            .filter_map(|row| row["decidedMs"].as_i64())
            .collect();
        assert!(decided.len() >= 4, "{found:?}");
        assert!(
            found[decided.len()..]
                .iter()
                .all(|row| row["decidedMs"].is_null())
        );
        assert!(match ascending {
            true => decided.is_sorted(),
            false => decided.iter().rev().is_sorted(),
        });
        assert_eq!(found.len(), lines.len());
    }
    let sort = json!({"by": "risk", "ascending": false});
    let paid = rows_of(&page, json!({"filter": {"tool": "pay"}, "sort": sort})).await;
    let risks: Vec<&Value> = paid.iter().map(|row| &row["risk"]).collect();
    assert_eq!(risks, ["critical", "high", "low"]);
    page.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn the_ladder_does_not_wait_for_a_call_that_never_runs() {
    let page = lived().await;
    for (id, state) in [
        ("acme/bot/r1", "open"),
        ("acme/clerk/r2", "never"),
        ("acme/bot/r3", "open"),
        ("acme/bot/r4", "never"),
        ("other/bot/r6", "open"),
    ] {
        let story = page.call("request_story", json!({"key": id})).await;
        let rungs = story["ladder"].as_array().unwrap();
        let executed = rungs
            .iter()
            .find(|rung| rung["rung"] == "executed")
            .unwrap();
        assert_eq!(executed["state"], state, "{id}");
    }
    page.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn no_text_is_an_error_and_a_long_one_is_bounded() {
    let page = Page::open().await;
    let long = "word ".repeat(100_000);
    for text in [
        "\"",
        "*",
        "a AND",
        "NEAR(",
        "hay:x",
        "'; DROP TABLE requests; --",
        "^",
        "{a}",
        "\u{202e}a",
        "\u{0}",
        &long,
    ] {
        assert_eq!(
            found(&page, &json!({"text": text})).await,
            Vec::<String>::new()
        );
    }
    page.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn pages_of_a_hundred_follow_each_other_until_nothing_is_left() {
    let page = Page::open().await;
    let bot = page.agent("acme/bot").await;
    for number in 0..230 {
        let tool = if number % 2 == 0 { "even" } else { "odd" };
        bot.ask(&format!("r{number}"), (tool, "low"), json!({}))
            .await;
    }
    page.in_state("r229", "pending").await;
    for (filter, sizes) in [
        (json!({}), vec![100, 100, 30]),
        (json!({"tool": "odd"}), vec![100, 15]),
        (
            json!({"tool": "odd", "risk": "low", "state": "pending"}),
            vec![100, 15],
        ),
    ] {
        let (mut after, mut seen, mut pages) = (json!(null), Vec::new(), Vec::new());
        loop {
            let answer = page
                .call("history_page", json!({"filter": filter, "after": after}))
                .await;
            let rows = answer["rows"].as_array().unwrap();
            pages.push(rows.len());
            seen.extend(rows.iter().map(|row| row["seq"].as_i64().unwrap()));
            after = answer["next"].clone();
            if after.is_null() {
                break;
            }
        }
        assert_eq!(pages, sizes, "{filter}");
        assert!(
            seen.is_sorted_by(|one, next| one > next),
            "newest first, each once"
        );
    }
    let cursor = |id: i64| json!({"part": 0, "at": 0, "id": id});
    for after in [cursor(0), cursor(-1), cursor(i64::MIN)] {
        let answer = page
            .call("history_page", json!({"filter": {}, "after": after}))
            .await;
        assert_eq!(
            (&answer["rows"], &answer["next"]),
            (&json!([]), &json!(null)),
            "{after}"
        );
    }
    let last = page
        .call(
            "history_page",
            json!({"filter": {}, "after": cursor(i64::MAX)}),
        )
        .await;
    assert_eq!(last["rows"][0]["requestId"], "r229");
    page.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn facets_name_what_occurs_and_each_value_finds_its_requests() {
    let page = lived().await;
    let filter_values = page.call("history_filter_values", json!({})).await;
    let values = |kind: &str| -> Vec<String> {
        let all = filter_values[kind].as_array().unwrap().iter();
        all.map(|filter_value| filter_value["value"].as_str().unwrap().to_owned())
            .collect()
    };
    let own = page.desk.app.identity().human_key().to_string();
    assert_eq!(values("workspaces"), ["acme", "other"]);
    assert_eq!(values("agents"), ["acme/bot", "acme/clerk", "other/bot"]);
    assert_eq!(values("tools"), ["delete_invoice", "lookup", "pay"]);
    assert_eq!(values("rules"), ["lookups"]);
    assert!(values("operators").contains(&own), "{filter_values}");
    for (kind, part) in [
        ("workspaces", "workspace"),
        ("agents", "agent"),
        ("tools", "tool"),
        ("operators", "operator"),
        ("rules", "rule"),
    ] {
        for value in values(kind) {
            assert!(
                !found(&page, &json!({part: value})).await.is_empty(),
                "{part} {value}"
            );
        }
    }
    page.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_story_is_found_by_its_key_and_an_id_of_two_agents_is_ambiguous() {
    let page = lived().await;
    let clerk = page.agent("acme/clerk").await;
    clerk.ask("r1", ("pay", "low"), json!({})).await;
    let story = page.until("both", async |_| {
        page.raw("request_story", json!({"key": "acme/clerk/r1"}))
            .await
            .ok()
    });
    assert_eq!(story.await["row"]["key"], "acme/clerk/r1");
    let story = page
        .call("request_story", json!({"key": "acme/bot/r1"}))
        .await;
    assert_eq!(story["row"]["key"], "acme/bot/r1");
    for (key, code) in [
        ("r1", "ambiguous_id"),
        ("acme/bot/none", "not_found"),
        ("acme/bot", "not_found"),
        ("//", "not_found"),
        ("", "not_found"),
    ] {
        assert_eq!(
            page.code("request_story", json!({"key": key})).await,
            code,
            "{key:?}"
        );
    }
    page.close().await;
}
