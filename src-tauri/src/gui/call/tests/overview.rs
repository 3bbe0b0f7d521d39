//! The numbers of a time.

use countersign_core::ops::DecideCommand;
use countersign_core::ops::practice::{ChangeKind, Outcome, PracticeNote};
use countersign_wire::Verdict;
use futures::{StreamExt, stream};
use serde_json::{Value, json};

use super::Page;
use super::history::lived;

fn of(since: i64, until: i64, pieces: i64, workspace: Option<&str>) -> Value {
    json!({"sinceMs": since, "untilMs": until, "pieces": pieces, "workspace": workspace, "weeksMs": []})
}

#[tokio::test(flavor = "multi_thread")]
async fn the_pieces_cover_the_time_without_a_gap_and_count_each_request_once() {
    let page = Page::open().await;
    for (agent, count) in [("acme/bot", 7), ("other/bot", 3)] {
        let agent = page.agent(agent).await;
        for number in 0..count {
            agent
                .ask(&format!("r{number}"), ("pay", "low"), json!({}))
                .await;
        }
    }
    page.in_state("other/bot/r2", "pending").await;
    page.in_state("acme/bot/r6", "pending").await;
    let now = page.desk.app.now().0;
    for (since, until, pieces) in [
        (now - 3_600_000, now + 60_000, 1),
        (now - 3_600_000, now + 60_000, 7),
        (now - 1_000_003, now + 60_001, 400),
        (0, now + 60_000, 96),
        (i64::MIN / 4, i64::MAX / 4, 3),
    ] {
        let seen = page.call("overview", of(since, until, pieces, None)).await;
        let volume = seen["volume"].as_array().unwrap();
        assert_eq!(i64::try_from(volume.len()).unwrap(), pieces);
        let starts: Vec<i64> = volume
            .iter()
            .map(|piece| piece["startMs"].as_i64().unwrap())
            .collect();
        let step = starts.get(1).map_or(until - since, |second| second - since);
        let expected: Vec<i64> = (0..pieces).map(|place| since + place * step).collect();
        assert_eq!(starts, expected);
        assert!(
            since + (pieces * step) >= until,
            "the last piece reaches the end"
        );
        let arrived: u64 = volume
            .iter()
            .map(|piece| piece["arrived"].as_u64().unwrap())
            .sum();
        assert_eq!(
            (arrived, seen["open"].as_u64()),
            (10, Some(10)),
            "{since} {until} {pieces}"
        );
    }
    page.call("overview", of(i64::MAX - 1, i64::MAX, 400, None))
        .await;
    let one = page
        .call("overview", of(0, now + 60_000, 1, Some("other")))
        .await;
    assert_eq!(one["volume"][0]["arrived"], 3);
    let before = page.call("overview", of(0, now - 3_600_000, 2, None)).await;
    assert_eq!(
        (&before["open"], &before["pace"]),
        (&json!(0), &json!(null))
    );
    page.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_time_that_is_none_and_a_number_of_pieces_that_no_chart_has_are_refused() {
    let page = Page::open().await;
    for (since, until, pieces) in [
        (5, 5, 1),
        (6, 5, 1),
        (i64::MAX, i64::MIN, 1),
        (i64::MIN, i64::MAX, 2),
        (0, 1_000, 0),
        (0, 1_000, 401),
        (0, 1_000, i64::from(u32::MAX)),
    ] {
        let code = page.code("overview", of(since, until, pieces, None)).await;
        assert_eq!(code, "usage", "{since} {until} {pieces}");
    }
    page.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn each_number_is_the_count_of_the_requests_that_its_filter_finds() {
    let page = lived().await;
    let until = page.desk.app.now().0 + 1;
    let since = until - 600_000;
    let seen = page.call("overview", of(since, until, 6, None)).await;
    assert_eq!((&seen["hasty"], &seen["frontMs"]), (&json!(1), &json!(700)));
    let time = json!({"sinceMs": since, "untilMs": until});
    let decided = |origin: &str| json!({"state": "decided", "origin": origin});
    let mut table: Vec<(Value, Value)> = vec![
        (seen["open"].clone(), json!({"state": "waiting"})),
        (seen["human"].clone(), decided("operator")),
        (seen["automatic"].clone(), decided("automatic")),
        (
            seen["hasty"].clone(),
            json!({"state": "decided", "origin": "operator", "hasty": true}),
        ),
        (
            seen["caught"].clone(),
            json!({"state": "decided", "origin": "operator", "verdict": "caught"}),
        ),
        (seen["expired"].clone(), json!({"state": "expired"})),
        (
            seen["stalled"].clone(),
            json!({"overdue": true, "sinceMs": null, "untilMs": null}),
        ),
    ];
    for verdict in seen["verdicts"].as_array().unwrap() {
        let word = &verdict["verdict"]["value"];
        table.push((verdict["count"].clone(), json!({"verdict": word})));
    }
    for pace in seen["paces"].as_array().unwrap() {
        let find = json!({"state": "decided", "origin": "operator", "agent": pace["agent"], "tool": pace["tool"]["value"]});
        table.push((pace["decided"].clone(), find));
    }
    for piece in seen["volume"].as_array().unwrap() {
        let start = piece["startMs"].as_i64().unwrap();
        let end = until.min(start + seen["stepMs"].as_i64().unwrap());
        for (series, narrow) in [
            ("arrived", json!({})),
            ("allowed", json!({"state": "decided", "verdict": "allowed"})),
            ("denied", json!({"state": "decided", "verdict": "refused"})),
            ("expired", json!({"state": "expired"})),
        ] {
            let piece_only = both(&narrow, &json!({"sinceMs": start, "untilMs": end}));
            table.push((piece[series].clone(), piece_only));
        }
    }
    let mut counted = 0;
    for (number, narrow) in table {
        let count = page.call("history_count", both(&time, &narrow)).await;
        assert_eq!(
            count,
            json!({"requests": number, "whole": true}),
            "{narrow}"
        );
        counted += number.as_u64().unwrap();
    }
    assert!(counted > 15, "the numbers are not all nought: {seen}");
    page.close().await;
}

const WEEK_MS: i64 = 7 * 86_400_000;

#[tokio::test(flavor = "multi_thread")]
async fn a_hundred_decisions_at_half_a_second_are_all_hasty_and_those_of_the_command_line_are_counted_apart()
 {
    let page = Page::open().await;
    let bot = page.agent("acme/bot").await;
    for number in 0..102 {
        bot.ask(&format!("r{number}"), ("pay", "high"), json!({}))
            .await;
    }
    page.in_state("r101", "pending").await;
    let decided = stream::iter(0..100).map(|number| {
        let (page, verdict) = (&page, if number < 7 { "deny" } else { "approve" });
        async move {
            let key = format!("acme/bot/r{number}");
            let card = page.call("card", json!({"key": key})).await;
            let args = json!({"key": key, "verdict": verdict, "seenRequestDigest": card["origin"]["requestDigest"],
                "seenArgsDigest": card["origin"]["argsDigest"], "edited": null, "seenEditDigest": null, "message": null,
                "answer": null, "typed": null, "revealed": [], "frontMs": 500, "toEnd": true});
            page.call("decide", args).await;
        }
    });
    decided.buffer_unordered(16).collect::<Vec<()>>().await;
    let by_cli = DecideCommand::by_operator("acme/bot/r100".parse().unwrap(), Verdict::Approve);
    page.desk.app.decide(by_cli).await.unwrap();
    page.in_state("r99", "decided").await;
    page.in_state("r100", "decided").await;
    let kind = Some(ChangeKind::AmountTimes10);
    for outcome in [Outcome::Caught, Outcome::Missed, Outcome::Caught] {
        let note = PracticeNote::Answered(kind, outcome);
        page.desk.app.note_practice(note).await.unwrap();
    }
    let note = PracticeNote::Answered(None, Outcome::Passed);
    page.desk.app.note_practice(note).await.unwrap();

    let until = page.desk.app.now().0 + 1;
    let mut asked = of(until - 60_000, until, 1, None);
    asked["weeksMs"] = json!([until - WEEK_MS, until - 2 * WEEK_MS]);
    let seen = page.call("overview", asked.clone()).await;
    let whole = [
        &seen["human"],
        &seen["inWindow"],
        &seen["hasty"],
        &seen["frontMs"],
    ];
    assert_eq!(whole, [&json!(101), &json!(100), &json!(100), &json!(500)]);
    let own = page.desk.app.identity().human_key().to_string();
    let expected = json!([{"name": [{"kind": "text", "text": "Ada"}], "key": own, "own": true,
        "sinceMs": until - WEEK_MS, "decided": 101, "denied": 7, "byCli": 1, "inWindow": 100, "hasty": 100,
        "frontMs": 500, "changed": 3, "caught": 2}]);
    assert_eq!(seen["people"], expected);
    asked["weeksMs"] = json!([until - 2 * WEEK_MS, until]);
    let seen = page.call("overview", asked.clone()).await;
    assert_eq!(seen["people"][0]["sinceMs"], until - 2 * WEEK_MS);
    asked["weeksMs"] = json!(vec![0; 61]);
    assert_eq!(page.code("overview", asked).await, "usage");
    page.close().await;
}

/// The fields of both, those of the second where both have them.
fn both(one: &Value, other: &Value) -> Value {
    let mut fields = one.as_object().unwrap().clone();
    fields.extend(other.as_object().unwrap().clone());
    Value::Object(fields)
}
